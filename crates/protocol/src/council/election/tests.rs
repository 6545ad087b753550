//! An election, count by count.

use super::{Election, NextStep, POLLS, RoundCount, UNDERSHOOTS_BEFORE_POLL};
use crate::Duration;
use crate::council::{Algorithm, Config, Draws, Estimate, Knowledge, Search, Seats};

const SEATS: Seats = Seats::new(4, 8);
const C: f64 = 6.0;

/// An election, and the number of its last round.
struct Centre {
    config: Config,
    election: Election,
    round: u32,
    enough: u32,
}

impl Centre {
    fn new(algorithm: Algorithm, knowledge: Knowledge) -> Self {
        Self {
            config: Config::once(SEATS, algorithm, knowledge, Duration::from_secs(1)),
            election: Election::new(knowledge),
            round: 0,
            enough: SEATS.least,
        }
    }

    /// A centre with the search of the field.
    fn guarded(first: Estimate) -> Self {
        let mut centre = Self::new(Algorithm::SkipReset, Knowledge::Estimated(first));
        centre.config.search = Search::Guarded;
        centre
    }

    /// The first feedback of an election.
    fn open(&mut self) -> String {
        let ask = self.election.open(&self.config, (SEATS, C), 0);
        self.round += 1;
        self.show(NextStep::Ask(ask))
    }

    /// The next step after `first` and `second` yes in the two draws.
    fn hear(&mut self, first: u32, second: u32) -> String {
        // All hosts have received every call.
        let by = self.election.size.max(C);
        let count = RoundCount {
            yes: [first, second],
            numbers: [first, second].map(|it| f64::from(it) * by),
            best_first: &[],
            round: self.round,
            wanted: SEATS,
            enough: self.enough,
            c: C,
        };
        let next = self.election.count(count, &self.config);
        self.round += 1;
        self.show(next)
    }

    fn show(&self, next: NextStep) -> String {
        match next {
            NextStep::Ask(ask) if ask.wire_bits.reset && ask.base == 0 => {
                format!("all {}", (ask.wire_bits.number() * 100.0).round() / 100.0)
            }
            NextStep::Ask(ask) if ask.wire_bits.reset => {
                format!("back to {} {}", ask.base, ask.wire_bits.count)
            }
            NextStep::Ask(ask) => format!("on {} by {}", ask.wire_bits.count, ask.wire_bits.taken),
            NextStep::Elected(draw) => format!("elected by {draw}"),
            NextStep::Rest => "rest".to_owned(),
        }
    }
}

/// Feedbacks and counts in turn: the expected feedback before each count of the first draw.
#[track_caller]
fn replay(algorithm: Algorithm, knowledge: Knowledge, steps: &[(u32, &str)]) {
    let mut centre = Centre::new(algorithm, knowledge);
    let mut said = centre.open();
    for (count, expected) in steps {
        assert_eq!(said, *expected, "{algorithm:?}, before {count}");
        said = centre.hear(*count, 0);
    }
    assert_eq!(said, "elected by 0", "{algorithm:?}");
}

#[test]
fn each_algorithm_follows_its_figure() {
    let told = Knowledge::Told(500);
    replay(Algorithm::Naive, told, &[(9, "all 500"), (3, "all 500"), (5, "all 500")]);
    replay(
        Algorithm::Basic,
        Knowledge::Polled,
        &[(500, "all 0"), (9, "on 500 by 0"), (2, "on 9 by 0"), (499, "all 2"), (8, "on 499 by 0")],
    );
    replay(
        Algorithm::SkipReset,
        Knowledge::Polled,
        &[(500, "all 0"), (9, "on 500 by 0"), (2, "on 9 by 0"), (4, "all 500")],
    );
    replay(
        Algorithm::HISTORY,
        told,
        &[
            (2, "all 500"),
            (20, "all 500"),
            (12, "on 20 by 0"),
            (3, "on 12 by 0"),
            (1, "back to 3 12"),
            (9, "back to 3 12"),
            (0, "on 9 by 0"),
            (4, "back to 6 9"),
        ],
    );
    replay(
        Algorithm::SkipReset,
        Knowledge::Estimated(Estimate::conservative(1_000)),
        &[(0, "all 1000"), (20, "all 500"), (3, "on 20 by 0"), (6, "all 250")],
    );
    replay(
        Algorithm::SkipReset,
        Knowledge::Estimated(Estimate::conservative(30)),
        &[(0, "all 30"), (0, "all 15"), (6, "all 0")],
    );
}

#[test]
fn the_better_of_two_draws_is_taken() {
    for (first, second, next) in [
        (5, 9, "elected by 0"),
        (3, 4, "elected by 1"),
        (4, 8, "elected by 1"),
        (8, 4, "elected by 0"),
        (12, 9, "on 9 by 1"),
        (9, 12, "on 9 by 0"),
        (3, 9, "on 9 by 1"),
        (9, 3, "on 9 by 0"),
        (3, 0, "all 500"),
    ] {
        let mut centre = Centre::new(Algorithm::CHOICE, Knowledge::Told(500));
        centre.open();
        assert_eq!(centre.hear(first, second), next, "{first} {second}");
    }
}

#[test]
fn guarded_search_goes_back_further_and_then_lowers_the_number() {
    let mut centre = Centre::new(Algorithm::History { depth: 2 }, Knowledge::Told(500));
    centre.config.search = Search::Guarded;
    centre.open();
    assert_eq!(centre.hear(30, 0), "on 30 by 0");
    assert_eq!(centre.hear(15, 0), "on 15 by 0");
    for undershoots in 1..=3 * UNDERSHOOTS_BEFORE_POLL {
        let next = match undershoots / UNDERSHOOTS_BEFORE_POLL {
            0 => "back to 2 15",
            1 => "back to 1 30",
            2 => "all 500",
            _ => "all 250",
        };
        assert_eq!(centre.hear(0, 0), next, "{undershoots}");
    }
}

/// As in theory and aggregates: a configured or counted number stays, and all hosts are asked until
/// enough replies arrive.
#[test]
fn printed_search_never_drops_a_number_and_never_rests() {
    let same_after_each = |algorithm, knowledge, before: &[u32], said: &str| {
        let mut centre = Centre::new(algorithm, knowledge);
        centre.open();
        for count in before {
            centre.hear(*count, 0);
        }
        for undershoots in 1..=3 * UNDERSHOOTS_BEFORE_POLL {
            let next = centre.hear(1, 0);
            assert_eq!(next, said, "{algorithm:?}, undershoot {undershoots}");
        }
    };
    let told = Knowledge::Told(500);
    same_after_each(Algorithm::Naive, told, &[], "all 500");
    same_after_each(Algorithm::SkipReset, told, &[], "all 500");
    same_after_each(Algorithm::CHOICE, told, &[], "all 500");
    same_after_each(Algorithm::HISTORY, told, &[30, 15], "back to 2 15");
    same_after_each(Algorithm::Basic, told, &[], "all 1");
    let few = Knowledge::Estimated(Estimate::conservative(30));
    same_after_each(Algorithm::SkipReset, few, &[0, 0], "all 0");
    let masks = [0; 16];
    same_after_each(Algorithm::Bolot, Knowledge::Told(1), &masks, "all 0");
}

#[test]
fn guarded_search_rests_after_too_few_hosts_and_starts_highest() {
    let mut centre = Centre::guarded(Estimate::conservative(30));
    let estimated = centre.config.knowledge;
    centre.open();
    assert_eq!(centre.hear(0, 0), "all 15");
    for _ in 0..POLLS {
        assert_eq!(centre.hear(2, 0), "all 0");
    }
    assert_eq!(centre.hear(2, 0), "rest");
    centre.election.forget(estimated);
    assert_eq!(centre.open(), "all 30");
}

#[test]
fn guarded_search_starts_a_later_election_from_the_evidence() {
    let mut centre = Centre::guarded(Estimate::conservative(1_000));
    assert_eq!(centre.open(), "all 1000");
    assert_eq!(centre.hear(0, 0), "all 500");
    assert_eq!(centre.hear(9, 0), "on 9 by 0");
    // 9 replies to draws of 6/1000 and 6/500 of all hosts.
    assert_eq!(centre.hear(1, 0), "all 500");
    assert_eq!(centre.hear(12, 0), "on 12 by 0");
    // 21 replies to draws of 6/1000 and 12/500.
    assert_eq!(centre.hear(6, 0), "elected by 0");
    assert_eq!(centre.open(), "all 700");
    // One more draw by 700 without a reply: half the number.
    assert_eq!(centre.hear(0, 0), "all 350");
}

#[test]
fn guarded_search_keeps_the_number_after_over_and_undershoot() {
    let next = |search| {
        let mut centre = Centre::guarded(Estimate::aggressive(100_000));
        centre.config.search = search;
        centre.open();
        let whole = match search {
            Search::Printed => "all 3162.28",
            Search::Guarded => "all 3162",
        };
        assert_eq!(centre.hear(0, 0), whole);
        assert_eq!(centre.hear(10, 0), "on 10 by 0");
        centre.hear(3, 0)
    };
    assert_eq!(next(Search::Printed), "all 281.84");
    assert_eq!(next(Search::Guarded), "all 5108");
}

#[test]
fn guarded_search_uses_the_evidence_of_few_replies() {
    let mut centre = Centre::guarded(Estimate::aggressive(100_000));
    centre.open();
    assert_eq!(centre.hear(0, 0), "all 3162");
    assert_eq!(centre.hear(3, 0), "all 1533");
    assert_eq!(centre.hear(0, 0), "all 511");
    // Never below one step of the estimate, however few reply.
    let mut centre = Centre::guarded(Estimate::conservative(1_000));
    centre.open();
    assert_eq!(centre.hear(1, 0), "all 500");
}

#[test]
fn guarded_search_rests_after_one_poll_without_replies() {
    let mut centre = Centre::guarded(Estimate::conservative(30));
    centre.open();
    assert_eq!(centre.hear(0, 0), "all 15");
    assert_eq!(centre.hear(0, 0), "all 0");
    assert_eq!(centre.hear(0, 0), "rest");
    centre.election.forget(centre.config.knowledge);
    assert_eq!(centre.open(), "all 30");
}

/// 12 replies to 1 in 100 mean 1,200 hosts, whenever they arrive.
#[test]
fn guarded_search_counts_late_replies_as_evidence() {
    let mut centre = Centre::guarded(Estimate::conservative(1_200));
    let late = |centre: &mut Centre, round, replies| {
        for _ in 0..replies {
            let said = (round, Draws(1), 600);
            centre.election.hear_late(said, &centre.config);
        }
    };
    assert_eq!(centre.open(), "all 1200");
    assert_eq!(centre.hear(0, 0), "all 600");
    assert_eq!(centre.hear(0, 0), "all 300");
    late(&mut centre, 2, 12);
    // 12 replies to draws of 6/1200, 6/600 and 6/300.
    assert_eq!(centre.hear(0, 0), "all 343");
    late(&mut centre, 77, 5);
    assert_eq!(centre.hear(0, 0), "all 229", "no such round");
    // They arrive after the centre has given up.
    centre.election.forget(centre.config.knowledge);
    late(&mut centre, 2, 5);
    assert_eq!(centre.open(), "all 500");
}

#[test]
fn a_poll_of_all_hosts_accepts_the_least_council() {
    for (found, then) in [(2, "elected by 0"), (1, "all 0")] {
        let mut centre = Centre::guarded(Estimate::conservative(30));
        centre.enough = 2;
        centre.open();
        assert_eq!(centre.hear(0, 0), "all 15");
        assert_eq!(centre.hear(0, 0), "all 0");
        assert_eq!(centre.hear(found, 0), then);
    }
}

#[test]
fn a_number_found_by_a_poll_is_not_reused() {
    let estimated = Knowledge::Estimated(Estimate::conservative(30));
    let mut centre = Centre::new(Algorithm::SkipReset, estimated);
    centre.open();
    assert_eq!(centre.hear(0, 0), "all 15");
    assert_eq!(centre.hear(0, 0), "all 0");
    assert_eq!(centre.hear(6, 0), "elected by 0");
    assert_eq!(centre.open(), "all 30");
}
