//! Any input at any time: nothing panics, and no impossible member is named.

use hustings_protocol::{
    Candidate, Duration, ElectionOutcome, Input, Instant, Io, MemberId, Protocol, Roster, Timer,
    View, ViewChange,
};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::support::family::{Family, anyone};
use crate::support::{UNIT, below, happens};

/// Random inputs, most of them invalid, do not make a member panic, send to itself, or, when it
/// checks reports, name a member outside its view.
pub(crate) fn arbitrary_input_does_not_panic<P: Family>(seed: u64) -> Result<(), String> {
    let mut rng = Seeds::new(seed, 0).rng(Stream::Faults);
    let checks = happens(50, &mut rng);
    let me = Candidate::new(below(9, &mut rng), below(9, &mut rng));
    let mut desk = Desk {
        me,
        config: if checks { P::field(UNIT * 10) } else { P::paper() },
        view: Roster::alone(me),
        rng: Seeds::new(seed, 0).rng(Stream::Members),
        sent_to: Vec::new(),
        named: Vec::new(),
    };
    let mut member = P::default();
    for _ in 0..200 {
        let input = nonsense(&mut desk, &mut rng);
        member.step(input, &mut desk);
        if desk.sent_to.drain(..).any(|to| to == me.id) {
            return Err(format!("{me:?} writes to itself"));
        }
        let stranger = desk.named.drain(..).find(|it| !desk.view.contains(it.id));
        if let Some(it) = stranger.filter(|_| checks) {
            return Err(format!("{me:?} names {it:?}, out of {:?}", desk.view));
        }
    }
    Ok(())
}

fn nonsense<P: Family>(desk: &mut Desk<P>, rng: &mut impl Rng) -> Input<P> {
    match below(10, rng) {
        0 => Input::Start,
        1 | 2 => {
            Input::Timer(<P::Timer as Timer>::ALL[below(P::Timer::ALL.len() as u64, rng) as usize])
        }
        3 => {
            let newcomer = another(desk.me, rng);
            if happens(90, rng) {
                desk.view.insert(newcomer);
            } // otherwise the input contradicts the view
            Input::ViewChanged(ViewChange::Joined(newcomer))
        }
        4 => {
            let gone = another(desk.me, rng).id;
            if happens(90, rng) {
                desk.view.remove(gone);
            } // otherwise the input contradicts the view
            Input::ViewChanged(ViewChange::Left(gone))
        }
        _ => {
            let (from, message) = P::garbage(rng);
            if from == desk.me.id {
                return Input::Start; // no network delivers a member its own messages
            }
            Input::Message { from, message }
        }
    }
}

fn another(me: Candidate, rng: &mut impl Rng) -> Candidate {
    let mut other = anyone(rng);
    if other.id == me.id {
        other.id = MemberId(10);
    }
    other
}

/// Records the effects of a member without executing them.
struct Desk<P: Protocol<Outcome = ElectionOutcome>> {
    me: Candidate,
    config: P::Config,
    view: Roster,
    rng: Xoshiro256PlusPlus,
    sent_to: Vec<MemberId>,
    named: Vec<Candidate>,
}

impl<P: Protocol<Outcome = ElectionOutcome>> Io<P> for Desk<P> {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &P::Config {
        &self.config
    }

    fn now(&self) -> Instant {
        Instant::START
    }

    fn rng(&mut self) -> &mut impl Rng {
        &mut self.rng
    }

    fn view(&self) -> impl View {
        &self.view
    }

    fn unicast(&mut self, to: MemberId, _: P::Message) {
        self.sent_to.push(to);
    }

    fn multicast(&mut self, _: P::Message) {}

    fn arm(&mut self, _: P::Timer, _: Duration) {}

    fn disarm(&mut self, _: P::Timer) {}

    fn save(&mut self, _: P::Durable) {}

    fn report(&mut self, outcome: ElectionOutcome) {
        if let ElectionOutcome::Nominee(candidate) = outcome {
            self.named.push(candidate);
        }
    }
}
