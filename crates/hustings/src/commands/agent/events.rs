//! Leadership on standard output: one line of JSON a change.
//!
//! A thread of its own prints, so that a reader who does not read never holds up an election.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use hustings_agent::{Leadership, clock};
use serde::Serialize;
use tokio::sync::oneshot;

/// How long the last lines may take.
const FINISH_WITHIN: Duration = Duration::from_secs(1);

/// The member is there.
#[derive(Serialize)]
struct Up<'a> {
    time_ns: u64,
    member: &'a str,
    up: bool,
    address: SocketAddr,
    http: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
}

/// The group has another leader, or none.
#[derive(Serialize)]
struct Changed<'a> {
    time_ns: u64,
    member: &'a str,
    group: &'a str,
    leader: Option<&'a str>,
    leads: bool,
    fence: Option<u64>,
    changes: u64,
}

/// The thread that prints.
pub(crate) struct Events {
    lines: mpsc::Sender<String>,
    /// Told when it has ended: nobody reads, or there is nothing more to print. None once told.
    ended: Option<oneshot::Receiver<()>>,
}

/// To have lines printed.
pub(super) struct Printer(mpsc::Sender<String>);

impl Events {
    pub(super) fn begin() -> Self {
        let (lines, to_print) = mpsc::channel::<String>();
        let (end, ended) = oneshot::channel();
        std::thread::spawn(move || {
            for line in to_print {
                if print(&line).is_err() {
                    break;
                }
            }
            drop(end);
        });
        let ended = Some(ended);
        Self { lines, ended }
    }

    /// The member is there.
    pub(super) fn up(
        &self,
        member: &str,
        address: SocketAddr,
        http: Option<SocketAddr>,
        metrics: Option<SocketAddr>,
    ) {
        self.printer().print(&Up {
            time_ns: clock::now().0,
            member,
            up: true,
            address,
            http,
            metrics,
        });
    }

    pub(super) fn printer(&self) -> Printer {
        Printer(self.lines.clone())
    }

    /// Waits until everything is printed, but not for ever.
    pub(super) async fn finish(self) {
        drop(self.lines);
        if let Some(ended) = self.ended {
            // Too late or done: either way there is nothing left to wait for.
            let _ = tokio::time::timeout(FINISH_WITHIN, ended).await;
        }
    }
}

impl Printer {
    /// The group has another leader, or none.
    pub(super) fn changed(&self, leadership: &Leadership) {
        self.print(&Changed {
            time_ns: leadership.since.0,
            member: &leadership.member,
            group: &leadership.group,
            leader: leadership
                .leader
                .as_ref()
                .map(|leader| leader.name.as_str()),
            leads: leadership.leads,
            fence: leadership.fence,
            changes: leadership.changes,
        });
    }

    fn print(&self, line: &impl Serialize) {
        // Plain data: nothing in it that JSON cannot say.
        let line = serde_json::to_string(line).unwrap_or_default();
        // If nobody reads, nobody misses it; the agent is about to learn of it.
        let _ = self.0.send(line);
    }
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Waits until nobody reads the events any more: for ever if there are none.
pub(super) async fn nobody_reads(events: &mut Option<Events>) {
    match events.as_mut().and_then(|events| events.ended.as_mut()) {
        Some(ended) => {
            // The other end only ever drops it.
            let _ = ended.await;
        }
        None => std::future::pending().await,
    }
    if let Some(events) = events {
        events.ended = None;
    }
}
