//! Whether a centre went by its rules: what it said in each round follows from the replies that it tells of.
//!
//! All that its elections go by is in the record, but for one thing: how many seats were left when a round was over that ended an
//! election, as some may have fallen empty while it lasted. So each number that there can have been is followed, as far
//! as what the centre said next allows.

use std::collections::BTreeSet;

use super::audit::{FIRST_ROUND, Late, Round, Voice};
use super::election::{Ask, Count, Election, Next};
use super::house::is_remembered;
use super::{Config, Feedback};

/// In more ways than these nobody is followed. There are one or two nearly always.
const MOST_PATHS: usize = 256;

/// How the elections of a session went, by what the centre said and the replies that it tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Course {
    /// The rounds begin with this one, and an election with round 1.
    Begins(u32),
    /// What the centre said in this round does not follow from the replies before it.
    Departs(u32),
    /// There was a council.
    Elected(Elected),
    /// Nobody was elected in these rounds.
    Open,
}

/// In which rounds, and by which of their draws, hosts were elected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elected {
    /// The first council.
    pub first: (u32, u8),
    /// That, and those who filled seats that fell empty: whoever can have been elected.
    pub all: BTreeSet<(u32, u8)>,
    /// From this round on it cannot be told.
    pub lost_from: Option<u32>,
}

/// Whether the elections of a session and class went as the rules say. Seats by merit and masks cannot be told so.
pub fn course(config: &Config, rounds: &[Round]) -> Course {
    let (paths, lost_from) = match follow(config, rounds) {
        Ok(followed) => followed,
        Err(ended) => return ended,
    };
    let all: BTreeSet<(u32, u8)> = paths.into_iter().flat_map(|it| it.elected).collect();
    match all.first().copied() {
        Some(first) => Course::Elected(Elected {
            first,
            all,
            lost_from,
        }),
        None => Course::Open,
    }
}

/// The word and the base of the call with which the centre has to go on after these rounds of one class. None: an election is
/// over with them, so that the next call depends on the seats that fall empty; or it cannot be told.
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
    Some((ask.content.encode(config.algorithm), ask.base))
}

/// All ways in which the elections can have gone, and from which round on there are too many.
fn follow(config: &Config, rounds: &[Round]) -> Result<(Vec<Path>, Option<u32>), Course> {
    let Some(first) = rounds.first().map(|it| &it.feedback) else {
        return Err(Course::Open);
    };
    if first.round != FIRST_ROUND {
        return Err(Course::Begins(first.round));
    }
    let mut begin = Path {
        election: Election::new(config.knowledge),
        elected: BTreeSet::new(),
        asks: None,
    };
    if !begin.opens(Some(first), 0, config) {
        return Err(Course::Departs(first.round));
    }
    let late = rounds.iter().flat_map(|it| &it.late);
    let late: BTreeSet<u32> = late.map(|it| it.to).collect();
    let (mut paths, mut lost_from) = (vec![begin], None);
    for (place, round) in rounds.iter().enumerate() {
        let next = rounds.get(place + 1).map(|it| &it.feedback);
        let mut after: Vec<Path> = Vec::new();
        for path in &paths {
            // Seats fall empty while an election lasts, and are filled when it ends.
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
            return Err(Course::Departs(next.unwrap_or(&round.feedback).round));
        }
        paths = after;
        if paths.len() > MOST_PATHS {
            lost_from = next.map(|it| it.round);
            break;
        }
    }
    Ok((paths, lost_from))
}

/// One way in which it can have gone.
#[derive(Debug, Clone)]
struct Path {
    election: Election,
    /// In which rounds, by which draws.
    elected: BTreeSet<(u32, u8)>,
    /// What the centre asks next, while an election is under way.
    asks: Option<Ask>,
}

impl Path {
    /// How it goes on where so many were seated when this round was counted. None: not as the centre went.
    fn after(
        &self,
        round: &Round,
        seated: u32,
        next: Option<&Feedback>,
        config: &Config,
    ) -> Option<Self> {
        let Round {
            feedback, replies, ..
        } = round;
        let chamber = config.chamber(feedback.class)?;
        let (wanted, c) = (chamber.wanted(seated)?, chamber.c(seated));
        let mut path = Self {
            asks: None,
            ..self.clone()
        };
        path.hear_late(round, false, config);
        let most = path.election.most_drawn_by(config).max(c);
        // As the centre adds them up.
        let mut voices: Vec<&Voice> = replies.iter().collect();
        voices.sort_unstable_by_key(|it| it.host);
        let of = |draw: u8| voices.iter().filter(move |it| it.draws.has(draw));
        let numbers = |draw| of(draw).map(|it| f64::from(it.number).clamp(c, most)).sum();
        let yes = [0, 1].map(|draw| of(draw).count() as u32);
        let count = Count {
            yes,
            numbers: [numbers(0), numbers(1)],
            best_first: &[],
            round: feedback.round,
            wanted,
            enough: chamber.seats.least.saturating_sub(seated).max(1),
            c,
        };
        let is_so = match path.election.count(count, config) {
            Next::Ask(ask) => {
                path.asks = Some(ask);
                // It asks at once, so that nothing comes in between. What comes when nobody writes down any more is with the last round.
                let rested = round.late.iter().any(|it| it.in_rest);
                let is_next = |it: &Feedback| {
                    !rested && u32::from(it.seated) == seated && is_said(ask, it, config)
                };
                next.is_none_or(is_next)
            }
            Next::Elected(draw) => {
                path.elected.insert((feedback.round, draw));
                path.hear_late(round, true, config);
                path.opens(next, seated + yes[usize::from(draw)], config)
            }
            Next::Rest => {
                // Too few were there, and it looks again: that there were more its notes would show.
                path.election.forget(config.knowledge);
                path.hear_late(round, true, config);
                path.opens(next, seated, config)
            }
        };
        is_so.then_some(path)
    }

    /// Takes in what came late in the time of this round, or in the rest after it.
    fn hear_late(&mut self, round: &Round, in_rest: bool, config: &Config) {
        let last = round.feedback.round;
        let is_heard = |it: &&Late| is_remembered(it.to, last) && it.in_rest == in_rest;
        for Late { to, voice, .. } in round.late.iter().filter(is_heard) {
            self.election
                .hear_late((*to, voice.draws, voice.number), config);
        }
    }

    /// Whether an election begins so, if any does, where no more than so many can be seated. How many are the centre says itself.
    fn opens(&mut self, feedback: Option<&Feedback>, most: u32, config: &Config) -> bool {
        let Some(feedback) = feedback else {
            return true; // the record ends here
        };
        let seated = u32::from(feedback.seated);
        let chamber = config.chamber(feedback.class);
        let wanted = chamber.and_then(|it| Some((it.wanted(seated)?, it.c(seated))));
        let ask = wanted.map(|wanted| self.election.open(config, wanted, 0));
        seated <= most && ask.is_some_and(|ask| is_said(ask, feedback, config))
    }
}

fn is_said(ask: Ask, feedback: &Feedback, config: &Config) -> bool {
    feedback.word == ask.content.encode(config.algorithm)
        && (feedback.base, feedback.floor) == (ask.base, ask.floor)
}
