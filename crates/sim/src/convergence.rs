//! Convergence of elections by announcement: reception of the leader, and agreement of all members.

use hustings_protocol::announce::Message;
use hustings_protocol::simulated::Nominating as _;
use hustings_protocol::{Duration, ElectionOutcome, Instant, Protocol};

use crate::{Event, Trace};

/// The expected leader, whose announcements all members have to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// This member.
    Member(u32),
    /// The member that announces itself first, for elections that the earliest wake-up decides.
    FirstAnnouncer,
}

/// A trace that keeps only the metrics of the announce family.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The members' reception of the leader's announcements.
    pub hearing: Hearing,
    /// The agreement between members.
    pub agreement: Agreement,
}

impl Watch {
    /// A trace of `members`, all up.
    pub fn new(members: u32, expected: Expected) -> Self {
        Self { hearing: Hearing::new(members, expected), agreement: Agreement::new(members) }
    }

    /// Records that `member` is gone: its opinion no longer counts, and it is no valid leader.
    pub fn left(&mut self, member: u32, at: Instant) {
        self.agreement.set_up(member, false, at);
    }

    /// Records that `member` has joined.
    pub fn came(&mut self, member: u32, at: Instant) {
        self.agreement.set_up(member, true, at);
    }
}

impl<P: Protocol<Message = Message, Outcome = ElectionOutcome>> Trace<P> for Watch {
    const ON: bool = true;

    #[inline]
    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        match event {
            Event::Multicast { from, message: Message::Announcement { beat, .. } } => {
                self.hearing.sent(from, *beat, at);
            }
            Event::Delivered { from, to, message: Message::Announcement { beat, .. } } => {
                self.hearing.heard(from, to, *beat, at);
            }
            Event::Reported { member, outcome } => self.agreement.reported(member, outcome, at),
            _ => {}
        }
    }
}

/// The members' reception of the leader's announcements.
#[derive(Debug, Clone, Default)]
pub struct Hearing {
    leader: Option<u32>,
    /// The time of every announcement, by any sender.
    sent: Vec<Instant>,
    /// The time of each of the leader's announcements since it last came up, by number less one.
    beats: Vec<Instant>,
    has_spoken: Vec<bool>,
    /// The number of members that announced themselves at their wake-up.
    pub first_round_messages: u64,
    /// The time of the last such announcement.
    pub first_round_ended: Instant,
    has_heard: Vec<bool>,
    /// The number of members that have not heard the leader.
    deaf: u32,
    /// The sum, over members, of the number of the leader's announcement that they heard first.
    beats_needed: u64,
    most_beats_needed: u32,
    /// The latest time of an announcement by which a member heard of the leader first.
    last_needed: Instant,
    /// The cost until all members had heard the leader; `None` before that.
    pub convergence: Option<Convergence>,
}

/// The cost until all members had heard the leader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// The time at which the announcement was sent after which all had heard the leader.
    pub tmax: Instant,
    /// The time at which the last member heard it.
    pub delay: Instant,
    /// Announcements sent by `delay`.
    pub messages: u64,
    /// Announcements sent by `tmax`.
    pub messages_by_tmax: u64,
    /// The leader's announcements among those.
    pub rounds: u32,
    /// The mean number of the leader's announcements until a member heard one.
    pub avg_rounds: f64,
    /// The number of members that had announced themselves at their wake-up.
    pub first_round_messages: u64,
    /// The time of the last such announcement.
    pub first_round_ended: Instant,
}

impl Hearing {
    fn new(members: u32, expected: Expected) -> Self {
        Self {
            leader: match expected {
                Expected::Member(member) => Some(member),
                Expected::FirstAnnouncer => None,
            },
            has_spoken: vec![false; members as usize],
            has_heard: vec![false; members as usize],
            deaf: members.saturating_sub(1),
            ..Self::default()
        }
    }

    /// The number of announcements sent.
    pub fn messages(&self) -> u64 {
        self.sent.len() as u64
    }

    /// The time of the last announcement.
    pub fn last_sent(&self) -> Option<Instant> {
        self.sent.last().copied()
    }

    #[inline]
    fn sent(&mut self, from: u32, beat: u32, at: Instant) {
        self.sent.push(at);
        if !std::mem::replace(&mut self.has_spoken[from as usize], true) {
            self.first_round_messages += 1;
            self.first_round_ended = at;
        }
        if *self.leader.get_or_insert(from) == from {
            if beat == 1 {
                self.beats.clear();
            }
            self.beats.push(at);
        }
    }

    #[inline]
    fn heard(&mut self, from: u32, to: u32, beat: u32, at: Instant) {
        if self.leader != Some(from) || std::mem::replace(&mut self.has_heard[to as usize], true) {
            return;
        }
        self.deaf -= 1;
        self.beats_needed += u64::from(beat);
        self.most_beats_needed = self.most_beats_needed.max(beat);
        // For an announcement that was sent before a restart and heard after it, the time is
        // unknown.
        let sent = self.beats.get(beat as usize - 1).or(self.beats.last());
        self.last_needed = self.last_needed.max(sent.copied().unwrap_or(at));
        if self.deaf == 0 {
            self.converge(at);
        }
    }

    fn converge(&mut self, at: Instant) {
        let tmax = self.last_needed;
        let receivers = self.has_heard.len() as f64 - 1.0;
        self.convergence = Some(Convergence {
            tmax,
            delay: at,
            messages: self.messages(),
            messages_by_tmax: self.sent.partition_point(|sent| *sent <= tmax) as u64,
            rounds: self.most_beats_needed,
            avg_rounds: self.beats_needed as f64 / receivers,
            first_round_messages: self.first_round_messages,
            first_round_ended: self.first_round_ended,
        });
    }
}

/// Agreement: all live members have the same nominee, and it is up.
#[derive(Debug, Clone)]
pub struct Agreement {
    /// For each member, 1 + the index of its nominee; 0 if it has none.
    nominees: Vec<u32>,
    is_up: Vec<bool>,
    up: u32,
    /// The first live member: all agree if all have its nominee. Its nominee changes a few times in
    /// an election, and then all members are counted anew; otherwise one counter suffices.
    first_up: Option<u32>,
    /// The number of live members that have the same nominee as `first_up`.
    like_first: u32,
    /// The start of the present disagreement, if there is one.
    pub disagreed_since: Option<Instant>,
    /// The past disagreements.
    pub disagreements: Vec<(Instant, Instant)>,
    /// The number of changes of any member's nominee, including to and from none.
    pub changes: u64,
}

impl Agreement {
    fn new(members: u32) -> Self {
        Self {
            nominees: vec![0; members as usize],
            is_up: vec![true; members as usize],
            up: members,
            first_up: (members > 0).then_some(0),
            like_first: members,
            disagreed_since: Some(Instant::START),
            disagreements: Vec::new(),
            changes: 0,
        }
    }

    /// The total duration of disagreement between `from` and `to`.
    pub fn disagreed(&self, from: Instant, to: Instant) -> Duration {
        let present = self.disagreed_since.map(|since| (since, to));
        let spans = self.disagreements.iter().copied().chain(present);
        spans.fold(Duration::ZERO, |sum, (begin, end)| sum + (end.min(to) - begin.max(from)))
    }

    #[inline]
    fn reported(&mut self, member: u32, outcome: ElectionOutcome, at: Instant) {
        let Some(nominee) = outcome.nominee() else {
            return;
        };
        let nominee = nominee.map_or(0, |id| {
            let named = u32::try_from(id.0).unwrap_or(u32::MAX - 1) + 1;
            if named as usize <= self.nominees.len() { named } else { 0 }
        });
        let before = std::mem::replace(&mut self.nominees[member as usize], nominee);
        if before == nominee {
            return;
        }
        self.changes += 1;
        if !self.is_up[member as usize] {
            return;
        }
        if self.first_up == Some(member) {
            self.recount();
        } else {
            let first = self.named_by_first();
            self.like_first -= u32::from(before == first);
            self.like_first += u32::from(nominee == first);
        }
        self.judge(at);
    }

    fn set_up(&mut self, member: u32, up: bool, at: Instant) {
        if std::mem::replace(&mut self.is_up[member as usize], up) == up {
            return;
        }
        // A new member has no opinion.
        self.nominees[member as usize] = 0;
        if up {
            self.up += 1;
        } else {
            self.up -= 1;
        }
        let first = self.is_up.iter().position(|up| *up);
        self.first_up = first.map(|first| first as u32);
        self.recount();
        self.judge(at);
    }

    #[inline]
    fn named_by_first(&self) -> u32 {
        self.first_up.map_or(0, |first| self.nominees[first as usize])
    }

    #[cold]
    fn recount(&mut self) {
        let first = self.named_by_first();
        let like_first = |(nominee, up): (&u32, &bool)| *up && *nominee == first;
        let all = self.nominees.iter().zip(&self.is_up);
        self.like_first = all.filter(|&one| like_first(one)).count() as u32;
    }

    #[inline]
    fn judge(&mut self, at: Instant) {
        let leader = self.named_by_first();
        let agreed = leader > 0 && self.like_first == self.up && self.is_up[leader as usize - 1];
        match self.disagreed_since {
            Some(since) if agreed => {
                self.disagreements.push((since, at));
                self.disagreed_since = None;
            }
            None if !agreed => self.disagreed_since = Some(at),
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expected, Hearing};
    use hustings_protocol::Instant;

    #[test]
    fn restarted_leader_is_heard_by_its_new_announcements() {
        let mut hearing = Hearing::new(3, Expected::Member(2));
        hearing.sent(2, 1, Instant(0));
        hearing.heard(2, 1, 1, Instant(5));
        hearing.sent(2, 2, Instant(10));
        // The leader restarts, and counts from one again.
        hearing.sent(2, 1, Instant(100));
        hearing.heard(2, 0, 1, Instant(105));
        let end = hearing.convergence.expect("both have heard it");
        assert_eq!((end.tmax, end.delay), (Instant(100), Instant(105)));
        assert_eq!((end.messages, hearing.first_round_messages), (3, 1));
    }
}
