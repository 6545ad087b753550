//! Agents over real sockets on this host's loopback interface.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests run in real time"
)]
#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]

mod support;

use std::net::SocketAddr;

use hustings_protocol::{Duration, bully, chang_roberts, modified_ring};
use support::{DEADLINE, Members, POLL, announce, member_of, status_when};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use hustings_agent::config::MULTICAST;
use hustings_agent::frame::{Body, Frame, Sender};
use hustings_agent::identity::{Incarnation, group_id, member_id};
use hustings_agent::seal::{Key, Keyring};
use hustings_agent::{Agent, AgentStatus, ProtocolConfig};
use hustings_system::clock::calendar;

const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn five_members_that_share_only_a_key_elect_one_leader_by_multicast() {
    let mut members = Members::start(5, announce(), "by-multicast").await;
    members.agree().await;
}

#[tokio::test]
async fn another_leader_is_elected_when_the_leader_leaves() {
    let mut members = Members::start(5, announce(), "leader-leaves").await;
    let leader = members.agree().await;
    members.stop(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn another_leader_is_elected_when_the_leader_crashes() {
    let mut members = Members::start(5, announce(), "leader-vanishes").await;
    let leader = members.agree().await;
    members.vanish(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn leader_that_steps_down_becomes_a_follower() {
    let mut members = Members::start(3, announce(), "steps-down").await;
    let leader = members.agree().await;
    members.step_down(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn members_are_found_by_address_without_multicast() {
    let mut members = Members::start_without_multicast(5, announce(), "by-address").await;
    let leader = members.agree().await;
    members.vanish(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn bully_elects_another_leader_after_a_crash() {
    let bound = Duration::from_millis(50);
    let protocol = ProtocolConfig::Bully(bully::Config::field(bound, ELECTION_TIMEOUT));
    let mut members = Members::start(5, protocol, "bullies").await;
    let leader = members.agree().await;
    members.vanish(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn probabilistic_election_elects_another_leader_after_a_crash() {
    for multicast in [true, false] {
        let group = format!("by-chance-{multicast}");
        let bound = Duration::from_millis(5);
        let protocol = ProtocolConfig::probabilistic_field(&group, bound, 3);
        let mut members = match multicast {
            true => Members::start(5, protocol, &group).await,
            false => Members::start_without_multicast(5, protocol, &group).await,
        };
        let leader = members.agree().await;
        members.vanish(leader).await;
        assert_ne!(members.agree().await, leader, "{group}");
    }
}

/// Each member knows eight others. Multicasts go by the network, or from each member to a few
/// others.
#[tokio::test]
async fn members_with_partial_views_estimate_the_group_and_elect_leaders() {
    const MEMBERS: usize = 24;
    const VIEW: u16 = 8;
    for multicast in [Some(MULTICAST), None] {
        let group = format!("few-of-many-{}", multicast.is_some());
        // All members share one thread. A longer bound bears a busier machine, and takes longer.
        let bound = Duration::from_millis(8);
        let protocol = ProtocolConfig::probabilistic_field(&group, bound, 7).knowing_few();
        let mut members = Members::start_many(MEMBERS, protocol, &group, (VIEW, multicast)).await;
        let first = members.agree().await;
        for partial_view in members.partial_views().await {
            assert!(partial_view.known <= usize::from(VIEW), "{group}: {partial_view:?}");
            let size = partial_view.size.unwrap() as f64;
            let error = (size / MEMBERS as f64 - 1.0).abs();
            assert!(error < 0.2, "{group}: {partial_view:?}");
        }
        members.vanish(first).await;
        let second = members.agree().await;
        members.stop(second).await;
        let third = members.agree().await;
        assert!(first != second && second != third && first != third, "{group}");
    }
}

#[tokio::test]
async fn rings_elect_another_leader_after_a_crash() {
    for (protocol, group) in [
        (ProtocolConfig::ChangRoberts(chang_roberts::Config::field(ELECTION_TIMEOUT)), "ring"),
        (
            ProtocolConfig::ModifiedRing(modified_ring::Config::field(ELECTION_TIMEOUT)),
            "modified-ring",
        ),
    ] {
        let mut members = Members::start(5, protocol, group).await;
        let leader = members.agree().await;
        members.vanish(leader).await;
        assert_ne!(members.agree().await, leader, "{group}");
    }
}

#[tokio::test]
async fn later_process_with_a_duplicate_name_ends_with_an_error() {
    let mut members = Members::start(3, announce(), "namesakes").await;
    let leader = members.agree().await;
    let told = members.start_namesake(leader).await;
    assert!(told.contains("give one of the two another name"), "{told}");
    assert_eq!(members.agree().await, leader, "the first one goes on");
}

/// The groups share a multicast address, one without a key and one with. Neither logs a warning
/// about the other.
#[tokio::test]
async fn frames_of_other_groups_do_not_count_as_wrong_keys() {
    let mut one = Members::start(2, announce(), "one-of-two").await;
    let mut other = Members::start(2, announce(), "other-of-two").await;
    one.agree().await;
    other.agree().await;
    one.heard_other_groups().await;
    assert_eq!(one.unknown_keys().await, 0);
}

#[tokio::test]
async fn members_with_another_key_are_not_admitted() {
    let mut members = Members::start(3, announce(), "strangers").await;
    members.agree().await;
    let mut unproven = Members::start(2, announce(), "strangers").await;
    unproven.agree().await;
    members.agree().await;
    assert!(members.unknown_keys().await > 0, "heard, and counted");
}

/// A process that speaks as the member `visitor` of the group `vault`.
struct Visitor {
    socket: UdpSocket,
    agent: SocketAddr,
    sender: Sender<'static>,
}

impl Visitor {
    async fn of(agent: &Agent) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let incarnation = Incarnation::begin(calendar(), 0);
        let sender = Sender::new("visitor", member_id("visitor"), incarnation, port);
        Self { socket, agent: agent.handle().address(), sender }
    }

    /// Seals a frame under the key of the group called `group`.
    fn seal(&self, (group, key): (&str, &Key), number: u64, body: Body<'_>) -> Vec<u8> {
        let sender = self.sender;
        let said = Frame { group: group_id("vault"), sender, number, to_all: false, body };
        let (mut content, mut frame) = (Vec::new(), Vec::new());
        said.encode(&mut content);
        let keyring = Keyring::new(group, sender.id, key, &[]);
        keyring.seal(&[number as u8; 24], None, &content, &mut frame);
        frame
    }

    async fn say(&self, under: (&str, &Key), number: u64, body: Body<'_>) {
        let frame = self.seal(under, number, body);
        self.socket.send_to(&frame, self.agent).await.unwrap();
    }

    /// Says hello with the frame number 0, and answers the challenge with the number 1.
    async fn prove_itself(&self, key: &Key) {
        self.say(("vault", key), 0, Body::Hello { alone: true }).await;
        let own = Keyring::new("vault", self.sender.id, key, &[]);
        let mut buffer = [0; 2_048];
        let length = self.socket.recv(&mut buffer).await.unwrap();
        let content = own.open(&mut buffer[..length]).unwrap();
        let Body::Ping { challenge } = Frame::decode(content).unwrap().body else {
            panic!("it is not challenged");
        };
        self.say(("vault", key), 1, Body::Pong { challenge, since: 0, asks: None }).await;
    }
}

/// The key of one of an agent's groups gives no access to its other groups.
#[tokio::test]
async fn frame_for_one_group_under_the_key_of_another_is_rejected() {
    let keys = [(); 2].map(|()| Key::generate().unwrap());
    let agent = member_of(&[("vault", &keys[0]), ("lobby", &keys[1])]).await;
    let alone =
        status_when(&agent, |status| status.groups.iter().all(|group| group.leadership.leads));
    let alone = alone.await;
    let visitor = Visitor::of(&agent).await;
    let hello = Body::Hello { alone: true };

    visitor.say(("lobby", &keys[1]), 0, hello).await;
    let told = |status: &AgentStatus| {
        let counted = status.groups.iter().map(|it| it.counters);
        counted.map(|it| it.other_group + it.heard).sum::<u64>() > 0
    };
    let status = status_when(&agent, told).await;
    let [vault, lobby] = &status.groups[..] else {
        panic!("{status:#?}");
    };
    assert_eq!((vault.counters.heard, lobby.counters.other_group), (0, 1));
    assert_eq!(vault.peers, []);
    assert_eq!(vault.leadership, alone.groups[0].leadership);

    // The header names the other group, and its key is unknown to this group.
    visitor.say(("vault", &keys[1]), 0, hello).await;
    let status = status_when(&agent, |status| status.groups[0].counters.unknown_key > 0).await;
    assert_eq!(status.groups[0].counters.heard, 0);

    // The rest of the frame is valid: the visitor only has to prove that it runs.
    visitor.prove_itself(&keys[0]).await;
    let status = status_when(&agent, |status| status.groups[0].counters.heard == 2).await;
    assert_eq!(status.groups[0].peers[0].peer.name, "visitor");
}

/// A recorded frame does not keep a connection open, and neither does silence.
#[tokio::test]
async fn connection_without_a_new_frame_of_a_member_is_closed() {
    let key = Key::generate().unwrap();
    let agent = member_of(&[("vault", &key)]).await;
    let visitor = Visitor::of(&agent).await;
    visitor.prove_itself(&key).await;
    status_when(&agent, |status| status.groups[0].counters.heard == 2).await;
    let hello = visitor.seal(("vault", &key), 2, Body::Lifeline);
    let hello = [&(hello.len() as u32).to_be_bytes(), &hello[..]].concat();
    let connect = async |bytes: &[u8]| {
        let mut stream = TcpStream::connect(visitor.agent).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    };
    let mut lifeline = connect(&hello).await;
    status_when(&agent, |status| status.groups[0].counters.heard == 3).await;
    for bytes in [&hello[..0], &hello] {
        let mut stranger = connect(bytes).await;
        let closed = timeout(DEADLINE, stranger.read(&mut [0])).await;
        assert!(closed.is_ok(), "a connection with {} bytes stays open", bytes.len());
    }
    // It was opened before the others.
    assert!(timeout(POLL, lifeline.read(&mut [0])).await.is_err(), "the lifeline was closed");
}
