//! Probabilistic elections as the document runs them. A client calls one, members crash at random
//! in each round, and the run is over when no member calls another round.

mod count;

pub use count::Sizes;

use hustings_protocol::mix64::unit;
use hustings_protocol::probabilistic::{
    Config, GroupSize, Message, Probabilistic, Recall, Request,
};
use hustings_protocol::{Duration, Instant, MemberId, Priority, Simulated};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    Boot, Detection, Halt, Network, Scratch, Seeds, Setup, Silent, Stream, Trace, Verb, Who, World,
};

/// A member of a probabilistic election: the protocol itself, or a variant that wraps it.
pub trait Elector: Simulated<Config = Config, Message = Message, Request = Request> {
    /// The wrapped election.
    fn election(&self) -> &Probabilistic;
}

impl Elector for Probabilistic {
    fn election(&self) -> &Probabilistic {
        self
    }
}

/// The parameters of one run.
#[derive(Debug, Clone, Copy)]
pub struct ProbabilisticTrial {
    /// The number of members; the one with the lowest identity is the best.
    pub members: u32,
    /// The probability that a member's view contains another given member.
    pub view: f64,
    /// The probability that a member crashes in a round, at a time uniform in it.
    pub crash: f64,
    /// The probability that a unicast is lost.
    pub unicast_loss: f64,
    /// The probability that a multicast is lost on its way to one member.
    pub multicast_loss: f64,
    /// The members' configuration. Every message takes [`Config::hop`]. With
    /// [`GroupSize::Estimate`] the members count themselves before the election; members that
    /// crashed meanwhile are back by then. A member without an estimate hears the result, but is
    /// not drawn.
    pub config: Config,
    /// True if views drop crashed members at the beginning of the next round.
    pub purge: bool,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbabilisticRun {
    /// True if all live members have the same nominee, and it is up.
    pub strong_success: bool,
    /// The largest fraction of live members that have the same nominee.
    pub weak_success: f64,
    /// The number of rounds.
    pub rounds: u32,
    /// The number of unicasts.
    pub unicasts: u64,
    /// The number of multicasts.
    pub multicasts: u64,
    /// The number of messages of both kinds in rounds 1 to 4.
    pub messages_rounds_1_to_4: u64,
    /// The number of members that relayed in the first round.
    pub relay_members: u32,
    /// If the first round failed: true if a member called another round, or would have if one were
    /// allowed.
    pub detected: Option<bool>,
    /// The time from the call to the end of the last round.
    pub delay: Duration,
    /// As `delay`, without the members' hesitation between rounds, which the document does not
    /// mention.
    pub delay_in_rounds: Duration,
    /// The members' estimates of the group's size, if they counted themselves.
    pub sizes: Option<Sizes>,
}

/// The document counts messages without the round in which all members take part.
const ROUNDS_COUNTED: u32 = 4;

/// Number of hops between two calls of `goes_on`.
const HOPS_BETWEEN_LOOKS: u64 = 4;

/// Executes one run.
///
/// # Panics
/// If there are no members, or a probability is out of range.
pub fn elect(
    trial: &ProbabilisticTrial,
    seeds: Seeds,
    scratch: Scratch<Probabilistic>,
) -> (ProbabilisticRun, Scratch<Probabilistic>) {
    let (run, Silent, scratch) = elect_traced(trial, seeds, scratch, Silent, || true);
    (run, scratch)
}

/// Executes one run and records it. `goes_on` is called often; if it returns false, the run stops.
/// The client is one more member, the last, which goes down at once.
///
/// # Panics
/// If there are no members, or a probability is out of range.
pub fn elect_traced<T: Trace<Probabilistic>>(
    trial: &ProbabilisticTrial,
    seeds: Seeds,
    scratch: Scratch<Probabilistic>,
    trace: T,
    goes_on: impl Fn() -> bool,
) -> (ProbabilisticRun, T, Scratch<Probabilistic>) {
    let make = |_| Probabilistic::default();
    elect_by(trial, seeds, scratch, trace, make, goes_on)
}

/// As [`elect_traced`], with members that `make` creates.
///
/// # Panics
/// If there are no members, or a probability is out of range.
pub fn elect_by<P: Elector, T: Trace<P>>(
    trial: &ProbabilisticTrial,
    seeds: Seeds,
    scratch: Scratch<P>,
    trace: T,
    make: impl FnMut(Boot<P>) -> P + 'static,
    goes_on: impl Fn() -> bool,
) -> (ProbabilisticRun, T, Scratch<P>) {
    let mut running = RunningElection::new(trial, seeds, scratch, trace, make);
    let sizes = match trial.config.size {
        GroupSize::Known(_) | GroupSize::View => Vec::new(),
        GroupSize::Estimate => count::count(trial, seeds.apart(Stream::Count), &goes_on),
    };
    running.tell(&sizes);
    running.call();
    let relay_members = running.relaying();
    let mut detected = None;
    loop {
        running.finish_round(&goes_on);
        if !goes_on() {
            break;
        }
        let is_recalled = running.is_recalled();
        if running.round == 1 && !running.agreement().0 {
            detected = Some(is_recalled || running.would_recall());
        }
        if !is_recalled {
            break;
        }
        running.next_round();
    }
    let (strong_success, weak_success) = running.agreement();
    let tally = running.world.tally();
    let run = ProbabilisticRun {
        strong_success,
        weak_success,
        rounds: running.round,
        unicasts: tally.unicasts.iter().sum(),
        multicasts: tally.multicasts.iter().sum(),
        messages_rounds_1_to_4: running.counted.unwrap_or_else(|| tally.sent()),
        relay_members,
        detected,
        delay: running.end - Instant::START,
        delay_in_rounds: running.elapsed,
        sizes: Sizes::of(&sizes),
    };
    let (trace, scratch) = running.world.retire();
    (run, trace, scratch)
}

/// An election in progress.
struct RunningElection<'a, P: Elector, T: Trace<P>> {
    trial: &'a ProbabilisticTrial,
    world: World<P, T>,
    chance: Xoshiro256PlusPlus,
    /// The present round.
    round: u32,
    /// The end of the present round.
    end: Instant,
    /// The total duration of all rounds.
    elapsed: Duration,
    /// Initiations sent before the present round began.
    initiations: u64,
    /// Messages sent by the end of the last round that counts.
    counted: Option<u64>,
}

impl<'a, P: Elector, T: Trace<P>> RunningElection<'a, P, T> {
    fn new(
        trial: &'a ProbabilisticTrial,
        seeds: Seeds,
        scratch: Scratch<P>,
        trace: T,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> Self {
        let setup = Setup {
            // The last one is the client, which goes down after it has called the election.
            priorities: vec![Priority(0); trial.members as usize + 1],
            network: Network::lossy(trial.config.hop, trial.unicast_loss, trial.multicast_loss),
            detection: Detection::Never,
            view: trial.view,
        };
        let config = Config { key: seeds.number(Stream::Layout), ..trial.config };
        Self {
            trial,
            world: World::within(scratch, setup, config, seeds, trace, make),
            chance: seeds.rng(Stream::Faults),
            round: 0,
            end: Instant::START,
            elapsed: Duration::ZERO,
            initiations: 0,
            counted: None,
        }
    }

    /// Passes the estimated sizes to the members that have one.
    fn tell(&mut self, sizes: &[Option<u64>]) {
        for (member, size) in (0..).zip(sizes) {
            if let Some(size) = *size {
                self.world.request(member, Request::GroupSize(size));
            }
        }
    }

    /// The client calls the election. Returns when all members that hear the call have begun.
    fn call(&mut self) {
        let client = self.trial.members;
        self.world.start(client);
        self.world.schedule(Instant::START, Verb::Kill(Who::one(client)));
        let begins = Instant::START + self.trial.config.hop;
        self.world.run_until(Instant(begins.0 - 1));
        self.world.see();
        self.begin(begins);
        self.world.run_until(begins);
    }

    /// Begins a round that a member has called, and that the others hear of at `at`.
    fn begin(&mut self, at: Instant) {
        self.round += 1;
        self.initiations = self.world.tally().multicasts[Message::INITIATION];
        let members = self.elections();
        let in_it = members.filter(|member| u32::from(member.round().number) == self.round);
        let k = in_it.map(Probabilistic::k).max().unwrap_or(0);
        let length = self.trial.config.round_time(k);
        self.end = at + length;
        self.elapsed = self.elapsed + self.trial.config.spread + length;
        for member in 0..self.trial.members {
            if unit(self.chance.next_u64()) < self.trial.crash && self.world.is_up(member) {
                let at = at + length.mul_f64(unit(self.chance.next_u64()));
                self.world.schedule(at, Verb::Kill(Who::one(member)));
            }
        }
    }

    fn elections(&self) -> impl Iterator<Item = &Probabilistic> {
        self.world.members().iter().map(P::election)
    }

    fn relaying(&self) -> u32 {
        self.elections().filter(|member| member.relays()).count() as u32
    }

    fn finish_round(&mut self, goes_on: impl Fn() -> bool) {
        let stretch = self.trial.config.hop * HOPS_BETWEEN_LOOKS;
        while self.world.now() < self.end && goes_on() {
            let halt = self.world.run_until(self.end.min(self.world.now() + stretch));
            if halt == Halt::Quiet {
                break;
            }
        }
        if self.round == ROUNDS_COUNTED {
            self.counted = Some(self.world.tally().sent());
        }
    }

    /// The time by which all calls of another round have been sent.
    fn calls_end(&self) -> Instant {
        match self.trial.config.recall {
            Recall::Delay => self.end + self.trial.config.hesitation,
            Recall::Hash | Recall::All => self.end,
        }
    }

    /// True if a member has called another round.
    fn is_recalled(&mut self) -> bool {
        self.world.run_until(self.calls_end());
        self.world.tally().multicasts[Message::INITIATION] > self.initiations
    }

    fn would_recall(&self) -> bool {
        let up = (0..self.trial.members).filter(|&member| self.world.is_up(member));
        up.map(|member| self.world.members()[member as usize].election())
            .any(Probabilistic::recalls)
    }

    fn next_round(&mut self) {
        if self.trial.purge {
            self.world.see();
        }
        self.begin(self.calls_end() + self.trial.config.spread);
    }

    /// Returns true if all live members have the same live nominee, and the largest fraction that
    /// has the same nominee.
    fn agreement(&self) -> (bool, f64) {
        let mut votes = vec![0u32; self.trial.members as usize + 1];
        let mut up = 0;
        for member in (0..self.trial.members).filter(|&member| self.world.is_up(member)) {
            up += 1;
            if let Some((MemberId(leader), _)) = self.world.nominee(member) {
                votes[leader as usize] += 1;
            }
        }
        let most = votes.iter().enumerate().max_by_key(|&(_, votes)| votes);
        let (leader, votes) = most.map_or((0, 0), |(leader, &votes)| (leader as u32, votes));
        let strong = up > 0 && votes == up && self.world.is_up(leader);
        (strong, f64::from(votes) / f64::from(up.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hustings_protocol::Duration;
    use hustings_protocol::probabilistic::Config;

    use super::{ProbabilisticTrial, elect, elect_traced};
    use crate::{JsonLines, Scratch, Seeds, Silent};

    fn trial() -> ProbabilisticTrial {
        let members = 50;
        ProbabilisticTrial {
            members,
            view: 0.5,
            crash: 0.01,
            unicast_loss: 0.4,
            multicast_loss: 0.4,
            config: Config::paper(members.into(), Duration::from_millis(100)),
            purge: true,
        }
    }

    #[test]
    fn recording_a_run_does_not_change_it() {
        for number in 0..20 {
            let seeds = Seeds::new(1, number);
            let (plain, _) = elect(&trial(), seeds, Scratch::default());
            let trace = JsonLines::new(Vec::new());
            let (recorded, trace, _) =
                elect_traced(&trial(), seeds, Scratch::default(), trace, || true);
            assert_eq!(plain, recorded, "run {number}");
            let lines = String::from_utf8(trace.finish().unwrap()).unwrap();
            let multicasts = lines.matches("\"kind\":\"multicast\"").count();
            assert_eq!(multicasts as u64, plain.multicasts, "run {number}");
        }
    }

    #[test]
    fn run_can_be_stopped_within_a_round() {
        let seeds = Seeds::new(1, 0);
        let (whole, _) = elect(&trial(), seeds, Scratch::default());
        let asked = Cell::new(0);
        let once = || asked.replace(asked.get() + 1) == 0;
        let (cut, Silent, _) = elect_traced(&trial(), seeds, Scratch::default(), Silent, once);
        assert!(cut.multicasts < whole.multicasts, "{cut:?}, not {whole:?}");
        assert_eq!((cut.rounds, cut.weak_success), (1, 0.0));
    }
}
