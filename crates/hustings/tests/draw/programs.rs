//! The cheating program of the examples, a process of its own, against honest ones over real sockets: each of the paper's types.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::processes::{Home, NAMES, outcome};

/// What becomes of a type.
struct Type {
    cheat: &'static str,
    /// How honest members end.
    state: &'static str,
    /// What the transcripts of the honest members make of delta: one of these; none: nothing.
    weights: &'static [&'static str],
    /// Whether its own transcript, if it hands it in, proves that it did not keep to the protocol.
    is_convicted: bool,
    /// How patient honest members are: nobody gains from haste but a test of silence.
    respond_within: &'static str,
}

const TYPES: [Type; 8] = [
    // Flips that are chosen are no lie to others. They gain nothing, and only its own word gives it away.
    Type::new("df", "elected", &[]),
    Type::new("sm", "elected", &[]),
    Type::new("im", "fault", &["proven"]),
    Type::new("nf", "fault", &["proven"]),
    Type::new("cm", "fault", &["unanswered"]),
    Type::new("fm", "fault", &["unanswered"]),
    Type {
        respond_within: "5s",
        // It is silent to its end, and signs nothing.
        is_convicted: false,
        ..Type::new("br", "fault", &["either"])
    },
    Type {
        respond_within: "5s",
        // Its flips of two may pass for its own, shown two ways.
        ..Type::new("sp", "fault", &["proven", "unanswered"])
    },
];

impl Type {
    const fn new(
        cheat: &'static str,
        state: &'static str,
        weights: &'static [&'static str],
    ) -> Self {
        Self {
            cheat,
            state,
            weights,
            is_convicted: true,
            respond_within: "60s",
        }
    }

    /// Delta cheats so, and everybody else is honest.
    fn check(&self, program: &Path) {
        let options = format!("respond_within = \"{}\"", self.respond_within);
        let home = Home::new(&format!("draw-{}", self.cheat), &options);
        let honest = ["alpha", "beta", "gamma"].map(|name| home.member(name));
        let transcript = "rotating-chair-7-delta.jsonl";
        let mut cheater = Command::new(program)
            .args(["ring.toml", "delta", "delta.key", self.cheat, transcript])
            .current_dir(&home.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let accounts = honest.map(outcome);
        let cheat = self.cheat;
        for (code, account) in &accounts {
            assert_eq!(account["state"], self.state, "{cheat}: {account}");
            assert_eq!(account["leader"], accounts[0].1["leader"], "{cheat}");
            let is_elected = self.state == "elected";
            assert_eq!(*code, Some(i32::from(!is_elected)), "{cheat}");
            assert_eq!(account["leader"].is_string(), is_elected, "{cheat}");
            assert_eq!(account["fault"]["text"].is_string(), !is_elected, "{cheat}");
        }
        self.check_verdict(&home);
        if self.is_convicted {
            assert!(cheater.wait().unwrap().success(), "{cheat}");
            let (code, found) = home.verify(&NAMES);
            assert_eq!(code, Some(1), "{cheat}: {found}");
            let of_delta = |it: &&Value| it["weight"] == "proven" && it["who"] == json!(["delta"]);
            let conduct = |it: &Value| it.to_string().contains("did not keep to the protocol");
            let mut proven = findings(&found).filter(of_delta);
            assert!(proven.any(conduct), "{cheat}: {found}");
        } else {
            cheater.kill().unwrap();
            cheater.wait().unwrap();
        }
    }

    /// What the transcripts of the honest ones say, without delta's.
    fn check_verdict(&self, home: &Home) {
        let cheat = self.cheat;
        let (code, found) = home.verify(&NAMES[..3]);
        assert_eq!(
            code,
            Some(i32::from(!self.weights.is_empty())),
            "{cheat}: {found}"
        );
        for finding in findings(&found) {
            let who = finding["who"].as_array().unwrap();
            assert!(who.contains(&json!("delta")), "{cheat}: {found}");
            // An honest one is named beside it where only the two know.
            assert!(who.len() == 1 || finding["weight"] == "either", "{found}");
        }
        let weights: Vec<_> = findings(&found)
            .filter_map(|it| it["weight"].as_str())
            .collect();
        let is_found = weights.iter().any(|it| self.weights.contains(it));
        assert_eq!(is_found, !self.weights.is_empty(), "{cheat}: {found}");
        let is_proven = weights.contains(&"proven");
        assert!(
            !is_proven || self.weights.contains(&"proven"),
            "{cheat}: {found}"
        );
    }
}

fn findings(found: &Value) -> impl Iterator<Item = &Value> {
    found["findings"].as_array().unwrap().iter()
}

fn program() -> PathBuf {
    let programs = Path::new(env!("CARGO_BIN_EXE_hustings")).parent();
    let program = programs.unwrap().join("examples/cheating_seat");
    assert!(
        program.exists(),
        "there is no {}: build it: cargo build -p hustings --examples",
        program.display()
    );
    program
}

/// All at once: two of them have to wait for silence.
#[test]
fn each_type_of_cheating_program_comes_to_what_it_should() {
    let program = program();
    std::thread::scope(|scope| {
        for cheat in &TYPES {
            scope.spawn(|| cheat.check(&program));
        }
    });
}
