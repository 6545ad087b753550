//! Tenure with two processes of one name, and with voters at unexpected addresses.

use std::net::SocketAddr;
use std::sync::mpsc;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};
use tokio::sync::mpsc as answers;

use super::tenure::TTL;
use super::{ALL, Field, MIDNIGHT, address, id};
use crate::identity::Incarnation;
use crate::node::Node;

const DAY: u64 = 86_400_000_000_000;

/// The roles of the three voters: 0 holds tenure, 1 has a duplicate, and 2 is down: no grant is
/// possible without 1.
const HOLDER: usize = 0;
const VOTER: usize = 1;
const DOWN: usize = 2;

impl Field {
    /// A bare majority of the voters is up, and the holder has renewed for some time.
    fn with_a_bare_majority() -> Self {
        let field = Self::fenced(Takeover::ByTheBetter);
        assert_eq!(field.settled_on(&ALL).0, HOLDER);
        field.without_one_voter()
    }

    /// The same without multicasts. The voter and its duplicates have `seed` as their only seed.
    fn with_a_bare_majority_by_unicast(seed: usize) -> Self {
        let mut field = Self::fenced_by_unicast(seed, Takeover::ByTheBetter);
        field.run(Duration::from_secs(2));
        assert_eq!(field.settled_on(&ALL).0, HOLDER);
        field.without_one_voter()
    }

    fn without_one_voter(mut self) -> Self {
        self.sides[DOWN] = 9;
        self.run(TTL * 4);
        assert_eq!(self.holders(), [HOLDER]);
        self
    }

    /// Another process with the voter's name, without its disk.
    fn duplicate_name(&self) -> (Node, mpsc::Receiver<Vec<u8>>) {
        self.fenced_member(VOTER, &[0, 1, 2], Takeover::ByTheBetter, 0, Saved::Missing)
    }

    /// Starts the duplicate, with a calendar that is `before` behind.
    fn admit_namesake(&mut self, before: u64) {
        let (mut twin, given) = self.duplicate_name();
        let process_incarnation = Incarnation(twin.context.process_incarnation.0 - before);
        (twin.context.incarnation, twin.context.process_incarnation) =
            (process_incarnation, process_incarnation);
        let told = self.told(self.members.len());
        self.admit_member(twin, Some(given), told, 0);
    }

    fn knows_voter_at(&self, who: usize, place: SocketAddr) -> bool {
        let known = self.members[who].context.peers.get(id(VOTER));
        known.is_some_and(|it| it.address == place)
    }

    fn keeps_its_holder(&mut self, span: Duration) {
        let fence = self.members[HOLDER].tenure.fence();
        let end = self.now + span;
        while self.now < end {
            self.run(Duration::from_millis(1));
            assert_eq!(self.members[HOLDER].tenure.fence(), fence, "at {:?}", self.now);
            assert_eq!(self.holders(), [HOLDER], "at {:?}", self.now);
        }
    }
}

/// By its calendar the newcomer started first.
#[test]
fn duplicate_of_the_holder_does_not_unseat_it() {
    let mut field = Field::fenced(Takeover::Never);
    field.run(Duration::from_secs(1));
    let before = field.settled_on(&ALL);
    let (leader, _) = before;
    let takeover = Takeover::Never;
    let voters = [0, 1, 2];
    let (mut twin, given) = field.fenced_member(leader, &voters, takeover, 9, Saved::Missing);
    let yesterday = Incarnation(twin.context.process_incarnation.0 - DAY);
    (twin.context.incarnation, twin.context.process_incarnation) = (yesterday, yesterday);
    field.admit_member(twin, Some(given), &[], 0);
    for _ in 0..2_000 {
        field.run(Duration::from_millis(1));
        assert_eq!(field.holders(), [leader], "at {:?}", field.now);
    }
    assert!(field.members[5].duplicate_name().is_some());
    assert_eq!(field.settled_on(&ALL), before);
}

/// It was restarted at another address, and its first frames were lost.
#[test]
fn moved_voter_is_found_again() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    field.settled_on(&ALL);
    // The leader has wrong addresses for both other voters.
    for voter in [1, 2] {
        assert!(field.members[0].context.peers.get(id(voter)).is_some());
        field.members[0].context.peers.mislead(id(voter), address(9));
    }
    field.run(TTL * 6);
    assert_eq!(field.settled_on(&ALL).0, 0);
    field.run(TTL * 6);
    field.settled_on(&ALL);
}

/// It starts at any time between two renewals, by the calendar later than the voter or a day before
/// it.
#[test]
fn duplicate_of_a_voter_does_not_unseat_the_holder() {
    for before in [0, DAY] {
        for wait in [0, 40, 80, 120, 160] {
            let mut field = Field::with_a_bare_majority();
            field.run(Duration::from_millis(wait));
            field.admit_namesake(before);
            field.keeps_its_holder(TTL * 4);
            assert!(field.members[5].duplicate_name().is_some());
        }
    }
}

/// The voter hears the other process, and begins a later incarnation before the other has proven to
/// any member that it runs. No member looks for the voter at the wrong address.
#[test]
fn voter_with_a_duplicate_announces_its_address() {
    let mut field = Field::with_a_bare_majority();
    let (twin, given) = field.duplicate_name();
    let incarnation = field.members[VOTER].context.incarnation;
    field.admit_member(twin, Some(given), &[], 0);
    for _ in 0..10 {
        field.run(super::DELAY);
        let mut others = [0, 3, 4].iter();
        assert!(others.all(|it| field.knows_voter_at(*it, address(VOTER))));
    }
    assert!(field.members[VOTER].context.incarnation > incarnation);
    assert!(field.members[5].duplicate_name().is_some());
}

/// `hustings voter init` for a voter that runs: it uses the voter's name, and ends when it hears
/// the voter.
#[test]
fn query_in_the_name_of_a_running_voter_keeps_the_holder() {
    for wait in [0, 40, 80, 120, 160] {
        let mut field = Field::with_a_bare_majority();
        field.run(Duration::from_millis(wait));
        let (twin, given) = field.duplicate_name();
        let (told, _heard) = answers::unbounded_channel();
        field.admit_member(twin, Some(given), &[], 0);
        field.act(5, |it, now, out| it.voter_query(now, told, out));
        field.keeps_its_holder(TTL * 4);
        assert!(field.members[5].duplicate_name().is_some());
    }
}

/// The voter's announcement of its address was lost. The holder calls it over all channels while
/// there is time left to renew.
#[test]
fn holder_with_a_wrong_voter_address_finds_the_voter_in_time() {
    for wait in [0, 40, 80, 120, 160] {
        let mut field = Field::with_a_bare_majority();
        field.run(Duration::from_millis(wait));
        field.members[HOLDER].context.peers.mislead(id(VOTER), address(9));
        field.keeps_its_holder(TTL * 4);
        assert!(field.knows_voter_at(HOLDER, address(VOTER)));
    }
}

/// Neither process knows the other's address, and the third member tells them. By its calendar the
/// newcomer is later than the voter or started a day before it. Its seed is the holder or another
/// member.
#[test]
fn duplicate_that_knows_only_a_third_member_is_refused() {
    for (seed, before) in [(HOLDER, 0), (HOLDER, DAY), (4, 0), (4, DAY)] {
        for wait in [0, 40, 80, 120, 160] {
            let mut field = Field::with_a_bare_majority_by_unicast(seed);
            field.run(Duration::from_millis(wait));
            field.admit_namesake(before);
            field.keeps_its_holder(TTL * 10);
            let refused = field.members.iter().map(|it| it.duplicate_name().is_some());
            assert_eq!(refused.collect::<Vec<_>>(), [false, false, false, false, false, true]);
            let stale_incarnation = [VOTER, 5].map(|it| field.members[it].outlived());
            assert!(
                stale_incarnation.iter().sum::<u64>() <= 3,
                "{stale_incarnation:?} {seed} {before} {wait}"
            );
            for it in [0, 3, 4] {
                assert!(field.knows_voter_at(it, address(VOTER)), "{it}");
            }
        }
    }
}

/// A member that has heard the newcomer informs the voter at once, and the voter announces its
/// address. No question stays unanswered because of that.
#[test]
fn voter_learns_of_an_unheard_duplicate_from_other_members() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    field.admit_namesake(0);
    // Its hello, the challenge, and its answer.
    field.run(super::DELAY * 3);
    assert!(field.knows_voter_at(HOLDER, address(5)));
    // The voter is informed, announces a later incarnation, and proves it.
    field.run(super::DELAY * 4);
    assert!(field.knows_voter_at(HOLDER, address(VOTER)));
    assert!(field.members[5].duplicate_name().is_some());
}

/// `hustings voter init` on a third host, which knows only the holder.
#[test]
fn query_from_another_host_learns_that_the_voter_runs() {
    for before in [0, DAY] {
        let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
        let (told, _heard) = answers::unbounded_channel();
        field.admit_namesake(before);
        field.act(5, |it, now, out| it.voter_query(now, told, out));
        field.keeps_its_holder(TTL * 4);
        assert!(field.members[5].duplicate_name().is_some());
    }
}

/// A supervisor starts it again each time.
#[test]
fn successive_duplicates_do_not_unseat_the_holder() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    for newcomer in 5..25 {
        field.admit_namesake(0);
        field.keeps_its_holder(Duration::from_millis(100));
        assert!(field.members[newcomer].duplicate_name().is_some(), "{newcomer}");
    }
    assert!(field.members[VOTER].duplicate_name().is_none());
}

/// As with a firewall between them. Only an operator can end that; it must not become a storm of
/// frames.
#[test]
fn unreachable_duplicates_begin_incarnations_ever_less_often() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    field.cut = Some([VOTER, 5]);
    field.admit_namesake(0);
    field.run(Duration::from_secs(60));
    for it in [VOTER, 5] {
        assert!(field.members[it].duplicate_name().is_none());
        let times = field.members[it].outlived();
        assert!((2..=60).contains(&times), "{times}");
    }
}

/// Its former process was ahead by a day, and is gone from its address: no process answers there.
#[test]
fn moved_voter_with_a_calendar_set_back_votes_again() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    let ahead = Incarnation(MIDNIGHT + DAY);
    field.act(VOTER, |it, now, out| {
        it.begin_incarnation_after(ahead);
        it.handle(now, &crate::node::Event::SayUp, out);
    });
    field.run(TTL);
    field.sides[VOTER] = 8;
    field.run(TTL * 2);
    assert!(field.holders().is_empty());
    let (again, given) = field.fenced_member(
        VOTER,
        &[0, 1, 2],
        Takeover::ByTheBetter,
        0,
        Saved::Initialised(Durable::FOUNDING),
    );
    field.admit_member(again, Some(given), &[HOLDER], 0);
    field.run(TTL * 10);
    assert_eq!(field.holders(), [HOLDER]);
    assert!(field.members[5].context.incarnation > ahead);
    assert_eq!(field.members[5].outlived(), 1);
    assert!(field.knows_voter_at(HOLDER, address(5)));
}
