//! etcd as an authority: a key bound to its creator's lease.
//!
//! Source    etcd's lease, transaction and watch calls. Not its election service, which queues
//!           behind a session that can end unnoticed while it waits
//! Keys      - `/hustings/<group>/tenure`, with the value `<member> <incarnation>`, exists while a
//!             member holds tenure of the group. Deleting it ends that tenure. No member writes
//!             this key without a lease. Such a key blocks tenure until an operator deletes it, and
//!             each member that asks reports it.
//!           - `/hustings/<group>/store` identifies this store: the first member that asks draws a
//!             number for it. (etcd's own cluster id is derived from names: two clusters that were
//!             set up alike have the same id.)
//!           - `/hustings/<group>/era` is the highest era of any grant. It has no lease.
//! Count     the revision of the store that created the key. etcd never reuses a revision, so the
//!           count rises from one tenure to the next
//! Assumes   a cluster that loses nothing it confirmed, and leases that last for their ttl by the
//!           clock of etcd's leader. A cluster that is restored from a snapshot has lost data: its
//!           revisions are lower than those seen before, and the lease client refuses them
//!
//! - Grant. The lease is granted first, under an id that is drawn here. So it can be revoked even
//!   if no answer comes, and a transaction that arrives after the revocation finds no lease and
//!   creates nothing. Both calls go through the cluster's log, so every later leader of the cluster
//!   lets the lease last for its ttl from then.
//! - Era. Revisions do not depend on eras: a member that is still in an old era would get a higher
//!   revision, but a lower fence. So the transaction that creates the key also checks that the era
//!   is the one read before, and writes a higher one. A member in an earlier era is refused.
//! - Waiting. A member that waits keeps nothing in the store, so it has nothing to keep alive. It
//!   reads whether another member holds tenure before it asks for a lease, and revokes an unused
//!   lease at once. A watch, on its own connection, reports when the key is gone.
//! - Renewal. etcd answers a keep-alive without consulting the cluster. A deposed leader that does
//!   not know it yet would answer too, while the new leader counts the lease from the start of its
//!   own term. So the key is read from the cluster before and after. If the same member reports the
//!   same term both times, no newer leader existed in between, and the member that answered was the
//!   leader. The second read of one renewal is the first of the next. It also shows whether the key
//!   still exists and belongs to this member.
//! - Connection. A call that was given up discards its connection, and the next call goes to the
//!   next endpoint, because a paused server keeps its connections open and never answers. A refused
//!   call discards its connection too: a login belongs to its connection, and may have expired.

mod client;
mod grpc_code;
mod messages;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig};

use client::{CallError, CallStream, EtcdClient, EtcdRequest};
use messages::{
    Compare, KeyValue, LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest, RangeRequest,
    RequestOp, ResponseHeader, TxnRequest, TxnResponse, WatchRequest,
};

use super::StoreTerms;
use super::store::{Grant, Store, StoreConfigError, StoreError};
use hustings_protocol::names::group_id;

/// The lease id of a key without a lease.
const NO_LEASE: i64 = 0;

/// The address of etcd, and the credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdConfig {
    /// The members of the cluster, as `http://host:2379` or `https://host:2379`.
    pub endpoints: Vec<String>,
    /// The user, if etcd requires a login.
    pub login: Option<Login>,
    /// The PEM file of the CA that signed the endpoints' certificates. Required for `https`.
    pub ca: Option<PathBuf>,
}

/// A user name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// The access of one member to etcd.
pub struct Etcd {
    endpoints: Vec<String>,
    tls: Option<ClientTlsConfig>,
    login: Option<Login>,
    /// The index of the next endpoint.
    next: usize,
    key: String,
    value: String,
    identity_key: String,
    identity: Option<u64>,
    group: String,
    era_key: String,
    era: u16,
    ttl: Duration,
    connection: Option<EtcdConnection>,
    /// The lease that was asked for last, if it may still exist.
    lease: Option<i64>,
    /// The time for which that lease was granted, at most the ttl that was asked for.
    granted: Duration,
    /// True if a warning was logged that etcd grants more than that.
    has_warned: bool,
    /// The revision that created this member's key.
    created: i64,
    /// The last revision that etcd reported.
    revision: i64,
}

struct EtcdConnection {
    client: EtcdClient,
    keep_alive: Option<KeepAlive>,
    /// The stamp of the last read of the key.
    stamp: Option<LeaderStamp>,
}

struct KeepAlive {
    lease: i64,
    stream: CallStream<LeaseKeepAliveRequest>,
}

/// The member of the cluster that answered a read, and its term.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LeaderStamp {
    member: u64,
    term: u64,
}

impl Etcd {
    /// Creates the access of a member, without connecting yet.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn new(config: EtcdConfig, terms: &StoreTerms) -> Result<Self, StoreConfigError> {
        let EtcdConfig { endpoints, login, ca } = config;
        if endpoints.is_empty() {
            return Err(StoreConfigError::Config(
                "etcd has no endpoints: name one as http://host:2379".to_owned(),
            ));
        }
        let mut tls = None;
        if let Some(path) = ca {
            let unreadable = |error| {
                StoreConfigError::Config(format!(
                    "etcd's ca {}: cannot be read: {error}: name the PEM file of the authority that signed etcd's certificates, one \
                     that this user may read",
                    path.display()
                ))
            };
            let pem = std::fs::read(&path).map_err(unreadable)?;
            tls = Some(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)));
        } else if endpoints.iter().any(|it| it.starts_with("https:")) {
            return Err(StoreConfigError::Config(
                "etcd's endpoints are https, but no ca is given: name its file".to_owned(),
            ));
        }
        let incarnation = getrandom::u64()?;
        Ok(Self {
            endpoints,
            tls,
            login,
            next: 0,
            key: format!("/hustings/{}/tenure", terms.group),
            value: format!("{} {incarnation:016x}", terms.member),
            identity_key: format!("/hustings/{}/store", terms.group),
            identity: None,
            group: terms.group.clone(),
            era_key: format!("/hustings/{}/era", terms.group),
            era: terms.era,
            ttl: terms.ttl.into(),
            connection: None,
            lease: None,
            granted: Duration::ZERO,
            has_warned: false,
            created: 0,
            revision: 0,
        })
    }

    /// Returns a client of the next endpoint. It connects at its first use.
    async fn connect(&mut self) -> Result<EtcdClient, StoreError> {
        let endpoint = &self.endpoints[self.next % self.endpoints.len()];
        let client = EtcdClient::connect(endpoint, self.tls.as_ref(), self.login.as_ref()).await;
        self.next = self.next.wrapping_add(1);
        client.map_err(|error| self.failed(&error))
    }

    /// Returns the connection for one call. The caller puts it back when the call has ended.
    async fn take_connection(&mut self) -> Result<EtcdConnection, StoreError> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => {
                Ok(EtcdConnection { client: self.connect().await?, keep_alive: None, stamp: None })
            }
        }
    }

    fn put_back<T>(
        &mut self,
        connection: EtcdConnection,
        answer: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if !matches!(answer, Err(StoreError::Unavailable(_) | StoreError::Refused(_))) {
            self.connection = Some(connection);
        }
        answer
    }

    async fn try_acquire(&mut self, connection: &mut EtcdConnection) -> Result<Grant, StoreError> {
        if self.identity.is_none() {
            // A user without access to this key works without an identity.
            self.identity = self.identify(connection).await.ok();
        }
        let (found, era) = self.read_tenure_and_era(connection).await?;
        if let Some(found) = found {
            if found.lease == NO_LEASE || found.value != self.value.as_bytes() {
                return Err(self.taken(&found));
            }
            // This member's key, from an attempt whose answer was lost: it is in the way.
            self.revoke(connection, found.lease).await?;
        }
        self.check_era(era.as_ref())?;
        let lease = random_id()?;
        self.lease = Some(lease);
        let seconds = self.ttl.as_secs() + u64::from(self.ttl.subsec_nanos() > 0);
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let request = LeaseGrantRequest { ttl: seconds, id: lease };
        let granted = self.call(connection, request).await?;
        let granted = Duration::from_secs(u64::try_from(granted.ttl).unwrap_or_default());
        self.granted = granted.min(self.ttl);
        self.warn_if_longer(granted);
        let Some(denied) = self.create(connection, lease, era).await? else {
            return Ok(Grant {
                count: u64::try_from(self.created).unwrap_or_default(),
                ttl: self.granted,
            });
        };
        self.revoke(connection, lease).await?;
        self.lease = None;
        Err(denied)
    }

    /// Warns once if etcd grants more than the ttl: other members wait for the unused excess.
    fn warn_if_longer(&mut self, granted: Duration) {
        if let Some(more) = grpc_code::more_than_asked(self.ttl, granted)
            && !std::mem::replace(&mut self.has_warned, true)
        {
            tracing::warn!("group `{}`: {} {more}", self.group, self.place());
        }
    }

    /// Returns the tenure key and the era key, as they are at one revision.
    async fn read_tenure_and_era(
        &mut self,
        connection: &mut EtcdConnection,
    ) -> Result<(Option<KeyValue>, Option<KeyValue>), StoreError> {
        let look = TxnRequest { success: self.tenure_and_era(), ..TxnRequest::default() };
        let answer = self.call(connection, look).await?;
        self.note(answer.header.as_ref())?;
        self.found_of(&answer)
    }

    fn tenure_and_era(&self) -> Vec<RequestOp> {
        vec![RequestOp::get(&self.key), RequestOp::get(&self.era_key)]
    }

    fn found_of(
        &self,
        answer: &TxnResponse,
    ) -> Result<(Option<KeyValue>, Option<KeyValue>), StoreError> {
        match found(answer).as_mut_slice() {
            [tenure, era] => Ok((tenure.take(), era.take())),
            _ => Err(self.broken_off()),
        }
    }

    /// Creates the key, or returns the reason: it exists, or `era` is no longer the one that the store has.
    async fn create(
        &mut self,
        connection: &mut EtcdConnection,
        lease: i64,
        era: Option<KeyValue>,
    ) -> Result<Option<StoreError>, StoreError> {
        let read = era.as_ref().map_or(0, |it| it.mod_revision);
        let mut puts = vec![RequestOp::put_with_lease(&self.key, &self.value, lease)];
        if era.is_none_or(|it| parsed(&it) != Some(self.era)) {
            puts.push(RequestOp::put(&self.era_key, &self.era.to_string()));
        }
        let transaction = TxnRequest {
            compare: vec![
                Compare::created_at(&self.key, 0),
                Compare::written_at(&self.era_key, read),
            ],
            success: puts,
            failure: self.tenure_and_era(),
        };
        let answer = self.call(connection, transaction).await?;
        let revision = self.note(answer.header.as_ref())?.revision;
        if answer.succeeded {
            self.created = revision;
            return Ok(None);
        }
        let (tenure, era) = self.found_of(&answer)?;
        if let Some(tenure) = tenure {
            return Ok(Some(self.taken(&tenure)));
        }
        let behind = self.check_era(era.as_ref());
        Ok(Some(behind.err().unwrap_or_else(|| {
            StoreError::Refused(format!(
                "{}: another member began an era just now: trying again",
                self.place()
            ))
        })))
    }

    /// The error for an existing key. A key without a lease is no member's, and never expires.
    fn taken(&self, found: &KeyValue) -> StoreError {
        if found.lease != NO_LEASE {
            return held(found);
        }
        let (place, key) = (self.place(), &self.key);
        StoreError::Blocked(format!(
            "{place}: key `{key}` has no lease, so it never ends, and no member wrote it. It keeps every member from tenure: find the program that writes there, and delete the key: `etcdctl del {key}`"
        ))
    }

    fn check_era(&self, era: Option<&KeyValue>) -> Result<(), StoreError> {
        let Some(era) = era else {
            return Ok(()); // the first tenure of the group
        };
        match parsed(era) {
            Some(era) if era <= self.era => Ok(()),
            Some(era) => Err(StoreError::behind(&self.group, era.into())),
            None => Err(StoreError::Refused(format!(
                "{}: the value of `{}` is no era: write the highest era of the group there",
                self.place(),
                self.era_key
            ))),
        }
    }

    /// Returns the store's identity, which the first member that asked has drawn.
    async fn identify(&self, connection: &mut EtcdConnection) -> Result<u64, StoreError> {
        let drawn = random_id()?.to_string();
        let key = self.identity_key.as_str();
        let transaction = TxnRequest {
            compare: vec![Compare::created_at(key, 0)],
            success: vec![RequestOp::put(key, &drawn)],
            failure: vec![RequestOp::get(key)],
        };
        let answer = self.call(connection, transaction).await?;
        let value = match (answer.succeeded, found(&answer).as_slice()) {
            (true, _) => drawn.into_bytes(),
            (false, [Some(found)]) => found.value.clone(),
            (false, _) => return Err(self.broken_off()),
        };
        Ok(group_id(&String::from_utf8_lossy(&value)))
    }

    async fn try_renew(
        &mut self,
        connection: &mut EtcdConnection,
        lease: i64,
    ) -> Result<Duration, StoreError> {
        let before = match connection.stamp {
            Some(stamp) => stamp,
            None => self.check_ours(connection, lease).await?,
        };
        let ttl = self.keep_alive(connection, lease).await?;
        let after = self.check_ours(connection, lease).await?;
        connection.stamp = Some(after);
        match before == after {
            true => Ok(ttl),
            false => Err(StoreError::Refused(format!(
                "{} changed its leader during a renewal, which is tried again",
                self.place()
            ))),
        }
    }

    /// Sends one keep-alive on the connection's stream.
    async fn keep_alive(
        &mut self,
        connection: &mut EtcdConnection,
        lease: i64,
    ) -> Result<Duration, StoreError> {
        let request = LeaseKeepAliveRequest { id: lease };
        let mut keep_alive =
            match connection.keep_alive.take().filter(|keep_alive| keep_alive.lease == lease) {
                Some(mut keep_alive) => {
                    let asked = keep_alive.stream.send(request).await;
                    asked.map_err(|error| self.failed(&error))?;
                    keep_alive
                }
                None => {
                    let stream = connection.client.stream(request).await;
                    let stream = stream.map_err(|error| self.failed(&error))?;
                    KeepAlive { lease, stream }
                }
            };
        let answer = keep_alive.stream.next().await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        let ttl = answer.ok_or_else(|| self.broken_off())?.ttl;
        connection.keep_alive = Some(keep_alive);
        match u64::try_from(ttl) {
            Ok(0) | Err(_) => Err(StoreError::Gone),
            Ok(seconds) => Ok(Duration::from_secs(seconds).min(self.ttl)),
        }
    }

    async fn check_ours(
        &mut self,
        connection: &mut EtcdConnection,
        lease: i64,
    ) -> Result<LeaderStamp, StoreError> {
        let (found, stamp) = self.read(connection).await?;
        let ours = (self.created, lease);
        match found.is_some_and(|it| (it.create_revision, it.lease) == ours) {
            true => Ok(stamp),
            false => Err(StoreError::Gone),
        }
    }

    /// Reads the key. The read is linearizable, which is etcd's default.
    async fn read(
        &mut self,
        connection: &mut EtcdConnection,
    ) -> Result<(Option<KeyValue>, LeaderStamp), StoreError> {
        let key = self.key.clone().into_bytes();
        let mut found = self.call(connection, RangeRequest { key }).await?;
        let header = self.note(found.header.as_ref())?;
        let stamp = LeaderStamp { member: header.member_id, term: header.raft_term };
        Ok((found.kvs.pop(), stamp))
    }

    async fn revoke(&self, connection: &mut EtcdConnection, lease: i64) -> Result<(), StoreError> {
        let request = LeaseRevokeRequest { id: lease };
        match connection.client.call(request).await {
            Ok(_) => Ok(()),
            Err(CallError::Status(status)) if status.code() == Code::NotFound => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Waits until the key is deleted after the revision that was read last.
    async fn watch(&mut self, client: &mut EtcdClient) -> Result<(), StoreError> {
        let request = WatchRequest::deletes_of(&self.key, self.revision + 1);
        let watching = client.stream(request).await;
        let mut watching = watching.map_err(|error| self.failed(&error))?;
        loop {
            let answer = watching.next().await;
            let answer = answer.map_err(|error| self.failed(&error))?;
            let answer = answer.ok_or_else(|| self.broken_off())?;
            // A watch that etcd cancels, after compaction, may have missed the deletion.
            if answer.canceled || answer.has_delete() {
                return Ok(());
            }
        }
    }

    async fn call<R: EtcdRequest>(
        &self,
        connection: &mut EtcdConnection,
        request: R,
    ) -> Result<R::Answer, StoreError> {
        connection.client.call(request).await.map_err(|error| self.failed(&error))
    }

    /// Takes the revision from the header of an answer.
    fn note<'a>(
        &mut self,
        header: Option<&'a ResponseHeader>,
    ) -> Result<&'a ResponseHeader, StoreError> {
        let header = header.ok_or_else(|| self.broken_off())?;
        self.revision = header.revision;
        Ok(header)
    }

    fn failed(&self, error: &CallError) -> StoreError {
        let (what, remedy) = match error {
            CallError::Status(status) => (
                format!("{:?}, {}", status.code(), status.message()),
                grpc_code::remedy(status.code(), &self.group),
            ),
            CallError::Other(what) => (what.clone(), None),
        };
        StoreError::of_call(&self.place(), &what, remedy.as_deref())
    }

    fn broken_off(&self) -> StoreError {
        let place = self.place();
        StoreError::Unavailable(format!(
            "{place} closed the stream, or does not answer as etcd does: make sure that it is etcd 3.4 or later"
        ))
    }
}

impl Store for Etcd {
    async fn acquire(&mut self) -> Result<Grant, StoreError> {
        let mut connection = self.take_connection().await?;
        let answer = self.try_acquire(&mut connection).await;
        self.put_back(connection, answer)
    }

    async fn renew(&mut self) -> Result<Duration, StoreError> {
        let lease = self.lease.ok_or(StoreError::Gone)?;
        let mut connection = self.take_connection().await?;
        let answer = self.try_renew(&mut connection, lease).await;
        self.put_back(connection, answer)
    }

    async fn release(&mut self) -> Result<(), StoreError> {
        let Some(lease) = self.lease else {
            return Ok(()); // nothing was asked for
        };
        let mut connection = self.take_connection().await?;
        let answer = self.revoke(&mut connection, lease).await;
        if answer.is_ok() {
            self.lease = None;
        }
        self.put_back(connection, answer)
    }

    async fn wait_released(&mut self) -> Result<(), StoreError> {
        let mut client = self.connect().await?;
        self.watch(&mut client).await
    }

    fn last_count(&self) -> Option<u64> {
        u64::try_from(self.revision).ok()
    }

    fn identity(&self) -> Option<u64> {
        self.identity
    }

    fn place(&self) -> String {
        format!("etcd at {}", self.endpoints.join(", "))
    }
}

/// Returns each key that a transaction read.
fn found(answer: &TxnResponse) -> Vec<Option<KeyValue>> {
    let answers = answer.responses.iter();
    let found = answers.filter_map(|it| it.response_range.as_ref());
    found.map(|it| it.kvs.last().cloned()).collect()
}

fn parsed(era: &KeyValue) -> Option<u16> {
    std::str::from_utf8(&era.value).ok()?.parse().ok()
}

fn held(found: &KeyValue) -> StoreError {
    let value = String::from_utf8_lossy(&found.value);
    let holder = value.rsplit_once(' ').map_or(&*value, |(member, _)| member);
    StoreError::Held { holder: holder.to_owned(), lasts: None }
}

/// Draws the id of a lease. It is positive, because zero would let etcd choose.
fn random_id() -> Result<i64, StoreError> {
    let drawn = getrandom::u64().map_err(|error| {
        StoreError::Unavailable(format!("the operating system gives no random numbers: {error}"))
    })?;
    Ok(i64::try_from(drawn >> 1).unwrap_or(i64::MAX).max(1))
}
