//! A group of agents in one process, each with its own sockets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration as StdDuration;

use hustings_agent::config::{AgentConfig, GroupConfig, MULTICAST, ProtocolConfig};
use hustings_agent::group::PartialViewStatus;
use hustings_agent::seal::Key;
use hustings_agent::{Agent, AgentStatus, Leadership};
use hustings_protocol::Duration;
use hustings_protocol::announce::{self, Takeover};
use tokio::sync::watch;

/// Far longer than anything here takes. A test that takes longer has failed. A group with partial
/// views estimates its size before it elects a leader, which takes up to 20 s.
pub(crate) const DEADLINE: StdDuration = StdDuration::from_secs(150);

/// The interval between two checks.
pub(crate) const POLL: StdDuration = StdDuration::from_millis(2);

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The announce family as agents run it, with short intervals.
pub(crate) fn announce() -> ProtocolConfig {
    ProtocolConfig::Announce(announce::Config {
        takeover: Takeover::Never,
        ..announce::Config::field(Duration::from_millis(50))
    })
}

/// A group of agents.
pub(crate) struct Members {
    template: AgentConfig,
    agents: Vec<Option<Agent>>,
    watches: Vec<watch::Receiver<Leadership>>,
}

impl Members {
    /// Starts `count` members that find each other by multicast, under a new key.
    pub(crate) async fn start(count: usize, protocol: ProtocolConfig, group: &str) -> Self {
        let template = template(protocol, group, Some(MULTICAST));
        let mut members = Self::none(template);
        for index in 0..count {
            members.come(index, &[]).await;
        }
        members
    }

    /// Starts `count` members that know the address of the first.
    pub(crate) async fn start_without_multicast(
        count: usize,
        protocol: ProtocolConfig,
        group: &str,
    ) -> Self {
        let mut members = Self::none(template(protocol, group, None));
        members.come(0, &[]).await;
        let first = members.agents[0].as_ref().unwrap().handle().address();
        for index in 1..count {
            members.come(index, &[first]).await;
        }
        members
    }

    /// Starts `count` members, each of which should know `view` others. They find each other by
    /// multicast or by the address of the first.
    pub(crate) async fn start_many(
        count: usize,
        protocol: ProtocolConfig,
        group: &str,
        (view, multicast): (u16, Option<SocketAddr>),
    ) -> Self {
        let mut template = template(protocol, group, multicast);
        template.groups[0].view = Some(view);
        let mut members = Self::none(template);
        members.come(0, &[]).await;
        let first = members.agents[0].as_ref().unwrap().handle().address();
        let join = match multicast {
            Some(_) => vec![],
            None => vec![first],
        };
        for index in 1..count {
            members.come(index, &join).await;
        }
        members
    }

    /// Returns the partial view of each running member.
    pub(crate) async fn partial_views(&self) -> Vec<PartialViewStatus> {
        let mut partial_views = Vec::new();
        for agent in self.agents.iter().flatten() {
            let status = agent.handle().status().await.unwrap();
            partial_views.push(status.groups[0].partial_view.clone().unwrap());
        }
        partial_views
    }

    fn none(template: AgentConfig) -> Self {
        Self { template, agents: Vec::new(), watches: Vec::new() }
    }

    async fn come(&mut self, index: usize, join: &[SocketAddr]) {
        let mut config = self.template.clone();
        config.name = name(index);
        config.groups[0].join = join.iter().map(SocketAddr::to_string).collect();
        let group = config.groups[0].name.clone();
        let agent = Agent::start(config).await.unwrap();
        self.watches.push(agent.handle().watch(&group).unwrap());
        self.agents.push(Some(agent));
    }

    /// Waits until all running members name the same leader, which is one of them. Returns its
    /// index.
    pub(crate) async fn agree(&mut self) -> usize {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        loop {
            if let Some(leader) = self.agreed() {
                return leader;
            }
            tokio::time::sleep(POLL).await;
            assert!(
                tokio::time::Instant::now() < deadline,
                "no agreement: {:#?}",
                self.present()
                    .map(|index| self.watches[index].borrow().clone())
                    .collect::<Vec<_>>()
            );
        }
    }

    fn present(&self) -> impl Iterator<Item = usize> {
        let agents = self.agents.iter().enumerate();
        agents.filter_map(|(index, agent)| agent.as_ref().map(|_| index))
    }

    fn agreed(&self) -> Option<usize> {
        let named: Option<Vec<String>> = self
            .present()
            .map(|index| Some(self.watches[index].borrow().leader.as_ref()?.name.clone()))
            .collect();
        let named = named?;
        let leader = self.present().find(|index| name(*index) == named[0])?;
        named.iter().all(|it| *it == named[0]).then_some(leader)
    }

    pub(crate) async fn stop(&mut self, index: usize) {
        self.agents[index].take().unwrap().stop().await.unwrap();
    }

    /// Ends a member without any message, as SIGKILL does: only its sockets are closed.
    pub(crate) async fn vanish(&mut self, index: usize) {
        self.agents[index].take().unwrap().abort().await;
    }

    pub(crate) async fn step_down(&self, index: usize) {
        let agent = self.agents[index].as_ref().unwrap();
        let group = &self.template.groups[0].name;
        let span = StdDuration::from_millis(500);
        agent.handle().step_down(group, span).await.unwrap();
    }

    /// Starts another member with the name of `index`. Returns the error with which it ends.
    pub(crate) async fn start_namesake(&self, index: usize) -> String {
        let mut config = self.template.clone();
        config.name = name(index);
        let mut agent = Agent::start(config).await.unwrap();
        let ended = tokio::time::timeout(DEADLINE, agent.ended()).await.unwrap();
        ended.unwrap_err().to_string()
    }

    /// Waits until each member has received frames of other groups.
    pub(crate) async fn heard_other_groups(&self) {
        for agent in self.agents.iter().flatten() {
            let has_heard = |it: &AgentStatus| it.groups[0].counters.other_group > 0;
            status_when(agent, has_heard).await;
        }
    }

    /// Returns the number of frames under unknown keys that all members have received.
    pub(crate) async fn unknown_keys(&self) -> u64 {
        let mut unknown = 0;
        for agent in self.agents.iter().flatten() {
            let status = agent.handle().status().await.unwrap();
            unknown += status.groups[0].counters.unknown_key;
        }
        unknown
    }
}

/// Starts a member of several groups, each with its own key, without any other members.
pub(crate) async fn member_of(groups: &[(&str, &Key)]) -> Agent {
    let mut config = template(announce(), "", None);
    config.name = name(0);
    let of = |&(group, key): &(&str, &Key)| GroupConfig {
        name: group.to_owned(),
        keys: vec![key.clone()],
        ..config.groups[0].clone()
    };
    config.groups = groups.iter().map(of).collect();
    Agent::start(config).await.unwrap()
}

/// Waits until the status of an agent is as expected.
pub(crate) async fn status_when(
    agent: &Agent,
    is_so: impl Fn(&AgentStatus) -> bool,
) -> AgentStatus {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        let status = agent.handle().status().await.unwrap();
        if is_so(&status) {
            return status;
        }
        assert!(tokio::time::Instant::now() < deadline, "{status:#?}");
        tokio::time::sleep(POLL).await;
    }
}

fn name(index: usize) -> String {
    format!("m{index}")
}

fn template(protocol: ProtocolConfig, group: &str, multicast: Option<SocketAddr>) -> AgentConfig {
    AgentConfig {
        name: String::new(),
        bind: SocketAddr::new(LOCALHOST, 0),
        next_free_port: false,
        interface: LOCALHOST,
        http: None,
        metrics: None,
        insecure: false,
        groups: vec![GroupConfig {
            keys: vec![Key::generate().unwrap()],
            multicast,
            ..GroupConfig::plain(group, protocol)
        }],
    }
}
