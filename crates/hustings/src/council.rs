//! The centre of a council: calls the hosts of a group and keeps from `L` to `U` of them seated.

use hustings_agent::config::ProtocolConfig;
use hustings_agent::council::Seated;
use hustings_agent::{
    Agent, AgentStoppedError, CentreStatus, CouncilPart, Handle, Peer, StartError,
};
use hustings_protocol::Duration;
use hustings_protocol::council::{Config, Seats};
use hustings_theory::council::optimum::Goal;
pub use hustings_theory::council::rules::{Choice, in_theory, with_best_c, with_c};
use tokio::sync::watch;

use crate::group::GroupOptions;

/// The council of a group, run by its centre. The centre ends when this value and all clones of its
/// agent's handle are dropped. Needs a tokio runtime.
///
/// Every agent of the group is a host that may be elected, unless it is configured otherwise. The
/// centre is not a candidate for leadership and holds no seat. A group has one centre: of two, the
/// hosts follow the one that began later, and the other ends.
///
/// ```no_run
/// use hustings::{Council, GroupOptions};
///
/// # async fn example(key: hustings::agent::seal::Key) -> Result<(), Box<dyn std::error::Error>> {
/// // From 4 to 8 of up to 100,000 hosts.
/// let options = GroupOptions::on_the_lan("fleet", "centre", key);
/// let mut council = Council::call(options, Council::rules(4..=8, 100_000)).await?;
/// loop {
///     let now = council.changed().await?;
///     for seat in now.seats() {
///         println!("{} since {:?}", seat.member.name, seat.since);
///     }
/// }
/// # }
/// ```
pub struct Council {
    agent: Agent,
    status: watch::Receiver<CentreStatus>,
}

/// The reason for which a council ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CouncilEndedError {
    /// The centre ended.
    #[error(transparent)]
    Stopped(#[from] AgentStoppedError),
    /// Another centre began later, and the hosts follow it.
    #[error("another centre, `{}`, has called hosts of this group since then", .0.name)]
    AnotherCentre(Peer),
    /// This centre yields because a host holds a seat of another centre.
    #[error("`{}` holds a seat of another centre", .0.name)]
    HeldElsewhere(Peer),
}

impl Council {
    /// Rules for one council of up to `hosts` hosts on a LAN: an estimate that falls fast, rounds
    /// of 250 ms, leases of 15 rounds, and the `c` that needs the fewest rounds.
    pub fn rules(seats: std::ops::RangeInclusive<u32>, hosts: u32) -> Config {
        let seats = Seats::new(*seats.start(), *seats.end());
        with_best_c(Config::field(seats, hosts, Duration::from_millis(250)), Goal::ROUNDS)
    }

    /// Joins a group as its centre and calls its hosts. The group's election protocol does not
    /// matter.
    ///
    /// # Errors
    /// If the rules or the options are invalid, or the address is not available.
    pub async fn call(options: GroupOptions, rules: Config) -> Result<Self, StartError> {
        let group = options.group.clone();
        let options = GroupOptions {
            council: CouncilPart::Centre(Box::new(rules)),
            protocol: ProtocolConfig::NoElection,
            ..options
        };
        let agent = Agent::start(options.config()?).await?;
        let watched = agent.handle().watch_council(&group);
        let status = watched.expect("the agent was started as the centre of this group");
        Ok(Self { agent, status })
    }

    /// The hosts that are seated now.
    pub fn seats(&self) -> Vec<Seated> {
        self.status.borrow().seats().cloned().collect()
    }

    /// A receiver with the council as the centre knows it, notified of changes.
    pub fn changes(&self) -> watch::Receiver<CentreStatus> {
        self.status.clone()
    }

    /// Waits for the next change.
    ///
    /// # Errors
    /// If there will be none: the centre ended, or the hosts follow another one.
    pub async fn changed(&mut self) -> Result<CentreStatus, CouncilEndedError> {
        tokio::select! {
            changed = self.status.changed() => if changed.is_ok() {
                let status = self.status.borrow_and_update().clone();
                return match (&status.gives_way_to, &status.held_elsewhere) {
                    (Some(other), _) => Err(CouncilEndedError::AnotherCentre(other.clone())),
                    (None, Some(host)) => Err(CouncilEndedError::HeldElsewhere(host.clone())),
                    (None, None) => Ok(status),
                };
            },
            ended = self.agent.ended() => ended?,
        }
        Err(AgentStoppedError::Broken("it was stopped".to_owned()).into())
    }

    /// Waits until all required seats are filled.
    ///
    /// # Errors
    /// As [`changed`](Self::changed).
    pub async fn filled(&mut self) -> Result<CentreStatus, CouncilEndedError> {
        loop {
            {
                let status = self.status.borrow_and_update();
                if status.is_filled() && !status.has_stopped() {
                    return Ok(status.clone());
                }
            }
            self.changed().await?;
        }
    }

    /// The handle of the agent that runs the centre.
    pub fn agent(&self) -> &Handle {
        self.agent.handle()
    }

    /// Releases all seats and ends.
    ///
    /// # Errors
    /// The reason for which the centre had ended before.
    pub async fn dissolve(self) -> Result<(), AgentStoppedError> {
        self.agent.stop().await
    }
}

#[cfg(test)]
mod tests {
    use super::Council;

    #[test]
    fn rules_for_four_to_eight_use_the_best_c_of_the_paper() {
        let rules = Council::rules(4..=8, 100_000);
        let c = rules.chambers[0].c[0];
        assert!((c - 6.0).abs() < 0.5, "{c}");
    }
}
