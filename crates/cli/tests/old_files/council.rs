//! Records of councils that were drawn by public coins.

use crate::sample::Samples;

const CHECK: &str = "council --seats 2..3 --max-guess 100 --round 100ms --hosts hosts.txt --check";

/// The text that the coins of `proved.jsonl` follow from.
const PROVED: [&str; 2] = ["--public-coin", "lottery 4 8 15 16 23 42"];

/// The text that the coins of `refilled.jsonl` follow from.
const REFILLED: [&str; 2] = ["--public-coin", "lottery 1 2 3 5 8 13"];

#[test]
fn record_of_a_council_is_a_proof() {
    let samples = Samples::copy("council", "proved");
    let checked = samples.run(&format!("{CHECK} proved.jsonl"), &PROVED);
    checked.expect_code(0).expect_words(&["2"]);
}

#[test]
fn record_with_seats_filled_later_is_no_proof() {
    let samples = Samples::copy("council", "refilled");
    let checked = samples.run(&format!("{CHECK} refilled.jsonl"), &REFILLED);
    checked.expect_code(3).expect_words(&["5", "host-0", "host-4"]);
}

#[test]
fn record_of_another_text_or_with_another_seat_is_refused() {
    let samples = Samples::copy("council", "forged");
    let checked = samples.run(&format!("{CHECK} proved.jsonl"), &REFILLED);
    checked.expect_code(1);
    let record = samples.read("proved.jsonl");
    let seat = "\"name\":\"host-2\",\"id\":14312710845069413046";
    assert!(record.contains(seat), "{record}");
    let forged = "\"name\":\"host-1\",\"id\":14312710845069413046";
    samples.write("forged.jsonl", &record.replace(seat, forged));
    let checked = samples.run(&format!("{CHECK} forged.jsonl"), &PROVED);
    checked.expect_code(1).expect_words(&["host-1"]);
}
