//! The invariants of the writers' records, which hold under all faults.

use std::collections::BTreeMap;
use std::fmt;

use super::evidence::{Belief, Evidence, LogLine};
use crate::measure::milliseconds;

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) at_ns: u64,
    pub(super) kind: ViolationKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ViolationKind {
    /// Two processes held tenure under one fence.
    SharedFence { fence: u64, holders: [String; 2] },
    /// A tenure that began later has the lower fence.
    FenceFell { before: u64, after: u64 },
    /// Two processes believed at the same time that they held tenure, for `ns` nanoseconds.
    TwoHolders { holders: [String; 2], ns: u64 },
    /// A line of the log that belongs before the line above it.
    OutOfOrder { above: String, line: String },
    /// A line under a fence that its writer never believed that it held.
    NeverHeld { line: String },
    /// A process that was stopped for longer than the ttl believed in its old tenure for `ns`
    /// nanoseconds after it continued.
    BelievedOn { holder: String, ns: u64 },
}

/// The time during which a process was stopped. It is longer than the ttl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) process: u32,
    pub(super) stopped_ns: u64,
    pub(super) continued_ns: u64,
}

/// Returns all violations, in order of time.
pub(super) fn violations(evidence: &Evidence, pauses: &[Pause]) -> Vec<Violation> {
    let mut found = fences(evidence);
    found.extend(beliefs(&evidence.beliefs));
    found.extend(writes(evidence));
    found.extend(pauses.iter().flat_map(|it| after(it, &evidence.beliefs)));
    found.sort_by_key(|it| it.at_ns);
    found
}

/// Checks that no fence has two holders.
fn fences(evidence: &Evidence) -> Vec<Violation> {
    let believed = evidence.beliefs.iter();
    let believed = believed.map(|it| (it.fence, it.first_ns, name(it)));
    let mut holders: BTreeMap<u64, String> = BTreeMap::new();
    let mut found = Vec::new();
    for (fence, at_ns, holder) in believed {
        let first = holders.entry(fence).or_insert_with(|| holder.clone());
        if *first != holder {
            let holders = [first.clone(), holder];
            found.push(Violation { at_ns, kind: ViolationKind::SharedFence { fence, holders } });
        }
    }
    found
}

/// Checks that a later tenure has the higher fence, and that no process believes in it before the
/// earlier one is over.
fn beliefs(beliefs: &[Belief]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, later) in beliefs.iter().enumerate() {
        let at_ns = later.first_ns;
        let mut note = |kind| found.push(Violation { at_ns, kind });
        let before = beliefs[..index].iter();
        let highest = before.clone().map(|it| it.fence).max();
        // The rule above covers equal fences.
        if let Some(before) = highest.filter(|&it| it > later.fence) {
            let after = later.fence;
            note(ViolationKind::FenceFell { before, after });
        }
        for earlier in before.filter(|it| it.process != later.process) {
            let ns = earlier.last_ns.min(later.last_ns).saturating_sub(at_ns);
            if ns > 0 {
                let holders = [name(earlier), name(later)];
                note(ViolationKind::TwoHolders { holders, ns });
            }
        }
    }
    found
}

/// Checks that the lines of the log are in order of fence and of time, and that each writer held
/// tenure under its fence.
fn writes(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for pair in evidence.writes.windows(2) {
        let [above, line] = pair else { continue };
        if line.fence < above.fence || line.at_ns < above.at_ns {
            let (at_ns, line) = (line.at_ns, line.to_string());
            let above = above.to_string();
            let kind = ViolationKind::OutOfOrder { above, line };
            found.push(Violation { at_ns, kind });
        }
    }
    for line in &evidence.writes {
        let is_it = |it: &Belief| it.fence == line.fence && it.member == line.member;
        if !evidence.beliefs.iter().any(is_it) {
            let (at_ns, line) = (line.at_ns, line.to_string());
            let kind = ViolationKind::NeverHeld { line };
            found.push(Violation { at_ns, kind });
        }
    }
    found
}

/// Checks that a process that was stopped for longer than the ttl notices its loss of tenure at
/// once.
fn after(pause: &Pause, beliefs: &[Belief]) -> Option<Violation> {
    let held = |it: &&Belief| it.process == pause.process && it.first_ns < pause.stopped_ns;
    let belief = beliefs.iter().rfind(held)?;
    let ns = belief.last_ns.saturating_sub(pause.continued_ns);
    let holder = name(belief);
    (ns > 0).then_some(Violation {
        at_ns: pause.continued_ns,
        kind: ViolationKind::BelievedOn { holder, ns },
    })
}

fn name(belief: &Belief) -> String {
    format!("{} (process {})", belief.member, belief.process)
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.fence, self.at_ns, self.member)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: ", self.at_ns)?;
        match &self.kind {
            ViolationKind::SharedFence { fence, holders } => {
                write!(f, "fence {fence} has two holders: {}", holders.join(" and "))
            }
            ViolationKind::FenceFell { before, after } => {
                write!(f, "a tenure with fence {after} began after one with {before}")
            }
            ViolationKind::TwoHolders { holders, ns } => write!(
                f,
                "two members believe for {:.3} ms that they hold: {}",
                milliseconds(0, *ns),
                holders.join(" and ")
            ),
            ViolationKind::OutOfOrder { above, line } => {
                write!(f, "`{line}` was written after `{above}`")
            }
            ViolationKind::NeverHeld { line } => {
                write!(f, "`{line}` was written by a member that never held that tenure")
            }
            ViolationKind::BelievedOn { holder, ns } => write!(
                f,
                "{holder} went on after its tenure and believed in it for {:.3} ms",
                milliseconds(0, *ns)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Belief, Evidence, LogLine, Pause, ViolationKind, violations};

    fn belief(process: u32, fence: u64, first_ns: u64, last_ns: u64) -> Belief {
        Belief { member: format!("h{}", process / 10), process, fence, first_ns, last_ns }
    }

    fn line(process: u32, fence: u64, at_ns: u64) -> LogLine {
        let member = format!("h{}", process / 10);
        LogLine { fence, at_ns, member }
    }

    /// Three valid tenures. The first writer was restarted and held tenure again.
    fn good() -> Evidence {
        Evidence {
            beliefs: vec![
                belief(10, 1, 100, 200),
                belief(20, 2, 300, 400),
                belief(11, 5, 500, 600),
            ],
            writes: vec![line(10, 1, 150), line(10, 1, 250), line(20, 2, 350), line(11, 5, 550)],
            refused: vec![line(10, 1, 360)],
        }
    }

    /// Checks the violations that are found after `spoil` has changed the evidence.
    fn check(spoil: impl FnOnce(&mut Evidence), expected: &[ViolationKind]) {
        let mut evidence = good();
        spoil(&mut evidence);
        let found = violations(&evidence, &[]);
        let found: Vec<ViolationKind> = found.into_iter().map(|it| it.kind).collect();
        assert_eq!(found, expected);
    }

    fn names(first: u32, second: u32) -> [String; 2] {
        [first, second].map(|it| format!("h{} (process {it})", it / 10))
    }

    #[test]
    fn valid_evidence_has_no_violations() {
        check(|_| {}, &[]);
    }

    #[test]
    fn fence_with_two_holders_is_found_even_after_a_restart() {
        let shared = |holders| [ViolationKind::SharedFence { fence: 5, holders }];
        check(|it| it.beliefs.push(belief(30, 5, 700, 800)), &shared(names(11, 30)));
        check(|it| it.beliefs.push(belief(12, 5, 700, 800)), &shared(names(11, 12)));
    }

    #[test]
    fn falling_fence_is_found() {
        let (before, after) = (5, 3);
        check(
            |it| it.beliefs.push(belief(30, 3, 700, 800)),
            &[ViolationKind::FenceFell { before, after }],
        );
    }

    #[test]
    fn two_simultaneous_holders_are_found_even_if_not_adjacent() {
        let holders = names(20, 11);
        let ns = 30;
        check(|it| it.beliefs[1].last_ns = 530, &[ViolationKind::TwoHolders { holders, ns }]);
        let two =
            |first, second, ns| ViolationKind::TwoHolders { holders: names(first, second), ns };
        check(|it| it.beliefs[0].last_ns = 530, &[two(10, 20, 100), two(10, 11, 30)]);
    }

    #[test]
    fn accepted_late_write_is_found() {
        let out_of_order = |above: &str, line: &str| ViolationKind::OutOfOrder {
            above: above.to_owned(),
            line: line.to_owned(),
        };
        check(|it| it.writes.insert(3, line(10, 1, 360)), &[out_of_order("2 350 h2", "1 360 h1")]);
        check(|it| it.writes.push(line(11, 5, 540)), &[out_of_order("5 550 h1", "5 540 h1")]);
    }

    #[test]
    fn write_without_tenure_is_found() {
        let never = |line: &str| ViolationKind::NeverHeld { line: line.to_owned() };
        check(|it| it.writes.push(line(30, 5, 560)), &[never("5 560 h3")]);
        check(|it| it.writes.push(line(11, 6, 560)), &[never("6 560 h1")]);
    }

    #[test]
    fn belief_that_outlives_a_pause_is_reported() {
        let pause = |process, stopped_ns, continued_ns| Pause { process, stopped_ns, continued_ns };
        assert_eq!(violations(&good(), &[pause(20, 400, 1_000)]), []);
        // The process got a new tenure after the pause.
        assert_eq!(violations(&good(), &[pause(11, 450, 490)]), []);
        let found = violations(&good(), &[pause(20, 350, 390)]);
        let [found] = &found[..] else { panic!("one: {found:?}") };
        let ns = 10;
        let holder = "h2 (process 20)".to_owned();
        assert_eq!(found.kind, ViolationKind::BelievedOn { holder, ns });
    }
}
