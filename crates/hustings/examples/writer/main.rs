//! One of several writers to a shared log. Only the holder of tenure writes.
//!
//! Each line of `DIR/log` is `fence time writer`, with times in nanoseconds on the boot clock. All
//! writers of a host write through the guard `DIR/guard`, so that a line under an old fence never
//! follows one under a newer fence. Refused lines are in `DIR/refused`.
//!
//! Each writer also records when it believed to hold tenure, in `DIR/belief.NAME.PID` as `fence
//! asked told`. A checker can thus verify that no two ever did at once.
//!
//! ```console
//! $ hustings voter init --new --group ledger --name red --voters red --state red \
//!       --bind 127.0.0.1:0
//! $ cargo run -p hustings --example writer -- --group ledger --name red --voters red \
//!       --state red --to .
//! ```

#![allow(
    clippy::disallowed_methods,
    reason = "it works in the real world, and is timed by its clock"
)]

mod records;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use hustings::agent::config::ProtocolConfig;
use hustings::agent::seal::Key;
use hustings::protocol::announce::Listen;
use hustings::{Group, GroupOptions, Tenure};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use records::{Ledger, Witness};

/// The delay between two writes.
const PACE: Duration = Duration::from_millis(2);

/// The time between the check for tenure and the write. The writer may be paused there for any
/// time.
const THINK: Duration = Duration::from_millis(3);

#[derive(Parser)]
struct Options {
    #[arg(long)]
    group: String,
    #[arg(long)]
    name: String,
    /// The members of which a majority grants tenure
    #[arg(long, value_delimiter = ',')]
    voters: Vec<String>,
    #[arg(long, default_value = "2s", value_parser = span)]
    ttl: Duration,
    /// The directory for the promises of this member, if it votes
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// The directory to write to
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// The group's key; needed beyond this host
    #[arg(long, value_parser = |text: &str| Key::try_from(text.to_owned()))]
    key: Option<Key>,
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    bind: SocketAddr,
    /// The time after which a silent leader counts as dead
    #[arg(long, value_parser = span)]
    listen: Option<Duration>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let log = tracing_subscriber::fmt().with_ansi(false);
    log.with_writer(std::io::stderr).init();
    let mut asked_to_stop = signal(SignalKind::terminate())?;

    let mut group = Group::join(options.joining()).await?;
    tracing::info!("`{}` is up", options.name);
    let witness = Arc::new(Witness::begin(&options.to, &options.name)?);
    witness.clone().watch(&group, &options.group)?;
    let ledger = Arc::new(Ledger::open(&options.to, &options.name)?);
    'member: loop {
        let mut tenure = tokio::select! {
            tenure = group.tenure() => tenure?,
            _ = asked_to_stop.recv() => break,
        };
        loop {
            tokio::select! {
                () = tenure.lost() => break, // leaving this block releases tenure
                _ = asked_to_stop.recv() => break 'member,
                () = sleep(PACE) => {}
            }
            write_once(&tenure, &witness, &ledger).await?;
        }
    }
    group.leave().await?;
    Ok(())
}

/// Checks for tenure first, so as not to begin in vain. Safety comes from the fence sent with the
/// write.
async fn write_once(
    tenure: &Tenure,
    witness: &Witness,
    ledger: &Arc<Ledger>,
) -> Result<(), Box<dyn Error>> {
    let fence = tenure.fence();
    if witness.ask(|| tenure.holds().then_some(fence))?.is_some() {
        sleep(THINK).await;
        let ledger = ledger.clone();
        spawn_blocking(move || ledger.write(fence)).await??;
    }
    Ok(())
}

impl Options {
    fn joining(&self) -> GroupOptions {
        let voters: Vec<&str> = self.voters.iter().map(String::as_str).collect();
        let mut joining = GroupOptions::on_this_host(&self.group, &self.name);
        joining.key = self.key.clone();
        joining.bind = self.bind;
        // a writer with a lost disk continues to write while the others vote
        joining.must_vote = false;
        if let (ProtocolConfig::Announce(config), Some(span)) = (&mut joining.protocol, self.listen)
        {
            config.listen = Listen::For(span.into());
        }
        joining.fenced_by(&voters, self.ttl, &self.state)
    }
}

fn span(text: &str) -> Result<Duration, hustings::protocol::DurationError> {
    let span: hustings::protocol::Duration = text.parse()?;
    Ok(span.into())
}
