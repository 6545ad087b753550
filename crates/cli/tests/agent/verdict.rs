//! The health verdict about a group: equal in status, metrics and page, and logged when it changes.

use std::fs;
use std::path::Path;

use hustings_agent::clock;
use serde_json::Value;

use crate::door::{ask, exchange};
use crate::process::{self, DEADLINE, Program, hustings};
use crate::tenure::Scene;

/// The verdict about an agent's first group, in JSON.
fn health(it: &Program) -> Value {
    let (code, status) = ask(&it.http(), &["GET /v1/status HTTP/1.1", "Host: localhost"]);
    assert_eq!(code, 200, "{status}");
    status["groups"][0]["health"].clone()
}

/// Polls until the verdict is `state`.
#[track_caller]
fn until_health(it: &Program, state: &str) -> Value {
    let begun = clock::now();
    loop {
        let health = health(it);
        if health["state"] == state {
            return health;
        }
        let waited = clock::now() - begun;
        assert!(waited < DEADLINE.into(), "{state}: {health}");
    }
}

fn status(it: &Program) -> String {
    hustings(&format!("status --http {}", it.http())).text()
}

#[test]
fn status_metrics_and_page_show_the_same_verdict() {
    let group = process::group("verdict");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let mut beta = process::agent(&group, "beta", "127.0.0.1:0");
    beta.until("beta follows", |line| line["leader"] == "alpha");
    for (it, state, summary) in
        [(&alpha, "leading", "good: leads"), (&beta, "following", "good: follows alpha")]
    {
        assert_eq!(health(it)["state"], state);
        let text = status(it);
        assert!(text.contains(&format!("\n  health    {summary}")), "{text}");
        let (_, _, metrics) = exchange(&it.http(), &["GET /metrics HTTP/1.1", "Host: localhost"]);
        let sample = format!("\nhustings_health{{group=\"{group}\",state=\"{state}\"}} 1\n");
        assert!(metrics.contains(&sample), "{metrics}");
        let level = format!("\nhustings_health_level{{group=\"{group}\"}} 0\n");
        assert!(metrics.contains(&level), "{metrics}");
    }
    // The remaining member no longer hears any member of a group that it knew.
    alpha.kill();
    beta.until("beta leads", |line| line["leads"] == true);
    let health = until_health(&beta, "cut-off");
    assert_eq!(health["level"], "warning");
    let text = status(&beta);
    assert!(text.contains("\n  health    warning: leads, but has received nothing"), "{text}");
}

/// The voters have not answered, because no request was sent.
#[test]
fn leader_paused_past_its_ttl_reports_that_it_did_not_run() {
    let scene = Scene::founded("stopped");
    let mut agents = ["a", "b", "c"].map(|name| scene.agent(name));
    for it in &mut agents {
        it.until("a leader with a fence", |line| line["fence"].is_u64());
    }
    let leads = |it: &Program| health(it)["state"] == "leading";
    let leader = agents.iter().position(leads).expect("one leads");
    let name = ["a", "b", "c"][leader];
    agents[leader].pause();
    agents[(leader + 1) % 3].until("the next leader", |line| {
        line["leader"].is_string() && line["leader"] != name && line["fence"].is_u64()
    });
    agents[leader].resume();
    let said = agents[leader].until_said_containing("has ended: ");
    assert!(said.contains("this process did not run for "), "{said}");
}

#[test]
fn follower_shows_the_time_since_it_heard_others() {
    let group = process::group("ages");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let mut beta = process::agent(&group, "beta", "127.0.0.1:0");
    beta.until("beta follows", |line| line["leader"] == "alpha");
    let text = status(&beta);
    let line = text.lines().find(|it| it.starts_with("  heard of  "));
    let line = line.expect("it has heard of alpha");
    let is_aged = line.starts_with("  heard of  alpha (heard ") && line.ends_with(" s ago)");
    assert!(is_aged, "{line}");
}

/// A healthy leader, polled more often than its tenure is renewed, never shows another state.
#[test]
fn leader_with_a_short_ttl_always_reports_good_health() {
    let scene = Scene::founded("short-ttl");
    let mut agents = ["a", "b", "c"].map(|name| scene.agent(name));
    let leads = |line: &Value| line["leader"].is_string() && line["fence"].is_u64();
    for it in &mut agents {
        it.until("a leader with a fence", leads);
    }
    for it in &agents {
        until_health(it, if health(it)["state"] == "leading" { "leading" } else { "following" });
    }
    let leader = agents.iter().find(|it| health(it)["state"] == "leading");
    let leader = leader.expect("one leads");
    // The third voter may answer only after two have granted tenure.
    let all = "  voters    3 of 3 heard in the last 1s: a, b, c\n";
    let begun = clock::now();
    while !status(leader).contains(all) {
        let waited = clock::now() - begun;
        assert!(waited < DEADLINE.into(), "{}", status(leader));
    }
    for _ in 0..100 {
        let health = health(leader);
        assert_eq!(health["level"], "good", "{health}");
        let text = status(leader);
        assert!(text.contains(all), "{text}");
    }
    for follower in agents.iter().filter(|it| health(it)["state"] == "following") {
        let text = status(follower);
        let voters = "  voters    a, b, c (heard by the member that holds tenure or asks for it)\n";
        assert!(text.contains(voters), "{text}");
    }
}

#[test]
fn lost_majority_of_voters_is_a_warning_with_its_cause() {
    let scene = Scene::founded("majority");
    let mut agents: Vec<Program> = ["a", "b", "c"].map(|name| scene.agent(name)).into();
    let leader = loop {
        for it in &mut agents {
            it.until("a fence", |line| line["fence"].is_u64());
        }
        let leads = |it: &Program| health(it)["state"] == "leading";
        if let Some(leader) = agents.iter().position(leads) {
            break leader;
        }
    };
    let mut leader = agents.remove(leader);
    leader.until_said_containing("(tenure was granted)");
    for other in &mut agents {
        other.kill();
    }
    let lost = leader.until_said_containing("tenure with fence ");
    assert!(lost.contains(" WARN "), "{lost}");
    assert!(lost.contains("2 of 3 voters have not answered for 300ms"), "{lost}");
    let changed = leader.until_said_containing("(tenure was not renewed in time)");
    assert!(changed.contains("is named, and has no tenure yet"), "{changed}");
    let silent = leader.until_said_containing("2 of 3 voters do not answer");
    assert!(silent.contains(" WARN "), "{silent}");
    let text = status(&leader);
    assert!(!text.contains("3 of 3 heard"), "{text}");
    assert!(!text.contains("\n  health    good"), "{text}");
}

#[test]
fn status_of_a_council_host_mentions_no_leader() {
    let group = process::group("host");
    let host = process::member(&format!(
        "--group {group} --name alpha --bind 127.0.0.1:0 --http 127.0.0.1:0 --protocol none"
    ));
    let text = status(&host);
    assert!(text.contains(&format!("\ngroup {group}: no leader is elected\n")), "{text}");
    assert!(text.contains("\n  health    good: no leader is elected in this group\n"), "{text}");
    assert!(text.contains("\n  council   host, not seated\n"), "{text}");
    for word in ["leads", "mode", "changes", "act as leader"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let (_, _, metrics) = exchange(&host.http(), &["GET /metrics HTTP/1.1", "Host: localhost"]);
    assert!(!metrics.contains("hustings_leads{"), "{metrics}");
}

#[test]
fn failed_command_is_a_warning_and_the_cause_of_the_change() {
    let group = process::group("failed");
    let options = "--name alpha --bind 127.0.0.1:0 --http off --at-end resign -- false";
    let mut alpha = process::start(&format!("run --group {group} {options}"));
    let ended = alpha.until_said_containing("the command has ended: by itself");
    assert!(ended.contains(" WARN "), "{ended}");
    alpha.until_said_containing("this member's command ended with code 1");
}

#[test]
fn voter_with_another_name_is_reported_by_check_and_at_start() {
    let group = process::group("fqdn");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{group}.toml"));
    let text = format!(
        "name = \"alpha.example.org\"\nbind = \"127.0.0.1:0\"\nhttp = \"off\"\n[[group]]\nname = \"{group}\"\n\
         voters = [\"alpha\", \"beta\", \"gamma\"]\n"
    );
    fs::write(&path, text).expect("files can be written");
    let told = format!(
        "group {group}: this member, `alpha.example.org`, is not one of the voters (alpha, beta, gamma), and does not vote: if this host is meant to be the voter `alpha`, set name ="
    );
    let checked = hustings(&format!("config check {}", path.display()));
    assert_eq!(checked.code, Some(0), "{}", checked.said);
    assert!(checked.said.starts_with(&format!("warning: {told}")), "{}", checked.said);
    let mut alpha = process::start(&format!("agent --config {}", path.display()));
    let said = alpha.until_said_containing(&told);
    assert!(said.contains(" ERROR "), "{said}");
    let silent = alpha.until_said_containing("3 of 3 voters do not answer");
    assert!(!silent.contains("network"), "{silent}");
    let init = hustings(&format!("voter init --new --config {}", path.display()));
    assert_eq!(init.code, Some(2), "{}", init.said);
    let advice = "if this host is meant to be the voter `alpha`, set name =";
    assert!(init.said.contains(advice), "{}", init.said);
    fs::remove_file(path).expect("it is removed");
}
