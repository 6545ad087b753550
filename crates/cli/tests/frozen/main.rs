//! Frozen behaviour: the program's numbers, verdicts, traces and exit codes, compared with recorded
//! answers.
//!
//! Restructuring must not change what the program computes. Each test runs the command lines of one
//! file in `commands/` and compares every answer with the one in `recorded/`. JSON numbers are
//! compared as text, digit by digit. Keys and strings that were renamed on purpose are listed in
//! `renamed_keys.txt`. Prose is not compared: see `answer.rs` for the list. `README.md` says how to
//! compare, how to list a rename and what is not frozen.

mod answer;
mod compare;
mod json;
mod program;
mod recorded;
mod renames;
mod wrong_input;

/// Compares the answers to all commands of `commands/NAME.txt` with `recorded/NAME.jsonl`.
#[track_caller]
fn assert_frozen(name: &str) {
    let failures = recorded::failures(name);
    assert!(
        failures.is_empty(),
        "{} of the frozen answers differ\n\n{}\n\nIf the change is meant: see README.md beside this test",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn simulations_give_the_recorded_numbers() {
    assert_frozen("sim");
}

#[test]
fn closed_forms_give_the_recorded_numbers() {
    assert_frozen("theory");
}

#[test]
fn simulator_traces_have_the_recorded_lines() {
    assert_frozen("trace");
}

#[test]
fn claims_of_slides_and_thesis_have_the_recorded_verdicts() {
    assert_frozen("claims_r_l");
}

#[test]
fn claims_of_large_groups_and_epidemic_have_the_recorded_verdicts() {
    assert_frozen("claims_p_e");
}

#[test]
fn claims_of_council_and_fair_draw_have_the_recorded_verdicts() {
    assert_frozen("claims_c_w");
}

#[test]
fn figures_have_the_recorded_curves() {
    assert_frozen("figures");
}

#[test]
fn wrong_input_ends_with_the_recorded_exit_code_and_names() {
    let failures = wrong_input::failures();
    assert!(
        failures.is_empty(),
        "{} command lines with wrong input behave differently\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}
