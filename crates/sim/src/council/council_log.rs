//! The log of a council: the number of replies to each feedback, and the hosts that consider
//! themselves seated.

use hustings_protocol::Instant;
use hustings_protocol::council::{Change, Council, CouncilOutcome, Message};

use crate::{Event, Trace, Verb};

/// The log of a run, with another trace beside it.
pub(super) struct CouncilLog<T> {
    /// The replies sent to each feedback.
    pub(super) replies: Vec<u64>,
    /// The index of the last feedback to each class.
    last: Vec<usize>,
    /// The maximum number of seats that the centre reported.
    pub(super) most_seats: u32,
    /// The maximum number of hosts that considered themselves seated at one time.
    pub(super) most_seated: u32,
    /// The number of changes that the centre reported.
    pub(super) changes: u64,
    /// The time at which the council was first complete.
    filled: Option<Instant>,
    /// The start of the present time in which the council is too small.
    short: Option<Instant>,
    /// The past total time in which it was too small, in seconds.
    was_short: f64,
    seated: Vec<bool>,
    now_seated: u32,
    pub(super) inner: T,
}

impl<T> CouncilLog<T> {
    pub(super) fn new(members: u32, inner: T) -> Self {
        Self {
            replies: Vec::new(),
            last: Vec::new(),
            most_seats: 0,
            most_seated: 0,
            changes: 0,
            filled: None,
            short: None,
            was_short: 0.0,
            seated: vec![false; members as usize],
            now_seated: 0,
            inner,
        }
    }

    /// The fraction of the time from the first complete council to `end` in which it was too small.
    pub(super) fn short_until(&self, end: Instant) -> f64 {
        let Some(filled) = self.filled else {
            return 1.0;
        };
        let still = self.short.map_or(0.0, |since| (end - since).as_secs_f64());
        (self.was_short + still) / (end - filled).as_secs_f64()
    }

    /// Begins a round.
    fn open(&mut self, class: u16) {
        let class = usize::from(class);
        if self.last.len() <= class {
            self.last.resize(class + 1, 0);
        }
        self.last[class] = self.replies.len();
        self.replies.push(0);
    }

    fn seat(&mut self, member: u32, is_seated: bool) {
        let before = std::mem::replace(&mut self.seated[member as usize], is_seated);
        self.now_seated = self.now_seated + u32::from(is_seated) - u32::from(before);
        self.most_seated = self.most_seated.max(self.now_seated);
    }

    fn change(&mut self, at: Instant, member: u32, change: Change) {
        match change {
            Change::Seated { .. } => self.seat(member, true),
            Change::Unseated => self.seat(member, false),
            Change::Filled(size) => {
                self.changes += 1;
                self.most_seats = self.most_seats.max(size.seats);
                self.filled.get_or_insert(at);
                self.fill(at);
            }
            Change::Short(_) => {
                self.changes += 1;
                self.short.get_or_insert(at);
            }
        }
    }

    fn fill(&mut self, at: Instant) {
        if let Some(since) = self.short.take() {
            self.was_short += (at - since).as_secs_f64();
        }
    }
}

impl<T: Trace<Council>> Trace<Council> for CouncilLog<T> {
    const ON: bool = true;

    #[inline]
    fn record(&mut self, at: Instant, event: Event<'_, Council>) {
        match &event {
            Event::Sent { message: Message::Reply(reply), .. } => {
                let last = self.last[usize::from(reply.class)];
                self.replies[last] += 1;
            }
            Event::Multicast { message: Message::Feedback(feedback), .. } => {
                self.open(feedback.class);
            }
            Event::Reported { member, outcome: CouncilOutcome::Council(change) } => {
                self.change(at, *member, *change);
            }
            Event::Struck { verb: Verb::Kill(_), members } => {
                members.iter().for_each(|member| self.seat(*member, false));
            }
            _ => {}
        }
        self.inner.record(at, event);
    }
}
