//! The announce family in the field: laws, each from many seeds, and wrong members that break them.
//!
//! A failing seed prints the command that replays it.

mod desk;
mod doubt;
mod farewell;
mod group;
mod identity;
mod joining;
mod kin;
mod listening;
mod lives;
mod mutants;
mod reunion;
mod rival;
mod settle;
mod sticky;
#[path = "../support/mod.rs"]
mod support;
mod totality;
mod vacancy;
mod waking;

use hustings_protocol::announce::Announce;

use support::{Replay, seeds};

/// What holds for a seed, or how it does not.
type Verdict = Result<(), String>;

/// Holds honest members to a law for so many seeds.
fn hold(test: &'static str, count: u64, law: fn(u64) -> Verdict) {
    let file = "announce";
    for seed in seeds(count) {
        let _replay = Replay { file, test, seed };
        if let Err(what) = law(seed) {
            panic!("seed {seed}: {what}");
        }
    }
}

/// An error with this text unless `holds`.
fn require(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}

/// One test for each law.
macro_rules! laws {
    ($($law:ident of $file:ident, $seeds:literal seeds;)*) => {$(
        #[test]
        fn $law() {
            hold(stringify!($law), $seeds, $file::$law::<Announce>);
        }
    )*};
}

laws! {
    all_settle_in_time_and_for_good of settle, 4000 seeds;
    a_stray_is_corrected_at_once of reunion, 1200 seeds;
    sides_unite of reunion, 1200 seeds;
    the_larger_side_keeps_its_leader of reunion, 400 seeds;
    what_is_past_changes_nothing of lives, 2000 seeds;
    a_goodbye_is_final of lives, 800 seeds;
    a_leader_without_its_disk_is_believed_in_the_end of lives, 400 seeds;
    flapping_is_bounded of lives, 800 seeds;
    a_namesake_silences of identity, 800 seeds;
    a_goodbye_spares_the_listen_interval of farewell, 200 seeds;
    a_lost_goodbye_is_healed_by_listening of farewell, 200 seeds;
    a_leader_learns_how_it_is_heard of farewell, 400 seeds;
    few_complain of farewell, 20 seeds;
    a_fixed_number_is_not_disputed of farewell, 100 seeds;
    complaints_are_personal of farewell, 100 seeds;
    a_question_is_answered_at_once of joining, 800 seeds;
    few_ask_after_suppression of joining, 200 seeds;
    after_a_goodbye_nobody_asks of vacancy, 800 seeds;
    after_a_goodbye_nobody_asks_at_once of vacancy, 800 seeds;
    after_a_miss_members_ask of vacancy, 400 seeds;
    a_detector_spares_the_listen_interval of vacancy, 800 seeds;
    a_detector_that_tells_of_no_leader_changes_nothing of vacancy, 400 seeds;
    a_silent_leader_is_asked_for_and_named of doubt, 400 seeds;
    an_answer_ends_the_doubt of doubt, 400 seeds;
    one_that_overslept_asks_first of doubt, 400 seeds;
    few_ask_for_a_silent_leader of doubt, 10 seeds;
    a_restarted_follower_is_as_quick_as_the_others of rival, 400 seeds;
    a_leader_that_is_heard_is_kept_beside_rivals of rival, 400 seeds;
    an_overdue_leader_is_asked_for_beside_a_rival of rival, 400 seeds;
    a_healthy_leader_is_never_missed of listening, 400 seeds;
    a_better_newcomer_takes_over_only_if_it_may of sticky, 800 seeds;
    a_worse_answer_ends_the_wait of sticky, 200 seeds;
    a_restart_costs_the_seat of sticky, 200 seeds;
    the_best_of_those_who_come_together_leads of sticky, 1200 seeds;
    nonsense_is_survived of totality, 8000 seeds;
    answers_are_limited of totality, 80 seeds;
}
