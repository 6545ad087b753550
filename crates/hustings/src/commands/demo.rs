//! `hustings demo`: five real agents on this host, and what happens when their leader dies.

mod troupe;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::Args;
use hustings_agent::clock;
use hustings_agent::config::presets::{self, ANNOUNCE, Bounds};
use hustings_agent::config::values;
use hustings_protocol::{self as protocol, Instant};

use crate::failure::Failure;
use troupe::{Player, Troupe};

/// Five real agents on loopback: elect, kill the leader, watch the next one.
///
/// Starts five agent processes that find each other by multicast on this host's loopback, lets them
/// elect a leader, kills it with SIGKILL, shows who takes over and how fast, starts the dead one
/// again, and asks the new leader to leave. Ends by itself in a few seconds.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// How often a leader announces itself: 1ms to 1s
    #[arg(long, value_name = "DURATION", default_value_t = ANNOUNCE, value_parser = announce)]
    announce: protocol::Duration,
}

/// As long as agents may take, but a leader announces itself between two acts.
const ANNOUNCE_BOUNDS: Bounds = Bounds {
    longest: protocol::Duration::from_secs(1),
    in_words: "1ms to 1s",
    ..presets::ANNOUNCE_BOUNDS
};

fn announce(text: &str) -> Result<protocol::Duration, String> {
    ANNOUNCE_BOUNDS.check(values::duration(text)?)
}

const NAMES: [&str; 5] = ["alpha", "bravo", "charlie", "delta", "echo"];

/// Between two acts: a leader settles, and a person reads.
const REST: Duration = Duration::from_millis(1500);

/// Far longer than anything here takes: past it the demo has failed.
const PATIENCE: Duration = Duration::from_secs(10);

impl Demo {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let began = clock::now();
        let mut stage = Stage {
            began,
            colours: io::stdout().is_terminal(),
        };
        stage.say(format_args!(
            "Five agents on this host, each a process of its own. They have never heard of each other."
        ))?;
        let mut troupe = Troupe::enter(&NAMES, self.announce)?;

        let up = troupe.wait_all_up(PATIENCE)?;
        let (leader, known) = troupe.wait_agreed(None, PATIENCE)?;
        let elected = Span::between(up, known);
        stage.tell(
            known,
            format_args!(
                "all five name {} their leader, {elected} after the last of them came up",
                stage.leader(leader)
            ),
        )?;

        troupe.rest(REST);
        let pid = troupe.pid(leader);
        let killed = troupe.kill(leader)?;
        stage.tell(
            killed,
            format_args!(
                "kill -9 {pid}: {} is gone without a word",
                stage.victim(leader)
            ),
        )?;
        let (second, known) = troupe.wait_agreed(Some(leader), PATIENCE)?;
        let crash = Span::between(killed, known);
        stage.tell(
            known,
            format_args!(
                "the four others all name {}: {crash} after the kill",
                stage.leader(second)
            ),
        )?;

        troupe.rest(REST);
        let again = troupe.restart(leader)?;
        stage.tell(
            again,
            format_args!("{} is started again", stage.name(leader)),
        )?;
        let (still, known) = troupe.wait_agreed(None, PATIENCE)?;
        let back = Span::between(again, known);
        let remark = match still == second {
            true => "it follows: a leader that works is not unseated",
            false => "it leads again",
        };
        stage.tell(
            known,
            format_args!(
                "all five name {}, {back} later; {remark}",
                stage.leader(still)
            ),
        )?;

        troupe.rest(REST);
        let asked = troupe.terminate(still)?;
        stage.tell(
            asked,
            format_args!(
                "{} is asked to stop (SIGTERM), and says goodbye",
                stage.victim(still)
            ),
        )?;
        let (third, known) = troupe.wait_agreed(Some(still), PATIENCE)?;
        let leave = Span::between(asked, known);
        stage.tell(
            known,
            format_args!(
                "the four others all name {}: {leave} after the signal",
                stage.leader(third)
            ),
        )?;

        troupe.rest(REST);
        troupe.exit()?;
        stage.say(format_args!("\nNew leader known to every survivor"))?;
        stage.say(format_args!(
            "  first election, from nothing     {elected:>10}"
        ))?;
        stage.say(format_args!(
            "  after the leader was killed      {crash:>10}"
        ))?;
        stage.say(format_args!(
            "  after the leader left            {leave:>10}"
        ))?;
        stage.say(format_args!(
            "Leadership here is advisory: for a moment two members may both take themselves for the leader."
        ))
    }
}

/// Where the story is told.
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

/// A span of time, in seconds.
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
