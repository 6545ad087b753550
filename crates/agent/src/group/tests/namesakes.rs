//! Tenure, and two that go by one name; and voters that are not where they are looked for.

use std::sync::mpsc;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::Saved;
use tokio::sync::mpsc as answers;

use super::tenancy::TTL;
use super::{ALL, Field, address, id};
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
        let mut field = Self::fenced(Takeover::ByTheBetter);
        assert_eq!(field.settled_on(&ALL).0, HOLDER);
        field.sides[DOWN] = 9;
        field.run(TTL * 4);
        assert_eq!(field.holders(), [HOLDER]);
        field
    }

    /// Another process by the voter's name, without its disk.
    fn namesake(&self) -> (Group, mpsc::Receiver<Vec<u8>>) {
        self.fenced_member(VOTER, &[0, 1, 2], Takeover::ByTheBetter, 0, Saved::Missing)
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
            let (mut twin, given) = field.namesake();
            let born = Life(twin.born.0 - before);
            (twin.life, twin.born) = (born, born);
            field.admit_member(twin, Some(given), &[], 0);
            field.keeps_its_holder(TTL * 4);
            assert!(field.members[5].namesake().is_some());
        }
    }
}

/// Nobody has to ask for it: whoever looks for the voter finds it at once.
#[test]
fn a_voter_that_stays_says_where_it_is() {
    let mut field = Field::with_a_bare_majority();
    let is_known_at = |field: &Field, place| {
        let others = [0, 3, 4].iter();
        let mut known = others.map(|it| field.members[*it].peers.get(id(VOTER)).unwrap().address);
        known.all(|it| it == place)
    };
    let (twin, given) = field.namesake();
    field.admit_member(twin, Some(given), &[], 0);
    field.run(super::DELAY);
    assert!(is_known_at(&field, address(5)), "they have heard the other");
    field.run(super::DELAY * 2);
    assert!(is_known_at(&field, address(VOTER)));
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
        let known = field.members[HOLDER].peers.get(id(VOTER));
        assert_eq!(known.map(|it| it.address), Some(address(VOTER)));
    }
}
