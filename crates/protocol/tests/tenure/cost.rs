//! What it costs to get tenure and to keep it.

use hustings_protocol::tenure::{Config, Held, Request};
use hustings_protocol::{Duration, Fence, Instant, Outcome};

use crate::hall::{DELAY, Hall, millis};
use crate::{FOUNDING, config};

#[test]
fn tenure_takes_two_round_trips_and_one_write_a_voter() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
    assert_eq!(
        hall.saves(),
        [1, 1, 1, 0],
        "what a voter may grant, at its first start"
    );
    hall.ask(11, Request::Acquire);
    hall.wait(DELAY * 4);
    let fence = Fence(1);
    // From the reading before the proposal, one round trip ago.
    let until = Instant(DELAY.0 * 2) + config().usable(millis(300));
    assert_eq!(hall.holds(11), Some(Held { fence, until }));
    assert_eq!(hall.seat(11).outcomes, [Outcome::TenureGained { fence }]);
    assert_eq!(hall.saves(), [2, 2, 2, 0]);
    let kinds = ["ask", "prepare", "promise", "propose", "grant"];
    assert_eq!(kinds.map(|kind| hall.count(kind)), [0, 3, 3, 3, 3]);
}

#[test]
fn renewal_takes_one_round_trip_and_no_write_and_begins_at_a_third_of_the_ttl() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(millis(50));
    let before = (hall.holds(11).unwrap(), hall.saves(), hall.said.len());
    hall.wait(Instant(DELAY.0 * 4 + millis(100).0) - hall.now);
    let (held, saves, said) = before;
    let after = hall.holds(11).unwrap();
    assert_eq!(after.fence, held.fence);
    assert_eq!(after.until - held.until, millis(100));
    assert_eq!(hall.saves(), saves);
    assert_eq!(hall.said.len() - said, 6);
    hall.wait(Duration::from_secs(60));
    assert_eq!(hall.holds(11).map(|it| it.fence), Some(held.fence));
    assert_eq!(hall.seat(11).outcomes.len(), 1, "gained once, never lost");
}

#[test]
fn a_member_that_votes_for_itself_needs_one_message_less_of_each_kind() {
    let mut hall = Hall::of_three(&config(), 1);
    hall.ask(2, Request::Acquire);
    hall.wait(DELAY * 4);
    assert_eq!(hall.holders(), [2]);
    let kinds = ["prepare", "promise", "propose", "grant"];
    assert_eq!(kinds.map(|kind| hall.count(kind)), [2, 2, 2, 2]);
    assert_eq!(hall.saves(), [2, 2, 2]);
}

#[test]
fn a_single_member_needs_no_message_at_all() {
    let voters = vec![hustings_protocol::MemberId(1)];
    let config = Config { voters, ..config() };
    let mut hall = Hall::of_three(&config, 1);
    hall.ask(1, Request::Acquire);
    assert_eq!(hall.holders(), [1]);
    hall.wait(Duration::from_secs(10));
    assert_eq!(hall.holds(1).map(|it| it.fence), Some(Fence(1)));
    assert_eq!(hall.said, []);
}

#[test]
fn after_the_holder_died_the_next_has_tenure_within_its_ttl_and_a_few_round_trips() {
    for seed in 1..=50 {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, seed);
        hall.ask(11, Request::Acquire);
        hall.wait(millis(20 * seed));
        hall.ask(12, Request::Acquire);
        hall.wait(millis(500));
        hall.crash(11);
        // A grant may be as young as a round trip; then the random wait, to ask, to prepare, to propose.
        hall.wait(millis(300) + config().back_off + DELAY * 8);
        assert_eq!(hall.holders(), [12], "seed {seed}");
        assert!(hall.holds(12).unwrap().fence > Fence(1));
    }
}
