//! Council election: a centre elects `L` to `U` representatives out of any number of hosts; and its
//! baseline.

mod bolot;
mod equations;
mod hosts;
mod terms;

use clap::{Args, ValueEnum};
use hustings_protocol::council::{self as protocol, Algorithm, Search};
use hustings_sim::trial::{Poll, Stays, Tallies};
use hustings_theory::council::optimum::{best_c, robust_c, uncertain};
use hustings_theory::council::rules::in_theory;
use hustings_theory::council::{self as theory, Knowledge, Loss, Seats};

use super::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::named::{Names, name_in, names};
use crate::options::seats::{self, Aim, Average, with_depth};
use crate::options::{Named, Setup, SignedArg, name_of, one_of, require_closed_form, values};
use crate::report::Parameters;
use crate::simulation::Simulation;
pub(super) use bolot::BolotOptions;
use hosts::KeepOptions;
use terms::{Guess, show_seats};

/// The options of `council`.
#[derive(Debug, Args)]
pub(crate) struct CouncilOptions {
    /// The number of hosts: 1 to 10^9. --estimate sets whether the centre knows it
    #[arg(long, value_name = "N", default_value = "10000",
          number = values::whole(1..=1_000_000_000_u64))]
    members: u64,

    /// The number of representatives, from L to U. U is at most 1000; if replies are lost, 100
    /// (choice and history: 32). A wider range takes fewer rounds: 4..8 takes 1.4, 1..1 takes 2.5
    /// (with --algorithm skip-reset)
    #[arg(long, value_name = "L..U", default_value = "4..8", value_parser = terms::seats,
          allow_hyphen_values = true)]
    seats: Seats,

    /// The rule for which hosts draw, and which draw again. The baseline, Bolot's masks, is a
    /// protocol of its own, `bolot`
    #[arg(long, default_value = "skip-reset", value_parser = terms::Algorithms)]
    algorithm: Algorithm,

    /// With --algorithm history, host by host: the number of rounds that a host remembers, from 1
    /// to 4. More than one matters only if hosts come and go [default: 1]
    #[arg(long, value_name = "ROUNDS", value_parser = values::whole(1..=4_u8))]
    depth: Option<u8>,

    /// The average number of hosts that reply to a draw: each replies with probability c/n. `auto`:
    /// the best value for --optimise, by exact computation; if n is estimated, the best for
    /// --max-guess hosts, known. `robust`: the value whose cost has the least worst ratio to the
    /// best one, over half and twice as many hosts, and no loss or the given one (a tenth of all
    /// messages if none is given)
    #[arg(long, value_name = "auto|robust|X", default_value = "auto", value_parser = terms::average,
          allow_hyphen_values = true)]
    c: Average,

    /// The cost that --c auto minimises: the expected rounds (t), the expected replies (n), or a
    /// weighted sum of both, as in t:1,n:0.1. For L = 1, replies become fewer and rounds more as c
    /// approaches 0: then n stops at 0.1
    #[arg(long, value_name = "t|n|t:X,n:Y", default_value = "t", value_parser = seats::aim,
          allow_hyphen_values = true)]
    optimise: Aim,

    /// The centre's knowledge of the number of hosts: the true number (known), or an estimate that
    /// starts at --max-guess. After each round with too few replies the estimate is halved
    /// (conservative), raised to the power 0.7 (aggressive), or raised to the power A and divided
    /// by B (alpha:A,beta:B, with A above 0 and at most 1, and B 1 or more)
    #[arg(long, value_name = "known|conservative|aggressive|alpha:A,beta:B", default_value = "known",
          value_parser = terms::guess, allow_hyphen_values = true)]
    estimate: Guess,

    /// The first estimate, above U. Too high costs rounds without replies; too low causes a storm
    /// of replies. Has no effect with --estimate known
    #[arg(long, value_name = "M", default_value = "100000",
          number = values::whole(2..=1_000_000_000_u32))]
    max_guess: u32,

    /// The rule by which an --estimate falls [default: printed; with --churn always guarded]
    #[arg(long, value_parser = one_of::<Search>())]
    search: Option<Search>,

    #[command(flatten)]
    replies: ReplyOptions,

    #[command(flatten)]
    keeping: KeepOptions,
}

/// The options for the loss of replies, for the end of an election and for the engine.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct ReplyOptions {
    /// The probability that a reply is lost, up to 0.9; the same limit holds for --multicast-loss
    /// here. Replies are the only unicasts, so this equals --unicast-loss. A host that misses a
    /// feedback message sits out until the next one in which all hosts draw
    #[arg(long, value_name = "P", number = values::probability,
          conflicts_with_all = ["unicast_loss", "loss"])]
    reply_loss: Option<f64>,

    /// In the simulator: give up an election after R rounds
    #[arg(long, value_name = "R", default_value = "100000",
          number = values::whole(1..=1_000_000_u64))]
    max_rounds: u64,

    /// In the simulator: the engine
    #[arg(long, value_enum, default_value_t = Engine::Auto)]
    engine: Engine,
}

/// The engines of the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// As per-host with --trace, --churn, --search guarded and --algorithm merit; otherwise as
    /// aggregate
    Auto,
    /// No host is simulated: the numbers of hosts that draw, reply and are heard are drawn with the
    /// same law. 10^9 hosts take microseconds
    Aggregate,
    /// Every host and every message is simulated, with the state machine that agents run; up to
    /// 10^7 hosts and 64 seats
    PerHost,
}

/// The limit for loss. Beyond it, elections take too many rounds to be useful.
const GREATEST_LOSS: f64 = 0.9;

impl ReplyOptions {
    /// Returns the loss, after checking that no other fault is asked for.
    fn loss(self, setup: &Setup) -> Result<Loss, Failure> {
        setup.require_steps()?;
        setup.require_all_up()?;
        let network = &setup.conditions.network;
        let reply = self.reply_loss.unwrap_or(network.unicast_loss);
        let multicast = network.multicast_loss;
        let losses = [("--reply-loss", reply), ("--multicast-loss", multicast)];
        match losses.into_iter().find(|(_, probability)| *probability > GREATEST_LOSS) {
            None => Ok(Loss { reply, multicast }),
            Some((option, probability)) => Err(Failure::Usage(format!(
                "{option} {probability} leaves too few messages for a council: choose from 0 to {GREATEST_LOSS}"
            ))),
        }
    }

    fn parameters(self, loss: Loss) -> Parameters {
        Parameters::default()
            .with("reply_loss", loss.reply)
            .with("max_rounds", self.max_rounds)
            .with("engine", name_of(&self.engine))
    }

    /// Returns true if the election is simulated host by host. `reason` is the option that requires
    /// that, if there is one.
    ///
    /// # Errors
    /// If it has to be and the options forbid it.
    fn is_by_hosts(self, reason: Option<&str>, simulation: &Simulation) -> Result<bool, Failure> {
        let reason = reason.or(simulation.is_traced().then_some("--trace"));
        match (self.engine, reason) {
            (Engine::Aggregate, Some(reason)) => Err(Failure::Usage(format!(
                "{reason} needs single hosts, which --engine aggregate does not have: choose \
                 --engine per-host"
            ))),
            (Engine::Aggregate | Engine::Auto, None) => Ok(false),
            (Engine::PerHost, _) | (Engine::Auto, Some(_)) => Ok(true),
        }
    }
}

/// The drawing algorithms.
const ALGORITHMS: Names<Algorithm> = names! {
    Algorithm {
        /// All hosts draw in every round
        Naive = "naive",
        /// A host that drew out stays out; after too few replies all hosts reply and are counted,
        /// which is a storm
        Basic = "basic",
        /// As basic, but after too few replies all hosts draw again, with the number that the
        /// centre knows: few messages
        SkipReset = "skip-reset",
        /// As skip-reset, but every host draws twice, and the centre takes the better draw: the
        /// fewest rounds
        CHOICE = "choice",
        /// As skip-reset, but after too few replies only the hosts that drew before draw again:
        /// slightly fewer rounds and messages
        HISTORY = "history",
        /// The best hosts, by thresholds on their priority, which is random here; host by host
        Priority = "merit",
    }
};

impl CouncilOptions {
    pub(super) fn settle(self, setup: &Setup) -> Result<Council, Failure> {
        let loss = self.replies.loss(setup)?;
        let Self { seats, members, .. } = self;
        if seats.least > members {
            return Err(Failure::Usage(format!(
                "--seats {} cannot be filled by --members {members}: choose an L of at most \
                 {members}",
                show_seats(seats)
            )));
        }
        self.require_few_seats(loss)?;
        let drawn = with_depth(self.algorithm, self.algorithm_name(), self.depth)?;
        self.require_what_matters()?;
        // Priority has no recurrence; its samples are drawn as by skip-reset.
        let in_theory = in_theory(drawn).unwrap_or(theory::Algorithm::SkipReset);
        let knowledge = self.knowledge()?;
        let election = theory::Election::new(seats, members, in_theory, 1.0);
        let election = theory::Election { loss, knowledge, ..election };
        let election = match self.c {
            Average::Best => best_c_of(&election, self.optimise),
            Average::Robust => {
                let cases = uncertain(&by_first_guess(&election));
                election.with_c(robust_c(&cases, self.optimise.goal()))
            }
            Average::Fixed(c) => election.with_c(c),
        };
        if election.c >= election.limit_of_c() {
            return Err(Failure::Usage(format!(
                "--c {} is too great for --seats {}: every draw among {} hosts would select all \
                 of them, for ever: choose above 0 and below {}",
                election.c,
                show_seats(seats),
                seats.most + 1,
                election.limit_of_c()
            )));
        }
        let (cost, search) = (election.cost(), self.search());
        let council = Council { options: self, election, cost, drawn, search };
        council.require_an_end()?;
        Ok(council)
    }

    fn algorithm_name(&self) -> &'static str {
        name_in(ALGORITHMS, &self.algorithm)
    }

    fn search(&self) -> Search {
        let usual = if self.keeping.is_kept() { Search::Guarded } else { Search::Printed };
        self.search.unwrap_or(usual)
    }

    /// Refuses options that would have no effect.
    fn require_what_matters(&self) -> Result<(), Failure> {
        match self.search {
            Some(Search::Printed) if self.keeping.is_kept() => Err(Failure::usage(
                "--search printed cannot be combined with --churn: a council is kept as agents \
                 keep it, with --search guarded",
            )),
            Some(_) if self.estimate.is_none() && !self.keeping.is_kept() => Err(Failure::usage(
                "--search sets how an --estimate falls, and there is no falling estimate: choose \
                 --estimate conservative, aggressive or alpha:A,beta:B",
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the theory, which every election is checked against, finishes in reasonable
    /// time.
    fn require_few_seats(&self, loss: Loss) -> Result<(), Failure> {
        let most = match self.algorithm {
            _ if loss.reply == 0.0 => return Ok(()),
            Algorithm::Choice(..) | Algorithm::History { .. } => 32,
            _ => 100,
        };
        if self.seats.most > most {
            return Err(Failure::Usage(format!(
                "--seats {} is too many for --algorithm {} with loss of replies: choose a U of \
                 at most {most}",
                show_seats(self.seats),
                self.algorithm_name()
            )));
        }
        Ok(())
    }

    fn knowledge(&self) -> Result<Knowledge, Failure> {
        let Self { seats, estimate: Some(fall), max_guess, .. } = *self else {
            return Ok(Knowledge::Known);
        };
        if u64::from(max_guess) <= seats.most {
            return Err(Failure::Usage(format!(
                "--max-guess {max_guess} is not above the number of seats: choose {} or more for \
                 --seats {}",
                seats.most + 1,
                show_seats(seats)
            )));
        }
        let protocol::Estimate { alpha, beta, first } = fall.estimate(max_guess);
        let estimate = theory::Estimate { alpha, beta, first: first.into() };
        terms::require_progress(estimate, seats)?;
        Ok(Knowledge::Estimated(estimate))
    }
}

/// Returns the same election with the best `c`.
fn best_c_of(election: &theory::Election, aim: Aim) -> theory::Election {
    election.with_c(best_c(&by_first_guess(election), aim.goal()).c)
}

/// Returns the same election as if the first estimate, if there is one, were the known number of
/// hosts.
fn by_first_guess(election: &theory::Election) -> theory::Election {
    match election.knowledge {
        Knowledge::Estimated(estimate) => theory::Election {
            members: estimate.first as u64,
            knowledge: Knowledge::Known,
            ..*election
        },
        Knowledge::Known | Knowledge::Taken(_) => *election,
    }
}

/// A council election with all options settled.
#[derive(Debug)]
pub(crate) struct Council {
    options: CouncilOptions,
    election: theory::Election,
    /// The cost by the equations. Computed once, because it may take seconds.
    cost: theory::Cost,
    /// The algorithm as the hosts know it.
    drawn: Algorithm,
    search: Search,
}

impl Council {
    /// Checks that the election ends within a reasonable time.
    fn require_an_end(&self) -> Result<(), Failure> {
        const TOO_MANY: f64 = 1e6;
        if (0.0..TOO_MANY).contains(&self.cost.rounds) {
            return Ok(());
        }
        let best = best_c_of(&self.election, Aim::Rounds).c;
        Err(Failure::Usage(format!(
            "--c {} hardly ever leads to a council of {}: choose nearer to {best:.2}, or auto",
            self.election.c,
            show_seats(self.election.seats)
        )))
    }

    /// The option that requires every host to be simulated, if there is one.
    fn needs_hosts(&self) -> Option<&'static str> {
        let CouncilOptions { algorithm, estimate, keeping, .. } = &self.options;
        if keeping.is_kept() {
            Some("--churn")
        } else if *algorithm == Algorithm::Priority {
            Some("--algorithm merit")
        } else if estimate.is_some() && self.search == Search::Guarded {
            Some("--search guarded")
        } else {
            None
        }
    }
}

impl Described for Council {
    fn reply_loss(&self) -> Option<f64> {
        Some(self.election.loss.reply)
    }

    fn parameters(&self) -> Parameters {
        let CouncilOptions { optimise, estimate, max_guess, .. } = self.options;
        let chosen = match self.options.c {
            Average::Best | Average::Robust => Some(optimise.to_string()),
            Average::Fixed(_) => None,
        };
        let depth = match self.drawn {
            Algorithm::History { depth } => Some(depth),
            _ => None,
        };
        Parameters::default()
            .with("members", self.election.members)
            .with("seats", show_seats(self.election.seats))
            .with("algorithm", self.options.algorithm_name())
            .with("depth", depth)
            .with("c", self.election.c)
            .with("optimised", chosen)
            .with("robust", self.options.c == Average::Robust)
            .with("estimate", terms::show_guess(estimate))
            .with("max_guess", estimate.map(|_| max_guess))
            .with("search", self.search.name())
            .and(self.options.keeping.parameters())
            .and(self.options.replies.parameters(self.election.loss))
    }

    fn sentence(&self) -> String {
        let CouncilOptions { optimise, estimate, max_guess, .. } = self.options;
        let theory::Election { seats, members, c, .. } = self.election;
        let guarded = if self.search == Search::Guarded { ", guarded" } else { "" };
        let knowledge = match estimate {
            Some(fall) => format!("estimate {fall} from {max_guess}{guarded}"),
            None => "number known".to_owned(),
        };
        let c = match self.options.c {
            Average::Best if estimate.is_some() => {
                // A centre that does not know the number of hosts cannot choose by it.
                format!("c {c:.4} (best for {optimise} of {max_guess})")
            }
            Average::Best => format!("c {c:.4} (best for {optimise})"),
            Average::Robust => format!("c {c:.4} (robust for {optimise})"),
            Average::Fixed(c) => format!("c {c}"),
        };
        let (seats, algorithm) = (show_seats(seats), self.options.algorithm_name());
        let kept = self.options.keeping.sentence();
        format!("{members} members, seats {seats}, {algorithm}, {c}, {knowledge}{kept}")
    }

    fn closed_form(&self, _: &Setup) -> Result<ClosedForm, Failure> {
        let is_kept = self.options.keeping.is_kept();
        require_closed_form(&[(is_kept, "of a council that is kept (--churn)")])?;
        equations::council(self)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.require_no_script()?;
        let CouncilOptions { replies, keeping, .. } = &self.options;
        let (election, most_rounds) = (self.election, replies.max_rounds);
        let own = Parameters::default();
        if !replies.is_by_hosts(self.needs_hosts(), simulation)? {
            let poll = Poll::Council { election, most_rounds };
            return simulation.conduct(self, &Tallies::new(poll), own);
        }
        let config = hosts::of_council(self, simulation.setup.conditions.mean_delay())?;
        let trial = hosts::trial(election.members, config, election.loss, most_rounds)?;
        if !keeping.is_kept() {
            return simulation.conduct(self, &Tallies::new(Poll::Hosts(trial)), own);
        }
        if simulation.is_traced() {
            return Err(Failure::usage(
                "--trace records one election, not a council that is kept (--churn): leave one of \
                 the two out",
            ));
        }
        simulation.conduct(self, &Stays::new(keeping.stay(trial)), own)
    }
}
