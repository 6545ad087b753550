//! The same election host by host, with the state machines and messages of the protocol.

use hustings_protocol::Duration;
use hustings_protocol::council::{Algorithm, Config, Knowledge, MOST_SEATS, Seats};
use hustings_sim::council::CouncilTrial;
use hustings_theory::council::Loss;
use hustings_theory::council::rules::with_best_c;

use super::{Council, CouncilOptions};
use crate::failure::Failure;

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
