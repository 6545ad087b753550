//! Messages in flight.
//!
//! If every message has the same delay, messages arrive in the order of sending. The *lane* holds
//! them, in vectors of one arrival time each. All other messages go through the [`Wheel`].

use std::collections::VecDeque;
use std::hint::cold_path;

use hustings_protocol::Instant;

use crate::wheel::{Due, Wheel};

/// Stands for all members but the sender in place of a receiver.
pub(crate) const EVERYONE: u32 = u32::MAX;

/// Maximum number of messages in one vector. If every member sends to every member, new messages
/// reuse the memory of messages that have arrived, instead of needing as much again.
const MOST_IN_ONE: usize = 1 << 15;

/// A message in flight.
#[derive(Debug, Clone)]
pub(crate) struct Flight<M> {
    /// The receiver's index, or [`EVERYONE`].
    pub(crate) to: u32,
    /// The sender's index.
    pub(crate) from: u32,
    pub(crate) message: M,
}

/// All messages in flight.
#[derive(Debug)]
pub(crate) struct InFlight<M> {
    /// The next arrival of the lane, if it was sent while the lane was empty. The single message in
    /// flight of a ring election never uses the rest of the lane.
    lone: Option<(Instant, Flight<M>)>,
    /// True if the next message is likely to be alone, because the previous one was.
    expects_lone: bool,
    /// The arrivals that follow, ascending, in one or more vectors per time. The last vector of the
    /// last time is in `last`.
    lane: VecDeque<(Instant, Vec<Flight<M>>)>,
    last_at: Instant,
    last: Vec<Flight<M>>,
    /// An emptied vector, kept for its memory.
    spare: Vec<Flight<M>>,
    spread: Wheel<Flight<M>>,
    /// The number of messages to [`EVERYONE`] in flight.
    pub(crate) multicasts: usize,
}

impl<M> InFlight<M> {
    pub(crate) fn new() -> Self {
        Self {
            lone: None,
            expects_lone: true,
            lane: VecDeque::new(),
            last_at: Instant::START,
            last: Vec::new(),
            spare: Vec::new(),
            spread: Wheel::new(),
            multicasts: 0,
        }
    }

    /// Drops all messages but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.lone = None;
        self.expects_lone = true;
        self.lane.clear();
        self.last_at = Instant::START;
        self.last.clear();
        self.spare.clear();
        self.spread.clear();
        self.multicasts = 0;
    }

    /// Queues a message that has the common delay.
    #[inline(always)]
    pub(crate) fn push_in_order(&mut self, at: Instant, flight: Flight<M>) {
        if self.last_at != at {
            if self.expects_lone && self.last.is_empty() && self.lone.is_none() {
                // The lane is empty too.
                self.lone = Some((at, flight));
                return;
            }
            cold_path();
            self.begin_vector(at);
        } else if self.last.len() == MOST_IN_ONE {
            cold_path();
            self.begin_vector(at);
        }
        self.last.push(flight);
    }

    #[inline(never)]
    fn begin_vector(&mut self, at: Instant) {
        debug_assert!(self.last_at <= at, "time runs forward");
        self.expects_lone = false;
        if !self.last.is_empty() {
            let mut empty = std::mem::take(&mut self.spare);
            if empty.capacity() == 0 {
                // Many arrival times wait. Most have one message, so room for four would be wasted.
                empty.reserve_exact(1);
            }
            let flights = std::mem::replace(&mut self.last, empty);
            self.lane.push_back((self.last_at, flights));
        }
        self.last_at = at;
    }

    /// The arrival time of the next message of the lane.
    #[inline(always)]
    pub(crate) fn lane_due(&self) -> Option<Instant> {
        match &self.lone {
            Some((at, _)) => Some(*at),
            None if self.last.is_empty() => None,
            None => Some(self.lane.front().map_or(self.last_at, |(at, _)| *at)),
        }
    }

    /// Takes the next message of the lane if it was alone when it was sent.
    #[inline(always)]
    pub(crate) fn pop_lone(&mut self) -> Option<Flight<M>> {
        self.lone.take().map(|(_, flight)| flight)
    }

    /// Takes the messages of the lane that arrive next: all of one time, or one full vector of
    /// them. The caller gives the emptied vector back with [`InFlight::reuse`].
    #[inline]
    pub(crate) fn pop_lane(&mut self) -> Vec<Flight<M>> {
        let flights = match self.lane.pop_front() {
            Some((_, flights)) => flights,
            None => std::mem::replace(&mut self.last, std::mem::take(&mut self.spare)),
        };
        self.expects_lone = flights.len() == 1;
        flights
    }

    #[inline]
    pub(crate) fn reuse(&mut self, emptied: Vec<Flight<M>>) {
        self.spare = emptied;
    }

    /// Queues a message that has its own delay.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, at: Instant, flight: Flight<M>) {
        self.spread.push(now, at, flight);
    }

    #[inline]
    pub(crate) fn spread_due(&self) -> Due {
        self.spread.due()
    }

    pub(crate) fn open(&mut self) {
        self.spread.open();
    }

    #[inline]
    pub(crate) fn pop_spread(&mut self) -> Option<Flight<M>> {
        self.spread.pop().map(|(_, flight)| flight)
    }
}
