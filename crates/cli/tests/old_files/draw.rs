//! Draws: ring file, key, mark and transcripts.

use serde_json::{Value, json};

use crate::sample::Samples;

const VERIFY: &str = "draw verify --ring ring.toml --format json";

/// The members of an object in a list, under one key.
fn column(list: &Value, key: &str) -> Vec<Value> {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item[key].clone()).collect()
}

#[test]
fn transcripts_of_all_members_prove_the_leader() {
    let samples = Samples::copy("draw", "transcripts");
    let transcripts = "alpha.jsonl beta.jsonl gamma.jsonl delta.jsonl";
    let verified = samples.run(&format!("{VERIFY} {transcripts}"), &[]);
    let found = verified.expect_code(0).json();
    assert_eq!(found["draw"], "rotating chair");
    assert_eq!(found["number"], 12);
    assert_eq!(found["leader"], "delta");
    // The digest of the ring file, as the transcripts have it.
    let header = samples.read("alpha.jsonl");
    let header: Value = serde_json::from_str(header.lines().next().expect("a line")).expect("JSON");
    assert_eq!(found["ring"], header["transcript"]["ring"]);
    let counted = &found["transcripts"];
    assert_eq!(column(counted, "member"), ["alpha", "beta", "gamma", "delta"]);
    let lines = |name: &str| samples.read(name).lines().count().into();
    let lines: Vec<Value> = transcripts.split(' ').map(lines).collect();
    assert_eq!(column(counted, "entries"), lines);
    for empty in ["unusable", "missing", "findings"] {
        assert_eq!(found[empty], json!([]), "{empty}");
    }
}

#[test]
fn transcript_of_one_member_has_all_signatures() {
    let samples = Samples::copy("draw", "transcript");
    let found = samples.run(&format!("{VERIFY} gamma.jsonl"), &[]);
    let found = found.expect_code(0).json();
    assert_eq!(found["leader"], "delta");
    assert_eq!(found["missing"], json!(["alpha", "beta", "delta"]));
}

#[test]
fn changed_transcript_does_not_count() {
    let samples = Samples::copy("draw", "changed_transcript");
    let text = samples.read("gamma.jsonl");
    samples.write("gamma.jsonl", &text.replacen("heads", "tails", 1));
    let found = samples.run(&format!("{VERIFY} gamma.jsonl"), &[]);
    let found = found.expect_code(1).json();
    assert_eq!(found["leader"], Value::Null);
    assert_eq!(column(&found["unusable"], "source"), ["gamma.jsonl"]);
}

#[test]
fn transcripts_prove_the_cheater() {
    let samples = Samples::copy("cheated_draw", "cheated_draw");
    let found = samples.run(&format!("{VERIFY} alpha.jsonl beta.jsonl gamma.jsonl"), &[]);
    let found = found.expect_code(1).json();
    assert_eq!(found["leader"], Value::Null);
    assert_eq!(found["missing"], json!(["delta"]));
    assert_eq!(column(&found["transcripts"], "member"), ["alpha", "beta", "gamma"]);
    assert_eq!(column(&found["findings"], "who"), [json!(["delta"])]);
    assert_eq!(column(&found["findings"], "weight"), ["proven"]);
}

const JOIN: &str = "draw --ring ring.toml --key alpha.key --bind 127.0.0.1:0 --wait 1ms --log off";

#[test]
fn key_is_the_one_that_the_ring_file_has_for_its_member() {
    let samples = Samples::copy("draw", "key");
    let waited = samples.run(&format!("{JOIN} --member alpha"), &[]);
    // The key was accepted: the program has gone on to wait for the other members.
    waited.expect_code(1).expect_words(&["beta", "delta"]);
    let refused = samples.run(&format!("{JOIN} --member beta"), &[]);
    let public = "d750ec87ac73c6c948cb6571e0e5729935fb47cbfc93c33b0c6bbfd954f64923";
    refused.expect_code(2).expect_words(&["--key", "beta", public]);
}

#[test]
fn mark_of_a_draw_prevents_a_second_one() {
    let samples = Samples::copy("draw", "mark");
    samples.place("alpha.mark", "alpha.key.drawn/rotating chair 12");
    let refused = samples.run(&format!("{JOIN} --member alpha --transcript new.jsonl"), &[]);
    let refused = refused.expect_code(1);
    let mark = "alpha.key.drawn/rotating chair 12";
    assert!(refused.said().contains(mark), "{}", refused.said());
}
