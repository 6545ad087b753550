//! Announce-listen (AL): everyone announces itself for ever, and everyone hears who is best.
//!
//! Source    Schooler, thesis (Caltech 2000), chapter 4; in chapter 5 what the cost of
//!           [`announce`](crate::announce) is compared with
//! Assumes   a multicast reaches every member, or is lost
//! Promises  all name the best member once each has heard one of its announcements, at N
//!           announcements every T_A
//! Messages  announcement, to everyone

use crate::announce::{Claim, Message};
use crate::config::ConfigError;
use crate::{Candidate, Duration, Input, Io, NoRequest, Outcome, Protocol};

/// How often members announce themselves, and how long they are taken to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// T_A: how often every member announces itself.
    pub announce: Duration,
    /// T_L: how long a member that hears nothing of the best takes it to be there; for ever if none.
    pub listen: Option<Duration>,
}

impl Config {
    /// Whether it can work.
    ///
    /// # Errors
    /// Names the option that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        crate::config::require_some_time("announce interval", Some(self.announce))?;
        crate::config::require_some_time("listen interval", self.listen)
    }
}

/// The two timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The next announcement is due.
    Announce,
    /// The best is missed.
    Listen,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Announce, Self::Listen];

    fn index(self) -> usize {
        self as usize
    }
}

/// One member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnnounceListen {
    /// How many announcements it has made; 0: not started.
    beat: u32,
    /// The best that it has heard of, if better than itself.
    best: Option<Candidate>,
}

impl AnnounceListen {
    /// A member that has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn announce(&mut self, io: &mut impl Io<Self>) {
        self.beat = self.beat.saturating_add(1);
        let claim = Claim {
            candidate: io.me(),
            incarnation: 1,
            established: false,
            backing: 0,
        };
        io.multicast(Message::Announcement {
            claim,
            beat: self.beat,
            byes: 0,
        });
        io.arm(Timer::Announce, io.config().announce);
    }

    #[inline]
    fn on_announcement(&mut self, candidate: Candidate, io: &mut impl Io<Self>) {
        if candidate < self.best.unwrap_or(io.me()) {
            return; // there is somebody better
        }
        if self.best != Some(candidate) {
            self.best = Some(candidate);
            io.report(Outcome::Nominee(candidate));
        }
        if let Some(listen) = io.config().listen {
            io.arm(Timer::Listen, listen);
        }
    }
}

impl Protocol for AnnounceListen {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Request = NoRequest;
    const SELECTIVE: bool = true;

    /// While nobody is missed, a member ignores whoever is not better than the best that it knows.
    #[inline]
    fn deaf_up_to(&self, me: Candidate, config: &Config) -> Option<Candidate> {
        match (config.listen, self.beat) {
            (Some(_), _) => None,
            (None, 0) => Some(Candidate::BEYOND_ALL),
            (None, _) => Some(self.best.unwrap_or(me)),
        }
    }

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start if self.beat == 0 => {
                io.report(Outcome::Standing { round: 1 });
                io.report(Outcome::Nominee(io.me()));
                self.announce(io);
            }
            Input::Timer(Timer::Announce) => self.announce(io),
            Input::Timer(Timer::Listen) => {
                self.best = None;
                io.report(Outcome::Nominee(io.me()));
            }
            Input::Message {
                message: Message::Announcement { claim, .. },
                ..
            } if self.beat > 0 => self.on_announcement(claim.candidate, io),
            // Not started, started already, or not AL's.
            Input::Start | Input::Message { .. } => {}
            Input::ViewChanged(_) | Input::Leave => {}
        }
    }
}
