//! Suppression (SUP): everyone waits for a time of its own; whoever has heard nobody by then speaks.
//!
//! Source    Schooler, thesis (Caltech 2000), chapters 2 and 3; in chapter 5 the lower bound for
//!           delay and messages of [`announce`](crate::announce)
//! Assumes   a multicast reaches every member, or is lost
//! Promises  somebody speaks within T_S, and at most one round is spoken. Not that all name the
//!           same: whoever heard nothing in time speaks too
//! Messages  announcement, to everyone

use crate::announce::{Claim, Message, Wake};
use crate::config::ConfigError;
use crate::{Candidate, Duration, Input, Io, NoRequest, Outcome, Protocol};

/// When members speak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// T_S: everyone who speaks does so within this time.
    pub suppress: Duration,
    /// When within it.
    pub wake: Wake,
}

impl Config {
    /// Whether it can work.
    ///
    /// # Errors
    /// Names the option that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.wake.check()
    }
}

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// It is time to speak, unless somebody did.
    Suppress,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Suppress];

    fn index(self) -> usize {
        self as usize
    }
}

/// One member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suppression {
    phase: Phase,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Waiting,
    /// Has heard somebody, or has spoken.
    Done,
}

impl Suppression {
    /// A member that has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Protocol for Suppression {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Request = NoRequest;
    const SELECTIVE: bool = true;

    /// Whoever has heard somebody, or has spoken, hears no more.
    #[inline]
    fn deaf_up_to(&self, _: Candidate, _: &Config) -> Option<Candidate> {
        match self.phase {
            Phase::Idle | Phase::Done => Some(Candidate::BEYOND_ALL),
            Phase::Waiting => None,
        }
    }

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match (input, self.phase) {
            (Input::Start, Phase::Idle) => {
                let config = *io.config();
                let merit = io.me().merit;
                let wait = config.wake.draw(config.suppress, merit, io.rng());
                io.report(Outcome::Standing { round: 1 });
                io.arm(Timer::Suppress, wait);
                self.phase = Phase::Waiting;
            }
            (Input::Timer(Timer::Suppress), Phase::Waiting) => {
                io.report(Outcome::Nominee(io.me()));
                let claim = Claim {
                    candidate: io.me(),
                    incarnation: 1,
                    established: false,
                    backing: 0,
                };
                io.multicast(Message::Announcement {
                    claim,
                    beat: 1,
                    byes: 0,
                });
                self.phase = Phase::Done;
            }
            (
                Input::Message {
                    message: Message::Announcement { claim, .. },
                    ..
                },
                Phase::Waiting,
            ) => {
                io.report(Outcome::Nominee(claim.candidate));
                io.disarm(Timer::Suppress);
                self.phase = Phase::Done;
            }
            // Once heard or spoken, nothing matters; nor does a message that is not SUP's.
            (Input::Start | Input::Timer(_) | Input::Message { .. }, _) => {}
            (Input::ViewChanged(_) | Input::Leave, _) => {}
        }
    }
}
