//! The cheating program of the examples, as a process against honest ones over real sockets: each
//! of the paper's types.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::processes::{Home, NAMES, outcome};

/// A type of cheating and its expected outcome.
struct Type {
    cheat: &'static str,
    /// The members that cheat.
    cheaters: &'static [&'static str],
    /// The final state of honest members.
    state: &'static str,
    /// The possible weights of the finding in the honest transcripts; empty if there is no finding.
    weights: &'static [&'static str],
    /// The breach that the transcript of each cheater shows, if it is handed in.
    breach: &'static [&'static str],
    /// The time limit of honest members. Only a test of silence gains from a short one.
    respond_within: &'static str,
    /// More lines of the ring file.
    options: &'static str,
}

/// The words for a message other than an honest member sends.
const OTHER_FLIP: &[&str] = &["it sent ", " where an honest member sends "];

/// The words for coins that were not flipped in time. A cheater that writes its own transcript,
/// with a fitting coin before the messages that it heard, leaves no trace; but then it has gained
/// nothing either.
const NO_COIN: &[&str] = &["it did nothing where an honest member flips a coin"];

const TYPES: [Type; 9] = [
    // Chosen flips are no lie to others. They gain nothing, and only its own transcript shows them.
    Type::new("df", "elected", &[], NO_COIN),
    Type::new("sm", "elected", &[], NO_COIN),
    // With four members every draw is stalled: two conspire, and the others sit beside them.
    Type {
        options: "stall_limit = 4",
        cheaters: &["gamma", "delta"],
        ..Type::new("sm@gamma..delta", "fault", &["open"], NO_COIN)
    },
    Type::new("im", "fault", &["proven"], OTHER_FLIP),
    Type::new("nf", "fault", &["proven"], OTHER_FLIP),
    Type::new("cm", "fault", &["unanswered"], OTHER_FLIP),
    Type::new(
        "fm",
        "fault",
        &["unanswered"],
        &["it sent a fault message to ", " where an honest member sends "],
    ),
    Type {
        respond_within: "5s",
        // At the end it signs the fault, and thereby every step that it left out.
        ..Type::new(
            "br",
            "fault",
            &["unanswered"],
            &["it did nothing where an honest member sends "],
        )
    },
    Type {
        respond_within: "5s",
        // Its flips for two members may pass for its own, sent two ways.
        ..Type::new("sp", "fault", &["proven", "unanswered"], OTHER_FLIP)
    },
];

impl Type {
    const fn new(
        cheat: &'static str,
        state: &'static str,
        weights: &'static [&'static str],
        breach: &'static [&'static str],
    ) -> Self {
        Self {
            cheat,
            cheaters: &["delta"],
            state,
            weights,
            breach,
            respond_within: "60s",
            options: "",
        }
    }

    fn honest(&self) -> Vec<&'static str> {
        let is_honest = |name: &&str| !self.cheaters.contains(name);
        NAMES.into_iter().filter(is_honest).collect()
    }

    fn cheater(&self, program: &Path, home: &Home, name: &str) -> Child {
        let key = format!("{name}.key");
        let transcript = format!("rotating-chair-7-{name}.jsonl");
        Command::new(program)
            .args(["ring.toml", name, &key, self.cheat, &transcript])
            .current_dir(&home.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Runs a draw with these cheaters; all other members are honest.
    fn check(&self, program: &Path) {
        let options = format!("respond_within = \"{}\"\n{}", self.respond_within, self.options);
        let home = Home::new(&format!("draw-{}", self.cheat), &options);
        let honest: Vec<_> = self.honest().iter().map(|it| home.member(it)).collect();
        let cheaters = self.cheaters.iter();
        let cheaters: Vec<_> = cheaters.map(|it| self.cheater(program, &home, it)).collect();
        let accounts: Vec<_> = honest.into_iter().map(outcome).collect();
        let cheat = self.cheat;
        for (code, status) in &accounts {
            assert_eq!(status["state"], self.state, "{cheat}: {status}");
            assert_eq!(status["leader"], accounts[0].1["leader"], "{cheat}");
            let is_elected = self.state == "elected";
            assert_eq!(*code, Some(i32::from(!is_elected)), "{cheat}");
            assert_eq!(status["leader"].is_string(), is_elected, "{cheat}");
            assert_eq!(status["fault"]["text"].is_string(), !is_elected, "{cheat}");
        }
        self.check_verdict(&home);
        for (name, mut cheater) in self.cheaters.iter().zip(cheaters) {
            assert!(cheater.wait().unwrap().success(), "{cheat}: {name}");
            self.check_breach(&home, name);
        }
    }

    /// Checks the cheater's own transcript against all others.
    fn check_breach(&self, home: &Home, cheater: &str) {
        let (code, found) = home.verify(&NAMES);
        assert_eq!(code, Some(1), "{}: {found}", self.cheat);
        let proven =
            findings(&found).filter(|it| it["weight"] == "proven" && it["who"] == json!([cheater]));
        let what = proven.filter_map(|it| it["what"].as_str());
        let is_shown = |what: &str| {
            let mut words = ["broke the protocol"].iter().chain(self.breach);
            words.all(|words| what.contains(words))
        };
        assert_eq!(what.filter(|it| is_shown(it)).count(), 1, "{}: {found}", self.cheat);
    }

    /// Checks the findings of the honest transcripts alone.
    fn check_verdict(&self, home: &Home) {
        let cheat = self.cheat;
        let (code, found) = home.verify(&self.honest());
        assert_eq!(code, Some(i32::from(!self.weights.is_empty())), "{cheat}: {found}");
        for finding in findings(&found) {
            let who = finding["who"].as_array().unwrap();
            let is_cheater = |it: &Value| self.cheaters.iter().any(|cheater| it == cheater);
            // If only the two of them know, an honest member is named beside the cheater.
            let is_fair = match finding["weight"].as_str().unwrap() {
                "either" => who.iter().any(is_cheater),
                "open" => who.is_empty(),
                _ => !who.is_empty() && who.iter().all(is_cheater),
            };
            assert!(is_fair, "{cheat}: {found}");
        }
        let weights: Vec<_> = findings(&found).filter_map(|it| it["weight"].as_str()).collect();
        let is_found = weights.iter().any(|it| self.weights.contains(it));
        assert_eq!(is_found, !self.weights.is_empty(), "{cheat}: {found}");
        let is_proven = weights.contains(&"proven");
        assert!(!is_proven || self.weights.contains(&"proven"), "{cheat}: {found}");
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

/// All types run at once, because two of them have to wait for silence.
#[test]
fn each_cheating_program_has_its_expected_outcome() {
    let program = program();
    std::thread::scope(|scope| {
        for cheat in &TYPES {
            scope.spawn(|| cheat.check(&program));
        }
    });
}
