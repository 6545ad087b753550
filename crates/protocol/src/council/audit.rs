//! Whether a draw with public coins was held as it should have been.
//!
//! Whoever has kept the feedback messages of a session, which all can hear, and the centre's list of who replied can tell who had
//! to reply in each round: a centre that lets somebody in who drew a no, or has left out somebody time after time, is found out.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::calls::Calls;
use super::candidacy::Candidacy;
use super::coin::{Draws, Toss};
use super::{Coin, Config, Feedback};
use crate::{Candidate, MemberId};

/// One round as the centre tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// What it said.
    pub feedback: Feedback,
    /// Who replied.
    pub replies: Vec<Voice>,
    /// Replies to rounds before that came when this one had begun, and to this one when it was over: the centre learns from them how
    /// many hosts there are, and no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Late>,
}

/// A reply that came when its round was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// To which round.
    pub to: u32,
    /// What it said.
    pub voice: Voice,
    /// Whether the round was over too in whose time it came, and none had followed yet: the centre rested.
    pub in_rest: bool,
}

/// A reply that the centre has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voice {
    /// Whose.
    pub host: MemberId,
    /// With what draws.
    pub draws: Draws,
    /// By which number it says that it drew.
    pub number: u32,
}

/// Whose part in an election is not what its coins say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispute {
    /// In which round.
    pub round: u32,
    /// Who.
    pub host: MemberId,
    /// In what way.
    pub cause: Cause,
}

/// What is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It is said to have replied, with draws that it cannot have had.
    Favoured,
    /// It is said to have replied with a no, and only a yes is a reply.
    Silent,
    /// It is said to have drawn by a number that no host can draw by, whichever calls it has missed.
    Beyond,
    /// It is said to have replied late, in the time of this round, to one that had not been yet.
    Unasked,
    /// It had to reply, and is not on the list. A message that was lost does that too.
    Missing,
    /// It had to reply, and did when the round was over. That it was so late only the centre says.
    Late,
    /// It drew by the number of a host that has missed calls. That it has missed them only the reply says.
    MissedCalls,
}

impl Cause {
    /// Whether no honest centre tells so. Else it may be, and nobody can tell.
    pub fn is_fault(self) -> bool {
        match self {
            Self::Favoured | Self::Silent | Self::Beyond | Self::Unasked => true,
            Self::Missing | Self::Late | Self::MissedCalls => false,
        }
    }
}

/// Goes through the rounds of one class and session, from the first on, with all `hosts` of that class that held no seat and
/// heard all. None: the coins are not public, or these are not the rounds of one election, one after the other from round 1 on.
pub fn audit(config: &Config, rounds: &[Round], hosts: &[Candidate]) -> Option<Vec<Dispute>> {
    audit_first(config, (u32::MAX, rounds), hosts)
}

/// The same of the rounds up to `last`, in which the first election ended, where others follow: replies to the first ones may have come
/// in the time of those.
pub fn audit_first(
    config: &Config,
    (last, rounds): (u32, &[Round]),
    hosts: &[Candidate],
) -> Option<Vec<Dispute>> {
    let part = 0..ends(last, rounds);
    go_through(config, (FIRST_ROUND, rounds, part), hosts, Part::First)
}

/// The same of the rounds that follow round `last`: they fill seats that fell empty. `rounds` are those of the whole session: what hosts
/// draw by follows from all calls. A host is missing in rounds that call all, if it
/// had to reply by the number of a host that has heard every call, and unless it held a seat: the rounds do not tell which hosts did.
pub fn audit_later(
    config: &Config,
    (last, rounds): (u32, &[Round]),
    hosts: &[Candidate],
) -> Option<Vec<Dispute>> {
    let begins = last.checked_add(1)?;
    let part = ends(last, rounds)..rounds.len();
    go_through(config, (begins, rounds, part), hosts, Part::Later)
}

/// How many rounds there are up to `last`.
fn ends(last: u32, rounds: &[Round]) -> usize {
    let is_before = |it: &&Round| it.feedback.round <= last;
    rounds.iter().take_while(is_before).count()
}

/// The first round of each class in a session. Were it any other, a centre could look for one whose coins it likes.
pub(super) const FIRST_ROUND: u32 = 1;

/// Which rounds of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Those of its first election.
    First,
    /// Those after it.
    Later,
}

/// Of all these rounds goes through a part, which is to begin with the round `begins`.
fn go_through(
    config: &Config,
    (begins, all, part_of_all): (u32, &[Round], Range<usize>),
    hosts: &[Candidate],
    part: Part,
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
        let Round {
            feedback,
            replies,
            late,
        } = round;
        if !calls.push(feedback, config) {
            return None;
        }
        let (call, number) = (Call::of(feedback, config)?, calls.number(feedback.round)?);
        let toss = Toss::new(seed, feedback);
        let tells_of_missing = part == Part::First || call.is_to_all;
        let mut dispute = |host, cause| {
            disputes.push(Dispute {
                round: feedback.round,
                host,
                cause,
            });
        };
        let has_been = |to: u32| (FIRST_ROUND..=feedback.round).contains(&to);
        let unasked = late.iter().filter(|it| !has_been(it.to));
        unasked.for_each(|it| dispute(it.voice.host, Cause::Unasked));
        let came_late = all.iter().flat_map(|it| &it.late);
        let came_late = came_late.filter(|it| it.to == feedback.round);
        let in_time = replies.iter().map(|it| (*it, false));
        let mut said: Vec<(Voice, bool)> = in_time
            .chain(came_late.map(|it| (it.voice, true)))
            .collect();
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
                None => (tells_of_missing && due.any()).then_some(Cause::Missing),
            });
            if let Some(cause) = cause {
                dispute(host.id, cause);
            }
        }
        // Replies of those who are no hosts.
        said.iter()
            .for_each(|(it, _)| dispute(it.host, Cause::Favoured));
    }
    Some(disputes)
}

/// The draws of a host: those of its reply, if it can have replied so; else those of a host that has heard every call, by `number`.
fn draws_due(
    candidacy: &mut Candidacy,
    (host, replied): (Candidate, Option<Draws>),
    (feedback, call, number, toss): (&Feedback, &Call, u32, Toss),
    config: &Config,
) -> Draws {
    if !call.admits(host, feedback.floor, 0) {
        candidacy.sit_out(feedback.round);
        return Draws::default();
    }
    let rounds = (feedback.round, feedback.base);
    let takes_part = candidacy.recall(config.algorithm, rounds, call.content);
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
