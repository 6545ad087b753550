//! PostgreSQL as an authority: one row for each group.
//!
//! Source    ours; the tables and functions are in `postgres.sql`, and are installed if they are
//!           missing
//! Count     the row's epoch: 1 for the first tenure of an era, and one more for each later tenure.
//!           The row is never deleted. A row that another program wrote against this rule is
//!           refused and left as it is
//! Assumes   - One server that loses nothing it committed: `fsync` is on, and a standby that takes
//!             over was synchronous. An asynchronous standby may have an older row: a member that
//!             has seen a higher epoch refuses it, other members cannot know.
//!           - If an operator cancels the wait for the standby, the server commits all the same,
//!             and warns. This counts as no answer.
//!           - A server clock that is not set by hand. A clock set back prolongs a tenure that is
//!             not released. A clock set forward ends a tenure early: then two members may hold
//!             tenure at one instant, and the resource refuses the one with the lower fence.
//!
//! The server's clock decides. It is read when the row is locked, so the time that a request waits
//! shortens the requester's tenure.
//!
//! - A grant is one upsert. It takes a row that has expired, or that an earlier attempt of the same
//!   incarnation of the member left behind, and increments the epoch.
//! - A renewal requires the row as this tenure wrote it, unexpired. An expired tenure is over even
//!   if no other member took it, and the next one has a higher epoch.
//! - A release lets the row expire and keeps its epoch. It applies to this attempt and earlier
//!   ones, so a delayed release does not end a later tenure. A delayed attempt does not either,
//!   because later attempts have higher numbers.
//!
//! The client keeps nothing in a session, so connection poolers may assign each transaction to
//! another session: no prepared statements, no session-level advisory locks, no LISTEN. Each
//! request is one simple query of several statements, hence one transaction. It sets its own
//! timeout, and is rolled back as a whole if it fails. The client polls whether tenure is free.
//! Connections are not encrypted, and `sslmode=require` is refused: across networks that others can
//! read, use a local socket or a tunnel.

mod sqlstate;

use std::future::poll_fn;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use postgres_protocol::escape::escape_literal;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, NoTls, SimpleQueryMessage, SimpleQueryRow,
};

use super::era;
use super::store::{Grant, Store, StoreConfigError, StoreError, random, shown};
use crate::terms::{StoreTerms, TTL_BOUNDS};
use hustings_protocol::names::group_id;

/// The SQL of the tables and functions that this authority needs.
pub const SCHEMA: &str = include_str!("postgres.sql");

/// Returns a row if the schema is installed. A member may lack the privilege to create it.
const IS_INSTALLED: &str = "SELECT 1 WHERE to_regclass('hustings_tenure') IS NOT NULL
    AND to_regprocedure('hustings_assert_fence(text, bigint)') IS NOT NULL";

/// The identity of this store: the server's system identifier, which its standbys share, and the
/// oids of database and table. The identity is unknown if the server does not allow the query.
const IDENTITY: &str = "SELECT concat_ws(' ', system_identifier, (SELECT oid FROM pg_database
    WHERE datname = current_database()), to_regclass('hustings_tenure')::oid) AS identity
    FROM pg_control_system()";

/// The valid eras, and the valid epochs of an era. Each combination has a fence.
const ERAS: RangeInclusive<i64> = 0..=era::LAST as i64;
const EPOCHS: RangeInclusive<i64> = 1..=(era::begin(1) - 1).cast_signed();

/// The longest ttl that a member asks for.
const LONGEST_TTL: Duration = Duration::from_nanos(TTL_BOUNDS.longest.0);

/// The polls for free tenure per ttl, and the bounds of the polling interval.
const POLLS_IN_A_TTL: u32 = 20;
const POLL: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// The access of one member to PostgreSQL.
pub struct Postgres {
    config: Config,
    group: String,
    member: String,
    era: u16,
    incarnation: i64,
    ttl: Duration,
    /// The time that a statement may take, waiting for locks included.
    answer_within: Duration,
    session: Option<PgSession>,
    is_installed: bool,
    identity: Option<u64>,
    /// The number of the last attempt.
    attempt: i64,
    epoch: i64,
    last_count: Option<u64>,
}

/// A connection and the task that drives it. The task ends with the connection, so nothing waits
/// for answers that a paused server never sends.
struct PgSession {
    client: Client,
    _driver: JoinSet<()>,
    /// True if the server warned that a commit of this connection may not have reached its
    /// synchronous standby.
    is_unreplicated: Arc<AtomicBool>,
}

/// The row of a group.
struct Row {
    era: i64,
    epoch: i64,
    holder: String,
    incarnation: i64,
    attempt: i64,
    /// The time until the row expires.
    lasts: Duration,
}

impl Postgres {
    /// Creates the access of a member to the database at `url`, of the form
    /// `postgresql://user:password@host:5432/database`, without connecting yet.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn new(url: &str, terms: &StoreTerms) -> Result<Self, StoreConfigError> {
        let mut config = url.parse::<Config>().map_err(|error| {
            let why = std::error::Error::source(&error);
            let why = why.map_or_else(|| error.to_string(), ToString::to_string);
            StoreConfigError(format!(
                "postgres: this URL cannot be used: {why}: write it as postgresql://user:password@host:5432/database, without sslmode"
            ))
        })?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(StoreConfigError(
                "postgres: sslmode=require, but connections to PostgreSQL are not encrypted here: use a local socket, \
                 or a tunnel (stunnel, ssh -L) and its end as the host, and leave sslmode out"
                    .to_owned(),
            ));
        }
        if config.get_application_name().is_none() {
            config.application_name("hustings");
        }
        if config.get_hosts().len() > 1 {
            // Of several hosts, select the one that accepts writes.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Self {
            config,
            group: terms.group.clone(),
            member: terms.member.clone(),
            era: terms.era,
            incarnation: (random().map_err(StoreConfigError)? >> 1).cast_signed(),
            ttl: terms.ttl.into(),
            answer_within: terms.answer_within.into(),
            session: None,
            is_installed: false,
            identity: None,
            attempt: 0,
            epoch: 0,
            last_count: None,
        })
    }

    /// Carries out one request in its own transaction. A connection is discarded if the request
    /// fails, or if the caller stops waiting for its answer.
    async fn ask(&mut self, statements: &str) -> Result<Vec<SimpleQueryRow>, StoreError> {
        let session = match self.session.take() {
            Some(session) if !session.client.is_closed() => session,
            Some(_) | None => self.connect().await?,
        };
        let millis = self.answer_within.as_millis().max(1);
        // The server reports a cancelled wait for the standby as a warning. A role or a database
        // may have turned off warnings and synchronous commit.
        let statements = format!(
            "SET LOCAL statement_timeout = {millis}; SET LOCAL synchronous_commit = on; \
             SET LOCAL client_min_messages = warning; {statements}"
        );
        let rows = self.query(&session.client, &statements).await?;
        // The driving task has set the flag before it delivers the end of the answer.
        if session.is_unreplicated.load(Ordering::Relaxed) {
            let place = self.place();
            return Err(StoreError::Unavailable(format!(
                "{place}: the wait for its synchronous standby was cancelled, so the write may be lost if it fails over: it counts as not done, and is tried again: find out what cancels queries there, and make sure that the standby runs"
            )));
        }
        self.session = Some(session);
        Ok(rows)
    }

    async fn connect(&mut self) -> Result<PgSession, StoreError> {
        let connected = self.config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| self.failed(&error))?;
        let mut driver = JoinSet::new();
        let is_unreplicated = Arc::new(AtomicBool::new(false));
        driver.spawn(drive(connection, Arc::clone(&is_unreplicated)));
        if !self.is_installed {
            if self.query(&client, IS_INSTALLED).await?.is_empty() {
                self.query(&client, SCHEMA).await?;
            }
            self.is_installed = true;
            let identity = self.query(&client, IDENTITY).await.unwrap_or_default();
            let identity = identity.first().and_then(|row| row.get("identity"));
            self.identity = identity.map(group_id);
        }
        Ok(PgSession { client, _driver: driver, is_unreplicated })
    }

    async fn query(&self, client: &Client, query: &str) -> Result<Vec<SimpleQueryRow>, StoreError> {
        let answer = client.simple_query(query).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        let rows = answer.into_iter().filter_map(|it| match it {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None, // start or end of a statement
        });
        Ok(rows.collect())
    }

    fn failed(&self, error: &Error) -> StoreError {
        let what = match error.as_db_error() {
            Some(error) => format!("{} ({})", error.message(), error.code().code()),
            None => match std::error::Error::source(error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            },
        };
        StoreError::of_call(&self.place(), &what, sqlstate::remedy(error))
    }

    /// The SQL expression for the expiry of a tenure that is granted or renewed now.
    fn expires(&self) -> String {
        let micros = self.ttl.as_micros();
        format!("clock_timestamp() + interval '{micros} microseconds'")
    }

    fn group(&self) -> String {
        escape_literal(&self.group)
    }

    fn upsert(&self) -> String {
        let Self { era, incarnation, attempt, .. } = self;
        let (group, expires) = (self.group(), self.expires());
        let member = escape_literal(&self.member);
        let last = EPOCHS.end() - 1; // a next epoch exists
        format!(
            "INSERT INTO hustings_tenure AS t
                 (group_name, era, epoch, holder, incarnation, attempt, expires)
             VALUES ({group}, {era}, 1, {member}, {incarnation}, {attempt}, {expires})
             ON CONFLICT (group_name) DO UPDATE SET era = excluded.era,
                 epoch = CASE WHEN t.era < excluded.era THEN 1 ELSE t.epoch + 1 END,
                 holder = excluded.holder, incarnation = excluded.incarnation,
                 attempt = excluded.attempt, expires = {expires}
             WHERE (t.era >= 0 AND t.era < excluded.era
                 OR t.era = excluded.era AND t.epoch BETWEEN 1 AND {last})
                 AND (t.expires < clock_timestamp()
                 OR t.incarnation = excluded.incarnation AND t.attempt < excluded.attempt);
             {}",
            self.select()
        )
    }

    fn select(&self) -> String {
        let group = self.group();
        format!(
            "SELECT era, epoch, holder, incarnation, attempt,
                 ceil(extract(epoch FROM expires - clock_timestamp()) * 1000)::bigint AS lasts
             FROM hustings_tenure WHERE group_name = {group}"
        )
    }

    fn row(&self, rows: &[SimpleQueryRow]) -> Result<Row, StoreError> {
        let field = |name| rows.last()?.get(name);
        let number = |name| field(name)?.parse::<i64>().ok();
        if let Some(era) = number("era").filter(|it| !ERAS.contains(it)) {
            return Err(self.no_era(era));
        }
        let read = || {
            Some(Row {
                era: number("era")?,
                epoch: number("epoch").filter(|it| EPOCHS.contains(it))?,
                holder: field("holder")?.to_owned(),
                incarnation: number("incarnation")?,
                attempt: number("attempt")?,
                lasts: Duration::from_millis(u64::try_from(number("lasts")?).unwrap_or_default()),
            })
        };
        read().ok_or_else(|| {
            let (place, group) = (self.place(), &self.group);
            StoreError::Refused(format!(
                "{place} has no valid row of group `{group}` in hustings_tenure: find the program that writes there, and raise `era` on all members"
            ))
        })
    }

    /// The error for a row that lasts longer than any member asks for. Another program wrote it, or
    /// the clock changed.
    fn overlong(&self, row: &Row) -> StoreError {
        let (place, group, holder) = (self.place(), self.group(), shown(&row.holder));
        let hours = row.lasts.as_secs() / 3600;
        StoreError::Blocked(format!(
            "{place}: by the row of this group in hustings_tenure, `{holder}` holds tenure for {hours} h more, and no member asks for more than 1 h: the server's clock was set back, or another program wrote the row. It keeps every member from tenure: make sure that no member holds tenure, and end it: UPDATE hustings_tenure SET expires = now() WHERE group_name = {group}"
        ))
    }

    /// The error for a row with an era above the last. Raising the members' era does not help.
    fn no_era(&self, era: i64) -> StoreError {
        let (place, group, mine, last) = (self.place(), self.group(), self.era, ERAS.end());
        StoreError::Refused(format!(
            "{place}: the row of this group in hustings_tenure has era {era}, and eras are 0 to {last}: find the program that writes there, stop all members, restore the highest `era` of any member, as in UPDATE hustings_tenure SET era = {mine} WHERE group_name = {group}, raise `era` on all members, and start them"
        ))
    }
}

impl Store for Postgres {
    async fn acquire(&mut self) -> Result<Grant, StoreError> {
        self.attempt += 1;
        let rows = self.ask(&self.upsert()).await?;
        let row = self.row(&rows)?;
        let last_count = row.epoch.cast_unsigned(); // valid: see `row`
        self.last_count = (row.era == i64::from(self.era)).then_some(last_count); // each era counts from 1
        if (row.incarnation, row.attempt) == (self.incarnation, self.attempt) {
            self.epoch = row.epoch;
            return Ok(Grant { count: last_count, ttl: self.ttl });
        }
        if row.era > i64::from(self.era) {
            return Err(StoreError::behind(&self.group, row.era));
        }
        if row.lasts > LONGEST_TTL {
            return Err(self.overlong(&row));
        }
        Err(StoreError::Held { holder: row.holder, lasts: Some(row.lasts) })
    }

    async fn renew(&mut self) -> Result<Duration, StoreError> {
        let (incarnation, attempt, epoch) = (self.incarnation, self.attempt, self.epoch);
        let update = format!(
            "UPDATE hustings_tenure SET expires = {}
             WHERE group_name = {} AND incarnation = {incarnation} AND attempt = {attempt}
                 AND epoch = {epoch} AND expires >= clock_timestamp() RETURNING 1",
            self.expires(),
            self.group()
        );
        match self.ask(&update).await?.is_empty() {
            true => Err(StoreError::Gone),
            false => Ok(self.ttl),
        }
    }

    async fn release(&mut self) -> Result<(), StoreError> {
        let (incarnation, attempt) = (self.incarnation, self.attempt);
        let update = format!(
            "UPDATE hustings_tenure SET expires = 'epoch' WHERE group_name = {} \
             AND incarnation = {incarnation} AND attempt <= {attempt}",
            self.group()
        );
        self.ask(&update).await.map(drop)
    }

    async fn wait_released(&mut self) -> Result<(), StoreError> {
        let [least, most] = POLL;
        let pause = (self.ttl / POLLS_IN_A_TTL).clamp(least, most);
        loop {
            tokio::time::sleep(pause).await;
            let rows = self.ask(&self.select()).await?;
            if self.row(&rows)?.lasts.is_zero() {
                return Ok(());
            }
        }
    }

    fn last_count(&self) -> Option<u64> {
        self.last_count
    }

    fn identity(&self) -> Option<u64> {
        self.identity
    }

    fn place(&self) -> String {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        format!("PostgreSQL at {}", hosts.collect::<Vec<_>>().join(", "))
    }
}

/// Drives a connection until it ends, and records the server's warning about the standby. The
/// waiting call receives the reason for the end.
async fn drive<S, T>(mut connection: Connection<S, T>, is_unreplicated: Arc<AtomicBool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && sqlstate::is_of_a_cancelled_wait(&notice)
        {
            is_unreplicated.store(true, Ordering::Relaxed);
        }
    }
}
