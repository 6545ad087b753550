//! `hustings demo`: five real agents on this host, and the failover after their leader is killed.

mod cluster;

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
        let (began, colours) = (clock::now(), shows_colours(&io::stdout()));
        say(&format!(
            "Five agents on this host, each in its own process. They do not know each other \
             yet.\nThe elected member leads only while it holds tenure: a lease of {}, granted by \
             two of three voters.",
            self.ttl
        ))?;
        let cluster = DemoCluster::start(self.announce, self.ttl)?;
        let mut scenes = Scenes { began, colours, cluster };
        let (first, elected) = scenes.elect()?;
        let two = "two members announced themselves at once, and the better one leads";
        let first = scenes.settle(first, two)?;
        let (second, noticed, crash) = scenes.kill(first.leader)?;
        let second = scenes.settle(second, TENURE_LOST)?;
        let still = scenes.restart(first.leader, second)?;
        let still = scenes.settle(still, TENURE_LOST)?;
        let (third, leave) = scenes.terminate(still.leader)?;
        scenes.cluster.rest(REST);
        scenes.cluster.stop()?;
        say("\nTime until every survivor knew a new leader with tenure")?;
        let rows = [
            ("first election, from nothing", Some(elected)),
            ("after the leader was killed", Some(crash)),
            ("  of that, until they noticed", noticed),
            ("after the leader left", Some(leave)),
        ];
        for (what, span) in rows {
            if let Some(span) = span {
                say(&format!("  {what:<32} {span:>10}"))?;
            }
        }
        say(&format!(
            "Fences {}, {}, {}: no two leaders had the same fence, and no two led at once.",
            first.fence, second.fence, third.fence
        ))
    }
}

/// The explanation of a change of leaders between two steps.
const TENURE_LOST: &str = "the previous leader lost its tenure";

/// The steps of the demo, which report on the terminal.
struct Scenes {
    began: Instant,
    /// True if the terminal shows colours.
    colours: bool,
    cluster: DemoCluster,
}

impl Scenes {
    /// Waits for the first leader. Returns it, and the time that its election took.
    fn elect(&mut self) -> Result<(Agreed, String), Failure> {
        let up = self.cluster.wait_all_up()?;
        let leader = self.cluster.wait_tenure(None)?;
        let known = leader.known.max(up);
        let elected = span(up, known);
        let after = format!("all five know it, {elected} after the last agent came up");
        self.tell_leader(known, &leader, &after)?;
        Ok((leader, elected))
    }

    /// Lets some time pass and returns the leader at the end. On a busy host that may be another
    /// member, and the output says so.
    fn settle(&mut self, before: Agreed, remark: &str) -> Result<Agreed, Failure> {
        self.cluster.rest(REST);
        let now = self.cluster.wait_tenure(None)?;
        if now.fence != before.fence {
            self.tell_leader(now.known, &now, remark)?;
        }
        Ok(now)
    }

    /// Kills the leader. Returns its successor, the time until the others noticed, if a line tells
    /// it, and the time until the successor led.
    fn kill(&mut self, leader: Member) -> Result<(Agreed, Option<String>, String), Failure> {
        let pid = self.cluster.pid(leader)?;
        let killed = self.cluster.kill(leader)?;
        let victim = self.paint(leader, VICTIM);
        self.tell(killed, &format!("kill -9 {pid}: {victim} dies without a goodbye"))?;
        let next = self.cluster.wait_tenure(Some(leader))?;
        // If the election named this member before the kill, the others name the dead leader until
        // they learn of the next tenure. Then no line tells when they noticed.
        let noticed = (next.named < next.known).then(|| span(killed, next.named));
        if let Some(noticed) = &noticed {
            let named = self.paint(next.leader, MEMBER);
            let what = format!(
                "the other four all name {named}, {noticed} after the kill; it must wait until \
                 {victim} can have no tenure left"
            );
            self.tell(next.named, &what)?;
        }
        let crash = span(killed, next.known);
        self.tell_leader(next.known, &next, &format!("{crash} after the kill"))?;
        Ok((next, noticed, crash))
    }

    /// Starts the killed agent again, and returns the leader that all name then.
    fn restart(&mut self, killed: Member, before: Agreed) -> Result<Agreed, Failure> {
        let again = self.cluster.restart(killed)?;
        let name = self.paint(killed, MEMBER);
        self.tell(again, &format!("{name} starts again"))?;
        let still = self.cluster.wait_tenure(None)?;
        let remark = if still.fence == before.fence {
            format!("a working leader is not replaced, so {name} follows it")
        } else if still.leader == killed {
            "it leads again".to_owned()
        } else {
            TENURE_LOST.to_owned()
        };
        let (leader, fence) = (self.paint(still.leader, LEADER), still.fence);
        let back = span(again, still.known);
        let what = format!("all five name {leader}, with fence {fence}, {back} later; {remark}");
        self.tell(still.known, &what)?;
        Ok(still)
    }

    /// Asks the leader to stop. Returns its successor, and the time until that led.
    fn terminate(&mut self, leader: Member) -> Result<(Agreed, String), Failure> {
        let asked = self.cluster.terminate(leader)?;
        let victim = self.paint(leader, VICTIM);
        let what = format!("{victim} gets SIGTERM: it releases its tenure and sends a goodbye");
        self.tell(asked, &what)?;
        let next = self.cluster.wait_tenure(Some(leader))?;
        let leave = span(asked, next.known);
        self.tell_leader(next.known, &next, &format!("{leave} after the signal"))?;
        Ok((next, leave))
    }

    fn tell(&self, at: Instant, what: &str) -> Result<(), Failure> {
        let at = (at - self.began).as_secs_f64();
        say(&format!("{at:7.3} s  {what}"))
    }

    fn tell_leader(&self, at: Instant, agreed: &Agreed, remark: &str) -> Result<(), Failure> {
        let (leader, fence) = (self.paint(agreed.leader, LEADER), agreed.fence);
        self.tell(at, &format!("{leader} leads with fence {fence}: {remark}"))
    }

    fn paint(&self, member: Member, colour: &str) -> String {
        if self.colours { format!("\x1b[{colour}m{member}\x1b[0m") } else { member.to_string() }
    }
}

/// The colours of the terminal for a leader, a leader that goes, and any other member.
const LEADER: &str = "1;32";
const VICTIM: &str = "1;31";
const MEMBER: &str = "1";

fn say(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}

/// Describes the time between two instants.
fn span(from: Instant, to: Instant) -> String {
    match (to - from).as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}
