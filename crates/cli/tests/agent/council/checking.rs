//! Checks of the record that a centre prints of a draw with public coins.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hustings_agent::identity::member_id;
use serde_json::{Value, json};

use super::seated;
use crate::process::{self, Outcome, Program, hustings};

/// A dozen hosts, and the files of a check.
struct Stage {
    group: String,
    rules: String,
    names: Vec<String>,
    hosts: Vec<Program>,
    record: PathBuf,
    list: PathBuf,
}

impl Stage {
    fn new(name: &str, rules: &str) -> Self {
        let group = process::group(name);
        let names: Vec<String> = (0..12).map(|number| format!("host-{number}")).collect();
        let host = format!("--group {group} --protocol none --bind 127.0.0.1:0 --http off");
        let hosts = names.iter();
        let hosts = hosts.map(|name| process::member(&format!("{host} --name {name}")));
        let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let [record, list] = ["record", "hosts"].map(|name| home.join(format!("{group}-{name}")));
        let stage =
            Self { hosts: hosts.collect(), rules: rules.to_owned(), group, names, record, list };
        stage.list(&stage.names);
        stage
    }

    fn centre(&self) -> String {
        let Self { group, rules, .. } = self;
        format!("council --group {group} --bind 127.0.0.1:0 --log off --format json {rules}")
    }

    fn elect_once(&self) -> Value {
        hustings(&format!("{} --once", self.centre())).json()
    }

    /// Writes the list of hosts.
    fn list(&self, lines: &[String]) {
        std::fs::write(&self.list, lines.join("\n")).expect("written");
    }

    fn check(&self, lines: &[&Value], rules: &str) -> Outcome {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        std::fs::write(&self.record, lines.join("\n")).expect("written");
        let (record, list) = (self.record.display(), self.list.display());
        hustings(&format!("council {rules} --check {record} --hosts {list}"))
    }

    /// Checks an honest record and returns the output. If messages were lost, it cannot be a proof.
    #[track_caller]
    fn passes(&self, lines: &[&Value]) -> Outcome {
        let passed = self.check(lines, &self.rules);
        let open = [
            "had to reply",
            "replied late",
            "has no seat",
            "was seated after",
            "was elected again",
            "has missed calls",
        ];
        let is_open = open.iter().any(|it| passed.said.contains(it));
        let (code, verdict) = match is_open {
            true => (3, "no rule was broken, but the draw is not proved: "),
            false => (0, "the draw follows the rules: "),
        };
        assert_eq!(passed.code, Some(code), "{}", passed.said);
        assert!(passed.printed.starts_with(verdict), "{}", passed.printed);
        passed
    }

    /// Checks a record in which this fault must be found.
    #[track_caller]
    fn finds(&self, line: &Value, fault: &str) {
        self.finds_in(&[line], fault);
    }

    #[track_caller]
    fn finds_in(&self, lines: &[&Value], fault: &str) {
        let caught = self.check(lines, &self.rules);
        assert_eq!(caught.code, Some(1), "{fault}: {}", caught.printed);
        assert!(caught.said.contains(fault), "{fault}: {}", caught.said);
    }
}

#[test]
fn seats_without_a_draw_are_found_in_any_disguise() {
    let rules = "--seats 2..3 --max-guess 40 --round 100ms --public-coin forged";
    let stage = Stage::new("forged-seats", rules);
    let line = stage.elect_once();
    stage.passes(&[&line]);
    let forged = |forge: &dyn Fn(&mut Value)| {
        let mut line = line.clone();
        forge(&mut line);
        line
    };
    let seats = |line: &Value| line["chambers"][0]["seats"].as_array().expect("a list").clone();
    let name = |seat: &Value| seat["member"]["name"].as_str().expect("a name").to_owned();

    let renamed = forged(&|it| it["chambers"][0]["seats"][0]["member"]["name"] = "friend".into());
    stage.finds(&renamed, "the seat of friend has the identity ");
    let doubled = forged(&|it| it["chambers"][0]["seats"][1] = seats(it)[0].clone());
    stage.finds(&doubled, &format!("{} has two seats", name(&seats(&line)[0])));
    let crowded = forged(&|it| {
        let mut seats = seats(it);
        seats.extend(vec![seats[0].clone(); 9]);
        it["chambers"][0]["seats"] = seats.into();
    });
    let crowd = seats(&crowded).len();
    stage.finds(&crowded, &format!("{crowd} hosts hold seats, and there are 3 seats"));
    let widened = forged(&|it| {
        let chamber = &mut it["chambers"][0];
        (chamber["least"], chamber["most"]) = (1.into(), 64.into());
    });
    stage.finds(&widened, "has seats of class 0: 1..64, and --seats has class 0: 2..3");
    let of_another_class = forged(&|it| {
        let mut seat = seats(it)[0].clone();
        seat["member"] = json!({"name": "friend", "id": member_id("friend").0, "address": null});
        let chamber = json!({"class": 1, "least": 1, "most": 1, "seats": [seat]});
        it["chambers"].as_array_mut().expect("a list").push(chamber);
    });
    stage.finds(&of_another_class, "class 0: 2..3, class 1: 1..1, and --seats has class 0: 2..3");
    let of_another_session = forged(&|it| it["session"] = 1.into());
    stage.finds(&of_another_session, "rounds of a session other than 1");
    let of_later_coins = forged(&|it| {
        for round in it["record"].as_array_mut().expect("rounds") {
            raise(round, 7);
        }
    });
    stage.finds(&of_later_coins, "the record begins with round 8");
}

#[test]
fn council_with_refilled_seats_passes_the_check() {
    let rules = "--seats 3..5 --max-guess 40 --round 50ms --public-coin kept";
    let mut stage = Stage::new("kept-coin", rules);
    let mut centre = process::start(&stage.centre());
    let first = seated(&centre.until("a council", |it| seated(it).len() >= 3));
    let lost: BTreeSet<&String> = first.iter().take(2).collect();
    for (name, host) in stage.names.iter().zip(&mut stage.hosts) {
        if lost.contains(name) {
            host.kill();
        }
    }
    let is_filled = |it: &Value| {
        let now = seated(it);
        now.len() >= 3 && lost.iter().all(|it| !now.contains(*it)) && !now.is_subset(&first)
    };
    let last = centre.until("others in their seats", is_filled);
    assert_eq!(centre.stop(), Some(0));
    let lines = centre.printed();
    let place = lines.iter().position(|it| *it == last).expect("printed");
    let whole: Vec<&Value> = lines[..=place].iter().collect();
    let new = seated(&last).difference(&first).next().cloned().expect("one at least");
    for lines in [&whole[..], &[&last]] {
        let honest = stage.passes(lines);
        let note = format!("note: {new} was seated after the first election, in round ");
        assert!(honest.said.contains(&note), "{}", honest.said);
        let later = "; seats filled after the first election, ";
        assert!(honest.printed.contains(later), "{}", honest.printed);
    }

    // A host that was not drawn cannot take a seat later.
    let mut friend = last.clone();
    let seats = friend["chambers"][0]["seats"].as_array_mut().expect("a list");
    let seat = seats.iter_mut().find(|it| it["member"]["name"] == new.as_str());
    let seat = &mut seat.expect("it is seated")["member"];
    (seat["id"], seat["name"]) = (member_id("friend").0.into(), "friend".into());
    stage.finds(&friend, "friend has a seat, and was not elected");
    let mut favour = last.clone();
    let rounds = favour["record"].as_array_mut().expect("rounds");
    let round = rounds.iter_mut().rfind(|it| it["replies"] != json!([]));
    round.expect("somebody replied")["replies"][0]["host"] = member_id("friend").0.into();
    stage.finds(&favour, "which is no host, replied");
    check_later_rounds(&stage, &whole);
    check_earlier_lines(&stage, &whole);
}

/// The rounds that fill empty seats follow the rounds before them, and the check names the hosts
/// that had to reply.
fn check_later_rounds(stage: &Stage, whole: &[&Value]) {
    let last = whole[whole.len() - 1];
    let rounds = |line: &Value| line["record"].as_array().expect("rounds").clone();
    let first = rounds(whole[0]).len();
    let with_later = |forge: &dyn Fn(&mut [Value])| {
        let mut line = last.clone();
        forge(&mut line["record"].as_array_mut().expect("rounds")[first..]);
        line
    };
    let round = format!("round {} of class 0 does not follow", first + 1);
    let poll = with_later(&|it| it[0]["feedback"]["word"] = 1.into());
    stage.finds(&poll, &round);
    let gap = with_later(&|it| it.iter_mut().for_each(|it| raise(it, 7000)));
    stage.finds(&gap, "with these options the recorded rounds are not");

    let is_heard = |it: &&Value| it["feedback"]["base"] == 0 && it["replies"] != json!([]);
    let later = &rounds(last)[first..];
    let heard = later.iter().find(is_heard).expect("somebody replied");
    let silenced = with_later(&|it| {
        let round = it.iter_mut().find(|it| is_heard(&&**it));
        round.expect("as above")["replies"] = json!([]);
    });
    let ids = heard["replies"].as_array().expect("replies").iter();
    let ids: Vec<u64> = ids.map(id_of).collect();
    let name = stage.names.iter().find(|it| member_id(it).0 == ids[0]);
    let (name, round) = (name.expect("a host"), &heard["feedback"]["round"]);
    let noted = stage.check(&[whole[0], &silenced], &stage.rules).said;
    let note = format!("note: round {round}: {name} had to reply, if it had received");
    assert!(noted.contains(&note), "{note}: {noted}");

    // A centre that begins by the rules and then departs from them.
    let friend = stage.names.iter().find(|it| is_free(whole, it));
    let friend = member_id(friend.expect("most are")).0;
    let mut forged = last.clone();
    let rounds = forged["record"].as_array_mut().expect("rounds");
    rounds.truncate(first + 1);
    rounds[first]["replies"] = json!([]);
    let mut next = rounds[first].clone();
    raise(&mut next, 1);
    next["feedback"]["word"] = (7777 << 1 | 1).into(); // from 40
    next["replies"] = json!([{"host": friend, "draws": 1, "number": 7777}]);
    rounds.push(next);
    let round = first + 2;
    stage.finds(&forged, &format!("round {round} of class 0 does not follow"));
}

/// Returns true if a host has no seat on any line.
fn is_free(lines: &[&Value], host: &str) -> bool {
    lines.iter().all(|it| !seated(it).contains(host))
}

/// A line cannot contradict the next one, cannot seat hosts by later rounds, and a session cannot
/// hide behind another.
fn check_earlier_lines(stage: &Stage, whole: &[&Value]) {
    let (first, last) = (whole[0], whole[whole.len() - 1]);
    let with_last = |line: &Value, fault| stage.finds_in(&[line, last], fault);
    let mut early = first.clone();
    early["chambers"] = last["chambers"].clone();
    with_last(&early, "has a seat, and was not elected in round ");
    let mut other = first.clone();
    let rounds = other["record"].as_array_mut().expect("rounds");
    rounds.last_mut().expect("one at least")["replies"][0]["number"] = 1.into();
    with_last(&other, "lines 1 and 2 of the session contradict each other about its rounds");

    let mut next = last.clone();
    let session = last["session"].as_str().expect("a string");
    let later = session.parse::<u64>().expect("of digits") + 1;
    next["session"] = later.to_string().into();
    for round in next["record"].as_array_mut().expect("rounds") {
        round["feedback"]["session"] = later.to_string().into();
    }
    let honest = stage.passes(&[first, last, &next]).printed;
    assert!(honest.contains(" rounds of 2 sessions; "), "{honest}");
    let fault = format!("session {session}: class 0: ");
    stage.finds_in(&[&early, &next], &fault);
}

/// Raises the number of a round and of the round on which it draws.
fn raise(round: &mut Value, by: u64) {
    let feedback = &mut round["feedback"];
    let (number, base) = (feedback["round"].as_u64(), feedback["base"].as_u64());
    feedback["round"] = (number.expect("a number") + by).into();
    if let Some(base @ 1..) = base {
        feedback["base"] = (base + by).into();
    }
}

#[test]
fn draw_with_a_public_coin_can_be_checked_by_anyone() {
    let rules = "--seats 2..3 --max-guess 40 --round 100ms --public-coin lottery-2026-11-17";
    let stage = Stage::new("public-coin", rules);
    let (names, line) = (&stage.names, stage.elect_once());
    let list = |names: &[String]| stage.list(names);
    let check = |line: &Value, rules: &str| stage.check(&[line], rules);
    let honest = stage.passes(&[&line]).code;

    // Another host replaces one that replied.
    let mut favour = line.clone();
    let rounds = favour["record"].as_array_mut().expect("rounds");
    let last = rounds.last_mut().expect("one or more");
    let replied: Vec<u64> =
        last["replies"].as_array().expect("replies").iter().map(id_of).collect();
    let other = names.iter().map(|name| member_id(name).0);
    let other = other.into_iter().find(|id| !replied.contains(id)).expect("most did not");
    last["replies"][0]["host"] = other.into();
    let caught = check(&favour, rules);
    assert_eq!(caught.code, Some(1), "{}", caught.printed);
    assert!(caught.said.contains("its coins contradict that"), "{}", caught.said);

    // Only drawn hosts may be seated, and a record that ends early shows no drawn host.
    let mut friend = line.clone();
    let seat = &mut friend["chambers"][0]["seats"][0]["member"];
    (seat["id"], seat["name"]) = (member_id("friend").0.into(), "friend".into());
    let mut nobody = line.clone();
    nobody["chambers"][0]["seats"] = Value::Array(Vec::new());
    let mut early = line.clone();
    let rounds = early["record"].as_array_mut().expect("rounds");
    rounds.pop();
    let refused = [
        (friend, "friend has a seat, and was not elected"),
        (nobody, "no host is seated"),
        (early, "no"), // draw to check, or no record of one
    ];
    for (line, why) in refused {
        let caught = check(&line, rules);
        assert_eq!(caught.code, Some(1), "{why}: {}", caught.printed);
        assert!(caught.said.contains(why), "{why}: {}", caught.said);
    }

    // A host of another class has no part in the draw of this one.
    let class = |of_replied: u16| {
        let id = |name: &str| member_id(name).0;
        let line = |name: &String| match replied.contains(&id(name)) {
            true => format!("{name} {of_replied}"),
            false => format!("{name} 0"),
        };
        list(&names.iter().map(line).collect::<Vec<String>>());
    };
    class(1);
    let caught = check(&line, rules);
    assert_eq!(caught.code, Some(1), "{}", caught.printed);
    assert!(caught.said.contains("which is of another class, replied"), "{}", caught.said);
    class(0);
    assert_eq!(check(&line, rules).code, honest);

    // The same record proves nothing about another text or other options.
    let text = rules.replace("2026-11-17", "2026-11-18");
    let options = rules.replace("--max-guess 40", "--max-guess 50");
    for rules in [text, options] {
        assert_eq!(check(&line, &rules).code, Some(1), "{rules}");
    }
}

fn id_of(reply: &Value) -> u64 {
    let id = reply["host"].as_str().expect("a string");
    id.parse().expect("of digits")
}
