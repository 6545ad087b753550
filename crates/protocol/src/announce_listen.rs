//! Announce-listen (AL): every member announces itself for ever, and each follows the best that it
//! has received an announcement of.
//!
//! Source    Schooler, thesis (Caltech 2000), chapter 4; chapter 5 compares the cost of
//!           [`announce`](crate::announce) with it
//! Assumes   a multicast reaches every member, or is lost
//! Promises  all members name the best one once each has received one of its announcements, at N
//!           announcements every T_A
//! Messages  announcement, to every member

use crate::announce::Message;
use crate::config::ConfigError;
use crate::{Candidate, Duration, ElectionOutcome, Input, Io, NoRequest, Protocol, Simulated};

/// The intervals of announcing and of listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// T_A: the interval between two announcements of a member.
    pub announce: Duration,
    /// T_L: the time without an announcement of the best member after which it counts as lost;
    /// never if `None`.
    pub listen: Option<Duration>,
}

impl Config {
    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the option that cannot work.
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
    /// No announcement of the best member has arrived within T_L.
    Listen,
}

crate::timers!(Announce, Listen);

/// One member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnnounceListen {
    /// The number of announcements that this member has made; 0 before the start.
    beat: u32,
    /// The best known member, if better than this one.
    best: Option<Candidate>,
}

impl AnnounceListen {
    fn announce(&mut self, io: &mut impl Io<Self>) {
        self.beat = self.beat.saturating_add(1);
        io.multicast(Message::plain(io.me(), self.beat));
        io.arm(Timer::Announce, io.config().announce);
    }

    #[inline]
    fn on_announcement(&mut self, candidate: Candidate, io: &mut impl Io<Self>) {
        if candidate < self.best.unwrap_or(io.me()) {
            return; // a better member is known
        }
        if self.best != Some(candidate) {
            self.best = Some(candidate);
            io.report(ElectionOutcome::Nominee(candidate));
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
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start if self.beat == 0 => {
                io.report(ElectionOutcome::Standing { round: 1 });
                io.report(ElectionOutcome::Nominee(io.me()));
                self.announce(io);
            }
            Input::Timer(Timer::Announce) => self.announce(io),
            Input::Timer(Timer::Listen) => {
                self.best = None;
                io.report(ElectionOutcome::Nominee(io.me()));
            }
            Input::Message { message: Message::Announcement { claim, .. }, .. }
                if self.beat > 0 =>
            {
                self.on_announcement(claim.candidate, io);
            }
            // Not started, started already, or a message of another protocol of the family.
            Input::Start | Input::Message { .. } => {}
            Input::ViewChanged(_) | Input::Leave => {}
        }
    }
}

impl Simulated for AnnounceListen {
    const SELECTIVE: bool = true;

    #[inline]
    fn weight(message: &Message) -> Option<Candidate> {
        message.announced()
    }

    /// Without a listen interval, a member ignores every candidate that is not better than the best
    /// that it knows.
    #[inline]
    fn ignores_up_to(&self, me: Candidate, config: &Config) -> Option<Candidate> {
        match (config.listen, self.beat) {
            (Some(_), _) => None,
            (None, 0) => Some(Candidate::BEYOND_ALL),
            (None, _) => Some(self.best.unwrap_or(me)),
        }
    }
}
