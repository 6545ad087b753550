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

use std::time::Duration;

use hustings_protocol::names::group_id;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig};

use client::{CallError, CallStream, EtcdClient};
use messages::{
    Compare, KeyValue, LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest, RangeRequest,
    RequestOp, ResponseHeader, TxnRequest, TxnResponse, WatchRequest,
};

use super::StoreTerms;
use super::config::EtcdConfig;
use super::store::{Grant, Store, StoreConfigError, StoreError, random};

/// The lease id of a key without a lease.
const NO_LEASE: i64 = 0;

/// The access of one member to etcd.
pub struct Etcd {
    config: EtcdConfig,
    tls: Option<ClientTlsConfig>,
    /// The index of the next endpoint.
    next: usize,
    group: String,
    /// The key of the tenure, and this member's value for it.
    key: String,
    value: String,
    era_key: String,
    era: u16,
    ttl: Duration,
    identity: Option<u64>,
    connection: Option<EtcdConnection>,
    /// The lease that was asked for last, if it may still exist.
    lease: Option<i64>,
    /// True if a warning was logged that etcd grants a longer time than the ttl.
    has_warned: bool,
    /// The revision that created this member's key.
    created: i64,
    /// The last revision that etcd reported.
    revision: i64,
}

struct EtcdConnection {
    client: EtcdClient,
    /// The stream of keep-alives, and the lease that it keeps.
    keep_alive: Option<(i64, CallStream<LeaseKeepAliveRequest>)>,
    /// The stamp of the last read of the key.
    stamp: Option<LeaderStamp>,
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
        let refused = |what: &str| Err(StoreConfigError(what.to_owned()));
        if config.endpoints.is_empty() {
            return refused("etcd has no endpoints: name one as http://host:2379");
        }
        let mut tls = None;
        if let Some(path) = &config.ca {
            let unreadable = |error| {
                StoreConfigError(format!(
                    "etcd's ca {}: cannot be read: {error}: name the PEM file of the authority that signed etcd's certificates, one \
                     that this user may read",
                    path.display()
                ))
            };
            let pem = std::fs::read(path).map_err(unreadable)?;
            tls = Some(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)));
        } else if config.endpoints.iter().any(|it| it.starts_with("https:")) {
            return refused("etcd's endpoints are https, but no ca is given: name its file");
        }
        let StoreTerms { member, group, era, ttl, .. } = terms;
        let incarnation = random().map_err(StoreConfigError)?;
        Ok(Self {
            config,
            tls,
            next: 0,
            group: group.clone(),
            key: format!("/hustings/{group}/tenure"),
            value: format!("{member} {incarnation:016x}"),
            era_key: format!("/hustings/{group}/era"),
            era: *era,
            ttl: (*ttl).into(),
            identity: None,
            connection: None,
            lease: None,
            has_warned: false,
            created: 0,
            revision: 0,
        })
    }

    /// Returns a client of the next endpoint. It connects at its first use.
    async fn connect(&mut self) -> Result<EtcdClient, CallError> {
        let EtcdConfig { endpoints, login, .. } = &self.config;
        let endpoint = &endpoints[self.next % endpoints.len()];
        let client = EtcdClient::connect(endpoint, self.tls.as_ref(), login.as_ref()).await;
        self.next = self.next.wrapping_add(1);
        client
    }

    /// Returns the connection for one call. The caller puts it back when the call has ended.
    async fn take_connection(&mut self) -> Result<EtcdConnection, StoreError> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let client = self.connect().await.map_err(|error| self.failed(error))?;
        Ok(EtcdConnection { client, keep_alive: None, stamp: None })
    }

    fn put_back<T>(
        &mut self,
        connection: EtcdConnection,
        answer: Result<T, CallError>,
    ) -> Result<T, StoreError> {
        let answer = answer.map_err(|error| self.failed(error));
        if !matches!(answer, Err(StoreError::Unavailable(_) | StoreError::Refused(_))) {
            self.connection = Some(connection);
        }
        answer
    }

    async fn try_acquire(&mut self, connection: &mut EtcdConnection) -> Result<Grant, CallError> {
        if self.identity.is_none() {
            // A user without access to this key works without an identity.
            self.identity = self.identify(connection).await.ok();
        }
        let look = TxnRequest { success: self.tenure_and_era(), ..TxnRequest::default() };
        let answer = connection.client.call(look).await?;
        self.note(answer.header.as_ref())?;
        let [found, era] = found(answer)?;
        if let Some(found) = found {
            if found.lease == NO_LEASE || found.value != self.value.as_bytes() {
                return Err(self.taken(&found).into());
            }
            // This member's key, from an attempt whose answer was lost: it is in the way.
            revoke(connection, found.lease).await?;
        }
        self.check_era(era.as_ref())?;
        let lease = random_id()?;
        self.lease = Some(lease);
        let seconds = self.ttl.as_secs() + u64::from(self.ttl.subsec_nanos() > 0);
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let granted = connection.client.call(LeaseGrantRequest { ttl: seconds, id: lease }).await?;
        let granted = Duration::from_secs(u64::try_from(granted.ttl).unwrap_or_default());
        self.warn_if_longer(granted);
        let Some(denied) = self.create(connection, lease, era).await? else {
            let count = u64::try_from(self.created).unwrap_or_default();
            return Ok(Grant { count, ttl: granted.min(self.ttl) });
        };
        revoke(connection, lease).await?;
        self.lease = None;
        Err(denied.into())
    }

    /// Warns once if etcd grants more than the ttl: other members wait for the unused excess.
    fn warn_if_longer(&mut self, granted: Duration) {
        if let Some(more) = grpc_code::more_than_asked(self.ttl, granted)
            && !std::mem::replace(&mut self.has_warned, true)
        {
            tracing::warn!("group `{}`: {} {more}", self.group, self.place());
        }
    }

    /// The operations that read the tenure key and the era key, as they are at one revision.
    fn tenure_and_era(&self) -> Vec<RequestOp> {
        vec![RequestOp::get(&self.key), RequestOp::get(&self.era_key)]
    }

    /// Creates the key, or returns the reason: it exists, or `era` is no longer the one that the store has.
    async fn create(
        &mut self,
        connection: &mut EtcdConnection,
        lease: i64,
        era: Option<KeyValue>,
    ) -> Result<Option<StoreError>, CallError> {
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
        let answer = connection.client.call(transaction).await?;
        let revision = self.note(answer.header.as_ref())?.revision;
        if answer.succeeded {
            self.created = revision;
            return Ok(None);
        }
        let [tenure, era] = found(answer)?;
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
            let value = String::from_utf8_lossy(&found.value);
            let holder = value.rsplit_once(' ').map_or(&*value, |(member, _)| member);
            return StoreError::Held { holder: holder.to_owned(), lasts: None };
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
    async fn identify(&self, connection: &mut EtcdConnection) -> Result<u64, CallError> {
        let drawn = random_id()?.to_string();
        let key = format!("/hustings/{}/store", self.group);
        let transaction = TxnRequest {
            compare: vec![Compare::created_at(&key, 0)],
            success: vec![RequestOp::put(&key, &drawn)],
            failure: vec![RequestOp::get(&key)],
        };
        let answer = connection.client.call(transaction).await?;
        if answer.succeeded {
            return Ok(group_id(&drawn));
        }
        let [identity] = found(answer)?;
        let identity = identity.ok_or(CallError::BrokenOff)?;
        Ok(group_id(&String::from_utf8_lossy(&identity.value)))
    }

    async fn try_renew(
        &mut self,
        connection: &mut EtcdConnection,
        lease: i64,
    ) -> Result<Duration, CallError> {
        let before = match connection.stamp {
            Some(stamp) => stamp,
            None => self.check_ours(connection, lease).await?,
        };
        let ttl = self.keep_alive(connection, lease).await?;
        let after = self.check_ours(connection, lease).await?;
        connection.stamp = Some(after);
        if before != after {
            return Err(CallError::Denied(StoreError::Refused(format!(
                "{} changed its leader during a renewal, which is tried again",
                self.place()
            ))));
        }
        Ok(ttl)
    }

    /// Sends one keep-alive on the connection's stream.
    async fn keep_alive(
        &self,
        connection: &mut EtcdConnection,
        lease: i64,
    ) -> Result<Duration, CallError> {
        let request = LeaseKeepAliveRequest { id: lease };
        let mut stream = match connection.keep_alive.take() {
            Some((kept, mut stream)) if kept == lease => {
                stream.send(request).await?;
                stream
            }
            _ => connection.client.stream(request).await?,
        };
        let ttl = stream.next().await?.ttl;
        connection.keep_alive = Some((lease, stream));
        match u64::try_from(ttl) {
            Ok(0) | Err(_) => Err(StoreError::Gone.into()),
            Ok(seconds) => Ok(Duration::from_secs(seconds).min(self.ttl)),
        }
    }

    /// Checks that the key is of this tenure. The read is linearizable, which is etcd's default.
    async fn check_ours(
        &mut self,
        connection: &mut EtcdConnection,
        lease: i64,
    ) -> Result<LeaderStamp, CallError> {
        let key = self.key.clone().into_bytes();
        let found = connection.client.call(RangeRequest { key }).await?;
        let header = self.note(found.header.as_ref())?;
        let stamp = LeaderStamp { member: header.member_id, term: header.raft_term };
        let ours = (self.created, lease);
        match found.kvs.last().is_some_and(|it| (it.create_revision, it.lease) == ours) {
            true => Ok(stamp),
            false => Err(StoreError::Gone.into()),
        }
    }

    /// Waits until the key is deleted after the revision that was read last.
    async fn watch(&mut self) -> Result<(), CallError> {
        let mut client = self.connect().await?;
        let request = WatchRequest::deletes_of(&self.key, self.revision + 1);
        let mut watching = client.stream(request).await?;
        loop {
            let answer = watching.next().await?;
            // A watch that etcd cancels, after compaction, may have missed the deletion.
            if answer.canceled || answer.has_delete() {
                return Ok(());
            }
        }
    }

    /// Takes the revision from the header of an answer.
    fn note<'a>(
        &mut self,
        header: Option<&'a ResponseHeader>,
    ) -> Result<&'a ResponseHeader, CallError> {
        let header = header.ok_or(CallError::BrokenOff)?;
        self.revision = header.revision;
        Ok(header)
    }

    fn failed(&self, error: CallError) -> StoreError {
        let place = self.place();
        match error {
            CallError::Status(status) => {
                let what = format!("{:?}, {}", status.code(), status.message());
                let remedy = grpc_code::remedy(status.code(), &self.group);
                StoreError::of_call(&place, &what, remedy.as_deref())
            }
            CallError::Other(what) => StoreError::of_call(&place, &what, None),
            CallError::BrokenOff => StoreError::Unavailable(format!(
                "{place} closed the stream, or does not answer as etcd does: make sure that it is etcd 3.4 or later"
            )),
            CallError::Denied(denied) => denied,
        }
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
        let answer = revoke(&mut connection, lease).await;
        if answer.is_ok() {
            self.lease = None;
        }
        self.put_back(connection, answer)
    }

    async fn wait_released(&mut self) -> Result<(), StoreError> {
        self.watch().await.map_err(|error| self.failed(error))
    }

    fn last_count(&self) -> Option<u64> {
        u64::try_from(self.revision).ok()
    }

    fn identity(&self) -> Option<u64> {
        self.identity
    }

    fn place(&self) -> String {
        format!("etcd at {}", self.config.endpoints.join(", "))
    }
}

async fn revoke(connection: &mut EtcdConnection, lease: i64) -> Result<(), CallError> {
    match connection.client.call(LeaseRevokeRequest { id: lease }).await {
        Err(CallError::Status(status)) if status.code() == Code::NotFound => Ok(()),
        revoked => revoked,
    }
}

/// Returns each of the keys that a transaction read.
fn found<const KEYS: usize>(answer: TxnResponse) -> Result<[Option<KeyValue>; KEYS], CallError> {
    let answers = answer.responses.into_iter().filter_map(|it| it.response_range);
    let found: Vec<Option<KeyValue>> = answers.map(|mut it| it.kvs.pop()).collect();
    found.try_into().map_err(|_| CallError::BrokenOff)
}

fn parsed(era: &KeyValue) -> Option<u16> {
    std::str::from_utf8(&era.value).ok()?.parse().ok()
}

/// Draws the id of a lease. It is positive, because zero would let etcd choose.
fn random_id() -> Result<i64, StoreError> {
    let drawn = random().map_err(StoreError::Unavailable)?;
    Ok(i64::try_from(drawn >> 1).unwrap_or(i64::MAX).max(1))
}
