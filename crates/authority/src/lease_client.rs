//! The client of a store: acquires one member's tenure of one group, renews it, and releases it.
//!
//! Source    ours: the rules of [`hustings_protocol::tenure`], with the store in the voters' role
//! Assumes   a store that keeps the promise of [`Store`], and clocks whose rate is within 1 +-
//!           `drift_ppm` of real time. It assumes nothing of the network: answers may be late,
//!           lost, or belong to a request that was given up
//! Promises  - Tenure is published until (clock before the request) + ttl (1 - e)/(1 + e) at most,
//!             so it has ended here before the store may grant it to another member. A later answer
//!             has no effect.
//!           - Tenure that has ended never resumes: the next tenure is a new grant with a higher
//!             fence.
//!           - A fence that is not above this member's high-water mark is never published (below).
//!           - The mark is persisted before tenure is published. A fence claimed by another member
//!             is persisted on receipt, or, if that fails, as soon as possible. Until then it
//!             counts when grants are checked.
//!
//! A store can be set back: it is restored from an older copy, or fails over to a standby that
//! lagged. It then grants fences again that were used before. Each member keeps a high-water mark,
//! on disk if it has a `state` directory. The mark is the highest fence that its store reported, or
//! that another member claimed from the same store ([`LeaseClient::hear`]).
//!
//! - An answer at or below the mark shows that the store was set back. The client releases the
//!   grant, warns the operator ([`LeaseEvent::ShutOut`](super::LeaseEvent::ShutOut)), and asks for
//!   nothing for one ttl. Then it asks again. A later answer that another member still holds does
//!   not prolong this wait, unless it reports a lower count than before.
//! - Each attempt advances the store's count. So a store that was set back by n tenures (etcd: n
//!   writes) passes the mark after at most n refused attempts. The client takes a fence above the
//!   mark, and the member is no longer shut out.
//! - If it refuses a grant after that ttl, it reports this
//!   ([`LeaseEvent::TakesNothingUntil`](super::LeaseEvent::TakesNothingUntil)). What the store
//!   granted before it was set back has ended by then, so another member may ask at once. A first
//!   refusal does not suffice, because a member that has not noticed does not wait.
//! - A member also warns if another member claims a fence below the mark from the same store, and
//!   still claims it a ttl later. The holder never learnt of the mark, and this member cannot
//!   follow it.
//! - The fence is safe to take, because it is strictly above every fence that this member ever held
//!   or learnt of. So only a member that never learnt of a used fence can take it again. Such a
//!   member was down or cut off from the holder and has not asked the store since, or it restarted
//!   without `state`. It notices a set-back only below its own, lower mark. Then it waits as well,
//!   but may take a fence above its mark that was used before. This is the price of availability:
//!   to take nothing until an operator acts would leave the group without a leader after the next
//!   failure, though every member may know every fence.
//! - No second member holds tenure at that instant. A tenure that the store granted or renewed
//!   before it was set back ends within a ttl of that, by the holder's own clock (the first promise
//!   above). The member noticed later than that, and takes tenure a ttl after it noticed at the
//!   earliest. While another member still claims tenure from this store, the ttl restarts: there
//!   may be two stores, one of which still renews. Two limits: a holder with a longer ttl than this
//!   member's may hold longer, and a member that restarts within the ttl does not wait for its
//!   rest. In both cases the fences differ, and a resource refuses the lower one.
//! - Two faults that waiting does not repair end the era for this member, until an operator raises
//!   it. First, the store reports another identity than before, so its count says nothing about the
//!   mark. Second, another member claims the very fence that this member holds: two stores may be
//!   running, and would grant equal fences again and again.
//!
//! A claimed fence may be forged. A fence more than
//! [`REACH`](hustings_protocol::tenure::counter::REACH) above every known fence is ignored
//! ([`LeaseEvent::OutOfReach`](super::LeaseEvent::OutOfReach)). A fence of a later era ends this
//! era.
//!
//! The client calls the store sequentially, and each call has a deadline here: a store that is
//! paused never answers. The store may have carried out a call that was given up, so the client
//! releases its effect before it asks for anything else. Deadlines are on the clock that counts
//! time asleep. Timers do not count it, so they fire at short intervals and the clock is read
//! again.

mod lease_machine;
mod persist_retry;
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

use super::store::{Store, StoreError};
use super::{Fence, LeaseEvents, LeaseWatch, Remember, Request, SeenFences, StoreTag, StoreTerms};
use hustings_system::clock;
use lease_machine::{Act, LeaseMachine};

/// The longest sleep of a timer. After the machine was suspended, the end of a tenure is noticed
/// this late at most. Readers compute from the clock whether tenure is held, so they are never
/// late.
const NAP: StdDuration = StdDuration::from_millis(200);

/// A fence that another member claims to hold, or to have held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The member that claims it.
    pub by: MemberId,
    /// The store that granted the fence, if the member named it. Otherwise it is taken to be the
    /// same store.
    pub store: Option<StoreTag>,
    /// The claimed fence.
    pub fence: Fence,
    /// True if the member claims to hold the fence now.
    pub holds: bool,
}

/// A command to the client's task.
enum Command {
    Request(Request),
    Claim(Heard),
}

/// A handle to a running client. When it is dropped, the client stops, and tenure that was not
/// released expires.
pub struct LeaseClient {
    commands: mpsc::UnboundedSender<Command>,
    lease_watch: LeaseWatch,
    published: Arc<Published>,
    task: JoinHandle<()>,
}

/// What the client's task shows to other tasks beside the tenure.
#[derive(Debug)]
struct Published {
    is_reachable: AtomicBool,
    is_held_elsewhere: AtomicBool,
    is_stuck: AtomicBool,
    identity: OnceLock<u64>,
}

impl LeaseClient {
    /// Starts a client of `store`. It reports its events under the index `group`.
    ///
    /// # Panics
    /// If no tokio runtime is running.
    pub fn spawn(
        store: impl Store,
        terms: StoreTerms,
        seen_fences: SeenFences,
        group: usize,
        events: LeaseEvents,
    ) -> Self {
        Self::spawn_with_clock(clock::now, store, terms, seen_fences, (group, events))
    }

    /// Starts a client that reads the time from `clock`.
    fn spawn_with_clock(
        clock: fn() -> Instant,
        store: impl Store,
        terms: StoreTerms,
        seen_fences: SeenFences,
        events: (usize, LeaseEvents),
    ) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let (shown, lease_watch) = watch::channel(None);
        let published = Arc::new(Published {
            is_reachable: AtomicBool::new(true),
            is_held_elsewhere: AtomicBool::new(false),
            is_stuck: AtomicBool::new(false),
            identity: OnceLock::new(),
        });
        let SeenFences { high_water, remember } = seen_fences;
        let lease_task = LeaseTask {
            lease_machine: LeaseMachine::new(
                clock,
                terms,
                high_water,
                shown,
                events,
                Arc::clone(&published),
            ),
            commands: inbox,
            published: Arc::clone(&published),
            remember: Arc::new(Mutex::new((remember, 0))),
            writes: 0,
            writing: None,
        };
        Self { commands, lease_watch, published, task: tokio::spawn(lease_task.serve(store)) }
    }

    /// Sends a request. Its results appear in the [`LeaseWatch`] and the events.
    pub fn request(&self, request: Request) {
        // The task receives until the handle is dropped.
        _ = self.commands.send(Command::Request(request));
    }

    /// Reports that another member claims a fence, from the same store as far as is known. From
    /// here on the store must count above that fence, if it is the same store.
    pub fn hear(&self, heard: Heard) {
        // See `request`.
        _ = self.commands.send(Command::Claim(heard));
    }

    /// The tenure that the member holds, as the client last wrote it.
    pub fn lease_watch(&self) -> LeaseWatch {
        self.lease_watch.clone()
    }

    /// True if the store answered the last request, or has not been asked yet.
    pub fn reachable(&self) -> bool {
        self.published.is_reachable.load(Ordering::Relaxed)
    }

    /// True if another member held tenure when the store was last asked for it.
    pub fn is_held_elsewhere(&self) -> bool {
        self.published.is_held_elsewhere.load(Ordering::Relaxed)
    }

    /// True if the last attempt to persist the fences seen failed.
    pub fn is_stuck(&self) -> bool {
        self.published.is_stuck.load(Ordering::Relaxed)
    }

    /// The identity of the store, or `None` before the store has reported it.
    pub fn identity(&self) -> Option<u64> {
        self.published.identity.get().copied()
    }

    /// Stops the client. Waits until the store has confirmed each release, or the client has given
    /// up.
    pub async fn finish(self) {
        drop(self.commands);
        // The task ends by itself. If it panicked, it has ended too.
        _ = self.task.await;
    }
}

/// The task that serves requests and calls the store.
struct LeaseTask {
    lease_machine: LeaseMachine,
    commands: mpsc::UnboundedReceiver<Command>,
    published: Arc<Published>,
    /// The function that persists fences, and the number of the last completed write. Shared with
    /// the writing threads, which continue when the task no longer waits for them.
    remember: Arc<Mutex<(Remember, u64)>>,
    /// The number of writes started.
    writes: u64,
    /// The write in progress that no call waits for.
    writing: Option<Writing>,
}

type Writing = JoinHandle<io::Result<()>>;

/// The result of waiting for an answer.
enum CallResult<T> {
    Answered(T),
    /// The deadline passed.
    TooLong,
    /// A command made the call obsolete.
    Overtaken,
}

impl LeaseTask {
    async fn serve(mut self, mut store: impl Store) {
        loop {
            self.lease_machine.check_clock();
            if self.lease_machine.is_over() {
                // The client asks no more, so it does not wait for another member's tenure to end.
                self.published.is_held_elsewhere.store(false, Ordering::Relaxed);
            }
            match self.lease_machine.act() {
                Act::Acquire => self.acquire(&mut store).await,
                Act::Renew => self.renew(&mut store).await,
                Act::Release => self.release(&mut store).await,
                Act::Wait { until, watches } => self.wait(&mut store, until, watches).await,
                Act::End => return,
            }
        }
    }

    async fn acquire(&mut self, store: &mut impl Store) {
        self.lease_machine.on_ask();
        // Read before the request is sent, so the time that the answer takes shortens the holder's
        // tenure.
        let read_at = self.lease_machine.now();
        let deadline = read_at + self.lease_machine.terms.answer_within;
        let waited = self.attend(Act::Acquire, store.acquire(), deadline).await;
        let answer = self.answer(waited, store);
        let last_count = store.last_count();
        if let Some(identity) = store.identity() {
            self.published.identity.get_or_init(|| identity); // before a grant of this store is published
            self.lease_machine.on_identified(StoreTag::of(identity)); // before a grant of this store is checked
        }
        let is_held = matches!(answer, Some(Err(StoreError::Held { .. })));
        self.published.is_held_elsewhere.store(is_held, Ordering::Relaxed);
        match answer {
            Some(Ok(grant)) => {
                if let Some(held) = self.lease_machine.on_grant(grant, read_at) {
                    let writing = ended(self.write());
                    let waited = self.attend(Act::Acquire, writing, held.until).await;
                    self.lease_machine.on_persisted(held, read_at, result_of(waited));
                }
            }
            Some(Err(denied)) => self.lease_machine.on_denied(&denied, last_count),
            None => self.lease_machine.on_given_up(),
        }
    }

    async fn renew(&mut self, store: &mut impl Store) {
        let read_at = self.lease_machine.now();
        let deadline = self.lease_machine.renewed_by(read_at);
        let waited = self.attend(Act::Renew, store.renew(), deadline).await;
        match self.answer(waited, store) {
            Some(Ok(ttl)) => self.lease_machine.on_renewed(read_at, ttl.into()),
            Some(Err(denied)) => self.lease_machine.on_not_renewed(&denied),
            None => {} // the renewal is no longer wanted
        }
    }

    async fn release(&mut self, store: &mut impl Store) {
        let deadline = self.lease_machine.now() + self.lease_machine.terms.answer_within;
        let waited = self.attend(Act::Release, store.release(), deadline).await;
        match self.answer(waited, store) {
            Some(Ok(())) => self.lease_machine.on_released(),
            Some(Err(denied)) => self.lease_machine.on_not_released(&denied),
            None => {} // the handle is gone: the loop decides what is left to do
        }
    }

    async fn wait(&mut self, store: &mut impl Store, until: Option<Instant>, watches: bool) {
        let act = Act::Wait { until, watches };
        let wait_released = async {
            match watches {
                true => store.wait_released().await,
                false => pending().await,
            }
        };
        match self.attend(act, wait_released, until.unwrap_or(NEVER)).await {
            CallResult::Answered(Ok(())) => self.lease_machine.on_maybe_free(),
            CallResult::Answered(Err(denied)) => self.lease_machine.on_not_watched(&denied),
            CallResult::TooLong | CallResult::Overtaken => {} // the loop decides what to do next
        }
    }

    /// Waits for an answer until `deadline` on the machine's clock. Meanwhile handles commands and
    /// persists fences. The caller gives the call up when it stops waiting.
    async fn attend<T>(
        &mut self,
        act: Act,
        answer: impl Future<Output = T>,
        deadline: Instant,
    ) -> CallResult<T> {
        let mut answer = pin!(answer);
        loop {
            let now = self.lease_machine.now();
            if deadline <= now {
                return CallResult::TooLong;
            }
            let wakes_at = self.persist(now).map_or(deadline, |at| at.min(deadline));
            let nap = async {
                match wakes_at == NEVER {
                    true => pending().await,
                    false => tokio::time::sleep(NAP.min((wakes_at - now).into())).await,
                }
            };
            let writing = &mut self.writing;
            let written = async {
                match writing {
                    Some(writing) => ended(writing).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                command = self.commands.recv(), if !self.lease_machine.is_left => {
                    match command {
                        Some(Command::Request(request)) => self.lease_machine.on_request(request),
                        Some(Command::Claim(heard)) if !self.lease_machine.on_heard(heard) => continue,
                        Some(Command::Claim(_)) => {}
                        None => self.lease_machine.on_leave(),
                    }
                    if !self.lease_machine.goes_on_with(act) {
                        return CallResult::Overtaken;
                    }
                }
                written = written => {
                    self.writing = None;
                    self.lease_machine.on_written(written);
                }
                answer = &mut answer => return CallResult::Answered(answer),
                () = nap => {}
            }
        }
    }

    /// Returns the store's answer, or the error for a store that did not answer. Returns `None` if
    /// the answer is no longer wanted.
    fn answer<T>(
        &self,
        waited: CallResult<Result<T, StoreError>>,
        store: &impl Store,
    ) -> Option<Result<T, StoreError>> {
        let answer = match waited {
            CallResult::Answered(answer) => answer,
            CallResult::TooLong => Err(StoreError::Unavailable(format!(
                "{} did not answer in time: make sure that it runs and can be reached, or raise ttl: an answer may take a sixth of ttl",
                store.place()
            ))),
            CallResult::Overtaken => return None,
        };
        let is_silent = matches!(answer, Err(StoreError::Unavailable(_)));
        self.published.is_reachable.store(!is_silent, Ordering::Relaxed);
        Some(answer)
    }

    /// Persists the fences seen on a blocking thread, because the disk may be slow.
    fn write(&mut self) -> Writing {
        self.writes += 1;
        let (number, seen) = (self.writes, self.lease_machine.take_unsaved());
        let remember = Arc::clone(&self.remember);
        tokio::task::spawn_blocking(move || {
            let mut remember = remember.lock().unwrap_or_else(PoisonError::into_inner);
            let (remember, done) = &mut *remember;
            // Threads run in any order. A later record includes all earlier ones.
            if *done < number {
                remember(&seen)?;
                *done = number;
            }
            Ok(())
        })
    }

    /// Starts to persist the fences seen if necessary, unless such a write is in progress. No
    /// tenure depends on this write, so no call waits for it. Returns the time of the next attempt,
    /// if it is later than `now`.
    fn persist(&mut self, now: Instant) -> Option<Instant> {
        let due = self.lease_machine.persist_retry.due().filter(|_| self.writing.is_none())?;
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

/// An instant that never comes.
const NEVER: Instant = Instant(u64::MAX);

fn result_of(waited: CallResult<io::Result<()>>) -> Option<io::Result<()>> {
    match waited {
        CallResult::Answered(written) => Some(written),
        CallResult::TooLong | CallResult::Overtaken => None,
    }
}
