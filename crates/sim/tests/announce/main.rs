//! The announce family in the field: laws, each from many seeds, and defective members that break
//! them.
//!
//! A failing seed prints the command that replays it.

mod desk;
mod doubt;
mod farewell;
mod group;
mod identity;
mod incarnations;
mod joining;
mod kin;
mod listening;
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

/// Ok if the law holds for a seed, or the violation.
type Verdict = Result<(), String>;

/// Checks a law for correct members and `count` seeds.
fn hold(test: &'static str, count: u64, law: fn(u64) -> Verdict) {
    let file = "announce";
    for seed in seeds(count) {
        let _replay = Replay { file, test, seed };
        if let Err(what) = law(seed) {
            panic!("seed {seed}: {what}");
        }
    }
}

/// Returns an error with this text unless `holds`.
fn require(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}

/// Defines one test for each law.
macro_rules! laws {
    ($($law:ident of $file:ident, $seeds:literal seeds;)*) => {$(
        #[test]
        fn $law() {
            hold(stringify!($law), $seeds, $file::$law::<Announce>);
        }
    )*};
}

laws! {
    all_settle_in_time_and_permanently of settle, 4000 seeds;
    stray_member_is_corrected_at_once of reunion, 1200 seeds;
    sides_unite of reunion, 1200 seeds;
    larger_side_keeps_its_leader of reunion, 400 seeds;
    stale_messages_change_nothing of incarnations, 2000 seeds;
    goodbye_is_final of incarnations, 800 seeds;
    leader_without_its_disk_is_followed_again of incarnations, 400 seeds;
    flapping_is_bounded of incarnations, 800 seeds;
    duplicate_name_silences_a_member of identity, 800 seeds;
    goodbye_saves_the_listen_interval of farewell, 200 seeds;
    lost_goodbye_costs_one_listen_interval of farewell, 200 seeds;
    leader_learns_its_loss of farewell, 400 seeds;
    few_members_complain of farewell, 20 seeds;
    fixed_number_of_goodbyes_is_not_disputed of farewell, 100 seeds;
    complaints_count_for_their_subject_only of farewell, 100 seeds;
    question_is_answered_at_once of joining, 800 seeds;
    few_ask_after_suppression of joining, 200 seeds;
    no_member_asks_after_a_goodbye of vacancy, 800 seeds;
    no_member_asks_at_once_after_a_goodbye of vacancy, 800 seeds;
    members_ask_after_missing_the_leader of vacancy, 400 seeds;
    failure_detector_saves_the_listen_interval of vacancy, 800 seeds;
    detected_death_of_a_follower_changes_nothing of vacancy, 400 seeds;
    silent_leader_is_asked_for_and_kept of doubt, 400 seeds;
    answer_ends_the_suspicion of doubt, 400 seeds;
    paused_member_asks_first of doubt, 400 seeds;
    few_ask_for_a_silent_leader of doubt, 10 seeds;
    restarted_follower_is_as_quick_as_the_others of rival, 400 seeds;
    leader_that_is_heard_is_kept_beside_rivals of rival, 400 seeds;
    overdue_leader_is_asked_for_beside_a_rival of rival, 400 seeds;
    healthy_leader_is_never_missed of listening, 400 seeds;
    better_newcomer_takes_over_only_if_permitted of sticky, 800 seeds;
    worse_answer_ends_the_wait of sticky, 200 seeds;
    restarted_leader_loses_its_place of sticky, 200 seeds;
    best_of_simultaneous_starters_leads of sticky, 1200 seeds;
    arbitrary_input_does_not_panic of totality, 8000 seeds;
    answers_are_limited of totality, 80 seeds;
}
