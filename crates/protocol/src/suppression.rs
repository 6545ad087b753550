//! Suppression (SUP): each member waits for a time of its own, and announces itself if it has
//! received no announcement by then.
//!
//! Source    Schooler, thesis (Caltech 2000), chapters 2 and 3; in chapter 5 the lower bound for
//!           delay and messages of [`announce`](crate::announce)
//! Assumes   a multicast reaches every member, or is lost
//! Promises  at least one member announces itself within T_S, and each member at most once. The
//!           members may name different leaders: a member that received nothing in time announces
//!           itself too
//! Messages  announcement, to every member

use crate::announce::{Message, Wake};
use crate::config::ConfigError;
use crate::{Candidate, Duration, ElectionOutcome, Input, Io, NoRequest, Protocol, Simulated};

/// The time within which members announce themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// T_S: the time within which every announcement is made.
    pub suppress: Duration,
    /// The distribution of the wake-up within T_S.
    pub wake: Wake,
}

impl Config {
    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.wake.check()
    }
}

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The member announces itself, unless it has received an announcement.
    Suppress,
}

crate::timers!(Suppress);

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
    /// Has received an announcement, or has made one.
    Done,
}

impl Protocol for Suppression {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match (input, self.phase) {
            (Input::Start, Phase::Idle) => {
                let config = *io.config();
                let priority = io.me().priority;
                let wait = config.wake.draw(config.suppress, priority, io.rng());
                io.report(ElectionOutcome::Standing { round: 1 });
                io.arm(Timer::Suppress, wait);
                self.phase = Phase::Waiting;
            }
            (Input::Timer(Timer::Suppress), Phase::Waiting) => {
                io.report(ElectionOutcome::Nominee(io.me()));
                io.multicast(Message::plain(io.me(), 1));
                self.phase = Phase::Done;
            }
            (
                Input::Message { message: Message::Announcement { claim, .. }, .. },
                Phase::Waiting,
            ) => {
                io.report(ElectionOutcome::Nominee(claim.candidate));
                io.disarm(Timer::Suppress);
                self.phase = Phase::Done;
            }
            // Nothing matters after an announcement; neither do messages of other protocols of the
            // family.
            (Input::Start | Input::Timer(_) | Input::Message { .. }, _) => {}
            (Input::ViewChanged(_) | Input::Leave, _) => {}
        }
    }
}

impl Simulated for Suppression {
    const SELECTIVE: bool = true;

    #[inline]
    fn weight(message: &Message) -> Option<Candidate> {
        message.announced()
    }

    /// A member that has received an announcement, or made one, ignores all later ones.
    #[inline]
    fn ignores_up_to(&self, _: Candidate, _: &Config) -> Option<Candidate> {
        match self.phase {
            Phase::Idle | Phase::Done => Some(Candidate::BEYOND_ALL),
            Phase::Waiting => None,
        }
    }
}
