//! From nomination to tenure, in the simulated network.

use std::sync::mpsc;

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Request, Role, Saved};
use hustings_protocol::{Candidate, Duration, Priority};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{ALL, ANNOUNCE, Field, LISTEN, address, announcing, entropy, id, name};
use crate::authority::quorum::{Kept, Quorum};
use crate::authority::{Authority, InFlight};
use crate::config::{AuthorityConfig, GroupConfig, MULTICAST, QuorumConfig};
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Incarnation, group_id};
use crate::leadership::Mode;
use crate::node::{Node, Outbox};
use crate::peer_table::Channel;
use crate::seal::{Key, Keyring};

pub(super) const TTL: Duration = Duration::from_millis(600);

const NOBODY: [usize; 0] = [];

impl Field {
    /// Five settled members. The first three vote.
    pub(super) fn fenced(takeover: Takeover) -> Self {
        Self::fenced_for(TTL, takeover)
    }

    /// As [`Field::fenced`], with this ttl.
    pub(super) fn fenced_for(ttl: Duration, takeover: Takeover) -> Self {
        let mut field = Self::empty();
        field.ttl = ttl;
        field.admit_five(takeover);
        field
    }

    /// As [`Field::fenced`], without multicasts. All members have `seed` as their only seed.
    pub(super) fn fenced_by_unicast(seed: usize, takeover: Takeover) -> Self {
        let mut field = Self::empty();
        field.seed = Some(seed);
        field.admit_five(takeover);
        field
    }

    fn admit_five(&mut self, takeover: Takeover) {
        for index in ALL {
            self.admit_fenced(takeover, 5 - index as u64, Saved::Initialised(Durable::FOUNDING));
        }
        self.run(Duration::from_secs(1));
    }

    pub(super) fn admit_fenced(&mut self, takeover: Takeover, priority: u64, saved: Saved) {
        self.admit_fenced_by(&[0, 1, 2], takeover, priority, saved);
    }

    /// Starts a member with these voters.
    pub(super) fn admit_fenced_by(
        &mut self,
        voters: &[usize],
        takeover: Takeover,
        priority: u64,
        saved: Saved,
    ) {
        let index = self.members.len();
        let (member, given) = self.fenced_member(index, voters, takeover, priority, saved);
        self.admit_member(member, Some(given), self.told(index), 0);
    }

    /// The seeds of the member `index`: the seed of the simulation, unless it is that member.
    pub(super) fn told(&self, index: usize) -> &'static [usize] {
        let is_told = self.seed.is_some_and(|seed| seed != index);
        self.seed.filter(|_| is_told).map_or(&[], |seed| &ALL[seed..=seed])
    }

    /// A member with the name of `index` that is not started yet, and the writes of its disk.
    pub(super) fn fenced_member(
        &self,
        index: usize,
        voters: &[usize],
        takeover: Takeover,
        priority: u64,
        saved: Saved,
    ) -> (Node, mpsc::Receiver<Vec<u8>>) {
        let quorum = QuorumConfig {
            voters: voters.iter().map(|it| name(*it)).collect(),
            ttl: self.ttl,
            state: None,
        };
        self.member_by(index, quorum, takeover, priority, saved)
    }

    pub(super) fn member_by(
        &self,
        index: usize,
        quorum: QuorumConfig,
        takeover: Takeover,
        priority: u64,
        saved: Saved,
    ) -> (Node, mpsc::Receiver<Vec<u8>>) {
        let (disk, given) = mpsc::channel();
        let kept = Kept { disk: Some(disk), lock: None };
        let is_voter = quorum.is_voter(&name(index));
        let role = Role { votes: is_voter.then_some(saved), stands: true };
        let me = Candidate { priority: Priority(priority), id: id(index) };
        // A seed of its own, whatever its name: two processes draw different numbers.
        let rng = Xoshiro256PlusPlus::seed_from_u64(self.members.len() as u64);
        let voters = (quorum.voters.clone(), quorum.voters_id());
        let part = Quorum::new(me, voters, quorum.terms(), role, rng, kept);
        let told = self.told(self.members.len());
        let protocol = self.protocol.unwrap_or_else(|| announcing(takeover));
        let config = GroupConfig {
            priority: Priority(priority),
            authority: AuthorityConfig::Quorum(quorum),
            multicast: self.seed.is_none().then_some(MULTICAST),
            join: told.iter().map(|&it| address(it).to_string()).collect(),
            ..GroupConfig::plain("test", protocol)
        };
        let granted = (Authority::Quorum(Box::new(part)), InFlight::default());
        let (name, port) = (name(index), address(index).port());
        let member =
            Node::new(config, &name, port, self.now, None, granted, entropy(self.now, port));
        (member, given)
    }

    /// The members that claim to lead.
    pub(super) fn leaders(&self) -> Vec<usize> {
        let leads = |it: &usize| self.members[*it].publisher.leadership().leads;
        (0..self.members.len()).filter(leads).collect()
    }

    pub(super) fn fence(&self, index: usize) -> Option<u64> {
        self.members[index].publisher.leadership().fence
    }

    /// The members that hold tenure, by the authority.
    pub(super) fn holders(&self) -> Vec<usize> {
        let holds = |it: &usize| self.members[*it].tenure.authority().holds(self.now).is_some();
        (0..self.members.len()).filter(holds).collect()
    }

    /// The member that leads and holds tenure, and its fence. All of `who` must know both.
    pub(super) fn settled_on(&self, who: &[usize]) -> (usize, u64) {
        let [leader] = self.leaders()[..] else {
            panic!("{:?} lead", self.leaders());
        };
        assert_eq!(self.holders(), [leader]);
        assert_eq!(self.agreed(who), Some(leader));
        let fence = self.fence(leader).expect("who leads has a fence");
        for &it in who {
            assert_eq!(self.fence(it), Some(fence), "{it}");
        }
        (leader, fence)
    }

    /// The reasons in a member's status why it has no tenure.
    pub(super) fn whys(&self, index: usize) -> Vec<String> {
        let status = self.members[index].tenure_status(self.now);
        let refusals = status.expect("it is fenced").refusals;
        refusals.into_iter().map(|it| it.why).collect()
    }

    pub(super) fn step_down(&mut self, index: usize) {
        let mut out = Outbox::new();
        self.members[index].step_down(self.now, Duration::from_secs(5), None, &mut out);
        self.post(index, out);
    }
}

#[test]
fn nominee_gets_tenure_and_all_members_know_its_fence() {
    let field = Field::fenced(Takeover::Never);
    let (leader, _) = field.settled_on(&ALL);
    for it in ALL {
        let leadership = field.members[it].publisher.leadership();
        assert_eq!(leadership.mode, Mode::Fenced);
        assert_eq!(leadership.leads, it == leader);
    }
}

#[test]
fn tenure_is_renewed_while_it_is_wanted() {
    let mut field = Field::fenced(Takeover::Never);
    let before = field.settled_on(&ALL);
    field.run(TTL * 20);
    assert_eq!(field.settled_on(&ALL), before);
}

/// An election names several members in a row before it settles. The first that gets tenure keeps
/// it.
#[test]
fn holder_is_not_unseated_by_a_later_nominee() {
    let mut apart = 0;
    for _ in 0..40 {
        let mut field = Field::empty();
        for index in ALL {
            let founding = Saved::Initialised(Durable::FOUNDING);
            field.admit_fenced(Takeover::Never, index as u64, founding);
        }
        let mut fences = Vec::new();
        for _ in 0..200 {
            field.run(Duration::from_millis(5));
            fences.extend(field.leaders().first().and_then(|it| field.fence(*it)));
        }
        fences.dedup();
        let (leader, _) = field.settled_on(&ALL);
        assert_eq!(fences.len(), 1, "{fences:?}");
        apart += usize::from(!field.members[leader].context.is_nominee());
    }
    assert!(apart > 0, "it did not happen that another one was named");
}

#[test]
fn renewal_costs_a_question_and_an_answer_for_each_other_voter() {
    const RENEWALS: u64 = 20;
    // The best member is named and holds tenure, so no other member waits and asks.
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let sent = |field: &Field| -> u64 {
        let sent = |it: &Node| it.emit.counters.tenure_sent;
        field.members.iter().map(sent).sum()
    };
    let before = sent(&field);
    // Every third of the ttl, from the request on.
    field.run(Duration(TTL.0 / 3 * RENEWALS));
    let others = (0..3).filter(|voter| *voter != leader).count() as u64;
    assert_eq!(sent(&field) - before, RENEWALS * others * 2);
}

#[test]
fn no_member_leads_before_a_lost_holders_tenure_has_ended() {
    let mut field = Field::fenced(Takeover::Never);
    let (lost, fence) = field.settled_on(&ALL);
    let until = field.members[lost].tenure.authority().holds(field.now);
    let until = until.expect("it holds").until;
    field.sides[lost] = 1;
    while field.now < until {
        field.run(Duration::from_millis(1));
        let others: Vec<usize> = field.leaders().into_iter().filter(|it| *it != lost).collect();
        assert!(field.now >= until || others.is_empty(), "{others:?} at {:?}", field.now);
    }
    field.run(LISTEN + TTL);
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != lost).collect();
    let (next, higher) = field.settled_on(&rest);
    assert!(next != lost && higher > fence);
}

#[test]
fn step_down_releases_tenure_so_that_the_next_need_not_wait() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, fence) = field.settled_on(&ALL);
    field.step_down(former);
    field.run(ANNOUNCE);
    let (next, higher) = field.settled_on(&ALL);
    assert!(next != former && higher > fence);
}

#[test]
fn tenure_is_kept_until_the_work_has_stopped() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let work = field.members[former].in_flight().begin();
    field.step_down(former);
    field.run(TTL * 3);
    assert_eq!(field.leaders(), NOBODY, "its user was told to stop, and nobody may begin");
    assert_eq!(field.holders(), [former]);
    drop(work);
    let mut out = Outbox::new();
    field.members[former].leave_tenure(field.now, &mut out);
    field.post(former, out);
    field.run(Duration::from_millis(50));
    assert_ne!(field.settled_on(&ALL).0, former);
}

#[test]
fn member_that_cannot_work_lets_its_tenure_expire() {
    let mut field = Field::fenced(Takeover::Never);
    let (leader, _) = field.settled_on(&ALL);
    let mut out = Outbox::new();
    field.members[leader].ask_authority(field.now, Request::Healthy(false), &mut out);
    field.post(leader, out);
    field.run(TTL);
    // Another member may have been named, and be next.
    assert!(!field.leaders().contains(&leader) && !field.holders().contains(&leader));
}

#[test]
fn tenure_needs_a_majority_of_voters_and_no_more() {
    for (lost, goes_on) in [(&[2][..], true), (&[1, 2], false)] {
        let mut field = Field::fenced(Takeover::ByTheBetter);
        let (leader, _) = field.settled_on(&ALL);
        assert_eq!(leader, 0, "the best of all, which votes too");
        for voter in lost {
            field.sides[*voter] = 1;
        }
        field.run(TTL * 3);
        assert_eq!(field.holders() == [leader], goes_on, "{lost:?}");
    }
}

#[test]
fn uninitialised_voters_grant_nothing_and_give_the_reason() {
    let mut field = Field::empty();
    for _ in 0..3 {
        field.admit_fenced(Takeover::Never, 0, Saved::Missing);
    }
    field.run(Duration::from_secs(2));
    assert_eq!(field.leaders(), NOBODY);
    let named = field.agreed(&ALL[..3]).expect("the election goes on");
    let status = field.members[named].tenure_status(field.now);
    let refusals = status.expect("it is fenced").refusals;
    assert!(
        refusals.iter().any(|it| it.why.contains("hustings voter init") && it.times > 1),
        "{refusals:?}"
    );
    let times: u64 = refusals.iter().map(|it| it.times).sum();
    assert_eq!(field.members[named].emit.counters.tenure_refusals, times);
}

#[test]
fn nominee_with_a_full_disk_stands_aside() {
    let mut field = Field::empty();
    for priority in [9, 0, 0] {
        field.admit_fenced(Takeover::Never, priority, Saved::Initialised(Durable::FOUNDING));
        if let Some((_, works)) = &mut field.disks[0] {
            *works = false;
        }
    }
    field.run(Duration::from_secs(3));
    let (leader, _) = field.settled_on(&ALL[1..3]);
    assert_ne!(leader, 0);
    let status = field.members[0].tenure_status(field.now);
    let refusals = status.expect("it is fenced").refusals;
    assert!(refusals.iter().any(|it| it.why.contains("no space left")));
    let times: u64 = refusals.iter().map(|it| it.times).sum();
    assert_eq!(field.members[0].emit.counters.tenure_refusals, times);
}

#[test]
fn voter_sends_nothing_before_its_promise_is_on_disk() {
    let mut field = Field::empty();
    for _ in 0..3 {
        field.admit_fenced(Takeover::Never, 0, Saved::Initialised(Durable::FOUNDING));
    }
    // The disks never report that a write is done.
    let stalled: Vec<_> = field.disks.iter_mut().map(Option::take).collect();
    field.run(Duration::from_secs(2));
    assert_eq!((field.leaders(), field.holders()), (vec![], vec![]));
    for ((given, _), index) in stalled.into_iter().flatten().zip(0..) {
        field.disks[index] = Some((given, true));
        field.save(index);
    }
    field.run(Duration::from_secs(2));
    field.settled_on(&ALL[..3]);
}

/// A better member joins and is named, but the old leader's work ends before its own begins.
#[test]
fn better_newcomer_gets_tenure_after_the_leader_released_it() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (former, fence) = field.settled_on(&ALL);
    let work = field.members[former].in_flight().begin();
    field.admit_fenced(Takeover::ByTheBetter, 99, Saved::Missing);
    field.run(ANNOUNCE * 4);
    assert_eq!((field.leaders(), field.holders()), (vec![], vec![former]));
    drop(work);
    let mut out = Outbox::new();
    field.members[former].leave_tenure(field.now, &mut out);
    field.post(former, out);
    field.run(ANNOUNCE * 4);
    let (next, higher) = field.settled_on(&ALL);
    assert_eq!(next, 5);
    assert!(higher > fence);
}

/// The death witness of a dead member sends its last will: voters drop their grants at once.
#[test]
fn last_will_of_a_dead_member_releases_its_tenure() {
    let mut field = Field::fenced(Takeover::Never);
    let (dead, fence) = field.settled_on(&ALL);
    let last_will = field.members[dead].last_will().subscribe();
    // Later frames push the last will's number out of the replay window of every voter.
    field.run(TTL * 100);
    let last_will = last_will.borrow().clone();
    assert!(!last_will.0.is_empty());
    field.sides[dead] = 1;
    field.run(LISTEN + Duration::from_millis(20));
    assert_eq!(field.leaders(), [dead], "its tenure has not run out yet");
    for (to, frame) in last_will.0 {
        let to = ALL.into_iter().find(|it| address(*it) == to).expect("a member");
        field.flights.push(super::Flight {
            at: field.now,
            to,
            from: address(dead),
            channel: Channel::Unicast,
            frame,
        });
    }
    field.run(Duration::from_millis(10));
    // The dead member would still claim to lead.
    let next = field.agreed(&ALL.map(|it| if it == dead { (dead + 1) % 5 } else { it }));
    let next = next.expect("the others agree");
    assert!(next != dead && field.leaders().contains(&next));
    assert!(field.fence(next) > Some(fence));
}

/// Frames under the group's key that no correct member sends.
#[test]
fn malformed_tenure_messages_change_nothing() {
    let mut field = Field::fenced(Takeover::Never);
    let before = field.settled_on(&ALL);
    let (leader, _) = before;
    let stranger =
        Sender::new("stranger", crate::identity::member_id("stranger"), Incarnation(7), 9);
    let noise: Vec<u8> = (0..40).collect();
    let list = field.members[0].tenure.authority().id();
    let bodies = [
        Body::Tenure { to: id(0), authority: list, message: &noise },
        Body::Transfer { to: id(0), within_ns: u64::MAX, fence: u64::MAX, authority: list },
        Body::Tenure { to: id(leader), authority: list, message: &[] },
        Body::Released { authority: list },
        Body::Holds { fence: 0, lasts_ns: u64::MAX, authority: list },
    ];
    for it in ALL {
        field.members[it].trust(&stranger, address(7));
    }
    let keyring = Keyring::new("test", stranger.id, &Key::public("test"), &[]);
    for (number, body) in bodies.into_iter().enumerate() {
        let frame = Frame {
            group: group_id("test"),
            sender: stranger,
            number: number as u64,
            to_all: true,
            body,
        };
        let (mut content, mut sealed) = (Vec::new(), Vec::new());
        frame.encode(&mut content);
        keyring.seal(&[0; 24], None, &content, &mut sealed);
        for to in ALL {
            field.flights.push(super::Flight {
                at: field.now,
                to,
                from: address(7),
                channel: Channel::Multicast,
                frame: sealed.clone(),
            });
        }
    }
    field.run(TTL * 2);
    assert_eq!(field.settled_on(&ALL), before);
    let malformed = field.members.iter().map(|it| it.emit.counters.malformed);
    assert!(malformed.sum::<u64>() > 0);
}

/// Two lists of voters have two majorities. A message of one list must not count in the other.
#[test]
fn frames_with_another_voter_list_are_refused_and_counted() {
    let mut field = Field::empty();
    for priority in [0, 0, 0] {
        field.admit_fenced(Takeover::Never, priority, Saved::Initialised(Durable::FOUNDING));
    }
    field.run(Duration::from_secs(1));
    let before = field.settled_on(&ALL[..3]);
    field.admit_fenced_by(
        &[0, 1, 3],
        Takeover::ByTheBetter,
        99,
        Saved::Initialised(Durable::FOUNDING),
    );
    field.run(TTL * 4);
    assert!(field.members[0].emit.counters.other_voters > 0);
    assert_eq!(field.holders(), [before.0]);
}

#[test]
fn nominee_without_answers_from_voters_says_so() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    assert_eq!(leader, 0);
    field.sides[1] = 1;
    field.sides[2] = 1;
    field.run(Duration::from_secs(8));
    let status = field.members[0].tenure_status(field.now);
    let refusals = status.expect("it is fenced").refusals;
    let told = |it: &crate::node::Refusal| it.why.contains("2 of 3 voters do not answer (m1, m2)");
    assert!(refusals.iter().any(told), "{refusals:?}");
}

#[test]
fn former_leader_without_answers_from_voters_says_so() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    field.run(Duration::from_secs(5));
    assert_eq!(field.settled_on(&ALL).0, 0);
    field.sides[1] = 1;
    field.sides[2] = 1;
    field.run(Duration::from_secs(5));
    let whys = field.whys(0);
    let told = "2 of 3 voters do not answer (m1, m2)";
    assert!(whys.iter().any(|it| it.contains(told)), "{whys:?}");
}
