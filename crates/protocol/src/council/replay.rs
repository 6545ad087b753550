//! The replay of a centre's decisions: each feedback must follow from the recorded replies.
//!
//! Everything that its elections depend on is in the record, with one exception: the number of
//! seats left at the end of a round that ended an election, because some may have fallen empty
//! meanwhile. So each possible number is followed, as far as the centre's next feedback allows.

use std::collections::BTreeSet;

use super::audit::{FIRST_ROUND, Late, Round, Voice};
use super::class_election::is_remembered;
use super::election::{Ask, Election, NextStep, RoundCount};
use super::{Config, Feedback};

/// The greatest number of paths that are followed. There are nearly always one or two.
const MOST_PATHS: usize = 256;

/// The course of the elections of a session, by the centre's feedbacks and the recorded replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// The record begins with this round, but an election begins with round 1.
    Begins(u32),
    /// The centre's feedback in this round does not follow from the replies before it.
    Departs(u32),
    /// A council was elected.
    Elected(Elected),
    /// No host was elected in these rounds.
    Open,
}

/// The rounds, and their draws, in which hosts were elected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elected {
    /// The first council.
    pub first: (u32, u8),
    /// The first council, and the hosts that filled empty seats: all that can have been elected.
    pub all: BTreeSet<(u32, u8)>,
    /// The round from which on the course is undecidable.
    pub lost_from: Option<u32>,
}

/// Replays the elections of a session and class by the rules. Seats by priority and by masks cannot
/// be replayed.
pub fn replay(config: &Config, rounds: &[Round]) -> Replay {
    let (paths, lost_from) = match follow(config, rounds) {
        Ok(followed) => followed,
        Err(ended) => return ended,
    };
    let all: BTreeSet<(u32, u8)> = paths.into_iter().flat_map(|it| it.elected).collect();
    match all.first().copied() {
        Some(first) => Replay::Elected(Elected { first, all, lost_from }),
        None => Replay::Open,
    }
}

/// The word and the base of the call with which the centre has to continue after these rounds of
/// one class. `None`: an election ended with them, so that the next call depends on the seats that
/// fall empty; or it is undecidable.
pub fn next_call(config: &Config, class: u16, rounds: &[Round]) -> Option<(u64, u32)> {
    let ask = match rounds {
        [] => {
            let chamber = config.chamber(class)?;
            let goal = (chamber.wanted(0)?, chamber.c(0));
            Election::new(config.knowledge).open(config, goal, 0)
        }
        _ => match follow(config, rounds).ok()?.0.as_slice() {
            [path] => path.asks?,
            _ => return None,
        },
    };
    Some((ask.wire_bits.encode(config.algorithm), ask.base))
}

/// All possible courses of the elections, and the round from which on there are too many.
fn follow(config: &Config, rounds: &[Round]) -> Result<(Vec<Path>, Option<u32>), Replay> {
    let Some(first) = rounds.first().map(|it| &it.feedback) else {
        return Err(Replay::Open);
    };
    if first.round != FIRST_ROUND {
        return Err(Replay::Begins(first.round));
    }
    let mut begin =
        Path { election: Election::new(config.knowledge), elected: BTreeSet::new(), asks: None };
    if !begin.opens(Some(first), 0, config) {
        return Err(Replay::Departs(first.round));
    }
    let late = rounds.iter().flat_map(|it| &it.late);
    let late: BTreeSet<u32> = late.map(|it| it.to).collect();
    let (mut paths, mut lost_from) = (vec![begin], None);
    for (place, round) in rounds.iter().enumerate() {
        let next = rounds.get(place + 1).map(|it| &it.feedback);
        let mut after: Vec<Path> = Vec::new();
        for path in &paths {
            // Seats fall empty during an election, and are filled at its end.
            for seated in 0..=u32::from(round.feedback.seated) {
                let Some(mut path) = path.after(round, seated, next, config) else {
                    continue;
                };
                path.election.recall_only(|round| late.contains(&round));
                match after.iter_mut().find(|it| it.election == path.election) {
                    Some(same) => same.elected.extend(path.elected),
                    None => after.push(path),
                }
            }
        }
        if after.is_empty() {
            return Err(Replay::Departs(next.unwrap_or(&round.feedback).round));
        }
        paths = after;
        if paths.len() > MOST_PATHS {
            lost_from = next.map(|it| it.round);
            break;
        }
    }
    Ok((paths, lost_from))
}

/// One possible course.
#[derive(Debug, Clone)]
struct Path {
    election: Election,
    /// The rounds and draws.
    elected: BTreeSet<(u32, u8)>,
    /// The centre's next call, while an election is running.
    asks: Option<Ask>,
}

impl Path {
    /// The continuation if `seated` hosts were seated when this round was counted. `None`: the
    /// centre went another way.
    fn after(
        &self,
        round: &Round,
        seated: u32,
        next: Option<&Feedback>,
        config: &Config,
    ) -> Option<Self> {
        let Round { feedback, replies, .. } = round;
        let chamber = config.chamber(feedback.class)?;
        let (wanted, c) = (chamber.wanted(seated)?, chamber.c(seated));
        let mut path = Self { asks: None, ..self.clone() };
        path.hear_late(round, false, config);
        let most = path.election.most_drawn_by(config).max(c);
        // In the order in which the centre adds them up.
        let mut voices: Vec<&Voice> = replies.iter().collect();
        voices.sort_unstable_by_key(|it| it.host);
        let of = |draw: u8| voices.iter().filter(move |it| it.draws.has(draw));
        let numbers = |draw| of(draw).map(|it| f64::from(it.number).clamp(c, most)).sum();
        let yes = [0, 1].map(|draw| of(draw).count() as u32);
        let count = RoundCount {
            yes,
            numbers: [numbers(0), numbers(1)],
            best_first: &[],
            round: feedback.round,
            wanted,
            enough: chamber.seats.least.saturating_sub(seated).max(1),
            c,
        };
        let is_so = match path.election.count(count, config) {
            NextStep::Ask(ask) => {
                path.asks = Some(ask);
                // The centre asks at once, without a rest in between. Replies after the end of the
                // record are in the last round.
                let rested = round.late.iter().any(|it| it.in_rest);
                let is_next = |it: &Feedback| {
                    !rested && u32::from(it.seated) == seated && matches_feedback(ask, it, config)
                };
                next.is_none_or(is_next)
            }
            NextStep::Elected(draw) => {
                path.elected.insert((feedback.round, draw));
                path.hear_late(round, true, config);
                path.opens(next, seated + yes[usize::from(draw)], config)
            }
            NextStep::Rest => {
                // Too few hosts existed, and the centre looks again: if there had been more, its
                // record would show it.
                path.election.forget(config.knowledge);
                path.hear_late(round, true, config);
                path.opens(next, seated, config)
            }
        };
        is_so.then_some(path)
    }

    /// Handles the late replies that arrived during this round, or in the rest after it.
    fn hear_late(&mut self, round: &Round, in_rest: bool, config: &Config) {
        let last = round.feedback.round;
        let is_heard = |it: &&Late| is_remembered(it.to, last) && it.in_rest == in_rest;
        for Late { to, voice, .. } in round.late.iter().filter(is_heard) {
            self.election.hear_late((*to, voice.draws, voice.number), config);
        }
    }

    /// True if an election can begin with this feedback, with at most `most` hosts seated. The
    /// feedback contains the number of seated hosts.
    fn opens(&mut self, feedback: Option<&Feedback>, most: u32, config: &Config) -> bool {
        let Some(feedback) = feedback else {
            return true; // the record ends here
        };
        let seated = u32::from(feedback.seated);
        let chamber = config.chamber(feedback.class);
        let wanted = chamber.and_then(|it| Some((it.wanted(seated)?, it.c(seated))));
        let ask = wanted.map(|wanted| self.election.open(config, wanted, 0));
        seated <= most && ask.is_some_and(|ask| matches_feedback(ask, feedback, config))
    }
}

fn matches_feedback(ask: Ask, feedback: &Feedback, config: &Config) -> bool {
    feedback.word == ask.wire_bits.encode(config.algorithm)
        && (feedback.base, feedback.floor) == (ask.base, ask.floor)
}
