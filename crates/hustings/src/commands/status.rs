//! `hustings status`: what a running agent knows.

use std::io::Write;

use clap::Args;
use hustings_agent::group::{CircleStatus, Measured, TenureStatus};
use hustings_agent::{AgentStatus, CouncilStatus, GroupStatus, clock};
use hustings_protocol::{Duration, Instant};

use super::agent::client::{ClientOptions, Printed, in_words, mode_in_words};
use crate::failure::Failure;

/// Tell who leads, as the agent of this host sees it
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    agent: ClientOptions,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,
}

impl Status {
    pub(super) fn run(self) -> Result<(), Failure> {
        let client = self.agent.client();
        let status: AgentStatus = client
            .get("/v1/status")
            .map_err(|why| client.failure(why))?;
        let text = match self.format {
            Printed::Text => table(&status, client.address().ip().is_loopback()),
            // Plain data: nothing in it that JSON cannot say.
            Printed::Json => serde_json::to_string(&status).unwrap_or_default() + "\n",
        };
        let printed = write!(std::io::stdout(), "{text}");
        printed.map_err(|error| Failure::output(&error))
    }
}

/// The status for people. Times can be told if the agent's clock is ours.
fn table(status: &AgentStatus, shares_clock: bool) -> String {
    let mut text = format!(
        "member {} at {}, hustings {}\n",
        status.member, status.address, status.version
    );
    for group in &status.groups {
        text += &describe(group, shares_clock);
    }
    text
}

fn describe(group: &GroupStatus, shares_clock: bool) -> String {
    let leadership = &group.leadership;
    let since = match shares_clock {
        true => format!(
            ", for {:.1} s",
            (clock::now() - leadership.since).as_secs_f64()
        ),
        false => String::new(),
    };
    let names: Vec<&str> = group.peers.iter().map(|peer| peer.name.as_str()).collect();
    // Followers are silent: this is no list of the group.
    let heard_of = match names.is_empty() {
        true => "nobody".to_owned(),
        false => names.join(", "),
    };
    let counters = &group.counters;
    let leader = match group.protocol.as_str() {
        "none" => format!("group {}: no leader is elected", leadership.group),
        _ => format!("{}{since}", in_words(leadership)),
    };
    let mut text = format!(
        "\n{leader}\n  mode      {}\n  protocol  {}, by {}\n  heard of  {heard_of}\n  changes   {}\n  frames    {} sent, {} heard, {} refused\n",
        mode_in_words(leadership.mode),
        group.protocol,
        group.reach,
        leadership.changes,
        counters.sent,
        counters.heard,
        counters.rejected(),
    );
    if let Some(circle) = &group.circle {
        text += &circle_in_words(circle);
    }
    if let (Some(k), Some(measured)) = (group.k, &group.measured) {
        text += &measured_in_words(k, measured);
    }
    if let Some(tenure) = &group.tenure {
        text += &tenure_in_words(tenure, shares_clock);
    }
    if let Some(council) = &group.council {
        text += &council_in_words(council, shares_clock);
    }
    if let Some(address) = group.namesake {
        text += &format!(
            "  warning   another member called {} is at {address}: this one takes no part; rename one of them\n",
            leadership.member
        );
    }
    text
}

/// Of a host, whether it is seated; of a centre, who is.
fn council_in_words(council: &CouncilStatus, shares_clock: bool) -> String {
    let since = |at: Instant| match shares_clock {
        true => format!(", for {:.1} s", (clock::now() - at).as_secs_f64()),
        false => String::new(),
    };
    let left = |lease: Option<Duration>| {
        lease.map_or_else(String::new, |left| {
            format!(", {:.1} s left unless heard", left.as_secs_f64())
        })
    };
    match council {
        CouncilStatus::Host(host) => match &host.seat {
            None => String::new(), // most hosts are not
            Some(seat) => format!(
                "  council   seated by {}{}{}\n",
                seat.centre.name,
                since(seat.since),
                left(seat.lease)
            ),
        },
        CouncilStatus::Centre(centre) => {
            let mut text = format!(
                "  council   {}\n  calls     {} rounds, {} replies, at most {} in one\n",
                super::council::seats_in_words(centre),
                centre.rounds,
                centre.replies,
                centre.peak_replies
            );
            if let Some(awaits) = centre.awaits {
                text += &format!(
                    "  waits     {:.1} s at most, for seats that another centre gave: then those who are elected are seated\n",
                    awaits.as_secs_f64()
                );
            }
            for seat in centre.seats() {
                let address = seat.member.address;
                let address = address.map_or_else(String::new, |it| format!(" at {it}"));
                text += &format!(
                    "  seat      {}{address}{}{}\n",
                    seat.member.name,
                    since(seat.since),
                    left(seat.lease)
                );
            }
            text
        }
    }
}

/// What this member knows of a group that nobody knows whole.
fn circle_in_words(circle: &CircleStatus) -> String {
    let size = circle.size.map_or_else(
        || "not counted yet".to_owned(),
        |size| format!("about {size}"),
    );
    format!(
        "  members   {size}, of whom this one knows {} of at most {}\n",
        circle.known, circle.view
    )
}

/// How many are to relay in an election, and what was measured.
fn measured_in_words(k: u32, measured: &Measured) -> String {
    let percent = |part: Option<f64>, digits: usize| {
        let known = part.map(|part| format!("{:.digits$} %", part * 100.0));
        known.unwrap_or_else(|| "not known yet what part".to_owned())
    };
    format!(
        "  relaying  K {k}; measured: {} of messages lost, {} of members gone in a round\n",
        percent(measured.loss, 0),
        percent(measured.crash, 2)
    )
}

/// Who grants tenure, who holds it, and what came of this member's own attempts.
fn tenure_in_words(tenure: &TenureStatus, shares_clock: bool) -> String {
    let holder = match (&tenure.holder, tenure.fence) {
        (Some(holder), Some(fence)) => format!("{holder}, fence {fence}"),
        _ => "nobody, as far as this member knows".to_owned(),
    };
    let remaining = tenure.remaining.map_or_else(String::new, |left| {
        format!(", {:.1} s left unless renewed", left.as_secs_f64())
    });
    let mut text = format!(
        "  authority {}{}\n  holder    {holder}{remaining}\n",
        tenure.authority,
        match tenure.reachable {
            Some(false) => ", which did not answer when it was asked last",
            Some(true) | None => "",
        }
    );
    if shares_clock && !tenure.voters.is_empty() {
        let reached = tenure.reached(clock::now());
        let heard: Vec<&str> = reached.map(|it| &*it.name).collect();
        text += &format!(
            "  voters    {} of {} heard in the last {}{}{}\n",
            heard.len(),
            tenure.voters.len(),
            tenure.reached_within(),
            if heard.is_empty() { "" } else { ": " },
            heard.join(", ")
        );
        if tenure.remaining.is_none() {
            text += "            (only who holds tenure asks them all the time)\n";
        }
    }
    for refusal in tenure.refusals.iter().rev().take(3) {
        let ago = match shares_clock {
            true => format!("{:.1} s ago", (clock::now() - refusal.at).as_secs_f64()),
            false => format!("at {} ns", refusal.at.0),
        };
        text += &format!(
            "  refused   {ago}, {} in a row: {}\n",
            refusal.times, refusal.why
        );
    }
    text
}
