use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use hustings_protocol::{Duration, bully};

use super::*;
use crate::agent::offices::{Offices, Part};
use crate::authority::Occupancy;
use crate::config::{AuthorityConfig, GroupConfig, ProtocolConfig, QuorumConfig};

use crate::entropy::Entropy;
use crate::frame::{Body, Sender};
use crate::identity::{Life, group_id, member_id};
use crate::logged::logged;
use crate::seal::Key;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const VOTERS: [&str; 3] = ["a", "b", "c"];

fn config() -> AgentConfig {
    let quorum = QuorumConfig {
        voters: VOTERS.map(str::to_owned).into(),
        ttl: Duration::from_secs(2),
        state: None,
    };
    let bully = bully::Config::field(Duration::from_millis(10), Duration::from_secs(1));
    let group = GroupConfig {
        authority: AuthorityConfig::Quorum(quorum),
        ..GroupConfig::plain("test", ProtocolConfig::Bully(bully))
    };
    AgentConfig {
        name: "me".to_owned(),
        bind: (HOME, 0).into(),
        next_free_port: false,
        interface: HOME,
        http: None,
        metrics: None,
        insecure: false,
        groups: vec![group],
    }
}

/// What `voter` says about tenure, sealed.
fn word(voter: &str, authority: u64) -> Vec<u8> {
    let body = Body::Tenure {
        to: member_id("me"),
        authority,
        message: &[],
    };
    sealed(voter, body)
}

/// What the member called `voter` says first, sealed.
fn sealed(voter: &str, body: Body<'_>) -> Vec<u8> {
    let (mut content, mut sealed) = (Vec::new(), Vec::new());
    let frame = Frame {
        group: group_id("test"),
        sender: Sender::new(voter, member_id(voter), Life(1), 9),
        number: 0,
        to_all: false,
        body,
    };
    frame.encode(&mut content);
    let keyring = Keyring::new("test", member_id(voter), &Key::public("test"), &[]);
    keyring.seal(&[0; 24], None, &content, &mut sealed);
    sealed
}

/// A member's loop, to which all voters have proven that they run, and what tells its list of voters from another.
async fn member() -> (Loop, u64) {
    let config = config();
    let (exchange, listener) = Exchange::open(&config).expect("a port is free");
    let (offices, _doors) = Offices::open(Part::Whole);
    let authority = offices.authority(0, &config.groups[0], "me");
    let authority = authority.await.expect("voters need nothing");
    let (list, port) = (authority.id(), exchange.address().port());
    let granted = (authority, Occupancy::default());
    let group = config.groups[0].clone();
    let mut group = Group::new(
        group,
        "me",
        port,
        clock::now(),
        None,
        granted,
        Entropy::system(),
    );
    for voter in VOTERS {
        let sender = Sender::new(voter, member_id(voter), Life(1), 9);
        group.trust(&sender, (HOME, 9).into());
    }
    let agent = Loop {
        config,
        exchange,
        links: Links::open(listener, mpsc::channel(1).0),
        groups: vec![group],
        outbox: Outbox::new(),
        lifelines: BTreeMap::new(),
        inquiries: BTreeMap::new(),
        notices: mpsc::channel(1).0,
    };
    (agent, list)
}

/// Anybody can record and repeat what members say: a connection that begins so is still a stranger's.
#[tokio::test]
async fn a_lifeline_needs_a_sealed_hello_that_was_not_heard_before() {
    let (mut agent, _) = member().await;
    let hello = sealed("a", Body::Lifeline);
    let mut forged = hello.clone();
    forged[40] ^= 1;
    let stranger = sealed("d", Body::Lifeline);
    for (frame, is_let_in) in [
        (stranger, false),
        (forged, false),
        (hello.clone(), true),
        (hello, false),
    ] {
        let (arrival, verdict) = Arrival::from_stranger(agent.exchange.address(), frame);
        agent.hear_arrival(clock::now(), arrival);
        assert_eq!(verdict.await, Ok(is_let_in));
    }
    let status = agent.status().groups.remove(0);
    assert!(status.peers.is_empty(), "it tells nothing of datagrams");
}

/// More datagrams wait than are taken at a time.
#[tokio::test]
async fn link_frames_are_heard_though_datagrams_come_without_end() {
    let (mut agent, list) = member().await;
    let socket = UdpSocket::bind((HOME, 0)).expect("a port is free");
    for _ in 0..MOST_AT_ONCE * 2 {
        let sent = socket.send_to(b"no frame", agent.exchange.address());
        sent.expect("it is sent");
    }
    let (hear, mut heard) = mpsc::channel(1);
    let (arrival, mut verdict) = Arrival::from_stranger(agent.exchange.address(), word("a", list));
    hear.try_send(arrival).expect("there is room");
    let mut buffer = [0; BUFFER_BYTES];
    let first = agent.exchange.receive(&mut buffer).await;
    assert!(agent.hear_datagrams(first, &mut buffer, &mut heard));
    assert_eq!(verdict.try_recv(), Ok(true));
    assert!(agent.exchange.try_receive(&mut buffer).is_some());
}

/// A voter that counted what it grants from an earlier moment than it was asked would let two hold.
#[tokio::test]
async fn datagrams_that_wait_are_heard_each_at_its_own_time() {
    let (mut agent, list) = member().await;
    let socket = UdpSocket::bind((HOME, 0)).expect("a port is free");
    for voter in VOTERS {
        let sent = socket.send_to(&word(voter, list), agent.exchange.address());
        sent.expect("it is sent");
    }
    let mut buffer = [0; BUFFER_BYTES];
    let first = agent.exchange.receive(&mut buffer).await;
    agent.hear_datagram(first, &mut buffer);
    agent.hear_the_rest(&mut buffer);
    let status = agent.status().groups.remove(0).tenure.expect("fenced");
    let heard: Vec<Instant> = status.voters.iter().filter_map(|it| it.heard).collect();
    assert_eq!(heard.len(), VOTERS.len());
    assert_eq!(heard[0], first.at);
    assert!(heard[0] < heard[1] && heard[1] < heard[2], "{heard:?}");
}

/// Hands `agent` the same frame 5 times and returns the lines that it logs.
fn lines_after_5(agent: &mut Loop, frame: &[u8]) -> Vec<String> {
    let from = (HOME, 9).into();
    let lines = logged(|| {
        for _ in 0..5 {
            let is_let_in = agent.hear(clock::now(), Way::Unicast, from, &mut frame.to_vec());
            assert!(!is_let_in);
        }
    });
    lines.into_iter().map(|(_, line)| line).collect()
}

#[tokio::test]
async fn frames_of_another_version_draw_fewer_and_fewer_warnings() {
    let (mut agent, _) = member().await;
    let mut frame = sealed("a", Body::Lifeline);
    frame[0] = 1;
    let lines = lines_after_5(&mut agent, &frame);
    let expected = [0, 1, 3].map(|before| {
        format!(
            "a frame from 127.0.0.1:9 has layout version 1, this agent speaks {VERSION} ({before} such frames before): run one version of hustings on every member"
        )
    });
    assert_eq!(lines, expected);
    let counters = agent.status().groups.remove(0).counters;
    assert_eq!(counters.unknown_version, 5);
}

#[tokio::test]
async fn multicasts_of_other_groups_show_that_the_network_carries_them() {
    let (mut agent, _) = member().await;
    let mut frame = Vec::new();
    let keyring = Keyring::new("another", member_id("a"), &Key::public("another"), &[]);
    keyring.seal(&[0; 24], None, b"content", &mut frame);
    for (way, shows) in [(Way::Unicast, false), (Way::Multicast, true)] {
        agent.hear(clock::now(), way, (HOME, 9).into(), &mut frame.clone());
        assert_eq!(agent.groups[0].hears_other_groups(), shows, "{way:?}");
    }
}

#[tokio::test]
async fn wrong_keys_draw_warnings_and_other_groups_draw_none() {
    let (mut agent, _) = member().await;
    let seal = |group: &str, key: &str| {
        let mut frame = Vec::new();
        let keyring = Keyring::new(group, member_id("a"), &Key::public(key), &[]);
        keyring.seal(&[0; 24], None, b"content", &mut frame);
        frame
    };
    for key in ["another", "test"] {
        let lines = lines_after_5(&mut agent, &seal("another", key));
        assert_eq!(lines, [""; 0], "key `{key}`");
    }
    let lines = lines_after_5(&mut agent, &seal("test", "another"));
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().all(|it| it.contains("under another key")));
    let counters = agent.status().groups.remove(0).counters;
    assert_eq!((counters.other_group, counters.unknown_key), (10, 5));
}
