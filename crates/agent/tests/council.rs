//! A council over real sockets on this host's loopback interface: a centre, and agents as hosts.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests run in real time"
)]
#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration as StdDuration;

use hustings_agent::config::{AgentConfig, GroupConfig, MULTICAST};
use hustings_agent::council::Terms;
use hustings_agent::counters::Counters;
use hustings_agent::frame::{Body, Frame, Sender};
use hustings_agent::identity::{Incarnation, group_id, member_id};
use hustings_agent::seal::{Key, Keyring};
use hustings_agent::{Agent, CentreStatus, CouncilPart, CouncilStatus, HostStatus, ProtocolConfig};
use hustings_protocol::council::{Config, Feedback, Message, Search, Seats};
use hustings_protocol::{Duration, chang_roberts};
use hustings_system::clock::calendar;
use tokio::sync::watch;

/// Far longer than anything here takes. A test that takes longer has failed.
const DEADLINE: StdDuration = StdDuration::from_secs(60);

const SEATS: Seats = Seats::new(4, 8);

/// Long enough for a host that is busy with other tests.
const ROUND: Duration = Duration::from_millis(100);

fn rules() -> Config {
    Config::field(SEATS, 1_000, ROUND)
}

/// Agents that share a group and a key.
struct Fleet {
    group: String,
    key: Key,
    protocol: ProtocolConfig,
    multicast: Option<SocketAddr>,
    view: Option<u16>,
    hosts: BTreeMap<String, Agent>,
}

impl Fleet {
    /// A fleet of hosts that hold no election.
    fn new(group: &str) -> Self {
        Self {
            group: group.to_owned(),
            key: Key::generate().unwrap(),
            protocol: ProtocolConfig::NoElection,
            multicast: Some(MULTICAST),
            view: None,
            hosts: BTreeMap::new(),
        }
    }

    fn config(&self, name: &str, council: CouncilPart, join: &[SocketAddr]) -> AgentConfig {
        let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
        AgentConfig {
            name: name.to_owned(),
            bind: SocketAddr::new(localhost, 0),
            next_free_port: false,
            interface: localhost,
            http: None,
            metrics: None,
            insecure: false,
            groups: vec![GroupConfig {
                keys: vec![self.key.clone()],
                view: self.view,
                council,
                multicast: self.multicast,
                join: join.iter().map(SocketAddr::to_string).collect(),
                ..GroupConfig::plain(&self.group, self.protocol)
            }],
        }
    }

    async fn host(&mut self, name: &str, join: &[SocketAddr]) -> SocketAddr {
        let config = self.config(name, CouncilPart::HOST, join);
        let agent = Agent::start(config).await.unwrap();
        let address = agent.handle().address();
        self.hosts.insert(name.to_owned(), agent);
        address
    }

    async fn hosts(mut self, count: usize) -> Self {
        for number in 0..count {
            self.host(&format!("host-{number}"), &[]).await;
        }
        self
    }

    async fn centre(&self, name: &str, rules: Config, join: &[SocketAddr]) -> Centre {
        let part = CouncilPart::Centre(Box::new(rules));
        let mut config = self.config(name, part, join);
        config.groups[0].protocol = ProtocolConfig::NoElection;
        let agent = Agent::start(config).await.unwrap();
        let told = agent.handle().watch_council(&self.group).unwrap();
        Centre { agent, told }
    }

    fn seat(&self, name: &str) -> watch::Receiver<HostStatus> {
        let agent = &self.hosts[name];
        agent.handle().watch_seat(&self.group).unwrap()
    }

    /// Returns the hosts that consider themselves seated.
    fn believers(&self) -> Vec<String> {
        let seated = self.hosts.keys();
        let seated = seated.filter(|name| self.seat(name).borrow().seat.is_some());
        seated.cloned().collect()
    }

    async fn kill(&mut self, name: &str) {
        self.hosts.remove(name).unwrap().abort().await;
    }
}

struct Centre {
    agent: Agent,
    told: watch::Receiver<CentreStatus>,
}

impl Centre {
    /// Waits until `is_so` holds for the council.
    async fn wait_for(&mut self, is_so: impl FnMut(&CentreStatus) -> bool) -> CentreStatus {
        let waiting = self.told.wait_for(is_so);
        let seen = tokio::time::timeout(DEADLINE, waiting).await;
        let seen = seen.expect("the council should have been so by now");
        seen.unwrap().clone()
    }

    async fn filled(&mut self) -> Vec<String> {
        names(&self.wait_for(|it| it.is_filled() && it.is_settled).await)
    }
}

fn names(status: &CentreStatus) -> Vec<String> {
    let mut names: Vec<String> = status.seats().map(|it| it.member.name.clone()).collect();
    names.sort();
    names
}

async fn wait_until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(StdDuration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.expect("in time");
}

#[tokio::test]
async fn four_to_eight_of_24_hosts_are_seated_and_lost_seats_refilled() {
    let mut fleet = Fleet::new("seated").hosts(24).await;
    let mut centre = fleet.centre("centre", rules(), &[]).await;
    let first = centre.filled().await;
    wait_until(|| fleet.believers() == first).await;
    // All seated hosts but two die at once, and these two keep their seats.
    let (kept, lost) = first.split_at(2);
    for name in lost {
        fleet.kill(name).await;
    }
    let is_new = |it: &CentreStatus| {
        let now = names(it);
        it.is_filled() && it.is_settled && lost.iter().all(|name| !now.contains(name))
    };
    let second = names(&centre.wait_for(is_new).await);
    assert!(kept.iter().all(|name| second.contains(name)), "{second:?}");
    wait_until(|| fleet.believers() == second).await;
    let status = centre.agent.handle().status().await.unwrap();
    let counters = status.groups[0].counters;
    assert_eq!((counters.malformed, counters.broken_seal), (0, 0));
    centre.agent.stop().await.unwrap();
    // A centre that leaves releases all seats.
    wait_until(|| fleet.believers().is_empty()).await;
}

#[tokio::test]
async fn hosts_are_called_by_unicast_without_multicast() {
    let mut fleet = Fleet::new("by-address");
    fleet.multicast = None;
    let first = fleet.host("host-0", &[]).await;
    for number in 1..12 {
        fleet.host(&format!("host-{number}"), &[first]).await;
    }
    let mut centre = fleet.centre("centre", rules(), &[first]).await;
    let seated = centre.filled().await;
    wait_until(|| fleet.believers() == seated).await;
}

/// Each host knows eight others, and a call goes from each to a few.
#[tokio::test]
async fn calls_are_relayed_where_hosts_have_partial_views() {
    let mut fleet = Fleet::new("passed-on");
    (fleet.multicast, fleet.view) = (None, Some(8));
    let first = fleet.host("host-0", &[]).await;
    for number in 1..24 {
        fleet.host(&format!("host-{number}"), &[first]).await;
    }
    // Longer than a call takes to reach all hosts by relay.
    let rules = Config::field(SEATS, 1_000, Duration::from_millis(500));
    let mut centre = fleet.centre("centre", rules, &[first]).await;
    let seated = centre.filled().await;
    wait_until(|| fleet.believers() == seated).await;
    let status = centre.agent.handle().status().await.unwrap();
    let partial_view = status.groups[0].partial_view.as_ref().unwrap();
    assert!(partial_view.known <= 8, "{partial_view:?}");
}

/// The members' lists contain the centre where multicasts do not reach them, but no election view
/// does. A ring through the centre would not close.
#[tokio::test]
async fn centre_is_never_elected_leader() {
    let ring = chang_roberts::Config::field(Duration::from_secs(1));
    let mut fleet = Fleet::new("not-led");
    fleet.multicast = None;
    fleet.protocol = ProtocolConfig::ChangRoberts(ring);
    let first = fleet.host("host-0", &[]).await;
    for number in 1..8 {
        fleet.host(&format!("host-{number}"), &[first]).await;
    }
    let leader = |fleet: &Fleet| {
        let told = |agent: &Agent| {
            let leadership = agent.handle().watch(&fleet.group).unwrap();
            let leadership = leadership.borrow();
            leadership.leader.as_ref().map(|it| it.name.clone())
        };
        let mut leaders: Vec<_> = fleet.hosts.values().map(told).collect();
        leaders.dedup();
        match &leaders[..] {
            [Some(leader)] => Some(leader.clone()),
            _ => None,
        }
    };
    wait_until(|| leader(&fleet).is_some()).await;
    let before = leader(&fleet).unwrap();
    // The id of this name would win among equal priorities, because the lower id wins.
    let names = (0..).map(|number| format!("centre-{number}"));
    let lowest = fleet.hosts.keys().map(|it| member_id(it)).min().unwrap();
    let name = names.into_iter().find(|it| member_id(it) < lowest).unwrap();
    let mut centre = fleet.centre(&name, rules(), &[first]).await;
    centre.filled().await;
    // On a busy machine members may doubt a leader for a moment, and elect the same one again.
    wait_until(|| leader(&fleet).as_ref() == Some(&before)).await;
    fleet.kill(&before).await;
    wait_until(|| leader(&fleet).is_some_and(|it| it != before && it != name)).await;
}

#[tokio::test]
async fn hosts_follow_the_later_of_two_centres_and_the_other_stops() {
    let fleet = Fleet::new("two-centres").hosts(16).await;
    let mut first = fleet.centre("first", rules(), &[]).await;
    first.filled().await;
    let mut second = fleet.centre("second", rules(), &[]).await;
    let gave_way = first.wait_for(|it| it.gives_way_to.is_some()).await;
    assert_eq!(gave_way.gives_way_to.unwrap().name, "second");
    let seated = second.filled().await;
    wait_until(|| fleet.believers() == seated).await;
    let told = second.told.borrow().clone();
    assert_eq!(told.gives_way_to, None);
}

#[tokio::test]
async fn centre_with_too_few_hosts_continues_until_there_are_enough() {
    let mut fleet = Fleet::new("too-few").hosts(2).await;
    let rules = Config { lease: None, ..rules() };
    let mut centre = fleet.centre("centre", rules, &[]).await;
    let poll = |status: &hustings_agent::AgentStatus| match &status.groups[0].council {
        Some(CouncilStatus::Centre(centre)) => centre.replies,
        other => panic!("{other:?}"),
    };
    loop {
        let status = centre.agent.handle().status().await.unwrap();
        if poll(&status) >= 2 {
            break;
        }
        tokio::time::sleep(StdDuration::from_millis(20)).await;
    }
    for number in 2..6 {
        fleet.host(&format!("host-{number}"), &[]).await;
    }
    let seated = centre.filled().await;
    assert!(seated.len() >= 4, "{seated:?}");
}

/// A call to which every host should reply. In a large fleet this would be a storm.
fn call(sender: &str, incarnation: Incarnation, port: u16, group: &str) -> Vec<u8> {
    let message = Message::Feedback(Feedback {
        session: incarnation.0,
        class: 0,
        round: 1,
        base: 0,
        seated: 0,
        word: 1,
        floor: None,
    });
    // With another search, hosts do not answer a poll without the preceding rounds.
    let as_told = Config { search: Search::Printed, ..rules() };
    let terms = Terms::of(&message, &as_told).unwrap();
    let terms = postcard::to_allocvec(&terms).unwrap();
    let message = postcard::to_allocvec(&message).unwrap();
    let frame = Frame {
        group: group_id(group),
        sender: Sender::new(sender, member_id(sender), incarnation, port),
        number: 0,
        to_all: true,
        body: Body::CentreMessage { at_ns: calendar(), terms: &terms, message: &message },
    };
    let mut content = Vec::new();
    frame.encode(&mut content);
    content
}

#[tokio::test]
async fn forged_damaged_or_replayed_call_gets_no_reply() {
    const HOSTS: usize = 12;
    let fleet = Fleet::new("storm").hosts(HOSTS).await;
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    let counted = async |count: fn(&Counters) -> u64| {
        let mut sum = 0;
        for agent in fleet.hosts.values() {
            let status = agent.handle().status().await.unwrap();
            sum += count(&status.groups[0].counters);
        }
        sum
    };
    let say = async |frame: &[u8]| {
        // The frame goes to each host by unicast, so the counters do not include frames of other
        // tests.
        for agent in fleet.hosts.values() {
            let address = agent.handle().address();
            socket.send_to(frame, address).await.unwrap();
        }
    };
    let until = async |count: fn(&Counters) -> u64, expected: u64| {
        let waiting = async {
            while counted(count).await < expected {
                tokio::time::sleep(StdDuration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, waiting).await.expect("in time");
    };
    let content = call("centre", Incarnation::begin(calendar(), 0), port, &fleet.group);
    let sealed = |key: &Key| {
        let mut frame = Vec::new();
        let keyring = Keyring::new(&fleet.group, member_id("centre"), key, &[]);
        keyring.seal(&[0; 24], None, &content, &mut frame);
        frame
    };
    let all = HOSTS as u64;

    let before = counted(|it| it.unknown_key).await;
    say(&sealed(&Key::generate().unwrap())).await;
    until(|it| it.unknown_key, before + all).await;
    assert_eq!(counted(|it| it.council_sent).await, 0, "forged");

    let good = sealed(&fleet.key);
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    say(&damaged).await;
    until(|it| it.broken_seal, all).await;
    assert_eq!(counted(|it| it.council_sent).await, 0, "damaged");

    // The unchanged call makes all hosts reply. The modified ones must not.
    say(&good).await;
    until(|it| it.council_sent, all).await;
    let mut answer = [0; 2_048];
    for _ in 0..HOSTS {
        let received = socket.recv(&mut answer);
        tokio::time::timeout(DEADLINE, received).await.unwrap().unwrap();
    }

    for _ in 0..10 {
        say(&good).await;
    }
    until(|it| it.copies + it.replayed, 10 * all).await;
    assert_eq!(counted(|it| it.council_sent).await, all, "repeated");
    assert!(socket.try_recv(&mut answer).is_err(), "and nothing else");
}
