//! An agent: one process that is a member of one or several groups, and its loop.

mod exchange;
mod offices;
mod run;
mod step_down;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant, MemberId};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::authority::last_words::LastWords;
use crate::authority::{Cell, Occupancy, Request};
use crate::clock;
use crate::config::names::{Doubt, NonVoter};
use crate::config::{AgentConfig, GroupConfig, Unfit};
use crate::council::{CentreStatus, HostStatus};
use crate::entropy::Entropy;
use crate::group::{Group, GroupStatus, Heir};
use crate::identity::{look_at_calendar, member_id};
use crate::leadership::Leadership;
use crate::record::{Recorder, Recording};
use crate::workload::Fencing;
use exchange::Exchange;
use offices::{Offices, Part};
use step_down::Desk;
pub use step_down::{HandedOver, NotHandedOver, Resignation, StepDown};

/// A running agent.
pub struct Agent {
    handle: Handle,
    task: JoinHandle<Result<(), Ended>>,
}

/// To watch and to steer a running agent. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    control: mpsc::Sender<Control>,
    groups: Arc<[Outside]>,
    address: SocketAddr,
}

/// A group, from outside the agent's loop.
struct Outside {
    leadership: watch::Receiver<Leadership>,
    desk: Desk,
    /// None in advisory mode.
    cell: Option<Cell>,
    occupancy: Occupancy,
    last_words: watch::Sender<LastWords>,
    /// None where it is no host of a council.
    seat: Option<watch::Receiver<HostStatus>>,
    /// None where it is no centre of one.
    council: Option<watch::Receiver<CentreStatus>>,
}

/// What an agent can be asked for.
#[derive(Debug)]
enum Control {
    Status(oneshot::Sender<AgentStatus>),
    StepDown {
        group: String,
        span: Duration,
        heir: Option<Heir>,
        resignation: Option<Resignation>,
        done: oneshot::Sender<()>,
    },
    /// Asks whether tenure can be handed to the member of this name.
    FindHeir {
        group: String,
        name: String,
        found: oneshot::Sender<Result<MemberId, NotHandedOver>>,
    },
    /// Asks a group's authority for something.
    Ask {
        group: String,
        request: Request,
    },
    /// Asks a group's voters which counter they have promised.
    Survey {
        group: String,
        answers: mpsc::UnboundedSender<Told>,
    },
    Stop,
}

/// What was heard when the voters were asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A voter answered.
    Voter {
        /// Its name.
        voter: String,
        /// What it has promised; none if it was never initialised.
        promised: Option<Promised>,
    },
    /// A member runs that goes by another list of voters, or by a store: what it was granted, or has granted, is not
    /// known to these voters.
    Another {
        /// Its name.
        member: String,
        /// The fence of its tenure, if it says that it holds one, or did until now.
        fence: Option<u64>,
        /// Whether it says that it holds it still.
        holds: bool,
    },
    /// A member says that it holds tenure, by this list of voters or another, but has not proven that it runs: it may be
    /// a recording.
    Unproven {
        /// Its name.
        member: String,
        /// The fence of the tenure.
        fence: u64,
        /// The address from which that came.
        address: SocketAddr,
    },
}

/// What a voter has promised and granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promised {
    /// The highest counter that it has promised.
    pub counter: u64,
    /// The most that it can ever have granted.
    pub longest_ttl: Duration,
}

/// What an agent tells of itself on request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The member's name.
    pub member: String,
    /// Where it receives.
    pub address: SocketAddr,
    /// Of which release it is.
    pub version: String,
    /// When this was written, in nanoseconds on its host's boot clock, as all times in it are.
    #[serde(default)]
    pub now: Instant,
    /// Its groups.
    pub groups: Vec<GroupStatus>,
}

/// Why an agent could not come up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration cannot work.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}{}", remedy(.source))]
    Bind {
        /// Which.
        address: SocketAddr,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Who is to grant tenure cannot.
    #[error("group `{group}`: {why}")]
    Authority {
        /// Of which group.
        group: String,
        /// Why.
        why: String,
    },
    /// This member must vote, and its name is none of the voters', though it was meant to be one: what to do.
    #[error("{0}. To join without a vote, set `must_vote` to false")]
    NonVoter(String),
    /// What the member does cannot be recorded.
    #[error("group `{group}`: cannot record to trace {}: {source}", .path.display())]
    Trace {
        /// Of which group.
        group: String,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
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

/// Why an agent ended by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// Somebody else goes by its name in all of its groups.
    #[error(
        "a member called `{member}` is there already, at {address}: give one of the two another name (--name)"
    )]
    Namesake {
        /// The name.
        member: String,
        /// Where the other one is.
        address: SocketAddr,
    },
    /// Its loop broke off.
    #[error("the agent's loop broke off: {0}")]
    Broken(String),
}

/// A group that the agent is no member of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no member of group `{0}`")]
pub struct NoSuchGroup(pub String);

impl Agent {
    /// Comes up: from then on it is a member of its groups.
    ///
    /// # Errors
    /// If the configuration cannot work, or an address or a file cannot be had.
    pub async fn start(config: AgentConfig) -> Result<Self, StartError> {
        Self::come_up(config, Part::Whole).await
    }

    /// As [`start`](Self::start), but refuses to come up if this member is a voter of a group and cannot vote. For
    /// programs whose user may not read the log, where a voter without its file would wait for ever without a word.
    ///
    /// # Errors
    /// As [`start`](Self::start); if a voter's file is missing, damaged, of another list of voters, or in use; and if this
    /// member was meant to vote, but has another name than any voter ([`StartError::NonVoter`]).
    pub async fn start_as_voter(config: AgentConfig) -> Result<Self, StartError> {
        Self::come_up(config, Part::MustVote).await
    }

    /// Comes up only to ask the voters of its groups what they have promised ([`Handle::survey`]): it neither votes nor
    /// gets tenure, and the file of a voter of its name stays closed.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_survey(config: AgentConfig) -> Result<Self, StartError> {
        Self::come_up(config, Part::Asks).await
    }

    async fn come_up(config: AgentConfig, part: Part) -> Result<Self, StartError> {
        config.check()?;
        if part == Part::MustVote {
            refuse_non_voter(&config)?;
        }
        look_at_calendar();
        // Before any socket: a voter may have to wait until it is initialised, by a program that has its port.
        let (offices, office_doors) = Offices::open(part);
        let mut authorities = Vec::new();
        for (number, group) in config.groups.iter().enumerate() {
            let authority = offices.authority(number, group, &config.name).await;
            authorities.push(authority.map_err(|why| StartError::Authority {
                group: group.name.clone(),
                why,
            })?);
        }
        let (exchange, listener) = Exchange::open(&config)?;
        let address = exchange.address();
        let now = clock::now();
        let port = address.port();
        let (mut groups, mut recordings) = (Vec::new(), Vec::new());
        for (group, authority) in config.groups.iter().zip(authorities) {
            let (recorder, recording) = open_trace(group, &config.name)?.unzip();
            let occupancy = offices.occupancy();
            let granted = (authority, occupancy);
            let group = Group::new(
                group.clone(),
                &config.name,
                port,
                now,
                recorder,
                granted,
                Entropy::system(),
            );
            groups.push(group);
            recordings.extend(recording);
        }
        if part != Part::Asks {
            tell_non_voters(&config);
        }
        let (control, asked) = mpsc::channel(16);
        let handle = Handle {
            control,
            groups: groups.iter().map(Outside::of).collect(),
            address,
        };
        let running = run::run(config, exchange, listener, groups, asked, office_doors);
        let task = tokio::spawn(async {
            let ended = running.await; // with it the groups are gone, and their recorders
            for recording in recordings {
                recording.finish().await;
            }
            ended
        });
        Ok(Self { handle, task })
    }

    /// To watch and to steer it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// Tells why.
    pub async fn ended(&mut self) -> Result<(), Ended> {
        match (&mut self.task).await {
            Ok(result) => result,
            Err(error) => Err(Ended::Broken(error.to_string())),
        }
    }

    /// Leaves its groups in good order: a leader says goodbye.
    ///
    /// # Errors
    /// If it had ended by itself before.
    pub async fn stop(mut self) -> Result<(), Ended> {
        // Without a loop there is nobody to tell.
        let _ = self.handle.control.send(Control::Stop).await;
        self.ended().await
    }
}

/// Refuses a member that was meant to vote in a group, and does not. A program may have no log in which its user could read
/// why no member gets tenure.
fn refuse_non_voter(config: &AgentConfig) -> Result<(), StartError> {
    let groups = config.non_voter_in().into_iter();
    let mut doubted = groups.filter(|it| it.doubt == Doubt::Strong);
    match doubted.next() {
        Some(NonVoter { what, .. }) => Err(StartError::NonVoter(what)),
        None => Ok(()),
    }
}

/// Says in which groups this member does not vote, the louder the more likely that is a mistake.
fn tell_non_voters(config: &AgentConfig) {
    for NonVoter { what, doubt } in config.non_voter_in() {
        match doubt {
            Doubt::Strong => tracing::error!("{what}"),
            Doubt::Some => tracing::warn!("{what}"),
            Doubt::Slight => tracing::info!("{what}"),
        }
    }
}

/// Where what `member` does in a group is recorded, if it is.
fn open_trace(
    group: &GroupConfig,
    member: &str,
) -> Result<Option<(Recorder, Recording)>, StartError> {
    let Some(path) = &group.trace else {
        return Ok(None);
    };
    let opened = Recorder::open(path, member_id(member));
    opened.map(Some).map_err(|source| StartError::Trace {
        group: group.name.clone(),
        path: path.clone(),
        source,
    })
}

impl Agent {
    /// Ends it without a word, as a crash would: the others find out by themselves.
    pub async fn abort(self) {
        self.task.abort();
        // Cancelled is what it is meant to be.
        let _ = self.task.await;
    }
}

impl Outside {
    fn of(group: &Group) -> Self {
        Self {
            leadership: group.watch(),
            desk: Desk::default(),
            cell: group.cell(),
            occupancy: group.occupancy(),
            last_words: group.last_words(),
            seat: group.watch_seat(),
            council: group.watch_council(),
        }
    }
}

impl Handle {
    /// Where the agent receives.
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

    /// Who leads `group`, now and whenever it changes.
    pub fn watch(&self, group: &str) -> Option<watch::Receiver<Leadership>> {
        self.outside(group).map(|it| it.leadership.clone())
    }

    /// Whether this member holds a seat in the council of `group`, now and whenever it changes. None if it is no host.
    pub fn watch_seat(&self, group: &str) -> Option<watch::Receiver<HostStatus>> {
        self.outside(group)?.seat.clone()
    }

    /// Who holds a seat in the council of `group`, now and whenever it changes. None if this member is not its centre.
    pub fn watch_council(&self, group: &str) -> Option<watch::Receiver<CentreStatus>> {
        self.outside(group)?.council.clone()
    }

    /// The names of the agent's groups.
    pub fn groups(&self) -> Vec<String> {
        let leaderships = self.groups.iter().map(|it| it.leadership.borrow());
        leaderships.map(|it| it.group.clone()).collect()
    }

    /// Everything there is to tell. None if the agent has ended.
    pub async fn status(&self) -> Option<AgentStatus> {
        let (answer, status) = oneshot::channel();
        self.control.send(Control::Status(answer)).await.ok()?;
        status.await.ok()
    }

    /// Gives up leadership of `group`, and takes no part in its election for `span`. Where somebody has to do
    /// something first ([`before_stepping_down`](Self::before_stepping_down)), it takes as long as that takes.
    ///
    /// # Errors
    /// If the agent is no member of it.
    pub async fn step_down(&self, group: &str, span: StdDuration) -> Result<(), NoSuchGroup> {
        self.step_down_for(group, span, None, None).await
    }

    /// Gives up leadership of `group` as [`step_down`](Self::step_down) does, and shows `resignation` as the reason.
    ///
    /// # Errors
    /// If the agent is no member of the group.
    pub async fn resign(
        &self,
        group: &str,
        span: StdDuration,
        resignation: Resignation,
    ) -> Result<(), NoSuchGroup> {
        self.step_down_for(group, span, None, Some(resignation))
            .await
    }

    /// As [`step_down`](Self::step_down), and hands tenure that voters granted to the member called `heir`, which
    /// takes it if it is there and can: else whom the election names gets the next. Returns when the heir has it, or
    /// has had its time ([`taken_within`](crate::config::QuorumConfig::taken_within)).
    ///
    /// # Errors
    /// If this member has no tenure that it could hand over, or there is no such heir. Then nothing is given up.
    pub async fn hand_over(
        &self,
        group: &str,
        span: StdDuration,
        heir: &str,
    ) -> Result<HandedOver, NotHandedOver> {
        let (found, is_found) = oneshot::channel();
        let control = Control::FindHeir {
            group: self.member_of(group)?,
            name: heir.to_owned(),
            found,
        };
        // An agent that has ended finds nobody.
        let _ = self.control.send(control).await;
        let id = is_found.await.map_err(|_| NotHandedOver::Ended)??;
        let (told, outcome) = oneshot::channel();
        self.step_down_for(group, span, Some(Heir { id, told }), None)
            .await?;
        // Dropped untold: what was to be handed over was lost before, or the agent is about to end.
        Ok(outcome.await.unwrap_or(HandedOver::Missed { within: None }))
    }

    /// The group's name, if the agent is a member of it.
    fn member_of(&self, group: &str) -> Result<String, NoSuchGroup> {
        self.require(group).map(|_| group.to_owned())
    }

    async fn step_down_for(
        &self,
        group: &str,
        span: StdDuration,
        heir: Option<Heir>,
        resignation: Option<Resignation>,
    ) -> Result<(), NoSuchGroup> {
        let outside = self.require(group)?;
        let (done, is_done) = oneshot::channel();
        let wish = StepDown {
            control: self.control.clone(),
            group: group.to_owned(),
            span: span.into(),
            heir,
            resignation,
            done,
        };
        outside.desk.hand_in(wish).await;
        // Not carried out: the agent is about to end, and leads nothing then.
        let _ = is_done.await;
        Ok(())
    }

    /// What a command needs that runs under `group`'s tenure. None in advisory mode.
    pub fn fencing(&self, group: &str) -> Option<Fencing> {
        let outside = self.outside(group)?;
        Some(Fencing {
            tenure: outside.cell.clone()?,
            last_words: outside.last_words.subscribe(),
            work: outside.occupancy.clone(),
        })
    }

    /// Whether this member can do its work. While it cannot, it neither tries to get tenure of `group` nor renews it, and
    /// when it holds none leaves it to others to be named.
    ///
    /// # Errors
    /// If the agent is no member of it.
    pub async fn set_healthy(&self, group: &str, is_healthy: bool) -> Result<(), NoSuchGroup> {
        self.ask(group, Request::Healthy(is_healthy)).await
    }

    async fn ask(&self, group: &str, request: Request) -> Result<(), NoSuchGroup> {
        let group = self.member_of(group)?;
        // An agent that has ended holds nothing.
        let _ = self.control.send(Control::Ask { group, request }).await;
        Ok(())
    }

    /// Asks the other voters of `group` what they have promised. What they tell arrives as it comes; ask again for
    /// what was lost.
    ///
    /// # Errors
    /// If the agent is no member of it.
    pub async fn survey(
        &self,
        group: &str,
        answers: &mpsc::UnboundedSender<Told>,
    ) -> Result<(), NoSuchGroup> {
        let (group, answers) = (self.member_of(group)?, answers.clone());
        // An agent that has ended asks nobody.
        let _ = self.control.send(Control::Survey { group, answers }).await;
        Ok(())
    }

    /// From now on, whoever wants this member to step down from `group` waits until what arrives here is carried
    /// out. None if there is no such group, or somebody else receives already.
    pub fn before_stepping_down(&self, group: &str) -> Option<mpsc::Receiver<StepDown>> {
        self.outside(group)?.desk.open()
    }
}
