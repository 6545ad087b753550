//! Seats by merit.

use hustings_protocol::council::{Algorithm, Change, Council, Estimate, Knowledge, Message, Seats};
use hustings_protocol::{Instant, MemberId, Merit, Outcome};
use hustings_sim::council::{elect, elect_traced};
use hustings_sim::{Event, Scratch, Seeds, Trace};

use crate::trial;

/// Who replied with what merit, and who was seated.
#[derive(Default)]
struct Merits {
    replied: Vec<(MemberId, Merit)>,
    seated: Vec<MemberId>,
}

impl Trace<Council> for Merits {
    const ON: bool = true;

    fn record(&mut self, _: Instant, event: Event<'_, Council>) {
        match event {
            Event::Sent {
                from,
                message: Message::Reply(reply),
                ..
            } => self.replied.push((MemberId(u64::from(from)), reply.merit)),
            Event::Sent {
                to,
                message: Message::Seat(_),
                ..
            } => self.seated.push(MemberId(to)),
            Event::Reported {
                outcome: Outcome::Council(Change::Seated { .. }),
                ..
            } => {}
            _ => {}
        }
    }
}

#[test]
fn by_merit_the_seated_are_the_best_of_all_and_few_have_to_reply() {
    for (hosts, knowledge) in [
        (5_000, Knowledge::Told(5_000)),
        (5_000, Knowledge::Estimated(Estimate::aggressive(100_000))),
        (30, Knowledge::Estimated(Estimate::conservative(10_000))),
    ] {
        for run in 0..40 {
            let trial = trial(hosts, Seats::new(3, 6), Algorithm::Merit, knowledge, 5.0);
            let seeds = Seeds::new(16, run);
            let (it, merits, _) =
                elect_traced(&trial, seeds, Scratch::default(), Merits::default(), || {
                    true
                });
            assert!((3..=6).contains(&it.seats), "{it:?}");
            // The merits are as the simulator lays them out: those of the seated are in their replies.
            let merit_of = |id: &MemberId| {
                let said = merits.replied.iter().find(|(host, _)| host == id);
                said.expect("who is seated has replied").1
            };
            let mut seated: Vec<Merit> = merits.seated.iter().map(merit_of).collect();
            seated.sort_unstable();
            let best = best(hosts, seeds, seated.len());
            assert_eq!(seated, best, "{knowledge:?}, run {run}: {it:?}");
            let storm = u64::from(hosts.max(300)) / 10;
            assert!(it.peak_replies < storm, "{knowledge:?}, run {run}: {it:?}");
        }
    }
}

/// Told a number, the centre takes it for what it is; but a threshold's number is a guess from few replies, and a told one may be far
/// too high: it is halved after each round with too few, and not only when patience is at an end, after 16 of them.
#[test]
fn by_merit_a_number_that_is_far_too_high_is_halved_after_each_undershoot() {
    for run in 0..40 {
        let told = Knowledge::Told(10_000);
        let trial = trial(30, Seats::new(3, 6), Algorithm::Merit, told, 5.0);
        let (it, _) = elect(&trial, Seeds::new(17, run), Scratch::default());
        assert!((3..=6).contains(&it.seats), "{it:?}");
        // From 10,000 to 30 are eight halves and a half. By patience alone the first seven of them take 16 rounds each.
        assert!(it.rounds < 7 * 16, "run {run}: {it:?}");
    }
}

/// The `count` best merits, from the generator that lays them out.
fn best(hosts: u32, seeds: Seeds, count: usize) -> Vec<Merit> {
    use rand_core::Rng;
    let mut rng = seeds.rng(hustings_sim::Stream::Layout);
    let _centre = rng.next_u64();
    let mut all: Vec<Merit> = (0..hosts).map(|_| Merit(rng.next_u64())).collect();
    all.sort_unstable();
    all.split_off(all.len() - count)
}
