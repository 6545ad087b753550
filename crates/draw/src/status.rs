//! The status of a draw as one member sees it, during the draw and afterwards, for people and for
//! programs.

use std::path::PathBuf;

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::wagner::flips::Flip;
use serde::Serialize;

use super::bytes::Digest;
use super::ring::Ring;

/// The status of a draw as one member sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DrawStatus {
    /// The name of the draw.
    pub draw: String,
    /// The number of the draw.
    pub number: u64,
    /// The digest of the ring.
    pub ring: Digest,
    /// The member whose status this is.
    pub member: String,
    /// The stage of the draw.
    pub state: State,
    /// The elected leader, once all members have signed it.
    pub leader: Option<String>,
    /// The leader that this member has signed, whether or not the others did.
    pub seen: Option<String>,
    /// The fault that this member knows of. Always `None` once a leader is elected: later faults
    /// are among the reports.
    pub fault: Option<Evidence>,
    /// Faults that other members noticed and signed. If a leader is elected, also a fault that a
    /// neighbour reported to this member nevertheless.
    pub reports: Vec<Evidence>,
    /// The members whose signature under this member's verdict is missing when the draw ends.
    pub unconfirmed_by: Vec<String>,
    /// The members that are not present yet while this member waits, with reasons as far as it
    /// knows them.
    pub missing: Vec<String>,
    /// The number of Basic rounds, including the one under way.
    pub basic_rounds: u32,
    /// The number of protocol messages that this member has sent.
    pub messages_sent: u64,
    /// The number of bytes that this member has sent.
    pub bytes_sent: u64,
    /// The number of connections refused before and during the draw: strangers, wrong keys, other
    /// rings, or garbage.
    pub refused: u64,
    /// The reason for the last refusal, or for the last one in the left neighbour's name. Any
    /// process can use that name, so it says nothing about the neighbour.
    pub last_refused: Option<String>,
    /// The path of the transcript.
    pub transcript: PathBuf,
}

/// The stage of a draw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// This member waits until all members are present.
    #[default]
    #[serde(rename = "gathering")]
    Rendezvous,
    /// Members exchange flips.
    Drawing,
    /// This member has seen a leader elected, and members exchange signatures.
    Confirming,
    /// All members have signed the leader.
    Elected,
    /// This member knows of a fault: there is no result.
    Fault,
    /// This member has seen a leader elected but lacks signatures of other members. There is no
    /// result yet. It becomes one when a member shows the missing signatures later.
    Unconfirmed,
}

/// A fault as one member reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The member that reported it.
    pub by: String,
    /// The Basic round in which it occurred.
    pub round: u32,
    /// The cause.
    pub cause: FaultCause,
    /// The cause in words.
    pub text: String,
}

impl Evidence {
    pub(super) fn new(ring: &Ring, fault: Fault) -> Self {
        Self {
            by: ring.name(fault.place).to_owned(),
            round: fault.round,
            cause: fault.cause,
            text: in_words(ring, fault),
        }
    }
}

/// Describes a fault in words, with names in place of places.
pub(super) fn in_words(ring: &Ring, Fault { place, round, cause }: Fault) -> String {
    let by = ring.name(place);
    let neighbour = |side| ring.name(ring.neighbour(place, side));
    let what = match cause {
        FaultCause::Disagreement { of, from_left, from_right } => {
            let [left, right] = Side::BOTH.map(neighbour);
            let [of, one, other] = [ring.name(of), coin(from_left), coin(from_right)];
            format!("the flip of {of} came as {one} from {left} and as {other} from {right}")
        }
        FaultCause::OwnFlip { side, sent, received } => {
            let [sent, received, beside] = [coin(sent), coin(received), neighbour(side)];
            format!("its own flip, {sent}, came back from {beside} as {received}")
        }
        FaultCause::Nonsense { side, received } => {
            let [beside, received] = [neighbour(side), show(received)];
            format!("{beside} sent {received}, which the protocol does not allow there")
        }
        FaultCause::OutOfTurn { side } => {
            let beside = neighbour(side);
            format!("{beside} sent more than a member can send while it waits for both neighbours")
        }
        FaultCause::Silence { side: Some(side) } => {
            format!("{} did not answer in time", neighbour(side))
        }
        FaultCause::Silence { side: None } => "neither neighbour answered in time".to_owned(),
        FaultCause::Stalled { stages } => {
            let in_a_row = in_a_row(stages);
            format!("all active members flipped the same coin {in_a_row}, which may be chance")
        }
        FaultCause::Told { side } => format!("{} reports a fault", neighbour(side)),
        FaultCause::Withdrawn => {
            "it withdrew before the draw ended: it was stopped, or its host failed".to_owned()
        }
    };
    format!("{by}, in Basic round {round}: {what}")
}

/// The number of consecutive times in words.
pub(super) fn in_a_row(times: u32) -> String {
    match times {
        1 => "once".to_owned(),
        _ => format!("{times} times in a row"),
    }
}

pub(super) fn show(message: Message) -> &'static str {
    match message {
        Message::Flip(flip) => coin(flip),
        Message::Withheld => "no flip",
        Message::Fault => "a fault message",
    }
}

fn coin(flip: Flip) -> &'static str {
    match flip {
        Flip::Heads => "heads",
        Flip::Tails => "tails",
    }
}

#[cfg(test)]
mod tests {
    use super::in_a_row;

    #[test]
    fn single_occurrence_is_described_as_once() {
        assert_eq!(in_a_row(1), "once");
        assert_eq!(in_a_row(2), "2 times in a row");
    }
}
