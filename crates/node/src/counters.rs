//! The counters of a member.
//!
//! Purpose     counts frames sent, received and refused, and a few rare events
//! Inputs      events of the node
//! Outputs     the values for status and metrics
//! Owns        the counters
//! Invariants  counters only grow

use serde::{Deserialize, Serialize};

use crate::seal::Rejected;

/// Events since the member started, above all frames sent, received and refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Datagrams and frames on links that were sent. A multicast counts once.
    pub sent: u64,
    /// Frames that were accepted.
    pub heard: u64,
    /// Messages of the election among the sent frames.
    pub election_sent: u64,
    /// Questions about tenure and answers to them among the sent frames, to voters and from voters.
    pub tenure_sent: u64,
    /// Frames that could not be sent: the network refused, or the member's address is unknown.
    pub unsent: u64,
    /// Refused: shorter than the shortest frame.
    pub truncated: u64,
    /// Refused: of a layout that this program does not support.
    pub unknown_version: u64,
    /// Refused: sealed under a key that this group does not have.
    pub unknown_key: u64,
    /// Refused: altered in transit, or forged.
    pub broken_seal: u64,
    /// Refused: sealed correctly, but the content is not a valid message.
    pub malformed: u64,
    /// Refused: a body of a kind or version that this program does not know.
    pub unknown_body: u64,
    /// Refused: of another group, by the header or by the content.
    pub other_group: u64,
    /// Refused: sealed for another member.
    pub other_receiver: u64,
    /// Refused: from processes that have not answered a challenge.
    pub unproven: u64,
    /// Challenges among the sent frames. A process that was not heard before has to prove that it
    /// runs.
    pub challenges_sent: u64,
    /// Copies of frames to all that had arrived over another channel, by unicast and by multicast.
    pub copies: u64,
    /// Refused: received before.
    pub replayed: u64,
    /// Refused: from members that run another protocol.
    pub other_protocol: u64,
    /// Refused: about tenure, from members with another list of voters or another store.
    pub other_voters: u64,
    /// Refused: with a fence that is too far above all known fences of the store, and so was made
    /// up.
    pub far_fences: u64,
    /// Frames from another process with this member's name.
    pub namesakes: u64,
    /// Pauses of this member that were longer than its listen interval.
    pub pauses: u64,
    /// Failed attempts of this member to get tenure.
    pub tenure_refusals: u64,
    /// Messages of a council among the sent frames.
    pub council_sent: u64,
    /// Refused: messages of a council's centre that are too old by this host's calendar. They are
    /// replays, or the calendars differ.
    pub council_stale: u64,
    /// Refused: messages of a council's centre that make no sense; at the centre, replies that no
    /// honest host sends.
    pub council_senseless: u64,
}

impl Counters {
    /// Counts a refused frame.
    pub fn reject(&mut self, why: Rejected) {
        let counter = match why {
            Rejected::Truncated => &mut self.truncated,
            Rejected::Version => &mut self.unknown_version,
            Rejected::Key => &mut self.unknown_key,
            Rejected::Seal => &mut self.broken_seal,
            Rejected::Malformed => &mut self.malformed,
            Rejected::Group => &mut self.other_group,
            Rejected::Receiver => &mut self.other_receiver,
            Rejected::Replayed => &mut self.replayed,
        };
        *counter += 1;
    }

    /// The number of refused frames, over all reasons.
    pub fn rejected(&self) -> u64 {
        self.by_reason().iter().map(|(_, count)| count).sum()
    }

    /// The number of refused frames for each reason, with the reason's name in the metrics.
    pub fn by_reason(&self) -> [(&'static str, u64); 15] {
        [
            ("truncated", self.truncated),
            ("unknown_version", self.unknown_version),
            ("unknown_key", self.unknown_key),
            ("broken_seal", self.broken_seal),
            ("malformed", self.malformed),
            ("unknown_body", self.unknown_body),
            ("other_group", self.other_group),
            ("other_receiver", self.other_receiver),
            ("unproven", self.unproven),
            ("replayed", self.replayed),
            ("other_protocol", self.other_protocol),
            ("other_voters", self.other_voters),
            ("far_fences", self.far_fences),
            ("council_stale", self.council_stale),
            ("council_senseless", self.council_senseless),
        ]
    }
}
