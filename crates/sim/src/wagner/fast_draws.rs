//! Fast honest draws, without messages.
//!
//! If all members are honest, every message has the same delay and none is lost, then the timing
//! does not depend on the flips. So the timing is computed once, with real members whose coins
//! always show tails: a draw in which all stages are equal, and that never ends. Only the order in
//! which members flip in each round matters. A draw then consists of its flips in that order,
//! packed in words. It equals, to the last flip, the draw that the world would have executed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hustings_protocol::wagner::flips::Places;
use hustings_protocol::wagner::leader::{Leader, Next};
use hustings_protocol::wagner::{Config, DrawOutcome, Message, Timer, Wagner};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Protocol, Roster, View,
};
use rand_core::{Infallible, Rng, TryRng};

use super::{DrawRun, DrawTrial, round_time};
use crate::{Seeds, Stream};

/// The order in which the members of a ring flip, for all rounds asked for.
pub struct FastDraws {
    trial: DrawTrial,
    ring: Mutex<UndecidedRing>,
}

impl FastDraws {
    /// The order for `trial`; `None` if a fault may happen in it.
    pub fn of(trial: &DrawTrial) -> Option<Self> {
        let config = trial.config;
        let waits_long_enough = config.respond_within.is_none_or(|limit| limit > trial.hop);
        let is_fault_free = trial.cheaters.is_empty()
            && trial.loss == 0.0
            && waits_long_enough
            && trial.members >= config.ring.fewest();
        is_fault_free.then(|| Self {
            trial: trial.clone(),
            ring: Mutex::new(UndecidedRing::new(trial.members, config)),
        })
    }

    /// Executes the run with `seeds`; `None` if it does not end within the trial's rounds.
    pub fn draw(&self, seeds: Seeds) -> Option<DrawRun> {
        let DrawTrial { members, config, hop, most_rounds, .. } = self.trial;
        let mut rng = seeds.rng(Stream::Members);
        let mut leader = Leader::selecting(members, config.selection);
        let mut heads = Places::none(members);
        for round in 0..most_rounds {
            for &place in self.order(round as usize).iter() {
                heads.put(place, rng.next_u64() >> 63 == 1);
            }
            let elected = match leader.take(&heads, config.compare, config.stall_limit) {
                Next::Round => continue,
                Next::Elected(place) => Some(MemberId(place.into())),
                Next::Stalled => None,
            };
            let rounds = u64::from(round) + 1;
            let time = round_time(&self.trial) * rounds;
            let all = u64::from(members);
            let (fault_messages, informed, delay) = match elected {
                Some(_) => (0, 0, time),
                // Each member sends to both neighbours, which receive it one hop later.
                None => (2 * all, members, time + hop),
            };
            return Some(DrawRun {
                leader: elected,
                stages: leader.stages(),
                flips: leader.flips(),
                flip_messages: 2 * all * all * rounds,
                fault_messages,
                honest: members,
                informed,
                fault_round: elected.is_none().then_some(round + 1),
                leader_is_cheater: false,
                delay,
            });
        }
        None
    }

    /// The order of flips in a round, computed on first use.
    fn order(&self, round: usize) -> Arc<[u32]> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        while ring.orders.len() <= round {
            ring.rehearse_round();
        }
        Arc::clone(&ring.orders[round])
    }
}

/// A ring on which no ring decides anything.
struct UndecidedRing {
    config: Config,
    view: Roster,
    members: Vec<Wagner>,
    /// Messages in flight, in the order of sending, which is the order of arrival.
    post: VecDeque<(u32, MemberId, Message)>,
    /// The members that have flipped, all rounds in a row.
    flipped: Vec<u32>,
    orders: Vec<Arc<[u32]>>,
}

impl UndecidedRing {
    fn new(members: u32, config: Config) -> Self {
        let mut view = Roster::alone(Candidate::new(0, 0));
        for place in 1..u64::from(members) {
            view.insert(Candidate::new(place, 0));
        }
        let mut ring = Self {
            config: Config { stall_limit: None, respond_within: None, ..config },
            view,
            members: vec![Wagner::default(); members as usize],
            post: VecDeque::new(),
            flipped: Vec::new(),
            orders: Vec::new(),
        };
        for place in 0..members {
            ring.tell(place, Input::Start);
        }
        ring
    }

    fn rehearse_round(&mut self) {
        let count = self.members.len();
        while self.flipped.len() < count {
            let Some((to, from, message)) = self.post.pop_front() else {
                return; // unreachable: members wait only for messages in flight
            };
            self.tell(to, Input::Message { from, message });
        }
        // No member is two rounds ahead of another.
        let later = self.flipped.split_off(count);
        self.orders.push(std::mem::replace(&mut self.flipped, later).into());
    }

    fn tell(&mut self, place: u32, input: Input<Wagner>) {
        let mut member = std::mem::take(&mut self.members[place as usize]);
        let mut part = Part { ring: self, place, tails: Tails };
        member.step(input, &mut part);
        self.members[place as usize] = member;
    }
}

/// A member's `Io`.
struct Part<'a> {
    ring: &'a mut UndecidedRing,
    place: u32,
    tails: Tails,
}

/// A coin that always shows tails.
struct Tails;

impl TryRng for Tails {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0);
        Ok(())
    }
}

impl Io<Wagner> for Part<'_> {
    fn me(&self) -> Candidate {
        Candidate::new(u64::from(self.place), 0)
    }

    fn config(&self) -> &Config {
        &self.ring.config
    }

    fn now(&self) -> Instant {
        Instant::START
    }

    /// Members use the generator only to flip.
    fn rng(&mut self) -> &mut impl Rng {
        self.ring.flipped.push(self.place);
        &mut self.tails
    }

    fn view(&self) -> impl View {
        &self.ring.view
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        let from = MemberId(self.place.into());
        self.ring.post.push_back((to.0 as u32, from, message));
    }

    fn multicast(&mut self, _: Message) {}

    fn arm(&mut self, _: Timer, _: Duration) {}

    fn disarm(&mut self, _: Timer) {}

    fn save(&mut self, (): ()) {}

    fn report(&mut self, _: DrawOutcome) {}
}
