//! The results of the rounds, by kind of fault.

use super::TTL_MS;
use super::evidence::{Evidence, LogLine, Violation, violations};
use super::round::RoundRecord;
use super::schedule;
use crate::Result;
use crate::measure::milliseconds;
use crate::table::{Report, Spread, Verdict};

#[derive(Default)]
pub(super) struct Tally {
    rounds: Vec<Sum>,
    /// The time from the end of all faults until a member holds tenure.
    recoveries_ms: Spread,
    pauses: usize,
    violations: Vec<Violation>,
}

fn shown(violation: &Violation) -> String {
    format!("at {}: {}", violation.at_ns, violation.text)
}

/// The result of one round, or the sum of several.
#[derive(Debug, Clone, Default, PartialEq)]
struct Sum {
    kinds: Vec<&'static str>,
    tried: usize,
    tenures: usize,
    /// The longest time without a holder.
    vacant_ms: f64,
    accepted: usize,
    refused: usize,
    /// The total time during which two members believed that they held tenure.
    doubled_ms: f64,
    violations: usize,
}

impl Tally {
    /// Adds the rounds of one group. Returns true if there is no violation.
    pub(super) fn add(&mut self, evidence: &Evidence, records: &[RoundRecord]) -> bool {
        let pauses: Vec<_> = records.iter().flat_map(|it| it.pauses.clone()).collect();
        let found = violations(evidence, &pauses);
        for record in records {
            self.rounds.push(Sum::of(record, evidence, &found));
            let recovery = milliseconds(record.healed_ns, record.ended_ns);
            self.recoveries_ms.add(recovery);
        }
        self.pauses += pauses.len();
        let is_clean = found.is_empty();
        self.violations.extend(found);
        is_clean
    }

    pub(super) fn require_clean(&self) -> Result<()> {
        let found: Vec<String> = self.violations.iter().map(shown).collect();
        ensure!(found.is_empty(), "{}", found.join("\n"));
        Ok(())
    }

    pub(super) fn in_words(&self) -> String {
        let all = self.total(|_| true);
        format!(
            "{} tenures, {} writes, {} refused; vacant for {:.0} ms at most; never two holders",
            all.tenures, all.accepted, all.refused, all.vacant_ms
        )
    }

    pub(super) fn print(&self, report: &mut Report) {
        let title = format!(
            "Rounds of faults under tenure of {TTL_MS} ms; one with two faults counts for both. Longest time \
             without a holder and time with two of them in milliseconds:"
        );
        let headings = ["rounds", "tenures", "vacant", "accepted", "refused", "two hold", "wrong"];
        report.table(&title, &headings);
        for name in schedule::names() {
            self.total(|it| it.kinds.contains(&name)).print(name, report);
        }
        self.total(|_| true).print("all", report);
        for violation in &self.violations {
            report.note(&shown(violation));
        }
        let show = |share| {
            let quantile = self.recoveries_ms.quantile(share);
            quantile.map_or("-".to_owned(), |it| format!("{it:.0}"))
        };
        report.note(&format!(
            "From the end of all faults until a member holds: median {} ms, p95 {} ms, longest {} ms.",
            show(0.5),
            show(0.95),
            show(1.0)
        ));
        let believed_on = self.violations.iter().map(|it| it.believed_on_ns).sum();
        report.note(&format!(
            "Stopped for longer than the ttl: {} times; the former holder believed in its tenure afterwards for {:.3} ms.",
            self.pauses,
            milliseconds(0, believed_on)
        ));
    }

    fn total(&self, counts: impl Fn(&Sum) -> bool) -> Sum {
        let mut total = Sum::default();
        for sum in self.rounds.iter().filter(|it| counts(it)) {
            total.tried += sum.tried;
            total.tenures += sum.tenures;
            total.vacant_ms = total.vacant_ms.max(sum.vacant_ms);
            total.accepted += sum.accepted;
            total.refused += sum.refused;
            total.doubled_ms += sum.doubled_ms;
            total.violations += sum.violations;
        }
        total
    }
}

impl Sum {
    fn of(record: &RoundRecord, evidence: &Evidence, violations: &[Violation]) -> Self {
        let span = record.began_ns..record.ended_ns;
        let wrong = violations.iter().filter(|it| span.contains(&it.at_ns));
        let count = |lines: &[LogLine]| lines.iter().filter(|it| span.contains(&it.at_ns)).count();
        let gaps = evidence.gaps(span.start, span.end);
        let gaps = gaps.iter().map(|(from, to)| milliseconds(*from, *to));
        let begun = evidence.beliefs.iter().filter(|it| span.contains(&it.first_ns));
        Self {
            kinds: record.kinds.iter().map(|it| it.name()).collect(),
            tried: 1,
            tenures: begun.count(),
            vacant_ms: gaps.fold(0.0, f64::max),
            accepted: count(&evidence.writes),
            refused: count(&evidence.refused),
            doubled_ms: milliseconds(0, wrong.clone().map(|it| it.two_held_ns).sum()),
            violations: wrong.count(),
        }
    }

    fn print(&self, name: &str, report: &mut Report) {
        let cells = [
            self.tried.to_string(),
            self.tenures.to_string(),
            format!("{:.0}", self.vacant_ms),
            self.accepted.to_string(),
            self.refused.to_string(),
            format!("{:.3}", self.doubled_ms),
            self.violations.to_string(),
        ];
        report.row(name, &cells, &Verdict::new("0 wrong", self.violations == 0));
    }
}
