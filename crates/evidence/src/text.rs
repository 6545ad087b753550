//! The report as a text table.

use std::fmt::Write;

use super::evidence::{Check, name_of};
use super::{Budget, Finding};

/// Writes two lines for each claim: the document's statement with our verdict, and the measurement.
/// `with_evidence` adds the checks that the verdict follows from.
pub fn write(budget: &Budget, findings: &[Finding], with_evidence: bool) -> String {
    let mut text = String::new();
    let mut document = "";
    for finding in findings {
        if finding.document != document {
            document = finding.document;
            let _ = writeln!(text, "{document}\n");
        }
        text += &entry(finding);
        if with_evidence {
            text += &evidence(finding);
        }
    }
    text + &closing(budget, findings, with_evidence)
}

fn entry(finding: &Finding) -> String {
    let claim = finding.claim;
    let verdict = finding.verdict().map_or("FAILED TO RUN".to_owned(), |it| name_of(&it));
    let measured = finding.measured();
    let (id, method, says) = (claim.id, name_of(&claim.method), claim.says);
    format!("{id:<4} {verdict:<21}  {says}\n     {method:<21}  {measured}\n")
}

fn evidence(finding: &Finding) -> String {
    let mut text = format!("\n     Reading: {}\n", finding.claim.reading);
    let checks = finding.evidence.iter().flat_map(|evidence| &evidence.checks);
    for Check { word, what, expected, measured, agrees } in checks {
        let word = name_of(word);
        let mark = if *agrees { "yes" } else { "NO" };
        let _ = writeln!(text, "     {mark:<3} {word:<10} {what}");
        if *agrees && expected == measured {
            let _ = writeln!(text, "                    {measured}");
        } else {
            let _ = writeln!(text, "                    expected {expected}; measured {measured}");
        }
    }
    text + "\n"
}

fn closing(budget: &Budget, findings: &[Finding], with_evidence: bool) -> String {
    let mut text = String::new();
    let complaints = findings.iter().filter_map(Finding::complaint);
    for complaint in complaints {
        let _ = writeln!(text, "\nNOT AS ON RECORD: {complaint}");
    }
    let (count, seed) = (findings.len(), budget.seed);
    let plural = if count == 1 { "" } else { "s" };
    let _ = write!(text, "\n{count} claim{plural}, seed {seed}");
    if budget.quick {
        text += "; quick: fewer runs and smaller groups than without --quick";
    }
    text.push('\n');
    if !with_evidence {
        text += "The evidence: `hustings reproduce ID`, or --out DIR for a page with figures.\n";
    }
    text
}
