//! Defective protocols, and the law that catches each. A law is as good as the mutants it kills.

use hustings_protocol::bully::{self, Bully};
use hustings_protocol::chang_roberts::{self, ChangRoberts, Initiator};
use hustings_protocol::config::Reports;
use hustings_protocol::modified_ring::{self, ModifiedRing};
use hustings_protocol::{Candidate, Duration, Input, Instant, MemberId, Protocol, ViewChange};

use crate::defect::{Defect, Defective};
use crate::support::wrapper::Effect;
use crate::{agreement, cost, totality};

/// The number of seeds in which a law has to catch a mutant.
const SEEDS: u64 = 2_000;

/// Defines one test for each mutant: the correct protocol, its defect, and the law that catches it.
macro_rules! mutants {
    ($($name:ident: $honest:ident, $defect:ident, $file:ident::$law:ident;)*) => {$(
        #[test]
        fn $name() {
            let law = $file::$law::<Defective<$honest, $defect>>;
            let caught = (0..SEEDS).any(|seed| law(seed).is_err());
            assert!(caught, "{} lets it pass", stringify!($file::$law));
        }
    )*};
}

mutants! {
    a_bully_deaf_to_coordinators: Bully, DeafToCoordinators, cost::one_caller;
    a_bully_that_waits_for_the_winner_without_end: Bully, NoVictoryTimer, cost::death_is_survived;
    a_bully_that_never_answers: Bully, Mute, cost::one_caller;
    a_bully_that_believes_any_coordinator: Bully, Credulous, totality::arbitrary_input_does_not_panic;
    a_bully_that_keeps_a_dead_leader: Bully, KeepsTheDead, agreement::comes_in_time_and_lasts;
    a_bully_that_does_not_stand_after_a_restart: Bully, StaysDown, agreement::comes_in_time_and_lasts;
    a_bully_that_overlooks_newcomers: Bully, Unwelcoming, agreement::comes_in_time_and_lasts;
    a_ring_that_passes_worse_identities_on: ChangRoberts, PassesOn, cost::one_caller;
    a_ring_that_forgets_that_it_participates: ChangRoberts, Forgets, cost::many_callers;
    a_ring_whose_callers_do_not_participate: ChangRoberts, Literal, cost::many_callers;
    a_ring_that_keeps_a_dead_leader: ChangRoberts, KeepsTheDead, agreement::comes_in_time_and_lasts;
    a_ring_that_does_not_pass_elected_on: ChangRoberts, StopsElected, cost::one_caller;
    a_ring_without_patience: ChangRoberts, NoPatience, agreement::comes_in_time_and_lasts;
    a_ring_that_believes_hearsay: ChangRoberts, Credulous, agreement::no_member_goes_back;
    a_modified_ring_that_does_not_ask_for_the_signature: ModifiedRing, Unsigned, cost::death_is_survived;
    a_modified_ring_that_discards_better_initiators: ModifiedRing, DiscardsBetter, cost::many_callers;
    a_modified_ring_that_overlooks_its_own_signature: ModifiedRing, Overlooks, cost::death_is_survived;
    a_modified_ring_that_elects_the_wrong_member: ModifiedRing, MissesTheBest, cost::one_caller;
    a_modified_ring_that_keeps_a_dead_leader: ModifiedRing, KeepsTheDead, agreement::comes_in_time_and_lasts;
    a_modified_ring_without_patience: ModifiedRing, NoPatience, agreement::comes_in_time_and_lasts;
    a_modified_ring_that_believes_hearsay: ModifiedRing, Credulous, totality::arbitrary_input_does_not_panic;
}

// Defects of every protocol.

/// Ignores that a member left.
#[derive(Default)]
struct KeepsTheDead;

impl<P: Protocol> Defect<P> for KeepsTheDead {
    fn hears(&mut self, input: &mut Input<P>, _: Candidate, _: Instant) -> bool {
        !matches!(input, Input::ViewChanged(ViewChange::Left(_)))
    }
}

/// Believes reports although time-outs run.
#[derive(Default)]
struct Credulous;

impl Defect<ChangRoberts> for Credulous {
    fn config(config: chang_roberts::Config) -> chang_roberts::Config {
        let reports = Reports::Trusted;
        chang_roberts::Config { reports, ..config }
    }
}

impl Defect<ModifiedRing> for Credulous {
    fn config(config: modified_ring::Config) -> modified_ring::Config {
        let reports = Reports::Trusted;
        modified_ring::Config { reports, ..config }
    }
}

impl Defect<Bully> for Credulous {
    fn config(config: bully::Config) -> bully::Config {
        let reports = Reports::Trusted;
        bully::Config { reports, ..config }
    }
}

/// Waits for ever.
#[derive(Default)]
struct NoPatience;

impl<P: Protocol> Defect<P> for NoPatience {
    fn does(&mut self, effect: &Effect<P>, _: Candidate) -> bool {
        !matches!(effect, Effect::Arm { .. })
    }
}

// Defects of the bully.

/// Ignores the winner's announcement.
#[derive(Default)]
struct DeafToCoordinators;

impl Defect<Bully> for DeafToCoordinators {
    fn hears(&mut self, input: &mut Input<Bully>, me: Candidate, _: Instant) -> bool {
        match input {
            Input::Message { message: bully::Message::Coordinator { sender }, .. } => *sender < me,
            Input::Message { .. } | Input::Start | Input::Timer(_) => true,
            Input::ViewChanged(_) | Input::Leave | Input::Request(_) => true,
        }
    }
}

/// Once it has an answer it waits for the winner without end.
#[derive(Default)]
struct NoVictoryTimer;

impl Defect<Bully> for NoVictoryTimer {
    fn does(&mut self, effect: &Effect<Bully>, _: Candidate) -> bool {
        let timer = bully::Timer::VictoryDue;
        !matches!(effect, Effect::Arm { timer: it } if *it == timer)
    }
}

/// Does not answer.
#[derive(Default)]
struct Mute;

impl Defect<Bully> for Mute {
    fn does(&mut self, effect: &Effect<Bully>, _: Candidate) -> bool {
        let answer = |message: &_| matches!(message, bully::Message::Answer { .. });
        !matches!(effect, Effect::Unicast { message, .. } if answer(message))
    }
}

/// Comes up silently, except for the first time.
#[derive(Default)]
struct StaysDown;

impl Defect<Bully> for StaysDown {
    fn hears(&mut self, input: &mut Input<Bully>, _: Candidate, now: Instant) -> bool {
        let first_times = Instant::START + Duration::from_secs(5);
        *input != Input::Start || now < first_times
    }
}

/// Ignores that a member joined.
#[derive(Default)]
struct Unwelcoming;

impl Defect<Bully> for Unwelcoming {
    fn hears(&mut self, input: &mut Input<Bully>, _: Candidate, _: Instant) -> bool {
        !matches!(input, Input::ViewChanged(ViewChange::Joined(_)))
    }
}

// Defects of the ring of Chang and Roberts.

fn election(input: &Input<ChangRoberts>) -> Option<Candidate> {
    match input {
        Input::Message { message: chang_roberts::Message::Election { candidate }, .. } => {
            Some(*candidate)
        }
        Input::Message { .. } | Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// Forwards every identity, even one worse than its own.
#[derive(Default)]
struct PassesOn;

impl Defect<ChangRoberts> for PassesOn {
    fn adds(
        &mut self,
        input: &Input<ChangRoberts>,
        me: Candidate,
    ) -> Option<chang_roberts::Message> {
        let candidate = election(input).filter(|it| *it < me)?;
        Some(chang_roberts::Message::Election { candidate })
    }
}

/// Forgets, when a worse identity comes, that it has forwarded a better one.
#[derive(Default)]
struct Forgets;

impl Defect<ChangRoberts> for Forgets {
    fn forgets(&mut self, input: &Input<ChangRoberts>, me: Candidate) -> bool {
        election(input).is_some_and(|it| it < me)
    }
}

/// The slides literally.
#[derive(Default)]
struct Literal;

impl Defect<ChangRoberts> for Literal {
    fn config(config: chang_roberts::Config) -> chang_roberts::Config {
        let initiator = Initiator::Literal;
        chang_roberts::Config { initiator, ..config }
    }
}

/// Does not forward the winner's announcement.
#[derive(Default)]
struct StopsElected;

impl Defect<ChangRoberts> for StopsElected {
    fn does(&mut self, effect: &Effect<ChangRoberts>, me: Candidate) -> bool {
        let others = |message: &_| matches!(message, chang_roberts::Message::Elected { winner } if *winner != me);
        !matches!(effect, Effect::Unicast { message, .. } if others(message))
    }
}

// Defects of the modified ring.

fn list(input: &mut Input<ModifiedRing>) -> Option<&mut modified_ring::Message> {
    match input {
        Input::Message { message, .. } => Some(message),
        Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// Assumes the coordinator's signature.
#[derive(Default)]
struct Unsigned;

impl Defect<ModifiedRing> for Unsigned {
    fn hears(&mut self, input: &mut Input<ModifiedRing>, me: Candidate, _: Instant) -> bool {
        match list(input) {
            Some(modified_ring::Message::Coordinator { call, best, ids })
                if call.initiator == me =>
            {
                ids.push(best.id);
            }
            Some(_) | None => {}
        }
        true
    }
}

/// During an election of its own it discards those of better initiators too.
#[derive(Default)]
struct DiscardsBetter {
    called: bool,
}

impl Defect<ModifiedRing> for DiscardsBetter {
    fn hears(&mut self, input: &mut Input<ModifiedRing>, me: Candidate, _: Instant) -> bool {
        let called = self.called;
        match list(input) {
            Some(modified_ring::Message::Election { call, .. }) => {
                !called || call.initiator.id == me.id
            }
            Some(modified_ring::Message::Coordinator { .. }) | None => true,
        }
    }

    fn does(&mut self, effect: &Effect<ModifiedRing>, me: Candidate) -> bool {
        if let Effect::Unicast { message, .. } = effect {
            match message {
                modified_ring::Message::Election { call, .. } if call.initiator == me => {
                    self.called = true;
                }
                modified_ring::Message::Coordinator { .. } => self.called = false,
                modified_ring::Message::Election { .. } => {}
            }
        }
        true
    }
}

/// Does not notice that a list went all the way round.
#[derive(Default)]
struct Overlooks;

impl Defect<ModifiedRing> for Overlooks {
    fn hears(&mut self, input: &mut Input<ModifiedRing>, me: Candidate, _: Instant) -> bool {
        let signed = |ids: &[MemberId]| ids.contains(&me.id);
        match list(input) {
            Some(modified_ring::Message::Election { call, ids }) => {
                let ids: Vec<MemberId> = ids.iter().map(|it| it.id).collect();
                call.initiator == me || !signed(&ids)
            }
            Some(modified_ring::Message::Coordinator { call, ids, .. }) => {
                call.initiator == me || !signed(ids)
            }
            None => true,
        }
    }
}

/// Reads its own list without the last signature.
#[derive(Default)]
struct MissesTheBest;

impl Defect<ModifiedRing> for MissesTheBest {
    fn hears(&mut self, input: &mut Input<ModifiedRing>, me: Candidate, _: Instant) -> bool {
        match list(input) {
            Some(modified_ring::Message::Election { call, ids }) if call.initiator == me => {
                ids.pop();
            }
            Some(_) | None => {}
        }
        true
    }
}
