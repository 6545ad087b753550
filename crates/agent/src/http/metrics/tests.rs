//! The tests parse the text that the exporter writes, label by label.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use hustings_protocol::{Duration, Instant, MemberId};

use super::text;
use crate::AgentStatus;
use crate::counters::Counters;
use crate::group::{
    GroupStatus, Health, HealthState, Level, Measured, PartialViewStatus, TenureStatus, VoterStatus,
};
use crate::leadership::{Leadership, Mode, Peer};

/// An unusual name. This release does not allow it, but other processes may send any name.
const ODD: &str = "a \"b\" \\ {c=\"d\"} 1\n<e> é";

const NOW: Instant = Instant(100_000_000_000);

/// Samples: name and labels, with the value.
type Samples = BTreeMap<(String, Vec<(String, String)>), String>;

fn status(groups: Vec<GroupStatus>) -> AgentStatus {
    AgentStatus {
        member: ODD.to_owned(),
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 7400)),
        version: "1.2.3".to_owned(),
        now: NOW,
        groups,
    }
}

/// A member that knows nothing yet.
fn newcomer(group: &str, mode: Mode) -> GroupStatus {
    GroupStatus {
        health: Health::default(),
        leadership: Leadership::unknown(group, ODD, mode, NOW),
        tenure: None,
        protocol: "suppress".to_owned(),
        reach: "multicast".to_owned(),
        peers: Vec::new(),
        join: Vec::new(),
        k: None,
        measured: None,
        partial_view: None,
        council: None,
        aside: None,
        vacant_since: None,
        other_key_at: None,
        duplicate_name: None,
        counters: Counters::default(),
    }
}

/// A leader that some of its voters answer.
fn leader(group: &str, answers: [bool; 5]) -> GroupStatus {
    let mut status = newcomer(group, Mode::Fenced);
    let name = ODD.to_owned();
    status.leadership.leads = true;
    status.leadership.changes = 4;
    status.leadership.leader = Some(Peer { name: name.clone(), id: MemberId(1), address: None });
    let voter = |answers: bool| VoterStatus {
        name: "voter".to_owned(),
        heard: None,
        answers: Some(answers),
    };
    status.tenure = Some(TenureStatus {
        authority: "quorum of 5".to_owned(),
        ttl: Some(Duration::from_secs(2)),
        holder: Some(name),
        fence: Some(u64::MAX),
        remaining: Some(Duration::from_millis(1500)),
        voters: answers.into_iter().map(voter).collect(),
        asking: false,
        reachable: None,
        shut_out: None,
        refusals: Vec::new(),
        disputed: None,
    });
    status
}

/// Parses the text. Panics if it is not in the format.
fn read(text: &str) -> Samples {
    let body = text.strip_suffix("# EOF\n").expect("ends with its mark");
    let mut samples = Samples::new();
    let mut types = BTreeSet::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let [what, family, rest] = comment.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            match what {
                "HELP" => assert!(rest.ends_with('.'), "{line}"),
                "TYPE" => assert!(types.insert((family, rest)), "twice: {line}"),
                "UNIT" => assert!(family.ends_with(rest), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').expect("all have labels");
        let family = match name.strip_suffix("_total") {
            Some(counter) => (counter, "counter"),
            None => name.strip_suffix("_info").map_or((name, "gauge"), |info| (info, "info")),
        };
        assert!(types.contains(&family), "{family:?} has a type");
        let (labels, value) = labels(rest);
        let is_new = samples.insert((name.to_owned(), labels), value).is_none();
        assert!(is_new, "twice: {line}");
    }
    samples
}

/// Parses labels, and returns them with the rest of the line.
fn labels(mut rest: &str) -> (Vec<(String, String)>, String) {
    let mut labels = Vec::new();
    loop {
        let (key, value) = rest.split_once("=\"").expect("a label has a value");
        let mut unescaped = String::new();
        let mut letters = value.char_indices();
        let end = loop {
            match letters.next().expect("a value ends") {
                (at, '"') => break at + 1,
                (_, '\\') => match letters.next().expect("something is escaped").1 {
                    'n' => unescaped.push('\n'),
                    letter => unescaped.push(letter),
                },
                (_, letter) => unescaped.push(letter),
            }
        };
        labels.push((key.to_owned(), unescaped));
        match value[end..].strip_prefix(',') {
            Some(more) => rest = more,
            None => {
                let value = value[end..].strip_prefix("} ").expect("labels end");
                return (labels, value.to_owned());
            }
        }
    }
}

#[track_caller]
fn check(samples: &Samples, name: &str, labels: &[(&str, &str)], value: Option<&str>) {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let labels: Vec<_> = labels.iter().map(owned).collect();
    let sample = (format!("hustings_{name}"), labels);
    let found = samples.get(&sample).map(String::as_str);
    assert_eq!(found, value, "{sample:?} of {samples:#?}");
}

#[test]
fn holder_shows_its_tenure_and_unusual_names_are_escaped() {
    let answers = [true, true, false, false, false];
    let samples = read(&text(status(vec![leader(ODD, answers)])).unwrap());
    let group = ("group", ODD);
    for (name, value) in [
        ("fenced", "1"),
        ("leads", "1"),
        ("leader_changes_total", "4"),
        ("fence", "18446744073709551615"),
        ("tenure_remaining_seconds", "1.5"),
        ("voters", "5"),
        ("voters_heard", "2"),
    ] {
        check(&samples, name, &[group], Some(value));
    }
    check(&samples, "leader_info", &[group, ("leader", ODD)], Some("1"));
    check(&samples, "holder_info", &[group, ("holder", ODD)], Some("1"));
    let agent = [("member", ODD), ("version", "1.2.3")];
    check(&samples, "agent_info", &agent, Some("1"));
    for store in ["store_reachable", "store_shuts_out"] {
        check(&samples, store, &[group], None);
    }
}

#[test]
fn unknown_values_have_no_sample() {
    let mut stored = newcomer("stored", Mode::Fenced);
    stored.tenure = Some(TenureStatus {
        authority: "etcd".to_owned(),
        ttl: Some(Duration::from_secs(2)),
        holder: None,
        fence: None,
        remaining: None,
        voters: Vec::new(),
        asking: false,
        reachable: Some(false),
        shut_out: Some(true),
        refusals: Vec::new(),
        disputed: None,
    });
    let advisory = newcomer("advisory", Mode::Advisory);
    let samples = read(&text(status(vec![stored, advisory])).unwrap());
    for (name, stored, advisory) in [
        ("fenced", Some("1"), Some("0")),
        ("leads", Some("0"), Some("0")),
        ("fence", None, None),
        ("tenure_remaining_seconds", None, None),
        ("voters", None, None),
        ("voters_heard", None, None),
        ("store_reachable", Some("0"), None),
        ("store_shuts_out", Some("1"), None),
    ] {
        check(&samples, name, &[("group", "stored")], stored);
        check(&samples, name, &[("group", "advisory")], advisory);
    }
    let infos = samples.keys().filter(|(name, _)| name.ends_with("_info"));
    assert_eq!(infos.count(), 1, "the agent's own: {samples:#?}");
}

#[test]
fn health_is_shown_as_the_status_has_it() {
    let mut cut_off = newcomer("web", Mode::Advisory);
    cut_off.health =
        Health { state: HealthState::CutOff, level: Level::Bad, summary: "not shown".to_owned() };
    let mut council = newcomer("fleet", Mode::Advisory);
    council.health.state = HealthState::NoElection;
    council.health.level = Level::Good;
    let samples = read(&text(status(vec![cut_off, council])).unwrap());
    for (state, web, fleet) in
        [("cut-off", "1", "0"), ("no-election", "0", "1"), ("leading", "0", "0")]
    {
        let labels = |group| [("group", group), ("state", state)];
        check(&samples, "health", &labels("web"), Some(web));
        check(&samples, "health", &labels("fleet"), Some(fleet));
    }
    check(&samples, "health_level", &[("group", "web")], Some("2"));
    check(&samples, "health_level", &[("group", "fleet")], Some("0"));
    check(&samples, "leads", &[("group", "web")], Some("0"));
    check(&samples, "leads", &[("group", "fleet")], None);
}

#[test]
fn partial_view_metrics_are_shown() {
    let mut many = newcomer("many", Mode::Advisory);
    many.k = Some(12);
    many.partial_view = Some(PartialViewStatus { view: 30, known: 29, size: Some(300) });
    many.measured = Some(Measured { loss: Some(0.125), crash: Some(0.25), view: Some(0.875) });
    let samples = read(&text(status(vec![many, newcomer("few", Mode::Advisory)])).unwrap());
    for (name, value) in [
        ("relaying", "12"),
        ("known_members", "29"),
        ("group_size", "300"),
        ("message_loss_ratios", "0.125"),
        ("crashes_in_a_round_ratios", "0.25"),
        ("view_ratios", "0.875"),
    ] {
        check(&samples, name, &[("group", "many")], Some(value));
        check(&samples, name, &[("group", "few")], None);
    }
}

#[test]
fn every_counter_has_a_metric() {
    // The names come from the struct's fields, so that no counter can be forgotten.
    let fields = serde_json::to_value(Counters::default()).unwrap();
    let names: Vec<String> = fields.as_object().unwrap().keys().cloned().collect();
    let counts = names.iter().zip(1..).map(|(name, count)| (name.clone(), count));
    let counts: BTreeMap<String, u64> = counts.collect();
    let mut counted = newcomer("g", Mode::Advisory);
    counted.counters = serde_json::from_value(serde_json::to_value(&counts).unwrap()).unwrap();
    let samples = read(&text(status(vec![counted])).unwrap());

    let own = [
        ("challenges_sent", "challenge_frames_sent"),
        ("copies", "frames_copied"),
        ("council_sent", "council_frames_sent"),
        ("election_sent", "election_frames_sent"),
        ("heard", "frames_heard"),
        ("namesakes", "namesakes"),
        ("pauses", "pauses"),
        ("sent", "frames_sent"),
        ("tenure_refusals", "tenure_refusals"),
        ("tenure_sent", "tenure_frames_sent"),
        ("unsent", "frames_unsent"),
    ];
    for (field, count) in &counts {
        let (group, count) = (("group", "g"), count.to_string());
        match own.iter().find(|(own, _)| own == field) {
            Some((_, name)) => check(&samples, &format!("{name}_total"), &[group], Some(&count)),
            None => {
                let labels = [group, ("reason", field.as_str())];
                check(&samples, "frames_refused_total", &labels, Some(&count));
            }
        }
    }
}
