//! An in-memory store that answers late, twice, or with an old value, as the test configures it.

use std::cell::Cell;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant};

use crate::store::{Grant, Store, StoreError};

thread_local! {
    static BEGAN: Cell<Option<tokio::time::Instant>> = const { Cell::new(None) };
    static SLEPT_NANOS: Cell<u64> = const { Cell::new(0) };
}

/// A clock for a test on its own thread: the runtime's virtual time plus the time asleep.
pub(super) fn clock() -> Instant {
    let now = tokio::time::Instant::now();
    let began = BEGAN.get().unwrap_or(now);
    BEGAN.set(Some(began));
    Instant(SLEPT_NANOS.get()) + Duration::from(now - began)
}

/// Simulates a suspend: the clock advances, timers do not.
pub(super) fn sleep_machine(time: StdDuration) {
    SLEPT_NANOS.set(SLEPT_NANOS.get() + Duration::from(time).0);
}

/// A store that several members share.
#[derive(Clone)]
pub(super) struct FakeStore(Arc<Mutex<StoreState>>);

pub(super) struct StoreState {
    /// The number of tenures granted.
    pub(super) count: u64,
    pub(super) holder: Option<Entry>,
    /// The delay of each request and of each answer.
    pub(super) delays: (StdDuration, StdDuration),
    /// True if each request arrives twice.
    pub(super) twice: bool,
    /// The identity that the store reports.
    pub(super) identity: Option<u64>,
    /// The reason for which every request is refused, if any.
    pub(super) refusal: Option<String>,
    /// A record of tenure that no member wrote, if any.
    pub(super) block: Option<String>,
    /// The requests in order of arrival.
    pub(super) asked: Vec<&'static str>,
    ttl: StdDuration,
}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    member: u64,
    count: u64,
    until: Instant,
}

impl FakeStore {
    pub(super) fn open(ttl: StdDuration) -> Self {
        Self(Arc::new(Mutex::new(StoreState {
            count: 0,
            holder: None,
            delays: (StdDuration::ZERO, StdDuration::ZERO),
            twice: false,
            identity: None,
            refusal: None,
            block: None,
            asked: Vec::new(),
            ttl,
        })))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, StoreState> {
        self.0.lock().unwrap()
    }

    pub(super) fn member(&self, member: u64) -> FakeAccess {
        FakeAccess { store: self.clone(), member, granted: 0, last_count: None, identity: None }
    }

    /// Carries out a request, even if the requester has stopped waiting.
    async fn carry_out<T: Send + 'static>(
        &self,
        name: &'static str,
        act: impl Fn(&mut StoreState) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        let (there, back) = store.state().delays;
        let answer = tokio::spawn(async move {
            tokio::time::sleep(there).await;
            let answer = {
                let mut state = store.state();
                state.asked.push(name);
                match state.refusal.clone() {
                    Some(why) => Err(StoreError::Refused(why)),
                    None => {
                        let answer = act(&mut state);
                        if state.twice {
                            _ = act(&mut state);
                        }
                        answer
                    }
                }
            };
            tokio::time::sleep(back).await;
            answer
        });
        answer.await.unwrap()
    }
}

impl StoreState {
    fn live(&self) -> Option<Entry> {
        self.holder.filter(|holder| clock() <= holder.until)
    }

    fn until(&self) -> Instant {
        clock() + self.ttl.into()
    }
}

/// The access of one member.
pub(super) struct FakeAccess {
    store: FakeStore,
    member: u64,
    granted: u64,
    last_count: Option<u64>,
    identity: Option<u64>,
}

impl Store for FakeAccess {
    async fn acquire(&mut self) -> Result<Grant, StoreError> {
        let member = self.member;
        let act = move |state: &mut StoreState| {
            if let Some(why) = &state.block {
                return Err(StoreError::Blocked(why.clone()));
            }
            let live = state.live().filter(|holder| holder.member != member);
            if let Some(holder) = live {
                return Ok(Err(holder));
            }
            state.count += 1;
            let (count, until) = (state.count, state.until());
            state.holder = Some(Entry { member, count, until });
            Ok(Ok((count, state.ttl)))
        };
        let answer = self.store.carry_out("acquire", act).await?;
        self.identity = self.store.state().identity;
        match answer {
            Ok((count, ttl)) => {
                self.granted = count;
                self.last_count = Some(count);
                Ok(Grant { count, ttl })
            }
            Err(holder) => {
                self.last_count = Some(holder.count);
                Err(StoreError::Held {
                    holder: holder.member.to_string(),
                    lasts: Some((holder.until - clock()).into()),
                })
            }
        }
    }

    async fn renew(&mut self) -> Result<StdDuration, StoreError> {
        let (member, granted) = (self.member, self.granted);
        let act = move |state: &mut StoreState| {
            let live = state.live();
            let mine = live.filter(|holder| (holder.member, holder.count) == (member, granted));
            let mut mine = mine.ok_or(StoreError::Gone)?;
            mine.until = state.until();
            state.holder = Some(mine);
            Ok(state.ttl)
        };
        self.store.carry_out("renew", act).await
    }

    async fn release(&mut self) -> Result<(), StoreError> {
        let member = self.member;
        let act = move |state: &mut StoreState| {
            state.holder = state.holder.filter(|holder| holder.member != member);
            Ok(())
        };
        self.store.carry_out("release", act).await
    }

    async fn wait_released(&mut self) -> Result<(), StoreError> {
        pending().await
    }

    fn last_count(&self) -> Option<u64> {
        self.last_count
    }

    fn identity(&self) -> Option<u64> {
        self.identity
    }

    fn place(&self) -> String {
        "the store".to_owned()
    }
}
