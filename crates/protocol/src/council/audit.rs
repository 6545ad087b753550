//! The audit of a draw with public coins.
//!
//! The inputs are the feedback messages of a session, which all members receive, and the centre's
//! list of replies. From them anyone can compute which hosts had to reply in each round. So a
//! centre that admits a host which drew a no, or omits a host time after time, is found out.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::call::ValidCall;
use super::calls::Calls;
use super::candidacy::Candidacy;
use super::coin::{Draws, Toss};
use super::{Coin, Config, Feedback};
use crate::{Candidate, MemberId};

/// One round, as the centre recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The centre's feedback.
    pub feedback: Feedback,
    /// The replies.
    pub replies: Vec<Voice>,
    /// Late replies: those to earlier rounds that arrived during this one, and those to this one
    /// that arrived after its end. The centre uses them only to estimate the number of hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Late>,
}

/// A reply that arrived after the end of its round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// The round to which it replies.
    pub to: u32,
    /// Its content.
    pub voice: Voice,
    /// True if it arrived while the centre rested: after the end of the round in whose record it
    /// is, and before the next one.
    pub in_rest: bool,
}

/// A reply that the centre received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voice {
    /// The host.
    pub host: MemberId,
    /// Its draws.
    pub draws: Draws,
    /// The number by which, according to the reply, the host drew.
    pub number: u32,
}

/// A host whose part in an election is not as its coins say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispute {
    /// The round.
    pub round: u32,
    /// The host.
    pub host: MemberId,
    /// The discrepancy.
    pub cause: Cause,
}

/// A discrepancy between a record and the coins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The record has a reply of the host with draws that it cannot have had.
    Favoured,
    /// The record has a reply of the host with a no, and only a yes is a reply.
    Silent,
    /// The record has a number by which no host can draw, whichever calls it has missed.
    Beyond,
    /// The record has a late reply, during this round, to one that had not begun.
    Unasked,
    /// The host had to reply, and is not on the list. A lost message has the same effect.
    Missing,
    /// The host had to reply, and replied after the end of the round. Only the centre's word shows
    /// that it was late.
    Late,
    /// The host drew by the number of a host that has missed calls. Only its reply shows that it
    /// missed them.
    MissedCalls,
}

impl Cause {
    /// True if no honest centre records this. Otherwise it may be true, and cannot be decided.
    pub fn is_fault(self) -> bool {
        match self {
            Self::Favoured | Self::Silent | Self::Beyond | Self::Unasked => true,
            Self::Missing | Self::Late | Self::MissedCalls => false,
        }
    }
}

/// Audits the rounds of one class and session, from the first on, with all `hosts` of that class
/// that held no seat and received every call. Returns `None` if the coins are not public, or if the
/// rounds are not consecutive rounds of one election from round 1 on.
pub fn audit(config: &Config, rounds: &[Round], hosts: &[Candidate]) -> Option<Vec<Dispute>> {
    audit_first(config, (u32::MAX, rounds), hosts)
}

/// Audits the rounds up to `last`, in which the first election ended. Replies to these rounds may
/// have arrived during later ones.
pub fn audit_first(
    config: &Config,
    (last, rounds): (u32, &[Round]),
    hosts: &[Candidate],
) -> Option<Vec<Dispute>> {
    let part = 0..ends(last, rounds);
    audit_rounds(config, (FIRST_ROUND, rounds, part), hosts, AuditPart::First)
}

/// Audits the rounds after round `last`, which fill seats that fell empty. `rounds` are those of
/// the whole session: the numbers of hosts follow from all calls. A host is missing in rounds that
/// call all hosts, if it had to reply by the number of a host that has received every call, unless
/// it held a seat: the rounds do not show which hosts did.
pub fn audit_later(
    config: &Config,
    (last, rounds): (u32, &[Round]),
    hosts: &[Candidate],
) -> Option<Vec<Dispute>> {
    let begins = last.checked_add(1)?;
    let part = ends(last, rounds)..rounds.len();
    audit_rounds(config, (begins, rounds, part), hosts, AuditPart::Later)
}

/// The number of rounds up to `last`.
fn ends(last: u32, rounds: &[Round]) -> usize {
    let is_before = |it: &&Round| it.feedback.round <= last;
    rounds.iter().take_while(is_before).count()
}

/// The first round of each class in a session. With a free choice, a centre could look for a round
/// whose coins it likes.
pub(super) const FIRST_ROUND: u32 = 1;

/// The part of a session that is audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuditPart {
    /// The rounds of the first election.
    First,
    /// The rounds after it.
    Later,
}

/// Audits a part of all rounds. The part must begin with the round `begins`.
fn audit_rounds(
    config: &Config,
    (begins, all, part_of_all): (u32, &[Round], Range<usize>),
    hosts: &[Candidate],
    part: AuditPart,
) -> Option<Vec<Dispute>> {
    let Coin::Public { seed } = config.coin else {
        return None;
    };
    let follows = |pair: &[Round]| {
        let (one, next) = (&pair[0].feedback, &pair[1].feedback);
        (one.session, one.class, one.round.checked_add(1))
            == (next.session, next.class, Some(next.round))
    };
    let (before, rounds) = (&all[..part_of_all.start], &all[part_of_all]);
    let first = rounds.first().map(|it| it.feedback.round);
    if first.is_some_and(|it| it != begins) || !rounds.windows(2).all(follows) {
        return None;
    }
    let mut calls = Calls::default();
    for Round { feedback, .. } in before {
        if !calls.push(feedback, config) {
            return None;
        }
    }
    let mut candidacies = vec![Candidacy::default(); hosts.len()];
    let mut disputes = Vec::new();
    for round in rounds {
        let Round { feedback, replies, late } = round;
        if !calls.push(feedback, config) {
            return None;
        }
        let (call, number) = (ValidCall::of(feedback, config)?, calls.number(feedback.round)?);
        let toss = Toss::new(seed, feedback);
        let finds_missing = part == AuditPart::First || call.is_to_all;
        let mut dispute = |host, cause| {
            disputes.push(Dispute { round: feedback.round, host, cause });
        };
        let has_been = |to: u32| (FIRST_ROUND..=feedback.round).contains(&to);
        let unasked = late.iter().filter(|it| !has_been(it.to));
        unasked.for_each(|it| dispute(it.voice.host, Cause::Unasked));
        let came_late = all.iter().flat_map(|it| &it.late);
        let came_late = came_late.filter(|it| it.to == feedback.round);
        let in_time = replies.iter().map(|it| (*it, false));
        let mut said: Vec<(Voice, bool)> =
            in_time.chain(came_late.map(|it| (it.voice, true))).collect();
        said.sort_unstable_by_key(|(it, _)| it.host);
        for (candidacy, host) in candidacies.iter_mut().zip(hosts) {
            let place = said.binary_search_by_key(&host.id, |(it, _)| it.host);
            let heard = place.ok().map(|place| said.remove(place));
            let fault = heard.and_then(|(it, _)| calls.fault_of(feedback.round, it, config));
            let replied = heard.filter(|_| fault.is_none()).map(|(it, _)| it.draws);
            let asked = (feedback, &call, number, toss);
            let due = draws_due(candidacy, (*host, replied), asked, config);
            let cause = fault.or(match heard {
                Some((voice, _)) if voice.draws != due => Some(Cause::Favoured),
                Some((_, true)) => Some(Cause::Late),
                Some((voice, _)) => (voice.number != number).then_some(Cause::MissedCalls),
                None => (finds_missing && due.any()).then_some(Cause::Missing),
            });
            if let Some(cause) = cause {
                dispute(host.id, cause);
            }
        }
        // Replies of members that are not hosts.
        said.iter().for_each(|(it, _)| dispute(it.host, Cause::Favoured));
    }
    Some(disputes)
}

/// The draws of a host: those of its reply, if they are possible; else those of a host that has
/// received every call, by `number`.
fn draws_due(
    candidacy: &mut Candidacy,
    (host, replied): (Candidate, Option<Draws>),
    (feedback, call, number, toss): (&Feedback, &ValidCall, u32, Toss),
    config: &Config,
) -> Draws {
    if !call.admits(host, feedback.floor, 0) {
        candidacy.sit_out(feedback.round);
        return Draws::default();
    }
    let rounds = (feedback.round, feedback.base);
    let takes_part = candidacy.recall(config.algorithm, rounds, call.wire_bits);
    let draws = match replied {
        Some(draws) => draws,
        None if takes_part => {
            let (draws, chance) = (config.algorithm.draws(), call.chance(number));
            Draws::new(draws, chance, |draw| toss.number(host.id, draw))
        }
        None => return Draws::default(),
    };
    candidacy.draw(config.algorithm, draws);
    draws
}
