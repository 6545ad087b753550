//! `hustings draw verify`: reports the conclusions that transcripts prove.

use std::path::PathBuf;

use clap::Args;
use hustings_draw::verify::{Finding, Times, Verification, Weight, verify};

use super::read_ring;
use crate::commands::agent::client::Printed;
use crate::failure::Failure;

/// Report what the transcripts of a draw prove: the elected member, or the members that broke the
/// protocol
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Verify {
    /// Transcripts of one draw; more transcripts allow more conclusions
    #[arg(required = true, value_name = "TRANSCRIPT")]
    transcripts: Vec<PathBuf>,

    /// The ring file of that draw
    #[arg(long, value_name = "FILE")]
    ring: PathBuf,

    /// The output format
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,
}

const AFTER_HELP: &str = include_str!("verify_help.txt").trim_ascii_end();

impl Verify {
    pub(super) fn run(self) -> Result<(), Failure> {
        let ring = read_ring(&self.ring)?;
        let mut transcripts = Vec::new();
        for path in &self.transcripts {
            let content = std::fs::read(path).map_err(|error| {
                Failure::Usage(format!("{}: cannot read it: {error}", path.display()))
            })?;
            transcripts.push((path.display().to_string(), content));
        }
        let found = verify(&ring, &transcripts);
        Failure::unless_unread(self.format.print(&found, in_words))?;
        if found.is_clean() { Ok(()) } else { Err(Failure::Exit(1)) }
    }
}

fn in_words(found: &Verification) -> String {
    let mut text = format!("draw {} for {}\n", found.number, found.draw);
    let first = found.transcripts.first().map(|it| it.session);
    let is_one = found.transcripts.iter().all(|it| Some(it.session) == first);
    for heard in &found.transcripts {
        let session = format!(" in sitting {:.8}", heard.session.to_string());
        let session = if is_one { "" } else { &session };
        text += &format!(
            "  {}: {} entries, signed by {}{session}: {}\n",
            heard.source, heard.entries, heard.member, heard.verdict
        );
        if found.leader.is_none() {
            text += &heard.times.map_or_else(String::new, times_in_words);
        }
    }
    for refused in &found.unusable {
        text += &format!("  {}: does not count: {}\n", refused.source, refused.why);
    }
    if !found.missing.is_empty() {
        text += &format!("  no transcript of {}\n", found.missing.join(", "));
    }
    for finding in &found.findings {
        text += &format!("{}\n", finding_in_words(finding));
    }
    text += &match (&found.leader, found.findings.is_empty()) {
        (Some(leader), true) => {
            format!("{leader} is elected: all members have signed the result\n")
        }
        (Some(leader), false) => format!("all members have signed that {leader} is elected\n"),
        (None, true) if found.transcripts.is_empty() => {
            "no transcript counts, so there is no verdict\n".to_owned()
        }
        (None, true) => {
            "no leader: these transcripts do not show which member caused that\n".to_owned()
        }
        (None, false) => "no leader\n".to_owned(),
    };
    text
}

/// Describes the times of the draw. After a dispute, the time may be in other members' logs.
fn times_in_words(times: Times) -> String {
    let last = times.last_message;
    let last = last.map_or_else(String::new, |it| format!(", received the last message {it}"));
    format!("    by its own clock: began {}{last}, signed {}\n", times.began, times.concluded)
}

fn finding_in_words(finding: &Finding) -> String {
    let Finding { who, weight, what } = finding;
    let all = who.join(", ");
    match weight {
        Weight::Proven => format!("proven: {all}: {what}"),
        Weight::Unanswered => {
            format!("unanswered: {all}: {what}: their transcripts could settle it")
        }
        Weight::Either => format!("either {}, or the link between them: {what}", who.join(" or ")),
        Weight::Open => format!("open: {what}"),
    }
}
