//! Membership of a group: join, wait for election, watch the leader, resign.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use hustings_agent::authority::voter_file::{VoterError, VoterFile};
use hustings_agent::config::{
    AgentConfig, AgentConfigError, AuthorityConfig, GroupConfig, ProtocolConfig, QuorumConfig,
    default_interface, default_multicast,
};
use hustings_agent::seal::Key;
use hustings_agent::{Agent, AgentStoppedError, CouncilPart, HostStatus, Leadership, StartError};
use hustings_fence::slots::OpenError;
use hustings_protocol::tenure::Durable;
use hustings_protocol::{self as protocol, Priority};
use tokio::sync::watch;

use crate::tenure::{Tenure, TenureError};

/// The default interval between a leader's announcements.
const ANNOUNCE: protocol::Duration = protocol::Duration::from_millis(100);

/// Options for joining a group. On a LAN with multicast, the group's name and key are enough.
#[derive(Debug, Clone)]
pub struct GroupOptions {
    /// The group's name.
    pub group: String,
    /// This member's name, unique in the group.
    pub member: String,
    /// The secret that the members share. `None` restricts the group to this host.
    pub key: Option<Key>,
    /// The priority: the candidate with the highest one leads. Names decide between equals.
    pub priority: u64,
    /// The election protocol.
    pub protocol: ProtocolConfig,
    /// The authority that grants tenure to the nominee. With `Nobody`, leadership is advisory.
    pub authority: AuthorityConfig,
    /// This member's part in the group's council: see [`Council`](crate::Council).
    pub council: CouncilPart,
    /// The local address to receive at. Port 0 selects any free port.
    pub bind: SocketAddr,
    /// Addresses, or host names with ports, of other members that multicasts do not reach.
    pub join: Vec<String>,
    /// If true (the default), [`Group::join`] refuses a voter that cannot vote because its file is
    /// missing, damaged or in use. If false, the reason is logged and the member joins without a
    /// vote.
    pub must_vote: bool,
}

impl GroupOptions {
    /// Options for `member` of `group` within this host.
    pub fn on_this_host(group: &str, member: &str) -> Self {
        Self {
            group: group.to_owned(),
            member: member.to_owned(),
            key: None,
            priority: 0,
            protocol: ProtocolConfig::announce_field(ANNOUNCE),
            authority: AuthorityConfig::Nobody,
            council: CouncilPart::HOST,
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            join: Vec::new(),
            must_vote: true,
        }
    }

    /// Options for `member` of `group`, together with all members on the LAN that have the same
    /// key.
    pub fn on_the_lan(group: &str, member: &str, key: Key) -> Self {
        Self {
            key: Some(key),
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            ..Self::on_this_host(group, member)
        }
    }

    /// Makes this member a host of a fleet. It elects no leader and is silent until a council's
    /// centre calls. It may then be elected into the council.
    #[must_use]
    pub fn without_election(mut self) -> Self {
        self.protocol = ProtocolConfig::NoElection;
        self
    }

    /// Lets a majority of `voters`, which are members of the group, grant tenure for `ttl` at a
    /// time. The number of voters must be odd and at most 63, the ttl from 100 ms to 1 h.
    ///
    /// A voter keeps its promises in the directory `state`. It is initialised once before it joins,
    /// by [`found_voter`](Self::found_voter) or `hustings voter init`.
    #[must_use]
    pub fn fenced_by(mut self, voters: &[&str], ttl: Duration, state: &Path) -> Self {
        self.authority = AuthorityConfig::Quorum(QuorumConfig {
            voters: voters.iter().map(|name| (*name).to_owned()).collect(),
            ttl: ttl.into(),
            state: Some(state.to_owned()),
        });
        self
    }

    /// Makes this member a voter of a new group, in which no voter has ever voted. Call it once on
    /// each voter, before the voter joins for the first time.
    ///
    /// A second call changes nothing: a file of the same member, group and list of voters is left
    /// as it is. A program may therefore call this at every start, but then it cannot distinguish a
    /// lost disk from a new group. A voter whose file is lost would start again without its
    /// promises, and a fence may be granted twice. To initialise a voter that has voted before, use
    /// `hustings voter init`, which asks the other voters first.
    ///
    /// # Errors
    /// If the options are invalid, this member is not a voter, the file belongs to another member
    /// or list of voters, or the disk fails.
    pub fn found_voter(&self) -> Result<(), FoundError> {
        self.clone().config()?.check()?;
        let vote = match &self.authority {
            AuthorityConfig::Quorum(quorum) if quorum.is_voter(&self.member) => {
                quorum.state.as_deref().map(|state| (state, quorum))
            }
            _ => None,
        };
        let (state, quorum) = vote.ok_or_else(|| VoterError::NoVoter(self.member.clone()))?;
        let vote = quorum.vote(&self.group, &self.member);
        std::fs::create_dir_all(state)
            .map_err(|source| VoterError::State { path: state.to_owned(), source })?;
        match VoterFile::create(state, vote, Durable::FOUNDING) {
            Err(VoterError::File(OpenError::Exists { .. })) => {
                VoterFile::open(state, vote)?;
            }
            created => created?,
        }
        Ok(())
    }

    pub(crate) fn config(self) -> Result<AgentConfig, AgentConfigError> {
        Ok(AgentConfig {
            name: self.member,
            bind: self.bind,
            next_free_port: false,
            interface: default_interface(self.bind.ip())?,
            http: None,
            metrics: None,
            insecure: false,
            groups: vec![GroupConfig {
                keys: self.key.into_iter().collect(),
                priority: Priority(self.priority),
                authority: self.authority,
                council: self.council,
                multicast: Some(default_multicast(self.bind.ip())),
                join: self.join,
                ..GroupConfig::plain(self.group, self.protocol)
            }],
        })
    }
}

/// The reason for which [`GroupOptions::found_voter`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FoundError {
    /// The options are invalid. Nothing was written.
    #[error(transparent)]
    Config(#[from] AgentConfigError),
    /// The voter's file cannot be used. It was not changed.
    #[error(transparent)]
    Voter(#[from] VoterError),
}

/// A running member of a group. The member ends when this value and all clones of its agent's
/// handle are dropped. Needs a tokio runtime.
pub struct Group {
    agent: Agent,
    name: String,
    leadership: watch::Receiver<Leadership>,
}

impl Group {
    /// Joins a group. From now on this member may be elected.
    ///
    /// # Errors
    /// If the options are invalid or the address is not available. Unless
    /// [`must_vote`](GroupOptions::must_vote) is false, also if this member is a voter that cannot vote,
    /// or looks like a voter under another name, such as `alpha.example.org` where `alpha` votes.
    /// The message names the remedy.
    pub async fn join(options: GroupOptions) -> Result<Self, StartError> {
        let (name, must_vote) = (options.group.clone(), options.must_vote);
        let config = options.config()?;
        let agent = if must_vote {
            Agent::start_as_voter(config).await?
        } else {
            Agent::start(config).await?
        };
        let watched = agent.handle().watch(&name);
        let leadership = watched.expect("the agent was started with this group");
        Ok(Self { agent, name, leadership })
    }

    /// The current leader, as far as this member knows.
    pub fn leadership(&self) -> Leadership {
        self.leadership.borrow().clone()
    }

    /// A receiver that is notified when the leader changes.
    pub fn watch(&self) -> watch::Receiver<Leadership> {
        self.leadership.clone()
    }

    /// A receiver with this member's seat in the group's council, notified of changes. `None` if
    /// this member has no part in the council ([`CouncilPart::Off`]) or is its centre.
    pub fn seat(&self) -> Option<watch::Receiver<HostStatus>> {
        self.agent.handle().watch_seat(&self.name)
    }

    /// Waits until this member leads.
    ///
    /// # Errors
    /// The reason for which the member ended before.
    pub async fn wait_until_elected(&mut self) -> Result<Nomination, AgentStoppedError> {
        let mut leadership = self.leadership.clone();
        tokio::select! {
            elected = leadership.wait_for(|it| it.leads) => if elected.is_ok() {
                return Ok(Nomination { leadership: self.leadership.clone() });
            },
            ended = self.agent.ended() => ended?,
        }
        Err(AgentStoppedError::Broken("it was stopped".to_owned()))
    }

    /// Waits until this member holds tenure: the election has named it, and its authority has
    /// agreed.
    ///
    /// # Errors
    /// If the group has no authority, or the reason for which the member ended before.
    pub async fn tenure(&mut self) -> Result<Tenure, TenureError> {
        let fencing = self.agent.handle().fencing(&self.name);
        let fencing = fencing.ok_or(TenureError::Advisory)?;
        loop {
            // Only changes after the following check end the wait below.
            self.leadership.mark_unchanged();
            // Work begins before the check, so that a tenure found by it is not released in
            // between.
            let work = fencing.work.begin();
            if let Some(tenure) = Tenure::begin(&fencing.tenure, &self.leadership, work) {
                return Ok(tenure);
            }
            tokio::select! {
                changed = self.leadership.changed() => if changed.is_err() {
                    let why = "it was stopped".to_owned();
                    return Err(TenureError::Stopped(AgentStoppedError::Broken(why)));
                },
                ended = self.agent.ended() => ended.map_err(TenureError::Stopped)?,
            }
        }
    }

    /// Tells the agent whether this member can do its work. An unhealthy member neither requests
    /// nor renews tenure. If it holds none, it leaves the nomination to others.
    pub async fn set_healthy(&self, is_healthy: bool) {
        // An error means that the agent has ended, and then it holds no tenure.
        let handle = self.agent.handle();
        let _ = handle.set_healthy(&self.name, is_healthy).await;
    }

    /// The handle of the agent that runs this member.
    pub fn agent(&self) -> &hustings_agent::Handle {
        self.agent.handle()
    }

    /// Gives up leadership and takes no part in the election for `span`, so that another member
    /// leads.
    pub async fn resign(&self, span: Duration) {
        // An error means that the agent has ended, and then it leads nothing.
        let _ = self.agent.handle().step_down(&self.name, span).await;
    }

    /// Ends without notice, as a crash would. The other members detect it by themselves.
    pub async fn abort(self) {
        self.agent.abort().await;
    }

    /// Leaves the group. A leader announces its departure.
    ///
    /// # Errors
    /// The reason for which the member had ended before.
    pub async fn leave(self) -> Result<(), AgentStoppedError> {
        self.agent.stop().await
    }
}

/// This member was elected. A nomination is advisory: another member may believe for a while that
/// it was elected too. Do under it only what two members may do at once.
#[derive(Debug)]
pub struct Nomination {
    leadership: watch::Receiver<Leadership>,
}

impl Nomination {
    /// The current leader, as far as the elected member knows.
    pub fn leadership(&self) -> Leadership {
        self.leadership.borrow().clone()
    }

    /// True if the nomination still stands, as far as this member knows.
    pub fn stands(&self) -> bool {
        self.leadership.has_changed().is_ok() && self.leadership.borrow().leads
    }

    /// Waits until the nomination ends.
    pub async fn lost(&mut self) {
        // If the member has ended, so has its nomination.
        let _ = self.leadership.wait_for(|it| !it.leads).await;
    }
}
