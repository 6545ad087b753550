//! A clerk: gets one member's tenure of one group from a store, keeps it, and gives it up.
//!
//! Source    ours: the rules of [`hustings_protocol::tenure`], of which the store keeps the voters' part
//! Assumes   a store that keeps the promise of [`Store`], and clocks whose rate is within 1 +- `drift_ppm` of
//!           real time. Nothing of the network: answers may be late, lost, or to what was given up
//! Promises  tenure is shown until (clock before the request) + ttl (1 - e)/(1 + e) at most, so that it has
//!           ended here before the store may grant it to another; an answer that comes later counts for nothing
//!           what has ended never goes on: the next tenure is a new grant, with a higher fence
//!           a fence that is not above this member's mark is never shown (below)
//!           the mark is kept before tenure is shown; a fence that was heard, when it is heard, and
//!           if that fails, as soon as it can be: meanwhile grants are judged by it all the same
//!
//! A store that was set back: restored from an older copy, or failed over to a standby that lagged. It grants fences
//! once more that were used before. Each member keeps a mark, on disk if it has a `state` directory: the highest fence
//! that its store told it, and that it heard another member hold by the same store ([`Clerk::hear`]).
//!
//! - An answer at or below the mark shows that the store was set back. The grant is given back, a person is warned
//!   ([`Word::ShutOut`](super::Word::ShutOut)), and the member asks for nothing for a ttl. Then it asks again. Each
//!   attempt moves the store's count on, so a store that was set back by n tenures (etcd: by n writes) passes the mark
//!   after at most n attempts that are refused. A fence above the mark is taken: the member is no longer shut out.
//! - A member that hears another hold a fence below its mark by the same store, and still hears it a ttl later, warns in
//!   the same way, though it has not asked: the holder never learnt of the mark, and this member cannot follow it.
//! - Why the fence is safe to take. It is strictly above every fence that this member ever held, was told or heard.
//!   So a fence that was used before can only be taken by a member that never learnt of it: it was down or cut off from
//!   the holder and has not asked the store since, or it restarted without `state`. Such a member notices a set-back
//!   only if that goes below its own, lower mark; then it waits as well, but may take a fence above its mark that was
//!   used before. This is the price of going on: to take nothing until a person comes leaves the group without a leader
//!   after the next failure, though every member may know every fence.
//! - Why no second member holds at that instant. What the store granted or renewed before it was set back ends within a
//!   ttl of that, by the holder's own clock (the first promise above). The member noticed later than that, and begins
//!   at the earliest a ttl after it noticed. While it still hears another member hold by this store, the ttl begins
//!   anew: there may be two stores, one of which still renews. Two limits: a holder with a longer ttl than this
//!   member's may last longer, and a member that restarts within that ttl does not wait for the rest of it. In both
//!   cases fences differ, and a resource refuses the lower one.
//! - What is not mended by waiting ends the era for this member, until a person raises it: the store tells another
//!   identity than before, so that its count says nothing about the mark; or this member holds a fence, and hears
//!   another member hold the same one: two stores may be alive, and would grant equal fences again and again.
//!
//! A fence that was heard may have been made up. One that is more than [`REACH`](hustings_protocol::tenure::counter::REACH) above all
//! that is known here is ignored ([`Word::OutOfReach`](super::Word::OutOfReach)). One of a later era ends this one.
//!
//! All calls to the store are made one after the other, and each has a deadline here, whatever the
//! store does: a store that is paused answers nothing at all. What was given up may have been carried
//! out, so it is released before anything else is asked for. Deadlines are on the clock that counts time
//! asleep. The timers do not count it: they ring every now and then, and the clock is read again.

mod desk;
#[cfg(test)]
mod fake;
mod hearsay;
mod keeping;
#[cfg(test)]
mod tests;

use std::future::{Future, pending};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration as StdDuration;

use hustings_protocol::{Instant, MemberId};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};

use super::store::{Denied, Store};
use super::{Cell, Fence, Mark, Memory, Remember, Request, StoreTerms, Words};
use crate::clock;
use desk::{Act, Desk};

/// The longest that a timer is trusted: after a sleep of the machine the end of a tenure is seen this late
/// at most. What is held is computed from the clock each time it is asked, and not late at all.
const NAP: StdDuration = StdDuration::from_millis(200);

/// What another member was heard to hold, or to have held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Who.
    pub by: MemberId,
    /// By which store, if that was said. If not, it is taken for the same.
    pub store: Option<Mark>,
    /// Its fence.
    pub fence: Fence,
    /// Whether it says that it holds it still.
    pub holds: bool,
}

/// What a clerk is told.
enum Note {
    Asked(Request),
    Heard(Heard),
}

/// A clerk at work. When it is dropped, it stops: tenure that was not released runs out.
pub struct Clerk {
    notes: mpsc::UnboundedSender<Note>,
    cell: Cell,
    is_reachable: Arc<AtomicBool>,
    is_held_elsewhere: Arc<AtomicBool>,
    is_stuck: Arc<AtomicBool>,
    identity: Arc<OnceLock<u64>>,
    task: JoinHandle<()>,
}

impl Clerk {
    /// Sends a clerk to `store`. It leaves its words as those of `group`.
    ///
    /// # Panics
    /// If no tokio runtime runs.
    pub fn hire(
        store: impl Store,
        terms: StoreTerms,
        memory: Memory,
        group: usize,
        words: Words,
    ) -> Self {
        Self::hire_by(clock::now, store, terms, memory, (group, words))
    }

    /// A clerk that goes by `clock`.
    fn hire_by(
        clock: fn() -> Instant,
        store: impl Store,
        terms: StoreTerms,
        memory: Memory,
        words: (usize, Words),
    ) -> Self {
        let (notes, inbox) = mpsc::unbounded_channel();
        let (shown, cell) = watch::channel(None);
        let is_reachable = Arc::new(AtomicBool::new(true));
        let is_held_elsewhere = Arc::new(AtomicBool::new(false));
        let is_stuck = Arc::new(AtomicBool::new(false));
        let identity = Arc::new(OnceLock::new());
        let counter = Counter {
            desk: Desk::new(clock, terms, memory.seen, shown, words, &is_stuck),
            inbox,
            is_reachable: Arc::clone(&is_reachable),
            is_held_elsewhere: Arc::clone(&is_held_elsewhere),
            identity: Arc::clone(&identity),
            memory: Arc::new(Mutex::new((memory.remember, 0))),
            writes: 0,
            writing: None,
        };
        Self {
            notes,
            cell,
            is_reachable,
            is_held_elsewhere,
            is_stuck,
            identity,
            task: tokio::spawn(counter.serve(store)),
        }
    }

    /// Asks it for something. What comes of it is in the cell and the words.
    pub fn request(&self, request: Request) {
        // It hears until it is dropped.
        _ = self.notes.send(Note::Asked(request));
    }

    /// Another member was heard to hold a fence, or to have held it, by the same store as far as is known. From here on
    /// the store must count above that, if it is the same.
    pub fn hear(&self, heard: Heard) {
        // As above.
        _ = self.notes.send(Note::Heard(heard));
    }

    /// What the member holds, as the clerk wrote it last.
    pub fn cell(&self) -> Cell {
        self.cell.clone()
    }

    /// Whether the store answered when it was asked last; before it was asked, it is taken to.
    pub fn reachable(&self) -> bool {
        self.is_reachable.load(Ordering::Relaxed)
    }

    /// Whether the store said, asked for tenure last, that somebody else holds it.
    pub fn is_held_elsewhere(&self) -> bool {
        self.is_held_elsewhere.load(Ordering::Relaxed)
    }

    /// Whether what was seen could not be kept on disk when that was tried last.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// What tells its store from any other; none before the store has told.
    pub fn identity(&self) -> Option<u64> {
        self.identity.get().copied()
    }

    /// Stops it, and waits until what was released is released at the store too, or it has tried long enough.
    pub async fn finish(self) {
        drop(self.notes);
        // It ends by itself; if it panicked, it has ended too.
        _ = self.task.await;
    }
}

/// Where requests and answers meet.
struct Counter {
    desk: Desk,
    inbox: mpsc::UnboundedReceiver<Note>,
    is_reachable: Arc<AtomicBool>,
    is_held_elsewhere: Arc<AtomicBool>,
    identity: Arc<OnceLock<u64>>,
    /// How to remember, and the number of the last write that is done. Shared with threads that write, which go on when
    /// nobody waits for them any more.
    memory: Arc<Mutex<(Remember, u64)>>,
    /// How many writes were begun.
    writes: u64,
    /// The one under way for which nothing waits.
    writing: Option<Writing>,
}

type Writing = JoinHandle<io::Result<()>>;

/// How waiting for an answer ended.
enum Waited<T> {
    Answered(T),
    /// It has not come in time.
    TooLong,
    /// Something else is to be done now.
    Overtaken,
}

impl Counter {
    async fn serve(mut self, mut store: impl Store) {
        loop {
            self.desk.look_at_the_clock();
            if self.desk.is_over() {
                // It asks no more: whoever holds, it does not wait for the end of that.
                self.is_held_elsewhere.store(false, Ordering::Relaxed);
            }
            match self.desk.act() {
                Act::Acquire => self.acquire(&mut store).await,
                Act::Renew => self.renew(&mut store).await,
                Act::Release => self.release(&mut store).await,
                Act::Wait { until, watches } => self.wait(&mut store, until, watches).await,
                Act::End => return,
            }
        }
    }

    async fn acquire(&mut self, store: &mut impl Store) {
        self.desk.on_ask();
        // Before it asks: whatever time the answer takes is the holder's loss.
        let read_at = self.desk.now();
        let deadline = read_at + self.desk.answer_within();
        let waited = self.attend(Act::Acquire, store.acquire(), deadline).await;
        let answer = self.answer(waited, store);
        let told = store.told();
        if let Some(identity) = store.identity() {
            self.identity.get_or_init(|| identity); // before anything is shown that it granted
            self.desk.on_identified(Mark::of(identity)); // and before it is judged
        }
        let is_held = matches!(answer, Some(Err(Denied::Held { .. })));
        self.is_held_elsewhere.store(is_held, Ordering::Relaxed);
        match answer {
            Some(Ok(grant)) => {
                if let Some(held) = self.desk.on_grant(grant, read_at) {
                    let writing = ended(self.write());
                    let waited = self.attend(Act::Acquire, writing, held.until).await;
                    self.desk.on_remembered(held, read_at, written(waited));
                }
            }
            Some(Err(denied)) => self.desk.on_denied(&denied, told),
            None => self.desk.on_given_up(),
        }
    }

    async fn renew(&mut self, store: &mut impl Store) {
        let read_at = self.desk.now();
        let deadline = self.desk.renewed_by(read_at);
        let waited = self.attend(Act::Renew, store.renew(), deadline).await;
        match self.answer(waited, store) {
            Some(Ok(ttl)) => self.desk.on_renewed(read_at, ttl.into()),
            Some(Err(denied)) => self.desk.on_not_renewed(&denied),
            None => {} // it is asked for nothing of the kind any more
        }
    }

    async fn release(&mut self, store: &mut impl Store) {
        let deadline = self.desk.now() + self.desk.answer_within();
        let waited = self.attend(Act::Release, store.release(), deadline).await;
        match self.answer(waited, store) {
            Some(Ok(())) => self.desk.on_released(),
            Some(Err(denied)) => self.desk.on_not_released(&denied),
            None => {} // its user has gone: the loop sees what is left to do
        }
    }

    async fn wait(&mut self, store: &mut impl Store, until: Option<Instant>, watches: bool) {
        let act = Act::Wait { until, watches };
        let freed = async {
            match watches {
                true => store.freed().await,
                false => pending().await,
            }
        };
        match self.attend(act, freed, until.unwrap_or(NEVER)).await {
            Waited::Answered(Ok(())) => self.desk.on_freed(),
            Waited::Answered(Err(denied)) => self.desk.on_not_watched(&denied),
            Waited::TooLong | Waited::Overtaken => {} // the loop looks what to do now
        }
    }

    /// Waits for an answer until `deadline` on the desk's clock. Hears what is asked meanwhile, and keeps what was heard.
    /// Whoever waits no longer gives the call up.
    async fn attend<T>(
        &mut self,
        act: Act,
        answer: impl Future<Output = T>,
        deadline: Instant,
    ) -> Waited<T> {
        let mut answer = pin!(answer);
        loop {
            let now = self.desk.now();
            if deadline <= now {
                return Waited::TooLong;
            }
            let wakes_at = self
                .keep_in_mind(now)
                .map_or(deadline, |at| at.min(deadline));
            let nap = async {
                match wakes_at == NEVER {
                    true => pending().await,
                    false => tokio::time::sleep(NAP.min((wakes_at - now).into())).await,
                }
            };
            let writing = &mut self.writing;
            let kept = async {
                match writing {
                    Some(writing) => ended(writing).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                note = self.inbox.recv(), if !self.desk.is_left() => {
                    match note {
                        Some(Note::Asked(request)) => self.desk.on_request(request),
                        Some(Note::Heard(heard)) if !self.desk.on_heard(heard) => continue,
                        Some(Note::Heard(_)) => {}
                        None => self.desk.on_leave(),
                    }
                    if !self.desk.goes_on_with(act) {
                        return Waited::Overtaken;
                    }
                }
                kept = kept => {
                    self.writing = None;
                    self.desk.on_kept_in_mind(kept);
                }
                answer = &mut answer => return Waited::Answered(answer),
                () = nap => {}
            }
        }
    }

    /// What the store answered, a silence included; none if nobody wants to know any more.
    fn answer<T>(
        &self,
        waited: Waited<Result<T, Denied>>,
        store: &impl Store,
    ) -> Option<Result<T, Denied>> {
        let answer = match waited {
            Waited::Answered(answer) => answer,
            Waited::TooLong => Err(Denied::Unavailable(format!(
                "{} did not answer in time: see that it runs and can be reached, or raise ttl, a sixth of which an answer may take",
                store.place()
            ))),
            Waited::Overtaken => return None,
        };
        let is_silent = matches!(answer, Err(Denied::Unavailable(_)));
        self.is_reachable.store(!is_silent, Ordering::Relaxed);
        Some(answer)
    }

    /// Remembers what was seen, on a thread of its own: a disk may take its time.
    fn write(&mut self) -> Writing {
        self.writes += 1;
        let (number, seen) = (self.writes, self.desk.take_news());
        let memory = Arc::clone(&self.memory);
        tokio::task::spawn_blocking(move || {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            let (remember, done) = &mut *memory;
            // Threads come in any order, and what was seen later has in it what was seen before.
            if *done < number {
                remember(&seen)?;
                *done = number;
            }
            Ok(())
        })
    }

    /// Begins to remember what was seen, if there is need and no such write is under way: no tenure is shown for it, so
    /// nothing waits for it. Returns when to look again, if it is to be tried later.
    fn keep_in_mind(&mut self, now: Instant) -> Option<Instant> {
        let due = self.desk.has_news_at().filter(|_| self.writing.is_none())?;
        if now < due {
            return Some(due);
        }
        self.writing = Some(self.write());
        None
    }
}

async fn ended(writing: impl Future<Output = Result<io::Result<()>, JoinError>>) -> io::Result<()> {
    writing.await.map_err(io::Error::other)?
}

/// No moment that comes.
const NEVER: Instant = Instant(u64::MAX);

fn written(waited: Waited<io::Result<()>>) -> Option<io::Result<()>> {
    match waited {
        Waited::Answered(written) => Some(written),
        Waited::TooLong | Waited::Overtaken => None,
    }
}
