//! To be the centre of a council: call the hosts of a group, and keep from `L` to `U` of them seated.

use hustings_agent::config::ProtocolConfig;
use hustings_agent::council::Seated;
use hustings_agent::{Agent, CentreStatus, CouncilPart, Ended, Handle, Peer, StartError};
use hustings_protocol::Duration;
use hustings_protocol::council::{Algorithm, Config, Knowledge, Pick, Reset, Seats};
use hustings_theory::council as theory;
use hustings_theory::council::optimum::{Goal, best_c, robust_c, uncertain};
use tokio::sync::watch;

use crate::group::Joining;

/// How large a fleet is taken to be where nobody says: `c` hardly depends on it.
const A_FLEET: u32 = 100_000;

/// The council of a group, as its centre keeps it: as long as this lives. Needs a tokio runtime.
///
/// Every agent of the group is a host that may be elected, unless it was told otherwise. The centre is no candidate for
/// leadership, and holds no seat. A group has one centre: of two the later one is heeded, and the other ends.
///
/// ```no_run
/// use hustings::{Council, Joining};
///
/// # async fn example(key: hustings::agent::seal::Key) -> Result<(), Box<dyn std::error::Error>> {
/// // From 4 to 8 of up to 100,000 hosts.
/// let joining = Joining::on_the_lan("fleet", "centre", key);
/// let mut council = Council::call(joining, Council::rules(4..=8, 100_000)).await?;
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
    told: watch::Receiver<CentreStatus>,
}

/// Why a council is kept no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Dissolved {
    /// The centre ended.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// Another centre began later, and hosts heed that one.
    #[error("another centre, `{}`, has called this group since", .0.name)]
    AnotherCentre(Peer),
    /// This one yields, and a host holds a seat of another.
    #[error("`{}` holds a seat of another centre", .0.name)]
    HeldElsewhere(Peer),
}

impl Council {
    /// One council of up to `hosts` hosts, on a LAN: an estimate that falls fast, rounds of 250 ms, leases of 15 rounds, and
    /// the `c` that takes the fewest rounds.
    pub fn rules(seats: std::ops::RangeInclusive<u32>, hosts: u32) -> Config {
        let seats = Seats::new(*seats.start(), *seats.end());
        with_best_c(
            Config::field(seats, hosts, Duration::from_millis(250)),
            Goal::ROUNDS,
        )
    }

    /// Joins a group as its centre, and calls its hosts. How the group elects its leader is no matter.
    ///
    /// # Errors
    /// If the rules or the options cannot work, or the address cannot be had.
    pub async fn call(joining: Joining, rules: Config) -> Result<Self, StartError> {
        let group = joining.group.clone();
        let joining = Joining {
            council: CouncilPart::Centre(Box::new(rules)),
            protocol: ProtocolConfig::NoElection,
            ..joining
        };
        let agent = Agent::start(joining.config()?).await?;
        let watched = agent.handle().watch_council(&group);
        let told = watched.expect("the agent was started as the centre of this group");
        Ok(Self { agent, told })
    }

    /// Who is seated now.
    pub fn seats(&self) -> Vec<Seated> {
        self.told.borrow().seats().cloned().collect()
    }

    /// The council, as the centre knows it now and whenever it changes.
    pub fn changes(&self) -> watch::Receiver<CentreStatus> {
        self.told.clone()
    }

    /// Waits for the next change.
    ///
    /// # Errors
    /// If there will be none: the centre ended, or another one is heeded.
    pub async fn changed(&mut self) -> Result<CentreStatus, Dissolved> {
        tokio::select! {
            changed = self.told.changed() => if changed.is_ok() {
                let status = self.told.borrow_and_update().clone();
                return match (&status.gives_way_to, &status.held_elsewhere) {
                    (Some(other), _) => Err(Dissolved::AnotherCentre(other.clone())),
                    (None, Some(host)) => Err(Dissolved::HeldElsewhere(host.clone())),
                    (None, None) => Ok(status),
                };
            },
            ended = self.agent.ended() => ended?,
        }
        Err(Ended::Broken("it was stopped".to_owned()).into())
    }

    /// Waits until every seat that must be filled is.
    ///
    /// # Errors
    /// As [`changed`](Self::changed).
    pub async fn filled(&mut self) -> Result<CentreStatus, Dissolved> {
        loop {
            {
                let status = self.told.borrow_and_update();
                if status.is_filled() && !status.has_stopped() {
                    return Ok(status.clone());
                }
            }
            self.changed().await?;
        }
    }

    /// The agent behind it.
    pub fn agent(&self) -> &Handle {
        self.agent.handle()
    }

    /// Lets go of all seats, and ends.
    ///
    /// # Errors
    /// If the centre had ended before, with the reason.
    pub async fn dissolve(self) -> Result<(), Ended> {
        self.agent.stop().await
    }
}

/// How `c` is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The best if all is as it is taken to be.
    Best,
    /// The best in the worst of several cases: half as many hosts or twice as many, a tenth of all messages lost or none. Seats
    /// that fall empty later are filled with the best.
    Robust,
}

/// The same rules with the `c` that is best for `goal`, by exact computation: for a whole council, and for each number of
/// seats that may be left of one.
pub fn with_best_c(rules: Config, goal: Goal) -> Config {
    with_c(rules, Choice::Best, goal)
}

/// The same, by a choice.
pub fn with_c(mut rules: Config, choice: Choice, goal: Goal) -> Config {
    let Some(algorithm) = in_theory(rules.algorithm) else {
        return rules; // thresholds and masks have no such choice
    };
    let members = match rules.knowledge {
        Knowledge::Told(members) => members,
        Knowledge::Estimated(estimate) => estimate.first,
        Knowledge::Polled => A_FLEET,
    };
    for chamber in &mut rules.chambers {
        let wanted = (0..chamber.keep).map_while(|seated| chamber.wanted(seated));
        let chosen = wanted.enumerate().map(|(seated, wanted)| {
            let seats = theory::Seats {
                least: u64::from(wanted.least),
                most: u64::from(wanted.most),
            };
            let members = u64::from(members).max(seats.most + 1);
            let election = theory::Election::new(seats, members, algorithm, 1.0);
            match choice {
                // Whoever fills seats has counted the hosts' replies before, and is no longer uncertain.
                Choice::Robust if seated == 0 => robust_c(&uncertain(&election), goal),
                Choice::Best | Choice::Robust => best_c(&election, goal).c,
            }
        });
        chamber.c = chosen.collect();
    }
    rules
}

/// The algorithm as theory has it; none for thresholds and masks, of which it has no recurrence.
pub fn in_theory(algorithm: Algorithm) -> Option<theory::Algorithm> {
    Some(match algorithm {
        Algorithm::Naive => theory::Algorithm::Naive,
        Algorithm::Basic => theory::Algorithm::Basic,
        Algorithm::SkipReset => theory::Algorithm::SkipReset,
        Algorithm::Choice(pick, reset) => {
            let pick = match pick {
                Pick::SmallestOvershoot => theory::Pick::SmallestOvershoot,
                Pick::First => theory::Pick::First,
            };
            let reset = match reset {
                Reset::Polled => theory::Reset::Polled,
                Reset::Skipped => theory::Reset::Skipped,
            };
            theory::Algorithm::Choice(pick, reset)
        }
        Algorithm::History { .. } => theory::Algorithm::History,
        Algorithm::Merit | Algorithm::Bolot => return None,
    })
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "how long a choice takes is tested"
)]
mod tests {
    use std::time::Instant;

    use super::{Choice, Council, with_best_c, with_c};
    use hustings_protocol::Duration;
    use hustings_protocol::council::{Algorithm, Config, Seats};
    use hustings_theory::council as theory;
    use hustings_theory::council::optimum::Goal;

    #[test]
    fn the_best_c_fits_every_council_and_every_algorithm() {
        let (choice, history) = (Algorithm::CHOICE, Algorithm::HISTORY);
        for algorithm in [
            Algorithm::Naive,
            Algorithm::Basic,
            Algorithm::SkipReset,
            choice,
            history,
            Algorithm::Merit,
            Algorithm::Bolot,
        ] {
            for (least, most) in [(1, 1), (1, 8), (4, 8), (5, 5), (60, 64)] {
                let seats = Seats::new(least, most);
                let rules = Config {
                    algorithm,
                    ..Config::field(seats, 100_000, Duration::from_millis(250))
                };
                let rules = with_best_c(rules, Goal::ROUNDS);
                assert_eq!(rules.check(), Ok(()), "{algorithm:?} {least}..{most}");
                assert_eq!(rules.chambers[0].c.len(), rules.chambers[0].keep as usize);
            }
        }
    }

    #[test]
    fn a_robust_c_fits_and_is_another() {
        for (least, most) in [(1, 1), (1, 8), (4, 8)] {
            let rules = Config::field(Seats::new(least, most), 100_000, Duration::from_millis(250));
            let robust = with_c(rules.clone(), Choice::Robust, Goal::ROUNDS);
            assert_eq!(robust.check(), Ok(()), "{least}..{most}");
            let best = with_best_c(rules, Goal::ROUNDS);
            let (robust, best) = (&robust.chambers[0].c, &best.chambers[0].c);
            assert_ne!(robust[0], best[0], "{least}..{most}");
            assert_eq!(
                robust[1..],
                best[1..],
                "{least}..{most}: seats filled later"
            );
        }
    }

    /// A centre calls nobody before it has its `c`: a robust one must not keep it waiting. It takes about twice as long as the
    /// best; by exact elections with loss, for each number of seats, three hundred times.
    #[test]
    fn a_robust_c_takes_not_much_longer_than_the_best() {
        for algorithm in [Algorithm::SkipReset, Algorithm::CHOICE] {
            let rules = Config {
                algorithm,
                ..Config::field(Seats::new(16, 32), 100_000, Duration::from_millis(250))
            };
            let takes = |choice| {
                let start = Instant::now();
                let chosen = with_c(rules.clone(), choice, Goal::ROUNDS);
                assert_eq!(chosen.check(), Ok(()), "{algorithm:?}");
                start.elapsed()
            };
            let (best, robust) = (takes(Choice::Best), takes(Choice::Robust));
            assert!(
                robust < 30 * best,
                "{algorithm:?}: {robust:?}, the best {best:?}"
            );
        }
    }

    /// What the guide's table says of either, as a centre chooses it, where it searches as agents do.
    #[test]
    fn the_guide_tells_what_the_best_and_the_robust_c_cost() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/council.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let rules = Config::field(Seats::new(4, 8), 100_000, Duration::from_millis(250));
        let [best, robust] = [Choice::Best, Choice::Robust]
            .map(|choice| with_c(rules.clone(), choice, Goal::ROUNDS).chambers[0].c[0]);
        let sentence = format!("For [4..8] it is {robust:.2} instead of {best:.2}");
        let mut told = vec![sentence];
        for (members, shown) in [
            (50, "50"),
            (300, "300"),
            (2_000, "2,000"),
            (20_000, "20,000"),
            (80_000, "80,000"),
        ] {
            for reply in [0.0, 0.1] {
                let of = |c: f64| {
                    let seats = theory::Seats { least: 4, most: 8 };
                    let election = theory::Election {
                        loss: theory::Loss {
                            reply,
                            multicast: 0.0,
                        },
                        knowledge: theory::Knowledge::Estimated(theory::Estimate::aggressive(1e5)),
                        ..theory::Election::new(seats, members, theory::Algorithm::SkipReset, c)
                    };
                    let cost = theory::by_evidence(&election).unwrap();
                    format!("{:.2}, {:.1}", cost.rounds, cost.messages)
                };
                let (best, robust) = (of(best), of(robust));
                told.push(format!("| {shown} | {reply} | {best} | {robust} |"));
            }
        }
        told.retain(|it| !guide.contains(it));
        assert!(told.is_empty(), "docs/src/council.md has not: {told:#?}");
    }

    #[test]
    fn four_to_eight_are_drawn_with_the_best_c_of_the_paper() {
        let rules = Council::rules(4..=8, 100_000);
        let c = rules.chambers[0].c[0];
        assert!((c - 6.0).abs() < 0.5, "{c}");
    }
}
