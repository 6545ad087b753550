//! `hustings demo`: five real agents on this host, and the failover after their leader is killed.

mod cluster;

use std::fmt;
use std::io;
use std::time::Duration;

use clap::Args;
use hustings_agent::clock;
use hustings_agent::config::presets::{self, ANNOUNCE, Bounds};
use hustings_agent::config::values;
use hustings_protocol::{self as protocol, Instant};

use super::agent::log::shows_colours;
use crate::failure::{Failure, print};
use cluster::{Agreed, DemoCluster, Member};

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
        let terminal = Terminal { began: clock::now(), colours: shows_colours(&io::stdout()) };
        terminal.say(format_args!(
            "Five agents on this host, each in its own process. They do not know each other \
             yet.\nThe elected member leads only while it holds tenure: a lease of {}, granted \
             by two of three voters.",
            self.ttl
        ))?;
        let cluster = DemoCluster::start(self.announce, self.ttl)?;
        let mut scenes = Scenes { terminal, cluster };
        let (first, elected) = scenes.elect()?;
        let first = scenes.settle(
            first,
            "two members announced themselves at once, and the \
            better one leads",
        )?;
        let (second, noticed, crash) = scenes.kill(first.leader)?;
        let second = scenes.settle(second, "the previous leader lost its tenure")?;
        let still = scenes.restart(first.leader, second)?;
        let still = scenes.settle(still, "the previous leader lost its tenure")?;
        let (third, leave) = scenes.terminate(still.leader)?;

        let Scenes { terminal, mut cluster } = scenes;
        cluster.rest(REST);
        cluster.stop()?;
        terminal.say(format_args!("\nTime until every survivor knew a new leader with tenure"))?;
        let rows = [
            ("first election, from nothing", Some(elected)),
            ("after the leader was killed", Some(crash)),
            ("  of that, until they noticed", noticed),
            ("after the leader left", Some(leave)),
        ];
        for (what, span) in rows {
            let Some(span) = span else { continue };
            terminal.say(format_args!("  {what:<32} {span:>10}"))?;
        }
        terminal.say(format_args!(
            "Fences {}, {}, {}: no two leaders had the same fence, and no two led at once.",
            first.fence, second.fence, third.fence
        ))
    }
}

/// The steps of the demo.
struct Scenes {
    terminal: Terminal,
    cluster: DemoCluster,
}

impl Scenes {
    /// Waits for the first leader. Returns it, and the time that its election took.
    fn elect(&mut self) -> Result<(Agreed, Span), Failure> {
        let up = self.cluster.wait_all_up(STEP_LIMIT)?;
        let leader = self.cluster.wait_tenure(None, STEP_LIMIT)?;
        let known = leader.known.max(up);
        let elected = Span::between(up, known);
        let after = format!("all five know it, {elected} after the last agent came up");
        self.terminal.tell_leader(known, &leader, &after)?;
        Ok((leader, elected))
    }

    /// Lets some time pass and returns the leader at the end. On a busy host that may be another
    /// member, and the output says so.
    fn settle(&mut self, before: Agreed, remark: &str) -> Result<Agreed, Failure> {
        self.cluster.rest(REST);
        let now = self.cluster.wait_tenure(None, STEP_LIMIT)?;
        if now.fence != before.fence {
            self.terminal.tell_leader(now.known, &now, remark)?;
        }
        Ok(now)
    }

    /// Kills the leader. Returns its successor, the time until the others noticed, if a line tells
    /// it, and the time until the successor led.
    fn kill(&mut self, leader: Member) -> Result<(Agreed, Option<Span>, Span), Failure> {
        let pid = self.cluster.pid(leader);
        let killed = self.cluster.kill(leader)?;
        let victim = self.terminal.victim(leader);
        let gone = format_args!("kill -9 {pid}: {victim} dies without a goodbye");
        self.terminal.tell(killed, gone)?;
        let next = self.cluster.wait_tenure(Some(leader), STEP_LIMIT)?;
        let noticed = Span::between(killed, next.named);
        // If the election named this member before the kill, the others name the dead leader until
        // they learn of the next tenure. Then no line tells when they noticed.
        let is_noticed = next.named < next.known;
        if is_noticed {
            self.terminal.tell(
                next.named,
                format_args!(
                    "the other four all name {}, {noticed} after the kill; it must wait until \
                     {victim} can have no tenure left",
                    self.terminal.name(next.leader)
                ),
            )?;
        }
        let crash = Span::between(killed, next.known);
        self.terminal.tell_leader(next.known, &next, &format!("{crash} after the kill"))?;
        Ok((next, is_noticed.then_some(noticed), crash))
    }

    /// Starts the killed agent again, and returns the leader that all name then.
    fn restart(&mut self, killed: Member, before: Agreed) -> Result<Agreed, Failure> {
        let again = self.cluster.restart(killed)?;
        let name = self.terminal.name(killed);
        self.terminal.tell(again, format_args!("{name} starts again"))?;
        let still = self.cluster.wait_tenure(None, STEP_LIMIT)?;
        let back = Span::between(again, still.known);
        let remark = if still.fence == before.fence {
            format!("a working leader is not replaced, so {name} follows it")
        } else if still.leader == killed {
            "it leads again".to_owned()
        } else {
            "the previous leader lost its tenure".to_owned()
        };
        self.terminal.tell(
            still.known,
            format_args!(
                "all five name {}, with fence {}, {back} later; {remark}",
                self.terminal.leader(still.leader),
                still.fence
            ),
        )?;
        Ok(still)
    }

    /// Asks the leader to stop. Returns its successor, and the time until that led.
    fn terminate(&mut self, leader: Member) -> Result<(Agreed, Span), Failure> {
        let asked = self.cluster.terminate(leader)?;
        self.terminal.tell(
            asked,
            format_args!(
                "{} gets SIGTERM: it releases its tenure and sends a goodbye",
                self.terminal.victim(leader)
            ),
        )?;
        let next = self.cluster.wait_tenure(Some(leader), STEP_LIMIT)?;
        let leave = Span::between(asked, next.known);
        self.terminal.tell_leader(next.known, &next, &format!("{leave} after the signal"))?;
        Ok((next, leave))
    }
}

/// The terminal on which the demo reports.
struct Terminal {
    began: Instant,
    colours: bool,
}

impl Terminal {
    fn say(&self, what: fmt::Arguments<'_>) -> Result<(), Failure> {
        print(&format!("{what}\n"))
    }

    fn tell(&self, at: Instant, what: fmt::Arguments<'_>) -> Result<(), Failure> {
        let at = Span::between(self.began, at).0;
        self.say(format_args!("{at:7.3} s  {what}"))
    }

    fn tell_leader(&self, at: Instant, agreed: &Agreed, remark: &str) -> Result<(), Failure> {
        let (leader, fence) = (self.leader(agreed.leader), agreed.fence);
        self.tell(at, format_args!("{leader} leads with fence {fence}: {remark}"))
    }

    fn leader(&self, member: Member) -> String {
        self.paint(member, "1;32")
    }

    fn victim(&self, member: Member) -> String {
        self.paint(member, "1;31")
    }

    fn name(&self, member: Member) -> String {
        self.paint(member, "1")
    }

    fn paint(&self, member: Member, colour: &str) -> String {
        if self.colours { format!("\x1b[{colour}m{member}\x1b[0m") } else { member.to_string() }
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
        let text = if self.0 < 1.0 {
            format!("{:.1} ms", self.0 * 1e3)
        } else {
            format!("{:.2} s", self.0)
        };
        f.pad(&text)
    }
}
