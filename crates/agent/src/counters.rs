//! What an agent counts.

use serde::{Deserialize, Serialize};

use crate::seal::Rejected;

/// What a member of a group has counted since it came up: above all frames sent, heard and refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Datagrams and links' frames sent; a multicast counts once.
    pub sent: u64,
    /// Let in.
    pub heard: u64,
    /// Messages of the election among those sent.
    pub election_sent: u64,
    /// Questions about tenure and answers to them among those sent, to voters and by them.
    pub tenure_sent: u64,
    /// Could not be sent: the network refused, or nobody knows the member's address.
    pub unsent: u64,
    /// Shorter than the shortest frame.
    pub truncated: u64,
    /// Of a layout that this program does not speak.
    pub unknown_version: u64,
    /// Sealed under a key that this group does not have.
    pub unknown_key: u64,
    /// Altered on the way, or forged.
    pub broken_seal: u64,
    /// Sealed rightly, but not what a member would say.
    pub malformed: u64,
    /// Of another group, by their header or inside.
    pub other_group: u64,
    /// Sealed for another member.
    #[serde(default)]
    pub other_receiver: u64,
    /// From processes that have not proven that they run: they did not answer a challenge.
    #[serde(default)]
    pub unproven: u64,
    /// Challenges among those sent: a process that was not heard before is to prove that it runs.
    #[serde(default)]
    pub challenges_sent: u64,
    /// What was said to all, and came by another way before: by unicast and by multicast.
    pub copies: u64,
    /// Heard before.
    pub replayed: u64,
    /// From members that run another protocol.
    pub other_protocol: u64,
    /// About tenure, from members with another list of voters, or another store.
    #[serde(default)]
    pub other_voters: u64,
    /// Told of a fence that is too far above all that is known of the store: it was made up.
    #[serde(default)]
    pub far_fences: u64,
    /// From somebody else who goes by this member's name.
    pub namesakes: u64,
    /// How often this member noticed that it had not run for longer than its listen interval.
    pub pauses: u64,
    /// Attempts of this member at tenure that failed.
    #[serde(default)]
    pub tenure_refusals: u64,
    /// Messages of a council among those sent.
    #[serde(default)]
    pub council_sent: u64,
    /// What a council's centre seems to have said too long ago, by this host's calendar: replayed, or calendars differ.
    #[serde(default)]
    pub council_stale: u64,
    /// What a council's centre said, and makes no sense; at the centre, replies that no honest host gives.
    #[serde(default)]
    pub council_senseless: u64,
}

impl Counters {
    pub(crate) fn reject(&mut self, why: Rejected) {
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

    /// How many frames were refused, for whatever reason.
    pub fn rejected(&self) -> u64 {
        self.by_reason().iter().map(|(_, count)| count).sum()
    }

    /// How many frames were refused for each reason, by the names that the reasons have in what is measured.
    pub fn by_reason(&self) -> [(&'static str, u64); 14] {
        [
            ("truncated", self.truncated),
            ("unknown_version", self.unknown_version),
            ("unknown_key", self.unknown_key),
            ("broken_seal", self.broken_seal),
            ("malformed", self.malformed),
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
