//! Three real voters: a leader has a fence, and a voter that has lost its disk does not vote until
//! a user initialises it.

use std::fs;
use std::path::PathBuf;

use hustings_agent::clock;
use hustings_protocol::Duration;

use crate::process::{self, Outcome, Program, hustings};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A group of three voters, each with its own directory.
pub(crate) struct Scene {
    pub(crate) group: String,
    pub(crate) home: PathBuf,
    ttl: &'static str,
}

impl Scene {
    pub(crate) fn new(name: &str) -> Self {
        let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // The directory may remain from an earlier run.
        let _ = fs::remove_dir_all(&home);
        let group = process::group(name);
        let ttl = "600ms";
        Self { group, home, ttl }
    }

    /// A group in which no voter has voted yet.
    pub(crate) fn founded(name: &str) -> Self {
        Self::new(name).found()
    }

    /// A group with a ttl that is long enough for a busy machine.
    fn patient(name: &str) -> Self {
        let ttl = "6s";
        let scene = Self::new(name);
        Self { ttl, ..scene }.found()
    }

    fn found(self) -> Self {
        let scene = self;
        for name in NAMES {
            let said = scene.init(name, "--new --within 1s").text();
            assert!(said.ends_with(" begins at counter 0\n"), "{said}");
        }
        scene
    }

    pub(crate) fn options(&self, name: &str) -> String {
        let (group, home, ttl) = (&self.group, self.home.display(), self.ttl);
        format!(
            "--group {group} --name {name} --bind 127.0.0.1:0 --voters a,b,c --ttl {ttl} --state {home}/{name}"
        )
    }

    pub(crate) fn init(&self, name: &str, more: &str) -> Outcome {
        hustings(&format!("voter init {} {more}", self.options(name)))
    }

    pub(crate) fn agent(&self, name: &str) -> Program {
        let options = self.options(name);
        process::member(&format!("--http 127.0.0.1:0 {options}"))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.join(name).join(format!("{}.voter", self.group))
    }
}

/// Asserts a refusal with exit code 1 and these words.
pub(crate) fn assert_refused(outcome: &Outcome, words: &str) {
    assert_eq!(outcome.code, Some(1), "{}", outcome.said);
    assert!(outcome.said.contains(words), "{}", outcome.said);
}

#[test]
fn voter_with_a_lost_disk_does_not_vote_until_initialised() {
    let scene = Scene::founded("lost-disk");
    let mut agents: Vec<Program> = NAMES.map(|name| scene.agent(name)).into();
    let fence = agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
    assert_refused(&scene.init("b", ""), "is locked: the agent of `b` runs");

    assert_eq!(agents[2].stop(), Some(0));
    fs::remove_file(scene.file("c")).expect("it is there");
    assert_refused(&scene.init("c", "--new"), "is not new");
    let mut forgetful = scene.agent("c");
    forgetful.until_said_containing("this voter does not vote");
    assert_eq!(forgetful.stop(), Some(0));

    assert_refused(&scene.init("c", "--era 1"), "stop every member");
    // With a shorter ttl than it may have granted before: the other voters know the longer one.
    let shorter = scene.options("c").replace("600ms", "200ms");
    let said = hustings(&format!("voter init {shorter}")).text();
    let shown = hustings(&format!("voter show {shorter}")).text();
    assert!(shown.ends_with("granted 600ms at most\n"), "{shown}");
    let (_, counter) = said.trim().rsplit_once(' ').expect("words");
    let counter: u64 = counter.parse().expect("a number");
    assert!(counter >= 1 << 32, "far above what others promised: {said}");
    assert_refused(&scene.init("c", ""), "there is nothing to do");
    agents[2] = scene.agent("c");

    // Its vote counts again: without it only one voter is left, which is too few.
    agents[1].kill();
    let until = |it: &serde_json::Value| it["fence"].as_u64() > fence["fence"].as_u64();
    agents[0].reaches("a tenure with the vote of the mended one", until);
}

/// This is the default. Each of three hosts is tried, then again after ten seconds: then the
/// command works.
#[test]
fn voter_goes_on_voting_when_its_command_crashes() {
    const CRASHES: usize = 5;
    let scene = Scene::patient("crashes");
    let runs = scene.home.join("runs");
    let script = format!(
        "echo x >> $RUNS; test $(wc -l < $RUNS) -gt {CRASHES} || exit 1; echo works; exec sleep 1000"
    );
    let mut programs: Vec<(Program, String)> = Vec::new();
    for name in NAMES {
        let options = scene.options(name);
        let run = format!("run --http 127.0.0.1:0 {options} -- sh -c");
        let mut command = process::command(&run);
        let mut program = Program::start(command.arg(&script).env("RUNS", &runs));
        let up = program.until_said_containing(", HTTP at ");
        let (_, http) = up.split_once(", HTTP at ").expect("it contains it");
        programs.push((program, http.to_owned()));
    }
    let count = || fs::read_to_string(&runs).map_or(0, |text| text.lines().count());
    let status = |(_, http): &(Program, String)| {
        let status = hustings(&format!("status --http {http} --format json")).json();
        status["groups"][0].clone()
    };
    // All three run and name one leader, which hears all voters.
    let is_whole = |all: &[serde_json::Value]| {
        let leader = all.iter().find(|it| it["leadership"]["leads"] == true)?;
        let name = &leader["leadership"]["member"];
        let is_named = |it: &serde_json::Value| it["leadership"]["leader"]["name"] == *name;
        let voters = leader["tenure"]["voters"].as_array()?;
        let heard = voters.iter().filter(|it| !it["heard"].is_null()).count();
        (all.iter().all(is_named) && heard == NAMES.len()).then_some(())
    };
    let began = clock::now();
    loop {
        let has_run = count() > CRASHES;
        let all: Vec<serde_json::Value> = programs.iter().map(status).collect();
        if has_run && is_whole(&all).is_some() {
            break;
        }
        let waited = clock::now() - began;
        assert!(waited < Duration::from_secs(60), "{} runs: {all:#?}", count());
    }
}

#[test]
fn foreign_and_damaged_voter_files_are_refused_with_the_reason() {
    let scene = Scene::founded("own-file");
    let show = |name| hustings(&format!("voter show {}", scene.options(name)));
    assert!(show("a").text().contains("promised counter 0"));
    fs::copy(scene.file("b"), scene.file("a")).expect("files can be copied");
    assert_refused(&show("a"), "this file has the promises of `b`, not of `a`");

    let mut bytes = fs::read(scene.file("b")).expect("it is there");
    bytes[40] ^= 1;
    fs::write(scene.file("b"), &bytes).expect("files can be written");
    assert_refused(&show("b"), "is damaged");
    assert_refused(&scene.init("b", "--new"), "is not new");
    fs::write(scene.file("b"), &bytes[..100]).expect("files can be written");
    assert_refused(&show("b"), "has 100 bytes instead of");

    let other = scene.options("c").replace("a,b,c", "a,c,d");
    let other = hustings(&format!("voter show {other}"));
    assert_refused(&other, "another list of voters");
    // A new era is begun on purpose: its fences are above all earlier ones.
    let said = scene.init("b", "--era 1").text();
    let begins = format!("begins at counter {}\n", 1_u64 << 48);
    assert!(said.ends_with(&begins), "{said}");
}

#[test]
fn invalid_voter_options_are_refused_with_the_reason() {
    let scene = Scene::new("cannot");
    let wrong = |option: &str, other: &str| {
        let options = scene.options("a").replace(option, other);
        let outcome = hustings(&format!("voter init {options}"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.said);
        outcome.said
    };
    assert!(wrong("--name a", "--name z").contains("is not a voter of group"));
    let even = wrong("a,b,c", "a,b,c,d");
    let said =
        "4 voters (a, b, c, d): name an odd number of them, 1 to 63 (--voters, or voters = [..])";
    assert!(even.contains(said), "{even}");
    let twice = wrong("a,b,c", "a,b,a");
    assert!(twice.contains("voter `a` is named twice: name each once (--voters"), "{twice}");
    let strange = wrong("a,b,c", "a,b,c/d");
    assert!(strange.contains("voter `c/d`: 1 to 64 letters") && strange.contains("(--voters"));
    assert!(wrong("600ms", "1ms").contains("100ms to 1h"));
    assert!(wrong("--ttl 600ms", "--era 40000").contains("--era"));
    // No voter can have answered by then.
    for options in ["--within 0s", "--new --within 999ms", "--era 1 --within 0s"] {
        let said = wrong("--ttl 600ms", options);
        assert!(said.contains("choose 1s or more"), "{said}");
    }
    assert!(!scene.file("a").exists());
    let outcome = scene.init("a", "--within 1s");
    assert_refused(&outcome, "0 of the 2 voters that are needed answered");
    let without = "agent --group g --name a --bind 127.0.0.1:0 --voters a,b,c";
    let outcome = hustings(without);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.said.contains("--state"), "{}", outcome.said);
}

#[test]
fn unwritable_state_directory_is_reported_with_the_remedy() {
    let scene = Scene::founded("no-place");
    let file = scene.file("a");
    let show = |state: &str| {
        let own = format!("--state {}/a", scene.home.display());
        let options = scene.options("a").replace(&own, &format!("--state {state}"));
        (
            hustings(&format!("voter show {options}")),
            hustings(&format!("voter init --new --within 1s {options}")),
        )
    };
    let absent = scene.home.join("absent").display().to_string();
    let (shown, made) = show(&absent);
    assert_refused(&shown, "`hustings voter init --help`");
    assert!(made.text().contains("begins at counter 0"));
    // No user, not even root, can create files in /sys.
    for (state, words) in [
        (file.display().to_string(), "a part of that path is a file: give a directory (--state"),
        (
            format!("{}/below", file.display()),
            "a part of that path is a file: give a directory (--state",
        ),
        ("/sys/hustings".to_owned(), "(--state, or state = \"..\")"),
        ("/sys".to_owned(), "(--state, or state = \"..\")"),
    ] {
        assert_refused(&show(&state).1, words);
    }
    fs::copy(scene.file("b"), scene.file("a")).expect("files can be copied");
    assert_refused(&scene.init("a", ""), "this file has the promises of `b`, not of `a`");
    fs::write(scene.file("a"), "something else").expect("files can be written");
    assert_refused(&scene.init("a", "--new"), "is not a file of Hustings");
    fs::remove_file(scene.file("a")).expect("it is there");
    fs::create_dir(scene.file("a")).expect("directories can be made");
    assert_refused(
        &scene.init("a", "--new"),
        "a directory is where the voter's file belongs: move the directory away",
    );
}

/// A voter that queries the others before it begins anew does not vote, and leaves its file alone.
#[test]
fn era_can_begin_on_a_voter_that_still_has_its_file() {
    let scene = Scene::founded("next-era");
    for era in 1..=4_u64 {
        let said = scene.init("a", &format!("--era {era}")).text();
        let begins = format!("begins at counter {}\n", era << 48);
        assert!(said.ends_with(&begins), "{said}");
    }
    // Again, and with other voters: nothing is promised in this era yet.
    for voters in ["a,b,c", "a,b,d"] {
        let options = scene.options("a").replace("a,b,c", voters);
        let said = hustings(&format!("voter init {options} --era 4")).text();
        assert!(said.ends_with(" begins at counter 1125899906842624\n"), "{said}");
    }
    assert_refused(&scene.init("a", "--era 3"), "of era 4: choose 5 for all");
}

/// Otherwise the voter would grant the fences of that era a second time.
#[test]
fn era_in_which_a_member_has_led_cannot_begin_again() {
    let scene = Scene::founded("same-era");
    for name in NAMES {
        scene.init(name, "--era 1").text();
    }
    let mut agents: Vec<Program> = NAMES.map(|name| scene.agent(name)).into();
    agents[2].until("somebody leads with a fence", |it| it["fence"].is_u64());
    for agent in &mut agents {
        assert_eq!(agent.stop(), Some(0));
    }
    let refused = NAMES.map(|name| scene.init(name, "--era 1"));
    // Two of three have promised it.
    let knows = |it: &&Outcome| it.said.contains("of era 1: choose 2 for all");
    assert!(refused.iter().filter(knows).count() >= 2);
}

/// A holder that was only paused may return before its tenure is over.
#[test]
fn grants_of_a_voter_are_remembered_in_a_new_era() {
    let scene = Scene::new("long-grant");
    let alone = scene.options("a").replace("a,b,c", "a");
    hustings(&format!("voter init {alone} --new --within 1s")).text();
    let long = alone.replace("600ms", "1h");
    let mut agent = process::member(&format!("--http off {long}"));
    // A grant is on the voter's disk before it takes effect.
    agent.until("it grants itself tenure", |it| it["fence"].is_u64());
    assert_eq!(agent.stop(), Some(0));
    let show = || hustings(&format!("voter show {alone}")).text();
    assert!(show().ends_with("granted 3600s at most\n"), "{}", show());
    hustings(&format!("voter init {alone} --era 1")).text();
    assert!(show().ends_with("granted 3600s at most\n"), "{}", show());
    // The grant is also remembered with other voters.
    let others = scene.options("a").replace("a,b,c", "a,b,d");
    hustings(&format!("voter init {others} --era 2")).text();
    let shown = hustings(&format!("voter show {others}")).text();
    assert!(shown.ends_with("granted 3600s at most\n"), "{shown}");
}

/// The voter does not vote with it either.
#[test]
fn promise_of_another_voter_is_refused() {
    let scene = Scene::founded("borrowed");
    fs::copy(scene.file("b"), scene.file("a")).expect("it is there");
    let words = "this file has the promises of `b`, not of `a`";
    let show = hustings(&format!("voter show {}", scene.options("a")));
    assert_refused(&show, words);
    for options in ["", "--new", "--era 1"] {
        assert_refused(&scene.init("a", options), words);
    }
    let mut agent = scene.agent("a");
    agent.until_said_containing(words);
}

/// The voters and their disks are gone; the only member that knows of the tenure is not a voter.
#[test]
fn new_group_and_new_era_are_refused_while_a_member_holds_tenure() {
    for voters in [&["a"][..], &NAMES] {
        let scene = Scene::new(&format!("still-held-by-{}", voters.len()));
        let list = voters.join(",");
        let options = |name: &str| {
            let options = scene.options(name).replace("600ms", "20s");
            options.replace("a,b,c", &list)
        };
        for name in voters {
            hustings(&format!("voter init {} --new --within 1s", options(name))).text();
        }
        let member =
            |name: &&str| process::member(&format!("--http 127.0.0.1:0 {}", options(name)));
        let mut agents: Vec<Program> = voters.iter().map(member).collect();
        let first = agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
        let mut holder = member(&"z");
        holder.until("it knows of it", |it| it["fence"] == first["fence"]);
        let place = voters.iter().position(|it| first["leader"] == **it);
        let http = agents[place.expect("one of them")].http();
        let group = &scene.group;
        hustings(&format!("step-down --http {http} --group {group} --to z")).text();
        holder.until("it holds", |it| it["leads"] == true);
        for agent in &mut agents {
            agent.kill();
        }
        for name in voters {
            fs::remove_file(scene.file(name)).expect("it is there");
            for how in ["--new", "--era 1"] {
                let init = hustings(&format!("voter init {} {how} --within 1s", options(name)));
                assert_refused(&init, "`z` of group");
            }
        }
    }
}

/// The command cannot know whether the frames are of its group. Following its advice does no harm.
#[test]
fn init_beside_other_keys_warns_and_can_be_repeated_with_the_right_key() {
    let scene = Scene::founded("another-key");
    let mut agents = ["b", "c"].map(|name| scene.agent(name));
    agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
    let key = scene.home.join("another.key");
    let made = hustings(&format!("keys generate --out {}", key.display()));
    assert_eq!(made.text(), "");
    let another = format!("--key-file {} --within 1s", key.display());
    fs::remove_file(scene.file("a")).expect("it is there");
    let warning = "frames arrived under keys that are not this group's";
    assert_refused(&scene.init("a", &another), warning);
    let begun = scene.init("a", &format!("--new {another}"));
    assert!(begun.said.contains(warning), "{}", begun.said);
    assert!(begun.text().ends_with("begins at counter 0\n"));

    // With the right key it hears the other voters.
    assert_refused(&scene.init("a", "--new --within 1s"), "the group is not new");
    assert!(!scene.file("a").exists(), "it must not vote with that");
    scene.init("a", &format!("--new {another}")).text();
    let begun = scene.init("a", "").text();
    assert!(!begun.ends_with("begins at counter 0\n"), "{begun}");
    assert_refused(&scene.init("a", ""), "there is nothing to do");
}

/// Two lists have two majorities, and neither knows the grants of the other.
#[test]
fn init_with_another_voter_list_is_refused_while_the_old_one_runs() {
    for (list, holds) in [("a", true), ("a,b,c", false)] {
        let scene = Scene::new(&format!("two-lists-{holds}"));
        let by = |name: &str, list: &str| scene.options(name).replace("a,b,c", list);
        let options = by("a", list);
        hustings(&format!("voter init {options} --new --within 1s")).text();
        let mut before = process::member(&format!("--http off {options}"));
        if holds {
            before.until("it holds", |it| it["leads"] == true);
        }
        for (other, how) in
            [("e,f,h", "--new"), ("e,f,h", "--era 1"), ("a,b,e", "--era 1"), ("e", "--new")]
        {
            let init = hustings(&format!("voter init {} {how}", by("e", other)));
            let says = match holds {
                true => "`a` runs with another list of voters and holds tenure with fence 1",
                false => "`a` runs with another list of voters:",
            };
            assert_refused(&init, says);
            assert!(!scene.file("e").exists(), "{other} {how}");
        }
    }
}

/// No answer is expected, but a user who sets a longer time has a reason.
#[test]
fn init_waits_for_the_whole_given_time() {
    let scene = Scene::new("given-time");
    let began = clock::now();
    scene.init("a", "--new --within 2s").text();
    assert!(clock::now() - began >= Duration::from_secs(2));
}

/// As with a tool that reaches all hosts together.
#[test]
fn era_can_begin_on_all_voters_at_once() {
    let scene = Scene::founded("at-once");
    let init = |name| process::start(&format!("voter init {} --era 1", scene.options(name)));
    let mut all: Vec<Program> = NAMES.map(init).into();
    for program in &mut all {
        let said = program.next_line("it begins");
        assert!(said.ends_with(" begins at counter 281474976710656"), "{said}");
    }
}

/// Its promise exists only in the agent's memory, so nothing may begin beside it.
#[test]
fn voter_is_not_initialised_while_its_agent_runs_without_its_file() {
    let scene = Scene::founded("agent-runs");
    let mut agents: Vec<Program> = NAMES.map(|name| scene.agent(name)).into();
    agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
    fs::remove_file(scene.file("c")).expect("it is there");
    for more in ["", "--new", "--era 1"] {
        // The refusal does not depend on hearing the agent.
        assert_refused(&scene.init("c", more), "is locked: the agent of `c` runs");
        assert!(!scene.file("c").exists());
        // As on another host.
        let options = scene.options("c").replace("/c", "/elsewhere");
        let init = hustings(&format!("voter init {options} {more}"));
        assert_refused(&init, "the agent of `c` runs at 127.0.0.1:");
    }
    agents[2].pause();
    assert_refused(&scene.init("c", ""), "is locked: the agent of `c` runs");
    // An agent that found no file also holds the lock.
    agents[2].kill();
    let agent = scene.agent("c");
    agent.pause();
    assert_refused(&scene.init("c", ""), "is locked: the agent of `c` runs");
}

/// The others may have promised more to each other than the answering voter knows.
#[test]
fn lost_disk_needs_answers_from_a_majority() {
    let scene = Scene::founded("one-of-two");
    let _agent = scene.agent("a");
    fs::remove_file(scene.file("c")).expect("it is there");
    let init = scene.init("c", "--within 1s");
    assert_refused(&init, "1 of the 2 voters that are needed answered");
    assert!(!scene.file("c").exists());
}

/// No voter queries it and it queries none. It is not a voter and follows the member that the
/// election names. That may differ from the holder, whose frames it does not accept.
#[test]
fn member_with_another_list_of_voters_reports_it() {
    let scene = Scene::founded("another-list");
    let mut agents: Vec<Program> = NAMES.map(|name| scene.agent(name)).into();
    agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
    let options = scene.options("z").replace("a,b,c", "a,b,d");
    let mut stray = process::member(&format!("--http off {options}"));
    let followed = stray.until("it follows", |it| it["leader"].is_string());
    assert!(followed["fence"].is_null(), "{followed}");
    let said = stray.until_said_containing("has another list of voters than this member");
    let is_named = |name: &&str| said.contains(&format!("`{name}`"));
    assert!(NAMES.iter().any(is_named), "{said}");
}

#[test]
fn tenure_is_transferred_to_the_named_member() {
    let scene = Scene::patient("heir");
    let mut agents: Vec<Program> = NAMES.map(|name| scene.agent(name)).into();
    let first = agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
    for agent in &mut agents {
        agent.reaches("it knows of it", |it| it["fence"] == first["fence"]);
    }
    let leader = first["leader"].as_str().expect("a name").to_owned();
    let place = NAMES.iter().position(|it| *it == leader).expect("one of them");
    let transferee = NAMES[(place + 1) % 3];
    let (http, group) = (agents[place].http(), &scene.group);
    let step_down = |http: &str, to: &str| {
        hustings(&format!("step-down --http {http} --group {group} --for 1h --to {to}"))
    };
    let others = NAMES.map(str::to_owned).into_iter();
    let others: Vec<String> = others.filter(|it| *it != leader).collect();
    let others = others.join(", ");
    // An unknown name is refused, and tenure stays.
    let said = format!("no process answers to that name: choose a known member: {others}");
    assert_refused(&step_down(&http, "nobody"), &said);
    let said = format!("itself: name another member: {others}");
    assert_refused(&step_down(&http, &leader), &said);
    let follower = agents[(place + 1) % 3].http();
    let said = format!("`{leader}` holds it, ask the agent there");
    assert_refused(&step_down(&follower, NAMES[(place + 2) % 3]), &said);
    let status = hustings(&format!("status --http {http} --format json")).json();
    assert_eq!(status["groups"][0]["leadership"]["fence"], first["fence"]);

    let said = step_down(&http, transferee).text();
    assert!(said.ends_with(&format!("; `{transferee}` has tenure\n")), "{said}");
    for agent in &mut agents {
        agent.reaches("the heir leads, with a higher fence", |it| {
            it["leader"] == transferee && it["fence"].as_u64() > first["fence"].as_u64()
        });
    }

    // The third member is known, and dead.
    let (http, dead) = (agents[(place + 1) % 3].http(), (place + 2) % 3);
    agents[dead].kill();
    let said = format!("but `{}` did not confirm within 3s that it has tenure", NAMES[dead]);
    assert_refused(&step_down(&http, NAMES[dead]), &said);
}
