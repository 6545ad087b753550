//! The queue for spread-out times: append-only coarse buckets, sorted when opened.
//!
//! A hierarchical timing wheel. An entry lies at the level of the highest digit (of `DIGIT_BITS`
//! bits) in which its time differs from `base`, in the slot of that digit. So pushing is an append.
//! When the earliest slot is due it is opened. A large slot is spread over the levels below. A
//! small slot is sorted into the *run*, from which entries are popped. At a million pending entries
//! cache misses dominate, and appends and small sorts have few.
//!
//! Entries of equal times come out in the order in which they went in. They always share a slot,
//! slots keep their order when they are spread, and the run breaks ties by arrival. This is the
//! simulator's deterministic tie-break.
//!
//! `base` never passes the time of the event being handled, as long as callers open a slot (see
//! [`Wheel::open`]) only if nothing else is due before it. Then nothing can be pushed below `base`.

use hustings_protocol::Instant;

/// Bits of time per level.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;

/// Bits of a run key that number the entries of the run in order of arrival.
const ARRIVAL_BITS: u32 = 13;
/// As `ARRIVAL_BITS`, for a run of entries of one time, such as the timers of a million members.
const ARRIVAL_BITS_OF_ONE_TIME: u32 = 32;
/// A slot with more entries than this is spread over the levels below instead of sorted.
const SORT_AT_MOST: usize = 2048;
/// Minimum number of entries that may be inserted into a run before it is spilled.
const LEAST_ROOM: usize = 32;
/// Times in the run are offsets from its origin. This width leaves room for the arrival number.
const MAX_RUN_WIDTH: usize = (u64::BITS - ARRIVAL_BITS) as usize;

/// A queue of entries by time, first in first out among equal times.
#[derive(Debug)]
pub struct Wheel<T> {
    base: u64,
    levels: Vec<Level<T>>,
    /// Bit `i`: level `i` has a non-empty slot.
    occupied: u32,
    /// The number of entries in the levels.
    waiting: usize,
    run: OpenRun<T>,
    /// Emptied slots, kept for their memory.
    spare: Vec<Slot<T>>,
}

/// Entries in order of arrival.
type Slot<T> = Vec<Entry<T>>;

/// An entry of a slot. The item is `Some` until it is taken, so that an opened slot serves as the
/// store of the run as it is.
///
/// The time is split in halves, so that it needs no more alignment than the item. An entry of a
/// million timers then has 12 bytes, not 16.
#[derive(Debug)]
struct Entry<T> {
    at: [u32; 2],
    item: Option<T>,
}

impl<T> Entry<T> {
    #[inline(always)]
    fn new(at: u64, item: Option<T>) -> Self {
        let at = [at as u32, (at >> u32::BITS) as u32];
        Self { at, item }
    }

    #[inline(always)]
    fn at(&self) -> u64 {
        u64::from(self.at[1]) << u32::BITS | u64::from(self.at[0])
    }
}

#[derive(Debug)]
struct Level<T> {
    /// Bit `i`: slot `i` is not empty.
    occupied: u64,
    slots: Box<[Slot<T>; SLOTS]>,
}

/// The time of the next entry, or a lower bound that only opening a slot makes exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The earliest entry has exactly this time.
    At(Instant),
    /// No entry is earlier than this. Opening the slot gives a better bound.
    NotBefore(Instant),
    /// The queue is empty.
    Never,
}

impl<T> Wheel<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            base: 0,
            levels: Vec::new(),
            occupied: 0,
            waiting: 0,
            run: OpenRun::new(),
            spare: Vec::new(),
        }
    }

    /// Drops all entries and forgets the time, but keeps the memory.
    pub fn clear(&mut self) {
        for level in &mut self.levels {
            level.occupied = 0;
            level.slots.iter_mut().for_each(Vec::clear);
        }
        self.base = 0;
        self.occupied = 0;
        self.waiting = 0;
        self.run.start(0, ARRIVAL_BITS);
    }

    /// The number of queued entries.
    pub fn len(&self) -> usize {
        self.waiting + self.run.keys.len()
    }

    /// True if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues `item` at `at`, which must not lie before `now`, the time of the current event.
    #[inline]
    pub fn push(&mut self, now: Instant, at: Instant, item: T) {
        debug_assert!(at >= now && now.0 >= self.base, "time runs forward");
        if self.run.covers(at.0) {
            if self.run.insert(at.0, item) == Room::Full {
                self.spill();
            }
        } else if self.waiting == 0 && self.run.keys.is_empty() && at.0 - now.0 < 1 << MAX_RUN_WIDTH
        {
            // The path of a lone entry uses no slot.
            self.base = now.0;
            self.run.start(now.0, ARRIVAL_BITS);
            self.run.insert(at.0, item);
        } else {
            self.place(Entry::new(at.0, Some(item)));
        }
    }

    /// The time of the earliest entry, without opening a slot.
    #[inline]
    pub fn due(&self) -> Due {
        if let Some(at) = self.run.first() {
            Due::At(Instant(at))
        } else if self.waiting == 0 {
            Due::Never
        } else {
            self.earliest_slot_start()
        }
    }

    /// Opens the earliest slot, and sorts it into the run or spreads it over the levels below. This
    /// is one step towards an exact [`Wheel::due`]. Call it only if nothing else is due before the
    /// bound that `due` returned.
    #[inline(never)]
    pub fn open(&mut self) {
        debug_assert!(self.run.keys.is_empty() && self.waiting > 0);
        let level = self.occupied.trailing_zeros() as usize;
        let digit = self.levels[level].occupied.trailing_zeros() as usize;
        self.base = self.slot_start(level, digit);
        let mut slot = std::mem::take(&mut self.levels[level].slots[digit]);
        self.vacate(level, digit);
        self.waiting -= slot.len();
        let emptied = if level == 0 {
            self.run.fill(self.base, ARRIVAL_BITS_OF_ONE_TIME, slot)
        } else if slot.len() <= SORT_AT_MOST && level * DIGIT_BITS as usize <= MAX_RUN_WIDTH {
            self.run.fill(self.base, ARRIVAL_BITS, slot)
        } else {
            for entry in slot.drain(..) {
                self.place(entry);
            }
            slot
        };
        if self.spare.len() < SLOTS {
            self.spare.push(emptied);
        }
    }

    /// Takes the earliest entry if its slot is open.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        self.run.pop().map(|(at, item)| (Instant(at), item))
    }

    fn place(&mut self, entry: Entry<T>) {
        let at = entry.at();
        // `| 1` puts an entry of the base's own time on level 0.
        let number = ((at ^ self.base) | 1).ilog2() / DIGIT_BITS;
        let digit = (at >> (number * DIGIT_BITS)) as usize % SLOTS;
        if self.levels.len() <= number as usize {
            self.add_levels(number as usize + 1);
        }
        let level = &mut self.levels[number as usize];
        let slot = &mut level.slots[digit];
        if slot.len() == slot.capacity() {
            make_room(slot, &mut self.spare);
        }
        slot.push(entry);
        level.occupied |= 1 << digit;
        self.occupied |= 1 << number;
        self.waiting += 1;
    }

    #[cold]
    fn add_levels(&mut self, count: usize) {
        self.levels.resize_with(count, || Level {
            occupied: 0,
            slots: Box::new(std::array::from_fn(|_| Vec::new())),
        });
    }

    fn earliest_slot_start(&self) -> Due {
        let level = self.occupied.trailing_zeros() as usize;
        let digit = self.levels[level].occupied.trailing_zeros() as usize;
        Due::NotBefore(Instant(self.slot_start(level, digit)))
    }

    /// The earliest time that the slot can hold: the base with this digit, and zeros below it.
    fn slot_start(&self, level: usize, digit: usize) -> u64 {
        let shift = DIGIT_BITS * level as u32;
        let above = shift + DIGIT_BITS;
        let kept = if above >= u64::BITS { 0 } else { self.base >> above << above };
        kept | (digit as u64) << shift
    }

    fn vacate(&mut self, level: usize, digit: usize) {
        self.levels[level].occupied &= !(1 << digit);
        if self.levels[level].occupied == 0 {
            self.occupied &= !(1 << level);
        }
    }

    /// Moves the whole run back into the levels, because too many entries were inserted into it.
    #[cold]
    fn spill(&mut self) {
        while let Some((at, item)) = self.run.pop() {
            self.place(Entry::new(at, Some(item)));
        }
    }
}

/// Makes room in a full slot. A large slot grows by a quarter instead of doubling: at a million
/// entries this saves the memory of half a million.
#[cold]
fn make_room<T>(slot: &mut Slot<T>, spare: &mut Vec<Slot<T>>) {
    if slot.capacity() == 0 {
        *slot = spare.pop().unwrap_or_default();
    } else if slot.len() >= SORT_AT_MOST {
        slot.reserve_exact(slot.len() / 4);
    }
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The opened entries: sorted small keys beside an unsorted store. Sorting and inserting move eight
/// bytes per entry, regardless of the entry's size.
#[derive(Debug)]
struct OpenRun<T> {
    origin: u64,
    arrival_bits: u32,
    /// `(time - origin) << arrival_bits | arrival number`, descending: the next is at the end.
    keys: Vec<u64>,
    /// Entries by arrival number.
    store: Slot<T>,
    /// Number of entries that may still be inserted. It is small, because each insertion moves the
    /// keys behind it.
    room: usize,
}

#[derive(PartialEq, Eq)]
enum Room {
    Left,
    Full,
}

impl<T> OpenRun<T> {
    fn new() -> Self {
        Self { origin: 0, arrival_bits: ARRIVAL_BITS, keys: Vec::new(), store: Vec::new(), room: 0 }
    }

    fn start(&mut self, origin: u64, arrival_bits: u32) {
        self.origin = origin;
        self.arrival_bits = arrival_bits;
        self.keys.clear();
        self.store.clear();
        self.room = LEAST_ROOM;
    }

    /// Starts with the entries of `slot`; returns the previous store, emptied.
    fn fill(&mut self, origin: u64, arrival_bits: u32, slot: Slot<T>) -> Slot<T> {
        self.start(origin, arrival_bits);
        let emptied = std::mem::replace(&mut self.store, slot);
        let key = |(arrival, entry): (usize, &Entry<T>)| {
            (entry.at() - origin) << arrival_bits | arrival as u64
        };
        // Latest arrival first: if all times are equal the keys are already sorted.
        self.keys.extend(self.store.iter().enumerate().rev().map(key));
        self.keys.sort_unstable_by(|a, b| b.cmp(a));
        // In proportion to the length: the cost of spilling is then spread over as many insertions.
        self.room += self.keys.len() / 4;
        emptied
    }

    fn time(&self, key: u64) -> u64 {
        self.origin + (key >> self.arrival_bits)
    }

    fn first(&self) -> Option<u64> {
        self.keys.last().map(|&key| self.time(key))
    }

    /// True if an entry at `at` belongs into the run, that is not after its last entry.
    fn covers(&self, at: u64) -> bool {
        self.keys.first().is_some_and(|&last| at <= self.time(last))
    }

    fn insert(&mut self, at: u64, item: T) -> Room {
        let key = (at - self.origin) << self.arrival_bits | self.store.len() as u64;
        let place = self.keys.partition_point(|&other| other > key);
        self.keys.insert(place, key);
        self.store.push(Entry::new(at, Some(item)));
        self.room -= 1;
        if self.room == 0 { Room::Full } else { Room::Left }
    }

    fn pop(&mut self) -> Option<(u64, T)> {
        let key = self.keys.pop()?;
        let arrival = key & ((1 << self.arrival_bits) - 1);
        let entry = &mut self.store[arrival as usize];
        let at = entry.at();
        entry.item.take().map(|item| (at, item))
    }
}
