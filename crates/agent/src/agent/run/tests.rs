use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use hustings_protocol::{Duration, bully};

use super::*;
use crate::agent::lease_backends::{LeaseBackends, VoterPart};
use crate::authority::InFlight;
use crate::config::{AuthorityConfig, GroupConfig, ProtocolConfig, QuorumConfig};

use crate::entropy;
use crate::frame::{Body, Sender};
use crate::identity::{Incarnation, group_id, member_id};
use crate::seal::Key;
use hustings_testkit::logged;

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

/// A sealed tenure message from `voter`.
fn word(voter: &str, authority: u64) -> Vec<u8> {
    let body = Body::Tenure { to: member_id("me"), authority, message: &[] };
    sealed(voter, body)
}

/// The first frame of the member called `voter`, sealed.
fn sealed(voter: &str, body: Body<'_>) -> Vec<u8> {
    let (mut content, mut sealed) = (Vec::new(), Vec::new());
    let frame = Frame {
        group: group_id("test"),
        sender: Sender::new(voter, member_id(voter), Incarnation(1), 9),
        number: 0,
        to_all: false,
        body,
    };
    frame.encode(&mut content);
    let keyring = Keyring::new("test", member_id(voter), &Key::public("test"), &[]);
    keyring.seal(&[0; 24], None, &content, &mut sealed);
    sealed
}

/// A member's loop to which all voters have proven that they run, and the id of its list of voters.
async fn member() -> (Loop, u64) {
    let config = config();
    let (udp_transport, listener) = UdpTransport::open(&config).expect("a port is free");
    let (lease_backends, _events) = LeaseBackends::open(VoterPart::Whole);
    let authority = lease_backends.authority(0, &config.groups[0], "me");
    let authority = authority.await.expect("voters need nothing");
    let (list, port) = (authority.id(), udp_transport.address().port());
    let granted = (authority, InFlight::default());
    let group = config.groups[0].clone();
    let mut group = Node::new(group, "me", port, clock::now(), None, granted, entropy::system());
    for voter in VOTERS {
        let sender = Sender::new(voter, member_id(voter), Incarnation(1), 9);
        group.trust(&sender, (HOME, 9).into());
    }
    let agent = Loop {
        config,
        udp_transport,
        links: Links::open(listener, mpsc::channel(1).0),
        groups: vec![group],
        outbox: Outbox::new(),
        lifelines: BTreeMap::new(),
        probes: BTreeMap::new(),
        other_versions: LogOnce::default(),
        on_notice: mpsc::channel(1).0,
    };
    (agent, list)
}

/// Anyone can record and repeat members' frames. A connection that begins with a repeated frame
/// stays a stranger's.
#[tokio::test]
async fn lifeline_needs_a_sealed_hello_that_is_not_replayed() {
    let (mut agent, _) = member().await;
    let hello = sealed("a", Body::Lifeline);
    let mut forged = hello.clone();
    forged[40] ^= 1;
    let stranger = sealed("d", Body::Lifeline);
    for (frame, is_admitted) in
        [(stranger, false), (forged, false), (hello.clone(), true), (hello, false)]
    {
        let (arrival, verdict) = Arrival::from_stranger(agent.udp_transport.address(), frame);
        agent.on_arrival(clock::now(), arrival);
        assert_eq!(verdict.await, Ok(is_admitted));
    }
    let status = agent.status().groups.remove(0);
    assert!(status.peers.is_empty(), "it tells nothing of datagrams");
}

/// More datagrams wait than the loop handles at once.
#[tokio::test]
async fn link_frames_are_handled_during_a_flood_of_datagrams() {
    let (mut agent, list) = member().await;
    let socket = UdpSocket::bind((HOME, 0)).expect("a port is free");
    for _ in 0..MOST_AT_ONCE * 2 {
        let sent = socket.send_to(b"no frame", agent.udp_transport.address());
        sent.expect("it is sent");
    }
    let (on_frame, mut heard) = mpsc::channel(1);
    let (arrival, mut verdict) =
        Arrival::from_stranger(agent.udp_transport.address(), word("a", list));
    on_frame.try_send(arrival).expect("there is room");
    let mut buffer = [0; BUFFER_BYTES];
    let first = agent.udp_transport.receive(&mut buffer).await;
    assert!(agent.on_datagrams(first, &mut buffer, &mut heard));
    assert_eq!(verdict.try_recv(), Ok(true));
    assert!(agent.udp_transport.try_receive(&mut buffer).is_some());
}

/// A voter that counted a grant from before the request would allow two holders.
#[tokio::test]
async fn waiting_datagrams_are_handled_at_their_own_times() {
    let (mut agent, list) = member().await;
    let socket = UdpSocket::bind((HOME, 0)).expect("a port is free");
    for voter in VOTERS {
        let sent = socket.send_to(&word(voter, list), agent.udp_transport.address());
        sent.expect("it is sent");
    }
    let mut buffer = [0; BUFFER_BYTES];
    let first = agent.udp_transport.receive(&mut buffer).await;
    assert!(!agent.on_datagrams(first, &mut buffer, &mut mpsc::channel(1).1));
    let status = agent.status().groups.remove(0).tenure.expect("fenced");
    let heard: Vec<Instant> = status.voters.iter().filter_map(|it| it.heard).collect();
    assert_eq!(heard.len(), VOTERS.len());
    assert_eq!(heard[0], first.origin.at);
    assert!(heard[0] < heard[1] && heard[1] < heard[2], "{heard:?}");
}

/// Passes the same frame to `agent` 5 times and returns the lines that it logs.
fn lines_after_5(agent: &mut Loop, frame: &[u8]) -> Vec<String> {
    let (channel, from) = (Channel::Unicast, (HOME, 9).into());
    let lines = logged(|| {
        for _ in 0..5 {
            let origin = Origin { channel, from, at: clock::now() };
            assert!(!agent.on_frame(origin, &mut frame.to_vec()));
        }
    });
    lines.into_iter().map(|(_, line)| line).collect()
}

#[tokio::test]
async fn frames_of_another_version_are_counted_and_logged_once_per_host() {
    let (mut agent, _) = member().await;
    let mut frame = sealed("a", Body::Lifeline);
    frame[0] = 1;
    let lines = lines_after_5(&mut agent, &frame);
    let expected = format!(
        "a frame from 127.0.0.1:9 has layout version 1, and this agent uses {VERSION}: run one version of hustings on every member"
    );
    assert_eq!(lines, [expected]);
    let counters = agent.status().groups.remove(0).counters;
    assert_eq!(counters.unknown_version, 5);
}

#[tokio::test]
async fn multicasts_of_other_groups_prove_that_multicast_works() {
    let (mut agent, _) = member().await;
    let mut frame = Vec::new();
    let keyring = Keyring::new("another", member_id("a"), &Key::public("another"), &[]);
    keyring.seal(&[0; 24], None, b"content", &mut frame);
    for (channel, shows) in [(Channel::Unicast, false), (Channel::Multicast, true)] {
        let origin = Origin { channel, from: (HOME, 9).into(), at: clock::now() };
        agent.on_frame(origin, &mut frame.clone());
        assert_eq!(agent.groups[0].hears_other_groups(), shows, "{channel:?}");
    }
}

#[tokio::test]
async fn wrong_keys_cause_warnings_and_other_groups_do_not() {
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
