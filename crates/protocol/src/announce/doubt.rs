//! A leader that is not heard any more is asked for before it is missed.
//!
//! Towards the end of T_L a member that has heard nothing asks who leads, [`Config::asks`] times at most, and goes
//! on naming the leader. One that is there, and whose announcements were lost or late, announces itself at once, and
//! nobody has changed its mind. If no answer came by the end of T_L the leader is missed, and there is nobody left to
//! ask: those who missed it stand for election as if it had said goodbye.
//!
//! All who hear the leader alike would ask at the same time. So each waits for a moment of its own, and counts
//! what others ask meanwhile as if it had asked itself.
//!
//! A member that came up a moment ago has measured little, and by what it assumes of the loss its T_L is longer than
//! that of the others. So they miss a lost leader before it does, and one of them announces itself. That member is a
//! *rival* of the leader. While there is one, the assumption does not count: T_L follows from the loss that was measured
//! alone. If that T_L is over, and no question that was heard meanwhile was answered, the leader is missed at once.

use super::{Announce, Config, Heard, Joining, Listen, Message, Timer, Vacancy};
use crate::{Duration, Instant, Io, MemberId};

/// How a leader is asked for before it is missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Doubt {
    /// How often.
    asks: u8,
    /// How long an answer may take.
    patience: Duration,
}

impl Config {
    /// How often a leader is asked for that is missed after `listen` without a word.
    pub(super) fn questions_within(&self, listen: Duration) -> u8 {
        self.doubt(listen).asks
    }

    /// For a leader that is missed after `listen` without a word.
    fn doubt(&self, listen: Duration) -> Doubt {
        let patience = match self.joining {
            Joining::Announce => return Doubt::NONE,
            Joining::Query { patience } | Joining::SuppressThenQuery { patience } => patience,
        };
        // Not before an announcement is overdue, and the last of them in time to be answered.
        let span = self.announce.min(Duration(listen.0 / 4));
        let fit = (span.0 / patience.0.max(1)).saturating_sub(1);
        match fit.min(u64::from(self.asks)).min(u64::from(u8::MAX)) as u8 {
            0 => Doubt::NONE,
            asks => Doubt { asks, patience },
        }
    }
}

impl Doubt {
    const NONE: Self = Self {
        asks: 0,
        patience: Duration::ZERO,
    };

    /// What is known once a leader is missed.
    fn vacancy(self) -> Vacancy {
        match self.asks {
            0 => Vacancy::Likely,
            _ => Vacancy::Certain,
        }
    }

    /// When something is to be done about a leader, by a member that waits for `moment` before it asks.
    #[inline]
    fn due(self, heard: &Heard, moment: Duration) -> Instant {
        match self.is_over(heard) {
            true => heard.until,
            false => self.opens(heard, heard.until) + moment,
        }
    }

    #[inline]
    fn is_over(self, heard: &Heard) -> bool {
        heard.asked >= self.asks || heard.until == Instant(u64::MAX)
    }

    /// From when on the next question may be asked about a leader that is missed at `until`.
    #[inline]
    fn opens(self, heard: &Heard, until: Instant) -> Instant {
        Instant(until.0.saturating_sub(self.takes(heard).0))
    }

    /// The time that all questions that are left take, with the answer to the last.
    #[inline]
    fn takes(self, heard: &Heard) -> Duration {
        self.patience * (u64::from(self.asks.saturating_sub(heard.asked)) + 1)
    }

    /// It was asked for. If that was later than it should have been, since the member did not run, it is missed
    /// later too: an answer takes its time.
    fn note(self, heard: &mut Heard, now: Instant) {
        heard.asked += 1;
        heard.until = heard.until.max(now + self.takes(heard));
    }
}

impl Heard {
    /// When it is missed while it has a rival.
    #[inline]
    fn until_beside_rival(&self, config: &Config) -> Instant {
        let sooner = config.announce * u64::from(self.sooner);
        Instant(self.until.0.saturating_sub(sooner.0))
    }
}

/// When within `span` a member speaks: different for each, and for each announcement that it heard last.
#[inline]
fn moment(id: MemberId, beat: u32, span: Duration) -> Duration {
    let mut mixed = (id.0 ^ u64::from(beat).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= mixed >> 32;
    mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Duration(((u128::from(mixed) * u128::from(span.0)) >> 64) as u64)
}

impl Announce {
    /// T_L of a leader that is heard now; none if it is listened for without end.
    #[inline]
    pub fn listen_interval(&self, config: &Config) -> Option<Duration> {
        config.listen_interval(self.loss.at_present(config.assumed_loss))
    }

    /// When a leader that is heard now is missed.
    #[inline]
    pub(super) fn missed_at(&self, io: &impl Io<Self>) -> Instant {
        match self.listen_interval(io.config()) {
            Some(interval) => io.now() + interval,
            None => Instant(u64::MAX),
        }
    }

    /// By how many T_A a leader that is heard now is missed sooner while it has a rival: T_L then follows from the loss
    /// that was measured alone.
    #[inline]
    pub(super) fn sooner_beside_rival(&self, config: &Config) -> u8 {
        let Listen::Measured { .. } = config.listen else {
            return 0;
        };
        let measured = config.listen_interval(self.loss.at_present(0.0));
        let both = self.listen_interval(config).zip(measured);
        let sooner = both.map_or(0, |(usual, measured)| usual.0.saturating_sub(measured.0));
        (sooner / config.announce.0.max(1)).min(u64::from(u8::MAX)) as u8
    }

    #[inline]
    fn doubt(&self, config: &Config) -> Doubt {
        match self.listen_interval(config) {
            Some(interval) => config.doubt(interval),
            None => Doubt::NONE,
        }
    }

    #[inline]
    fn due(&self, heard: &Heard, doubt: Doubt, me: MemberId) -> Instant {
        doubt.due(heard, moment(me, heard.beat, doubt.patience))
    }

    /// Has the listen timer run until something is to be done about a leader.
    #[inline]
    pub(super) fn listen(&self, io: &mut impl Io<Self>) {
        let (doubt, me) = (self.doubt(io.config()), io.me().id);
        let dues = self.leaders.iter().map(|it| self.due(it, doubt, me));
        match dues.min() {
            Some(Instant(u64::MAX)) | None => io.disarm(Timer::Listen),
            Some(at) => io.arm(Timer::Listen, at - io.now()),
        }
    }

    /// It is time to ask for a leader, or to do without.
    pub(super) fn on_silence(&mut self, io: &mut impl Io<Self>) {
        let (doubt, me) = (self.doubt(io.config()), io.me().id);
        let dues = self.leaders.iter().map(|it| self.due(it, doubt, me));
        // The timer counts, and not a clock that may be read a moment too early.
        let Some(now) = dues.min().map(|due| due.max(io.now())) else {
            return;
        };
        let is_missed = |heard: &Heard| doubt.is_over(heard) && heard.until <= now;
        if self.leaders.drop_if(is_missed) {
            self.on_fewer(doubt.vacancy(), io);
            return;
        }
        if self.take_for_asked(doubt, now, io.config()) {
            io.multicast(Message::Query);
        }
        self.listen(io);
    }

    /// Somebody else asks who leads: whoever was about to ask need not.
    pub(super) fn on_question(&mut self, io: &mut impl Io<Self>) {
        let (doubt, now) = (self.doubt(io.config()), io.now());
        if self.take_for_asked(doubt, now, io.config()) {
            self.listen(io);
        }
    }

    /// Those that may be asked for have been. Returns whether there were any.
    fn take_for_asked(&mut self, doubt: Doubt, now: Instant, config: &Config) -> bool {
        let mut any = false;
        for heard in self.leaders.iter_mut() {
            // What others ask counts as soon as it would beside a rival.
            let until = heard.until_beside_rival(config);
            if !doubt.is_over(heard) && doubt.opens(heard, until) <= now {
                doubt.note(heard, now);
                any = true;
            }
        }
        any
    }

    /// A member announces itself that is none of the leaders known here. Drops those of them that are missed beside a
    /// rival; the others are missed sooner than without, and asked for before. Returns what to make of it if any was
    /// dropped.
    #[inline]
    pub(super) fn on_rival(&mut self, id: MemberId, io: &mut impl Io<Self>) -> Option<Vacancy> {
        if self.leaders.len() == 0 || self.leaders.get(id).is_some() {
            return None;
        }
        let (doubt, now) = (self.doubt(io.config()), io.now());
        let config = io.config();
        // Its answer to the last question arrives here as soon as the leader's would.
        let is_missed = |heard: &Heard| {
            doubt.is_over(heard) && heard.until_beside_rival(config) <= now + doubt.patience
        };
        if self.leaders.drop_if(is_missed) {
            return Some(doubt.vacancy());
        }
        let mut is_sooner = false;
        for heard in self.leaders.iter_mut() {
            let beside_rival = heard.until_beside_rival(config);
            let until = beside_rival.max(now + doubt.takes(heard));
            if until < heard.until {
                is_sooner = true;
                heard.until = until;
                // All questions together take less than T_A: what was over is over.
                heard.sooner = u8::from(beside_rival < until);
            }
        }
        if is_sooner {
            self.listen(io);
        }
        None
    }
}
