//! The records of the writers, and their invariants, which hold under all faults: accepted writes,
//! refused writes, and the times at which writers believed that they held tenure.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::measure::milliseconds;

/// The records of one group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// Sorted by beginning.
    pub(super) beliefs: Vec<Belief>,
    /// In the order of the file.
    pub(super) writes: Vec<LogLine>,
    pub(super) refused: Vec<LogLine>,
}

/// The time during which one process believed that it held one tenure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Belief {
    /// The member's name.
    pub(super) member: String,
    /// The process id. A restarted member is a different holder.
    pub(super) process: u32,
    pub(super) fence: u64,
    /// The start of the time in which the process certainly believed: when it first received a
    /// positive answer. The time ends when it last asked.
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    pub(super) fence: u64,
    pub(super) at_ns: u64,
    pub(super) member: String,
}

impl LogLine {
    fn text(&self) -> String {
        format!("{} {} {}", self.fence, self.at_ns, self.member)
    }
}

impl Evidence {
    /// Reads the directory that the writers wrote to.
    pub(super) fn read(home: &Path) -> Result<Self> {
        let mut evidence = Self {
            beliefs: Vec::new(),
            writes: log_lines(&read(&home.join("log"))?)?,
            refused: log_lines(&read(&home.join("refused"))?)?,
        };
        for entry in fs::read_dir(home)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some((member, process)) = whose(&name) {
                let lines = read(&path)?;
                evidence.beliefs.extend(beliefs_of(member, process, &lines)?);
            }
        }
        evidence.beliefs.sort_by_key(|it| it.first_ns);
        Ok(evidence)
    }

    /// Returns the spans between `from` and `to` in which no process believed that it held tenure,
    /// in order.
    pub(super) fn gaps(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut covered = from;
        for belief in &self.beliefs {
            if belief.first_ns > covered && covered < to {
                gaps.push((covered, belief.first_ns.min(to)));
            }
            covered = covered.max(belief.last_ns);
        }
        if covered < to {
            gaps.push((covered, to));
        }
        gaps
    }
}

/// Parses the file name `belief.MEMBER.PID`.
fn whose(name: &str) -> Option<(&str, u32)> {
    let (member, process) = name.strip_prefix("belief.")?.rsplit_once('.')?;
    Some((member, process.parse().ok()?))
}

/// Returns the complete lines of a file, or nothing if there is no file. A killed process may have
/// left half a line at the end.
fn read(path: &Path) -> Result<String> {
    let mut text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    Ok(text)
}

fn log_lines(lines: &str) -> Result<Vec<LogLine>> {
    let parse = |line: &str| {
        let mut words = line.split(' ');
        Some(LogLine {
            fence: words.next()?.parse().ok()?,
            at_ns: words.next()?.parse().ok()?,
            member: words.next()?.to_owned(),
        })
    };
    let parsed = lines.lines().map(|line| parse(line).ok_or(line));
    let parsed: std::result::Result<Vec<LogLine>, &str> = parsed.collect();
    parsed.map_err(|line| format!("not a line of the log: {line:?}").into())
}

fn beliefs_of(member: &str, process: u32, lines: &str) -> Result<Vec<Belief>> {
    let mut by_fence: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for line in lines.lines() {
        let [fence, asked, told] =
            numbers(line).ok_or_else(|| format!("not a belief: {line:?}"))?;
        let (first, last) = by_fence.entry(fence).or_insert((told, asked));
        // Two threads write the lines, so they are not quite in order.
        *first = told.min(*first);
        *last = asked.max(*last);
    }
    let belief = |(fence, (first_ns, last_ns))| Belief {
        member: member.to_owned(),
        process,
        fence,
        first_ns,
        last_ns,
    };
    Ok(by_fence.into_iter().map(belief).collect())
}

/// Returns the numbers of a line if there are exactly `N`.
pub(super) fn numbers<const N: usize>(line: &str) -> Option<[u64; N]> {
    let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

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
            let text = format!("`{}` was written after `{}`", line.text(), above.text());
            found.push(Violation::new(line.at_ns, text));
        }
    }
    for line in &evidence.writes {
        let is_it = |it: &Belief| it.fence == line.fence && it.member == line.member;
        if !evidence.beliefs.iter().any(is_it) {
            let never_held = "was written by a member that never held that tenure";
            found.push(Violation::new(line.at_ns, format!("`{}` {never_held}", line.text())));
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

#[cfg(test)]
mod tests {
    use super::{Belief, Evidence, LogLine, Pause, beliefs_of, log_lines, violations, whose};

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

    /// Checks the violations that are found after `spoil` has changed the evidence: their texts,
    /// and how long two held.
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

    #[test]
    fn lines_are_parsed() {
        let found = beliefs_of("h1", 42, "3 10 11\n3 20 22\n5 30 31\n3 15 16\n").unwrap();
        let belief = |fence, first_ns, last_ns| Belief {
            member: "h1".to_owned(),
            process: 42,
            fence,
            first_ns,
            last_ns,
        };
        assert_eq!(found, [belief(3, 11, 20), belief(5, 31, 30)]);
        assert!(beliefs_of("h1", 42, "3 10\n").is_err());
        assert_eq!(log_lines("3 12 h1\n").unwrap()[0].at_ns, 12);
        assert!(log_lines("3 h1\n").is_err());
        assert_eq!(whose("belief.h1.42"), Some(("h1", 42)));
        assert_eq!(whose("log"), None);
    }

    #[test]
    fn gaps_are_the_times_without_a_believed_holder() {
        let mut evidence = Evidence::default();
        assert_eq!(evidence.gaps(5, 9), [(5, 9)]);
        evidence.beliefs = beliefs_of("h1", 1, "1 10 10\n1 20 20\n2 30 30\n2 40 40\n").unwrap();
        assert_eq!(evidence.gaps(0, 50), [(0, 10), (20, 30), (40, 50)]);
        assert_eq!(evidence.gaps(12, 25), [(20, 25)]);
        assert_eq!(evidence.gaps(31, 39), []);
    }
}
