//! `hustings council`: a centre with agents as hosts.

mod checking;
mod forged;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::door;
use crate::process::{self, Program, hustings};

/// Returns the seated hosts on one line.
fn seated(line: &Value) -> BTreeSet<String> {
    let seats = line["chambers"][0]["seats"].as_array().expect("a list");
    let names = seats.iter().map(|seat| seat["member"]["name"].as_str());
    names.map(|it| it.expect("a name").to_owned()).collect()
}

/// Returns the first event of the page's event stream.
fn first_event(http: &str) -> Value {
    let mut stream = TcpStream::connect(http).expect("the centre listens");
    stream
        .write_all(b"GET /v1/watch-council HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("the centre hears");
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let lines: Vec<String> = lines.skip_while(|line| line != "event: council").take(2).collect();
    let data = lines[1].strip_prefix("data: ").expect("an event has data");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn dead_hosts_lose_their_seats_to_others_and_the_leader_stays() {
    let group = process::group("council");
    let mut hosts: Vec<(String, Program)> = ["alpha", "beta", "gamma", "delta", "epsilon"]
        .map(|name| (name.to_owned(), process::agent(&group, name, "127.0.0.1:0")))
        .into();
    hosts[0].1.until("alpha leads", |line| line["leads"] == true);
    let centre = format!(
        "council --group {group} --bind 127.0.0.1:0 --http 127.0.0.1:0 --seats 2..3 --max-guess 20 --round 50ms --lease 3s"
    );
    let mut council = process::start(&format!("{centre} --format json"));
    let up = council.until_said_containing("HTTP at ");
    let (_, http) = up.split_once("HTTP at ").expect("an address");
    // A council of two could be filled up during the test.
    let first = seated(&council.until("a full council", |it| seated(it).len() >= 3));

    let text = hustings(&format!("status --http {http}")).text();
    assert!(text.contains("no leader is elected"), "{text}");
    for name in &first {
        assert!(text.contains(&format!("  seat      {name} at 127.0.0.1:")), "{text}");
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
        // A host knows of its seat only after the centre's message has arrived.
        let mut looks = std::iter::repeat_with(|| is_seated(host)).take(1_000);
        assert!(looks.any(|it| it == first.contains(name)), "{name}");
    }

    let lost = first.iter().find(|name| *name != "alpha").expect("two or more");
    let place = hosts.iter().position(|(name, _)| name == lost);
    hosts.remove(place.expect("a host")).1.kill();
    let is_whole = |it: &Value| seated(it).len() >= 2 && !seated(it).contains(lost);
    council.until("another one", is_whole);
    assert_eq!(council.stop(), Some(0));

    let status = hustings(&format!("status --http {} --format json", hosts[0].1.http())).json();
    assert_eq!(status["groups"][0]["leadership"]["leads"], true);
    assert_eq!(status["groups"][0]["leadership"]["changes"], 1);
}

#[test]
fn centre_reports_too_few_hosts_and_yields_only_to_a_lasting_centre() {
    let group = process::group("few-hosts");
    let host = format!("--group {group} --protocol none --bind 127.0.0.1:0 --http off");
    let _host = process::member(&format!("{host} --name only"));
    let council = format!("council --group {group} --bind 127.0.0.1:0 --max-guess 20 --round 20ms");
    let mut first = process::start(&format!("{council} --name first --seats 2..3"));
    first.until_said_containing("1 host is there, and at least 2 seats have to be filled");
    let once = format!("{council} --seats 1 --once --log off");
    let refused = hustings(&format!("{once} --name guest"));
    let said = format!("another centre, `first`, already serves group `{group}`");
    assert_eq!(refused.code, Some(1), "{}", refused.printed);
    assert!(refused.said.contains(&said), "{}", refused.said);
    let mut second = process::start(&format!("{council} --name second --seats 1"));
    let (code, said) = first.ended_saying();
    assert_eq!(code, Some(1));
    assert!(said.contains("another centre, `second`, was started later"), "{said}");
    assert_eq!(second.stop(), Some(0));
    let line = format!("council of {group}: 1 seats of 1..1: only\n");
    assert_eq!(hustings(&format!("{once} --name guest")).text(), line);
}

#[test]
fn host_reports_that_its_group_elects_no_leader() {
    let group = process::group("no-leader");
    let host = format!("--group {group} --protocol none --bind 127.0.0.1:0 --http 127.0.0.1:0");
    let host = process::member(&format!("{host} --name only"));
    let get = format!("GET /v1/groups/{group}/leader HTTP/1.1");
    let (code, told) = door::ask(&host.http(), &[&get, "Host: localhost"]);
    assert_eq!((code, &told["elects"]), (200, &Value::Bool(false)));
    let refused = hustings(&format!("step-down --group {group} --http {}", host.http()));
    assert_eq!(refused.code, Some(1), "{}", refused.printed);
    let said = "has nothing to give up: this group elects no leader";
    assert!(refused.said.contains(said), "{}", refused.said);
}

/// The heartbeats of the running centre are further apart than the other one listens.
#[test]
fn once_with_a_short_lease_does_not_end_a_centre_with_a_longer_one() {
    let group = process::group("short-lease");
    let host = format!("--group {group} --protocol none --bind 127.0.0.1:0 --http off");
    let _hosts = ["one", "two"].map(|name| process::member(&format!("{host} --name {name}")));
    let council = format!(
        "council --group {group} --bind 127.0.0.1:0 --max-guess 20 --round 20ms --seats 1..2"
    );
    let standing = format!("{council} --name standing --lease 6s --format json");
    let mut standing = process::start(&standing);
    let is_confirmed = |it: &Value| !seated(it).is_empty();
    let seats = seated(&standing.until("a council", is_confirmed));
    let refused = hustings(&format!("{council} --name guest --once --lease 300ms --log off"));
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
fn centre_that_knows_few_hosts_reports_what_it_waits_for() {
    let group = process::group("few-known");
    let few = format!("--group {group} --protocol none --view 8 --multicast off");
    let host = format!("{few} --bind 127.0.0.1:0 --http off");
    let host = process::member(&format!("{host} --name one"));
    let at = host.address();
    let centre = format!("council {few} --bind 127.0.0.1:0 --join {at} --seats 1 --name centre");
    let mut centre = process::start(&centre);
    centre.until_said_containing("calls hosts when the number of members is known");
    assert_eq!(centre.stop(), Some(0));
}
