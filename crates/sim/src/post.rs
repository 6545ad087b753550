//! Messages in flight.
//!
//! Where every message takes the same time they arrive in the order of sending: the *lane* holds
//! them, in vectors each of one time of arrival. All others go through the [`Wheel`].

use std::collections::VecDeque;
use std::hint::cold_path;

use hustings_protocol::Instant;

use crate::wheel::{Due, Wheel};

/// In place of a receiver: everyone but the sender.
pub(crate) const EVERYONE: u32 = u32::MAX;

/// So many messages of one time are in one vector at most. Where all tell all, those that are sent then lie in the memory
/// of those that have arrived, and not beside it.
const MOST_IN_ONE: usize = 1 << 15;

/// A message on its way.
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
pub(crate) struct Post<M> {
    /// The next arrival of the lane, if it was sent while the lane was empty: the single message in
    /// flight of a ring election never sees the rest of the lane.
    lone: Option<(Instant, Flight<M>)>,
    /// Whether the next message may well be alone, as the last one was.
    expects_lone: bool,
    /// The arrivals that follow, in ascending order, one vector per time, or several; the last of the last time in `last`.
    lane: VecDeque<(Instant, Vec<Flight<M>>)>,
    last_at: Instant,
    last: Vec<Flight<M>>,
    /// An emptied vector, kept for its memory.
    spare: Vec<Flight<M>>,
    spread: Wheel<Flight<M>>,
    /// How many messages to [`EVERYONE`] are in flight.
    pub(crate) multicasts: usize,
}

impl<M> Post<M> {
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

    /// Queues a message that takes the time that every message takes.
    #[inline(always)]
    pub(crate) fn push_in_order(&mut self, at: Instant, flight: Flight<M>) {
        if self.last_at != at {
            if self.expects_lone && self.last.is_empty() && self.lone.is_none() {
                // Then the lane is empty too.
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
                // Many times wait: then most have one message, and room for four is too much.
                empty.reserve_exact(1);
            }
            let flights = std::mem::replace(&mut self.last, empty);
            self.lane.push_back((self.last_at, flights));
        }
        self.last_at = at;
    }

    /// When the next message of the lane arrives.
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

    /// Takes the messages of the lane that arrive next: all of one time, or as many as are in one vector. To be
    /// given back to [`Post::reuse`] when empty.
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

    /// Queues a message that takes its own time.
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
