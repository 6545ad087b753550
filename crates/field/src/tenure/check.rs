//! The invariants of the writers' records, which hold under all faults.

use std::collections::BTreeMap;
use std::fmt;

use super::evidence::{Belief, Evidence, LogLine};
use crate::measure::milliseconds;

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) at_ns: u64,
    pub(super) text: String,
    /// The time for which two processes believed that they held tenure.
    pub(super) two_held_ns: u64,
    /// The time for which a process that was stopped for longer than the ttl believed in its old
    /// tenure after it continued.
    pub(super) believed_on_ns: u64,
}

impl Violation {
    fn new(at_ns: u64, text: String) -> Self {
        Self { at_ns, text, two_held_ns: 0, believed_on_ns: 0 }
    }
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

/// Checks that no fence has two holders: processes that held tenure under it.
fn fences(evidence: &Evidence) -> Vec<Violation> {
    let mut holders: BTreeMap<u64, String> = BTreeMap::new();
    let mut found = Vec::new();
    for belief in &evidence.beliefs {
        let (fence, holder) = (belief.fence, name(belief));
        let first = holders.entry(fence).or_insert_with(|| holder.clone());
        if *first != holder {
            let text = format!("fence {fence} has two holders: {first} and {holder}");
            found.push(Violation::new(belief.first_ns, text));
        }
    }
    found
}

/// Checks that a later tenure has the higher fence, and that no process believes in it before the
/// earlier one is over.
fn beliefs(beliefs: &[Belief]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, later) in beliefs.iter().enumerate() {
        let (at_ns, fence) = (later.first_ns, later.fence);
        let before = beliefs[..index].iter();
        let highest = before.clone().map(|it| it.fence).max();
        // The rule above covers equal fences.
        if let Some(highest) = highest.filter(|&it| it > fence) {
            let text = format!("a tenure with fence {fence} began after one with {highest}");
            found.push(Violation::new(at_ns, text));
        }
        for earlier in before.filter(|it| it.process != later.process) {
            let two_held_ns = earlier.last_ns.min(later.last_ns).saturating_sub(at_ns);
            if two_held_ns > 0 {
                let text = format!(
                    "two members believe for {:.3} ms that they hold: {} and {}",
                    milliseconds(0, two_held_ns),
                    name(earlier),
                    name(later)
                );
                found.push(Violation { two_held_ns, ..Violation::new(at_ns, text) });
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
            let text = format!("`{line}` was written after `{above}`");
            found.push(Violation::new(line.at_ns, text));
        }
    }
    for line in &evidence.writes {
        let is_it = |it: &Belief| it.fence == line.fence && it.member == line.member;
        if !evidence.beliefs.iter().any(is_it) {
            let text = format!("`{line}` was written by a member that never held that tenure");
            found.push(Violation::new(line.at_ns, text));
        }
    }
    found
}

/// Checks that a process that was stopped for longer than the ttl notices its loss of tenure at
/// once.
fn after(pause: &Pause, beliefs: &[Belief]) -> Option<Violation> {
    let held = |it: &&Belief| it.process == pause.process && it.first_ns < pause.stopped_ns;
    let belief = beliefs.iter().rfind(held)?;
    let believed_on_ns = belief.last_ns.saturating_sub(pause.continued_ns);
    let text = format!(
        "{} went on after its tenure and believed in it for {:.3} ms",
        name(belief),
        milliseconds(0, believed_on_ns)
    );
    let violation = Violation::new(pause.continued_ns, text);
    (believed_on_ns > 0).then_some(Violation { believed_on_ns, ..violation })
}

fn name(belief: &Belief) -> String {
    format!("{} (process {})", belief.member, belief.process)
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.fence, self.at_ns, self.member)
    }
}

#[cfg(test)]
mod tests {
    use super::{Belief, Evidence, LogLine, Pause, violations};

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

    /// Checks the violations that are found after `spoil` has changed the evidence: their texts, and
    /// how long two held.
    fn check(spoil: impl FnOnce(&mut Evidence), expected: &[(&str, u64)]) {
        let mut evidence = good();
        spoil(&mut evidence);
        let found = violations(&evidence, &[]);
        let found: Vec<(&str, u64)> = found.iter().map(|it| (&*it.text, it.two_held_ns)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn valid_evidence_has_no_violations() {
        check(|_| {}, &[]);
    }

    #[test]
    fn fence_with_two_holders_is_found_even_after_a_restart() {
        check(
            |it| it.beliefs.push(belief(30, 5, 700, 800)),
            &[("fence 5 has two holders: h1 (process 11) and h3 (process 30)", 0)],
        );
        check(
            |it| it.beliefs.push(belief(12, 5, 700, 800)),
            &[("fence 5 has two holders: h1 (process 11) and h1 (process 12)", 0)],
        );
    }

    #[test]
    fn falling_fence_is_found() {
        check(
            |it| it.beliefs.push(belief(30, 3, 700, 800)),
            &[("a tenure with fence 3 began after one with 5", 0)],
        );
    }

    #[test]
    fn two_simultaneous_holders_are_found_even_if_not_adjacent() {
        let text = "two members believe for 0.000 ms that they hold";
        let two = |first: &str, second: &str| format!("{text}: {first} and {second}");
        let (one, next) = ("h2 (process 20)", "h1 (process 11)");
        check(|it| it.beliefs[1].last_ns = 530, &[(&two(one, next), 30)]);
        let first = "h1 (process 10)";
        check(
            |it| it.beliefs[0].last_ns = 530,
            &[(&two(first, one), 100), (&two(first, next), 30)],
        );
    }

    #[test]
    fn accepted_late_write_is_found() {
        check(
            |it| it.writes.insert(3, line(10, 1, 360)),
            &[("`1 360 h1` was written after `2 350 h2`", 0)],
        );
        check(
            |it| it.writes.push(line(11, 5, 540)),
            &[("`5 540 h1` was written after `5 550 h1`", 0)],
        );
    }

    #[test]
    fn write_without_tenure_is_found() {
        let never = "was written by a member that never held that tenure";
        check(|it| it.writes.push(line(30, 5, 560)), &[(&format!("`5 560 h3` {never}"), 0)]);
        check(|it| it.writes.push(line(11, 6, 560)), &[(&format!("`6 560 h1` {never}"), 0)]);
    }

    #[test]
    fn belief_that_outlives_a_pause_is_reported() {
        let pause = |process, stopped_ns, continued_ns| Pause { process, stopped_ns, continued_ns };
        assert_eq!(violations(&good(), &[pause(20, 400, 1_000)]), []);
        // The process got a new tenure after the pause.
        assert_eq!(violations(&good(), &[pause(11, 450, 490)]), []);
        let found = violations(&good(), &[pause(20, 350, 390)]);
        let [found] = &found[..] else { panic!("one: {found:?}") };
        assert_eq!(found.believed_on_ns, 10);
        let holder = "h2 (process 20) went on after its tenure";
        assert!(found.text.starts_with(holder), "{}", found.text);
    }
}
