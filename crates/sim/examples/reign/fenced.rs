//! Elections whose nominee seeks tenure, as in the field: the probabilistic election nominates, a
//! few voters grant.
//!
//! At every step the [`Registry`] checks the promise of tenure: one holder at a time, and fences
//! that only rise.

use std::cell::Cell;
use std::collections::BTreeMap;

use hustings_protocol::probabilistic::{self, Probabilistic};
use hustings_protocol::simulated::Nominating;
use hustings_protocol::tenure::{self, Durable, Fence, Role, Saved, Tenure, TenureOutcome};
use hustings_protocol::{
    Candidate, Duration, ElectionOutcome, Input, Instant, Io, MemberId, Protocol, Simulated, View,
};
use hustings_sim::{Boot, Event, Trace, Verb};
use rand_core::Rng;

/// The configuration of elections and tenure.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The election.
    pub(crate) election: probabilistic::Config,
    /// Tenure.
    pub(crate) tenure: tenure::Config,
}

/// A message between members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) enum Message {
    /// A message of the election.
    Election(probabilistic::Message),
    /// A message of tenure.
    Tenure(tenure::Message),
}

impl Message {
    /// The kind of all tenure messages.
    pub(crate) const TENURE: usize = 6;
}

impl hustings_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &["initiation", "preference", "decision", "question", "check", "answer", "tenure"];

    fn kind(&self) -> usize {
        match self {
            Self::Election(message) => message.kind(),
            Self::Tenure(_) => Self::TENURE,
        }
    }
}

/// The timers of both protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A timer of the election.
    Election(probabilistic::Timer),
    /// A timer of tenure.
    Tenure(tenure::Timer),
}

impl hustings_protocol::Timer for Timer {
    const ALL: &'static [Self] = &[
        Self::Election(probabilistic::Timer::Phase),
        Self::Election(probabilistic::Timer::Check),
        Self::Tenure(tenure::Timer::Attempt),
        Self::Tenure(tenure::Timer::Answer),
        Self::Tenure(tenure::Timer::Renew),
        Self::Tenure(tenure::Timer::End),
    ];

    fn index(self) -> usize {
        match self {
            Self::Election(timer) => timer.index(),
            Self::Tenure(timer) => 2 + timer.index(),
        }
    }
}

/// The outcomes of both protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum FencedOutcome {
    /// An outcome of the election.
    Election(ElectionOutcome),
    /// An outcome of tenure.
    Tenure(TenureOutcome),
}

impl Nominating for FencedOutcome {
    fn election(&self) -> Option<ElectionOutcome> {
        match self {
            Self::Election(outcome) => Some(*outcome),
            Self::Tenure(_) => None,
        }
    }
}

/// A request to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Call an election.
    Call,
}

/// One member. It seeks tenure while it is the election's nominee.
#[derive(Debug, Clone)]
pub(crate) struct Fenced {
    pub(crate) election: Probabilistic,
    /// Boxed: most members never hold tenure, and a hundred thousand take part in elections.
    tenure: Box<Tenure>,
}

impl Fenced {
    /// Creates a member that comes up. `config` determines if it votes.
    pub(crate) fn new(boot: &Boot<Self>, config: &tenure::Config) -> Self {
        let votes = config.place(boot.me.id).map(|_| {
            // The group is new: its voters were initialised, and keep their saved state.
            Saved::Initialised(boot.saved.unwrap_or(Durable::FOUNDING))
        });
        Self {
            election: Probabilistic::default(),
            tenure: Box::new(Tenure::new(Role { votes, stands: true })),
        }
    }

    /// Passes an input to the election. The resulting nominee decides if the member seeks tenure.
    fn elect(&mut self, input: Input<Probabilistic>, io: &mut impl Io<Self>) {
        let named = Cell::new(None);
        self.election.step(input, &mut Half { io, named: &named });
        if let Some(nominee) = named.take() {
            let request = if nominee == Some(io.me().id) {
                tenure::Request::Acquire
            } else {
                tenure::Request::Withdraw
            };
            self.seek(Input::Request(request), io);
        }
    }

    fn seek(&mut self, input: Input<Tenure>, io: &mut impl Io<Self>) {
        let named = Cell::new(None);
        self.tenure.step(input, &mut Half { io, named: &named });
    }
}

impl Protocol for Fenced {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = Durable;
    type Outcome = FencedOutcome;
    type Request = Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.seek(Input::Start, io),
            Input::Message { from, message } => match message {
                Message::Election(message) => self.elect(Input::Message { from, message }, io),
                Message::Tenure(message) => self.seek(Input::Message { from, message }, io),
            },
            Input::Timer(Timer::Election(timer)) => self.elect(Input::Timer(timer), io),
            Input::Timer(Timer::Tenure(timer)) => self.seek(Input::Timer(timer), io),
            Input::ViewChanged(change) => self.elect(Input::ViewChanged(change), io),
            Input::Request(Request::Call) => self.elect(Input::Start, io),
            Input::Leave => {
                self.elect(Input::Leave, io);
                self.seek(Input::Leave, io);
            }
        }
    }
}

impl Simulated for Fenced {}

/// The access of one of the two protocols to the world.
struct Half<'a, I> {
    io: &'a mut I,
    /// The nominee that the election has reported in this step.
    named: &'a Cell<Option<Option<MemberId>>>,
}

/// Implements `Io` for one half; the parameters are the differences between the two.
macro_rules! half {
    ($protocol:ty, $part:ident, $config:ident, $save:expr) => {
        impl<I: Io<Fenced>> Io<$protocol> for Half<'_, I> {
            fn me(&self) -> Candidate {
                self.io.me()
            }

            fn config(&self) -> &<$protocol as Protocol>::Config {
                &self.io.config().$config
            }

            fn now(&self) -> Instant {
                self.io.now()
            }

            fn rng(&mut self) -> &mut impl Rng {
                self.io.rng()
            }

            fn view(&self) -> impl View {
                self.io.view()
            }

            fn unicast(&mut self, to: MemberId, message: <$protocol as Protocol>::Message) {
                self.io.unicast(to, Message::$part(message));
            }

            fn multicast(&mut self, message: <$protocol as Protocol>::Message) {
                self.io.multicast(Message::$part(message));
            }

            fn arm(&mut self, timer: <$protocol as Protocol>::Timer, after: Duration) {
                self.io.arm(Timer::$part(timer), after);
            }

            fn disarm(&mut self, timer: <$protocol as Protocol>::Timer) {
                self.io.disarm(Timer::$part(timer));
            }

            fn save(&mut self, state: <$protocol as Protocol>::Durable) {
                let save: fn(&mut I, <$protocol as Protocol>::Durable) = $save;
                save(self.io, state);
            }

            fn report(&mut self, outcome: <$protocol as Protocol>::Outcome) {
                if let Some(nominee) = outcome.nominee() {
                    self.named.set(Some(nominee));
                }
                self.io.report(FencedOutcome::$part(outcome));
            }

            fn meet(&mut self, candidate: Candidate) {
                self.io.meet(candidate);
            }
        }
    };
}

half!(Probabilistic, Election, election, |_, ()| {});
half!(Tenure, Tenure, tenure, |io, state| io.save(state));

/// The present holder and the past tenures. Panics if the promise of tenure is broken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    holder: Option<(u32, Fence)>,
    last: Option<Fence>,
    /// The number of tenures of each member that has had any.
    tenures: BTreeMap<u32, u64>,
}

impl Registry {
    /// The present holder and its fence.
    pub(crate) fn holder(&self) -> Option<(u32, Fence)> {
        self.holder
    }

    /// The number of tenures.
    pub(crate) fn tenures(&self) -> u64 {
        self.tenures.values().sum()
    }

    /// The number of tenures of `member`.
    pub(crate) fn tenures_of(&self, member: u32) -> u64 {
        self.tenures.get(&member).copied().unwrap_or_default()
    }

    fn gained(&mut self, at: Instant, member: u32, fence: Fence) {
        assert_eq!(self.holder, None, "at {at:?} {member} holds {fence:?} beside it");
        assert!(
            self.last.is_none_or(|last| last < fence),
            "at {at:?} {member} holds {fence:?} after {:?}",
            self.last
        );
        self.holder = Some((member, fence));
        self.last = Some(fence);
        *self.tenures.entry(member).or_default() += 1;
    }

    fn ended(&mut self, member: u32) {
        self.holder.take_if(|(holder, _)| *holder == member);
    }
}

impl Trace<Fenced> for Registry {
    const ON: bool = true;

    fn record(&mut self, at: Instant, event: Event<'_, Fenced>) {
        match event {
            Event::Reported { member, outcome: FencedOutcome::Tenure(outcome) } => match outcome {
                TenureOutcome::Gained { fence } => self.gained(at, member, fence),
                TenureOutcome::Lost { .. } => self.ended(member),
                TenureOutcome::Refused(_) => {}
            },
            // A dead member no longer acts.
            Event::Struck { verb: Verb::Kill(_), members } => {
                members.iter().for_each(|member| self.ended(*member));
            }
            _ => {}
        }
    }
}
