//! Leadership events on standard output: one line of JSON per change.
//!
//! A separate thread prints, so that a slow reader never delays an election.

use std::time::Duration;

use hustings_agent::{Leadership, clock};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::Started;
use crate::failure::{Failure, print};

/// The time that the last lines may take to print.
const FINISH_WITHIN: Duration = Duration::from_secs(1);

/// The printing thread.
pub(crate) struct Events {
    pub(super) printer: Printer,
    /// Fires when the thread has ended: the reader is gone, or every line is printed.
    ended: oneshot::Receiver<()>,
}

/// The sending end of the queue of lines. It is closed when the thread has ended.
#[derive(Clone)]
pub(super) struct Printer(mpsc::UnboundedSender<String>);

impl Events {
    pub(super) fn begin() -> Self {
        let (lines, mut to_print) = mpsc::unbounded_channel::<String>();
        let (end, ended) = oneshot::channel();
        std::thread::spawn(move || {
            while let Some(line) = to_print.blocking_recv() {
                match print(&format!("{line}\n")) {
                    Ok(()) => {}
                    Err(Failure::Failed(why)) => {
                        tracing::error!("an event is lost, the agent goes on: {why}");
                    }
                    Err(_) => break, // the reader is gone
                }
            }
            drop(end);
        });
        Self { printer: Printer(lines), ended }
    }

    /// Prints the event that the member is up.
    pub(super) fn up(&self, member: &str, started: &Started) {
        let Started { agent, http, metrics } = started;
        self.printer.print(&json!({
            "time_ns": clock::now().0, "member": member, "up": true,
            "address": agent.handle().address(), "http": http, "metrics": metrics,
        }));
    }

    /// Waits at most `FINISH_WITHIN` until all lines are printed.
    pub(super) async fn finish(self) {
        drop(self.printer);
        // On time-out and on success alike, there is nothing left to wait for.
        let _ = tokio::time::timeout(FINISH_WITHIN, self.ended).await;
    }
}

impl Printer {
    /// Prints the event that the leader of a group has changed.
    pub(super) fn changed(&self, leadership: &Leadership) {
        let Leadership { since, member, group, leader, leads, fence, changes, .. } = leadership;
        self.print(&json!({
            "time_ns": since.0, "member": member, "group": group,
            "leader": leader.as_ref().map(|it| &it.name), "leads": leads, "fence": fence,
            "changes": changes,
        }));
    }

    fn print(&self, line: &Value) {
        // If the thread has ended, the line is lost, and the agent learns of the end.
        let _ = self.0.send(line.to_string());
    }
}

/// Waits until the reader of the events is gone. Never returns if events are not printed.
pub(super) async fn nobody_reads(events: Option<&Events>) {
    match events {
        Some(events) => events.printer.0.closed().await,
        None => std::future::pending().await,
    }
}
