//! A store in memory that answers late, twice, or with an old value, as it is told to.

use std::cell::Cell;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant};

use crate::authority::store::{Denied, Grant, Store};

thread_local! {
    static BEGAN: Cell<Option<tokio::time::Instant>> = const { Cell::new(None) };
    static SLEPT_NANOS: Cell<u64> = const { Cell::new(0) };
}

/// A clock for a test on a thread of its own: the runtime's time, which is not the machine's, and time asleep.
pub(super) fn clock() -> Instant {
    let now = tokio::time::Instant::now();
    let began = BEGAN.get().unwrap_or(now);
    BEGAN.set(Some(began));
    Instant(SLEPT_NANOS.get()) + Duration::from(now - began)
}

/// The machine sleeps: the clock goes on, timers do not.
pub(super) fn sleep_machine(time: StdDuration) {
    SLEPT_NANOS.set(SLEPT_NANOS.get() + Duration::from(time).0);
}

/// What all members see of one store.
#[derive(Clone)]
pub(super) struct Shop(Arc<Mutex<Books>>);

pub(super) struct Books {
    /// How many tenures were granted.
    pub(super) count: u64,
    pub(super) holder: Option<Entry>,
    /// How long a request is under way, and how long its answer is.
    pub(super) delays: (StdDuration, StdDuration),
    /// Whether each request arrives twice.
    pub(super) twice: bool,
    /// What it tells of itself.
    pub(super) identity: Option<u64>,
    /// Why whatever is asked is refused, if it is.
    pub(super) refusal: Option<String>,
    /// What stands where tenure is kept and is no member's, if anything does.
    pub(super) block: Option<String>,
    /// What was asked, in order, when it arrived.
    pub(super) asked: Vec<&'static str>,
    ttl: StdDuration,
}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    member: u64,
    count: u64,
    until: Instant,
}

impl Shop {
    pub(super) fn open(ttl: StdDuration) -> Self {
        Self(Arc::new(Mutex::new(Books {
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

    pub(super) fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap()
    }

    pub(super) fn member(&self, member: u64) -> Fake {
        Fake {
            shop: self.clone(),
            member,
            granted: 0,
            told: None,
            identity: None,
        }
    }

    /// A request is carried out even if whoever made it does not wait any more.
    async fn carry_out<T: Send + 'static>(
        &self,
        name: &'static str,
        act: impl Fn(&mut Books) -> Result<T, Denied> + Send + 'static,
    ) -> Result<T, Denied> {
        let shop = self.clone();
        let (there, back) = shop.books().delays;
        let answer = tokio::spawn(async move {
            tokio::time::sleep(there).await;
            let answer = {
                let mut books = shop.books();
                books.asked.push(name);
                match books.refusal.clone() {
                    Some(why) => Err(Denied::Refused(why)),
                    None => {
                        let answer = act(&mut books);
                        if books.twice {
                            _ = act(&mut books);
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

impl Books {
    fn live(&self) -> Option<Entry> {
        self.holder.filter(|holder| clock() <= holder.until)
    }

    fn until(&self) -> Instant {
        clock() + self.ttl.into()
    }
}

/// One member's side of it.
pub(super) struct Fake {
    shop: Shop,
    member: u64,
    granted: u64,
    told: Option<u64>,
    identity: Option<u64>,
}

impl Store for Fake {
    async fn acquire(&mut self) -> Result<Grant, Denied> {
        let member = self.member;
        let act = move |books: &mut Books| {
            if let Some(why) = &books.block {
                return Err(Denied::Blocked(why.clone()));
            }
            let live = books.live().filter(|holder| holder.member != member);
            if let Some(holder) = live {
                return Ok(Err(holder));
            }
            books.count += 1;
            let (count, until) = (books.count, books.until());
            books.holder = Some(Entry {
                member,
                count,
                until,
            });
            Ok(Ok((count, books.ttl)))
        };
        let answer = self.shop.carry_out("acquire", act).await?;
        self.identity = self.shop.books().identity;
        match answer {
            Ok((count, ttl)) => {
                self.granted = count;
                self.told = Some(count);
                Ok(Grant { count, ttl })
            }
            Err(holder) => {
                self.told = Some(holder.count);
                Err(Denied::Held {
                    holder: holder.member.to_string(),
                    lasts: Some((holder.until - clock()).into()),
                })
            }
        }
    }

    async fn renew(&mut self) -> Result<StdDuration, Denied> {
        let (member, granted) = (self.member, self.granted);
        let act = move |books: &mut Books| {
            let live = books.live();
            let mine = live.filter(|holder| (holder.member, holder.count) == (member, granted));
            let mut mine = mine.ok_or(Denied::Gone)?;
            mine.until = books.until();
            books.holder = Some(mine);
            Ok(books.ttl)
        };
        self.shop.carry_out("renew", act).await
    }

    async fn release(&mut self) -> Result<(), Denied> {
        let member = self.member;
        let act = move |books: &mut Books| {
            books.holder = books.holder.filter(|holder| holder.member != member);
            Ok(())
        };
        self.shop.carry_out("release", act).await
    }

    async fn freed(&mut self) -> Result<(), Denied> {
        pending().await
    }

    fn told(&self) -> Option<u64> {
        self.told
    }

    fn identity(&self) -> Option<u64> {
        self.identity
    }

    fn place(&self) -> String {
        "the shop".to_owned()
    }
}
