//! Shuffling: the partial views after some time, from any initial views.

use hustings_protocol::shuffle::{
    Acquaintance, Config, Entries, Entry, Message, Request, Shuffle, Timer,
};
use hustings_protocol::{Candidate, Duration, Input, Instant, MemberId, Priority, ViewChange};
use hustings_sim::{Boot, Network, Reordering, Seeds, Stream, Verb, Who, World};
use rand_core::Rng;

use crate::support::desk::Desk;
use crate::support::{below, seeds};
use crate::{PERIOD, assert_silent, moments, setup};

fn config(room: u16) -> Config {
    Config { room, ..Config::field(PERIOD) }
}

/// A group in which all know member 0, and no other.
struct Group {
    world: World<Shuffle>,
    room: u16,
}

impl Group {
    /// A group in which the first members begin.
    fn begin(first: u32, members: u32, room: u16, loss: f64, seed: u64) -> Self {
        let mut setup = setup(members, loss);
        if loss > 0.0 {
            setup.network = Network {
                duplicate: loss,
                reordering: Reordering { probability: loss, by: PERIOD.mul_f64(0.3) },
                ..setup.network
            };
        }
        let contact = Candidate::new(0, 0);
        let make = move |boot: Boot<Shuffle>| match boot.me.id {
            id if id == contact.id => Shuffle::default(),
            _ => Shuffle::knowing([contact], Instant::START),
        };
        let mut world = World::new(setup, config(room), Seeds::new(seed, 0), make);
        world.schedule(Instant::START, Verb::Start(Who::Members((0..first).collect())));
        Self { world, room }
    }

    fn new(members: u32, room: u16, loss: f64, seed: u64) -> Self {
        Self::begin(members, members, room, loss, seed)
    }

    fn run(&mut self, periods: u64) {
        self.world.run_until(self.world.now() + PERIOD * periods);
        for member in self.up() {
            assert!(self.entries(member).len() <= self.room.into());
        }
    }

    fn strike(&mut self, verb: Verb) {
        self.world.schedule(self.world.now(), verb);
    }

    fn up(&self) -> impl Iterator<Item = u32> + Clone {
        (0..self.world.len()).filter(|&member| self.world.is_up(member))
    }

    fn entries(&self, member: u32) -> &[Acquaintance] {
        self.world.members()[member as usize].acquaintances()
    }

    fn knows(&self, member: u32) -> impl Iterator<Item = u32> {
        let entries = self.entries(member).iter();
        entries.map(|entry| entry.candidate.id.0 as u32)
    }

    /// For each member, the number of live members that know it.
    fn known_to(&self) -> Vec<f64> {
        let mut known_to = vec![0.0; self.world.len() as usize];
        for subject in self.up().flat_map(|member| self.knows(member)) {
            known_to[subject as usize] += 1.0;
        }
        known_to
    }

    /// The number of members that know a member of `of`: mean and variance.
    fn degrees(&self, of: impl Iterator<Item = u32> + Clone) -> (f64, f64) {
        let known_to = self.known_to();
        moments(of.map(|member| known_to[member as usize]))
    }

    /// The number of entries about dead members.
    fn dead_entries(&self) -> usize {
        let known = self.up().flat_map(|member| self.knows(member));
        known.filter(|&subject| !self.world.is_up(subject)).count()
    }

    /// True if a message that each member forwards to all that it knows reaches every member, from
    /// any start; `from` is one of them.
    fn spreads_from(&self, from: u32) -> bool {
        let mut heard = vec![false; self.world.len() as usize];
        let mut telling = vec![from];
        heard[from as usize] = true;
        while let Some(member) = telling.pop() {
            for next in self.knows(member).filter(|&next| self.world.is_up(next)) {
                if !std::mem::replace(&mut heard[next as usize], true) {
                    telling.push(next);
                }
            }
        }
        self.up().all(|member| heard[member as usize])
    }

    fn is_connected(&self) -> bool {
        self.up().step_by(97).all(|member| self.spreads_from(member))
    }
}

#[test]
fn one_contact_leads_to_a_random_graph() {
    for (members, room, periods) in [(4_000, 20, 60), (1_000, 100, 250)] {
        let mut group = Group::new(members, room, 0.0, 1);
        group.run(periods);
        let (mean, variance) = group.degrees(group.up());
        let room = f64::from(room);
        assert!(mean > room - 0.1, "mean {mean}");
        // In a random graph it is Poisson distributed: the variance is the mean.
        assert!(variance < room, "variance {variance} at {room}");
        assert!(group.is_connected());
    }
}

#[test]
fn loss_duplicates_and_disorder_widen_the_spread_a_little() {
    for (members, room, periods) in [(2_000, 20, 60), (1_000, 100, 250)] {
        let mut group = Group::new(members, room, 0.2, 2);
        group.run(periods);
        let (mean, variance) = group.degrees(group.up());
        let room = f64::from(room);
        assert!(mean > 0.98 * room, "mean {mean}");
        assert!(variance < 2.5 * room, "variance {variance} at {room}");
        assert!(group.is_connected());
    }
}

#[test]
fn dead_members_are_forgotten_in_time() {
    for (loss, dead) in [(0.0, 1), (0.2, 1), (0.0, 1_000), (0.2, 1_000)] {
        let mut group = Group::new(2_000, 20, loss, 3);
        group.run(60);
        let dead = Who::Members((500..500 + dead).collect());
        group.strike(Verb::Kill(dead));
        group.run(0);
        assert!(group.dead_entries() > 0, "members knew it");
        // Twice, plus the time that entries spend in flight: up to a tenth of a period for each
        // exchange.
        group.run(3 * u64::from(group.room));
        assert_eq!(group.dead_entries(), 0, "at loss {loss}");
        assert!(group.is_connected(), "at loss {loss}");
        let (mean, _) = group.degrees(group.up());
        assert!(mean > 19.0, "mean {mean}");
    }
}

#[test]
fn newcomers_become_as_well_known_as_the_others() {
    for loss in [0.0, 0.2] {
        let mut group = Group::begin(500, 1_000, 20, loss, 4);
        group.run(60);
        group.strike(Verb::Start(Who::Members((500..1_000).collect())));
        group.run(2 * u64::from(group.room));
        let (old, _) = group.degrees(0..500);
        let (new, _) = group.degrees(500..1_000);
        assert!((new / old - 1.0).abs() < 0.1, "{new} beside {old}");
        assert!(group.is_connected());
    }
}

#[test]
fn newcomer_whose_messages_are_lost_asks_again() {
    for seed in seeds(20) {
        let mut group = Group::new(20, 30, 0.6, seed);
        group.run(60);
        assert!(group.is_connected(), "seed {seed}");
    }
}

#[test]
fn small_group_has_full_views_without_dead_members() {
    let mut group = Group::new(10, 20, 0.0, 5);
    group.run(40);
    assert!(group.known_to().iter().all(|&by| by == 9.0));
    group.strike(Verb::Kill(Who::one(3)));
    group.run(60);
    assert_eq!(group.dead_entries(), 0);
    assert!(group.up().all(|member| group.entries(member).len() == 8));
}

#[test]
fn same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut group = Group::new(200, 10, 0.2, seed);
        group.run(30);
        let entries = (0..200).map(|member| group.entries(member).to_vec());
        (entries.collect::<Vec<_>>(), *group.world.tally())
    };
    assert!(run(6) == run(6));
    assert!(run(6) != run(7));
}

#[test]
fn shuffling_costs_two_messages_a_period() {
    let mut group = Group::new(500, 20, 0.0, 8);
    group.run(100);
    let sent = group.world.tally().unicasts.iter().sum::<u64>();
    assert!((sent as f64 / 500.0 / 100.0 - 2.0).abs() < 0.05, "{sent}");
}

#[test]
fn arbitrary_input_does_not_panic() {
    for seed in seeds(300) {
        let mut rng = Seeds::new(seed, 0).rng(Stream::Faults);
        let me = Candidate::new(below(12, &mut rng), 3);
        let mut desk = Desk::new(me, Shuffle::default(), config(6), seed);
        for _ in 0..300 {
            desk.papers.now = desk.papers.now + Duration(below(PERIOD.0, &mut rng));
            desk.tell(nonsense(&mut rng));
            let entries = desk.member.acquaintances();
            assert!(entries.len() <= 6, "seed {seed}: {entries:?}");
            let ids = entries.iter().map(|entry| entry.candidate.id);
            assert!(ids.clone().is_sorted_by(|a, b| a < b), "seed {seed}");
            assert!(ids.clone().all(|id| id != me.id), "seed {seed}");
            assert_silent(&desk, seed);
        }
    }
}

fn nonsense(rng: &mut impl Rng) -> Input<Shuffle> {
    let count = below(9, rng);
    let entries: Entries = (0..count).map(|_| any_entry(rng)).collect();
    let number = below(40, rng) as u32;
    let from = MemberId(below(12, rng));
    let message = match below(2, rng) {
        0 => Message::Answer { number, entries },
        _ => Message::Offer { number, priority: Priority(rng.next_u64()), entries },
    };
    match below(8, rng) {
        0 => Input::Start,
        1 => Input::Timer(Timer::Period),
        2 => Input::ViewChanged(ViewChange::Left(from)),
        3 => Input::ViewChanged(ViewChange::Joined(any_entry(rng).candidate)),
        4 => Input::Request(Request::Meet(any_entry(rng).candidate)),
        _ => Input::Message { from, message },
    }
}

fn any_entry(rng: &mut impl Rng) -> Entry {
    Entry {
        candidate: Candidate::new(below(12, rng), rng.next_u64()),
        age: Duration(rng.next_u64() >> below(64, rng)),
    }
}

#[test]
fn contact_of_another_protocol_is_known_at_once() {
    let mut desk = full();
    desk.tell(Input::Request(Request::Meet(Candidate::new(50, 7))));
    assert_eq!(known(&desk).len(), 6);
    assert!(known(&desk).ends_with(&[50]));
}

#[test]
fn only_one_answer_to_the_last_offer_counts() {
    let member = Shuffle::knowing([Candidate::new(1, 0)], Instant::START);
    let mut desk = Desk::new(Candidate::new(0, 0), member, config(6), 10);
    desk.tell(Input::Timer(Timer::Period));
    desk.tell(Input::Timer(Timer::Period)); // not answered: it asks its last contact again
    let numbers = desk.papers.told.iter().map(|said| match said {
        (MemberId(1), Message::Offer { number, .. }) => *number,
        other => panic!("{other:?}"),
    });
    let [first, second] = numbers.collect::<Vec<_>>()[..] else {
        panic!("two offers");
    };
    let answer = |number, id| Message::Answer {
        number,
        entries: [Entry::fresh(Candidate::new(id, 0))].into_iter().collect(),
    };
    desk.hear(1, answer(first, 20));
    desk.hear(2, answer(second, 21));
    desk.hear(1, answer(second, 22));
    desk.hear(1, answer(second, 23));
    assert_eq!(known(&desk), [1, 22]);
}

#[test]
fn member_state_is_small() {
    let acquaintances = 100 * size_of::<Acquaintance>();
    let whole = size_of::<Shuffle>() + acquaintances;
    assert!(whole <= 2_600, "{whole}");
}

/// A member that knows 1 to 6, and has no more room, at the time of its first offer.
fn full() -> Desk<Shuffle> {
    let others = (1..7).map(|id| Candidate::new(id, 0));
    let member = Shuffle::knowing(others, Instant::START);
    let mut desk = Desk::new(Candidate::new(0, 0), member, config(6), 11);
    desk.tell(Input::Timer(Timer::Period));
    desk
}

fn known(desk: &Desk<Shuffle>) -> Vec<u64> {
    let known = desk.member.acquaintances().iter();
    known.map(|it| it.candidate.id.0).collect()
}

#[test]
fn answering_member_is_replaced_by_its_entries() {
    let mut desk = full();
    let Some(&(MemberId(to), Message::Offer { number, .. })) = desk.papers.told.first() else {
        panic!("{:?}", desk.papers.told);
    };
    let entries = [Entry::fresh(Candidate::new(20, 0))].into_iter().collect();
    desk.hear(to, Message::Answer { number, entries });
    let expected = (1..7).filter(|&id| id != to).chain([20]);
    assert_eq!(known(&desk), expected.collect::<Vec<_>>());
}

#[test]
fn too_old_entries_are_dropped() {
    let mut desk = full();
    let limit = PERIOD * 12;
    let offer = |id, age| Message::Offer {
        number: 1,
        priority: Priority(0),
        entries: [Entry { candidate: Candidate::new(id, 0), age }].into_iter().collect(),
    };
    desk.papers.now = Instant::START + limit;
    desk.hear(30, offer(31, limit));
    desk.hear(30, offer(32, Duration(limit.0 - 1)));
    assert!(known(&desk).ends_with(&[30, 32]), "{:?}", known(&desk));
    desk.tell(Input::Timer(Timer::Period));
    assert_eq!(known(&desk), [30, 32]);
}

#[test]
fn member_that_does_not_answer_in_time_is_forgotten() {
    let mut desk = full();
    let to = desk.papers.told[0].0;
    assert!(known(&desk).contains(&to.0));
    desk.tell(Input::Timer(Timer::Period));
    assert!(!known(&desk).contains(&to.0));
}
