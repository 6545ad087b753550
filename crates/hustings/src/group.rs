//! To be a member of a group: join, campaign, watch, resign.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use hustings_agent::authority::voter_file::{VoterError, VoterFile};
use hustings_agent::config::{
    AgentConfig, AuthorityConfig, GroupConfig, ProtocolConfig, QuorumConfig, Unfit,
    default_interface, default_multicast,
};
use hustings_agent::seal::Key;
use hustings_agent::{Agent, CouncilPart, Ended, HostStatus, Leadership, StartError};
use hustings_fence::slots::OpenError;
use hustings_protocol::tenure::Durable;
use hustings_protocol::{self as protocol, Merit};
use tokio::sync::watch;

use crate::tenure::{NoTenure, Tenure};

/// How often a leader announces itself unless told otherwise.
const ANNOUNCE: protocol::Duration = protocol::Duration::from_millis(100);

/// How to join a group. On a LAN that carries multicasts its name and key are enough.
#[derive(Debug, Clone)]
pub struct Joining {
    /// The group's name.
    pub group: String,
    /// This member's name, unique in the group.
    pub member: String,
    /// The secret that the members share. None: only within this host.
    pub key: Option<Key>,
    /// The greater leads; of equals, one by name.
    pub priority: u64,
    /// How the leader is elected.
    pub protocol: ProtocolConfig,
    /// Who grants tenure to whom the election names. Nobody: leadership is advisory.
    pub authority: AuthorityConfig,
    /// What part it has in the group's council: see [`Council`](crate::Council).
    pub council: CouncilPart,
    /// Where to receive. Port 0: any that is free.
    pub bind: SocketAddr,
    /// Addresses, or names with ports, at which others may be found where multicasts do not reach.
    pub join: Vec<String>,
    /// Whether [`Group::join`] refuses a voter that cannot vote, as its file is missing, damaged or in use. True unless
    /// it is set to false: then the reason is logged, and the member joins without a vote.
    pub must_vote: bool,
}

impl Joining {
    /// As `member` of `group`, within this host.
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

    /// As `member` of `group`, with whoever on the LAN has the same key.
    pub fn on_the_lan(group: &str, member: &str, key: Key) -> Self {
        Self {
            key: Some(key),
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            ..Self::on_this_host(group, member)
        }
    }

    /// As a host of a fleet: it elects no leader, is silent until a council's centre calls, and may then be elected into
    /// the council.
    #[must_use]
    pub fn without_election(mut self) -> Self {
        self.protocol = ProtocolConfig::NoElection;
        self
    }

    /// Where a majority of `voters`, members of the group, grants tenure for `ttl` at a time: an odd number of voters,
    /// at most 63, and a ttl from 100 ms to 1 h. A voter keeps what it promises in the directory `state`, and is
    /// initialised once, by [`found_voter`](Self::found_voter) or `hustings voter init`, before it joins.
    #[must_use]
    pub fn fenced_by(mut self, voters: &[&str], ttl: Duration, state: &Path) -> Self {
        self.authority = AuthorityConfig::Quorum(QuorumConfig {
            voters: voters.iter().map(|name| (*name).to_owned()).collect(),
            ttl: ttl.into(),
            state: Some(state.to_owned()),
        });
        self
    }

    /// Makes this member a voter of a new group, in which no voter has ever voted. Call it once on each voter, before it
    /// joins for the first time.
    ///
    /// A second call changes nothing: a file of the same member, group and list of voters is left as it is. So a
    /// program may call this at every start, but then it cannot tell a lost disk from a new group: a voter whose file
    /// is gone would begin again, has forgotten its promises, and a fence may be granted twice. A voter that has voted
    /// before is initialised by `hustings voter init`, which asks the other voters first.
    ///
    /// # Errors
    /// If these options cannot work, this member is none of the voters, the file belongs to another member or list of
    /// voters, or the disk refuses.
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
        std::fs::create_dir_all(state).map_err(|source| VoterError::State {
            path: state.to_owned(),
            source,
        })?;
        match VoterFile::create(state, vote, Durable::FOUNDING) {
            Err(VoterError::File(OpenError::Exists { .. })) => {
                VoterFile::open(state, vote)?;
            }
            created => created?,
        }
        Ok(())
    }

    pub(crate) fn config(self) -> Result<AgentConfig, Unfit> {
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
                merit: Merit(self.priority),
                authority: self.authority,
                council: self.council,
                multicast: Some(default_multicast(self.bind.ip())),
                join: self.join,
                ..GroupConfig::plain(self.group, self.protocol)
            }],
        })
    }
}

/// Why [`Joining::found_voter`] made no voter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FoundError {
    /// The options cannot work: nothing was written.
    #[error(transparent)]
    Config(#[from] Unfit),
    /// The voter's file cannot be used: it was not changed.
    #[error(transparent)]
    Voter(#[from] VoterError),
}

/// A member of a group, as long as it lives. Needs a tokio runtime.
pub struct Group {
    agent: Agent,
    name: String,
    leadership: watch::Receiver<Leadership>,
}

impl Group {
    /// Joins a group: from now on this member may be elected.
    ///
    /// # Errors
    /// If the options cannot work, or the address cannot be had. Unless [`must_vote`](Joining::must_vote) is false, also if
    /// this member is a voter that cannot vote, or looks like a voter under another name, such as `alpha.example.org`
    /// where `alpha` votes. The message says what to do.
    pub async fn join(joining: Joining) -> Result<Self, StartError> {
        let (name, must_vote) = (joining.group.clone(), joining.must_vote);
        let config = joining.config()?;
        let agent = match must_vote {
            true => Agent::start_as_voter(config).await?,
            false => Agent::start(config).await?,
        };
        let watched = agent.handle().watch(&name);
        let leadership = watched.expect("the agent was started with this group");
        Ok(Self {
            agent,
            name,
            leadership,
        })
    }

    /// Who leads, as this member knows it now.
    pub fn leadership(&self) -> Leadership {
        self.leadership.borrow().clone()
    }

    /// To be told whenever the leader changes.
    pub fn watch(&self) -> watch::Receiver<Leadership> {
        self.leadership.clone()
    }

    /// Whether this member holds a seat in the group's council, now and whenever it changes. None where it was told to
    /// have no part in it ([`CouncilPart::Off`]), or is its centre.
    pub fn seat(&self) -> Option<watch::Receiver<HostStatus>> {
        self.agent.handle().watch_seat(&self.name)
    }

    /// Waits until this member leads.
    ///
    /// # Errors
    /// If the member ended before, with the reason.
    pub async fn campaign(&mut self) -> Result<Nomination, Ended> {
        let mut leadership = self.leadership.clone();
        tokio::select! {
            elected = leadership.wait_for(|it| it.leads) => if elected.is_ok() {
                return Ok(Nomination { leadership: self.leadership.clone() });
            },
            ended = self.agent.ended() => ended?,
        }
        Err(Ended::Broken("it was stopped".to_owned()))
    }

    /// Waits until this member holds tenure: the election has named it, and its authority agreed.
    ///
    /// # Errors
    /// If nobody grants tenure in this group, or the member ended before, with the reason.
    pub async fn tenure(&mut self) -> Result<Tenure, NoTenure> {
        let fencing = self.agent.handle().fencing(&self.name);
        let fencing = fencing.ok_or(NoTenure::Advisory)?;
        loop {
            // What changes after the look is waited for, and nothing that was there before it.
            self.leadership.mark_unchanged();
            // Work begins before the look: what is held then is not given up meanwhile.
            let work = fencing.work.begin();
            if let Some(tenure) = Tenure::begin(&fencing.tenure, &self.leadership, work) {
                return Ok(tenure);
            }
            tokio::select! {
                changed = self.leadership.changed() => if changed.is_err() {
                    let why = "it was stopped".to_owned();
                    return Err(NoTenure::Ended(Ended::Broken(why)));
                },
                ended = self.agent.ended() => ended.map_err(NoTenure::Ended)?,
            }
        }
    }

    /// Says whether this member can do its work. While it cannot, it neither tries to get tenure nor renews it,
    /// and when it holds none leaves it to others to be named.
    pub async fn set_healthy(&self, is_healthy: bool) {
        // The agent is a member of this group for as long as it runs, and holds nothing later.
        let handle = self.agent.handle();
        let _ = handle.set_healthy(&self.name, is_healthy).await;
    }

    /// The agent behind this member.
    pub fn agent(&self) -> &hustings_agent::Handle {
        self.agent.handle()
    }

    /// Gives up leadership and takes no part in the election for `span`, so that another one leads.
    pub async fn resign(&self, span: Duration) {
        // The agent is a member of this group for as long as it runs, and leads nothing later.
        let _ = self.agent.handle().step_down(&self.name, span).await;
    }

    /// Ends without a word, as a crash would: the others find out by themselves.
    pub async fn vanish(self) {
        self.agent.abort().await;
    }

    /// Leaves the group: a leader says goodbye.
    ///
    /// # Errors
    /// If the member had ended before, with the reason.
    pub async fn leave(self) -> Result<(), Ended> {
        self.agent.stop().await
    }
}

/// This member was elected. Advisory: for a while another member may believe the same of itself, so
/// do under it only what two may do at once.
#[derive(Debug)]
pub struct Nomination {
    leadership: watch::Receiver<Leadership>,
}

impl Nomination {
    /// Who leads, as the member that was elected knows it now.
    pub fn leadership(&self) -> Leadership {
        self.leadership.borrow().clone()
    }

    /// Whether it still stands, as far as this member knows.
    pub fn stands(&self) -> bool {
        self.leadership.has_changed().is_ok() && self.leadership.borrow().leads
    }

    /// Waits until it stands no more.
    pub async fn lost(&mut self) {
        // If the member is gone, so is its nomination.
        let _ = self.leadership.wait_for(|it| !it.leads).await;
    }
}
