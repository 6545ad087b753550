//! One member by itself: any input at any time.

use hustings_protocol::probabilistic::{Request, Timer};
use hustings_protocol::{Candidate, Input, Io, Outcome, Protocol, Roster, View, ViewChange};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// What a member may touch, and what it did.
struct Desk {
    me: Candidate,
    config: Config,
    now: Instant,
    view: Roster,
    rng: Xoshiro256PlusPlus,
    sent: Vec<(Option<MemberId>, Message)>,
    armed: Option<Instant>,
    reported: Vec<Outcome>,
    met: Vec<Candidate>,
}

impl Desk {
    fn new(config: Config) -> Self {
        let me = Candidate::new(5, 5);
        Self {
            me,
            config,
            now: Instant::START,
            view: Roster::alone(me),
            rng: Seeds::new(1, 0).rng(Stream::Members),
            sent: Vec::new(),
            armed: None,
            reported: Vec::new(),
            met: Vec::new(),
        }
    }
}

impl Io<Probabilistic> for Desk {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn rng(&mut self) -> &mut impl Rng {
        &mut self.rng
    }

    fn view(&self) -> impl View {
        &self.view
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        self.sent.push((Some(to), message));
    }

    fn multicast(&mut self, message: Message) {
        self.sent.push((None, message));
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        if timer == Timer::Phase {
            self.armed = Some(self.now + after);
        }
    }

    fn disarm(&mut self, timer: Timer) {
        if timer == Timer::Phase {
            self.armed = None;
        }
    }

    fn save(&mut self, (): ()) {}

    fn report(&mut self, outcome: Outcome) {
        self.reported.push(outcome);
    }

    fn meet(&mut self, candidate: Candidate) {
        self.met.push(candidate);
    }
}

fn round(sequence: u64, number: u16) -> Round {
    Round { sequence, number }
}

fn hear(member: &mut Probabilistic, desk: &mut Desk, from: u64, message: Message) {
    let from = MemberId(from);
    member.step(Input::Message { from, message }, desk);
}

/// A member of a group of one thousand, in a round in which all relay.
fn relaying() -> (Probabilistic, Desk) {
    let mut desk = Desk::new(Config::document(1_000, HOP));
    for other in [2, 7, 9] {
        desk.view.insert(Candidate::new(other, other));
    }
    let mut member = Probabilistic::new();
    let (round, k, after) = (round(1, 1), 1_000, Duration::ZERO);
    hear(
        &mut member,
        &mut desk,
        2,
        Message::Initiation { round, k, after },
    );
    assert!(member.relays());
    (member, desk)
}

fn preference(choice: u64) -> Message {
    Message::Preference {
        round: round(1, 1),
        choice: Candidate::new(choice, choice),
        merit: Merit(0),
    }
}

fn told(desk: &mut Desk) -> Vec<(u64, u64)> {
    let sent = desk.sent.drain(..);
    sent.filter_map(|(to, message)| match message {
        Message::Preference { choice, .. } => Some((to?.0, choice.id.0)),
        _ => None,
    })
    .collect()
}

#[test]
fn who_relays_tells_the_best_that_it_knows_to_all_that_relay() {
    let (_, mut desk) = relaying();
    assert_eq!(told(&mut desk), [(2, 9), (7, 9), (9, 9)]);
}

#[test]
fn a_better_choice_is_passed_on_a_worse_one_answered_and_the_same_is_not() {
    let (mut member, mut desk) = relaying();
    told(&mut desk);
    hear(&mut member, &mut desk, 7, preference(9));
    assert_eq!(told(&mut desk), [], "the same");
    hear(&mut member, &mut desk, 7, preference(8));
    assert_eq!(told(&mut desk), [(7, 9)], "worse");
    // From somebody that it did not know: it is told from now on, and known.
    hear(&mut member, &mut desk, 4, preference(12));
    assert_eq!(told(&mut desk), [(2, 12), (4, 12), (7, 12), (9, 12)]);
    assert_eq!(desk.met, [Candidate::new(4, 0)]);
}

#[test]
fn whoever_missed_the_initiation_or_is_elsewhere_does_not_relay() {
    let mut desk = Desk::new(Config::document(1_000, HOP));
    let mut member = Probabilistic::new();
    hear(&mut member, &mut desk, 7, preference(9));
    assert!(desk.sent.is_empty());
    let (mut member, mut desk) = relaying();
    told(&mut desk);
    let of_another_round = Message::Preference {
        round: round(1, 2),
        choice: Candidate::new(12, 12),
        merit: Merit(0),
    };
    hear(&mut member, &mut desk, 7, of_another_round);
    assert!(desk.sent.is_empty());
}

fn decision(number: u16, choice: u64) -> Message {
    Message::Decision {
        round: round(1, number),
        k: 7,
        choice: Candidate::new(choice, choice),
    }
}

#[test]
fn who_missed_the_initiation_names_the_one_that_it_hears_of() {
    let mut desk = Desk::new(Config::field(1, HOP, HOP));
    let mut member = Probabilistic::new();
    member.step(Input::Request(Request::GroupSize(1_000)), &mut desk);
    hear(&mut member, &mut desk, 7, decision(1, 9));
    hear(&mut member, &mut desk, 2, decision(1, 9));
    desk.now = desk.armed.expect("it waits for others");
    member.step(Input::Timer(Timer::Phase), &mut desk);
    assert_eq!(
        desk.reported,
        [Outcome::Nominee(Candidate::new(9, 9))],
        "{member:?}"
    );
    // Late, and not what the others said: it calls the next round.
    hear(&mut member, &mut desk, 2, decision(1, 8));
    assert_eq!(desk.reported.last(), Some(&Outcome::Vacant));
    assert!(member.recalls());
    desk.now = desk.armed.expect("it hesitates");
    member.step(Input::Timer(Timer::Phase), &mut desk);
    let called = |(to, message): &(Option<MemberId>, Message)| {
        matches!(message, Message::Initiation { round, k: 14, .. } if round.number == 2)
            && to.is_none()
    };
    assert!(desk.sent.iter().any(called), "{:?}", desk.sent);
}

#[test]
fn who_hears_the_call_of_another_keeps_silent() {
    let mut desk = Desk::new(Config::field(1, HOP, HOP));
    let mut member = Probabilistic::new();
    hear(&mut member, &mut desk, 7, decision(1, 9));
    hear(&mut member, &mut desk, 2, decision(1, 8));
    desk.now = desk.armed.expect("it waits for others");
    member.step(Input::Timer(Timer::Phase), &mut desk);
    assert!(member.recalls());
    let call = Message::Initiation {
        round: round(1, 2),
        k: 14,
        after: HOP * 3,
    };
    hear(&mut member, &mut desk, 7, call);
    assert!(!member.recalls());
    assert_eq!(desk.armed, Some(desk.now + HOP * 3), "it begins with all");
    assert!(desk.sent.is_empty());
}

#[test]
fn a_call_from_the_past_changes_nothing() {
    let (mut member, mut desk) = relaying();
    let before = member.clone();
    for (sequence, number) in [(0, 9), (1, 0), (1, 1)] {
        let (round, k, after) = (round(sequence, number), 3, Duration::ZERO);
        hear(
            &mut member,
            &mut desk,
            2,
            Message::Initiation { round, k, after },
        );
        assert_eq!(member, before);
    }
}

/// Anything at any time: nothing panics, and nobody writes to itself.
#[test]
fn nonsense_is_survived() {
    for seed in 0..2_000 {
        let mut rng = Seeds::new(seed, 0).rng(Stream::Faults);
        let config = match seed % 2 {
            0 => Config::document(9, HOP),
            _ => Config::field(seed, HOP, HOP),
        };
        let mut desk = Desk::new(config);
        let mut member = Probabilistic::new();
        for _ in 0..100 {
            let input = nonsense(&mut desk, &mut rng);
            member.step(input, &mut desk);
            desk.now = desk.now + HOP;
            let to_itself = desk.sent.drain(..).any(|(to, _)| to == Some(desk.me.id));
            assert!(!to_itself, "{seed}");
        }
    }
}

fn nonsense(desk: &mut Desk, rng: &mut impl Rng) -> Input<Probabilistic> {
    let any = |rng: &mut dyn FnMut() -> u64| match rng() % 4 {
        0 => rng(),
        1 => u64::MAX,
        _ => rng() % 9,
    };
    let mut draw = || rng.next_u64();
    let candidate = Candidate::new(any(&mut draw), any(&mut draw));
    let round = Round {
        sequence: any(&mut draw),
        number: any(&mut draw) as u16,
    };
    let k = any(&mut draw) as u32;
    let message = match draw() % 7 {
        0 => Message::Initiation {
            round,
            k,
            after: Duration(any(&mut draw)),
        },
        1 | 2 => Message::Preference {
            round,
            choice: candidate,
            merit: Merit(any(&mut draw)),
        },
        3 => Message::Decision {
            round,
            k,
            choice: candidate,
        },
        4 => Message::Question,
        5 => Message::Check {
            round,
            merit: Merit(any(&mut draw)),
        },
        _ => Message::Answer {
            round,
            leader: candidate,
        },
    };
    match draw() % 9 {
        0 => Input::Start,
        1 => Input::Timer(Timer::Phase),
        2 => Input::Timer(Timer::Check),
        3 => {
            desk.view.insert(Candidate::new(draw() % 4, draw() % 9));
            Input::ViewChanged(ViewChange::Joined(candidate))
        }
        4 => Input::ViewChanged(ViewChange::Left(candidate.id)),
        5 => Input::Request(Request::GroupSize(any(&mut draw))),
        6 => Input::Request(Request::FirstK(any(&mut draw) as u32)),
        _ => {
            let from = MemberId(6 + draw() % 9);
            Input::Message { from, message }
        }
    }
}
