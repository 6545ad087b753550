//! Records that were written by nobody's draw: what proves nothing is no proof, and what cannot be is a fault.

use std::path::{Path, PathBuf};

use hustings_agent::identity::member_id;
use serde_json::{Value, json};

use crate::process::{self, Outcome, hustings};

/// By these coins `host-0`, `host-1` and `host-3` had to reply in round 1, and `host-2` had not. In round 2, which is to fill a third
/// seat, `host-2` had to, and `host-3` had not. The coin of `host-0` in round 1 is below 2/5.
const RULES: &str = "--seats 2..3 --max-guess 4 --c 2 --public-coin filed-2323";

/// How many rounds a centre writes down.
const MOST_RECORDED: u32 = 256;

fn host(number: u32) -> String {
    format!("host-{number}")
}

fn voice(number: u32, draws: u8, by: u32) -> Value {
    json!({"host": member_id(&host(number)).0, "draws": draws, "number": by})
}

fn late(to: u32, voice: &Value, in_rest: bool) -> Value {
    json!({"to": to, "voice": voice, "in_rest": in_rest})
}

/// All are called, by this number; 0: all are to reply.
fn round(number: u32, seated: u32, by: u32, replies: &[Value]) -> Value {
    let feedback = json!({
        "session": 7, "class": 0, "round": number, "base": 0, "seated": seated, "word": by << 1 | 1, "floor": null,
    });
    json!({"feedback": feedback, "replies": replies, "late": []})
}

/// The round in which `host-0` and `host-1` are elected.
fn first() -> Value {
    round(1, 0, 4, &[voice(0, 1, 4), voice(1, 1, 4)])
}

/// The one in which `host-2` is, for a third seat.
fn second() -> Value {
    round(2, 2, 4, &[voice(2, 1, 4)])
}

fn with_late(mut round: Value, late: &Value) -> Value {
    round["late"] = json!([late]);
    round
}

/// What the centre prints when these are seated.
fn line(seated: &[u32], record: &[Value]) -> Value {
    let seat = |number: &u32| {
        let name = host(*number);
        let member = json!({"name": name, "id": member_id(&name).0, "address": null});
        json!({"place": number, "member": member, "since": 0, "heard": 0, "confirmed": true, "lease": null})
    };
    let seats: Vec<Value> = seated.iter().map(seat).collect();
    json!({
        "group": "fleet", "centre": "centre", "session": 7, "is_settled": true, "rounds": 0, "replies": 0, "late": 0,
        "peak_replies": 0, "changes": 0, "gives_way_to": null, "held_elsewhere": null, "awaits": null,
        "chambers": [{"class": 0, "least": 2, "most": 3, "seats": seats}], "record": record,
    })
}

fn written(name: &str, text: &str) -> PathBuf {
    let name = process::group(name);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("written");
    path
}

/// A check of these lines, where there are so many hosts.
fn check(name: &str, hosts: u32, lines: &[Value]) -> Outcome {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let hosts: Vec<String> = (0..hosts).map(host).collect();
    let record = written(&format!("{name}-record"), &lines.join("\n"));
    let list = written(&format!("{name}-hosts"), &hosts.join("\n"));
    let (record, list) = (record.display(), list.display());
    hustings(&format!("council {RULES} --check {record} --hosts {list}"))
}

#[track_caller]
fn finds(outcome: &Outcome, code: i32, what: &str) {
    let Outcome { said, printed, .. } = outcome;
    assert_eq!(outcome.code, Some(code), "{what}: {said}{printed}");
    let is_told = said.contains(what) || printed.contains(what);
    assert!(is_told, "{what}: {said}{printed}");
}

#[test]
fn a_reply_that_no_host_can_have_given_is_a_fault() {
    let check = |hosts, record: Value| check("no-reply", hosts, &[line(&[0, 1], &[record])]);
    let proof = "drawn as it had to be: 1 rounds; seated: host-0 host-1\n";
    finds(&check(3, first()), 0, proof);
    // So that it is not missed: by a greater number it drew a no.
    let yes = [voice(0, 1, 4), voice(1, 1, 4)];
    let silent = round(1, 0, 4, &[&yes[..], &[voice(3, 0, u32::MAX)]].concat());
    let fault = "round 1: host-3 is said to have replied with a no";
    finds(&check(4, silent), 1, fault);
    let mut beyond = first();
    beyond["replies"][0]["number"] = 5.into();
    let fault = "round 1: host-0 is said to have drawn by a number that no host can draw by";
    finds(&check(3, beyond), 1, fault);
}

/// `changes` puts them in order, and the forger writes it.
#[test]
fn lines_with_the_same_rounds_and_other_seats_prove_nothing() {
    let whole = line(&[0, 1], &[first()]);
    for changes in [0, 9] {
        let mut fewer = line(&[0], &[first()]);
        fewer["changes"] = changes.into();
        let mut whole = whole.clone();
        whole["changes"] = 5.into();
        let outcome = check("two-ways", 3, &[whole, fewer]);
        finds(&outcome, 3, "tell of the same rounds, and of other seats");
    }
}

#[test]
fn a_reply_that_is_said_to_be_late_proves_nothing() {
    let check = |record: &[Value]| check("late", 4, &[line(&[0, 1], record)]);
    let kept_out = with_late(first(), &late(1, &voice(3, 1, 4), true));
    let outcome = check(&[kept_out]);
    finds(
        &outcome,
        3,
        "note: round 1: host-3 replied late, as the centre says",
    );
    finds(
        &outcome,
        3,
        "; replies that came late, as the centre says: 1\n",
    );
    for to in [0, 2] {
        let unasked = with_late(first(), &late(to, &voice(3, 1, 4), true));
        let fault = "round 1: host-3 is said to have replied late to a round that had not been yet";
        finds(&check(&[unasked]), 1, fault);
    }
    // Nobody replies, so that all are called at once: there is no rest.
    let nobody = round(1, 0, 4, &[]);
    let poll = round(2, 0, 0, &[voice(0, 1, 0), voice(1, 1, 0)]);
    finds(&check(&[nobody.clone(), poll.clone()]), 3, "no proof");
    let rested = with_late(nobody, &late(1, &voice(3, 1, 4), true));
    let fault = "round 2 of class 0 is not what follows";
    finds(&check(&[rested, poll]), 1, fault);
}

#[test]
fn late_replies_to_the_first_election_are_checked_wherever_they_are_on_record() {
    let check = |late: &Value| {
        let last = line(&[0, 1, 2], &[first(), with_late(second(), late)]);
        check("late-in-later", 4, &[line(&[0, 1], &[first()]), last])
    };
    let honest = check(&late(1, &voice(3, 1, 4), false));
    finds(&honest, 3, "note: round 1: host-3 replied late");
    assert!(!honest.said.contains("had to reply"), "{}", honest.said);
    let stranger = check(&late(1, &voice(77, 1, 4), false));
    finds(&stranger, 1, "which is no host, is said to have replied");
}

#[test]
fn seats_that_were_filled_later_are_no_proof_though_they_are_empty_again() {
    let both = [first(), second()];
    let [before, with, without] = [
        line(&[0, 1], &both[..1]),
        line(&[0, 1, 2], &both),
        line(&[0, 1], &both),
    ];
    let gone = check("later-gone", 3, &[before, with, without.clone()]);
    finds(&gone, 3, "; seats filled after the first election, ");
    let never = check("later-never", 3, &[without]);
    finds(
        &never,
        3,
        "note: host-2 was elected in round 2, and has no seat",
    );
    finds(&never, 3, "; hosts that were elected and have no seat: 1\n");
}

#[test]
fn a_record_that_is_full_is_neither_a_proof_nor_a_fault() {
    // All seats fall empty, and nobody replies any more: by a number first, then all are called, and then there is a rest.
    let unheard = |from: u32| {
        let rounds = (from..=MOST_RECORDED).zip([4, 0].into_iter().cycle());
        rounds.map(|(number, by)| round(number, 0, by, &[]))
    };
    let rounds: Vec<Value> = std::iter::once(first()).chain(unheard(2)).collect();
    let seated = line(&[0, 1], &rounds[..1]);
    let full = check("full", 4, &[seated.clone(), line(&[3], &rounds)]);
    finds(
        &full,
        3,
        "note: class 0: host-3 has a seat, and was not elected in round 1. Whether it was later cannot be told: the record is full",
    );
    let (_, short) = rounds.split_last().expect("there are some");
    let short = check("not-full", 4, &[seated, line(&[3], short)]);
    finds(
        &short,
        1,
        "host-3 has a seat, and was not elected in round 1, nor later",
    );

    let rounds: Vec<Value> = unheard(1).collect();
    let open = "class 0: nobody is elected in the rounds on record";
    finds(&check("full-open", 4, &[line(&[], &rounds)]), 3, open);
    finds(
        &check("open", 4, &[line(&[], &[])]),
        1,
        "no record of a draw",
    );
    finds(&check("open", 4, &[line(&[], &rounds[..9])]), 1, open);
}

#[test]
fn files_that_cannot_be_read_are_a_mistake_of_the_caller() {
    let record = line(&[0, 1], &[first()]).to_string();
    let [record, text, empty] = [
        written("unread-record", &record),
        written("unread-text", "not a line\nhost 1 2"),
        written("unread-empty", ""),
    ];
    let none = text.with_extension("none");
    let check = |record: &Path, hosts: &Path| {
        let (record, hosts) = (record.display(), hosts.display());
        hustings(&format!("council {RULES} --check {record} --hosts {hosts}"))
    };
    finds(&check(&text, &text), 2, "line 1 is not a line of a centre");
    finds(&check(&empty, &text), 2, "no line of a centre");
    finds(&check(&none, &text), 2, "error: --check ");
    finds(&check(&record, &none), 2, "error: --hosts ");
    finds(
        &check(&record, &text),
        2,
        "is not a name, or a name and its class",
    );
}
