//! Agents over real sockets on this host's loopback.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests run in real time"
)]
#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]

mod support;

use hustings_protocol::{Duration, bully, chang_roberts, modified_ring};
use support::{Members, announce, member_of, status_when};

use hustings_agent::ProtocolConfig;
use hustings_agent::config::MULTICAST;
use hustings_agent::frame::{Body, Frame, Sender};
use hustings_agent::identity::{Life, calendar, group_id, member_id};
use hustings_agent::seal::{Key, Keyring};

const PATIENCE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn five_members_that_share_nothing_but_a_key_elect_one_leader_by_multicast() {
    let mut members = Members::start(5, announce(), "by-multicast").await;
    members.agree().await;
}

#[tokio::test]
async fn the_others_elect_another_when_the_leader_leaves() {
    let mut members = Members::start(5, announce(), "leader-leaves").await;
    let leader = members.agree().await;
    members.stop(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn the_others_elect_another_when_the_leader_vanishes() {
    let mut members = Members::start(5, announce(), "leader-vanishes").await;
    let leader = members.agree().await;
    members.vanish(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn a_leader_that_steps_down_follows() {
    let mut members = Members::start(3, announce(), "steps-down").await;
    let leader = members.agree().await;
    members.step_down(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn without_multicast_members_are_found_by_address() {
    let mut members = Members::start_without_multicast(5, announce(), "by-address").await;
    let leader = members.agree().await;
    members.vanish(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn bullies_agree_and_go_on_without_their_leader() {
    let bound = Duration::from_millis(50);
    let protocol = ProtocolConfig::Bully(bully::Config::field(bound, PATIENCE));
    let mut members = Members::start(5, protocol, "bullies").await;
    let leader = members.agree().await;
    members.vanish(leader).await;
    assert_ne!(members.agree().await, leader);
}

#[tokio::test]
async fn a_probabilistic_election_goes_on_without_its_leader() {
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

/// Each knows eight of the others, and what is said to all goes by multicast, or from each to a few.
#[tokio::test]
async fn members_that_know_few_of_many_count_themselves_and_elect_one_leader_after_the_other() {
    const MEMBERS: usize = 24;
    const VIEW: u16 = 8;
    for multicast in [Some(MULTICAST), None] {
        let group = format!("few-of-many-{}", multicast.is_some());
        let bound = Duration::from_millis(5);
        let protocol = ProtocolConfig::probabilistic_field(&group, bound, 7).knowing_few();
        let mut members = Members::start_many(MEMBERS, protocol, &group, (VIEW, multicast)).await;
        let first = members.agree().await;
        for circle in members.circles().await {
            assert!(circle.known <= usize::from(VIEW), "{group}: {circle:?}");
            let size = circle.size.unwrap() as f64;
            let error = (size / MEMBERS as f64 - 1.0).abs();
            assert!(error < 0.2, "{group}: {circle:?}");
        }
        members.vanish(first).await;
        let second = members.agree().await;
        members.stop(second).await;
        let third = members.agree().await;
        assert!(
            first != second && second != third && first != third,
            "{group}"
        );
    }
}

#[tokio::test]
async fn rings_close_over_a_dead_leader() {
    for (protocol, group) in [
        (
            ProtocolConfig::ChangRoberts(chang_roberts::Config::field(PATIENCE)),
            "ring",
        ),
        (
            ProtocolConfig::ModifiedRing(modified_ring::Config::field(PATIENCE)),
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
async fn the_later_of_two_namesakes_takes_no_part_and_says_so() {
    let mut members = Members::start(3, announce(), "namesakes").await;
    let leader = members.agree().await;
    let told = members.start_namesake(leader).await;
    assert!(told.contains("give one of the two another name"), "{told}");
    assert_eq!(members.agree().await, leader, "the first one goes on");
}

/// They meet at one multicast address, without a key and with one: none of them has to be warned of the other.
#[tokio::test]
async fn other_groups_are_told_apart_from_wrong_keys() {
    let mut one = Members::start(2, announce(), "one-of-two").await;
    let mut other = Members::start(2, announce(), "other-of-two").await;
    one.agree().await;
    other.agree().await;
    one.heard_other_groups().await;
    assert_eq!(one.unknown_keys().await, 0);
}

#[tokio::test]
async fn members_with_another_key_are_strangers() {
    let mut members = Members::start(3, announce(), "strangers").await;
    members.agree().await;
    let mut strangers = Members::start(2, announce(), "strangers").await;
    strangers.agree().await;
    members.agree().await;
    assert!(members.unknown_keys().await > 0, "heard, and counted");
}

/// Whoever has the key of one of an agent's groups is not thereby a member of the others.
#[tokio::test]
async fn a_frame_for_one_group_under_the_key_of_another_is_not_let_in() {
    let keys = [(); 2].map(|()| Key::generate().unwrap());
    let agent = member_of(&[("vault", &keys[0]), ("lobby", &keys[1])]).await;
    let alone = status_when(&agent, |status| {
        status.groups.iter().all(|group| group.leadership.leads)
    });
    let alone = alone.await;

    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let visitor = member_id("visitor");
    let port = socket.local_addr().unwrap().port();
    let sender = Sender::new("visitor", visitor, Life::begin(calendar(), 0), port);
    let say_under = async |group: &str, key: &Key, number: u64, body: Body<'_>| {
        let said = Frame {
            group: group_id("vault"),
            sender,
            number,
            to_all: false,
            body,
        };
        let (mut content, mut frame) = (Vec::new(), Vec::new());
        said.encode(&mut content);
        let keyring = Keyring::new(group, visitor, key, &[]);
        keyring.seal(&[number as u8; 24], None, &content, &mut frame);
        let address = agent.handle().address();
        socket.send_to(&frame, address).await.unwrap();
    };
    let hello = Body::Hello { alone: true };

    say_under("lobby", &keys[1], 0, hello).await;
    let told = |status: &hustings_agent::AgentStatus| {
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

    // Of the other group by its header too, it is under a key that this group does not have.
    say_under("vault", &keys[1], 0, hello).await;
    let status = status_when(&agent, |status| status.groups[0].counters.unknown_key > 0).await;
    assert_eq!(status.groups[0].counters.heard, 0);

    // Nothing else was wrong with it: the visitor only has to prove that it runs.
    say_under("vault", &keys[0], 0, hello).await;
    let own = Keyring::new("vault", visitor, &keys[0], &[]);
    let mut buffer = [0; 2_048];
    let length = socket.recv(&mut buffer).await.unwrap();
    let content = own.open(&mut buffer[..length]).unwrap();
    let Body::Knock { challenge } = Frame::decode(content).unwrap().body else {
        panic!("it is not challenged");
    };
    let here = Body::Here {
        challenge,
        since: 0,
        asks: None,
    };
    say_under("vault", &keys[0], 1, here).await;
    let status = status_when(&agent, |status| status.groups[0].counters.heard == 2).await;
    assert_eq!(status.groups[0].peers[0].peer.name, "visitor");
}
