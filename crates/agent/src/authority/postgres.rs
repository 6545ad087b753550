//! PostgreSQL as an authority: one row a group.
//!
//! Source    ours; the tables and functions are in `postgres.sql`, and are installed if they are missing
//! Count     the row's epoch: one with the first tenure of an era, and one more with each. The row is never deleted. One
//!           that is not so, as somebody else wrote it, is refused, and left as it is
//! Assumes   one server that loses nothing it committed: `fsync` is on, and a standby that takes over was
//!           synchronous. Of a standby that was not, the row may be set back: who has seen a higher epoch
//!           refuses it, who has not cannot know. If a person cancels the wait for the standby, the server commits
//!           all the same, and warns: that counts as no answer. A server's clock that is not set by hand. Set back by some
//!           time, it makes a tenure that is not released last that much longer. Set forward, it ends one
//!           early: then two may hold at one instant, of which the resource refuses the one with the
//!           lower fence
//!
//! Time is the server's, read when the row is locked, so that whatever a request waits for is the
//! requester's loss.
//!
//! - A grant is one upsert: it takes a row that has expired, or that an earlier attempt of this life of the
//!   member left behind, and counts one up.
//! - A renewal needs the row as this tenure wrote it, and unexpired: what has expired is over even if nobody
//!   took it, and begins again with a higher epoch.
//! - A release lets the row expire and keeps its epoch. It is of this attempt and earlier ones, so that one
//!   that is carried out late does not end a later tenure; nor does an attempt that is carried out
//!   late, as later ones have a higher number.
//!
//! Nothing is kept in a session, so that poolers may give each transaction another one: no prepared
//! statements, no session's advisory locks, no LISTEN. Each request is one simple query of several statements,
//! hence one transaction, that sets its own timeout and is undone as a whole if it fails. Whether tenure is
//! free is asked for again and again. Connections are not encrypted, and `sslmode=require` is refused: use a local
//! socket, or a tunnel, across networks that others can read.

mod refusal;

use std::fmt;
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

use super::StoreTerms;
use super::era;
use super::store::{Denied, Grant, Store, StoreError};
use crate::config::presets::TTL_BOUNDS;
use crate::identity::group_id;

/// The tables and functions that it needs.
pub const SCHEMA: &str = include_str!("postgres.sql");

/// Whether they are there: members may lack the right to make them.
const IS_INSTALLED: &str = "SELECT 1 WHERE to_regclass('hustings_tenure') IS NOT NULL
    AND to_regprocedure('hustings_assert_fence(text, bigint)') IS NOT NULL";

/// What tells this store from others: the number that a server draws when it is set up, which its standbys share, and
/// which table of it. Where the server does not tell, nothing does.
const IDENTITY: &str = "SELECT concat_ws(' ', system_identifier, (SELECT oid FROM pg_database
    WHERE datname = current_database()), to_regclass('hustings_tenure')::oid) AS identity
    FROM pg_control_system()";

/// The eras, and the epochs of one, each of which has a fence.
const ERAS: RangeInclusive<i64> = 0..=era::LAST as i64;
const EPOCHS: RangeInclusive<i64> = 1..=(era::begin(1) - 1).cast_signed();

/// No member asks for tenure for longer.
const LONGEST_TTL: Duration = Duration::from_nanos(TTL_BOUNDS.longest.0);

/// How often in a ttl, and at least and at most, a member asks whether tenure is free.
const POLLS_IN_A_TTL: u32 = 20;
const POLL: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Where PostgreSQL is, and how to get in.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// As `postgresql://user:password@host:5432/database`.
    pub url: String,
}

impl fmt::Debug for PostgresConfig {
    /// Without the address, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig").finish_non_exhaustive()
    }
}

/// One member's side of PostgreSQL.
pub struct Postgres {
    config: Config,
    group: String,
    member: String,
    era: u16,
    incarnation: i64,
    ttl: Duration,
    /// For how long a statement may take, or wait for a lock.
    answer_within: Duration,
    line: Option<Line>,
    is_installed: bool,
    identity: Option<u64>,
    /// The number of the last attempt.
    attempt: i64,
    epoch: i64,
    told: Option<u64>,
}

/// A connection, and the task that carries it, which ends with it: what a server that is paused has not
/// answered must not be waited for.
struct Line {
    client: Client,
    _carrier: JoinSet<()>,
    /// Whether the server said that a commit of this connection may not have reached its synchronous standby.
    is_unreplicated: Arc<AtomicBool>,
}

/// A group's row.
struct Row {
    era: i64,
    epoch: i64,
    holder: String,
    incarnation: i64,
    attempt: i64,
    /// How long it lasts yet.
    lasts: Duration,
}

impl Postgres {
    /// A member's side of it, not connected yet.
    ///
    /// # Errors
    /// If it cannot work as configured.
    pub fn new(config: &PostgresConfig, terms: &StoreTerms) -> Result<Self, StoreError> {
        let parsed = config.url.parse::<Config>();
        let mut config = parsed.map_err(|error| {
            let why = std::error::Error::source(&error);
            let why = why.map_or_else(|| error.to_string(), ToString::to_string);
            StoreError::Config(format!(
                "postgres: this url cannot be used: {why}: write it as postgresql://user:password@host:5432/database, \
                 without sslmode"
            ))
        })?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(StoreError::Config(
                "postgres: sslmode=require, but connections to PostgreSQL are not encrypted here: use a local socket, \
                 or a tunnel (stunnel, ssh -L) and its end as the host, and leave sslmode out"
                    .to_owned(),
            ));
        }
        if config.get_application_name().is_none() {
            config.application_name("hustings");
        }
        if config.get_hosts().len() > 1 {
            // Of several, the one that can be written to.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Self {
            config,
            group: terms.group.clone(),
            member: terms.member.clone(),
            era: terms.era,
            incarnation: (getrandom::u64()? >> 1).cast_signed(),
            ttl: terms.ttl.into(),
            answer_within: terms.answer_within.into(),
            line: None,
            is_installed: false,
            identity: None,
            attempt: 0,
            epoch: 0,
            told: None,
        })
    }

    /// Carries out one request in a transaction of its own. A line that fails, or on which an answer is
    /// not waited for, is not used again.
    async fn ask(&mut self, statements: &str) -> Result<Vec<SimpleQueryRow>, Denied> {
        let line = match self.line.take() {
            Some(line) if !line.client.is_closed() => line,
            Some(_) | None => self.connect().await?,
        };
        let millis = self.answer_within.as_millis().max(1);
        let statements = format!(
            "SET LOCAL statement_timeout = {millis}; SET LOCAL synchronous_commit = on; {statements}"
        );
        let rows = self.query(&line.client, &statements).await?;
        // The carrier has set it before it handed on the end of the answer.
        if line.is_unreplicated.load(Ordering::Relaxed) {
            return Err(self.unreplicated());
        }
        self.line = Some(line);
        Ok(rows)
    }

    fn unreplicated(&self) -> Denied {
        let place = self.place();
        Denied::Unavailable(format!(
            "{place}: the wait for its synchronous standby was cancelled, so what it committed may be lost if it fails over: it \
             counts as not done, and is tried again: see who cancels queries there, and that the standby runs"
        ))
    }

    async fn connect(&mut self) -> Result<Line, Denied> {
        let connected = self.config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| self.failed(&error))?;
        let mut carrier = JoinSet::new();
        let is_unreplicated = Arc::new(AtomicBool::new(false));
        carrier.spawn(carry(connection, Arc::clone(&is_unreplicated)));
        if !self.is_installed {
            if self.query(&client, IS_INSTALLED).await?.is_empty() {
                self.query(&client, SCHEMA).await?;
            }
            self.is_installed = true;
            let told = self.query(&client, IDENTITY).await.unwrap_or_default();
            let told = told.first().and_then(|row| row.get("identity"));
            self.identity = told.map(group_id);
        }
        Ok(Line {
            client,
            _carrier: carrier,
            is_unreplicated,
        })
    }

    async fn query(&self, client: &Client, query: &str) -> Result<Vec<SimpleQueryRow>, Denied> {
        let answer = client.simple_query(query).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        let rows = answer.into_iter().filter_map(|it| match it {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None, // where a statement begins or ends
        });
        Ok(rows.collect())
    }

    fn failed(&self, error: &Error) -> Denied {
        let place = self.place();
        let what = match error.as_db_error() {
            Some(error) => format!("{} ({})", error.message(), error.code().code()),
            None => match std::error::Error::source(error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            },
        };
        match refusal::advice(error) {
            Some(advice) => Denied::Refused(format!("{place} refuses: {what}: {advice}")),
            None => Denied::Unavailable(format!(
                "{place} failed: {what}: see that it runs and can be reached, and what its log says"
            )),
        }
    }

    /// When a tenure that is granted or renewed now expires.
    fn expires(&self) -> String {
        let micros = self.ttl.as_micros();
        format!("clock_timestamp() + interval '{micros} microseconds'")
    }

    fn group(&self) -> String {
        escape_literal(&self.group)
    }

    fn upsert(&self) -> String {
        let Self {
            era,
            incarnation,
            attempt,
            ..
        } = self;
        let (group, expires) = (self.group(), self.expires());
        let member = escape_literal(&self.member);
        let last = EPOCHS.end() - 1; // there is a next one
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

    fn row(&self, rows: &[SimpleQueryRow]) -> Result<Row, Denied> {
        let row = rows.last();
        if let Some(era) = row.and_then(|row| number(row, "era"))
            && !ERAS.contains(&era)
        {
            return Err(self.no_era(era));
        }
        row.and_then(read).ok_or_else(|| {
            let (place, group) = (self.place(), &self.group);
            Denied::Refused(format!(
                "{place} has no sound row of group `{group}` in hustings_tenure: see who else writes there, and raise `era` on all \
                 members"
            ))
        })
    }

    /// No member asks for so long, so it was not a member that wrote this, or not by this clock.
    fn overlong(&self, row: &Row) -> Denied {
        let (place, group, holder) = (self.place(), self.group(), &row.holder);
        let hours = row.lasts.as_secs() / 3600;
        Denied::Blocked(format!(
            "{place}: the row of this group in hustings_tenure says that `{holder}` holds for {hours} h more, and no member asks for more \
             than 1 h: the server's clock was set back, or somebody else wrote the row. It keeps every member from tenure: make sure \
             that no member holds, and end it: UPDATE hustings_tenure SET expires = now() WHERE group_name = {group}"
        ))
    }

    /// No member can be in that era, nor in a later one, so that raising it does not help.
    fn no_era(&self, era: i64) -> Denied {
        let (place, group, mine, last) = (self.place(), self.group(), self.era, ERAS.end());
        Denied::Refused(format!(
            "{place}: the row of this group in hustings_tenure is of era {era}, and eras are 0 to {last}: see who else writes there, \
             stop all members, put back the highest `era` that any of them has, as in UPDATE hustings_tenure SET era = {mine} WHERE \
             group_name = {group}, raise `era` on all members, and start them"
        ))
    }
}

impl Store for Postgres {
    async fn acquire(&mut self) -> Result<Grant, Denied> {
        self.attempt += 1;
        let rows = self.ask(&self.upsert()).await?;
        let row = self.row(&rows)?;
        let told = row.epoch.cast_unsigned(); // it is sound: see `read`
        self.told = (row.era == i64::from(self.era)).then_some(told); // each era counts from one
        if (row.incarnation, row.attempt) == (self.incarnation, self.attempt) {
            self.epoch = row.epoch;
            return Ok(Grant {
                count: told,
                ttl: self.ttl,
            });
        }
        if row.era > i64::from(self.era) {
            return Err(Denied::behind(&self.group, row.era));
        }
        if row.lasts > LONGEST_TTL {
            return Err(self.overlong(&row));
        }
        Err(Denied::Held {
            holder: row.holder,
            lasts: Some(row.lasts),
        })
    }

    async fn renew(&mut self) -> Result<Duration, Denied> {
        let (incarnation, attempt, epoch) = (self.incarnation, self.attempt, self.epoch);
        let update = format!(
            "UPDATE hustings_tenure SET expires = {}
             WHERE group_name = {} AND incarnation = {incarnation} AND attempt = {attempt}
                 AND epoch = {epoch} AND expires >= clock_timestamp() RETURNING 1",
            self.expires(),
            self.group()
        );
        match self.ask(&update).await?.is_empty() {
            true => Err(Denied::Gone),
            false => Ok(self.ttl),
        }
    }

    async fn release(&mut self) -> Result<(), Denied> {
        let (incarnation, attempt) = (self.incarnation, self.attempt);
        let update = format!(
            "UPDATE hustings_tenure SET expires = 'epoch' WHERE group_name = {} \
             AND incarnation = {incarnation} AND attempt <= {attempt}",
            self.group()
        );
        self.ask(&update).await.map(drop)
    }

    async fn freed(&mut self) -> Result<(), Denied> {
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

    fn told(&self) -> Option<u64> {
        self.told
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

/// Carries a connection until it ends, and notes what the server warns of. Why it ended is told to whoever waits for an
/// answer.
async fn carry<S, T>(mut connection: Connection<S, T>, is_unreplicated: Arc<AtomicBool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && refusal::is_of_a_cancelled_wait(&notice)
        {
            is_unreplicated.store(true, Ordering::Relaxed);
        }
    }
}

fn number(row: &SimpleQueryRow, name: &str) -> Option<i64> {
    row.get(name)?.parse().ok()
}

fn read(row: &SimpleQueryRow) -> Option<Row> {
    let number = |name| number(row, name);
    Some(Row {
        era: number("era")?,
        epoch: number("epoch").filter(|it| EPOCHS.contains(it))?,
        holder: row.get("holder")?.to_owned(),
        incarnation: number("incarnation")?,
        attempt: number("attempt")?,
        lasts: Duration::from_millis(u64::try_from(number("lasts")?).unwrap_or_default()),
    })
}
