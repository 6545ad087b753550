//! The verdict and the causes of leader changes, in the simulated network.

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};
use hustings_protocol::{Duration, Instant};

use super::{ALL, DELAY, Field, id, name};
use crate::config::QuorumConfig;
use crate::control::Resignation;
use crate::node::{Health, HealthState, Level, Node, Outbox, PeerStatus};
use crate::seal::Rejected;

const SECOND: Duration = Duration::from_secs(1);

impl Field {
    fn health(&self, index: usize) -> Health {
        self.members[index].status(self.now).health
    }

    fn state(&self, index: usize) -> HealthState {
        self.health(index).state
    }

    #[track_caller]
    fn assert_well(&self, who: &[usize]) {
        for &it in who {
            let health = self.health(it);
            assert_eq!(health.level, Level::Good, "{it}: {health:?}");
        }
    }

    /// Runs until the next event.
    fn step(&mut self) {
        let flights = self.flights.iter().map(|it| it.at);
        let timers = self.members.iter().filter_map(Node::due);
        let next = flights.chain(timers).min().expect("there is always more");
        self.run(next.max(self.now) - self.now);
    }

    fn cause(&self, index: usize) -> String {
        self.members[index].publisher.leadership().cause.clone()
    }
}

/// Followers are silent, and no member is taken for cut off because of that.
#[test]
fn complete_group_is_always_healthy() {
    for lost_percent in [0, 10] {
        let mut field = Field::settled(Takeover::Never, &[0; 3]);
        field.lost_percent = lost_percent;
        for _ in 0..60 {
            field.run(SECOND);
            field.assert_well(&ALL[..3]);
        }
    }
}

#[test]
fn isolated_host_is_unhealthy_whether_it_led_or_followed() {
    for led in [true, false] {
        let mut field = Field::settled(Takeover::Never, &[0; 3]);
        let leader = field.agreed(&ALL[..3]).expect("they agree");
        let alone = if led { leader } else { (leader + 1) % 3 };
        let rest: Vec<usize> = (0..3).filter(|it| *it != alone).collect();
        field.run(SECOND * 20);
        field.sides[alone] = 1;
        field.run(SECOND * 8);
        let health = field.health(alone);
        assert_eq!(health.state, HealthState::CutOff, "{health:?}");
        assert_ne!(health.level, Level::Good);
        field.assert_well(&rest);
        field.sides.fill(0);
        field.run(SECOND * 3);
        field.assert_well(&ALL[..3]);
    }
}

#[test]
fn isolated_holder_first_reports_silent_voters() {
    let mut field = Field::fenced(Takeover::Never);
    let (leader, _) = field.settled_on(&ALL);
    field.run(SECOND * 20);
    field.assert_well(&ALL);
    field.sides[leader] = 1;
    field.run(SECOND * 2);
    assert_ne!(field.health(leader).level, Level::Good);
    field.run(SECOND * 20);
    let health = field.health(leader);
    assert_eq!((health.state, health.level), (HealthState::CutOff, Level::Bad));
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != leader).collect();
    for it in rest {
        // One voter of three is gone. Only the next leader can tell.
        assert_ne!(field.health(it).level, Level::Bad, "{:?}", field.health(it));
    }
    field.sides.fill(0);
    field.run(SECOND * 75);
    field.assert_well(&ALL);
}

/// Its tenure lasts for another half of the ttl. It cannot know before a renewal was due and was
/// left unanswered.
#[test]
fn holder_reports_a_lost_majority_as_soon_as_a_renewal_is_not_answered() {
    for ttl in [Duration::from_millis(600), SECOND * 3, SECOND * 30] {
        let mut field = Field::fenced_for(ttl, Takeover::Never);
        let (leader, fence) = field.settled_on(&ALL);
        field.run(ttl * 2);
        let lost = |field: &Field| field.state(leader) == HealthState::NoMajority;
        let remaining = |field: &Field| {
            let tenure = field.members[leader].status(field.now).tenure.expect("fenced");
            (tenure.remaining, tenure.reached().len())
        };
        for it in (0..3).filter(|it| *it != leader) {
            field.sides[it] = 9;
        }
        while !lost(&field) {
            assert_eq!(field.fence(leader), Some(fence), "not before its tenure has ended");
            assert_eq!(field.health(leader).state, HealthState::Leading);
            field.run(Duration(ttl.0 / 100));
        }
        let (left, reached) = remaining(&field);
        let left = left.expect("it holds");
        assert!(left > Duration(ttl.0 * 45 / 100) && left < Duration(ttl.0 * 51 / 100), "{left}");
        assert_eq!(reached, 1);
        // It stays so, also when tenure has ended, until the voters are back.
        let ends = field.now + left;
        while field.now < ends + SECOND {
            assert!(lost(&field), "{:?} at {:?}", field.health(leader), field.now);
            field.run(Duration(ttl.0 / 100));
        }
        field.sides.fill(0);
        field.run(SECOND * 75);
        field.assert_well(&ALL);
    }
}

/// Questions are open for a moment, one voter comes and goes, and tenure is renewed all the same.
#[test]
fn holder_whose_renewals_succeed_never_reports_a_lost_majority() {
    let mut field = Field::fenced(Takeover::Never);
    let (leader, fence) = field.settled_on(&ALL);
    let voter = (0..3).find(|it| *it != leader).expect("one of three");
    for round in 0..200 {
        field.sides[voter] = if round % 3 == 0 { 9 } else { 0 };
        let end = field.now + Duration::from_millis(50);
        while field.now < end {
            field.step();
            assert_eq!(field.fence(leader), Some(fence));
            assert_eq!(field.state(leader), HealthState::Leading, "{:?}", field.health(leader));
        }
    }
}

/// The number of voters and the refusal give the same reason.
#[test]
fn lost_majority_of_voters_is_reported_the_same_way_everywhere() {
    let mut field = Field::fenced(Takeover::Never);
    field.settled_on(&ALL);
    for it in [1, 2] {
        field.sides[it] = 9;
    }
    let here = [0, 3, 4];
    let mut seen = [false; 2];
    for _ in 0..400 {
        field.run(Duration::from_millis(50));
        for it in here {
            let status = field.members[it].status(field.now);
            let tenure = status.tenure.as_ref().expect("fenced");
            let complaint = tenure.refusals.last();
            let complaint = complaint.filter(|it| field.now - it.at < Duration::from_millis(50));
            let is_told = complaint.is_some_and(|it| it.why.starts_with("2 of 3 voters do not"));
            if is_told && tenure.hears_voters() {
                assert_eq!(tenure.reached().len(), 1, "{tenure:?}");
                assert_eq!(status.health.state, HealthState::NoMajority);
                seen[0] = true;
            }
            if status.health.state == HealthState::StandsAside {
                let summary = &status.health.summary;
                assert!(summary.contains("2 of 3 voters do not answer"), "{summary}");
                assert!(status.aside.is_some());
                seen[1] = true;
            }
        }
    }
    assert_eq!(seen, [true; 2], "a lost majority, a member that stands aside");
}

/// Independent of which members are named meanwhile.
#[test]
fn every_member_of_a_group_without_a_holder_becomes_bad() {
    let mut field = Field::fenced(Takeover::Never);
    field.settled_on(&ALL);
    for it in [1, 2] {
        field.sides[it] = 9;
    }
    field.run(SECOND * 8);
    for _ in 0..400 {
        field.run(Duration::from_millis(50));
        for it in [0, 3, 4] {
            let health = field.health(it);
            assert_eq!(health.level, Level::Bad, "{it}: {health:?}");
        }
    }
    field.sides.fill(0);
    field.run(SECOND * 75);
    field.assert_well(&ALL);
}

#[test]
fn frames_under_another_key_are_warned_of_for_ten_seconds() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    field.members[0].refuse(field.now, Rejected::Key);
    field.run(SECOND);
    assert_eq!(field.health(0).level, Level::Warning);
    field.assert_well(&[1, 2]);
    field.run(SECOND * 10);
    field.assert_well(&ALL[..3]);
    field.members[0].refuse(field.now, Rejected::Group);
    field.assert_well(&ALL[..3]);
}

#[test]
fn leader_drops_dead_members_unless_it_is_isolated() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let dead = (leader + 1) % 4;
    field.sides[dead] = 1;
    // The names that the leader lists, and those among them that do not answer.
    let listed = |field: &Field| {
        let peer_table = field.members[leader].status(field.now).peers;
        let waits = |it: &PeerStatus| it.silent_for.is_some_and(|it| it >= SECOND * 2);
        let silent: Vec<String> =
            peer_table.iter().filter(|it| waits(it)).map(|it| it.peer.name.clone()).collect();
        (peer_table.len(), silent)
    };
    field.run(SECOND * 30);
    assert_eq!(listed(&field), (3, vec![name(dead)]));
    field.run(SECOND * 60);
    assert_eq!(listed(&field), (2, Vec::new()));
    field.assert_well(&[leader]);
    field.sides[dead] = 0;
    field.run(SECOND * 30);
    assert_eq!(listed(&field).1, Vec::<String>::new());
    let before = listed(&field).0;
    field.sides[leader] = 1;
    field.run(SECOND * 200);
    assert_eq!(listed(&field).0, before);
    assert_eq!(field.state(leader), HealthState::CutOff);
}

#[test]
fn leader_does_not_drop_a_voter_that_does_not_answer() {
    let mut field = Field::fenced(Takeover::Never);
    let (leader, _) = field.settled_on(&ALL);
    let voter = (0..3).find(|it| *it != leader).expect("one of three");
    for it in [voter, 4] {
        field.sides[it] = 1;
    }
    field.run(SECOND * 120);
    let peer_table = field.members[leader].status(field.now).peers;
    let has = |index: usize| peer_table.iter().any(|it| it.peer.name == name(index));
    assert_eq!([voter, 4].map(has), [true, false]);
    let waits = |it: &PeerStatus| it.silent_for.is_some_and(|it| it >= SECOND * 2);
    let silent: Vec<&str> =
        peer_table.iter().filter(|it| waits(it)).map(|it| it.peer.name.as_str()).collect();
    assert_eq!(silent, [name(voter)]);
}

#[test]
fn every_change_of_leader_has_its_cause() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let follower = (leader + 1) % 3;
    let said = format!("`{}` announced that it leads", name(leader));
    assert_eq!(field.cause(follower), said);

    // The leader's process dies.
    field.sides[leader] = 1;
    let mut out = Outbox::new();
    field.members[follower].suspect(field.now, id(leader), DELAY * 2, &mut out);
    field.post(follower, out);
    field.run(DELAY * 20);
    let died = format!("the process of `{}` died", name(leader));
    assert_eq!(field.cause(follower), died);

    // A leader falls silent.
    field.run(SECOND);
    let rest = [follower, (leader + 2) % 3];
    let next = field.agreed(&rest).expect("they agree");
    let last = rest.into_iter().find(|it| *it != next).expect("one of two");
    field.sides[next] = 2;
    let mut causes = vec![field.cause(last)];
    while field.leader_of(last) != Some(id(last)) {
        field.step();
        causes.push(field.cause(last));
    }
    causes.dedup();
    let silent = format!("the last frame of `{}` arrived 0.3 s ago", name(next));
    let elected = format!("elected, with no other leader, after {silent}");
    assert_eq!(causes[1..], [silent, elected]);

    // A leader steps down.
    field.sides.fill(last as u8 + 4);
    field.step_down(last);
    assert_eq!(field.cause(last), "this member stepped down");
    assert!(field.members[last].status(field.now).aside.is_some());
}

/// No failure detector runs, and followers are silent. A dead member must not look like a silent
/// one.
#[test]
fn leader_known_to_be_dead_is_listed_as_down_until_it_is_heard() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let follower = (leader + 1) % 3;
    let up = |field: &Field, of: usize| {
        let peers = field.members[follower].status(field.now).peers;
        let peer = peers.iter().find(|it| it.peer.name == name(of));
        peer.expect("it was heard").up
    };
    assert_eq!(up(&field, leader), None);
    field.sides[leader] = 1;
    let suspect = |member: &mut Node, now, out: &mut Outbox| {
        member.suspect(now, id(leader), DELAY * 2, out);
    };
    field.act(follower, suspect);
    field.run(DELAY * 20);
    assert_eq!(up(&field, leader), Some(false));
    field.run(SECOND * 20);
    assert_eq!(up(&field, leader), Some(false));
    field.sides.fill(0);
    field.run(SECOND * 3);
    assert_eq!(up(&field, leader), None);
}

#[test]
fn death_of_a_leader_with_tenure_is_the_cause_of_the_next() {
    let mut field = Field::fenced(Takeover::Never);
    let (leader, _) = field.settled_on(&ALL);
    field.sides[leader] = 1;
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != leader).collect();
    for &it in &rest {
        let mut out = Outbox::new();
        field.members[it].suspect(field.now, id(leader), DELAY * 2, &mut out);
        field.post(it, out);
    }
    let mut causes = vec![Vec::new(); ALL.len()];
    while field.now < Instant::START + SECOND * 4 {
        field.step();
        for &it in &rest {
            causes[it].push(field.cause(it));
        }
    }
    field.settled_on(&rest);
    let died = format!("the process of `{}` died", name(leader));
    for &it in &rest {
        causes[it].dedup();
        assert_eq!(causes[it][1], died, "{it}: {:?}", causes[it]);
        let later = causes[it][2..].iter();
        let mut later = later.filter(|cause| cause.contains(&name(leader)));
        assert!(later.all(|cause| cause.ends_with(&died)), "{:?}", causes[it]);
    }
}

#[test]
fn ended_command_appears_in_cause_and_verdict() {
    for is_fenced in [true, false] {
        let mut field = match is_fenced {
            true => Field::fenced(Takeover::Never),
            false => Field::settled(Takeover::Never, &[0; 5]),
        };
        let leader = field.agreed(&ALL).expect("they agree");
        let why = "this member's command ended with code 7".to_owned();
        let is_failure = true;
        let mut out = Outbox::new();
        let resignation = Resignation { why, is_failure };
        field.members[leader].resign(field.now, SECOND * 5, resignation, &mut out);
        field.post(leader, out);
        assert_eq!(field.cause(leader), "this member's command ended with code 7");
        field.run(SECOND);
        let health = field.health(leader);
        assert_eq!(health.state, HealthState::StandsAside);
        assert_eq!(health.level, Level::Warning);
        assert!(health.summary.contains("(this member's command ended with code 7)"), "{health:?}");
        field.run(SECOND * 8);
        field.assert_well(&ALL);
    }
}

#[test]
fn gain_and_loss_of_tenure_are_reported_as_causes() {
    let mut field = Field::fenced(Takeover::Never);
    let (leader, _) = field.settled_on(&ALL);
    assert_eq!(field.cause(leader), "tenure was granted");
    let follower = (leader + 1) % 5;
    let said = format!("`{}` announced that it holds tenure", name(leader));
    assert_eq!(field.cause(follower), said);
    let before = field.changes(&[leader]);
    field.sides[leader] = 1;
    field.run(SECOND);
    assert_eq!(field.changes(&[leader]), before + 1);
    assert_eq!(field.cause(leader), "tenure was not renewed in time");
}

/// The hosts use their full names, and the voters are listed by short names.
#[test]
fn misnamed_voters_are_not_searched_in_the_network() {
    let mut field = Field::empty();
    let voters = ["m0.example.org", "m1.example.org", "m2.example.org"];
    for index in 0..3 {
        let quorum =
            QuorumConfig { voters: voters.map(str::to_owned).into(), ttl: field.ttl, state: None };
        let saved = Saved::Initialised(Durable::FOUNDING);
        let (member, given) = field.member_by(index, quorum, Takeover::Never, 0, saved);
        field.admit_member(member, Some(given), &[], 0);
    }
    field.run(SECOND * 5);
    let named = field.agreed(&ALL[..3]).expect("they agree");
    let whys = field.whys(named);
    let why = whys.last().expect("it is told why");
    assert!(why.contains("3 of 3 voters do not answer"), "{why}");
    assert!(why.contains("voters are identified by their whole names"), "{why}");
    assert!(!why.contains("network"), "{why}");
    assert_eq!(field.state(named), HealthState::NoMajority);
}
