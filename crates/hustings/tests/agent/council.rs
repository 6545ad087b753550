//! `hustings council`: a centre, and agents as hosts.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use crate::door;
use crate::process::{self, Program, hustings};

/// Who is seated, of one line.
fn seated(line: &Value) -> BTreeSet<String> {
    let seats = line["chambers"][0]["seats"].as_array().expect("a list");
    let names = seats.iter().map(|seat| seat["member"]["name"].as_str());
    names.map(|it| it.expect("a name").to_owned()).collect()
}

/// The first of the events that a page hears of.
fn first_event(http: &str) -> Value {
    let mut stream = TcpStream::connect(http).expect("the centre listens");
    stream
        .write_all(b"GET /v1/watch-council HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("the centre hears");
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let lines: Vec<String> = lines
        .skip_while(|line| line != "event: council")
        .take(2)
        .collect();
    let data = lines[1].strip_prefix("data: ").expect("an event has data");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn hosts_are_seated_and_those_who_die_replaced_and_their_leader_stays() {
    let group = process::group("council");
    let mut hosts: Vec<(String, Program)> = ["alpha", "beta", "gamma", "delta", "epsilon"]
        .map(|name| (name.to_owned(), Program::agent(&group, name, "127.0.0.1:0")))
        .into();
    hosts[0]
        .1
        .until("alpha leads", |line| line["leads"] == true);
    let centre = format!(
        "council --group {group} --bind 127.0.0.1:0 --http 127.0.0.1:0 --seats 2..3 --max-guess 20 --round 50ms"
    );
    let mut council = Program::start(&format!("{centre} --format json"));
    let up = council.until_said_containing("HTTP at ");
    let (_, http) = up.split_once("HTTP at ").expect("an address");
    let first = seated(&council.until("a council", |it| seated(it).len() >= 2));

    let text = hustings(&format!("status --http {http}")).text();
    assert!(text.contains("no leader is elected"), "{text}");
    for name in &first {
        assert!(
            text.contains(&format!("  seat      {name} at 127.0.0.1:")),
            "{text}"
        );
    }
    let get = format!("GET /v1/groups/{group}/council HTTP/1.1");
    let (code, told) = door::ask(http, &[&get, "Host: localhost"]);
    assert_eq!((code, seated(&told["centre"])), (200, first.clone()));
    assert_eq!(seated(&first_event(http)), first);
    let is_seated = |host: &Program| {
        let text = hustings(&format!("status --http {}", host.http())).text();
        text.contains("  council   seated by ")
    };
    for (name, host) in &hosts {
        // A host knows of its seat when the centre's word has arrived, and that has been heard.
        let mut looks = std::iter::repeat_with(|| is_seated(host)).take(1_000);
        assert!(looks.any(|it| it == first.contains(name)), "{name}");
    }

    let lost = first
        .iter()
        .find(|name| *name != "alpha")
        .expect("two or more");
    let place = hosts.iter().position(|(name, _)| name == lost);
    hosts.remove(place.expect("a host")).1.kill();
    let is_whole = |it: &Value| seated(it).len() >= 2 && !seated(it).contains(lost);
    council.until("another one", is_whole);
    assert_eq!(council.stop(), Some(0));

    let status = hustings(&format!(
        "status --http {} --format json",
        hosts[0].1.http()
    ))
    .json();
    assert_eq!(status["groups"][0]["leadership"]["leads"], true);
    assert_eq!(status["groups"][0]["leadership"]["changes"], 1);
}

#[test]
fn a_centre_says_that_too_few_are_there_and_gives_way_to_a_later_one_but_not_to_one_that_calls_once()
 {
    let group = process::group("few-hosts");
    let host = format!("--group {group} --protocol none --bind 127.0.0.1:0 --http off");
    let _host = Program::member(&format!("{host} --name only"));
    let council = format!("council --group {group} --bind 127.0.0.1:0 --max-guess 20 --round 20ms");
    let mut first = Program::start(&format!("{council} --name first --seats 2..3"));
    first.until_said_containing("1 host is there, and 2 seats are to be filled at least");
    let once = format!("{council} --seats 1 --once --log off");
    let refused = hustings(&format!("{once} --name guest"));
    let said = format!("a centre, `first`, stands for group `{group}`");
    assert_eq!(refused.code, Some(1), "{}", refused.printed);
    assert!(refused.said.contains(&said), "{}", refused.said);
    let mut second = Program::start(&format!("{council} --name second --seats 1"));
    let (code, said) = first.ended_saying();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("another centre, `second`, was started later"),
        "{said}"
    );
    assert_eq!(second.stop(), Some(0));
    let line = format!("council of {group}: 1 seats of 1..1: only\n");
    assert_eq!(hustings(&format!("{once} --name guest")).text(), line);
}

/// Its heartbeats are further apart than the other one listens.
#[test]
fn who_calls_once_with_a_short_lease_ends_no_centre_with_a_longer_one() {
    let group = process::group("short-lease");
    let host = format!("--group {group} --protocol none --bind 127.0.0.1:0 --http off");
    let _hosts = ["one", "two"].map(|name| Program::member(&format!("{host} --name {name}")));
    let council = format!(
        "council --group {group} --bind 127.0.0.1:0 --max-guess 20 --round 20ms --seats 1..2"
    );
    let standing = format!("{council} --name standing --lease 6s --format json");
    let mut standing = Program::start(&standing);
    let is_confirmed = |it: &Value| !seated(it).is_empty();
    let seats = seated(&standing.until("a council", is_confirmed));
    let refused = hustings(&format!(
        "{council} --name guest --once --lease 300ms --log off"
    ));
    assert_eq!(refused.code, Some(1), "{}", refused.printed);
    let by_host = seats.iter().any(|name| {
        let said = format!("host `{name}` of group `{group}` holds a seat of another centre");
        refused.said.contains(&said)
    });
    let by_centre = refused.said.contains("a centre, `standing`, stands");
    assert!(by_host || by_centre, "{}", refused.said);
    assert_eq!(standing.stop(), Some(0), "it stood until now");
}

#[test]
fn a_draw_with_a_public_coin_can_be_checked_by_anybody() {
    let group = process::group("public-coin");
    let names: Vec<String> = (0..12).map(|number| format!("host-{number}")).collect();
    let host = format!("--group {group} --protocol none --bind 127.0.0.1:0 --http off");
    let _hosts: Vec<Program> = names
        .iter()
        .map(|name| Program::member(&format!("{host} --name {name}")))
        .collect();
    let rules = "--seats 2..3 --max-guess 40 --round 100ms --public-coin lottery-2026-11-17";
    let centre = format!("council --group {group} --bind 127.0.0.1:0 --log off {rules}");
    let line = hustings(&format!("{centre} --once --format json")).json();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [record, hosts] = ["record", "hosts"].map(|name| home.join(format!("{group}-{name}")));
    let list = |names: &[String]| std::fs::write(&hosts, names.join("\n")).expect("written");
    list(&names);
    let check = |line: &Value, rules: &str| {
        std::fs::write(&record, line.to_string()).expect("written");
        let (record, hosts) = (record.display(), hosts.display());
        hustings(&format!("council {rules} --check {record} --hosts {hosts}"))
    };
    let honest = check(&line, rules).text();
    assert!(honest.starts_with("drawn as it had to be: "), "{honest}");

    // Another host is put in the place of one that replied.
    let mut favour = line.clone();
    let rounds = favour["record"].as_array_mut().expect("rounds");
    let last = rounds.last_mut().expect("one or more");
    let replied: Vec<u64> = last["replies"]
        .as_array()
        .expect("replies")
        .iter()
        .map(id_of)
        .collect();
    let other = names
        .iter()
        .map(|name| hustings_agent::identity::member_id(name).0);
    let other = other
        .into_iter()
        .find(|id| !replied.contains(id))
        .expect("most did not");
    last["replies"][0]["host"] = other.into();
    let caught = check(&favour, rules);
    assert_eq!(caught.code, Some(1), "{}", caught.printed);
    assert!(
        caught.said.contains("its coins say otherwise"),
        "{}",
        caught.said
    );

    // Seats are for those who were drawn, and a record that ends early shows nobody drawn.
    let mut friend = line.clone();
    let seat = &mut friend["chambers"][0]["seats"][0]["member"];
    (seat["id"], seat["name"]) = (other.into(), "friend".into());
    let mut nobody = line.clone();
    nobody["chambers"][0]["seats"] = Value::Array(Vec::new());
    let mut early = line.clone();
    let rounds = early["record"].as_array_mut().expect("rounds");
    rounds.pop();
    let refused = [
        (friend, "friend has a seat, and was not elected"),
        (nobody, "nobody is seated"),
        (early, "no"), // draw to check, or no record of one
    ];
    for (line, why) in refused {
        let caught = check(&line, rules);
        assert_eq!(caught.code, Some(1), "{why}: {}", caught.printed);
        assert!(caught.said.contains(why), "{why}: {}", caught.said);
    }

    // Who is of another class has no part in the draw of this one.
    let class = |of_replied: u16| {
        let id = |name: &str| hustings_agent::identity::member_id(name).0;
        let line = |name: &String| match replied.contains(&id(name)) {
            true => format!("{name} {of_replied}"),
            false => format!("{name} 0"),
        };
        list(&names.iter().map(line).collect::<Vec<String>>());
    };
    class(1);
    let caught = check(&line, rules);
    assert_eq!(caught.code, Some(1), "{}", caught.printed);
    assert!(
        caught
            .said
            .contains("which is of another class, is said to have replied"),
        "{}",
        caught.said
    );
    class(0);
    assert_eq!(check(&line, rules).code, Some(0));

    // And the same record is no proof of another text, nor of other options.
    let text = rules.replace("2026-11-17", "2026-11-18");
    let options = rules.replace("--max-guess 40", "--max-guess 50");
    for rules in [text, options] {
        assert_eq!(check(&line, &rules).code, Some(1), "{rules}");
    }
}

fn id_of(reply: &Value) -> u64 {
    reply["host"].as_u64().expect("a number")
}
