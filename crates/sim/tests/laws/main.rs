//! Laws that every protocol keeps, each run from many seeds; and defective protocols that break
//! them.

mod agreement;
mod cost;
mod defect;
mod determinism;
mod losses;
mod mutants;
mod storm;
#[path = "../support/mod.rs"]
mod support;
mod totality;

use hustings_protocol::bully::Bully;
use hustings_protocol::chang_roberts::ChangRoberts;
use hustings_protocol::modified_ring::ModifiedRing;

use support::family::Family;
use support::{Replay, seeds};

/// Checks a law for a protocol and `count` seeds.
fn hold<P: Family>(test: &'static str, count: u64, law: fn(u64) -> Result<(), String>) {
    let file = "laws";
    for seed in seeds(count) {
        let _replay = Replay { file, test, seed };
        if let Err(what) = law(seed) {
            panic!("{} breaks the law: {what}", P::NAME);
        }
    }
}

/// Defines one test for each protocol.
macro_rules! laws {
    ($($name:ident: $file:ident::$law:ident, $seeds:literal seeds;)*) => {$(
        mod $name {
            use super::{Bully, ChangRoberts, ModifiedRing, $file, hold};

            #[test]
            fn chang_roberts() {
                let test = concat!(stringify!($name), "::chang_roberts");
                hold::<ChangRoberts>(test, $seeds, $file::$law::<ChangRoberts>);
            }

            #[test]
            fn modified_ring() {
                let test = concat!(stringify!($name), "::modified_ring");
                hold::<ModifiedRing>(test, $seeds, $file::$law::<ModifiedRing>);
            }

            #[test]
            fn bully() {
                let test = concat!(stringify!($name), "::bully");
                hold::<Bully>(test, $seeds, $file::$law::<Bully>);
            }
        }
    )*};
}

laws! {
    agreement_comes_in_time_and_lasts: agreement::comes_in_time_and_lasts, 2_000 seeds;
    no_member_goes_back: agreement::no_member_goes_back, 1_000 seeds;
    same_seed_same_trace: determinism::same_seed_same_trace, 100 seeds;
    any_number_of_threads: determinism::any_number_of_threads, 2 seeds;
    one_caller_costs_what_theory_says: cost::one_caller, 500 seeds;
    many_callers_cost_at_most_the_worst_case: cost::many_callers, 500 seeds;
    death_is_survived: cost::death_is_survived, 500 seeds;
    arbitrary_input_does_not_panic: totality::arbitrary_input_does_not_panic, 2_000 seeds;
    elections_end_in_silence: agreement::ends_in_silence, 1_000 seeds;
}

#[test]
fn permanent_loss_delays_agreement_but_does_not_prevent_it() {
    /// The number of 500 groups that may disagree after 10 times and after 40 times their
    /// patience.
    const MAY_DISAGREE: [(u64, u64); 2] = [(10, 10), (40, 0)];
    for (patiences, may) in MAY_DISAGREE {
        for (name, disagree) in [
            (ChangRoberts::NAME, losses::disagreements::<ChangRoberts>(500, patiences)),
            (ModifiedRing::NAME, losses::disagreements::<ModifiedRing>(500, patiences)),
            (Bully::NAME, losses::disagreements::<Bully>(500, patiences)),
        ] {
            assert!(disagree <= may, "{name}: {disagree} disagree after {patiences} patiences");
        }
    }
}
