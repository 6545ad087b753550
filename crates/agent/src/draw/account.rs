//! What a member can say of its draw: while it lasts and afterwards, for people and for programs.

use std::path::PathBuf;

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Cause, Fault, Side};
use hustings_protocol::wagner::flips::Flip;
use serde::Serialize;

use super::bytes::Digest;
use super::ring::Ring;

/// What a member can say of its draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Account {
    /// What is drawn for.
    pub draw: String,
    /// Which draw for that it is.
    pub number: u64,
    /// What tells its ring from others.
    pub ring: Digest,
    /// Whose account this is.
    pub member: String,
    /// How far it has got.
    pub state: State,
    /// Who is elected, once all members have signed it.
    pub leader: Option<String>,
    /// Whom this member has signed to be elected, whatever the others did.
    pub seen: Option<String>,
    /// What is wrong. Nothing is, once somebody is elected: what is reported after that is among the reports.
    pub fault: Option<Evidence>,
    /// What others have signed that they noticed themselves; and, where somebody is elected, a fault that this member was told of
    /// nevertheless.
    pub reports: Vec<Evidence>,
    /// Those of whom this member has no signature under what it has seen itself, once that is missing for good.
    pub unconfirmed_by: Vec<String>,
    /// Those of whom there is no sign, while this member waits for them, and why, as far as it can tell.
    pub missing: Vec<String>,
    /// How many Basic rounds there were, the one under way included.
    pub basic_rounds: u32,
    /// How many messages of the protocol this member has sent.
    pub messages_sent: u64,
    /// How many bytes, in all.
    pub bytes_sent: u64,
    /// Connections that were refused, before the draw and during it: of strangers, with wrong keys or other rings, or garbage.
    pub refused: u64,
    /// Why the last of them was, or the last that came in the left neighbour's name. Anybody can: it says nothing of that neighbour.
    pub last_refused: Option<String>,
    /// Where the transcript is.
    pub transcript: PathBuf,
}

/// How far a draw has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Members are missing.
    Gathering,
    /// Flips go round.
    Drawing,
    /// This member has seen somebody elected: signatures go round.
    Confirming,
    /// All members have signed who is elected.
    Elected,
    /// This member knows of a fault: there is no result.
    Fault,
    /// This member has seen somebody elected, and has not the signatures of all others under that. There is no result yet:
    /// but whoever has the signatures that are missing can show them later, and then there is.
    Unconfirmed,
}

/// What is wrong, by one member's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Who says so.
    pub by: String,
    /// In which Basic round.
    pub round: u32,
    /// What it noticed.
    pub cause: Cause,
    /// The same in words.
    pub text: String,
}

impl Evidence {
    pub(super) fn new(ring: &Ring, fault: Fault) -> Self {
        Self {
            by: ring.member(fault.place).name.clone(),
            round: fault.round,
            cause: fault.cause,
            text: in_words(ring, fault),
        }
    }
}

/// A fault, with names for places.
pub(super) fn in_words(
    ring: &Ring,
    Fault {
        place,
        round,
        cause,
    }: Fault,
) -> String {
    let name = |place: u32| &ring.member(place).name;
    let by = name(place);
    let neighbour = |side| name(ring.neighbour(place, side));
    let what = match cause {
        Cause::Disagreement {
            of,
            from_left,
            from_right,
        } => format!(
            "the flip of {} came as {} from {} and as {} from {}",
            name(of),
            coin(from_left),
            neighbour(Side::Left),
            coin(from_right),
            neighbour(Side::Right)
        ),
        Cause::OwnFlip {
            side,
            sent,
            received,
        } => format!(
            "its own flip, {}, came home from {} as {}",
            coin(sent),
            neighbour(side),
            coin(received)
        ),
        Cause::Nonsense { side, received } => {
            format!(
                "{} sent {}, which has no place there",
                neighbour(side),
                show(received)
            )
        }
        Cause::OutOfTurn { side } => format!(
            "{} sent more than anybody can who waits for both neighbours",
            neighbour(side)
        ),
        Cause::Silence { side: Some(side) } => {
            format!("{} did not answer in time", neighbour(side))
        }
        Cause::Silence { side: None } => "neither neighbour answered in time".to_owned(),
        Cause::Stalled { stages } => {
            format!(
                "all active members flipped alike {}, which may be chance",
                in_a_row(stages)
            )
        }
        Cause::Told { side } => format!("{} says that there is a fault", neighbour(side)),
        Cause::Withdrawn => {
            "it withdrew before the draw was over: stopped, or failed by its host".to_owned()
        }
    };
    format!("{by}, in Basic round {round}: {what}")
}

/// So many times, without another between.
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
    fn one_time_is_not_in_a_row() {
        assert_eq!(in_a_row(1), "once");
        assert_eq!(in_a_row(2), "2 times in a row");
    }
}
