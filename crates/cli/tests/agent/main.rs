//! Real agents as processes on loopback, and the commands that talk to them.

mod commands;
mod council;
mod door;
mod handover;
mod initialising;
mod process;
mod settings;
mod tenure;
mod traces;
mod verdict;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::{fs, io, iter};

use process::{Program, hustings};
use serde_json::Value;

#[test]
fn status_watch_and_step_down_talk_to_a_running_agent() {
    let group = process::group("talk");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
    let http = alpha.http();
    alpha.until("alpha leads", |line| line["leader"] == "alpha" && line["leads"] == true);

    let status = hustings(&format!("status --http {http} --format json")).json();
    assert_eq!(status["member"], "alpha");
    assert_eq!(status["groups"][0]["leadership"]["leads"], true);
    assert_eq!(status["groups"][0]["leadership"]["mode"], "advisory");
    let text = hustings(&format!("status --http {http}")).text();
    assert!(text.contains(&format!("group {group}: alpha leads (this member), for ")), "{text}");

    let mut watch = process::start(&format!("watch --http {http} --format json"));
    watch.until("the present leader", |line| line["leader"]["name"] == "alpha");
    let mut beta = process::agent(&group, "beta", "127.0.0.1:0");
    beta.until("beta follows", |line| line["leader"] == "alpha" && line["leads"] == false);

    let said = hustings(&format!("step-down --http {http} --group {group} --for 1h")).text();
    assert_eq!(said, format!("group {group}: stepped down; out of elections for 3600s\n"));
    beta.until("beta leads", |line| line["leader"] == "beta" && line["leads"] == true);
    watch.until("alpha gave up", |line| line["leader"].is_null() && line["changes"] == 2);

    assert_eq!(alpha.stop(), Some(0));
    watch.until_said(&format!("the agent at {http} has ended the stream: waiting for another"));
    let mut alpha = process::agent(&group, "alpha", &http);
    watch.until_said(&format!("the agent at {http} answers again"));
    watch.until("a leader", |line| line["leader"]["name"].is_string());
    assert_eq!(beta.stop(), Some(0));
    alpha.until("alpha leads again", |line| line["leads"] == true);
    assert_eq!(alpha.stop(), Some(0));
}

/// The test speaks for an agent that ends the stream, refuses one, and grants the next.
#[test]
fn watch_goes_on_after_the_agent_refused_another_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let http = listener.local_addr().expect("it is bound");
    let mut watch = process::start(&format!("watch --http {http} --format json"));
    let answer = |status: &str, body: &str| {
        let (stream, _) = listener.accept().expect("the watch connects");
        let request = BufReader::new(&stream).lines().map_while(Result::ok);
        request.take_while(|line| !line.is_empty()).for_each(drop);
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n");
        (&stream).write_all((head + body).as_bytes()).expect("the watch reads");
    };
    answer("200 OK", "data: {\"changes\":1}\n\n");
    watch.until("the first stream", |line| line["changes"] == 1);
    answer("503 Service Unavailable", "{\"error\":\"32 programs watch\"}");
    watch.until_said(&format!("the agent at {http} refuses: 32 programs watch"));
    answer("200 OK", "data: {\"changes\":2}\n\n");
    watch.until("the next stream", |line| line["changes"] == 2);
}

/// Two members with partial views of at most eight others: they count themselves and then elect.
#[test]
fn status_shows_the_group_size_and_the_size_of_the_partial_view() {
    let group = process::group("few");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{group}.toml"));
    let text = format!(
        "bind = \"127.0.0.1:0\"\nhttp = \"127.0.0.1:0\"\n[[group]]\nname = \"{group}\"\n\
         protocol = \"probabilistic\"\nview = 8\nbound = \"1ms\"\n"
    );
    fs::write(&path, text).expect("files can be written");
    let member = |name| process::member(&format!("--config {} --name {name}", path.display()));
    let (mut alpha, mut beta) = (member("alpha"), member("beta"));
    for it in [&mut alpha, &mut beta] {
        it.until("a leader", |line| line["leader"].is_string());
    }
    for it in [&alpha, &beta] {
        let http = it.http();
        let asked = || hustings(&format!("status --http {http} --format json")).json();
        let size_in = |status: &Value| status["groups"][0]["partial_view"]["size"].as_u64();
        // A follower may be counted only after it follows a leader. A failed count, as on a busy
        // host, is repeated after one or two minutes.
        let mut statuses = iter::repeat_with(asked).take(20_000);
        let status = statuses.find(|it| size_in(it).is_some());
        let status = status.expect("they are counted");
        let partial_view = &status["groups"][0]["partial_view"];
        assert_eq!((&partial_view["view"], &partial_view["known"]), (&8.into(), &1.into()));
        let size = size_in(&status).expect("as found");
        let k = &status["groups"][0]["k"];
        let text = hustings(&format!("status --http {http}")).text();
        let (_, told) = text.split_once("  members   ").expect("a line");
        let expected = format!("about {size}; this member knows 1, of at most 8");
        assert!(told.starts_with(&expected), "{text}");
        assert!(told.contains(&format!("  relaying  K {k}; measured: ")), "{text}");
    }
}

#[test]
fn watch_prints_one_sentence_per_change() {
    let group = process::group("sentences");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let http = alpha.http();
    let mut watch = process::start(&format!("watch --http {http}"));
    watch.until_printed(&format!("group {group}: alpha leads (this member)"));
    hustings(&format!("step-down --http {http} --group {group}")).text();
    watch.until_printed(&format!("group {group}: no leader"));
}

#[test]
fn agent_ends_when_the_reader_of_its_events_is_gone() {
    let group = process::group("unread");
    let mut alpha =
        process::unread(&format!("agent --events --group {group} --bind 127.0.0.1:0 --http off"));
    assert_eq!(alpha.ended(), Some(0));
}

/// Two streams that cannot be written: a full disk, and a pipe whose reader is gone.
fn unwritable() -> [Stdio; 2] {
    let full = fs::File::create("/dev/full").expect("there is a full device");
    let (_, closed) = io::pipe().expect("pipes can be made");
    [full.into(), closed.into()]
}

#[test]
fn agent_and_run_go_on_when_their_log_cannot_be_written() {
    for stderr in unwritable() {
        let group = process::group("unlogged");
        let options = format!("--group {group} --name alpha --bind 127.0.0.1:0 --http 127.0.0.1:0");
        let agent = format!("agent --events --log trace {options}");
        let mut agent = Program::up(process::command(&agent).stderr(stderr));
        agent.until("alpha leads", |line| line["leads"] == true);
        let status = hustings(&format!("status --http {}", agent.http())).text();
        assert!(status.contains("alpha leads"), "{status}");
        assert_eq!(agent.stop(), Some(0));
    }
    for stderr in unwritable() {
        let group = process::group("unlogged-run");
        let run = format!("run --group {group} --bind 127.0.0.1:0 -- sh -c");
        let mut run = process::command(&run);
        let mut run = Program::start(run.arg("echo works; exec sleep 1000").stderr(stderr));
        run.until_printed("works");
        assert_eq!(run.stop(), Some(143), "the code of its command");
    }
}

#[test]
fn agent_goes_on_when_its_events_cannot_be_written() {
    let [full, _] = unwritable();
    let group = process::group("full-events");
    let agent = format!("agent --events --group {group} --bind 127.0.0.1:0 --http 127.0.0.1:0");
    let mut agent = Program::closed(process::command(&agent).stdout(full));
    let up = agent.until_said_containing(", HTTP at ");
    let (_, http) = up.split_once(", HTTP at ").expect("it contains it");
    agent.until_said_containing("an event is lost, the agent goes on: ");
    hustings(&format!("status --http {http}")).text();
    assert_eq!(agent.stop(), Some(0));
}
