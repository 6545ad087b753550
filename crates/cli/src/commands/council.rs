//! `hustings council`: runs the centre of a group's council until a signal stops it.

mod audit;

use clap::Args;
use hustings_agent::config::AuthorityConfig;
use hustings_agent::config::values::{ProtocolName, wait};
use hustings_agent::council::{CentreStatus, ChamberStatus};
use hustings_agent::{AgentConfig, CouncilPart, ProtocolConfig};
use hustings_protocol::config::ConfigError;
use hustings_protocol::council::{
    Algorithm, Chamber, Config, Knowledge, Lease, MOST_SEATS, Refill, Search, Seats,
};
use hustings_protocol::{Duration, Priority};
use hustings_theory::council::rules::{Choice, with_c};
use tokio::sync::watch;

use super::agent::client::Printed;
use super::agent::{self, Signals, log, runtime};
use crate::failure::{Failure, say};
use crate::options::agent_options::AgentOptions;
use crate::options::named::{Names, name_in, names, one_in};
use crate::options::seats::{self, Aim, Average, Fall, with_depth};
use crate::options::{SignedArg, values};

/// Run a council's centre: keep a few hosts of a group seated and refill seats that fall empty
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CouncilCommand {
    /// The number of seats, from L to U, at most 64. With several classes of hosts: one range per
    /// class, separated by commas, as in 4..8,1..2
    #[arg(long, value_name = "L..U", required = true, value_delimiter = ',', value_parser = ranges,
          allow_hyphen_values = true)]
    seats: Vec<Seats>,

    #[command(flatten)]
    drawing: Drawing,

    #[command(flatten)]
    keeping: SeatOptions,

    #[command(flatten)]
    auditing: audit::Auditing,

    #[command(flatten)]
    options: AgentOptions,

    /// The output format of each change of the council
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,

    #[command(flatten)]
    log: log::LogOptions,
}

/// The options that control how hosts are drawn.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
struct Drawing {
    /// The rule for which hosts draw, and which draw again
    #[arg(long, value_parser = one_in(ALGORITHMS), default_value = "skip-reset")]
    algorithm: Algorithm,

    /// The average number of hosts that reply to a draw. `auto`: the best value for --optimise, by
    /// exact computation. `robust`: the value whose cost has the least worst ratio to the best one,
    /// over half and twice as many hosts, and a tenth of all messages lost or none. Seats that fall
    /// empty later are filled with the best value
    #[arg(long, value_name = "auto|robust|X", default_value = "auto", value_parser = average,
          allow_hyphen_values = true)]
    c: Average,

    /// The cost that --c auto minimises: the expected rounds (t), the expected replies (n), or a
    /// weighted sum of both, as in t:1,n:0.1
    #[arg(long, value_name = "t|n|t:X,n:Y", default_value = "t", value_parser = seats::aim,
          allow_hyphen_values = true)]
    optimise: Aim,

    /// With --algorithm history: the number of rounds that a host remembers, from 1 to 4. More than
    /// one matters only if hosts come and go [default: 1]
    #[arg(long, value_name = "ROUNDS", value_parser = values::whole(1..=4_u8))]
    depth: Option<u8>,

    /// The centre's estimate of the number of hosts. It starts at --max-guess. After each round
    /// with too few replies it is raised to the power 0.7 (aggressive), halved (conservative), or
    /// raised to the power A and divided by B (alpha:A,beta:B). known:N sets a fixed number of N
    /// hosts
    #[arg(long, value_name = "aggressive|conservative|alpha:A,beta:B|known:N", default_value = "aggressive",
          value_parser = guess, allow_hyphen_values = true)]
    estimate: HostCount,

    /// The first estimate; choose the largest number of hosts that is possible. Too high costs
    /// rounds without replies; too low causes a storm of replies
    #[arg(long, value_name = "M", default_value = "100000", number = values::whole(2..=u32::MAX))]
    max_guess: u32,

    /// The time to wait for replies; it must exceed a round trip
    #[arg(long, value_name = "DURATION", default_value = "250ms", value_parser = wait)]
    round: Duration,
}

/// The options that control how a council is kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Seats")]
struct SeatOptions {
    /// The time without a message from its holder after which a seat is filled again, and the time
    /// without a message from the centre after which the holder gives its seat up. Default: 15
    /// rounds
    #[arg(long, value_name = "DURATION", value_parser = wait)]
    lease: Option<Duration>,

    /// The interval between the centre's heartbeats to the seated hosts. Default: a third of
    /// --lease
    #[arg(long, value_name = "DURATION", value_parser = wait)]
    beat: Option<Duration>,

    /// Recruit more hosts when a class has fewer than N left, or fewer were elected. Default:
    /// L + 1, or U if that is less
    #[arg(long, value_name = "N", value_parser = values::whole(1..=MOST_SEATS))]
    keep: Option<u32>,

    /// Elect one council, print it when all seated hosts have confirmed their seats, release it,
    /// and end. The centre first listens for --lease, and refuses to elect if another centre is
    /// active
    #[arg(long)]
    once: bool,

    /// With --once: the time after which the command fails if there is no council
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::some_time, requires = "once")]
    within: Duration,
}

/// The drawing algorithms.
const ALGORITHMS: Names<Algorithm> = names! {
    Algorithm {
        /// All hosts draw in every round
        Naive = "naive",
        /// A host that drew out stays out; after too few replies all hosts reply and are counted,
        /// which is a storm
        Basic = "basic",
        /// As basic, but after too few replies all hosts draw again: few messages
        SkipReset = "skip-reset",
        /// As skip-reset, but every host draws twice, and the centre takes the better draw: the
        /// fewest rounds
        CHOICE = "choice",
        /// As skip-reset, but after too few replies only the hosts that drew before draw again
        HISTORY = "history",
        /// The hosts with the greatest --priority, by thresholds on it
        Priority = "merit",
        /// Nested masks of 16 bits, for comparison: the first hosts to reply are seated
        Bolot = "bolot",
    }
};

/// Parses `L..U`, or one number for both.
fn ranges(text: &str) -> Result<Seats, String> {
    let (least, most) = seats::seats(text, MOST_SEATS)?;
    Ok(Seats { least, most })
}

fn average(text: &str) -> Result<Average, String> {
    let usage = "choose auto, robust, or a number above 0 and below U + 1";
    seats::average(text, f64::from(MOST_SEATS) + 1.0, usage)
}

/// The centre's knowledge of the number of hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HostCount {
    Known(u32),
    Falling(Fall),
}

fn guess(text: &str) -> Result<HostCount, String> {
    const USAGE: &str = "choose aggressive, conservative, known:N with N hosts, or alpha:A,beta:B with A above 0 and at \
                         most 1, and B 1 or more, not both 1";
    if let Some(hosts) = text.strip_prefix("known:") {
        let hosts = hosts.parse().ok().filter(|it| *it > 0);
        return hosts.map(HostCount::Known).ok_or_else(|| USAGE.to_owned());
    }
    match Fall::parse(text) {
        None | Some(Fall::Own { alpha: 1.0, beta: 1.0 }) => Err(USAGE.to_owned()),
        Some(fall) => Ok(HostCount::Falling(fall)),
    }
}

const AFTER_HELP: &str = include_str!("council_help.txt").trim_ascii_end();

impl CouncilCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.log.begin();
        let rules = self.rules()?;
        if let Some(checked) = self.auditing.check(&rules) {
            return checked;
        }
        let config = self.config(rules)?;
        runtime()?.block_on(self.preside(&config))
    }

    /// Builds the council's rules from the options.
    fn rules(&self) -> Result<Config, Failure> {
        let Drawing { round, optimise, c, algorithm, depth, .. } = self.drawing;
        let algorithm = with_depth(algorithm, name_in(ALGORITHMS, &algorithm), depth)?;
        self.auditing.require_a_draw(algorithm)?;
        let rules = Config {
            chambers: self.seats.iter().map(|it| self.chamber(*it)).collect(),
            algorithm,
            knowledge: self.drawing.knowledge(),
            search: Search::Guarded,
            coin: self.auditing.coin(),
            centre: None,
            yields: self.keeping.once,
            round,
            lease: Some(self.keeping.lease(round)),
        };
        self.require_a_high_guess()?;
        self.require_enough_hosts()?;
        // The rules must be valid before anything is computed from them.
        rules.check().map_err(|error| misfit(&error))?;
        let choice = if c == Average::Robust { Choice::Robust } else { Choice::Best };
        let mut rules = with_c(rules, choice, optimise.goal());
        if let Average::Fixed(c) = c {
            for chamber in &mut rules.chambers {
                chamber.c.splice(..chamber.c.len().min(1), [c]); // top-ups use the value that is best for them
            }
        }
        rules.check().map_err(|error| misfit(&error))?;
        self.keeping.require_time_to_listen(round)?;
        Ok(rules)
    }

    fn require_a_high_guess(&self) -> Result<(), Failure> {
        let most = self.seats.iter().map(|it| it.most).max().unwrap_or(0);
        let Drawing { max_guess, estimate, .. } = self.drawing;
        if matches!(estimate, HostCount::Known(_)) || max_guess > most {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--max-guess {max_guess} is not above the number of seats: choose {} or more, the most \
             hosts that there can be",
            most + 1
        )))
    }

    fn require_enough_hosts(&self) -> Result<(), Failure> {
        let HostCount::Known(hosts) = self.drawing.estimate else {
            return Ok(());
        };
        match self.seats.iter().find(|it| it.least > hosts) {
            None => Ok(()),
            Some(Seats { least, most }) => Err(Failure::Usage(format!(
                "--seats {least}..{most} cannot be filled by --estimate known:{hosts}: choose an L of at most {hosts}"
            ))),
        }
    }

    fn chamber(&self, seats: Seats) -> Chamber {
        let mut chamber = Chamber::new(seats);
        if let Some(keep) = self.keeping.keep {
            chamber.keep = keep;
            chamber.c = Vec::new();
        }
        chamber
    }

    /// Builds the configuration of the centre's agent. It joins the group of the agents and takes
    /// no part in their election.
    fn config(&self, rules: Config) -> Result<AgentConfig, Failure> {
        for option in self.options.elections() {
            say(&format!(
                "warning: --{option} has no effect: a centre takes no part in the group's election"
            ));
        }
        let mut config = self.options.config(Some(ProtocolName::NoElection))?;
        if config.groups.len() != 1 {
            let what = "a centre calls exactly one group: choose it with --group";
            return Err(Failure::usage(what));
        }
        let group = &mut config.groups[0];
        if group.view.is_some() && !group.protocol.is_none() {
            if group.multicast.is_none() {
                return Err(Failure::Usage(format!(
                    "group `{}` has neither multicast nor a partial view, so the centre cannot \
                     reach its hosts: turn multicast on, or put the hosts in a second group with \
                     protocol = \"none\" and the same view",
                    group.name
                )));
            }
            group.view = None;
        }
        group.priority = Priority(0);
        group.campaigns = false;
        group.target = None;
        group.protocol = ProtocolConfig::NoElection;
        group.authority = AuthorityConfig::Nobody;
        group.council = CouncilPart::Centre(Box::new(rules));
        group.trace = None;
        // An agent on this host may already use the default name, port and HTTP address, so the
        // centre uses them only if the options name them.
        if !self.options.sets("name") {
            config.name += ".centre";
        }
        if !self.options.sets("bind") {
            config.bind.set_port(0);
        }
        config.http = config.http.filter(|_| self.options.sets("http"));
        config.metrics = config.metrics.filter(|_| self.options.sets("metrics"));
        config.check().map_err(Failure::usage)?;
        Ok(config)
    }

    async fn preside(&self, config: &AgentConfig) -> Result<(), Failure> {
        let mut signals = Signals::listen()?;
        let Some(started) = signals.unless_one_comes(agent::start(config)).await else {
            return Ok(()); // a signal came before the centre was up
        };
        let mut agent = started?.agent;
        let group = &config.groups[0].name;
        let watched = agent.handle().watch_council(group);
        let mut council = watched.ok_or_else(|| Failure::failed("no council"))?;
        let done = tokio::select! {
            done = self.attend(&mut council) => done,
            ended = agent.ended() => return ended.map_err(Failure::failed),
            () = signals.next() => Ok(()),
        };
        let twice = "a second signal stopped the centre before it had released all seats";
        let stopped = tokio::select! {
            stopped = agent.stop() => stopped.map_err(Failure::failed),
            () = signals.next() => Err(Failure::failed(twice)),
        };
        done.and(stopped)
    }

    /// Prints every change of the council until the council ends.
    async fn attend(&self, council: &mut watch::Receiver<CentreStatus>) -> Result<(), Failure> {
        if self.keeping.once {
            return self.elect_once(council).await;
        }
        let mut printed = 0;
        while council.changed().await.is_ok() {
            let status = council.borrow_and_update().clone();
            if let Some(other) = &status.gives_way_to {
                return Err(Failure::Failed(format!(
                    "another centre, `{}`, was started later for group `{}`, and hosts obey the \
                     later one: run only one of them",
                    other.name, status.group
                )));
            }
            // A confirmed seat is not a change of the council.
            if std::mem::replace(&mut printed, status.changes) != status.changes {
                self.print(&status)?;
            }
        }
        std::future::pending().await // the agent has ended, and says why
    }

    async fn elect_once(&self, council: &mut watch::Receiver<CentreStatus>) -> Result<(), Failure> {
        let is_over = |it: &CentreStatus| {
            it.is_filled() && it.is_settled && it.is_confirmed() || it.has_stopped()
        };
        let elected = async { Some(council.wait_for(is_over).await.ok()?.clone()) };
        let status = match tokio::time::timeout(self.keeping.within.into(), elected).await {
            Ok(Some(status)) => status,
            Ok(None) => return std::future::pending().await, // as above
            Err(_) => return Err(self.too_late(&council.borrow())),
        };
        match (&status.gives_way_to, &status.held_elsewhere) {
            (Some(other), _) => Err(Failure::Failed(format!(
                "another centre, `{}`, already serves group `{}`: ask `hustings status` there \
                 for its council, or stop it",
                other.name, status.group
            ))),
            (None, Some(host)) => Err(Failure::Failed(format!(
                "host `{}` of group `{}` holds a seat of another centre: use or stop the other \
                 centre; if it is gone, wait until its seats have ended",
                host.name, status.group
            ))),
            (None, None) => self.print(&status),
        }
    }

    fn too_late(&self, status: &CentreStatus) -> Failure {
        let within = self.keeping.within;
        Failure::Failed(match status.awaits {
            Some(_) => format!(
                "no council within {within}: its hosts are elected, but hosts may still hold \
                 seats that another centre gave for longer than --lease: raise --within to wait \
                 for them"
            ),
            None => format!(
                "no council within {within}: check that enough hosts run with this group and \
                 key, and that no other centre runs, or raise --within"
            ),
        })
    }

    fn print(&self, status: &CentreStatus) -> Result<(), Failure> {
        self.format.print(status, |it| format!("council of {}: {}\n", it.group, seats_in_words(it)))
    }
}

/// Turns a configuration error into a usage error that names the option.
fn misfit(error: &ConfigError) -> Failure {
    let field = match error {
        ConfigError::Zero { field }
        | ConfigError::Below { field, .. }
        | ConfigError::OutOfRange { field, .. } => *field,
        _ => "", // the enum may gain variants
    };
    let option = match field {
        "alpha" | "beta" | "number of hosts" => "--estimate: ",
        "first estimate" => "--max-guess: ",
        "seats" | "number of classes" => "--seats: ",
        "depth of history" => "--depth: ",
        "c" | "list of c" => "--c: ",
        "keep" => "--keep: ",
        "round" => "--round: ",
        "beat" => "--beat: ",
        "lease" => "--lease: ",
        _ => "",
    };
    Failure::Usage(format!("{option}{error}"))
}

/// Lists the members that hold seats, per class.
pub(super) fn seats_in_words(status: &CentreStatus) -> String {
    let several = status.chambers.len() > 1;
    let chambers = status.chambers.iter().map(|chamber| {
        let ChamberStatus { class, least, most, seats } = chamber;
        let of_class = if several { format!("class {class}: ") } else { String::new() };
        let enough = if chamber.is_filled() { "" } else { ", too few" };
        let mut names: Vec<&str> = seats.iter().map(|it| it.member.name.as_str()).collect();
        names.sort_unstable();
        let names = if names.is_empty() { "no host".to_owned() } else { names.join(" ") };
        format!("{of_class}{} seats of {least}..{most}{enough}: {names}", seats.len())
    });
    chambers.collect::<Vec<String>>().join("; ")
}

impl Drawing {
    fn knowledge(&self) -> Knowledge {
        match self.estimate {
            HostCount::Known(hosts) => Knowledge::Told(hosts),
            HostCount::Falling(fall) => Knowledge::Estimated(fall.estimate(self.max_guess)),
        }
    }
}

impl SeatOptions {
    /// Checks that the time limit leaves room to listen for one lease and one round, and then to
    /// elect.
    fn require_time_to_listen(&self, round: Duration) -> Result<(), Failure> {
        let least = self.lease(round).lasts + round * 2;
        if !self.once || self.within > least {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--within {} is too short: --once listens for --lease and one round before it calls: \
             choose more than {least}",
            self.within
        )))
    }

    fn lease(&self, round: Duration) -> Lease {
        let lasts = self.lease.unwrap_or(round * 15);
        Lease { beat: self.beat.unwrap_or(Duration(lasts.0 / 3)), lasts, refill: Refill::TopUp }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fall, HostCount, guess};

    #[test]
    fn estimates_fall() {
        let own = |alpha, beta| Ok(HostCount::Falling(Fall::Own { alpha, beta }));
        assert_eq!(guess("aggressive"), Ok(HostCount::Falling(Fall::Aggressive)));
        assert_eq!(guess("known:2000"), Ok(HostCount::Known(2_000)));
        assert_eq!(guess("alpha:0.5,beta:1"), own(0.5, 1.0));
        for bad in [
            "",
            "known",
            "known:0",
            "known:-3",
            "alpha:1,beta:1",
            "alpha:2,beta:1",
            "alpha:0.5",
            "alpha:NaN,beta:2",
            "alpha:0.5,beta:inf",
        ] {
            assert!(guess(bad).is_err(), "{bad}");
        }
    }
}
