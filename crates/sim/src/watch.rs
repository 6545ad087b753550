//! Watches elections by announcement: who has heard the leader, and when all agree.

use hustings_protocol::announce::Message;
use hustings_protocol::{Duration, Instant, Outcome, Protocol};

use crate::{Event, Trace};

/// Who the leader will be, which decides what all have to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// This member.
    Member(u32),
    /// Whoever announces itself first, as where the earliest wake-up decides.
    FirstAnnouncer,
}

/// A trace that keeps no record but what the metrics of the announce family need.
#[derive(Debug, Clone)]
pub struct Watch {
    hearing: Hearing,
    agreement: Agreement,
}

impl Watch {
    /// Watches `members`, all up.
    pub fn new(members: u32, expected: Expected) -> Self {
        Self {
            hearing: Hearing::new(members, expected),
            agreement: Agreement::new(members),
        }
    }

    /// What was heard.
    pub fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    /// When all agreed.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Takes note that `member` is gone: nobody counts on its opinion, or may name it.
    pub fn left(&mut self, member: u32, at: Instant) {
        self.agreement.set_up(member, false, at);
    }

    /// Takes note that `member` has come.
    pub fn came(&mut self, member: u32, at: Instant) {
        self.agreement.set_up(member, true, at);
    }
}

impl<P: Protocol<Message = Message>> Trace<P> for Watch {
    const ON: bool = true;

    #[inline]
    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        match event {
            Event::Multicast {
                from,
                message: Message::Announcement { beat, .. },
            } => self.hearing.sent(from, *beat, at),
            Event::Delivered {
                from,
                to,
                message: Message::Announcement { beat, .. },
            } => self.hearing.heard(from, to, *beat, at),
            Event::Reported { member, outcome } => self.agreement.reported(member, outcome, at),
            Event::Multicast { .. } | Event::Delivered { .. } => {}
            Event::Sent { .. } | Event::Lost { .. } | Event::Started { .. } => {}
            Event::Expired { .. } | Event::ViewChanged { .. } | Event::Struck { .. } => {}
        }
    }
}

/// Who has heard the leader.
#[derive(Debug, Clone)]
pub struct Hearing {
    leader: Option<u32>,
    /// When each announcement was sent, by anyone.
    sent: Vec<Instant>,
    /// When each of the leader's was sent, by its number less one, since it last came up.
    beats: Vec<Instant>,
    has_spoken: Vec<bool>,
    first_round_messages: u64,
    first_round_ended: Instant,
    has_heard: Vec<bool>,
    /// How many have not heard the leader.
    deaf: u32,
    /// The numbers of the leader's announcements by which members heard of it first, summed up.
    beats_needed: u64,
    most_beats_needed: u32,
    /// When the latest announcement was sent by which a member heard of it first.
    last_needed: Instant,
    converged: Option<Convergence>,
}

/// What it took until all had heard the leader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// When the announcement was sent after which all had heard the leader.
    pub tmax: Instant,
    /// When the last member heard it.
    pub delay: Instant,
    /// How many announcements were sent by `delay`.
    pub messages: u64,
    /// How many were sent by `tmax`.
    pub messages_by_tmax: u64,
    /// How many of them were the leader's.
    pub rounds: u32,
    /// How many of the leader's a member needed in the mean.
    pub avg_rounds: f64,
}

impl Hearing {
    fn new(members: u32, expected: Expected) -> Self {
        Self {
            leader: match expected {
                Expected::Member(member) => Some(member),
                Expected::FirstAnnouncer => None,
            },
            sent: Vec::new(),
            beats: Vec::new(),
            first_round_messages: 0,
            first_round_ended: Instant::START,
            has_spoken: vec![false; members as usize],
            has_heard: vec![false; members as usize],
            deaf: members.saturating_sub(1),
            beats_needed: 0,
            most_beats_needed: 0,
            last_needed: Instant::START,
            converged: None,
        }
    }

    /// What it took until all had heard the leader, once they have.
    pub fn convergence(&self) -> Option<Convergence> {
        self.converged
    }

    /// How many announcements were sent.
    pub fn messages(&self) -> u64 {
        self.sent.len() as u64
    }

    /// When the last announcement was sent.
    pub fn last_sent(&self) -> Option<Instant> {
        self.sent.last().copied()
    }

    /// How many members announced themselves at their wake-up.
    pub fn first_round_messages(&self) -> u64 {
        self.first_round_messages
    }

    /// When the last of them did.
    pub fn first_round_ended(&self) -> Instant {
        self.first_round_ended
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
        // What was sent before a restart and heard after it has no time of its own any more.
        let sent = self.beats.get(beat as usize - 1).or(self.beats.last());
        self.last_needed = self.last_needed.max(sent.copied().unwrap_or(at));
        if self.deaf == 0 {
            self.converge(at);
        }
    }

    fn converge(&mut self, at: Instant) {
        let rounds = self.most_beats_needed;
        let tmax = self.last_needed;
        let receivers = self.has_heard.len() as f64 - 1.0;
        self.converged = Some(Convergence {
            tmax,
            delay: at,
            messages: self.messages(),
            messages_by_tmax: self.sent.partition_point(|sent| *sent <= tmax) as u64,
            rounds,
            avg_rounds: self.beats_needed as f64 / receivers,
        });
    }
}

/// When all members that are up name the same leader, and it is up.
#[derive(Debug, Clone)]
pub struct Agreement {
    /// One more than the index of the member that each names; 0: nobody.
    nominees: Vec<u32>,
    is_up: Vec<bool>,
    up: u32,
    /// The first member that is up: all agree if all name whom it names. It changes its mind a few
    /// times in an election, and then all are asked; else one count tells.
    first_up: Option<u32>,
    /// How many of those who are up name whom it names.
    like_first: u32,
    /// Since when they have not agreed, while they do not.
    disagreed_since: Option<Instant>,
    /// The spans in which they did not, the present one excepted.
    disagreements: Vec<(Instant, Instant)>,
    changes: u64,
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

    /// Since when they have not agreed, if they do not.
    pub fn disagreed_since(&self) -> Option<Instant> {
        self.disagreed_since
    }

    /// The spans in which they did not agree, the present one excepted.
    pub fn disagreements(&self) -> &[(Instant, Instant)] {
        &self.disagreements
    }

    /// How often a member named another leader than before, or none, or one at last.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// How long they disagreed in the time from `from` to `to`.
    pub fn disagreed(&self, from: Instant, to: Instant) -> Duration {
        let present = self.disagreed_since.map(|since| (since, to));
        let spans = self.disagreements.iter().copied().chain(present);
        spans.fold(Duration::ZERO, |sum, (begin, end)| {
            sum + (end.min(to) - begin.max(from))
        })
    }

    #[inline]
    fn reported(&mut self, member: u32, outcome: Outcome, at: Instant) {
        let nominee = match outcome {
            Outcome::Standing { .. } => return,
            Outcome::Nominee(candidate) => {
                let named = u32::try_from(candidate.id.0).unwrap_or(u32::MAX - 1) + 1;
                if named as usize <= self.nominees.len() {
                    named
                } else {
                    0
                }
            }
            Outcome::Vacant | Outcome::DuplicateIdentity | Outcome::Fault(_) => 0,
            Outcome::TenureGained { .. }
            | Outcome::TenureLost { .. }
            | Outcome::TenureRefused(_)
            | Outcome::Council(_) => return,
        };
        let before = std::mem::replace(&mut self.nominees[member as usize], nominee);
        if before == nominee {
            return;
        }
        self.changes += 1;
        if !self.is_up[member as usize] {
            return;
        }
        if self.first_up == Some(member) {
            self.ask_all();
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
        // Whoever comes, comes with no opinion.
        self.nominees[member as usize] = 0;
        if up {
            self.up += 1;
        } else {
            self.up -= 1;
        }
        let first = self.is_up.iter().position(|up| *up);
        self.first_up = first.map(|first| first as u32);
        self.ask_all();
        self.judge(at);
    }

    #[inline]
    fn named_by_first(&self) -> u32 {
        self.first_up
            .map_or(0, |first| self.nominees[first as usize])
    }

    #[cold]
    fn ask_all(&mut self) {
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
    fn a_leader_that_restarts_is_heard_by_what_it_says_afterwards() {
        let mut hearing = Hearing::new(3, Expected::Member(2));
        hearing.sent(2, 1, Instant(0));
        hearing.heard(2, 1, 1, Instant(5));
        hearing.sent(2, 2, Instant(10));
        // It restarts, and counts from one again.
        hearing.sent(2, 1, Instant(100));
        hearing.heard(2, 0, 1, Instant(105));
        let end = hearing.convergence().expect("both have heard it");
        assert_eq!((end.tmax, end.delay), (Instant(100), Instant(105)));
        assert_eq!((end.messages, hearing.first_round_messages()), (3, 1));
    }
}
