//! A large group: hundreds of agents, each on a host of its own that loses a tenth of its packets,
//! hold probabilistic elections. The results are compared with the simulator's.

mod election_results;
mod record;

use std::fs;
use std::path::Path;
use std::time::Duration;

use hustings_testkit::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use super::hosts::Hosts;
use super::measure::{milliseconds, now_ns};
use super::members::{Members, Placement};
use super::table::{Report, Spread, Verdict};
use super::testbed::{PORT, Testbed, simulate};
use crate::{Options, Result};
use election_results::{
    ElectionResult, ElectionResults, Estimate, Sent, Window, called_for_nothing,
};
use record::Record;

/// A group that is measured.
struct Plan {
    agents: usize,
    /// The number of other members that a member knows; `None` for all.
    view: Option<u32>,
}

/// The second group has fewer agents, because they know all others. Each probes and is probed more,
/// and needs more than ten times the processor time.
const PLANS: &[(&str, Plan)] = &[
    ("probabilistic, 300 agents that know 30 each", Plan { agents: 300, view: Some(30) }),
    ("probabilistic, 100 agents that know all", Plan { agents: 100, view: None }),
];

/// The number of times that the leader is killed.
const KILLS: u32 = 20;

/// The percentage of packets that each host loses.
const PERCENT: u32 = 10;

/// The bound is ten times the agent's default. Two busy processors run all three hundred agents, so
/// a multicast reaches most of them within 20 ms, and the last one after 18 to 96 ms.
const BOUND_MS: u32 = 50;

const K: u32 = 7;

/// The time without any change of leader before a leader is killed. Connections to the leader exist
/// by then: one that was lost is retried after a second.
const CALM: Duration = Duration::from_secs(3);

/// The time within which the hosts must find each other and agree. It is longest if they first have
/// to estimate the group size, which takes 2,400 bounds.
const GATHERED_WITHIN: Duration = Duration::from_secs(300);

/// Far longer than an election takes. An election in which survivors do not agree by then has
/// failed.
const ELECTED_WITHIN: Duration = Duration::from_secs(20);

/// The time within which a group agrees again, even after a failed election. Leader and members
/// check every 100 bounds that they agree.
const AT_REST_WITHIN: Duration = Duration::from_secs(120);

/// The time within which a member that missed an election catches up, and the last messages about
/// it are sent.
const AFTERMATH: Duration = Duration::from_secs(3);

/// The number of attempts to find the group without changes before a leader is killed.
const MOST_RESTLESS: usize = 10;

/// This many runs make the simulator's intervals far narrower than the field's.
const RUNS: &str = "10000";

/// The observations of one measurement.
struct Observations {
    results: ElectionResults,
    /// The time from each SIGKILL until all survivors named the next leader, in milliseconds.
    known_ms: Spread,
    /// The leaders that survivors named when they did not agree in time.
    disagreements: Vec<String>,
    /// The number of elections without a dead leader.
    for_nothing: usize,
    /// Processor time of all agents, in milliseconds a second, under loss and without kills.
    agents_ms: f64,
}

pub(super) fn run(program: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let kills = KILLS.min(options.trials);
    for (name, plan) in options.choose(PLANS, |(name, _)| name) {
        let observations = measure(program, plan, kills)?;
        let predicted = predict(program, plan)?;
        let title = format!(
            "{name}, each of which loses {PERCENT} %, the leader killed {kills} times: means of an election, each with its 95 % \
             interval, and the simulator's:"
        );
        report.table(&title, &["field", "from", "to", "sim", "from", "to"]);
        compare(report, &observations.results, &predicted)?;
        print_notes(report, &observations);
    }
    Ok(())
}

/// Kills the leader of the group again and again.
fn measure(program: &Path, plan: &Plan, kills: u32) -> Result<Observations> {
    let hosts = Hosts::make(plan.agents)?;
    let home = Scratch::new("hustings-large-group");
    let file = home.join("hustings.toml");
    let group = format!("large-{}", now_ns());
    fs::write(&file, configuration(plan, &group))?;
    let testbed = Testbed::new(&hosts, program);
    let file = file.to_string_lossy();
    let options = ["--group", &group, "--insecure", "--config", &file];
    let placement = Placement::OneEach { port: PORT };
    let mut members = Members::new(testbed, placement, plan.agents, &options);
    members.record();
    members.start_all()?;
    members.agree_all(GATHERED_WITHIN)?;
    hosts.lose(0..plan.agents, PERCENT)?;
    calm(&mut members)?;
    let meter = members.cpu_meter()?;
    members.listen_for(CALM);
    let agents_ms = meter.read()?.iter().sum();
    let mut deaths = Vec::new();
    let mut known_ms = Spread::default();
    let mut disagreements = Vec::new();
    for _ in 0..kills {
        let leader = calm(&mut members)?;
        let killed_ns = members.end(leader, Signal::KILL)?;
        let agreed = members.agree_without(leader, ELECTED_WITHIN);
        let in_time = agreed.is_ok();
        match agreed {
            Ok((_, known)) => known_ms.add(milliseconds(killed_ns, known)),
            Err(instead) => disagreements.push(instead.to_string()),
        }
        members.listen_for(AFTERMATH);
        // The leader's id is known when its record is read.
        let window = Window { killed: 0, from_ns: killed_ns, to_ns: now_ns(), in_time };
        deaths.push((leader, window));
        members.start(leader)?;
    }
    calm(&mut members)?;
    let records = read(&members)?;
    let windows = deaths.iter().map(|&(leader, it)| Window { killed: records[leader].id, ..it });
    let windows: Vec<Window> = windows.collect();
    Ok(Observations {
        results: ElectionResults::of(&windows, &records),
        known_ms,
        disagreements,
        for_nothing: called_for_nothing(&windows, &records),
        agents_ms,
    })
}

/// Waits until all members have named one leader for a while. Returns the leader.
fn calm(members: &mut Members<'_>) -> Result<usize> {
    for _ in 0..MOST_RESTLESS {
        let (leader, _) = members
            .agree_all(AT_REST_WITHIN)
            .map_err(|why| format!("before the next leader can be killed: {why}"))?;
        let before = members.all_reports();
        members.listen_for(CALM);
        if members.all_reports() == before {
            return Ok(leader);
        }
    }
    Err("the group does not come to rest".into())
}

fn read(members: &Members<'_>) -> Result<Vec<Record>> {
    let read = |index: usize| -> Result<Record> {
        let text = members.trace(index)?;
        Record::read(&text).ok_or_else(|| format!("agent {index} recorded nothing").into())
    };
    members.everyone().into_iter().map(read).collect()
}

/// Returns the simulator's metrics of the survivors' elections. The simulator uses the
/// agents' hesitation, and the same small number of relays in a last round.
///
/// It does not model two properties of the agents' later rounds. K is constant from the fourth
/// round on. No member waits for more than 21 messages (`Config::longest_path`), where the
/// simulator waits for 3K/2, which is more from the third round on.
fn predict(program: &Path, plan: &Plan) -> Result<Value> {
    let loss = (f64::from(PERCENT) / 100.0).to_string();
    let metrics = simulate(program, "probabilistic", |command| {
        command
            .args(["--runs", RUNS, "--members", &(plan.agents - 1).to_string()])
            .args(["--k", &K.to_string()])
            .args(["--unicast-loss", &loss, "--multicast-loss", &loss])
            .args(["--delay", &format!("{BOUND_MS}ms")])
            .args(["--hesitation", "10", "--last-round", "grown"]);
        if let Some(view) = plan.view {
            let known = f64::from(view) / (plan.agents - 2) as f64;
            command
                .args(["--view", &known.to_string(), "--introduction", "multicast"])
                .args(["--group-size", "estimate"]);
        }
    })?;
    Ok(metrics)
}

/// Prints field and simulator side by side.
fn compare(report: &mut Report, results: &ElectionResults, predicted: &Value) -> Result<()> {
    let sent = |is_it: fn(&Sent) -> bool| results.mean(|it| it.count(is_it));
    let in_time =
        |is_it: fn(&Sent) -> bool| results.mean(|it| it.count(|sent| is_it(sent) && !sent.is_late));
    let rounds = results.mean(|it| it.rounds);
    let called_in_time = "  of these, by members called in time";
    let mut rows = vec![
        ("strong success", "strong_success", results.strong(), Claim::Agrees),
        ("rounds", "rounds", rounds, Claim::Agrees),
    ];
    let relay = "members that relay in the first round";
    for (name, of_these, metric, is_it) in [
        (relay, "  of these, in time", "relay_members", Sent::relays as fn(&Sent) -> bool),
        ("unicasts", called_in_time, "unicasts", |it| !it.to_all),
        ("multicasts", called_in_time, "multicasts", |it| it.to_all),
    ] {
        rows.push((name, metric, sent(is_it), Claim::NoLess));
        rows.push((of_these, metric, in_time(is_it), Claim::Agrees));
    }
    for (name, metric, field, claim) in rows {
        let sim = Estimate::read(&predicted[metric])
            .ok_or_else(|| format!("the simulator does not report {metric}"))?;
        let cells = [field.cells(), sim.cells()].concat();
        report.row(name, &cells, &claim.verdict(&field, &sim));
    }
    Ok(())
}

/// The required relation between a row and the simulator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    /// The confidence intervals overlap.
    Agrees,
    /// The field's value is not lower. It may be higher because of members that missed the call,
    /// which the simulator does not model.
    NoLess,
}

impl Claim {
    fn verdict(self, field: &Estimate, sim: &Estimate) -> Verdict {
        match self {
            Self::Agrees => Verdict::new("intervals meet", field.agrees(sim)),
            Self::NoLess => Verdict::new("no less; see below", field.high >= sim.low),
        }
    }
}

/// Prints the messages that the simulator does not model, and the load.
fn print_notes(report: &Report, observations: &Observations) {
    let Observations { results, known_ms, disagreements, for_nothing, agents_ms } = observations;
    let called = &results.called;
    let until_call = called.iter().map(|it| milliseconds(it.killed_ns, it.called_ns));
    let until_call = until_call.collect::<Spread>().median().unwrap_or_default();
    let total = |count: fn(&ElectionResult) -> u64| called.iter().map(count).sum::<u64>();
    let each = |count: fn(&ElectionResult) -> u64| total(count) as f64 / called.len() as f64;
    let cells = known_ms.cells();
    report.note(&format!(
        "Until all survivors name the next leader: median {} ms, p95 {}, max {}; of this, until the first \
         call: median {until_call:.1}.",
        cells[1], cells[2], cells[3]
    ));
    for instead in disagreements {
        report.note(&format!("Counted as no success: {instead}."));
    }
    if results.uncalled > 0 {
        report.note(&format!(
            "Counted as no success, and in no other row: {} deaths after which no member called an election.",
            results.uncalled
        ));
    }
    report.note(&format!(
        "Rows of all that was sent must only not be lower: members that missed the first call know of the death, call the\n\
         same round again and relay, which simulated ones do not. Those of members called in time must meet the simulator's.\n\
         Beyond the model: {:.1} calls of a round again, by members that missed the first (late); {:.1} questions,\n\
         checks and answers; {} decisions for the dead; {} members set right; {} elections for {} deaths, and {for_nothing} at other times.\n\
         bound {BOUND_MS} ms, K {K}. Without kills the agents take {agents_ms:.0} ms of processor time a second.",
        each(|it| it.count(|sent| sent.is_late && sent.calls())),
        each(|it| it.other),
        total(|it| it.for_the_dead),
        total(|it| it.corrected),
        total(|it| it.elections),
        results.deaths()
    ));
}

/// Returns the configuration of all agents.
fn configuration(plan: &Plan, group: &str) -> String {
    let view = plan.view.map_or(String::new(), |view| format!("view = {view}\n"));
    format!(
        "[[group]]\nname = \"{group}\"\nprotocol = \"probabilistic\"\nbound = \"{BOUND_MS}ms\"\nk = {K}\n{view}"
    )
}

#[cfg(test)]
mod tests {
    use super::{Claim, Estimate};

    #[test]
    fn field_may_exceed_the_simulator_but_not_fall_below() {
        let sim = Estimate { mean: 10.0, low: 9.0, high: 11.0 };
        let field = |mean: f64| Estimate { mean, low: mean - 2.0, high: mean + 2.0 };
        let holds =
            |claim: Claim| [5.0, 8.0, 12.0, 15.0].map(|it| claim.verdict(&field(it), &sim).is_met);
        assert_eq!(holds(Claim::Agrees), [false, true, true, false]);
        assert_eq!(holds(Claim::NoLess), [false, true, true, true]);
    }
}
