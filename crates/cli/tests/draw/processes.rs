//! Real processes: `hustings draw` as each organisation would run it.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;

pub(crate) const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// The directory of a draw's files.
pub(crate) struct Home(pub(crate) PathBuf);

/// A loopback address for this process alone.
fn own_address(number: u8, port: u16) -> String {
    let pid = std::process::id();
    format!("127.{}.{}.{number}:{port}", 64 + (pid >> 8) % 128, pid % 256)
}

impl Home {
    pub(crate) fn new(name: &str, options: &str) -> Self {
        let home = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        let _ = fs::remove_dir_all(&home.0); // left by the last run
        fs::create_dir_all(&home.0).unwrap();
        static HOMES: AtomicU8 = AtomicU8::new(1);
        let number = HOMES.fetch_add(1, Ordering::Relaxed);
        let mut ring = format!("draw = \"rotating chair\"\nnumber = 7\n{options}\n");
        for (port, name) in (27_501..).zip(NAMES) {
            let made = home.run(&["keygen", &format!("{name}.key")]);
            assert!(made.status.success(), "{made:?}");
            let key = String::from_utf8(made.stdout).unwrap();
            let address = own_address(number, port);
            ring += &format!(
                "[[member]]\nname = \"{name}\"\naddress = \"{address}\"\nkey = \"{}\"\n",
                key.trim()
            );
        }
        fs::write(home.0.join("ring.toml"), ring).unwrap();
        home
    }

    fn hustings(&self, arguments: &[&str]) -> Command {
        let mut command = hustings_testkit::command(env!("CARGO_BIN_EXE_hustings"), "draw");
        command.args(arguments).current_dir(&self.0);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.hustings(arguments).output().unwrap()
    }

    pub(crate) fn member(&self, name: &str) -> Child {
        self.member_with(name, &[])
    }

    fn member_with(&self, name: &str, more: &[&str]) -> Child {
        let key = format!("{name}.key");
        let options = ["--ring", "ring.toml", "--member", name, "--key", &key];
        let json = ["--format", "json", "--log", "off", "--wait", "90s"];
        self.hustings(&[&options[..], &json, more].concat()).spawn().unwrap()
    }

    pub(crate) fn verify(&self, names: &[&str]) -> (Option<i32>, Value) {
        let files: Vec<String> =
            names.iter().map(|name| format!("rotating-chair-7-{name}.jsonl")).collect();
        let mut arguments = vec!["verify", "--ring", "ring.toml", "--format", "json"];
        arguments.extend(files.iter().map(String::as_str));
        let outcome = self.run(&arguments);
        let found = serde_json::from_slice(&outcome.stdout);
        (outcome.status.code(), found.unwrap())
    }
}

/// Returns the exit code and the output of a member.
pub(crate) fn outcome(member: Child) -> (Option<i32>, Value) {
    let outcome = member.wait_with_output().unwrap();
    let status = serde_json::from_slice(&outcome.stdout);
    let status = status.unwrap_or_else(|_| panic!("{outcome:?}"));
    (outcome.status.code(), status)
}

#[test]
fn four_processes_draw_one_leader_and_anyone_can_check_it() {
    let home = Home::new("draw-four", "respond_within = \"60s\"");
    let members = NAMES.map(|name| home.member(name));
    let outcomes = members.map(outcome);
    let leader = &outcomes[0].1["leader"];
    assert!(leader.is_string(), "{outcomes:?}");
    for (code, status) in &outcomes {
        assert_eq!(*code, Some(0), "{status}");
        assert_eq!(&status["leader"], leader);
    }
    let (code, found) = home.verify(&NAMES);
    assert_eq!((code, &found["leader"]), (Some(0), leader), "{found}");
    // An invalid transcript does not change the result.
    let whole = fs::read_to_string(home.0.join("rotating-chair-7-beta.jsonl")).unwrap();
    let cut = whole.lines().next().unwrap();
    fs::write(home.0.join("rotating-chair-7-extra.jsonl"), cut).unwrap();
    let (code, found) = home.verify(&["alpha", "extra", "beta", "gamma", "delta"]);
    assert_eq!((code, &found["leader"]), (Some(0), leader), "{found}");
    assert_eq!(found["unusable"].as_array().map(Vec::len), Some(1));
    // W12: no second draw under that number, wherever the transcript is.
    let beta = ["--ring", "ring.toml", "--member", "beta", "--key", "beta.key"];
    for more in [&[][..], &["--transcript", "another.jsonl"]] {
        let again = home.run(&[&beta, more].concat());
        let signed = String::from_utf8_lossy(&again.stderr);
        assert_eq!(again.status.code(), Some(1), "{signed}");
        assert!(signed.contains("has taken part in"), "{signed}");
    }
    // The same key by another path is also refused.
    std::os::unix::fs::symlink("beta.key", home.0.join("same.key")).unwrap();
    let more = ["same.key", "--transcript", "third.jsonl", "--wait", "1s"];
    let again = home.run(&[&beta[..5], &more].concat());
    let signed = String::from_utf8_lossy(&again.stderr);
    assert!(signed.contains("beta has taken part in this draw"), "{signed}");
}

/// Runs a draw beside a second process with a copy of alpha's key. Returns the copy's output if the
/// draw reached a result.
fn draw_beside_copy(attempt: u32) -> Option<String> {
    // A draw that begins with the copy's link stands still for this time, and is repeated.
    let home = Home::new(&format!("draw-copied-key-{attempt}"), "respond_within = \"2s\"");
    fs::create_dir(home.0.join("copy")).unwrap();
    fs::copy(home.0.join("alpha.key"), home.0.join("copy/alpha.key")).unwrap();
    // It calls beta as alpha does. Delta, which calls alpha, does not know of it.
    let bind = own_address(250, 27_599);
    let arguments = [
        ["--ring", "ring.toml"],
        ["--member", "alpha"],
        ["--key", "copy/alpha.key"],
        ["--transcript", "copy/alpha.jsonl"],
        ["--bind", &bind],
        ["--wait", "5s"],
        ["--log", "off"],
    ];
    let copy = home.hustings(arguments.as_flattened()).spawn().unwrap();
    let members = NAMES.map(|name| home.member(name));
    let members = members.map(|it| it.wait_with_output().unwrap().status.code());
    let copied = copy.wait_with_output().unwrap();
    let signed = String::from_utf8_lossy(&copied.stderr).into_owned();
    assert_eq!(copied.status.code(), Some(1), "{signed}");
    // If the copy was linked at that moment, the draw begins without a member.
    (members == [Some(0); 4]).then_some(signed)
}

/// It must not say that the others will find a fault if they reach a result.
///
/// Two processes with one key displace each other's links. About one draw in three begins while the
/// member itself is linked.
#[test]
fn second_process_with_a_copied_key_learns_that_the_draw_goes_on() {
    for attempt in 0..40 {
        let Some(signed) = draw_beside_copy(attempt) else {
            continue;
        };
        if signed.contains(" did not appear within 5s") {
            continue; // it was slow and missed the draw
        }
        let goes_on = "reports that the draw has begun without this process";
        assert!(signed.contains(goes_on), "{signed}");
        assert!(signed.contains("then that draw continues, and counts"), "{signed}");
        return;
    }
    panic!("the copy heard of no draw that came to a result");
}

#[test]
fn http_serves_the_progress_and_then_the_result() {
    let home = Home::new("draw-http", "respond_within = \"60s\"");
    let http = own_address(0, 27_500);
    let mut alpha = home.member_with("alpha", &["--http", &http]);
    let ask = |path: &str| ureq::get(format!("http://{http}/{path}")).call();
    // The process answers as soon as it listens.
    let told = |state: &str| loop {
        if let Ok(mut answer) = ask("v1/draw") {
            let status: Value =
                serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
            if status["state"] == state {
                return status;
            }
        }
        std::thread::yield_now();
    };
    let rendezvous = told("gathering");
    assert_eq!(rendezvous["leader"], Value::Null);
    let missing = rendezvous["missing"].to_string();
    assert!(missing.contains("delta") && missing.contains("beta"), "{missing}");
    let others = ["beta", "gamma", "delta"].map(|name| home.member(name));
    let outcomes = others.map(outcome);
    let status = told("elected");
    assert_eq!(status["leader"], outcomes[0].1["leader"]);
    assert_eq!(status["missing"], serde_json::json!([]));
    assert!(ask("v1/else").is_err(), "there is nothing else");
    let pid = rustix::process::Pid::from_child(&alpha);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(alpha.wait().unwrap().code(), Some(0));
}

#[test]
fn unusable_files_are_refused_with_a_reason() {
    let home = Home::new("draw-refused", "");
    let made = home.run(&["keygen", "alpha.key"]);
    let signed = String::from_utf8_lossy(&made.stderr);
    assert_eq!(made.status.code(), Some(2));
    assert!(signed.contains("the file exists, and its key may be in use"), "{signed}");
    let check = |member: &str, key: &str, expected: &str| {
        let refused = home.run(&["--ring", "ring.toml", "--member", member, "--key", key]);
        let signed = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{signed}");
        assert!(signed.contains(expected), "{signed}");
    };
    check("omega", "alpha.key", "omega is not a member of this ring");
    check("alpha", "beta.key", "has another key for alpha");
    check("alpha", "ring.toml", "users other than the owner can read");
    check("alpha", "none.key", "cannot read the key");
}

#[test]
fn port_in_use_is_reported_with_the_remedy() {
    let home = Home::new("draw-taken", "");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = taken.local_addr().unwrap().to_string();
    let alpha = ["--ring", "ring.toml", "--member", "alpha", "--key"];
    let refused = home.run(&[&alpha[..], &["alpha.key", "--http", &http]].concat());
    let signed = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{signed}");
    assert!(signed.contains("or leave --http out"), "{signed}");
    assert!(!signed.contains("--http off"), "{signed}");
}

#[test]
fn without_a_transcript_there_is_no_result() {
    // A file system without room for anything, and one without room for the end of the transcript.
    for (blocks, expected) in [("0", "cannot write the mark"), ("8", "there is no result")] {
        let home = Home::new(&format!("draw-full-{blocks}"), "respond_within = \"60s\"");
        let honest = ["alpha", "beta", "gamma"].map(|name| home.member(name));
        let limited = Command::new("sh")
            .args(["-c", "ulimit -f $0; trap '' XFSZ; exec \"$@\"", blocks])
            .arg(env!("CARGO_BIN_EXE_hustings"))
            .args(["draw", "--ring", "ring.toml", "--member", "delta"])
            .args(["--key", "delta.key", "--log", "off"])
            .current_dir(&home.0)
            .output()
            .unwrap();
        let signed = String::from_utf8_lossy(&limited.stderr);
        assert_eq!(limited.status.code(), Some(1), "{signed}");
        assert!(signed.contains(expected), "{signed}");
        assert!(limited.stdout.is_empty());
        // The others do not wait for it: it reports that it cannot go on.
        for (code, status) in honest.map(outcome) {
            assert_eq!(code, Some(1), "{status}");
            assert_eq!(status["leader"], Value::Null);
            let reports = status["reports"].as_array().unwrap();
            let by_delta = |it: &Value| it["by"] == "delta" && it["cause"] == "withdrawn";
            assert!(reports.iter().any(by_delta), "{status}");
        }
        let (_, found) = home.verify(&NAMES[..3]);
        assert_eq!(found["findings"][0]["who"], serde_json::json!(["delta"]));
    }
}
