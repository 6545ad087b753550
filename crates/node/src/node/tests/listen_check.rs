//! Fixed and measured listen intervals under loss.

use hustings_protocol::Duration;
use hustings_protocol::announce::{self, Listen, Takeover};
use hustings_testkit::logged;
use tracing::Level;

use super::{ALL, ANNOUNCE, DELAY, Field, name};
use crate::config::ProtocolConfig;

/// Five members that settle, and then lose `percent` of their frames for a minute.
fn under_loss(protocol: ProtocolConfig, percent: u64) -> Field {
    let mut field = Field::empty();
    for _ in ALL {
        field.enter(protocol, 0, &[], 0);
    }
    field.run(Duration::from_secs(5));
    field.lost_percent = percent;
    field.run(Duration::from_secs(60));
    field
}

#[test]
fn listen_interval_too_short_for_the_loss_is_warned_of() {
    let fixed = |listen| {
        ProtocolConfig::Announce(announce::Config {
            takeover: Takeover::Never,
            listen: Listen::For(listen),
            ..announce::Config::field(ANNOUNCE)
        })
    };
    for (listen, percent, is_warned_of) in
        [(ANNOUNCE * 3, 30, true), (ANNOUNCE * 3, 0, false), (ANNOUNCE * 20, 30, false)]
    {
        let mut asked = Vec::new();
        let lines = logged(|| {
            let field = under_loss(fixed(listen), percent);
            asked.extend(ALL.iter().filter_map(|it| field.members[*it].asked_for_listen()));
        });
        let most = asked.iter().max();
        let is_warning = |(level, line): &&(Level, String)| {
            *level == Level::WARN && line.contains(&format!("and listen {listen} is too short"))
        };
        let warnings: Vec<&(Level, String)> = lines.iter().filter(is_warning).collect();
        assert_eq!(!warnings.is_empty(), is_warned_of, "{listen}, {percent} %");
        // Each warning of a member asks for at least a quarter more than the one before.
        assert!(warnings.len() <= ALL.len() * 8, "{} warnings", warnings.len());
        for needed in &asked {
            let ending = format!("set listen to auto, or to {needed} or more, on all members");
            assert!(warnings.iter().any(|it| it.1.ends_with(&ending)), "{needed}: {warnings:?}");
        }
        assert_eq!(most.is_some(), is_warned_of, "{listen}, {percent} %");
        // About 12.5 announce intervals at 30 % loss, by the measurement of each member.
        let is_fit = |it: &Duration| (ANNOUNCE * 7..=ANNOUNCE * 16).contains(it);
        assert!(most.is_none_or(is_fit), "{most:?}");
    }
}

#[test]
fn measured_listen_interval_keeps_the_leader_under_loss() {
    for percent in [20, 30] {
        let protocol = ProtocolConfig::announce_field(ANNOUNCE);
        let mut field = under_loss(protocol, 0);
        field.lost_percent = percent;
        let before = field.changes(&ALL);
        field.run(Duration::from_secs(600));
        assert_eq!(field.changes(&ALL), before, "{percent} % lost");
        assert!(ALL.iter().all(|it| field.members[*it].asked_for_listen().is_none()));
    }
}

/// A restarted member assumes a loss that it has not measured. By that alone it would keep a lost
/// leader although it hears the next one.
#[test]
fn restarted_follower_follows_the_next_leader_with_the_others() {
    for restarts in 1..5 {
        let protocol = ProtocolConfig::announce_field(ANNOUNCE);
        let mut field = Field::empty();
        for priority in [5, 4, 3, 2, 1] {
            field.enter(protocol, priority, &[], 0);
        }
        field.run(Duration::from_secs(20));
        assert_eq!(field.agreed(&ALL), Some(0));
        field.sides[restarts] = 9;
        field.enter_as(&name(restarts), protocol, 5 - restarts as u64, &[], 0);
        field.run(Duration::from_millis(1_050));
        let survivors: Vec<usize> = (1..6).filter(|it| *it != restarts).collect();
        assert_eq!(field.agreed(&survivors), Some(0), "{restarts}");
        field.sides[0] = 8;
        // The last announcement came up to one interval before. Two members announce themselves,
        // and the last question is answered.
        field.run(Duration(ANNOUNCE.0 / 2 * 5) + Duration::from_millis(15) + DELAY * 4);
        let next = field.agreed(&survivors);
        assert!(next.is_some() && next != Some(0), "{restarts}: {next:?}");
    }
}

#[test]
fn stepped_down_member_misses_a_lost_leader_with_the_others() {
    let mut field = Field::empty();
    for priority in [5, 4, 3, 2, 1] {
        field.enter(ProtocolConfig::announce_field(ANNOUNCE), priority, &[], 0);
    }
    field.run(Duration::from_secs(20));
    field.act(3, |member, now, out| {
        member.step_down(now, Duration::from_secs(600), None, out);
    });
    field.run(Duration::from_secs(20));
    assert_eq!(field.agreed(&ALL), Some(0));
    field.sides[0] = 8;
    field.run(Duration(ANNOUNCE.0 / 2 * 5) + Duration::from_millis(15) + DELAY * 4);
    let next = field.agreed(&ALL[1..]);
    assert!(next.is_some() && next != Some(3), "{next:?}");
}
