//! Observes the leases of all members of a group continuously, and judges at the end whether two
//! members ever held tenure at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hustings_agent::authority::{Fence, LeaseWatch};
use hustings_agent::clock;
use hustings_protocol::Instant;

/// The interval between two observations. Two members that hold at once for several intervals are
/// found.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A time span throughout which a member held tenure.
#[derive(Debug, Clone, Copy)]
struct Span {
    member: usize,
    fence: Fence,
    from: Instant,
    to: Instant,
}

#[derive(Default)]
struct Seen {
    /// `None` for a member that is dead.
    cells: Vec<Option<LeaseWatch>>,
    /// The last observed fence of each member, and the time from which it was certainly held.
    last: BTreeMap<usize, (Fence, Instant)>,
    spans: Vec<Span>,
}

pub(crate) struct Watcher {
    high_water: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(crate) fn new() -> Self {
        let high_water = Arc::new(Mutex::new(Seen::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (looks_at, ends) = (Arc::clone(&high_water), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                looks_at.lock().unwrap().look();
                thread::sleep(LOOK_EVERY);
            }
        });
        Self { high_water, is_over, thread: Some(thread) }
    }

    pub(crate) fn add(&self, lease_watch: LeaseWatch) {
        self.high_water.lock().unwrap().cells.push(Some(lease_watch));
    }

    /// Stops observing a member that is dead: its lease lasts on, but it does no work.
    pub(crate) fn forget(&self, member: usize) {
        self.high_water.lock().unwrap().cells[member] = None;
    }

    /// Stops observing, and judges.
    pub(crate) fn judge(mut self) {
        self.stop();
        let mut spans = self.high_water.lock().unwrap().spans.clone();
        spans.sort_by_key(|span| span.from);
        assert!(!spans.is_empty(), "nobody ever held: nothing was shown");
        for (at, one) in spans.iter().enumerate() {
            for other in &spans[at + 1..] {
                let (member, fence) = (other.member, other.fence);
                let is_same = (one.member, one.fence) == (member, fence);
                assert!(is_same || other.from >= one.to, "both hold: {one:?} and {other:?}");
                assert!(is_same || one.fence < fence, "no later fence: {one:?} and {other:?}");
            }
        }
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Seen {
    /// Records an observation. A fence that is shown before and after an interval was held
    /// throughout, because no fence occurs twice.
    fn look(&mut self) {
        for member in 0..self.cells.len() {
            let before = clock::now();
            let shown = self.cells[member].as_ref().and_then(|it| *it.borrow());
            let after = clock::now();
            let Some(held) = shown else {
                self.last.remove(&member);
                continue;
            };
            if let Some((fence, from)) = self.last.insert(member, (held.fence, after))
                && fence == held.fence
                && from < held.until
            {
                let to = before.min(held.until);
                self.extend(Span { member, fence, from, to });
            }
        }
    }

    fn extend(&mut self, span: Span) {
        let same = |it: &&mut Span| (it.member, it.fence) == (span.member, span.fence);
        match self.spans.iter_mut().find(same) {
            Some(known) => known.to = known.to.max(span.to),
            None => self.spans.push(span),
        }
    }
}

#[test]
#[should_panic(expected = "both hold")]
fn two_simultaneous_holders_are_found() {
    use hustings_agent::authority::Held;
    let until = clock::now() + hustings_protocol::Duration::from_secs(60);
    let watcher = Watcher::new();
    let mut shown = Vec::new();
    for fence in [Fence(1), Fence(2)] {
        let (sender, lease_watch) = tokio::sync::watch::channel(Some(Held { fence, until }));
        shown.push(sender);
        watcher.add(lease_watch);
    }
    thread::sleep(LOOK_EVERY * 100);
    watcher.judge();
}
