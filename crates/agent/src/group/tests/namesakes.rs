//! Tenure, and two that go by one name; and voters that are not where they are looked for.

use std::net::SocketAddr;
use std::sync::mpsc;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};
use tokio::sync::mpsc as answers;

use super::tenancy::TTL;
use super::{ALL, Field, MIDNIGHT, address, id};
use crate::group::Group;
use crate::identity::Life;

const DAY: u64 = 86_400_000_000_000;

/// Of three voters, 0 holds, 1 has a namesake, and 2 is down: nothing goes without 1.
const HOLDER: usize = 0;
const VOTER: usize = 1;
const DOWN: usize = 2;

impl Field {
    /// A bare majority of the voters is there, and the holder has renewed for some time.
    fn with_a_bare_majority() -> Self {
        let field = Self::fenced(Takeover::ByTheBetter);
        assert_eq!(field.settled_on(&ALL).0, HOLDER);
        field.without_one_voter()
    }

    /// The same without multicasts, where the voter and its namesakes know nobody but `seed` by themselves.
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

    /// Another process by the voter's name, without its disk.
    fn namesake(&self) -> (Group, mpsc::Receiver<Vec<u8>>) {
        self.fenced_member(VOTER, &[0, 1, 2], Takeover::ByTheBetter, 0, Saved::Missing)
    }

    /// It comes up, born so long before its time by its calendar.
    fn admit_namesake(&mut self, before: u64) {
        let (mut twin, given) = self.namesake();
        let born = Life(twin.born.0 - before);
        (twin.life, twin.born) = (born, born);
        let told = self.told(self.members.len());
        self.admit_member(twin, Some(given), told, 0);
    }

    fn knows_voter_at(&self, who: usize, place: SocketAddr) -> bool {
        let known = self.members[who].peers.get(id(VOTER));
        known.is_some_and(|it| it.address == place)
    }

    fn keeps_its_holder(&mut self, span: Duration) {
        let fence = self.members[HOLDER].tenancy.fence();
        let end = self.now + span;
        while self.now < end {
            self.run(Duration::from_millis(1));
            assert_eq!(
                self.members[HOLDER].tenancy.fence(),
                fence,
                "at {:?}",
                self.now
            );
            assert_eq!(self.holders(), [HOLDER], "at {:?}", self.now);
        }
    }
}

/// By its calendar the newcomer was here first.
#[test]
fn a_namesake_of_the_holder_does_not_unseat_it() {
    let mut field = Field::fenced(Takeover::Never);
    field.run(Duration::from_secs(1));
    let before = field.settled_on(&ALL);
    let (leader, _) = before;
    let takeover = Takeover::Never;
    let voters = [0, 1, 2];
    let (mut twin, given) = field.fenced_member(leader, &voters, takeover, 9, Saved::Missing);
    let yesterday = Life(twin.born.0 - DAY);
    (twin.life, twin.born) = (yesterday, yesterday);
    field.admit_member(twin, Some(given), &[], 0);
    for _ in 0..2_000 {
        field.run(Duration::from_millis(1));
        assert_eq!(field.holders(), [leader], "at {:?}", field.now);
    }
    assert!(field.members[5].namesake().is_some());
    assert_eq!(field.settled_on(&ALL), before);
}

/// It was restarted at another address, and what it said when it came up was lost.
#[test]
fn a_voter_that_has_moved_is_found_again() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    field.settled_on(&ALL);
    // The leader believes both other voters to be where nobody is.
    for voter in [1, 2] {
        assert!(field.members[0].peers.get(id(voter)).is_some());
        field.members[0].peers.mislead(id(voter), address(9));
    }
    field.run(TTL * 6);
    assert_eq!(field.settled_on(&ALL).0, 0);
    field.run(TTL * 6);
    field.settled_on(&ALL);
}

/// It comes up at any time between two renewals, by the calendar later than the voter or a day before it.
#[test]
fn a_namesake_of_a_voter_does_not_unseat_the_holder() {
    for before in [0, DAY] {
        for wait in [0, 40, 80, 120, 160] {
            let mut field = Field::with_a_bare_majority();
            field.run(Duration::from_millis(wait));
            field.admit_namesake(before);
            field.keeps_its_holder(TTL * 4);
            assert!(field.members[5].namesake().is_some());
        }
    }
}

/// The voter hears the other, and begins a later life before the other has proven to anybody that it runs: nobody looks for
/// the voter in the wrong place.
#[test]
fn a_voter_that_stays_says_where_it_is() {
    let mut field = Field::with_a_bare_majority();
    let (twin, given) = field.namesake();
    let life = field.members[VOTER].life;
    field.admit_member(twin, Some(given), &[], 0);
    for _ in 0..10 {
        field.run(super::DELAY);
        let mut others = [0, 3, 4].iter();
        assert!(others.all(|it| field.knows_voter_at(*it, address(VOTER))));
    }
    assert!(field.members[VOTER].life > life);
    assert!(field.members[5].namesake().is_some());
}

/// `hustings voter init` for a voter that runs: it speaks by its name, and ends when it hears of that.
#[test]
fn who_asks_in_the_name_of_a_voter_that_runs_does_not_unseat_the_holder() {
    for wait in [0, 40, 80, 120, 160] {
        let mut field = Field::with_a_bare_majority();
        field.run(Duration::from_millis(wait));
        let (twin, given) = field.namesake();
        let (told, _heard) = answers::unbounded_channel();
        field.admit_member(twin, Some(given), &[], 0);
        field.act(5, |it, now, out| it.survey(now, told, out));
        field.keeps_its_holder(TTL * 4);
        assert!(field.members[5].namesake().is_some());
    }
}

/// What the voter said of where it is was lost: it is called by all ways while there is time left to renew.
#[test]
fn a_holder_that_looks_for_a_voter_in_the_wrong_place_finds_it_in_time() {
    for wait in [0, 40, 80, 120, 160] {
        let mut field = Field::with_a_bare_majority();
        field.run(Duration::from_millis(wait));
        field.members[HOLDER].peers.mislead(id(VOTER), address(9));
        field.keeps_its_holder(TTL * 4);
        assert!(field.knows_voter_at(HOLDER, address(VOTER)));
    }
}

/// Neither of the two knows where the other is: the third tells them. By its calendar the newcomer is later than the voter
/// or was here a day before it, and it was told of the holder or of somebody else.
#[test]
fn a_namesake_that_knows_only_a_third_is_refused_and_does_not_unseat_the_holder() {
    for (seed, before) in [(HOLDER, 0), (HOLDER, DAY), (4, 0), (4, DAY)] {
        for wait in [0, 40, 80, 120, 160] {
            let mut field = Field::with_a_bare_majority_by_unicast(seed);
            field.run(Duration::from_millis(wait));
            field.admit_namesake(before);
            field.keeps_its_holder(TTL * 10);
            let refused = field.members.iter().map(|it| it.namesake().is_some());
            assert_eq!(
                refused.collect::<Vec<_>>(),
                [false, false, false, false, false, true]
            );
            let outlived = [VOTER, 5].map(|it| field.members[it].outlived.times);
            assert!(
                outlived.iter().sum::<u64>() <= 3,
                "{outlived:?} {seed} {before} {wait}"
            );
            for it in [0, 3, 4] {
                assert!(field.knows_voter_at(it, address(VOTER)), "{it}");
            }
        }
    }
}

/// Who has heard the newcomer tells the voter at once, and that one says where it is: no question goes unanswered for it.
#[test]
fn a_voter_that_did_not_hear_its_namesake_is_told_of_it_and_says_where_it_is() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    field.admit_namesake(0);
    // Its hello, the challenge, and its answer.
    field.run(super::DELAY * 3);
    assert!(field.knows_voter_at(HOLDER, address(5)));
    // The voter is told, says that it is there in a later life, and proves that.
    field.run(super::DELAY * 4);
    assert!(field.knows_voter_at(HOLDER, address(VOTER)));
    assert!(field.members[5].namesake().is_some());
}

/// `hustings voter init` from a third host, which knows only the holder.
#[test]
fn who_asks_from_elsewhere_in_the_name_of_a_voter_that_runs_hears_of_it() {
    for before in [0, DAY] {
        let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
        let (told, _heard) = answers::unbounded_channel();
        field.admit_namesake(before);
        field.act(5, |it, now, out| it.survey(now, told, out));
        field.keeps_its_holder(TTL * 4);
        assert!(field.members[5].namesake().is_some());
    }
}

/// A supervisor starts it again each time.
#[test]
fn one_namesake_after_the_other_does_not_unseat_the_holder() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    for newcomer in 5..25 {
        field.admit_namesake(0);
        field.keeps_its_holder(Duration::from_millis(100));
        assert!(field.members[newcomer].namesake().is_some(), "{newcomer}");
    }
    assert!(field.members[VOTER].namesake().is_none());
}

/// As where a firewall is between them. Nobody can end that but a person; it must not become a storm.
#[test]
fn two_of_one_name_that_cannot_reach_each_other_begin_new_lives_ever_more_seldom() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    field.cut = Some([VOTER, 5]);
    field.admit_namesake(0);
    field.run(Duration::from_secs(60));
    for it in [VOTER, 5] {
        assert!(field.members[it].namesake().is_none());
        let times = field.members[it].outlived.times;
        assert!((2..=60).contains(&times), "{times}");
    }
}

/// Its process before was ahead by a day, and is gone from where it was: nobody is there to be heard.
#[test]
fn a_voter_that_has_moved_and_whose_calendar_was_set_back_votes_again() {
    let mut field = Field::with_a_bare_majority_by_unicast(HOLDER);
    let ahead = Life(MIDNIGHT + DAY);
    field.act(VOTER, |it, now, out| {
        it.begin_life_after(ahead);
        it.say_where_it_is(now, out);
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
    assert!(field.members[5].life > ahead);
    assert_eq!(field.members[5].outlived.times, 1);
    assert!(field.knows_voter_at(HOLDER, address(5)));
}
