//! `hustings demo`: five real agents on this host, and the failover after their leader is killed.

mod troupe;

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use hustings_agent::clock;
use hustings_agent::config::presets::{self, ANNOUNCE, Bounds};
use hustings_agent::config::values;
use hustings_protocol::{self as protocol, Instant};

use super::agent::log::shows_colours;
use crate::failure::Failure;
use troupe::{Agreed, Player, Troupe};

/// Run five real agents on loopback: elect, kill the leader, watch the next one take over.
///
/// Starts five agent processes that find each other by multicast on this host's loopback interface.
/// They elect a leader. Three of them, the voters, grant it tenure: a lease with a fence, a number
/// that only rises. Then the demo kills the leader with SIGKILL. The others name a new leader
/// within milliseconds, but it gets tenure only when the tenure of the dead one must have ended.
/// The demo restarts the dead agent and asks the new leader to leave. It ends by itself in a few
/// seconds.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The interval between a leader's announcements: 1ms to 1s
    #[arg(long, value_name = "DURATION", default_value_t = ANNOUNCE, value_parser = announce)]
    announce: protocol::Duration,

    /// The duration of one grant of tenure: 100ms to 5s
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = ttl)]
    ttl: protocol::Duration,
}

/// The bounds for agents, with a lower maximum: a leader announces itself between two steps of the
/// demo.
const ANNOUNCE_BOUNDS: Bounds = Bounds {
    longest: protocol::Duration::from_secs(1),
    in_words: "1ms to 1s",
    ..presets::ANNOUNCE_BOUNDS
};

fn announce(text: &str) -> Result<protocol::Duration, String> {
    ANNOUNCE_BOUNDS.check(values::duration(text)?)
}

/// The bounds for agents, with a lower maximum: the next leader should not take long.
const TTL_BOUNDS: Bounds = Bounds {
    longest: protocol::Duration::from_secs(5),
    in_words: "100ms to 5s",
    ..presets::TTL_BOUNDS
};

fn ttl(text: &str) -> Result<protocol::Duration, String> {
    TTL_BOUNDS.check(values::duration(text)?)
}

const NAMES: [&str; 5] = ["alpha", "bravo", "charlie", "delta", "echo"];

/// The pause between two steps, in which a leader settles and a person reads.
const REST: Duration = Duration::from_millis(1500);

/// The time limit of each step, far longer than any step takes. The demo fails if it passes.
const STEP_LIMIT: Duration = Duration::from_secs(10);

impl Demo {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let began = clock::now();
        let mut stage = Stage { began, colours: shows_colours(&io::stdout()) };
        stage.say(format_args!(
            "Five agents on this host, each a process of its own. They have never heard of each other.\n\
             Who is elected leads only while it holds tenure: a lease of {}, granted by two of three voters.",
            self.ttl
        ))?;
        let mut troupe = Troupe::enter(&NAMES, self.announce, self.ttl)?;

        let up = troupe.wait_all_up(STEP_LIMIT)?;
        let first = troupe.wait_tenure(None, STEP_LIMIT)?;
        let known = first.known.max(up);
        let elected = Span::between(up, known);
        stage.tell(
            known,
            format_args!(
                "{} leads with fence {}: all five know, {elected} after the last of them came up",
                stage.leader(first.leader),
                first.fence
            ),
        )?;

        let first =
            Self::settle(&mut troupe, &stage, first, "of two who spoke up at once the better one")?;
        let pid = troupe.pid(first.leader);
        let killed = troupe.kill(first.leader)?;
        stage.tell(
            killed,
            format_args!("kill -9 {pid}: {} is gone without a word", stage.victim(first.leader)),
        )?;
        let second = troupe.wait_tenure(Some(first.leader), STEP_LIMIT)?;
        let noticed = Span::between(killed, second.named);
        // If the election named this member before the kill, the others name the dead leader until
        // they learn of the next tenure. Then no line tells when they noticed.
        let is_noticed = second.named < second.known;
        if is_noticed {
            stage.tell(
                second.named,
                format_args!(
                    "the four others all name {}, {noticed} after the kill; it has to wait until the dead one's \
                     tenure must have ended",
                    stage.name(second.leader)
                ),
            )?;
        }
        let crash = Span::between(killed, second.known);
        stage.tell(
            second.known,
            format_args!(
                "{} leads with fence {}: {crash} after the kill",
                stage.leader(second.leader),
                second.fence
            ),
        )?;

        let second = Self::settle(&mut troupe, &stage, second, "the one before lost its tenure")?;
        let again = troupe.restart(first.leader)?;
        stage.tell(again, format_args!("{} is started again", stage.name(first.leader)))?;
        let still = troupe.wait_tenure(None, STEP_LIMIT)?;
        let back = Span::between(again, still.known);
        let remark = match still.fence == second.fence {
            true => "it follows: a leader that works is not unseated",
            false if still.leader == first.leader => "it leads again",
            false => "the one before lost its tenure",
        };
        stage.tell(
            still.known,
            format_args!(
                "all five name {}, with fence {}, {back} later; {remark}",
                stage.leader(still.leader),
                still.fence
            ),
        )?;

        let still = Self::settle(&mut troupe, &stage, still, "the one before lost its tenure")?;
        let asked = troupe.terminate(still.leader)?;
        stage.tell(
            asked,
            format_args!(
                "{} is asked to stop (SIGTERM): it gives its tenure up, and says goodbye",
                stage.victim(still.leader)
            ),
        )?;
        let third = troupe.wait_tenure(Some(still.leader), STEP_LIMIT)?;
        let leave = Span::between(asked, third.known);
        stage.tell(
            third.known,
            format_args!(
                "{} leads with fence {}: {leave} after the signal",
                stage.leader(third.leader),
                third.fence
            ),
        )?;

        troupe.rest(REST);
        troupe.exit()?;
        stage.say(format_args!("\nNew leader, with tenure, known to every survivor"))?;
        let rows = [
            ("first election, from nothing", Some(elected)),
            ("after the leader was killed", Some(crash)),
            ("  of that, until it was noticed", is_noticed.then_some(noticed)),
            ("after the leader left", Some(leave)),
        ];
        for (what, span) in rows {
            let Some(span) = span else { continue };
            stage.say(format_args!("  {what:<32} {span:>10}"))?;
        }
        stage.say(format_args!(
            "Fences {}, {}, {}: no two leaders ever had the same, and no two led at once.",
            first.fence, second.fence, third.fence
        ))
    }
}

impl Demo {
    /// Lets some time pass and returns the leader at the end. On a busy host that may be another
    /// member, and the output says so.
    fn settle(
        troupe: &mut Troupe,
        stage: &Stage,
        before: Agreed,
        remark: &str,
    ) -> Result<Agreed, Failure> {
        troupe.rest(REST);
        let now = troupe.wait_tenure(None, STEP_LIMIT)?;
        if now.fence != before.fence {
            stage.tell(
                now.known,
                format_args!(
                    "{} leads with fence {}: {remark}",
                    stage.leader(now.leader),
                    now.fence
                ),
            )?;
        }
        Ok(now)
    }
}

/// The terminal on which the demo reports.
struct Stage {
    began: Instant,
    colours: bool,
}

impl Stage {
    fn say(&mut self, what: fmt::Arguments<'_>) -> Result<(), Failure> {
        writeln!(io::stdout(), "{what}").map_err(|error| Failure::output(&error))
    }

    fn tell(&self, at: Instant, what: fmt::Arguments<'_>) -> Result<(), Failure> {
        let at = Span::between(self.began, at).0;
        writeln!(io::stdout(), "{at:7.3} s  {what}").map_err(|error| Failure::output(&error))
    }

    fn leader(&self, player: Player) -> String {
        self.paint(player, "1;32")
    }

    fn victim(&self, player: Player) -> String {
        self.paint(player, "1;31")
    }

    fn name(&self, player: Player) -> String {
        self.paint(player, "1")
    }

    fn paint(&self, player: Player, colour: &str) -> String {
        match self.colours {
            true => format!("\x1b[{colour}m{player}\x1b[0m"),
            false => player.to_string(),
        }
    }
}

/// A span of time in seconds.
#[derive(Debug, Clone, Copy)]
struct Span(f64);

impl Span {
    fn between(from: Instant, to: Instant) -> Self {
        Self((to - from).as_secs_f64())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 < 1.0 {
            true => format!("{:.1} ms", self.0 * 1e3),
            false => format!("{:.2} s", self.0),
        };
        f.pad(&text)
    }
}
