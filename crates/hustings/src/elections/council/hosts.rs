//! The same election host by host: by the state machines of the protocol, with messages.

use hustings_protocol::Duration;
use hustings_protocol::council::{
    Algorithm, Chamber, Config, Estimate, Knowledge, MOST_SEATS, Pick, Reset, Seats,
};
use hustings_sim::council::Trial;
use hustings_theory::council as theory;

use super::{Kind, Poll};
use crate::failure::Failure;

/// More would take minutes a round, and gigabytes.
const MOST_HOSTS: u32 = 10_000_000;
/// A round is so many delays: there, back, and as much again.
const DELAYS_IN_A_ROUND: u64 = 4;

impl Poll {
    /// What a run is to be in the simulator, host by host.
    ///
    /// # Errors
    /// Names what the state machines cannot do.
    pub(crate) fn by_hosts(&self, delay: Duration) -> Result<Trial, Failure> {
        let round = delay * DELAYS_IN_A_ROUND;
        let (members, config) = match self.kind {
            Kind::Council(council) => {
                let election = &council.election;
                (election.members, of_council(election, round)?)
            }
            Kind::Bolot(bolot) => (bolot.members, of_masks(round)),
        };
        let hosts = u32::try_from(members).ok().filter(|it| *it <= MOST_HOSTS);
        let hosts = hosts
            .ok_or_else(|| refused(&format!("--members {members} are more than {MOST_HOSTS}")))?;
        config
            .check()
            .map_err(|error| refused(&error.to_string()))?;
        Ok(Trial {
            hosts,
            config,
            reply_loss: self.loss.reply,
            multicast_loss: self.loss.multicast,
        })
    }
}

fn refused(reason: &str) -> Failure {
    Failure::Usage(format!(
        "--engine per-host cannot hold this election: {reason}: choose otherwise, or --engine aggregate"
    ))
}

fn of_council(election: &theory::Election, round: Duration) -> Result<Config, Failure> {
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
        // The poll gives a council of all.
        _ if election.is_decided_by_the_poll() => Knowledge::Polled,
        theory::Knowledge::Known | theory::Knowledge::Taken(_) => {
            Knowledge::Told(narrow(election.members)?)
        }
    };
    let algorithm = algorithm(election.algorithm);
    Ok(Config {
        chambers: vec![Chamber {
            c: vec![election.c],
            ..Chamber::new(seats)
        }],
        ..Config::once(seats, algorithm, knowledge, round)
    })
}

/// Whoever replies first, as many as there can be seats.
fn of_masks(round: Duration) -> Config {
    let seats = Seats::new(1, MOST_SEATS);
    // No poll is left out.
    Config::once(seats, Algorithm::Bolot, Knowledge::Told(1), round)
}

fn algorithm(algorithm: theory::Algorithm) -> Algorithm {
    match algorithm {
        theory::Algorithm::Naive => Algorithm::Naive,
        theory::Algorithm::Basic => Algorithm::Basic,
        theory::Algorithm::SkipReset => Algorithm::SkipReset,
        theory::Algorithm::Choice(pick, reset) => {
            let pick = match pick {
                theory::Pick::SmallestOvershoot => Pick::SmallestOvershoot,
                theory::Pick::First => Pick::First,
            };
            let reset = match reset {
                theory::Reset::Polled => Reset::Polled,
                theory::Reset::Skipped => Reset::Skipped,
            };
            Algorithm::Choice(pick, reset)
        }
        theory::Algorithm::History => Algorithm::HISTORY,
    }
}
