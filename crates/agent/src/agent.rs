//! An agent: one process that is a member of one or several groups, and its event loop.

mod lease_backends;
mod run;
mod udp_transport;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration as StdDuration;

use hustings_protocol::Instant;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::authority::Request;
use crate::clock;
use crate::config::non_voter::{Doubt, NonVoter};
use crate::config::{AgentConfig, AgentConfigError, GroupConfig};
use crate::council::{CentreStatus, HostStatus};
use crate::entropy;
use crate::group::{GroupStatus, Node, Outbox, Transferee};
use crate::identity::member_id;
use crate::leadership::Leadership;
use crate::record::{self, Recording};
pub use hustings_node::control::{
    NoSuchGroup, Promised, Resignation, Told, TransferError, TransferOutcome,
};
use hustings_node::record::Recorder;
pub use hustings_supervise::StepDown;
use hustings_supervise::workload::LeaseBinding;
use hustings_system::clock::look_at_calendar;
use lease_backends::{LeaseBackends, VoterPart};
use udp_transport::UdpTransport;

/// The number of step-downs that may wait for a hook. All of them wait for the same event.
const MOST_STEP_DOWNS: usize = 16;

/// A running agent.
pub struct Agent {
    handle: Handle,
    task: JoinHandle<Result<(), AgentStoppedError>>,
}

/// Observes and controls a running agent. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    control: mpsc::Sender<Control>,
    groups: Arc<[Outside]>,
    address: SocketAddr,
}

/// The part of a group that is visible outside the agent's loop.
struct Outside {
    leadership: watch::Receiver<Leadership>,
    /// The component that must act before this member steps down, if there is one. A command that
    /// runs only while its member leads has to end before another member may lead.
    step_down_hook: OnceLock<mpsc::Sender<StepDown>>,
    /// `None` in advisory mode.
    lease_binding: Option<LeaseBinding>,
    /// `None` if this member is no host of a council.
    seat: Option<watch::Receiver<HostStatus>>,
    /// `None` if this member is no centre of a council.
    council: Option<watch::Receiver<CentreStatus>>,
}

/// A request to the agent's loop.
enum Control {
    Status(oneshot::Sender<AgentStatus>),
    /// Acts on the group of this name, sends the frames that follow, and reports that it is done.
    Group(String, Act, oneshot::Sender<()>),
    Stop,
}

/// An action on a group at the present time.
type Act = Box<dyn FnOnce(&mut Node, Instant, &mut Outbox) + Send>;

/// The status of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The member's name.
    pub member: String,
    /// The address at which the agent receives.
    pub address: SocketAddr,
    /// The release of the agent.
    pub version: String,
    /// The time at which this status was written, in nanoseconds of the host's boot clock. All
    /// times in the status use this clock.
    #[serde(default)]
    pub now: Instant,
    /// The groups of the agent.
    pub groups: Vec<GroupStatus>,
}

/// The reason for which an agent could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration is not valid.
    #[error(transparent)]
    AgentConfigError(#[from] AgentConfigError),
    /// The agent cannot listen on its address.
    #[error("cannot listen on {address}: {source}{}", remedy(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The authority that should grant tenure cannot be used, or the trace file cannot be opened.
    #[error("group `{group}`: {why}")]
    Group {
        /// The name of the group.
        group: String,
        /// The reason.
        why: String,
    },
    /// This member must vote, but no voter has its name although a voter was probably meant. Holds
    /// the problem and the remedy.
    #[error("{0}. To join without a vote, set `must_vote` to false")]
    NonVoter(String),
}

fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            ": another process listens there; choose another port, or 0 for any"
        }
        std::io::ErrorKind::AddrNotAvailable => ": no interface of this host has this address",
        std::io::ErrorKind::PermissionDenied => ": ports below 1024 need privileges",
        _ => "",
    }
}

/// The reason for which an agent ended by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentStoppedError {
    /// Another process has this member's name in all of its groups.
    #[error(
        "a member called `{member}` is there already, at {address}: give one of the two another name (--name)"
    )]
    DuplicateName {
        /// The name.
        member: String,
        /// The address of the other process.
        address: SocketAddr,
    },
    /// The agent's loop panicked or was aborted.
    #[error("the agent's loop failed: {0}")]
    Broken(String),
}

impl Agent {
    /// Starts an agent, which joins its groups.
    ///
    /// # Errors
    /// If the configuration is not valid, or if an address or a file cannot be used.
    pub async fn start(config: AgentConfig) -> Result<Self, StartError> {
        Self::start_as(config, VoterPart::Whole).await
    }

    /// Like [`start`](Self::start), but fails if this member is a voter of a group and cannot vote.
    /// This is for programs whose users may not read the log: a voter without its file would
    /// otherwise wait for ever in silence.
    ///
    /// # Errors
    /// - Those of [`start`](Self::start).
    /// - A voter's file is missing, damaged, in use, or belongs to another list of voters.
    /// - This member was meant to vote, but no voter has its name ([`StartError::NonVoter`]).
    pub async fn start_as_voter(config: AgentConfig) -> Result<Self, StartError> {
        Self::start_as(config, VoterPart::MustVote).await
    }

    /// Starts an agent that only asks the voters of its groups for their promises
    /// ([`Handle::voter_query`]). It neither votes nor acquires tenure, and it does not open the
    /// file of a voter of the same name.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub async fn start_survey(config: AgentConfig) -> Result<Self, StartError> {
        Self::start_as(config, VoterPart::Asks).await
    }

    async fn start_as(config: AgentConfig, part: VoterPart) -> Result<Self, StartError> {
        config.check()?;
        if part == VoterPart::MustVote {
            refuse_non_voter(&config)?;
        }
        look_at_calendar();
        // This comes before any socket is opened. A voter may have to wait until it is initialised,
        // by a program that uses the same port.
        let (lease_backends, backend_events) = LeaseBackends::open(part);
        let mut authorities = Vec::new();
        let refusal = |group: &GroupConfig, why| {
            let group = group.name.clone();
            StartError::Group { group, why }
        };
        for (number, group) in config.groups.iter().enumerate() {
            let authority = lease_backends.authority(number, group, &config.name).await;
            authorities.push(authority.map_err(|why| refusal(group, why))?);
        }
        let (udp_transport, listener) = UdpTransport::open(&config)?;
        let address = udp_transport.address();
        let (now, port) = (clock::now(), address.port());
        let (mut groups, mut recordings) = (Vec::new(), Vec::new());
        for (group, authority) in config.groups.iter().zip(authorities) {
            let trace = open_trace(group, &config.name).map_err(|why| refusal(group, why))?;
            let (recorder, recording) = trace.unzip();
            let granted = (authority, lease_backends.in_flight());
            let (name, entropy) = (&config.name, entropy::system());
            groups.push(Node::new(group.clone(), name, port, now, recorder, granted, entropy));
            recordings.extend(recording);
        }
        if part != VoterPart::Asks {
            log_non_voters(&config);
        }
        let (control, controls) = mpsc::channel(16);
        let handle = Handle { control, groups: groups.iter().map(Outside::of).collect(), address };
        let running = run::run(config, udp_transport, listener, groups, controls, backend_events);
        let task = tokio::spawn(async {
            let ended = running.await; // this also drops the groups and their recorders
            for recording in recordings {
                recording.finish().await;
            }
            ended
        });
        Ok(Self { handle, task })
    }

    /// Returns the handle that observes and controls this agent.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits until the agent ends by itself.
    ///
    /// # Errors
    /// Returns the reason.
    pub async fn ended(&mut self) -> Result<(), AgentStoppedError> {
        match (&mut self.task).await {
            Ok(result) => result,
            Err(error) => Err(AgentStoppedError::Broken(error.to_string())),
        }
    }

    /// Leaves all groups and stops. A leader announces that it leaves.
    ///
    /// # Errors
    /// If the agent had ended by itself before.
    pub async fn stop(mut self) -> Result<(), AgentStoppedError> {
        // The send fails only if the loop has ended.
        let _ = self.handle.control.send(Control::Stop).await;
        self.ended().await
    }

    /// Ends the agent without any message, as a crash would. The other members have to detect it.
    pub async fn abort(self) {
        self.task.abort();
        // The task returns the expected cancellation error.
        let _ = self.task.await;
    }
}

/// Refuses a member that was meant to vote in a group and cannot. A program may have no log in
/// which its user could read why no member acquires tenure.
fn refuse_non_voter(config: &AgentConfig) -> Result<(), StartError> {
    let mut groups = config.non_voter_in().into_iter();
    let doubted = groups.find(|it| it.doubt == Doubt::Strong);
    doubted.map_or(Ok(()), |it| Err(StartError::NonVoter(it.what)))
}

/// Logs the groups in which this member does not vote. The level rises with the likelihood of a
/// mistake.
fn log_non_voters(config: &AgentConfig) {
    for NonVoter { what, doubt } in config.non_voter_in() {
        match doubt {
            Doubt::Strong => tracing::error!("{what}"),
            Doubt::Some => tracing::warn!("{what}"),
            Doubt::Slight => tracing::info!("{what}"),
        }
    }
}

/// Opens the trace file of `member` in a group, if one is configured.
fn open_trace(group: &GroupConfig, member: &str) -> Result<Option<(Recorder, Recording)>, String> {
    let Some(path) = &group.trace else {
        return Ok(None);
    };
    let opened = record::open(path, member_id(member));
    opened.map(Some).map_err(|error| format!("cannot record to trace {}: {error}", path.display()))
}

impl Outside {
    fn of(group: &Node) -> Self {
        Self {
            leadership: group.watch(),
            step_down_hook: OnceLock::new(),
            lease_binding: group.lease_watch().map(|tenure| LeaseBinding {
                tenure,
                last_will: group.last_will().subscribe(),
                work: group.in_flight(),
            }),
            seat: group.watch_seat(),
            council: group.watch_council(),
        }
    }
}

impl Handle {
    /// Returns the address at which the agent receives.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn outside(&self, group: &str) -> Option<&Outside> {
        let mut groups = self.groups.iter();
        groups.find(|it| it.leadership.borrow().group == group)
    }

    fn require(&self, group: &str) -> Result<&Outside, NoSuchGroup> {
        let outside = self.outside(group);
        outside.ok_or_else(|| NoSuchGroup(group.to_owned()))
    }

    /// Watches the leadership of `group`. Returns `None` if there is no such group.
    pub fn watch(&self, group: &str) -> Option<watch::Receiver<Leadership>> {
        self.outside(group).map(|it| it.leadership.clone())
    }

    /// Watches whether this member holds a seat in the council of `group`. Returns `None` if this
    /// member is no host.
    pub fn watch_seat(&self, group: &str) -> Option<watch::Receiver<HostStatus>> {
        self.outside(group)?.seat.clone()
    }

    /// Watches which members hold seats in the council of `group`. Returns `None` if this member is
    /// not its centre.
    pub fn watch_council(&self, group: &str) -> Option<watch::Receiver<CentreStatus>> {
        self.outside(group)?.council.clone()
    }

    /// Returns the names of the agent's groups.
    pub fn groups(&self) -> Vec<String> {
        let leaderships = self.groups.iter().map(|it| it.leadership.borrow());
        leaderships.map(|it| it.group.clone()).collect()
    }

    /// Returns the status of the agent, or `None` if the agent has ended.
    pub async fn status(&self) -> Option<AgentStatus> {
        let (answer, status) = oneshot::channel();
        self.control.send(Control::Status(answer)).await.ok()?;
        status.await.ok()
    }

    /// Gives up the leadership of `group` and stays out of its elections for `span`. If a hook is
    /// open ([`before_stepping_down`](Self::before_stepping_down)), waits until the hook has done
    /// its work.
    ///
    /// # Errors
    /// If the agent is no member of the group.
    pub async fn step_down(&self, group: &str, span: StdDuration) -> Result<(), NoSuchGroup> {
        let act: Act = Box::new(move |node, now, out| node.step_down(now, span.into(), None, out));
        self.give_up(group, act).await
    }

    /// Gives up the leadership of `group` as [`step_down`](Self::step_down) does, and shows
    /// `resignation` as the reason.
    ///
    /// # Errors
    /// If the agent is no member of the group.
    pub async fn resign(
        &self,
        group: &str,
        span: StdDuration,
        resignation: Resignation,
    ) -> Result<(), NoSuchGroup> {
        let why = resignation;
        let act: Act = Box::new(move |node, now, out| node.resign(now, span.into(), why, out));
        self.give_up(group, act).await
    }

    /// Steps down like [`step_down`](Self::step_down), and transfers tenure to the member called
    /// `transferee`. Only tenure that voters granted can be transferred. If the transferee cannot
    /// take it, the member that the election nominates acquires the next tenure. Returns when the
    /// transferee holds tenure, or when its time
    /// ([`taken_within`](crate::config::QuorumConfig::taken_within)) is over.
    ///
    /// # Errors
    /// If this member has no tenure to transfer, or if the transferee is unknown. In both cases
    /// nothing is given up.
    pub async fn transfer(
        &self,
        group: &str,
        span: StdDuration,
        transferee: &str,
    ) -> Result<TransferOutcome, TransferError> {
        let (found, is_found) = oneshot::channel();
        let name = transferee.to_owned();
        let act: Act = Box::new(move |node, now, out| node.find_transferee(now, name, found, out));
        self.act(group, act).await?;
        let id = is_found.await.map_err(|_| TransferError::Ended)??;
        let (outcome, is_over) = oneshot::channel();
        let to = Some(Transferee { id, outcome });
        let act: Act = Box::new(move |node, now, out| node.step_down(now, span.into(), to, out));
        self.give_up(group, act).await?;
        // The sender was dropped without an outcome: tenure was lost before the transfer, or the
        // agent is about to end.
        Ok(is_over.await.unwrap_or(TransferOutcome::Missed { within: None }))
    }

    /// Gives up leadership by `act`, after the work of the hook if it is open.
    async fn give_up(&self, group: &str, act: Act) -> Result<(), NoSuchGroup> {
        let outside = self.require(group)?;
        let (done, is_done) = oneshot::channel();
        let (handle, group) = (self.clone(), group.to_owned());
        let request = StepDown::new(async move {
            // The group exists, and an agent that has ended leads nothing.
            let _ = handle.act(&group, act).await;
            // The caller may have stopped waiting.
            let _ = done.send(());
        });
        let refused = match outside.step_down_hook.get() {
            Some(hook) => hook.send(request).await.err().map(|refused| refused.0),
            None => Some(request),
        };
        if let Some(request) = refused {
            request.carry_out().await;
        }
        // The request was dropped: the agent is about to end, and then leads nothing.
        let _ = is_done.await;
        Ok(())
    }

    /// Has the loop act on a group, and waits until the frames that follow have been sent. An agent
    /// that has ended does nothing.
    async fn act(&self, group: &str, act: Act) -> Result<(), NoSuchGroup> {
        self.require(group)?;
        let (done, is_done) = oneshot::channel();
        let control = Control::Group(group.to_owned(), act, done);
        if self.control.send(control).await.is_ok() {
            let _ = is_done.await;
        }
        Ok(())
    }

    /// Returns what a command under `group`'s tenure needs. Returns `None` in advisory mode.
    pub fn fencing(&self, group: &str) -> Option<LeaseBinding> {
        self.outside(group)?.lease_binding.clone()
    }

    /// Sets whether this member can do its work. An unhealthy member neither acquires nor renews
    /// tenure of `group`. While it holds none, it also leaves the nomination to other members.
    ///
    /// # Errors
    /// If the agent is no member of the group.
    pub async fn set_healthy(&self, group: &str, is_healthy: bool) -> Result<(), NoSuchGroup> {
        let request = Request::Healthy(is_healthy);
        self.act(group, Box::new(move |node, now, out| node.ask_authority(now, request, out))).await
    }

    /// Asks the other voters of `group` for their promises. Replies are sent to `answers` as they
    /// arrive. The caller repeats the call to make up for lost messages.
    ///
    /// # Errors
    /// If the agent is no member of the group.
    pub async fn voter_query(
        &self,
        group: &str,
        answers: &mpsc::UnboundedSender<Told>,
    ) -> Result<(), NoSuchGroup> {
        let answers = answers.clone();
        self.act(group, Box::new(move |node, now, out| node.voter_query(now, answers, out))).await
    }

    /// Opens the hook of `group`. From then on every step-down of this member waits until the
    /// receiver of this channel has carried it out. Returns `None` if there is no such group, or if
    /// the hook is already open.
    pub fn before_stepping_down(&self, group: &str) -> Option<mpsc::Receiver<StepDown>> {
        let (hook, step_downs) = mpsc::channel(MOST_STEP_DOWNS);
        self.outside(group)?.step_down_hook.set(hook).is_ok().then_some(step_downs)
    }
}
