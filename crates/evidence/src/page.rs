//! The report as one HTML page: verdicts, evidence, figures.

use std::fmt::Write;

use super::evidence::{Check, Verdict, name_of};
use super::{Budget, Drawing, Finding};

const STYLE: &str = include_str!("page.css");

/// Writes the page. It refers to no other file.
pub fn write(budget: &Budget, findings: &[Finding], drawings: &[Drawing]) -> String {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Hustings: claims, put to the test</title>\n",
    );
    let _ = writeln!(page, "<style>\n{STYLE}</style>\n</head>\n<body>\n<main>");
    page += &introduction(budget, findings);
    page += &overview(findings);
    for Drawing { name, caption, svg } in drawings {
        let caption = escaped(caption);
        let _ = writeln!(
            page,
            "<figure id=\"{}\">\n{}\n<figcaption>{caption}</figcaption>\n</figure>",
            name,
            fluid(svg)
        );
    }
    page += "<h2>Evidence</h2>\n";
    for finding in findings {
        page += &article(finding);
    }
    page + "</main>\n</body>\n</html>\n"
}

fn introduction(budget: &Budget, findings: &[Finding]) -> String {
    let mut documents: Vec<&str> = findings.iter().map(|finding| finding.document).collect();
    documents.dedup();
    let mut text = String::from("<h1>Claims, put to the test</h1>\n<p class=\"lead\">");
    text += &documents.into_iter().map(escaped).collect::<Vec<_>>().join("; ");
    let quick =
        "<strong>quick</strong>: fewer runs and smaller groups than without <code>--quick</code>";
    let extent = budget.choose(quick, "full");
    let (count, seed) = (findings.len(), budget.seed);
    let _ = writeln!(
        text,
        "</p>\n<p class=\"note\">{count} claims; {extent}; seed {seed}. Made by \
         <code>hustings reproduce</code>: the same seed gives the same page.</p>"
    );
    text
}

fn overview(findings: &[Finding]) -> String {
    let mut table = String::from(
        "<table class=\"overview\">\n<thead><tr><th>claim</th><th>verdict</th><th>the document says, and \
         what we measured</th></tr></thead>\n<tbody>\n",
    );
    for finding in findings {
        let claim = finding.claim;
        let _ = writeln!(
            table,
            "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td>{2}<br><span class=\"measured\">{3}\
             </span></td></tr>",
            claim.id,
            badge(finding),
            escaped(claim.says),
            escaped(&finding.measured()),
        );
    }
    table + "</tbody>\n</table>\n"
}

fn article(finding: &Finding) -> String {
    let claim = finding.claim;
    let mut text = format!(
        "<article id=\"{0}\">\n<h3><span class=\"id\">{0}</span> {1}</h3>\n<p class=\"says\">{2}</p>\n\
         <p class=\"note\">{3}; by {4}</p>\n<p>{5}</p>\n<p class=\"measured\">{6}</p>\n",
        claim.id,
        badge(finding),
        escaped(claim.says),
        escaped(claim.source),
        name_of(&claim.method),
        escaped(claim.reading),
        escaped(&finding.measured()),
    );
    if let Some(complaint) = finding.complaint() {
        let _ = writeln!(text, "<p class=\"alarm\">Not as on record: {}</p>", escaped(&complaint));
    }
    let checks = finding.evidence.as_ref().map_or(&[][..], |evidence| &evidence.checks);
    if !checks.is_empty() {
        text += "<div class=\"wide\"><table class=\"checks\">\n<thead><tr><th></th><th>what</th>\
                 <th>expected</th><th>measured</th></tr></thead>\n<tbody>\n";
        text.extend(checks.iter().map(row));
        text += "</tbody>\n</table></div>\n";
    }
    text + "</article>\n"
}

fn row(check: &Check) -> String {
    let (mark, class) = if check.agrees { ("✓", "yes") } else { ("✗", "no") };
    let word = name_of(&check.word);
    format!(
        "<tr><td class=\"{class}\">{mark} <small>{word}</small></td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escaped(&check.what),
        escaped(&check.expected),
        escaped(&check.measured)
    )
}

fn badge(finding: &Finding) -> String {
    let Some(verdict) = finding.verdict() else {
        return "<span class=\"badge failed\">failed to run</span>".to_owned();
    };
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsWithCorrection => "corrected",
        Verdict::DoesNotHold => "fails",
    };
    format!("<span class=\"badge {class}\">{}</span>", name_of(&verdict))
}

/// Removes the fixed size of a drawing, so that the drawing takes the width of the page.
fn fluid(svg: &str) -> String {
    let body = svg.find("<svg").map_or(svg, |start| &svg[start..]);
    let Some((tag, rest)) = body.split_once('>') else {
        return body.to_owned();
    };
    let is_size = |part: &&str| !part.starts_with("width=") && !part.starts_with("height=");
    // The view box repeats the size. Its numbers are separated by blanks and must stay.
    let parts: Vec<&str> = tag.split(' ').filter(is_size).collect();
    format!("{}>{rest}", parts.join(" "))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{escaped, fluid};

    #[test]
    fn markup_characters_are_escaped() {
        assert_eq!(escaped("a < b & c"), "a &lt; b &amp; c");
    }

    #[test]
    fn drawing_takes_the_width_of_the_page() {
        let svg = "<svg width=\"8\" height=\"5\" viewBox=\"0 0 8 5\" xmlns=\"x\">\n<rect width=\"1\"/></svg>";
        assert_eq!(fluid(svg), "<svg viewBox=\"0 0 8 5\" xmlns=\"x\">\n<rect width=\"1\"/></svg>");
    }
}
