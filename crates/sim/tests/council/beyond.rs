//! Seats by priority.

use hustings_protocol::council::{
    Algorithm, Change, Council, CouncilOutcome, Estimate, Knowledge, Message, Seats,
};
use hustings_protocol::{Instant, MemberId, Priority};
use hustings_sim::council::{elect, elect_traced};
use hustings_sim::{Event, Scratch, Seeds, Trace};

use crate::trial;

/// The replies with their priorities, and the seated hosts.
#[derive(Default)]
struct Priorities {
    replied: Vec<(MemberId, Priority)>,
    seated: Vec<MemberId>,
}

impl Trace<Council> for Priorities {
    const ON: bool = true;

    fn record(&mut self, _: Instant, event: Event<'_, Council>) {
        match event {
            Event::Sent { from, message: Message::Reply(reply), .. } => {
                self.replied.push((MemberId(u64::from(from)), reply.priority));
            }
            Event::Sent { to, message: Message::Seat(_), .. } => self.seated.push(MemberId(to)),
            Event::Reported { outcome: CouncilOutcome::Council(Change::Seated { .. }), .. } => {}
            _ => {}
        }
    }
}

#[test]
fn by_priority_the_best_are_seated_with_few_replies() {
    for (hosts, knowledge) in [
        (5_000, Knowledge::Told(5_000)),
        (5_000, Knowledge::Estimated(Estimate::aggressive(100_000))),
        (30, Knowledge::Estimated(Estimate::conservative(10_000))),
    ] {
        for run in 0..40 {
            let trial = trial(hosts, Seats::new(3, 6), Algorithm::Priority, knowledge, 5.0);
            let seeds = Seeds::new(16, run);
            let (it, priorities, _) =
                elect_traced(&trial, seeds, Scratch::default(), Priorities::default(), || true);
            assert!((3..=6).contains(&it.seats), "{it:?}");
            // The priorities are as the simulator draws them: those of the seated are in their
            // replies.
            let priority_of = |id: &MemberId| {
                let said = priorities.replied.iter().find(|(host, _)| host == id);
                said.expect("a seated host has replied").1
            };
            let mut seated: Vec<Priority> = priorities.seated.iter().map(priority_of).collect();
            seated.sort_unstable();
            let best = best(hosts, seeds, seated.len());
            assert_eq!(seated, best, "{knowledge:?}, run {run}: {it:?}");
            let storm = u64::from(hosts.max(300)) / 10;
            assert!(it.peak_replies < storm, "{knowledge:?}, run {run}: {it:?}");
        }
    }
}

/// The centre trusts a number that it was given. But a threshold's number is a guess from few
/// replies, and a given one may be far too high. It is halved after each round with too few, and
/// not only when patience ends, after 16 of them.
#[test]
fn by_priority_a_too_high_number_is_halved_after_undershoots() {
    for run in 0..40 {
        let told = Knowledge::Told(10_000);
        let trial = trial(30, Seats::new(3, 6), Algorithm::Priority, told, 5.0);
        let (it, _) = elect(&trial, Seeds::new(17, run), Scratch::default());
        assert!((3..=6).contains(&it.seats), "{it:?}");
        // From 10,000 to 30 are eight halvings and a half. By patience alone the first seven of
        // them take 16 rounds each.
        assert!(it.rounds < 7 * 16, "run {run}: {it:?}");
    }
}

/// The `count` best priorities, from the generator that draws them.
fn best(hosts: u32, seeds: Seeds, count: usize) -> Vec<Priority> {
    use rand_core::Rng;
    let mut rng = seeds.rng(hustings_sim::Stream::Layout);
    let _centre = rng.next_u64();
    let mut all: Vec<Priority> = (0..hosts).map(|_| Priority(rng.next_u64())).collect();
    all.sort_unstable();
    all.split_off(all.len() - count)
}
