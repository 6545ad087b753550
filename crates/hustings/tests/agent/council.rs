//! `hustings council`: a centre, and agents as hosts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::process::{self, Program, hustings};

/// Who is seated, of one line.
fn seated(line: &Value) -> BTreeSet<String> {
    let seats = line["chambers"][0]["seats"].as_array().expect("a list");
    let names = seats.iter().map(|seat| seat["member"]["name"].as_str());
    names.map(|it| it.expect("a name").to_owned()).collect()
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
    first.until_said_containing("1 hosts are there, and 2 seats are to be filled at least");
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
