//! A large group: hundreds of agents, each on a host of its own that loses a tenth of what it should receive, elect by
//! chance, again and again; beside what the simulator says of the same.

mod account;
mod interval;
mod record;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::Options;
use super::ground::{Ground, PORT};
use super::hosts::Hosts;
use super::measure::{Processors, cpu_ns, milliseconds, now_ns};
use super::members::{Homes, Members};
use super::spread::Spread;
use super::table::{Report, Table, Verdict};
use crate::Result;
use account::{Account, Accounts, Window, called_for_nothing};
use interval::Estimate;
use record::Record;

/// What is done.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) agents: usize,
    pub(super) kills: usize,
    /// What each host loses.
    pub(super) percent: u32,
    pub(super) bound_ms: u32,
    pub(super) k: u32,
    /// How many others a member knows; none: all.
    pub(super) view: Option<u32>,
    /// How long nobody must have said anything before a leader is killed. Connections to it are there by then: one that
    /// was lost is tried again after a second.
    pub(super) calm: Duration,
}

/// The bound is ten times the agent's own: where two busy processors carry all three hundred, what one says to all has
/// reached most of them within 20 ms, and the last after 18 to 96.
const KNOWING_FEW: Plan = Plan {
    name: "probabilistic, 300 agents that know 30 each",
    agents: 300,
    kills: 20,
    percent: 10,
    bound_ms: 50,
    k: 7,
    view: Some(30),
    calm: Duration::from_secs(3),
};

/// Fewer of those that know all: each probes and is probed for it, and takes more than ten times the processor time.
const PLANS: &[Plan] = &[
    KNOWING_FEW,
    Plan {
        name: "probabilistic, 100 agents that know all",
        agents: 100,
        view: None,
        ..KNOWING_FEW
    },
];

/// So many hosts take a while to find each other, and to agree; longest where they have to count themselves before, which
/// takes 2,400 bounds.
const GATHERED_WITHIN: Duration = Duration::from_secs(300);

/// Far longer than an election takes. One in which survivors do not agree by then has failed.
const ELECTED_WITHIN: Duration = Duration::from_secs(20);

/// By then a group agrees again, also one whose last election has failed: leader and members ask each other whether they
/// are of the same mind every 100 bounds.
const AT_REST_WITHIN: Duration = Duration::from_secs(120);

/// Who missed an election, or has more to say of it, does so by then.
const AFTERMATH: Duration = Duration::from_secs(3);

/// How often a group may be restless before a leader is killed.
const MOST_RESTLESS: usize = 10;

/// So many that their intervals are far narrower than the field's.
const RUNS: &str = "10000";

/// What was seen.
pub(super) struct Story {
    accounts: Accounts,
    /// From each SIGKILL until all survivors named the next leader, in milliseconds.
    pub(super) known_ms: Spread,
    /// Whom survivors named instead, where they did not agree in time.
    disagreements: Vec<String>,
    /// From each SIGKILL until somebody called an election.
    pub(super) called_ms: Spread,
    /// Elections without a reason.
    for_nothing: usize,
    made_ms: f64,
    /// With loss, and nobody killed: processor time of all agents a second, and the share of all processors that was
    /// busy.
    agents_ms: f64,
    busy: f64,
}

pub(super) fn run(program: &Path, options: &Options, report: &mut Report) -> Result<()> {
    for plan in options.choose(PLANS, |plan| plan.name) {
        let plan = Plan {
            kills: plan.kills.min(options.trials as usize),
            ..*plan
        };
        let story = hold(program, &plan)?;
        let predicted = predict(program, &plan)?;
        let title = format!(
            "{}, each of which loses {} %, the leader killed {} times: means of an election, each with its 95 % \
             interval, and the simulator's:",
            plan.name, plan.percent, plan.kills
        );
        let headings = ["field", "from", "to", "sim", "from", "to"];
        let mut table = report.table(&title, &headings);
        compare(&mut table, &story, &predicted)?;
        tell(&table, &plan, &story);
    }
    Ok(())
}

/// Lets the group lose its leader again and again.
pub(super) fn hold(program: &Path, plan: &Plan) -> Result<Story> {
    let began = now_ns();
    let hosts = Hosts::make(plan.agents)?;
    let made_ms = milliseconds(began, now_ns());
    let config = Config::write(plan)?;
    let ground = Ground::new(&hosts, program);
    let options = config.options();
    let homes = Homes::OneEach { port: PORT };
    let mut members = Members::new(ground, homes, plan.agents, &options);
    members.record()?;
    members.start_all()?;
    let everyone = members.everyone();
    members.agree(&everyone, &everyone, GATHERED_WITHIN)?;
    for &host in &everyone {
        hosts.lose(host, plan.percent)?;
    }
    calm(&mut members, plan)?;
    let (agents_ms, busy) = idle(&mut members, plan)?;
    let mut spans = Vec::new();
    let mut known_ms = Spread::default();
    let mut disagreements = Vec::new();
    for _ in 0..plan.kills {
        let leader = calm(&mut members, plan)?;
        let survivors = members.all_but(leader);
        let killed = members.end(leader, Signal::KILL)?;
        let agreed = members.agree(&survivors, &survivors, ELECTED_WITHIN);
        let in_time = agreed.is_ok();
        match agreed {
            Ok((_, known)) => known_ms.add(milliseconds(killed, known)),
            Err(instead) => disagreements.push(instead.to_string()),
        }
        members.listen_for(AFTERMATH);
        spans.push((leader, killed, now_ns(), in_time));
        members.start(leader)?;
    }
    calm(&mut members, plan)?;
    let records = read(&members)?;
    let windows: Vec<Window> = spans
        .into_iter()
        .map(|(leader, from_ns, to_ns, in_time)| Window {
            killed: records[leader].id,
            from_ns,
            to_ns,
            in_time,
        })
        .collect();
    let accounts = Accounts::of(&windows, &records);
    let mut called_ms = Spread::default();
    for account in &accounts.called {
        called_ms.add(milliseconds(account.killed_ns, account.called_ns));
    }
    Ok(Story {
        for_nothing: called_for_nothing(&windows, &records),
        accounts,
        known_ms,
        disagreements,
        called_ms,
        made_ms,
        agents_ms,
        busy,
    })
}

/// Waits until all name one leader, and have for a while. Returns the leader.
fn calm(members: &mut Members<'_>, plan: &Plan) -> Result<usize> {
    let everyone = members.everyone();
    for _ in 0..MOST_RESTLESS {
        let (leader, _) = members
            .agree(&everyone, &everyone, AT_REST_WITHIN)
            .map_err(|why| format!("before the next leader can be killed: {why}"))?;
        let before = members.said(&everyone);
        members.listen_for(plan.calm);
        if members.said(&everyone) == before {
            return Ok(leader);
        }
    }
    Err("the group does not come to rest".into())
}

/// What the agents take while nothing happens: their own processor time, in milliseconds a second, and the share of all
/// processors.
fn idle(members: &mut Members<'_>, plan: &Plan) -> Result<(f64, f64)> {
    let everyone = members.everyone();
    let pids = everyone.iter().map(|&it| members.pid(it));
    let pids = pids.collect::<Result<Vec<u32>>>()?;
    let all = || -> Result<u64> { pids.iter().map(|&pid| cpu_ns(pid)).sum() };
    let (began, used, processors) = (now_ns(), all()?, Processors::read()?);
    members.listen_for(plan.calm);
    let busy = Processors::read()?.busy_since(&processors);
    let agents_ms = milliseconds(used, all()?) / milliseconds(began, now_ns()) * 1e3;
    Ok((agents_ms, busy))
}

fn read(members: &Members<'_>) -> Result<Vec<Record>> {
    let read = |index: usize| -> Result<Record> {
        let text = members.trace(index)?;
        Record::read(&text).ok_or_else(|| format!("agent {index} recorded nothing").into())
    };
    members.everyone().into_iter().map(read).collect()
}

/// What the simulator says of the survivors' elections, metric by metric. It hesitates as agents do, and as few relay in a last
/// round. Two things of the agents' later rounds it does not model: that K is steady from the fourth on, and that nobody waits
/// for more than 21 messages (`Config::longest_path`), where the simulator waits for 3K/2, which is more from the third on.
fn predict(program: &Path, plan: &Plan) -> Result<BTreeMap<String, Estimate>> {
    let loss = (f64::from(plan.percent) / 100.0).to_string();
    let mut command = Command::new(program);
    command
        .args(["sim", "probabilistic", "--format", "json", "--runs", RUNS])
        .args(["--members", &(plan.agents - 1).to_string()])
        .args(["--k", &plan.k.to_string()])
        .args(["--unicast-loss", &loss, "--multicast-loss", &loss])
        .args(["--delay", &format!("{}ms", plan.bound_ms)])
        .args(["--hesitation", "10", "--last-round", "grown"]);
    if let Some(view) = plan.view {
        let known = f64::from(view) / (plan.agents - 2) as f64;
        command
            .args(["--view", &known.to_string(), "--introduction", "multicast"])
            .args(["--group-size", "estimate"]);
    }
    let output = command.output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?}: {why}").into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let metrics = told["metrics"].as_object();
    let metrics = metrics.ok_or_else(|| format!("{command:?} tells no metrics: {told}"))?;
    let read = |(name, metric): (&String, &Value)| Some((name.clone(), Estimate::read(metric)?));
    Ok(metrics.iter().filter_map(read).collect())
}

/// Prints field and simulator side by side.
fn compare(
    table: &mut Table<'_>,
    story: &Story,
    predicted: &BTreeMap<String, Estimate>,
) -> Result<()> {
    let mean = |count| story.accounts.mean(count);
    let strong = story.accounts.strong();
    let rows = [
        ("strong success", "strong_success", strong, Claim::Agrees),
        ("rounds", "rounds", mean(|it| it.rounds), Claim::Agrees),
        (
            "members that relay in the first round",
            "relay_members",
            mean(|it| it.whole.relaying),
            Claim::NoLess,
        ),
        (
            "  of these, in time",
            "relay_members",
            mean(|it| it.in_time().relaying),
            Claim::Agrees,
        ),
        (
            "unicasts",
            "unicasts",
            mean(|it| it.whole.unicasts),
            Claim::NoLess,
        ),
        (
            "  of these, by members called in time",
            "unicasts",
            mean(|it| it.in_time().unicasts),
            Claim::Agrees,
        ),
        (
            "multicasts",
            "multicasts",
            mean(|it| it.whole.multicasts),
            Claim::NoLess,
        ),
        (
            "  of these, by members called in time",
            "multicasts",
            mean(|it| it.in_time().multicasts),
            Claim::Agrees,
        ),
    ];
    for (name, metric, field, claim) in rows {
        let sim = predicted
            .get(metric)
            .ok_or_else(|| format!("the simulator does not tell {metric}"))?;
        let cells = [field.cells(), sim.cells()].concat();
        let verdict = Verdict::new(claim.demand(), claim.holds(&field, sim));
        table.row(name, &cells, &verdict);
    }
    Ok(())
}

/// How a row has to compare with the simulator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    /// The intervals meet.
    Agrees,
    /// It is not lower. That it is higher has a reason which the simulator does not model: members that missed the call.
    NoLess,
}

impl Claim {
    fn demand(self) -> &'static str {
        match self {
            Self::Agrees => "intervals meet",
            Self::NoLess => "no less; see below",
        }
    }

    fn holds(self, field: &Estimate, sim: &Estimate) -> bool {
        match self {
            Self::Agrees => field.agrees(sim),
            Self::NoLess => field.high >= sim.low,
        }
    }
}

/// Prints what the field does that the simulator does not, and under what load.
fn tell(table: &Table<'_>, plan: &Plan, story: &Story) {
    let called = &story.accounts.called;
    let total = |count: fn(&Account) -> u64| called.iter().map(count).sum::<u64>();
    let each = |count: fn(&Account) -> u64| total(count) as f64 / called.len() as f64;
    let [_, median, p95, max] = &story.known_ms.cells()[..] else {
        return;
    };
    table.note(&format!(
        "Until all survivors name the next leader: median {median} ms, p95 {p95}, max {max}; of this, until the first \
         call: median {:.1}.",
        story.called_ms.median().unwrap_or_default()
    ));
    for instead in &story.disagreements {
        table.note(&format!("Counted as no success: {instead}."));
    }
    if story.accounts.uncalled > 0 {
        table.note(&format!(
            "Counted as no success, and in no other row: {} deaths after which nobody called an election.",
            story.accounts.uncalled
        ));
    }
    table.note(
        "Rows of all that was sent must only not be lower: members that missed the first call know of the death, call the",
    );
    table.note(
        "same round again and relay, which simulated ones do not. Those of members called in time must meet the simulator's.",
    );
    table.note(&format!(
        "Beyond the model: {:.1} calls of a round again, by members that missed the first (late); {:.1} questions,",
        each(|it| it.late.calls),
        each(|it| it.besides)
    ));
    table.note(&format!(
        "checks and answers; {} decisions for the dead; {} members set right; {} elections for {} deaths, and {} at other times.",
        total(|it| it.for_the_dead),
        total(|it| it.set_right as u64),
        total(|it| it.elections as u64),
        story.accounts.deaths(),
        story.for_nothing
    ));
    table.note(&format!(
        "bound {} ms, K {}. Nobody killed: the agents take {:.0} ms of processor time a second, the processors are {:.0} % \
         busy. {} hosts were made in {:.1} s.",
        plan.bound_ms,
        plan.k,
        story.agents_ms,
        story.busy * 100.0,
        plan.agents,
        story.made_ms / 1e3
    ));
}

/// What all agents read, gone when dropped.
struct Config {
    file: PathBuf,
    group: String,
}

impl Config {
    fn write(plan: &Plan) -> Result<Self> {
        let group = format!("assembly-{}", now_ns());
        let file = std::env::temp_dir().join(format!("hustings-{group}.toml"));
        let Plan { bound_ms, k, .. } = plan;
        let mut text = format!(
            "[[group]]\nname = \"{group}\"\nprotocol = \"probabilistic\"\nbound = \"{bound_ms}ms\"\nk = {k}\n"
        );
        if let Some(view) = plan.view {
            text += &format!("view = {view}\n");
        }
        fs::write(&file, text)?;
        Ok(Self { file, group })
    }

    fn options(&self) -> [&str; 5] {
        let file = self.file.to_str().unwrap_or_default();
        ["--group", &self.group, "--insecure", "--config", file]
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // What is left over lies among other temporary files.
        let _ = fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::{Claim, Estimate};

    #[test]
    fn what_the_field_sends_more_may_have_a_reason_and_what_it_sends_less_has_none() {
        let sim = Estimate {
            mean: 10.0,
            low: 9.0,
            high: 11.0,
        };
        let field = |mean: f64| Estimate {
            mean,
            low: mean - 2.0,
            high: mean + 2.0,
        };
        let holds = |claim: Claim| [5.0, 8.0, 12.0, 15.0].map(|it| claim.holds(&field(it), &sim));
        assert_eq!(holds(Claim::Agrees), [false, true, true, false]);
        assert_eq!(holds(Claim::NoLess), [false, true, true, true]);
    }
}
