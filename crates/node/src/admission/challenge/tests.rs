use super::{Challenges, Key, MOST_STRANGERS, OPEN_FOR, slot};
use crate::entropy::Entropy;
use crate::identity::Incarnation;
use hustings_protocol::{Duration, Instant, MemberId};

#[test]
fn challenge_is_valid_for_one_process_one_address_and_a_while() {
    let place = |text: &str| text.parse().expect("an address");
    let key: Key = (MemberId(1), Incarnation(2), place("10.0.0.1:7400"));
    let mut challenges = Challenges::default();
    let now = Instant::START + OPEN_FOR * 10;
    assert_eq!(challenges.number(slot(now), key), None, "nothing was drawn");
    assert!(!challenges.is_number(now, key, 0));
    challenges.draw_key(slot(now), &mut Entropy::seeded(7));
    let number = challenges.number(slot(now), key).expect("it is drawn");
    for later in [Duration(0), OPEN_FOR] {
        assert!(challenges.is_number(now + later, key, number), "{later}");
    }
    assert!(!challenges.is_number(now + OPEN_FOR * 2, key, number));
    for other in [
        (MemberId(2), Incarnation(2), key.2),
        (MemberId(1), Incarnation(3), key.2),
        (MemberId(1), Incarnation(2), place("10.0.0.1:7401")),
        (MemberId(1), Incarnation(2), place("10.0.0.2:7400")),
        (MemberId(1), Incarnation(2), place("[fd00::1]:7400")),
    ] {
        assert!(!challenges.is_number(now, other, number), "{other:?}");
    }
}

/// Both processes have the same memory, and each draws its own numbers from then on. Answers that
/// were recorded after the first start do not count at the second.
#[test]
fn two_starts_from_one_snapshot_issue_different_challenges() {
    let key: Key = (MemberId(1), Incarnation(2), "10.0.0.1:7400".parse().unwrap());
    let now = Instant::START + OPEN_FOR * 10;
    let mut starts = [0; 2].map(|_| {
        let mut challenges = Challenges::default();
        challenges.draw_key(slot(now), &mut Entropy::seeded(7));
        challenges
    });
    let before = starts[0].number(slot(now), key).unwrap();
    let later = now + OPEN_FOR;
    let [first, second] = [0, 1].map(|it| {
        let mut entropy = Entropy::seeded(it as u64);
        starts[it].draw_key(slot(later), &mut entropy);
        let number = starts[it].number(slot(later), key).unwrap();
        starts[it].draw_key(slot(later), &mut entropy);
        assert!(starts[it].is_number(later, key, number), "it is kept");
        assert!(starts[it].is_number(later, key, before), "so is the last");
        number
    });
    assert_ne!(first, second);
    assert!(!starts[1].is_number(later, key, first));
    assert!(!starts[0].is_number(later + OPEN_FOR, key, before));
}

/// A replay of many recorded announcements must not keep a newcomer out of the queue.
#[test]
fn full_queue_of_early_challenges_drops_the_oldest() {
    let key = |number: u64| -> Key {
        (MemberId(number), Incarnation(1), "10.0.0.1:7400".parse().expect("an address"))
    };
    let mut challenges = Challenges::default();
    (0..=MOST_STRANGERS as u64).for_each(|it| challenges.queue_early(key(it)));
    assert_eq!(challenges.early.len(), MOST_STRANGERS);
    assert_eq!(challenges.early.front(), Some(&key(1)));
    assert_eq!(challenges.early.back(), Some(&key(MOST_STRANGERS as u64)));
}
