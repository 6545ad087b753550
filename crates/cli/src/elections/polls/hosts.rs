//! The same election host by host, with the state machines and messages of the protocol; and a
//! council that is kept while hosts come and go.

use clap::Args;
use hustings_protocol::Duration;
use hustings_protocol::council::{Algorithm, Config, Knowledge, Lease, MOST_SEATS, Refill, Seats};
use hustings_sim::council::{CouncilTrial, HostChurn, Stay};
use hustings_theory::council::Loss;
use hustings_theory::council::rules::with_best_c;

use super::{Council, CouncilOptions};
use crate::failure::Failure;
use crate::options::{Named, SignedArg, one_of, values};
use crate::report::Parameters;

/// The limit for hosts. More would take minutes per round, and gigabytes.
const MOST_HOSTS: u32 = 10_000_000;
/// The delays in a round: one there, one back, and as much again.
const DELAYS_IN_A_ROUND: u64 = 4;

/// Returns a run for the simulator, host by host.
///
/// # Errors
/// Names the setting that the state machines do not support.
pub(super) fn trial(
    members: u64,
    config: Config,
    loss: Loss,
    most_rounds: u64,
) -> Result<CouncilTrial, Failure> {
    let hosts = u32::try_from(members).ok().filter(|it| *it <= MOST_HOSTS);
    let hosts =
        hosts.ok_or_else(|| refused(&format!("--members {members} is above {MOST_HOSTS}")))?;
    let (reply_loss, multicast_loss) = (loss.reply, loss.multicast);
    let trial = CouncilTrial { hosts, config, reply_loss, multicast_loss, most_rounds };
    trial.check().map_err(|error| refused(&error.to_string()))?;
    Ok(trial)
}

fn refused(reason: &str) -> Failure {
    Failure::Usage(format!(
        "--engine per-host cannot run this election: {reason}: change the option, or choose \
         --engine aggregate"
    ))
}

/// Returns the configuration of a council whose messages take `delay`.
pub(super) fn of_council(council: &Council, delay: Duration) -> Result<Config, Failure> {
    let CouncilOptions { estimate, max_guess, optimise, .. } = council.options;
    let election = &council.election;
    let narrow = |number: u64| {
        let narrowed = u32::try_from(number);
        narrowed.map_err(|_| refused(&format!("{number} is too great")))
    };
    let seats = Seats::new(narrow(election.seats.least)?, narrow(election.seats.most)?);
    let knowledge = match estimate {
        Some(fall) => Knowledge::Estimated(fall.estimate(max_guess)),
        // The poll gives a council of all hosts.
        None if election.is_decided_by_the_poll() => Knowledge::Polled,
        None => Knowledge::Told(narrow(election.members)?),
    };
    let once = Config::once(seats, council.drawn, knowledge, delay * DELAYS_IN_A_ROUND);
    // Top-ups use the value that is best for them.
    let mut config = with_best_c(Config { search: council.search, ..once }, optimise.goal());
    config.chambers[0].c.splice(..1, [election.c]);
    Ok(config)
}

/// Returns the configuration of the baseline: the first hosts to reply are seated, as many as there
/// can be seats.
pub(super) fn of_masks(delay: Duration) -> Config {
    let seats = Seats::new(1, MOST_SEATS);
    // With `Told` there is no poll to leave out of the counts.
    Config::once(seats, Algorithm::Bolot, Knowledge::Told(1), delay * DELAYS_IN_A_ROUND)
}

/// The default time for which a council is kept, in rounds.
const ROUNDS: u64 = 2_000;
/// The default absence of a host that went, as a divisor of the mean time between crashes.
const GONE: u64 = 10;
/// The number of rounds in a heartbeat, and in a lease.
const ROUNDS_IN_A_BEAT: u64 = 5;
const ROUNDS_IN_A_LEASE: u64 = 15;

/// The options for a council that is kept.
#[derive(Debug, Args)]
pub(super) struct KeepOptions {
    /// In the simulator, host by host: keep the council while every host crashes with this mean
    /// interval, as in die:10m. A round is four delays, a heartbeat five rounds, a lease fifteen
    #[arg(long, value_name = "die:MEAN", signed = dying)]
    churn: Option<Duration>,

    /// The mean absence of a host that crashed by --churn; it comes back without memory. Default: a
    /// tenth of the mean
    #[arg(long, value_name = "DURATION", signed = values::some_time, requires = "churn")]
    absence: Option<Duration>,

    /// The time for which the council of --churn is kept. Default: 2000 rounds
    #[arg(long = "for", value_name = "DURATION", signed = values::some_time, requires = "churn")]
    lasts: Option<Duration>,

    /// The centre's action when too few seats are taken, with --churn [default: top-up]
    #[arg(long, value_parser = one_of::<Refill>(), requires = "churn")]
    refill: Option<Refill>,
}

fn dying(text: &str) -> Result<Duration, String> {
    let mean = text.strip_prefix("die:");
    let mean = mean.ok_or("write the mean time between crashes of a host, as in die:10m")?;
    values::some_time(mean)
}

impl KeepOptions {
    /// Returns true if the council is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.churn.is_some()
    }

    /// Returns the churn of the hosts, if the council is kept.
    fn host_churn(&self) -> Option<HostChurn> {
        let crash_every = self.churn?;
        let gone_for = self.absence.unwrap_or(Duration((crash_every.0 / GONE).max(1)));
        Some(HostChurn { crash_every, gone_for })
    }

    fn refill(&self) -> Refill {
        self.refill.unwrap_or(Refill::TopUp)
    }

    pub(super) fn parameters(&self) -> Parameters {
        let Some(HostChurn { crash_every, gone_for }) = self.host_churn() else {
            return Parameters::default();
        };
        Parameters::default()
            .with("churn", format!("die:{crash_every}"))
            .with("absence", gone_for.to_string())
            .with("for", self.lasts.map(|it| it.to_string()))
            .with("refill", self.refill().name())
    }

    /// The settings as the end of a sentence for people.
    pub(super) fn sentence(&self) -> String {
        let Some(HostChurn { crash_every, gone_for }) = self.host_churn() else {
            return String::new();
        };
        format!(
            ", kept by {}, each host crashes every {crash_every} and is gone for {gone_for}",
            self.refill().name()
        )
    }

    /// Returns the run in which the elected council is kept as in the field.
    pub(super) fn stay(&self, mut trial: CouncilTrial) -> Stay {
        let round = trial.config.round;
        trial.config.lease = Some(Lease {
            beat: round * ROUNDS_IN_A_BEAT,
            lasts: round * ROUNDS_IN_A_LEASE,
            refill: self.refill(),
        });
        Stay {
            lasts: self.lasts.unwrap_or(round * ROUNDS),
            trial,
            churn: self.host_churn(),
            centre_restarts: None,
            centre_cut_off: None,
        }
    }
}
