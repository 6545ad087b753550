//! Forged records: some prove nothing, and impossible ones are faults.

use std::path::{Path, PathBuf};

use hustings_agent::identity::member_id;
use serde_json::{Value, json};

use crate::process::{self, Outcome, hustings};

/// By these coins `host-0`, `host-1` and `host-3` have to reply in round 1, and `host-2` has not.
/// In round 2, which fills a third seat, `host-2` has to, and `host-3` has not. The coin of
/// `host-0` in round 1 is below 2/5.
const RULES: &str = "--seats 2..3 --max-guess 4 --c 2 --public-coin filed-2323";

/// The number of rounds that a centre records.
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

/// A round that calls all hosts by the number `by`; 0 means that all have to reply.
fn round(number: u32, seated: u32, by: u32, replies: &[Value]) -> Value {
    let feedback = json!({
        "session": 7, "class": 0, "round": number, "base": 0, "seated": seated, "word": by << 1 | 1, "floor": null,
    });
    json!({"feedback": feedback, "replies": replies, "late": []})
}

/// The round that elects `host-0` and `host-1`.
fn first() -> Value {
    round(1, 0, 4, &[voice(0, 1, 4), voice(1, 1, 4)])
}

/// The round that elects `host-2` for a third seat.
fn second() -> Value {
    round(2, 2, 4, &[voice(2, 1, 4)])
}

fn with_late(mut round: Value, late: &Value) -> Value {
    round["late"] = json!([late]);
    round
}

/// Returns the line that the centre prints when these hosts are seated.
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

/// Checks these lines against a list of `hosts` hosts.
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
fn impossible_reply_is_a_fault() {
    let check = |hosts, record: Value| check("no-reply", hosts, &[line(&[0, 1], &[record])]);
    let proof = "the draw follows the rules: 1 rounds; seated: host-0 host-1\n";
    finds(&check(3, first()), 0, proof);
    // With a greater number `host-3` drew a no, so its reply is not missing.
    let yes = [voice(0, 1, 4), voice(1, 1, 4)];
    let silent = round(1, 0, 4, &[&yes[..], &[voice(3, 0, u32::MAX)]].concat());
    let fault = "round 1: host-3 replied with a no";
    finds(&check(4, silent), 1, fault);
    let mut beyond = first();
    beyond["replies"][0]["number"] = 5.into();
    let fault = "round 1: host-0 drew with a number of hosts that no host can use";
    finds(&check(3, beyond), 1, fault);
}

/// A name with the identity of `host-1`, found in seconds: the identity of a name is not a secure
/// hash.
const ALIAS_OF_HOST_1: &str = "mallory-v0syabrpqdcgphambqsc";

#[test]
fn seat_under_a_name_with_the_identity_of_another_host_is_a_fault() {
    assert_eq!(member_id(ALIAS_OF_HOST_1), member_id(&host(1)));
    let mut forged = line(&[0, 1], &[first()]);
    forged["chambers"][0]["seats"][1]["member"]["name"] = ALIAS_OF_HOST_1.into();
    let fault = format!("the seat of {ALIAS_OF_HOST_1} belongs to host-1");
    finds(&check("alias", 3, &[forged]), 1, &fault);
    // A centre that does not know a host's name writes the identity.
    let mut unnamed = line(&[0, 1], &[first()]);
    let name = format!("#{:016x}", member_id(&host(1)).0);
    unnamed["chambers"][0]["seats"][1]["member"]["name"] = name.into();
    finds(&check("unnamed", 3, &[unnamed]), 0, "the draw follows the rules");
}

#[test]
fn hosts_with_one_identity_are_refused_and_a_host_may_be_listed_twice() {
    let record = written("twins-record", &line(&[0, 1], &[first()]).to_string());
    for (more, code, what) in [
        ("host-1", 0, "the draw follows the rules"),
        (ALIAS_OF_HOST_1, 2, "have the same identity"),
        ("host-1 1", 2, "have the same identity"),
    ] {
        let list = written("twins-hosts", &format!("host-0\nhost-1\nhost-2\n{more}\n"));
        let (record, list) = (record.display(), list.display());
        let outcome = hustings(&format!("council {RULES} --check {record} --hosts {list}"));
        finds(&outcome, code, what);
    }
}

/// `changes` orders such lines, and the forger controls it.
#[test]
fn lines_with_equal_rounds_and_different_seats_prove_nothing() {
    let whole = line(&[0, 1], &[first()]);
    for changes in [0, 9] {
        let mut fewer = line(&[0], &[first()]);
        fewer["changes"] = changes.into();
        let mut whole = whole.clone();
        whole["changes"] = 5.into();
        let outcome = check("two-ways", 3, &[whole, fewer]);
        finds(&outcome, 3, "have the same rounds and different seats");
    }
}

#[test]
fn reply_recorded_as_late_proves_nothing() {
    let check = |record: &[Value]| check("late", 4, &[line(&[0, 1], record)]);
    let kept_out = with_late(first(), &late(1, &voice(3, 1, 4), true));
    let outcome = check(&[kept_out]);
    finds(&outcome, 3, "note: round 1: host-3 replied late, as the centre says");
    finds(&outcome, 3, "; replies that came late, as the centre says: 1\n");
    for to in [0, 2] {
        let unasked = with_late(first(), &late(to, &voice(3, 1, 4), true));
        let fault =
            "round 1: host-3 replied late, as the record says, to a round that had not begun";
        finds(&check(&[unasked]), 1, fault);
    }
    // No host replies, so all are called at once, without a pause in between.
    let nobody = round(1, 0, 4, &[]);
    let poll = round(2, 0, 0, &[voice(0, 1, 0), voice(1, 1, 0)]);
    finds(&check(&[nobody.clone(), poll.clone()]), 3, "not proved");
    let rested = with_late(nobody, &late(1, &voice(3, 1, 4), true));
    let fault = "round 2 of class 0 does not follow";
    finds(&check(&[rested, poll]), 1, fault);
}

#[test]
fn late_replies_to_the_first_election_are_checked_on_every_line() {
    let check = |late: &Value| {
        let last = line(&[0, 1, 2], &[first(), with_late(second(), late)]);
        check("late-in-later", 4, &[line(&[0, 1], &[first()]), last])
    };
    let honest = check(&late(1, &voice(3, 1, 4), false));
    finds(&honest, 3, "note: round 1: host-3 replied late");
    assert!(!honest.said.contains("had to reply"), "{}", honest.said);
    let stranger = check(&late(1, &voice(77, 1, 4), false));
    finds(&stranger, 1, "which is no host, replied");
}

#[test]
fn seats_filled_later_and_empty_again_are_no_proof() {
    let both = [first(), second()];
    let [before, with, without] =
        [line(&[0, 1], &both[..1]), line(&[0, 1, 2], &both), line(&[0, 1], &both)];
    let gone = check("later-gone", 3, &[before, with, without.clone()]);
    finds(&gone, 3, "; seats filled after the first election, ");
    let never = check("later-never", 3, &[without]);
    finds(&never, 3, "note: host-2 was elected in round 2, and has no seat");
    finds(&never, 3, "; hosts that were elected and have no seat: 1\n");
}

#[test]
fn full_record_is_neither_a_proof_nor_a_fault() {
    // All seats fall empty and no host replies any more: first hosts are called by a number, then
    // all are called, and then the centre pauses.
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
        "note: class 0: host-3 has a seat, and was not elected in round 1. These lines do not show whether it was elected later: the record is full",
    );
    let (_, short) = rounds.split_last().expect("there are some");
    let short = check("not-full", 4, &[seated, line(&[3], short)]);
    finds(&short, 1, "host-3 has a seat, and was not elected in round 1 or later");

    let rounds: Vec<Value> = unheard(1).collect();
    let open = "class 0: no host was elected in the recorded rounds";
    finds(&check("full-open", 4, &[line(&[], &rounds)]), 3, open);
    finds(&check("open", 4, &[line(&[], &[])]), 1, "no record of a draw");
    finds(&check("open", 4, &[line(&[], &rounds[..9])]), 1, open);
}

#[test]
fn unreadable_files_are_a_usage_error() {
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
    finds(&check(&text, &text), 2, "line 1 was not printed by a centre");
    finds(&check(&empty, &text), 2, "no line in it was printed by a centre");
    finds(&check(&none, &text), 2, "error: --check ");
    finds(&check(&record, &none), 2, "error: --hosts ");
    finds(&check(&record, &text), 2, "is not a name, or a name and its class");
}
