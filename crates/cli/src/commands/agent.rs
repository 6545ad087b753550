//! `hustings agent`: runs an agent, a member of one or more groups, until a signal stops it.

pub(super) mod client;
mod events;
pub(super) mod log;

use std::net::SocketAddr;

use clap::Args;
use hustings_agent::http::{self, Door, Steering};
use hustings_agent::{Agent, AgentConfig, Handle, StartError};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{self, SignalKind};
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::options::agent_options::AgentOptions;
use events::Events;

/// Run an agent: join the group and take part in elections until stopped
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AgentCommand {
    #[command(flatten)]
    options: AgentOptions,

    /// Print one line of JSON for every change of leadership
    #[arg(long)]
    events: bool,

    #[command(flatten)]
    log: log::LogOptions,

    /// End when the process that started this one ends, for whatever reason
    #[arg(long, hide = true)]
    die_with_parent: bool,
}

const AFTER_HELP: &str = include_str!("agent_help.txt").trim_ascii_end();

impl AgentCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        if self.die_with_parent {
            set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(Failure::cannot("die with the parent"))?;
        }
        self.log.begin();
        let config = self.options.config(None)?;
        runtime()?.block_on(attend(config, self.events))
    }
}

/// Builds a single-threaded runtime, which is enough for one agent.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(Failure::cannot("start"))
}

/// A started agent and its HTTP addresses.
pub(super) struct Started {
    pub(super) agent: Agent,
    pub(super) http: Option<SocketAddr>,
    pub(super) metrics: Option<SocketAddr>,
}

/// Starts an agent together with its HTTP servers and its control socket.
pub(super) async fn start(config: &AgentConfig) -> Result<Started, Failure> {
    let listener = bind(config.http, Door::ThisHost, "--http").await?;
    let exporter = bind(config.metrics, Door::Anybody, "--metrics").await?;
    let address = |it: &Option<TcpListener>| it.as_ref()?.local_addr().ok();
    let (http, metrics) = (address(&listener), address(&exporter));
    let agent = Agent::start(config.clone()).await.map_err(refusal)?;
    let started = Started { agent, http, metrics };
    announce(config, &started);
    let handle = started.agent.handle();
    if let Some(listener) = listener {
        let steering = http.and_then(open_steering);
        let socket = steering.as_ref().map(|it| it.path().to_owned());
        if let Some(steering) = steering {
            tokio::spawn(steering.serve(handle.clone()));
        }
        tokio::spawn(http::serve(listener, handle.clone(), Door::ThisHost, socket));
    }
    if let Some(exporter) = exporter {
        tokio::spawn(http::serve(exporter, handle.clone(), Door::Anybody, None));
    }
    Ok(started)
}

/// Listens for HTTP at the address of `option`, if it has one.
async fn bind(
    address: Option<SocketAddr>,
    door: Door,
    option: &str,
) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = address else { return Ok(None) };
    let taken =
        format!("another agent may use it: choose another address with {option}, or {option} off");
    listen(address, door, &taken).await.map(Some)
}

/// Opens the Unix socket for commands such as step-down. Without that socket the agent still takes
/// part in elections.
fn open_steering(http: SocketAddr) -> Option<Steering> {
    let opened = Steering::open(http).inspect_err(|error| {
        tracing::warn!(
            "the agent cannot create a Unix socket, so `hustings step-down` will not work: \
             {error}: make one of these directories writable, with RuntimeDirectory=hustings in a \
             systemd unit or a tmpfs at /run/hustings in a container"
        );
    });
    opened.ok()
}

/// Runs the agent until a signal arrives, the agent ends, or the reader of its events goes away.
async fn attend(config: AgentConfig, prints_events: bool) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let Some(started) = signals.unless_one_comes(start(&config)).await else {
        tracing::info!("stopping: the agent was not up yet");
        return Ok(());
    };
    let started = started?;
    let events = prints_events.then(Events::begin);
    if let Some(events) = &events {
        events.up(&config.name, &started);
    }
    let mut agent = started.agent;
    let mut reporters = report_changes(agent.handle(), events.as_ref());
    tokio::select! {
        ended = agent.ended() => return ended.map_err(Failure::failed),
        () = signals.next() => {}
        () = events::nobody_reads(events.as_ref()) => {}
    }
    tracing::info!("stopping: sending a goodbye");
    let goodbye = async {
        let stopped = agent.stop().await;
        while reporters.join_next().await.is_some() {}
        if let Some(events) = events {
            events.finish().await;
        }
        stopped.map_err(Failure::failed)
    };
    tokio::select! {
        done = goodbye => done,
        () = signals.next() => {
            Err(Failure::failed("a second signal stopped the agent before it had sent its goodbye"))
        }
    }
}

/// Listens for HTTP. If the port is in use, the error ends with `taken`, the remedy for the command
/// that called.
pub(super) async fn listen(
    address: SocketAddr,
    door: Door,
    taken: &str,
) -> Result<TcpListener, Failure> {
    http::listen(address, door).await.map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::AddrInUse => format!(": {taken}"),
            _ => String::new(),
        };
        Failure::Failed(format!("cannot listen for HTTP on {address}: {error}{remedy}"))
    })
}

fn refusal(error: StartError) -> Failure {
    match error {
        StartError::AgentConfigError(unfit) => Failure::usage(unfit),
        StartError::Group { .. } => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

/// Logs the member's address, its HTTP addresses and its groups.
fn announce(config: &AgentConfig, started: &Started) {
    let at = started.agent.handle().address();
    let http = started.http.map_or_else(|| "no HTTP".to_owned(), |it| format!("HTTP at {it}"));
    let metrics = started.metrics.map_or_else(String::new, |it| format!(", metrics at {it}"));
    tracing::info!("member {} is up at {at}, {http}{metrics}", config.name);
    for group in &config.groups {
        tracing::info!("{}", group.sentence());
        if !group.protocol.is_none() {
            tracing::info!("group {}: {}", group.name, group.authority.worth());
        }
        if group.keys.is_empty() && !at.ip().is_loopback() {
            tracing::warn!(
                "group {}: no key: any host that can send to {at} can take part",
                group.name
            );
        }
    }
}

/// Reports every change of leadership until the agent has ended.
pub(super) fn report_changes(handle: &Handle, events: Option<&Events>) -> JoinSet<()> {
    let mut reporters = JoinSet::new();
    for mut watched in handle.groups().iter().filter_map(|group| handle.watch(group)) {
        let printer = events.map(|it| it.printer.clone());
        reporters.spawn(async move {
            while watched.changed().await.is_ok() {
                let leadership = watched.borrow_and_update().clone();
                let cause = &leadership.cause;
                tracing::info!("{} ({cause})", client::in_words(&leadership));
                if let Some(printer) = &printer {
                    printer.changed(&leadership);
                }
            }
        });
    }
    reporters
}

/// The signals that ask a program to end: TERM and INT.
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| unix::signal(kind).map_err(Failure::cannot("listen for signals"));
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Self { terminate: listen(terminate)?, interrupt: listen(interrupt)? })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Awaits a future. Returns `None` and drops the future if a signal arrives first.
    pub(super) async fn unless_one_comes<T>(&mut self, it: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            outcome = it => Some(outcome),
            () = self.next() => None,
        }
    }
}
