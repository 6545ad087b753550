//! What must hold of what writers left behind, whatever befell them.

use std::collections::BTreeMap;
use std::fmt;

use super::evidence::{Belief, Evidence, Written};
use crate::field::measure::milliseconds;

/// Something that must never be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) at_ns: u64,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Two processes under one fence.
    SharedFence { fence: u64, holders: [String; 2] },
    /// A tenure that began later has the lower fence.
    FenceFell { before: u64, after: u64 },
    /// Two believed to hold, for so long.
    TwoHolders { holders: [String; 2], ns: u64 },
    /// A line of the log that should have come before the one above it.
    OutOfOrder { above: String, line: String },
    /// A line under a fence that its writer never believed to hold.
    NeverHeld { line: String },
    /// One that was stopped for longer than its tenure lasted, and believed in it when it went on, for so long.
    BelievedOn { holder: String, ns: u64 },
}

/// A member that stood still for longer than tenure lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) process: u32,
    pub(super) stopped_ns: u64,
    pub(super) continued_ns: u64,
}

/// All that is wrong, in order of when it was.
pub(super) fn violations(evidence: &Evidence, pauses: &[Pause]) -> Vec<Violation> {
    let mut found = fences(evidence);
    found.extend(beliefs(&evidence.beliefs));
    found.extend(writes(evidence));
    found.extend(pauses.iter().flat_map(|it| after(it, &evidence.beliefs)));
    found.sort_by_key(|it| it.at_ns);
    found
}

/// No fence has two holders.
fn fences(evidence: &Evidence) -> Vec<Violation> {
    let believed = evidence.beliefs.iter();
    let believed = believed.map(|it| (it.fence, it.first_ns, name(it)));
    let mut holders: BTreeMap<u64, String> = BTreeMap::new();
    let mut found = Vec::new();
    for (fence, at_ns, holder) in believed {
        let first = holders.entry(fence).or_insert_with(|| holder.clone());
        if *first != holder {
            let holders = [first.clone(), holder];
            found.push(Violation {
                at_ns,
                what: What::SharedFence { fence, holders },
            });
        }
    }
    found
}

/// Of two tenures the later has the higher fence, and nobody believes in it before the earlier one is over.
fn beliefs(beliefs: &[Belief]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, later) in beliefs.iter().enumerate() {
        let at_ns = later.first_ns;
        let mut note = |what| found.push(Violation { at_ns, what });
        let before = beliefs[..index].iter();
        let highest = before.clone().map(|it| it.fence).max();
        // Of equal fences the rule above speaks.
        if let Some(before) = highest.filter(|&it| it > later.fence) {
            let after = later.fence;
            note(What::FenceFell { before, after });
        }
        for earlier in before.filter(|it| it.process != later.process) {
            let ns = earlier.last_ns.min(later.last_ns).saturating_sub(at_ns);
            if ns > 0 {
                let holders = [name(earlier), name(later)];
                note(What::TwoHolders { holders, ns });
            }
        }
    }
    found
}

/// Lines of the log are in order of fences and of time, and each was written by who held.
fn writes(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for pair in evidence.writes.windows(2) {
        let [above, line] = pair else { continue };
        if line.fence < above.fence || line.at_ns < above.at_ns {
            let (at_ns, line) = (line.at_ns, line.to_string());
            let above = above.to_string();
            let what = What::OutOfOrder { above, line };
            found.push(Violation { at_ns, what });
        }
    }
    for line in &evidence.writes {
        let is_it = |it: &Belief| it.fence == line.fence && it.member == line.member;
        if !evidence.beliefs.iter().any(is_it) {
            let (at_ns, line) = (line.at_ns, line.to_string());
            let what = What::NeverHeld { line };
            found.push(Violation { at_ns, what });
        }
    }
    found
}

/// Who was paused for longer than its tenure lasted knows it at once.
fn after(pause: &Pause, beliefs: &[Belief]) -> Option<Violation> {
    let held = |it: &&Belief| it.process == pause.process && it.first_ns < pause.stopped_ns;
    let belief = beliefs.iter().rfind(held)?;
    let ns = belief.last_ns.saturating_sub(pause.continued_ns);
    let holder = name(belief);
    (ns > 0).then_some(Violation {
        at_ns: pause.continued_ns,
        what: What::BelievedOn { holder, ns },
    })
}

fn name(belief: &Belief) -> String {
    format!("{} (process {})", belief.member, belief.process)
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.fence, self.at_ns, self.member)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: ", self.at_ns)?;
        match &self.what {
            What::SharedFence { fence, holders } => {
                write!(
                    f,
                    "fence {fence} has two holders: {}",
                    holders.join(" and ")
                )
            }
            What::FenceFell { before, after } => {
                write!(
                    f,
                    "a tenure with fence {after} began after one with {before}"
                )
            }
            What::TwoHolders { holders, ns } => write!(
                f,
                "two believe for {:.3} ms that they hold: {}",
                milliseconds(0, *ns),
                holders.join(" and ")
            ),
            What::OutOfOrder { above, line } => {
                write!(f, "`{line}` was written after `{above}`")
            }
            What::NeverHeld { line } => {
                write!(f, "`{line}` was written by one who never held that tenure")
            }
            What::BelievedOn { holder, ns } => write!(
                f,
                "{holder} went on after its tenure and believed in it for {:.3} ms",
                milliseconds(0, *ns)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Belief, Evidence, Pause, What, Written, violations};

    fn belief(process: u32, fence: u64, first_ns: u64, last_ns: u64) -> Belief {
        Belief {
            member: format!("h{}", process / 10),
            process,
            fence,
            first_ns,
            last_ns,
        }
    }

    fn line(process: u32, fence: u64, at_ns: u64) -> Written {
        let member = format!("h{}", process / 10);
        Written {
            fence,
            at_ns,
            member,
        }
    }

    /// Three tenures, as they should be: the first writer was restarted and held again.
    fn good() -> Evidence {
        Evidence {
            beliefs: vec![
                belief(10, 1, 100, 200),
                belief(20, 2, 300, 400),
                belief(11, 5, 500, 600),
            ],
            writes: vec![
                line(10, 1, 150),
                line(10, 1, 250),
                line(20, 2, 350),
                line(11, 5, 550),
            ],
            refused: vec![line(10, 1, 360)],
        }
    }

    /// What is found when `spoil` has been at it.
    fn check(spoil: impl FnOnce(&mut Evidence), expected: &[What]) {
        let mut evidence = good();
        spoil(&mut evidence);
        let found = violations(&evidence, &[]);
        let found: Vec<What> = found.into_iter().map(|it| it.what).collect();
        assert_eq!(found, expected);
    }

    fn names(first: u32, second: u32) -> [String; 2] {
        [first, second].map(|it| format!("h{} (process {it})", it / 10))
    }

    #[test]
    fn what_is_as_it_should_be_is_not_complained_of() {
        check(|_| {}, &[]);
    }

    #[test]
    fn a_fence_with_two_holders_is_found_even_if_one_is_the_others_next_life() {
        let shared = |holders| [What::SharedFence { fence: 5, holders }];
        check(
            |it| it.beliefs.push(belief(30, 5, 700, 800)),
            &shared(names(11, 30)),
        );
        check(
            |it| it.beliefs.push(belief(12, 5, 700, 800)),
            &shared(names(11, 12)),
        );
    }

    #[test]
    fn a_fence_that_falls_is_found() {
        let (before, after) = (5, 3);
        check(
            |it| it.beliefs.push(belief(30, 3, 700, 800)),
            &[What::FenceFell { before, after }],
        );
    }

    #[test]
    fn two_who_hold_at_once_are_found_also_if_another_came_between() {
        let holders = names(20, 11);
        let ns = 30;
        check(
            |it| it.beliefs[1].last_ns = 530,
            &[What::TwoHolders { holders, ns }],
        );
        let two = |first, second, ns| What::TwoHolders {
            holders: names(first, second),
            ns,
        };
        check(
            |it| it.beliefs[0].last_ns = 530,
            &[two(10, 20, 100), two(10, 11, 30)],
        );
    }

    #[test]
    fn a_late_write_that_was_let_in_is_found() {
        let out_of_order = |above: &str, line: &str| What::OutOfOrder {
            above: above.to_owned(),
            line: line.to_owned(),
        };
        check(
            |it| it.writes.insert(3, line(10, 1, 360)),
            &[out_of_order("2 350 h2", "1 360 h1")],
        );
        check(
            |it| it.writes.push(line(11, 5, 540)),
            &[out_of_order("5 550 h1", "5 540 h1")],
        );
    }

    #[test]
    fn a_write_by_one_who_never_held_is_found() {
        let never = |line: &str| What::NeverHeld {
            line: line.to_owned(),
        };
        check(|it| it.writes.push(line(30, 5, 560)), &[never("5 560 h3")]);
        check(|it| it.writes.push(line(11, 6, 560)), &[never("6 560 h1")]);
    }

    #[test]
    fn belief_that_outlives_a_pause_is_found() {
        let pause = |process, stopped_ns, continued_ns| Pause {
            process,
            stopped_ns,
            continued_ns,
        };
        assert_eq!(violations(&good(), &[pause(20, 400, 1_000)]), []);
        // It was given tenure anew, after the pause.
        assert_eq!(violations(&good(), &[pause(11, 450, 490)]), []);
        let found = violations(&good(), &[pause(20, 350, 390)]);
        let [found] = &found[..] else {
            panic!("one: {found:?}")
        };
        let ns = 10;
        let holder = "h2 (process 20)".to_owned();
        assert_eq!(found.what, What::BelievedOn { holder, ns });
    }
}
