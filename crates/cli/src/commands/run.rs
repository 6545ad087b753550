//! `hustings run`: runs a command on one host of a group at a time.

use std::ffi::OsString;
use std::time::Duration as StdDuration;

use clap::Args;
use hustings_agent::config::{AuthorityConfig, HTTP};
use hustings_agent::workload::{self, AtEnd, Workload};
use hustings_agent::{Agent, Handle, Resignation};
use hustings_protocol::Duration;
use tokio::sync::mpsc;

use super::agent::{self, log, runtime};
use crate::failure::{Failure, say};
use crate::options::agent_options::AgentOptions;
use crate::options::named::{Names, names, one_in};
use crate::options::{SignedArg, values};

/// Run a command on this host only while this member leads its group
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Run {
    #[command(flatten)]
    options: AgentOptions,

    /// The time that this member must have led before the command starts. Default: none under
    /// tenure. Otherwise the time until a leader is established: --announce plus the suppress
    /// interval, or 105ms by default; 300ms for bully and rings
    #[arg(long, value_name = "DURATION", signed = values::duration)]
    settle: Option<Duration>,

    /// The time that the command may take to end after TERM before it is killed. If tenure could
    /// not be renewed, it is at most an eighth of --ttl
    #[arg(long, value_name = "DURATION", default_value = "10s", signed = values::duration)]
    grace: Duration,

    /// The action when the command ends by itself. Default: resign with --voters, so that this
    /// member goes on voting; otherwise exit
    #[arg(long, value_parser = one_in(AT_END), value_name = "WHAT")]
    at_end: Option<AtEnd>,

    #[command(flatten)]
    log: log::LogOptions,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The reactions to the end of the command.
const AT_END: Names<AtEnd> = names! {
    AtEnd {
        /// End with the command's exit code: another member takes over, and a voter no longer votes
        Exit = "exit",
        /// Let another member lead for ten seconds, and run the command again when elected again
        Resign = "resign",
        /// Start the command again, after a pause that grows with every end
        Restart = "restart",
    }
};

/// Returns the default of `--at-end`.
///
/// A group needs a majority of its voters. If each crash of the command ended a voter, two crashes
/// would leave a group of three voters without a leader for good. So a voter keeps running. It
/// resigns, because another host may be better off; the host on which the command failed is not
/// tried again for ten seconds. If no member votes, the end of a member costs nothing, and the
/// program that started `hustings run` gets the exit code.
fn usual_at_end(authority: &AuthorityConfig) -> AtEnd {
    match authority {
        AuthorityConfig::Quorum(_) => AtEnd::Resign,
        _ => AtEnd::Exit,
    }
}

const AFTER_HELP: &str = include_str!("run_help.txt").trim_ascii_end();

impl Run {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.log.begin();
        let mut config = self.options.config(None)?;
        // One host may run many commands, so only a command that is asked to listens for HTTP.
        if let Some(http) = config.http.filter(|it| *it != HTTP)
            && !self.options.sets("http")
        {
            tracing::info!(
                "http = \"{http}\" in the file applies to `hustings agent` only: to listen here, \
                 give --http {http}"
            );
        }
        config.http = config.http.filter(|_| self.options.sets("http"));
        config.metrics = config.metrics.filter(|_| self.options.sets("metrics"));
        let [group] = &config.groups[..] else {
            return Err(Failure::usage(
                "a command runs for one group, and the file has several: choose one with --group",
            ));
        };
        if group.protocol.is_none() {
            return Err(Failure::Usage(format!(
                "group `{}`: protocol none elects no leader, so the command would never run: \
                 choose another with --protocol",
                group.name
            )));
        }
        let established = match group.authority.ttl() {
            Some(_) => Duration::ZERO, // a member that holds tenure need not wait for objections
            None => group.protocol.settles_within(),
        };
        let workload = Workload {
            command: self.command,
            settle: self.settle.unwrap_or(established).into(),
            grace: self.grace.into(),
            at_end: self.at_end.unwrap_or_else(|| usual_at_end(&group.authority)),
        };
        workload.check().map_err(|error| refuse(&error))?;
        if let Err(error) = workload::adopt_orphans() {
            tracing::warn!(
                "both watchers of the command are gone, and its processes cannot be killed: {error}"
            );
        }
        runtime()?.block_on(async {
            let agent = agent::start(&config).await?.agent;
            let _reporters = agent::report_changes(agent.handle(), None);
            supervise(agent, &group.name, workload).await
        })
    }
}

/// The time for which a member that resigned lets others lead.
const RESIGN_FOR: StdDuration = StdDuration::from_secs(10);

async fn supervise(mut agent: Agent, group: &str, workload: Workload) -> Result<(), Failure> {
    let handle = agent.handle();
    let no_group = || Failure::Failed(format!("no group `{group}`"));
    let leadership = handle.watch(group).ok_or_else(no_group)?;
    let step_downs = handle.before_stepping_down(group).ok_or_else(no_group)?;
    let fencing = handle.fencing(group);
    let (resigns, resigned) = mpsc::channel(1);
    let resigning = tokio::spawn(resign(handle.clone(), group.to_owned(), resigned));
    let resign = move |why| {
        // A full channel means that a resignation is already under way.
        let _ = resigns.try_send(why);
    };
    let outcome = tokio::select! {
        outcome = workload::supervise(workload, leadership, step_downs, fencing, resign) => outcome,
        // The command ended with the future that supervised it.
        ended = agent.ended() => return ended.map_err(Failure::failed),
    };
    resigning.abort();
    let stopped = match outcome {
        // Part of the command may still run, so no other member may take over early.
        Err(workload::Error::Unseen) => {
            agent.abort().await;
            Ok(())
        }
        Ok(_) | Err(_) => agent.stop().await,
    };
    match outcome {
        Ok(0) => stopped.map_err(Failure::failed),
        Ok(code) => Err(Failure::Exit(code)),
        Err(error) => Err(refuse(&error)),
    }
}

/// Prints the reason why the command does not run.
fn refuse(error: &workload::Error) -> Failure {
    say(&format!("error: {error}"));
    Failure::Exit(error.exit_code())
}

async fn resign(handle: Handle, group: String, mut resigned: mpsc::Receiver<Resignation>) {
    while let Some(why) = resigned.recv().await {
        // The agent is a member of this group as long as it runs, so this cannot fail.
        let _ = handle.resign(&group, RESIGN_FOR, why).await;
    }
}
