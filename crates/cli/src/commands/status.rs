//! `hustings status`: prints the state of a running agent.

use clap::Args;
use hustings_agent::counters::Counters;
use hustings_agent::group::health::in_words as span_in_words;
use hustings_agent::group::{Measured, PartialViewStatus, PeerStatus, TenureStatus};
use hustings_agent::{AgentStatus, CouncilStatus, GroupStatus, Mode};
use hustings_protocol::{Duration, Instant};

use super::agent::client::{Client, Printed, in_words};
use crate::failure::Failure;

/// Print the leaders, as the agent of this host sees them
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    agent: Client,

    /// The output format
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,
}

impl Status {
    pub(super) fn run(self) -> Result<(), Failure> {
        let client = &self.agent;
        let status: AgentStatus = client.get("/v1/status").map_err(|why| client.failure(why))?;
        self.format.print(&status, table)
    }
}

/// Describes the status for people.
fn table(status: &AgentStatus) -> String {
    let mut text =
        format!("member {} at {}, hustings {}\n", status.member, status.address, status.version);
    for group in &status.groups {
        text += &describe(group, status.now);
    }
    text
}

/// Describes one group at `now` on its agent's clock.
fn describe(group: &GroupStatus, now: Instant) -> String {
    let leadership = &group.leadership;
    let elects = group.protocol != "none";
    let mut text = if elects {
        format!("\n{}{}\n", in_words(leadership), since(leadership.since, now))
    } else {
        format!("\ngroup {}: no leader is elected\n", leadership.group)
    };
    let health = &group.health;
    text += &format!("  health    {}: {}\n", health.level.name(), health.summary);
    if elects {
        text += match leadership.mode {
            Mode::Advisory => {
                "  mode      advisory: two members may both act as leader for a while\n"
            }
            Mode::Fenced => {
                "  mode      fenced: at most one member leads, and each tenure has a higher fence\n"
            }
        };
    }
    // Followers are silent, so this is not a list of the group.
    let heard_of: Vec<String> = group.peers.iter().map(|it| peer(it, now)).collect();
    let heard_of =
        if heard_of.is_empty() { "no other member".to_owned() } else { heard_of.join(", ") };
    let (protocol, reach) = (&group.protocol, &group.reach);
    text += &format!("  protocol  {protocol}, by {reach}\n  heard of  {heard_of}\n");
    if elects {
        text += &format!("  changes   {}\n", leadership.changes);
    }
    text += &frames(&group.counters);
    text += &group.partial_view.as_ref().map_or_else(String::new, partial_view_in_words);
    if let (Some(k), Some(measured)) = (group.k, &group.measured) {
        text += &measured_in_words(k, measured);
    }
    text += &group.tenure.as_ref().map_or_else(String::new, |it| tenure_in_words(it, now));
    if let Some(council) = &group.council {
        text += &council_in_words(council, !elects, now);
    }
    text
}

fn since(at: Instant, now: Instant) -> String {
    format!(", for {:.1} s", (now - at).as_secs_f64())
}

/// Describes the rest of a span, unless something happens.
fn left(rest: Option<Duration>, unless: &str) -> String {
    rest.map_or_else(String::new, |it| format!(", {:.1} s left unless {unless}", it.as_secs_f64()))
}

/// Describes the frame counters. Frames of other groups are not shown as refused: they are meant
/// for other agents.
fn frames(counters: &Counters) -> String {
    let others = counters.other_group;
    let (sent, heard, refused) = (counters.sent, counters.heard, counters.rejected() - others);
    let of_others = format!(", {others} of other groups");
    let of_others = if others == 0 { "" } else { &of_others };
    format!("  frames    {sent} sent, {heard} heard, {refused} refused{of_others}\n")
}

/// Describes a member that was heard, and whether it is missed: by the failure detector, or by this
/// member's own probe. Otherwise gives the time since it was heard. Silence alone means nothing,
/// because followers are silent.
fn peer(it: &PeerStatus, now: Instant) -> String {
    let name = &it.peer.name;
    let heard = it.heard.map(|at| span_in_words(now - at));
    match (it.up, it.silent_for, heard) {
        (Some(true), _, _) | (None, None, None) => name.clone(),
        (Some(false), _, heard) => {
            let heard = heard.unwrap_or_else(|| "0.0 s".to_owned());
            format!("{name} (down, last heard {heard} ago)")
        }
        (None, Some(silent), _) => {
            format!("{name} (does not answer, for {})", span_in_words(silent))
        }
        (None, None, Some(heard)) => format!("{name} (heard {heard} ago)"),
    }
}

/// Describes the council. For a host: its seat, if it has one or takes part in nothing else. For a
/// centre: the seated hosts.
fn council_in_words(council: &CouncilStatus, is_all: bool, now: Instant) -> String {
    let centre = match council {
        CouncilStatus::Host(host) => {
            return match &host.seat {
                None if is_all => "  council   host, not seated\n".to_owned(),
                None => String::new(), // most hosts have no seat
                Some(seat) => {
                    let (since, left) = (since(seat.since, now), left(seat.lease, "heard"));
                    format!("  council   seated by {}{since}{left}\n", seat.centre.name)
                }
            };
        }
        CouncilStatus::Centre(centre) => centre,
    };
    let mut text = format!(
        "  council   {}\n  calls     {} rounds, {} replies, at most {} in one\n",
        super::council::seats_in_words(centre),
        centre.rounds,
        centre.replies,
        centre.peak_replies
    );
    if let Some(awaits) = centre.awaits {
        text += &format!(
            "  waits     {:.1} s at most, until seats from another centre have ended; then the \
             elected hosts are seated\n",
            awaits.as_secs_f64()
        );
    }
    for seat in centre.seats() {
        let at = seat.member.address.map_or_else(String::new, |it| format!(" at {it}"));
        let (since, left) = (since(seat.since, now), left(seat.lease, "heard"));
        text += &format!("  seat      {}{at}{since}{left}\n", seat.member.name);
    }
    text
}

/// Describes this member's partial view of the group.
fn partial_view_in_words(partial_view: &PartialViewStatus) -> String {
    let PartialViewStatus { size, known, view, .. } = partial_view;
    let size = size.map_or_else(|| "not counted yet".to_owned(), |size| format!("about {size}"));
    format!("  members   {size}; this member knows {known}, of at most {view}\n")
}

/// Describes the number of relays in an election and the measurements behind it.
fn measured_in_words(k: u32, measured: &Measured) -> String {
    let percent = |part: Option<f64>, digits: usize| {
        let known = part.map(|part| format!("{:.digits$} %", part * 100.0));
        known.unwrap_or_else(|| "an unknown part".to_owned())
    };
    format!(
        "  relaying  K {k}; measured: {} of messages lost, {} of members gone in a round\n",
        percent(measured.loss, 0),
        percent(measured.crash, 2)
    )
}

/// Describes the authority that grants tenure, the holder, and the result of this member's own
/// attempts.
fn tenure_in_words(tenure: &TenureStatus, now: Instant) -> String {
    let holder = match (&tenure.holder, tenure.fence) {
        (Some(holder), Some(fence)) => format!("{holder}, fence {fence}"),
        _ => "none that this member knows of".to_owned(),
    };
    let remaining = left(tenure.remaining, "renewed");
    let silent = match tenure.reachable {
        Some(false) => ", which did not answer the last request",
        Some(true) | None => "",
    };
    let mut text =
        format!("  authority {}{silent}\n  holder    {holder}{remaining}\n", tenure.authority);
    if tenure.hears_voters() {
        let heard = tenure.reached();
        // Too few: the others' answers are overdue, however recently those were heard.
        let answer = match heard.len() < tenure.majority() {
            true => "answer".to_owned(),
            false => format!("heard in the last {}", tenure.reached_within()),
        };
        text += &format!(
            "  voters    {} of {} {answer}{}{}\n",
            heard.len(),
            tenure.voters.len(),
            if heard.is_empty() { "" } else { ": " },
            heard.join(", ")
        );
    } else if !tenure.voters.is_empty() {
        let voters: Vec<&str> = tenure.voters.iter().map(|it| it.name.as_str()).collect();
        let voters = voters.join(", ");
        text += &format!(
            "  voters    {voters} (heard by the member that holds tenure or asks for it)\n"
        );
    }
    // Once a member holds tenure, the reason why this member did not get it is history.
    let label = if tenure.holder.is_some() { "earlier" } else { "refused" };
    for refusal in tenure.refusals.iter().rev().take(3) {
        let ago = span_in_words(now - refusal.at);
        text += &format!("  {label:<9} {ago} ago, {} in a row: {}\n", refusal.times, refusal.why);
    }
    text
}

#[cfg(test)]
mod tests {
    use hustings_agent::Peer;
    use hustings_agent::group::VoterStatus;
    use hustings_protocol::MemberId;

    use super::*;

    #[test]
    fn frames_of_other_groups_are_not_shown_as_refused() {
        let mut counters = Counters { sent: 3, heard: 2, ..Counters::default() };
        counters.replayed = 1;
        let text = frames(&counters);
        assert_eq!(text, "  frames    3 sent, 2 heard, 1 refused\n");
        counters.other_group = 458;
        let text = frames(&counters);
        assert_eq!(text, "  frames    3 sent, 2 heard, 1 refused, 458 of other groups\n");
    }

    #[test]
    fn only_a_probed_member_is_shown_as_silent() {
        let now = Instant(100_000_000_000);
        let mut beta = PeerStatus {
            peer: Peer { name: "beta".to_owned(), id: MemberId(1), address: None },
            heard: Some(Instant(60_000_000_000)),
            unanswered: None,
            silent_for: None,
            up: None,
        };
        assert_eq!(peer(&beta, now), "beta (heard 40.0 s ago)");
        beta.silent_for = Some(Duration::from_secs(14));
        assert_eq!(peer(&beta, now), "beta (does not answer, for 14.0 s)");
        beta.up = Some(true);
        assert_eq!(peer(&beta, now), "beta");
        beta.up = Some(false);
        assert_eq!(peer(&beta, now), "beta (down, last heard 40.0 s ago)");
    }

    #[test]
    fn lost_majority_is_shown_without_the_span_in_which_voters_were_heard() {
        let now = Instant(100_000_000_000);
        let shown = |answering: usize| {
            let voters = ["alpha", "beta", "gamma"].into_iter().enumerate();
            let voters = voters.map(|(at, name)| VoterStatus {
                name: name.to_owned(),
                heard: Some(now),
                answers: Some(at < answering),
            });
            let text = tenure_in_words(
                &TenureStatus {
                    authority: "quorum of 3".to_owned(),
                    ttl: Some(Duration::from_secs(2)),
                    holder: Some("alpha".to_owned()),
                    fence: Some(7),
                    remaining: Some(Duration::from_secs(1)),
                    voters: voters.collect(),
                    asking: false,
                    reachable: None,
                    shut_out: None,
                    refusals: Vec::new(),
                    disputed: None,
                },
                now,
            );
            let line = text.lines().find(|it| it.starts_with("  voters"));
            line.map(str::to_owned).expect("it has voters")
        };
        assert_eq!(shown(2), "  voters    2 of 3 heard in the last 2s: alpha, beta");
        assert_eq!(shown(1), "  voters    1 of 3 answer: alpha");
    }
}
