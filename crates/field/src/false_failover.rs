//! A group with short intervals on a busy machine: the number of unfounded changes of leader.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::baseline_loop::BaselineCost;
use super::cost::{mean, watch};
use super::failover::QUICK;
use super::measure::{milliseconds, now_ns};
use super::table::{Report, Verdict};
use super::testbed::Testbed;
use crate::{Options, Result};

const BUSY: &str = "four busy loops, announce 20 ms, listen 80 ms";
const BUSY_LOOPS: usize = 4;

/// The intervals of [`QUICK`].
const ANNOUNCE_MS: f64 = 20.0;
const LISTEN_MS: f64 = 80.0;

/// The sleep of a thread that watches for stalls.
const NAP: Duration = Duration::from_millis(5);

const HOW_STALLS_COUNT: &str = "\
stall: the longest that a processor did not run a thread of this command that was due. In one longer
than the listen interval less an announce interval, a leader that stands still looks like one that is
gone: changes in and just after such stalls are counted apart.";

/// A time in which a processor did not run a thread that was due.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SchedulingStall {
    began_ns: u64,
    ended_ns: u64,
}

impl SchedulingStall {
    fn lasted_ms(self) -> f64 {
        milliseconds(self.began_ns, self.ended_ns)
    }

    /// True if the stall explains a change of leader at `at_ns`. A leader that does not run is
    /// silent, and its followers replace it after the listen interval. An announcement may have
    /// been due when it stopped.
    fn explains(self, at_ns: u64) -> bool {
        let until_ns = self.ended_ns + (LISTEN_MS * 1e6) as u64;
        self.lasted_ms() > LISTEN_MS - ANNOUNCE_MS && (self.began_ns..=until_ns).contains(&at_ns)
    }
}

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let title = format!(
        "While the machine is busy, for {} s; processor time a second beside a bare loop's:",
        options.seconds
    );
    let headings = ["changes", "in stall", "stall ms", "CPU ms", "bare", "leader", "bare"];
    let span = Duration::from_secs(options.seconds);
    let is_shown = report
        .rows(options, &title, &headings, &[(BUSY, ())], |()| measure_busy_group(testbed, span))?;
    if is_shown {
        report.note(HOW_STALLS_COUNT);
    }
    Ok(())
}

fn measure_busy_group(testbed: Testbed<'_>, span: Duration) -> Result<(Vec<String>, Verdict)> {
    let (mut members, leader) = testbed.settled(QUICK)?;
    let began_ns = now_ns();
    let (costs, stalls) = with_busy_loops(|| watch(testbed, &mut members, span));
    let costs = costs?;
    let everyone = members.everyone();
    let reports = everyone.iter().flat_map(|&index| members.reports(index));
    let changes: Vec<u64> = reports.map(|it| it.at_ns).filter(|&at| at > began_ns).collect();
    let explained = |at: &&u64| stalls.iter().any(|stall| stall.explains(**at));
    let explained = changes.iter().filter(explained).count();
    let announce = Duration::from_millis(ANNOUNCE_MS as u64);
    let (baseline, _) = with_busy_loops(|| BaselineCost::measure(testbed.hosts, announce));
    let baseline = baseline?;
    let ([mean_ms, ..], [leader_ms, ..]) = (mean(&costs), costs[leader]);
    let longest = stalls.iter().map(|it| it.lasted_ms()).fold(0.0, f64::max);
    let cells = vec![
        changes.len().to_string(),
        explained.to_string(),
        format!("{longest:.0}"),
        format!("{mean_ms:.2}"),
        format!("{:.2}", baseline.mean()),
        format!("{leader_ms:.2}"),
        format!("{:.2}", baseline.sender),
    ];
    let is_met = changes.len() == explained && mean_ms <= 3.0;
    Ok((cells, Verdict::new("0 changes but in stalls, 3 ms", is_met)))
}

/// Keeps the machine busy during `work`. Also returns the stalls of the processors.
fn with_busy_loops<T>(work: impl FnOnce() -> T) -> (T, Vec<SchedulingStall>) {
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let watchers: Vec<_> = processors()
            .into_iter()
            .map(|processor| scope.spawn(move || watch_for_stalls(processor, is_over)))
            .collect();
        for _ in 0..BUSY_LOOPS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        let stalls = watchers.into_iter().filter_map(|it| it.join().ok());
        (done, stalls.flatten().collect())
    })
}

/// Returns one set for each processor that this process may use.
fn processors() -> Vec<CpuSet> {
    let all = sched_getaffinity(None).unwrap_or_default();
    let one = |index: usize| {
        let mut set = CpuSet::new();
        set.set(index);
        set
    };
    (0..CpuSet::MAX_CPU).filter(|&it| all.is_set(it)).map(one).collect()
}

fn watch_for_stalls(processor: CpuSet, is_over: &AtomicBool) -> Vec<SchedulingStall> {
    // If the kernel refuses, the thread runs on any processor.
    let _ = sched_setaffinity(None, &processor);
    let mut stalls = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let began_ns = now_ns();
        thread::sleep(NAP);
        let stall = SchedulingStall { began_ns, ended_ns: now_ns() };
        // A busy machine may add up to two naps.
        if stall.lasted_ms() > 3.0 * NAP.as_secs_f64() * 1e3 {
            stalls.push(stall);
        }
    }
    stalls
}

#[cfg(test)]
mod tests {
    use super::SchedulingStall;

    #[test]
    fn only_a_long_stall_explains_changes_during_or_just_after_it() {
        let ms = 1_000_000;
        let stall =
            |lasted: u64| SchedulingStall { began_ns: 1_000 * ms, ended_ns: (1_000 + lasted) * ms };
        assert!(stall(61).explains(1_100 * ms));
        assert!(stall(61).explains(1_141 * ms));
        assert!(!stall(61).explains(1_142 * ms));
        assert!(!stall(61).explains(999 * ms));
        assert!(!stall(60).explains(1_050 * ms));
    }
}
