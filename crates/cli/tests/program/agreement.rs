//! Simulation and closed forms agree on every value that both have.

use serde_json::Value;

use crate::run::object;

const RUNS: u32 = 2000;
/// The number of standard errors that a mean may be off. By chance, one in 150,000 exceeds it.
const STANDARD_ERRORS: f64 = 4.5;

/// Parts of the names of values that no run of an election can have.
const ON_PAPER_ONLY: [&str; 10] = [
    "_printed",
    "_pseudocode",
    "join_",
    "_without_delay",
    "probability_elected",
    "false_alarm",
    "stages_",
    "segment_largest",
    "adjacent_pair",
    "informal_best_cheater",
];

#[track_caller]
fn assert_agreement(protocol: &str, options: &str) {
    let simulate = format!("sim {protocol} {options} --runs {RUNS} --seed 1");
    let measured = object(&simulate);
    let computed = object(&format!("theory {protocol} {options}"));
    let values = computed["values"].as_object().expect("values by name");
    // Council elections are counted in rounds.
    let time = if values.contains_key("success_first_round") { "rounds" } else { "delay" };
    assert!(values.contains_key(time), "{computed}");
    // With uncorrelated loss, not even the number of messages has a closed form.
    let may_lack_messages = options.contains("--loss");
    assert!(values.contains_key("messages") || may_lack_messages, "{computed}");
    for (name, value) in values {
        // Printed formulas, and values of a single departure or join, exist on paper only.
        let Some(metric) = measured["metrics"].get(name) else {
            let is_on_paper_only = ON_PAPER_ONLY.iter().any(|it| name.contains(it));
            assert!(is_on_paper_only || name == "c", "{name}");
            continue;
        };
        let mean = number(&metric["mean"]);
        let reach = number(&metric["ci95"][1]) - mean;
        let value = number(value);
        // Student's quantile for 2000 runs is 1.961; a proportion's interval is never empty.
        let allowed = STANDARD_ERRORS * reach / 1.961 + 1e-9 * value.abs();
        let is_certain = metric["min"] == metric["max"];
        let allowed = if is_certain { 1e-9 * value.abs() } else { allowed };
        assert!(
            (mean - value).abs() <= allowed,
            "{name}: {mean} measured, {value} computed, {allowed} allowed\nhustings {simulate}"
        );
    }
}

fn number(json: &Value) -> f64 {
    json.as_f64().expect("a number")
}

fn assert_rings_agree(protocol: &str) {
    for members in [2, 3, 5, 12, 40] {
        for order in ["random", "best", "worst"] {
            for initiators in ["1", "2", "all"] {
                let options =
                    format!("--members {members} --order {order} --initiators {initiators}");
                assert_agreement(protocol, &options);
            }
        }
    }
}

#[test]
fn chang_roberts_costs_what_theory_says() {
    assert_rings_agree("chang-roberts");
}

#[test]
fn modified_ring_costs_what_theory_says() {
    assert_rings_agree("modified-ring");
}

#[test]
fn bully_costs_what_theory_says() {
    for members in [2, 3, 5, 12, 40] {
        for initiator in ["lowest", "second-highest", "random", "all"] {
            for leader in ["", "--crashed-leader"] {
                let options = format!("--members {members} --initiator {initiator} {leader}");
                assert_agreement("bully", &options);
            }
        }
    }
}

#[test]
fn wagners_ring_costs_what_theory_says() {
    for compare in ["strict", "nonstrict"] {
        for ring in ["both-ways", "clockwise"] {
            let options = format!("--members 9 --compare {compare} --ring {ring}");
            assert_agreement("wagner", &options);
        }
    }
    assert_agreement("wagner", "--members 4 --stall-limit 3");
}

#[test]
fn other_options_of_the_closed_forms_agree_too() {
    for (protocol, options) in [
        ("chang-roberts", "--members 10 --hearsay checked"),
        ("chang-roberts", "--members 10 --initiators all --literal"),
        ("chang-roberts", "--members 10 --delay exponential:30ms"),
        ("modified-ring", "--members 10 --hearsay checked --initiators all"),
        ("modified-ring", "--members 10 --delay uniform:0s..1s"),
        ("bully", "--members 10 --hearsay checked --crashed-leader"),
        ("bully", "--members 10 --crashed-leader --answer-within 1s"),
        ("bully", "--members 10 --crashed-leader --detect oracle --initiator second-highest"),
    ] {
        assert_agreement(protocol, options);
    }
}

#[test]
fn announce_family_costs_what_theory_says() {
    for members in [2, 5, 30] {
        for loss in ["", "--loss 0.4 --loss-model correlated", "--loss 0.2"] {
            for protocol in ["announce", "suppress", "earliest", "announce-listen"] {
                assert_agreement(protocol, &format!("--members {members} {loss}"));
            }
        }
    }
    for (protocol, options) in [
        ("suppression", "--members 30"),
        ("suppression", "--members 30 --loss 0.4 --loss-model correlated"),
        ("suppression", "--members 30 --wake exponential:10"),
        ("suppress", "--members 30 --merit priority --wake exponential:5"),
        ("suppress", "--members 30 --suppress-interval 3s --delay 50ms"),
        ("suppress", "--members 30 --merit wake"),
        ("announce", "--members 30 --suppress-interval 500ms"),
        ("earliest", "--members 30 --suppress-interval 0s"),
    ] {
        assert_agreement(protocol, options);
    }
}

#[test]
fn councils_cost_what_theory_says() {
    for algorithm in ["naive", "basic", "skip-reset", "choice", "history"] {
        for options in [
            "--members 500",
            "--members 1000000000 --seats 1..1",
            "--members 7 --seats 2..3 --reply-loss 0.2 --multicast-loss 0.1",
        ] {
            assert_agreement("council", &format!("--algorithm {algorithm} {options}"));
        }
    }
    for algorithm in ["naive", "basic", "skip-reset", "choice", "history"] {
        for options in [
            "--members 200",
            "--members 60 --seats 2..6 --c 4 --reply-loss 0.2 --multicast-loss 0.1",
        ] {
            let options = format!("--algorithm {algorithm} {options} --engine per-host");
            assert_agreement("council", &options);
        }
    }
    assert_agreement("bolot", "--members 300 --engine per-host");
    for members in [1_000, 100_000] {
        assert_agreement("bolot", &format!("--members {members}"));
    }
}

/// With more loss the best c is greater. Without loss, such a c would make all of U + 1 hosts reply
/// in every draw, for ever.
#[test]
fn councils_with_the_best_c_are_elected_host_by_host_under_loss() {
    for options in [
        "--members 1000 --loss 0.2",
        "--members 300 --seats 1..1 --loss 0.3",
        "--members 300 --unicast-loss 0.5",
    ] {
        assert_agreement("council", &format!("{options} --engine per-host"));
    }
    for loss in ["--loss 0.2", "--loss 0.3", "--unicast-loss 0.5", "--multicast-loss 0.5"] {
        let kept =
            object(&format!("sim council --members 200 --churn die:10m --for 2m --runs 2 {loss}"));
        let c = number(&kept["parameters"]["c"]);
        assert!(c > 9.0, "{loss}: {c} is no more than could be without");
        let seats = number(&kept["metrics"]["most_seats"]["min"]);
        assert!(seats >= 4.0, "{loss}: {kept}");
    }
}

/// The group as a whole is inconsistent as long as any listener misses the leader.
#[test]
fn leaders_are_missed_as_often_as_theory_says() {
    for loss in ["0.4", "0.4 --loss-model correlated"] {
        let options = format!("--members 4 --listen-interval 2s --loss {loss}");
        let long = object(&format!("sim suppress {options} --until 400s --runs 200"));
        let computed = object(&format!("theory suppress {options}"));
        let measured = &long["metrics"]["inconsistent"];
        let (mean, value) =
            (number(&measured["mean"]), number(&computed["values"]["inconsistent"]));
        let allowed = STANDARD_ERRORS * (number(&measured["ci95"][1]) - mean) / 1.961;
        // The remaining phase of the first election is at most one part in a hundred.
        assert!(
            (mean - value).abs() <= allowed + 0.01 * value,
            "{mean} measured, {value} computed, {allowed} allowed: {options}"
        );
    }
}
