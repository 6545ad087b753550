//! etcd as an authority: a key that lives as long as its creator's lease.
//!
//! Source    etcd's lease, transaction and watch calls. Not its election service: that queues behind a
//!           session which can end unseen while it waits
//! Keys      `/hustings/<group>/tenure`, with the value `<member> <incarnation>`, is there while somebody
//!           holds tenure of the group. Whoever deletes it ends that tenure. One without a lease is no member's: it
//!           keeps all from tenure until a person deletes it, and each that asks says so
//!           `/hustings/<group>/store` tells this store from others: whoever asks first draws a number for it.
//!           (etcd's own number of a cluster follows from names: two that were set up alike have the same)
//!           `/hustings/<group>/era` is the highest era in which tenure was granted. No lease ends it
//! Count     the revision of the store that created the key. Revisions are never used twice, so they rise
//!           from one tenure to the next
//! Assumes   a cluster that loses nothing it confirmed, and leases that last for their ttl by the clock of
//!           etcd's leader. A cluster that is restored from a snapshot has lost something: its revisions are lower
//!           than those seen before, and the clerk refuses them
//!
//! - A grant. The lease is granted first, under an identity that is drawn here: so it can be revoked even if
//!   no answer comes, and a transaction that arrives after that finds no lease and creates nothing. Both
//!   calls go through the cluster's log, so that whichever member leads from then on lets the lease last for
//!   its ttl from then.
//! - An era. Revisions know nothing of eras: a member that was left in an old one would be granted a higher
//!   revision, and with it a lower fence. So the transaction that creates the key also sees that the era is the one
//!   that was read before, and writes a higher one. Who is behind is refused.
//! - While another holds. Nothing is kept in the store, so nothing has to be kept alive: whether somebody holds
//!   is read before a lease is asked for, and a lease that came to nothing is revoked at once. A watch
//!   tells when the key is gone. It has a connection of its own, as it may be open for long.
//! - A renewal. etcd answers a keep-alive without asking the cluster. A leader that was deposed and does
//!   not know it yet would answer too, while the new one counts the lease from its own beginning. So the key
//!   is read from the cluster before and after. If the same member tells the same term both times, there
//!   was no newer leader in between: then the one that answered was the leader. The second reading of one
//!   renewal is the first of the next. It also shows whether the key is still there, and ours.
//! - A call that was given up takes its connection with it, and the next one goes to the next endpoint: a
//!   server that is paused keeps its connections open and answers nothing. So does one that was refused: a login is good
//!   for its connection, and may have ended.

mod refusal;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use etcd_client::{
    Certificate, Client, Compare, CompareOp, ConnectOptions, Error, EventType, KeyValue,
    LeaseGrantOptions, LeaseKeepAliveStream, LeaseKeeper, PutOptions, ResponseHeader, TlsOptions,
    Txn, TxnOp, TxnOpResponse, TxnResponse, WatchFilterType, WatchOptions,
};

use super::StoreTerms;
use super::store::{Denied, Grant, Store, StoreError};
use crate::identity::group_id;

/// What etcd tells of a key that no lease ends.
const NO_LEASE: i64 = 0;

/// Where etcd is, and how to get in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdConfig {
    /// The members of the cluster, as `http://host:2379` or `https://host:2379`.
    pub endpoints: Vec<String>,
    /// As whom, if etcd wants to know.
    pub login: Option<Login>,
    /// The certificate of whoever signed those of the endpoints, in PEM. Needed for `https`.
    pub ca: Option<PathBuf>,
}

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// One member's side of etcd.
pub struct Etcd {
    endpoints: Vec<String>,
    options: ConnectOptions,
    /// Which endpoint is next.
    next: usize,
    key: String,
    value: String,
    identity_key: String,
    identity: Option<u64>,
    group: String,
    era_key: String,
    era: u16,
    ttl: Duration,
    line: Option<Line>,
    /// The lease that was asked for last, if it may still be there.
    lease: Option<i64>,
    /// For how long it was granted, as far as that was asked for.
    granted: Duration,
    /// Whether it was said that etcd grants more than that.
    has_said_more: bool,
    /// The revision that created what is held.
    created: i64,
    /// The last revision that was told.
    revision: i64,
}

/// A connection to one endpoint.
struct Line {
    client: Client,
    keeper: Option<Keeper>,
    /// Who answered when the key was read last, and in which term.
    reading: Option<Reading>,
}

struct Keeper {
    lease: i64,
    asks: LeaseKeeper,
    answers: LeaseKeepAliveStream,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Reading {
    member: u64,
    term: u64,
}

impl Etcd {
    /// A member's side of it, not connected yet.
    ///
    /// # Errors
    /// If it cannot work as configured.
    pub fn new(config: EtcdConfig, terms: &StoreTerms) -> Result<Self, StoreError> {
        let EtcdConfig {
            endpoints,
            login,
            ca,
        } = config;
        if endpoints.is_empty() {
            return Err(StoreError::Config(
                "etcd has no endpoints: name one as http://host:2379".to_owned(),
            ));
        }
        let mut options = ConnectOptions::new().with_require_leader(true);
        if let Some(Login { user, password }) = login {
            options = options
                .with_user(user, password)
                .with_auto_token_refresh(true);
        }
        if let Some(path) = ca {
            let unreadable = |error| {
                StoreError::Config(format!(
                    "etcd's ca {}: cannot be read: {error}: name the PEM file of whoever signed etcd's certificates, one \
                     that this user may read",
                    path.display()
                ))
            };
            let pem = std::fs::read(&path).map_err(unreadable)?;
            let tls = TlsOptions::new().ca_certificate(Certificate::from_pem(pem));
            options = options.with_tls(tls);
        } else if endpoints.iter().any(|it| it.starts_with("https:")) {
            return Err(StoreError::Config(
                "etcd's endpoints are https, but no ca is given: name its file".to_owned(),
            ));
        }
        let incarnation = getrandom::u64()?;
        Ok(Self {
            endpoints,
            options,
            next: 0,
            key: format!("/hustings/{}/tenure", terms.group),
            value: format!("{} {incarnation:016x}", terms.member),
            identity_key: format!("/hustings/{}/store", terms.group),
            identity: None,
            group: terms.group.clone(),
            era_key: format!("/hustings/{}/era", terms.group),
            era: terms.era,
            ttl: terms.ttl.into(),
            line: None,
            lease: None,
            granted: Duration::ZERO,
            has_said_more: false,
            created: 0,
            revision: 0,
        })
    }

    /// A connection to the next endpoint. It is made when it is first used.
    async fn connect(&mut self) -> Result<Client, Denied> {
        let endpoint = &self.endpoints[self.next % self.endpoints.len()];
        let client = Client::connect([endpoint], Some(self.options.clone())).await;
        self.next = self.next.wrapping_add(1);
        client.map_err(|error| self.failed(&error))
    }

    /// The line for one call. It is put back if the call comes to an end.
    async fn take_line(&mut self) -> Result<Line, Denied> {
        match self.line.take() {
            Some(line) => Ok(line),
            None => Ok(Line {
                client: self.connect().await?,
                keeper: None,
                reading: None,
            }),
        }
    }

    fn put_back<T>(&mut self, line: Line, answer: Result<T, Denied>) -> Result<T, Denied> {
        if !matches!(answer, Err(Denied::Unavailable(_) | Denied::Refused(_))) {
            self.line = Some(line);
        }
        answer
    }

    async fn try_acquire(&mut self, line: &mut Line) -> Result<Grant, Denied> {
        if self.identity.is_none() {
            // Who may not read and write this key does without.
            self.identity = self.identify(line).await.ok();
        }
        let (found, began) = self.look(line).await?;
        if let Some(found) = found {
            if found.lease() == NO_LEASE || found.value() != self.value.as_bytes() {
                return Err(self.taken(&found));
            }
            // Ours, by an attempt whose answer never came. Nothing is held now, so it is in the way.
            self.revoke(line, found.lease()).await?;
        }
        self.see_that_it_is_not_behind(began.as_ref())?;
        let lease = drawn()?;
        self.lease = Some(lease);
        let seconds = self.ttl.as_secs() + u64::from(self.ttl.subsec_nanos() > 0);
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let options = LeaseGrantOptions::new().with_id(lease);
        let granted = line.client.lease_grant(seconds, Some(options)).await;
        let granted = granted.map_err(|error| self.failed(&error))?;
        let granted = Duration::from_secs(u64::try_from(granted.ttl()).unwrap_or_default());
        self.granted = granted.min(self.ttl);
        self.say_if_it_is_more(granted);
        let Some(denied) = self.create(line, lease, began).await? else {
            return Ok(Grant {
                count: u64::try_from(self.created).unwrap_or_default(),
                ttl: self.granted,
            });
        };
        self.revoke(line, lease).await?;
        self.lease = None;
        Err(denied)
    }

    /// What it grants beyond what was asked for nobody can use, and others wait for.
    fn say_if_it_is_more(&mut self, granted: Duration) {
        if let Some(more) = refusal::more_than_asked(self.ttl, granted)
            && !std::mem::replace(&mut self.has_said_more, true)
        {
            tracing::warn!("group `{}`: {} {more}", self.group, self.place());
        }
    }

    /// The key, and the era that was begun last, as they are at one revision.
    async fn look(
        &mut self,
        line: &mut Line,
    ) -> Result<(Option<KeyValue>, Option<KeyValue>), Denied> {
        let look = Txn::new().and_then(self.both());
        let answer = line.client.txn(look).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        self.note(answer.header())?;
        self.found_of(&answer)
    }

    fn both(&self) -> [TxnOp; 2] {
        [&self.key, &self.era_key].map(|key| TxnOp::get(key.as_str(), None))
    }

    /// What was found of both keys.
    fn found_of(
        &self,
        answer: &TxnResponse,
    ) -> Result<(Option<KeyValue>, Option<KeyValue>), Denied> {
        match found(answer).as_mut_slice() {
            [tenure, era] => Ok((tenure.take(), era.take())),
            _ => Err(self.nonsense()),
        }
    }

    /// Creates the key, unless it is there, or an era has begun since `began` was read. Returns why not.
    async fn create(
        &mut self,
        line: &mut Line,
        lease: i64,
        began: Option<KeyValue>,
    ) -> Result<Option<Denied>, Denied> {
        let read = began.as_ref().map_or(0, KeyValue::mod_revision);
        let put = PutOptions::new().with_lease(lease);
        let mut puts = vec![TxnOp::put(
            self.key.as_str(),
            self.value.as_str(),
            Some(put),
        )];
        if began.is_none_or(|began| parsed(&began) != Some(self.era)) {
            puts.push(TxnOp::put(
                self.era_key.as_str(),
                self.era.to_string(),
                None,
            ));
        }
        let transaction = Txn::new()
            .when([
                Compare::create_revision(self.key.as_str(), CompareOp::Equal, 0),
                Compare::mod_revision(self.era_key.as_str(), CompareOp::Equal, read),
            ])
            .and_then(puts)
            .or_else(self.both());
        let answer = line.client.txn(transaction).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        let revision = self.note(answer.header())?.revision();
        if answer.succeeded() {
            self.created = revision;
            return Ok(None);
        }
        let (tenure, began) = self.found_of(&answer)?;
        if let Some(tenure) = tenure {
            return Ok(Some(self.taken(&tenure)));
        }
        let behind = self.see_that_it_is_not_behind(began.as_ref());
        Ok(Some(behind.err().unwrap_or_else(|| {
            Denied::Refused(format!(
                "{}: another began an era just now: it is tried again",
                self.place()
            ))
        })))
    }

    /// The key is there: a member holds tenure, or somebody else wrote it without a lease, and then it never ends.
    fn taken(&self, found: &KeyValue) -> Denied {
        if found.lease() != NO_LEASE {
            return held(found);
        }
        let (place, key) = (self.place(), &self.key);
        Denied::Blocked(format!(
            "{place}: key `{key}` has no lease, so it never ends, and no member wrote it: it keeps every member from tenure: see \
             who writes there, and delete it: `etcdctl del {key}`"
        ))
    }

    fn see_that_it_is_not_behind(&self, began: Option<&KeyValue>) -> Result<(), Denied> {
        let Some(began) = began else {
            return Ok(()); // the first tenure of all
        };
        match parsed(began) {
            Some(era) if era <= self.era => Ok(()),
            Some(era) => Err(Denied::behind(&self.group, era.into())),
            None => Err(Denied::Refused(format!(
                "{}: what `{}` holds is no era: write the highest era of the group there",
                self.place(),
                self.era_key
            ))),
        }
    }

    /// What tells this store from others: what was drawn by whoever asked it first.
    async fn identify(&self, line: &mut Line) -> Result<u64, Denied> {
        let drawn = drawn()?.to_string();
        let key = self.identity_key.as_str();
        let transaction = Txn::new()
            .when([Compare::create_revision(key, CompareOp::Equal, 0)])
            .and_then([TxnOp::put(key, drawn.as_str(), None)])
            .or_else([TxnOp::get(key, None)]);
        let answer = line.client.txn(transaction).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        let value = match (answer.succeeded(), found(&answer).as_slice()) {
            (true, _) => drawn.into_bytes(),
            (false, [Some(found)]) => found.value().to_vec(),
            (false, _) => return Err(self.nonsense()),
        };
        Ok(group_id(&String::from_utf8_lossy(&value)))
    }

    async fn try_renew(&mut self, line: &mut Line, lease: i64) -> Result<Duration, Denied> {
        let before = match line.reading {
            Some(reading) => reading,
            None => self.see_that_it_is_ours(line, lease).await?,
        };
        let ttl = self.keep_alive(line, lease).await?;
        let after = self.see_that_it_is_ours(line, lease).await?;
        line.reading = Some(after);
        match before == after {
            true => Ok(ttl),
            false => Err(Denied::Refused(format!(
                "{} changed its leader during a renewal, which is tried again",
                self.place()
            ))),
        }
    }

    /// One keep-alive, on the line's stream for them.
    async fn keep_alive(&mut self, line: &mut Line, lease: i64) -> Result<Duration, Denied> {
        if let Some(keeper) = line.keeper.as_mut().filter(|keeper| keeper.lease == lease) {
            let asked = keeper.asks.keep_alive().await;
            asked.map_err(|error| self.failed(&error))?;
            let answer = keeper.answers.message().await;
            let answer = answer.map_err(|error| self.failed(&error))?;
            let ttl = answer.ok_or_else(|| self.nonsense())?.ttl();
            return match u64::try_from(ttl) {
                Ok(0) | Err(_) => Err(Denied::Gone),
                Ok(seconds) => Ok(Duration::from_secs(seconds).min(self.ttl)),
            };
        }
        // Opening a stream keeps the lease alive once, for as long as it was granted.
        match line.client.lease_keep_alive(lease).await {
            Ok((asks, answers)) => {
                line.keeper = Some(Keeper {
                    lease,
                    asks,
                    answers,
                });
                Ok(self.granted)
            }
            Err(Error::LeaseKeepAliveError(_)) => Err(Denied::Gone),
            Err(error) => Err(self.failed(&error)),
        }
    }

    async fn see_that_it_is_ours(
        &mut self,
        line: &mut Line,
        lease: i64,
    ) -> Result<Reading, Denied> {
        let (found, reading) = self.read(line).await?;
        let ours = (self.created, lease);
        match found.is_some_and(|it| (it.create_revision(), it.lease()) == ours) {
            true => Ok(reading),
            false => Err(Denied::Gone),
        }
    }

    /// What a majority of the cluster knows of the key: reads are linearizable unless they are asked
    /// not to be.
    async fn read(&mut self, line: &mut Line) -> Result<(Option<KeyValue>, Reading), Denied> {
        let found = line.client.get(self.key.as_str(), None).await;
        let mut found = found.map_err(|error| self.failed(&error))?;
        let header = self.note(found.header())?;
        let reading = Reading {
            member: header.member_id(),
            term: header.raft_term(),
        };
        Ok((found.take_kvs().pop(), reading))
    }

    async fn revoke(&self, line: &mut Line, lease: i64) -> Result<(), Denied> {
        match line.client.lease_revoke(lease).await {
            Ok(_) => Ok(()),
            Err(Error::GRpcStatus(status)) if refusal::is_not_found(status.code() as i32) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Waits until the key is deleted, after what was read of it last.
    async fn watch(&mut self, client: &mut Client) -> Result<(), Denied> {
        let options = WatchOptions::new()
            .with_start_revision(self.revision + 1)
            .with_filters([WatchFilterType::NoPut]);
        let watching = client.watch(self.key.as_str(), Some(options)).await;
        let mut watching = watching.map_err(|error| self.failed(&error))?;
        loop {
            let answer = watching.message().await;
            let answer = answer.map_err(|error| self.failed(&error))?;
            let answer = answer.ok_or_else(|| self.nonsense())?;
            let is_delete = |it: &etcd_client::Event| it.event_type() == EventType::Delete;
            // A watch that etcd ends, as it forgot so old a revision, may have missed it.
            if answer.canceled() || answer.events().iter().any(is_delete) {
                return Ok(());
            }
        }
    }

    fn note<'a>(
        &mut self,
        header: Option<&'a ResponseHeader>,
    ) -> Result<&'a ResponseHeader, Denied> {
        let header = header.ok_or_else(|| self.nonsense())?;
        self.revision = header.revision();
        Ok(header)
    }

    fn failed(&self, error: &Error) -> Denied {
        let place = self.place();
        let (what, advice) = match error {
            Error::GRpcStatus(status) => (
                format!("{:?}, {}", status.code(), status.message()),
                refusal::advice(status.code() as i32, &self.group),
            ),
            error => (error.to_string(), None),
        };
        match advice {
            Some(advice) => Denied::Refused(format!("{place} refuses: {what}: {advice}")),
            None => Denied::Unavailable(format!(
                "{place} failed: {what}: see that it runs and can be reached, and what its log says"
            )),
        }
    }

    fn nonsense(&self) -> Denied {
        let place = self.place();
        Denied::Unavailable(format!(
            "{place} broke off, or does not answer as etcd does: see that it is etcd 3.4 or later"
        ))
    }
}

impl Store for Etcd {
    async fn acquire(&mut self) -> Result<Grant, Denied> {
        let mut line = self.take_line().await?;
        let answer = self.try_acquire(&mut line).await;
        self.put_back(line, answer)
    }

    async fn renew(&mut self) -> Result<Duration, Denied> {
        let lease = self.lease.ok_or(Denied::Gone)?;
        let mut line = self.take_line().await?;
        let answer = self.try_renew(&mut line, lease).await;
        self.put_back(line, answer)
    }

    async fn release(&mut self) -> Result<(), Denied> {
        let Some(lease) = self.lease else {
            return Ok(()); // nothing was asked for
        };
        let mut line = self.take_line().await?;
        let answer = self.revoke(&mut line, lease).await;
        if answer.is_ok() {
            self.lease = None;
        }
        self.put_back(line, answer)
    }

    async fn freed(&mut self) -> Result<(), Denied> {
        let mut client = self.connect().await?;
        self.watch(&mut client).await
    }

    fn told(&self) -> Option<u64> {
        u64::try_from(self.revision).ok()
    }

    fn identity(&self) -> Option<u64> {
        self.identity
    }

    fn place(&self) -> String {
        format!("etcd at {}", self.endpoints.join(", "))
    }
}

/// What a transaction found of each key that it looked at.
fn found(answer: &TxnResponse) -> Vec<Option<KeyValue>> {
    let answers = answer.op_responses().into_iter();
    let found = answers.filter_map(|it| match it {
        TxnOpResponse::Get(mut found) => Some(found.take_kvs().pop()),
        TxnOpResponse::Put(_) | TxnOpResponse::Delete(_) | TxnOpResponse::Txn(_) => None,
    });
    found.collect()
}

fn parsed(era: &KeyValue) -> Option<u16> {
    std::str::from_utf8(era.value()).ok()?.parse().ok()
}

fn held(found: &KeyValue) -> Denied {
    let value = String::from_utf8_lossy(found.value());
    let holder = value.rsplit_once(' ').map_or(&*value, |(member, _)| member);
    Denied::Held {
        holder: holder.to_owned(),
        lasts: None,
    }
}

/// An identity for a lease: positive, as zero would be etcd's to choose.
fn drawn() -> Result<i64, Denied> {
    let drawn = getrandom::u64().map_err(|error| {
        Denied::Unavailable(format!("the system gives no random numbers: {error}"))
    })?;
    Ok(i64::try_from(drawn >> 1).unwrap_or(i64::MAX).max(1))
}
