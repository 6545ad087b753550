//! Real processes: `hustings draw` as each organisation would run it, and the cheating program of the examples.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// Where a draw's files lie.
struct Home(PathBuf);

impl Home {
    fn new(name: &str, options: &str) -> Self {
        let home = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        let _ = fs::remove_dir_all(&home.0); // of the last run
        fs::create_dir_all(&home.0).unwrap();
        // Held until all are chosen, so that they differ.
        let ports: Vec<TcpListener> = NAMES
            .iter()
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let mut ring = format!("draw = \"rotating chair\"\nnumber = 7\n{options}\n");
        for (name, port) in NAMES.iter().zip(&ports) {
            let made = home.run(&["keygen", &format!("{name}.key")]);
            assert!(made.status.success(), "{made:?}");
            let key = String::from_utf8(made.stdout).unwrap();
            let address = port.local_addr().unwrap();
            ring += &format!(
                "[[member]]\nname = \"{name}\"\naddress = \"{address}\"\nkey = \"{}\"\n",
                key.trim()
            );
        }
        fs::write(home.0.join("ring.toml"), ring).unwrap();
        home
    }

    fn hustings(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
        command
            .arg("draw")
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.hustings(arguments).output().unwrap()
    }

    fn member(&self, name: &str) -> Child {
        self.member_with(name, &[])
    }

    fn member_with(&self, name: &str, more: &[&str]) -> Child {
        let key = format!("{name}.key");
        let options = ["--ring", "ring.toml", "--member", name, "--key", &key];
        let json = ["--format", "json", "--log", "off"];
        self.hustings(&[&options[..], &json, more].concat())
            .spawn()
            .unwrap()
    }

    fn verify(&self, names: &[&str]) -> (Option<i32>, Value) {
        let files: Vec<String> = names
            .iter()
            .map(|name| format!("rotating-chair-7-{name}.jsonl"))
            .collect();
        let mut arguments = vec!["verify", "--ring", "ring.toml", "--format", "json"];
        arguments.extend(files.iter().map(String::as_str));
        let outcome = self.run(&arguments);
        let found = serde_json::from_slice(&outcome.stdout);
        (outcome.status.code(), found.unwrap())
    }
}

/// What a member printed, and its exit code.
fn outcome(member: Child) -> (Option<i32>, Value) {
    let outcome = member.wait_with_output().unwrap();
    let account = serde_json::from_slice(&outcome.stdout);
    let account = account.unwrap_or_else(|_| panic!("{outcome:?}"));
    (outcome.status.code(), account)
}

#[test]
fn four_processes_draw_one_leader_and_anybody_can_check_it() {
    let home = Home::new("draw-four", "respond_within = \"60s\"");
    let members = NAMES.map(|name| home.member(name));
    let outcomes = members.map(outcome);
    let leader = &outcomes[0].1["leader"];
    assert!(leader.is_string(), "{outcomes:?}");
    for (code, account) in &outcomes {
        assert_eq!(*code, Some(0), "{account}");
        assert_eq!(&account["leader"], leader);
    }
    let (code, found) = home.verify(&NAMES);
    assert_eq!((code, &found["leader"]), (Some(0), leader), "{found}");
    // W12: no second draw under that number.
    let again = home.run(&[
        "--ring",
        "ring.toml",
        "--member",
        "beta",
        "--key",
        "beta.key",
    ]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(1), "{said}");
    assert!(said.contains("has taken part in that draw"), "{said}");
}

#[test]
fn how_it_goes_is_told_over_http_and_goes_on_being_told_when_it_is_over() {
    let home = Home::new("draw-http", "respond_within = \"60s\"");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = free.local_addr().unwrap().to_string();
    drop(free);
    let mut alpha = home.member_with("alpha", &["--http", &http]);
    let ask = |path: &str| ureq::get(format!("http://{http}/{path}")).call();
    // It answers as soon as it listens.
    let told = |state: &str| loop {
        if let Ok(mut answer) = ask("v1/draw") {
            let account: Value =
                serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
            if account["state"] == state {
                return account;
            }
        }
        std::thread::yield_now();
    };
    assert_eq!(told("gathering")["leader"], Value::Null);
    let others = ["beta", "gamma", "delta"].map(|name| home.member(name));
    let outcomes = others.map(outcome);
    let account = told("elected");
    assert_eq!(account["leader"], outcomes[0].1["leader"]);
    assert!(ask("v1/else").is_err(), "there is nothing else");
    let pid = rustix::process::Pid::from_child(&alpha);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(alpha.wait().unwrap().code(), Some(0));
}

#[test]
fn a_cheating_program_is_found_out_by_honest_ones() {
    let programs = Path::new(env!("CARGO_BIN_EXE_hustings")).parent();
    let cheater = programs.unwrap().join("examples/cheating_seat");
    assert!(
        cheater.exists(),
        "there is no {}: build it: cargo build -p hustings --examples",
        cheater.display()
    );
    let home = Home::new("draw-cheated", "respond_within = \"60s\"");
    let honest = ["alpha", "beta", "gamma"].map(|name| home.member(name));
    let transcript = "rotating-chair-7-delta.jsonl";
    let cheater = Command::new(cheater)
        .args(["ring.toml", "delta", "delta.key", "im", transcript])
        .current_dir(&home.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    for (code, account) in honest.map(outcome) {
        assert_eq!(code, Some(1), "{account}");
        assert_eq!(account["state"], "fault");
        assert_eq!(account["leader"], Value::Null);
        assert!(account["fault"]["text"].is_string());
    }
    assert!(cheater.wait_with_output().unwrap().status.success());
    for names in [&NAMES[..3], &NAMES] {
        let (code, found) = home.verify(names);
        assert_eq!(code, Some(1));
        assert_eq!(found["findings"][0]["who"], serde_json::json!(["delta"]));
        assert_eq!(found["findings"][0]["weight"], "proven");
    }
}

#[test]
fn what_cannot_be_used_is_refused_with_a_reason() {
    let home = Home::new("draw-refused", "");
    let made = home.run(&["keygen", "alpha.key"]);
    let said = String::from_utf8_lossy(&made.stderr);
    assert_eq!(made.status.code(), Some(2));
    assert!(said.contains("there is a key already"), "{said}");
    let check = |member: &str, key: &str, expected: &str| {
        let refused = home.run(&["--ring", "ring.toml", "--member", member, "--key", key]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    check("omega", "alpha.key", "omega is no member of this ring");
    check("alpha", "beta.key", "has another key for alpha");
    check("alpha", "ring.toml", "others than its owner can read");
    check("alpha", "none.key", "cannot read the key");
}

#[test]
fn without_a_transcript_there_is_no_result() {
    let home = Home::new("draw-full", "respond_within = \"2s\"");
    let wait = ["--wait", "10s"];
    let honest = ["alpha", "beta", "gamma"].map(|name| home.member_with(name, &wait));
    let full = home.0.join("full.jsonl");
    // A file system without room: the file can be made, and nothing can be written to it.
    let limited = Command::new("sh")
        .args(["-c", "ulimit -f 0; trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_hustings"))
        .args(["draw", "--ring", "ring.toml", "--member", "delta"])
        .args(["--key", "delta.key", "--log", "off", "--transcript"])
        .arg(&full)
        .current_dir(&home.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(limited.status.code(), Some(1), "{said}");
    assert!(said.contains("without it there is no result"), "{said}");
    assert!(limited.stdout.is_empty());
    for member in honest {
        let outcome = member.wait_with_output().unwrap();
        assert_eq!(outcome.status.code(), Some(1));
        // Who had not begun when that one left waits for it in vain, and has no account of a draw.
        let account: Value = serde_json::from_slice(&outcome.stdout).unwrap_or_default();
        assert_eq!(account["leader"], Value::Null);
    }
}
