//! The same election host by host, with the state machines and messages of the protocol.

use hustings_protocol::Duration;
use hustings_protocol::council::{Algorithm, Config, Estimate, Knowledge, MOST_SEATS, Seats};
use hustings_sim::council::CouncilTrial;
use hustings_theory::council as theory;
use hustings_theory::council::rules::with_best_c;

use super::{Council, Kind, Poll};
use crate::failure::Failure;

/// The limit for hosts. More would take minutes per round, and gigabytes.
const MOST_HOSTS: u32 = 10_000_000;
/// The delays in a round: one there, one back, and as much again.
const DELAYS_IN_A_ROUND: u64 = 4;

impl Poll {
    /// Returns a run for the simulator, host by host.
    ///
    /// # Errors
    /// Names the setting that the state machines do not support.
    pub(super) fn by_hosts(&self, delay: Duration) -> Result<CouncilTrial, Failure> {
        let round = delay * DELAYS_IN_A_ROUND;
        let (members, config) = match self.kind {
            Kind::Council(council) => (council.election.members, of_council(&council, round)?),
            Kind::Bolot(bolot) => (bolot.members, of_masks(round)),
        };
        let hosts = u32::try_from(members).ok().filter(|it| *it <= MOST_HOSTS);
        let hosts =
            hosts.ok_or_else(|| refused(&format!("--members {members} is above {MOST_HOSTS}")))?;
        let trial = CouncilTrial {
            hosts,
            config,
            reply_loss: self.loss.reply,
            multicast_loss: self.loss.multicast,
            most_rounds: self.replies.max_rounds,
        };
        trial.check().map_err(|error| refused(&error.to_string()))?;
        Ok(trial)
    }
}

fn refused(reason: &str) -> Failure {
    Failure::Usage(format!(
        "--engine per-host cannot run this election: {reason}: change the option, or choose \
         --engine aggregate"
    ))
}

fn of_council(council: &Council, round: Duration) -> Result<Config, Failure> {
    let election = &council.election;
    let narrow = |number: u64| {
        let narrowed = u32::try_from(number);
        narrowed.map_err(|_| refused(&format!("{number} is too great")))
    };
    let seats = Seats::new(narrow(election.seats.least)?, narrow(election.seats.most)?);
    let knowledge = match election.knowledge {
        theory::Knowledge::Estimated(estimate) => Knowledge::Estimated(Estimate {
            alpha: estimate.alpha,
            beta: estimate.beta,
            first: narrow(estimate.first as u64)?,
        }),
        // The poll gives a council of all hosts.
        _ if election.is_decided_by_the_poll() => Knowledge::Polled,
        theory::Knowledge::Known | theory::Knowledge::Taken(_) => {
            Knowledge::Told(narrow(election.members)?)
        }
    };
    let config =
        Config { search: council.search, ..Config::once(seats, council.drawn, knowledge, round) };
    // Top-ups use the value that is best for them.
    let mut config = with_best_c(config, council.aim.goal());
    config.chambers[0].c.splice(..1, [election.c]);
    Ok(config)
}

/// The configuration of the baseline: the first hosts to reply are seated, as many as there can be
/// seats.
fn of_masks(round: Duration) -> Config {
    let seats = Seats::new(1, MOST_SEATS);
    // With `Told` there is no poll to leave out of the counts.
    Config::once(seats, Algorithm::Bolot, Knowledge::Told(1), round)
}
