//! A council that is kept while hosts come and go.

use hustings_protocol::Duration;
use hustings_protocol::council::{Config, Estimate, Knowledge, Refill, Search, Seats};
use hustings_sim::council::{HostChurn, Stay, Upkeep, keep};
use hustings_sim::{Scratch, Seeds};

use crate::{ROUND, at};

const SEATS: Seats = Seats::new(4, 8);
const SEEDS: u64 = 20;

fn stay(refill: Refill) -> Stay {
    Stay::restless(Config::field(SEATS, 10_000, ROUND), refill)
}

fn runs(stay: &Stay) -> Vec<Upkeep> {
    let one = |seed| keep(stay, Seeds::new(11, seed), Scratch::default()).0;
    (0..SEEDS).map(one).collect()
}

#[test]
fn never_too_many_hosts_are_seated_and_seldom_too_few() {
    for refill in [Refill::TopUp, Refill::Restart] {
        for upkeep in runs(&stay(refill)) {
            assert!(upkeep.most_seats <= SEATS.most, "{refill:?}: {upkeep:?}");
            assert!(upkeep.most_seated <= SEATS.most, "{refill:?}: {upkeep:?}");
            assert!(upkeep.changes > 10, "{refill:?}: {upkeep:?}");
        }
    }
    let short: f64 = runs(&stay(Refill::TopUp)).iter().map(|it| it.short).sum();
    assert!(short / (SEEDS as f64) < 0.05, "{short} of {SEEDS} runs");
}

#[test]
fn c13_topping_up_takes_fewer_replies_and_rounds_than_starting_over() {
    let sum = |refill: Refill, of: fn(&Upkeep) -> u64| -> u64 {
        runs(&stay(refill)).iter().map(of).sum()
    };
    for (what, of) in [
        ("replies", (|it: &Upkeep| it.messages) as fn(&Upkeep) -> u64),
        ("feedbacks", |it: &Upkeep| it.feedbacks),
    ] {
        let (top_up, restart) = (sum(Refill::TopUp, of), sum(Refill::Restart, of));
        assert!(top_up < restart, "{what}: {top_up} against {restart}");
    }
    let short = |refill| -> f64 { runs(&stay(refill)).iter().map(|it| it.short).sum() };
    assert!(short(Refill::TopUp) < short(Refill::Restart));
}

#[test]
fn restarted_centre_causes_no_storm_and_no_excess_seats() {
    let mut stay = stay(Refill::TopUp);
    stay.centre_restarts = Some(at(500));
    stay.trial.hosts = 2_000;
    for (seed, upkeep) in (0..).zip(runs(&stay)) {
        assert!(upkeep.most_seated <= SEATS.most, "seed {seed}: {upkeep:?}");
        // Of 2,000. The second estimate is 631, by which 21 reply on average, with a standard
        // deviation of 5; there is no third before a host has replied.
        assert!(upkeep.peak_replies < 60, "seed {seed}: {upkeep:?}");
        assert!(upkeep.short < 0.1, "seed {seed}: {upkeep:?}");
    }
}

/// The centre comes down to a poll of all, for want of replies, and the network heals in any round
/// of that.
#[test]
fn centre_after_a_partition_causes_no_storm() {
    let peaks = |search| {
        let mut stay = stay(Refill::TopUp);
        stay.trial.hosts = 1_000;
        (stay.trial.reply_loss, stay.trial.multicast_loss) = (0.0, 0.0);
        stay.trial.config.search = search;
        stay.churn = None;
        stay.lasts = Duration::from_secs(150);
        let peak = |cut: u64| {
            stay.centre_cut_off = Some((at(50), Duration::from_secs(cut)));
            let (upkeep, _) = keep(&stay, Seeds::new(31, cut), Scratch::default());
            assert!(upkeep.most_seated <= SEATS.most, "cut for {cut}: {upkeep:?}");
            assert!(upkeep.short < 0.9, "cut for {cut}: {upkeep:?}");
            upkeep.peak_replies
        };
        (30..70).map(peak).collect::<Vec<u64>>()
    };
    // As after a restart: by the second estimate, 631, about 11 of 1,000 reply. In one of 800
    // searches so few do that by the third 40 or more do: with up to three searches in each of 40
    // runs, three such runs are one case in 2,000. By 91, the lowest value of the third estimate,
    // 73 do, with a standard deviation of 8.
    let guarded = peaks(Search::Guarded);
    assert!(guarded.iter().filter(|it| **it >= 40).count() <= 2, "{guarded:?}");
    assert!(guarded.iter().all(|it| *it < 120), "{guarded:?}");
    // As in the paper, all hosts answer a poll of all.
    assert_eq!(peaks(Search::Printed).into_iter().max(), Some(1_000));
}

/// Just as many hosts as the minimum of seats: one is lost, and comes back. The centre wants more,
/// and there are none.
#[test]
fn last_host_is_seated_although_more_are_wanted() {
    let mut stay = stay(Refill::TopUp);
    stay.trial.hosts = SEATS.least;
    (stay.trial.reply_loss, stay.trial.multicast_loss) = (0.0, 0.0);
    stay.lasts = Duration::from_secs(20_000);
    stay.churn = Some(HostChurn {
        crash_every: Duration::from_secs(4_000),
        gone_for: Duration::from_secs(1),
    });
    let (upkeep, _) = keep(&stay, Seeds::new(32, 0), Scratch::default());
    // About twenty are lost. The loss shows after a lease, 15 s, the place is free after another,
    // and a search with its rest takes 30 s at most.
    assert!(upkeep.changes > 20, "{upkeep:?}");
    assert!(upkeep.short < 0.08, "{upkeep:?}");
}

#[test]
fn too_few_hosts_are_asked_again_with_the_highest_estimate() {
    let mut stay = stay(Refill::TopUp);
    stay.trial.hosts = 2;
    stay.churn = None;
    stay.trial.config.knowledge = Knowledge::Estimated(Estimate::aggressive(10_000));
    let (upkeep, _) = keep(&stay, Seeds::new(12, 0), Scratch::default());
    assert_eq!((upkeep.most_seated, upkeep.most_seats), (0, 0));
    assert!(upkeep.peak_replies <= 2, "{upkeep:?}");
    // Every search is followed by a rest of a lease, 15 rounds.
    assert!(upkeep.feedbacks < 2_000 / 2, "{upkeep:?}");
}
