//! Real agents as processes on loopback, and the commands that talk to them.

mod commands;
mod door;
mod handover;
mod process;
mod settings;
mod tenure;
mod traces;
mod waiting;

use process::{Program, hustings};

#[test]
fn status_watch_and_step_down_talk_to_a_running_agent() {
    let group = process::group("talk");
    let mut alpha = Program::agent(&group, "alpha", "127.0.0.1:0");
    let http = alpha.http();
    alpha.until("alpha leads", |line| {
        line["leader"] == "alpha" && line["leads"] == true
    });

    let status = hustings(&format!("status --http {http} --format json")).json();
    assert_eq!(status["member"], "alpha");
    assert_eq!(status["groups"][0]["leadership"]["leads"], true);
    assert_eq!(status["groups"][0]["leadership"]["mode"], "advisory");
    let text = hustings(&format!("status --http {http}")).text();
    assert!(
        text.contains(&format!("group {group}: alpha leads (this member), for ")),
        "{text}"
    );

    let mut watch = Program::start(&format!("watch --http {http} --format json"));
    watch.until("the present leader", |line| {
        line["leader"]["name"] == "alpha"
    });
    let mut beta = Program::agent(&group, "beta", "127.0.0.1:0");
    beta.until("beta follows", |line| {
        line["leader"] == "alpha" && line["leads"] == false
    });

    let said = hustings(&format!("step-down --http {http} --group {group} --for 1h")).text();
    assert_eq!(
        said,
        format!("group {group}: stepped down, and out of elections for 3600s\n")
    );
    beta.until("beta leads", |line| {
        line["leader"] == "beta" && line["leads"] == true
    });
    watch.until("alpha gave up", |line| {
        line["leader"].is_null() && line["changes"] == 2
    });

    assert_eq!(alpha.stop(), Some(0));
    watch.until_said(&format!("the agent at {http} went away: waiting for it"));
    let mut alpha = Program::agent(&group, "alpha", &http);
    watch.until_said(&format!("the agent at {http} is back"));
    watch.until("a leader", |line| line["leader"]["name"].is_string());
    assert_eq!(beta.stop(), Some(0));
    alpha.until("alpha leads again", |line| line["leads"] == true);
    assert_eq!(alpha.stop(), Some(0));
}

#[test]
fn watch_prints_a_sentence_a_change() {
    let group = process::group("sentences");
    let mut alpha = Program::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let http = alpha.http();
    let mut watch = Program::start(&format!("watch --http {http}"));
    watch.until_printed(&format!("group {group}: alpha leads (this member)"));
    hustings(&format!("step-down --http {http} --group {group}")).text();
    watch.until_printed(&format!("group {group}: nobody leads"));
}

#[test]
fn an_agent_whose_events_nobody_reads_ends() {
    let group = process::group("unread");
    let mut alpha = Program::unread(&format!(
        "agent --events --group {group} --bind 127.0.0.1:0 --http off"
    ));
    assert_eq!(alpha.ended(), Some(0));
}
