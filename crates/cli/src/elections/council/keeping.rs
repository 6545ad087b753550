//! A council that is kept while hosts come and go.

use clap::{Args, ValueEnum};
use hustings_protocol::Duration;
use hustings_protocol::council::{Config, Lease, Refill};
use hustings_sim::council::{CouncilTrial as Trial, HostChurn as Churn, Stay};

use crate::options::{name_of, values};
use crate::report::Parameters;

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
    #[arg(long, value_name = "die:MEAN", value_parser = dying, allow_hyphen_values = true)]
    churn: Option<Duration>,

    /// The mean absence of a host that crashed by --churn; it comes back without memory. Default: a
    /// tenth of the mean
    #[arg(long, value_name = "DURATION", value_parser = values::some_time, requires = "churn",
          allow_hyphen_values = true)]
    absence: Option<Duration>,

    /// The time for which the council of --churn is kept. Default: 2000 rounds
    #[arg(long = "for", value_name = "DURATION", value_parser = values::some_time, requires = "churn",
          allow_hyphen_values = true)]
    lasts: Option<Duration>,

    /// The centre's action when too few seats are taken, with --churn [default: top-up]
    #[arg(long, value_enum, requires = "churn")]
    refill: Option<Filling>,
}

/// The ways to fill seats when too few hosts are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Filling {
    /// Only the missing hosts are recruited
    TopUp,
    /// A new council is elected, as in the paper
    Restart,
}

fn dying(text: &str) -> Result<Duration, String> {
    let mean = text.strip_prefix("die:");
    let mean = mean.ok_or("write how often a host crashes, as in die:10m")?;
    values::some_time(mean)
}

impl KeepOptions {
    /// Returns true if the council is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.churn.is_some()
    }

    pub(super) fn settle(&self) -> Option<Keeping> {
        let crash_every = self.churn?;
        Some(Keeping {
            churn: Churn {
                crash_every,
                gone_for: self.absence.unwrap_or(Duration((crash_every.0 / GONE).max(1))),
            },
            lasts: self.lasts,
            filling: self.refill.unwrap_or(Filling::TopUp),
        })
    }
}

/// A council that is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeping {
    churn: Churn,
    lasts: Option<Duration>,
    filling: Filling,
}

impl Keeping {
    pub(super) fn parameters(&self, own: Parameters) -> Parameters {
        own.with("churn", format!("die:{}", self.churn.crash_every))
            .with("absence", self.churn.gone_for.to_string())
            .with("for", self.lasts.map(|it| it.to_string()))
            .with("refill", name_of(&self.filling))
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "kept by {} where a host crashes every {} and is gone for {}",
            name_of(&self.filling),
            self.churn.crash_every,
            self.churn.gone_for
        )
    }

    /// Returns the run in which the elected council is kept as in the field.
    pub(super) fn stay(&self, trial: Trial) -> Stay {
        let round = trial.config.round;
        let refill = match self.filling {
            Filling::TopUp => Refill::TopUp,
            Filling::Restart => Refill::Restart,
        };
        Stay {
            lasts: self.lasts.unwrap_or(round * ROUNDS),
            trial: Trial {
                config: Config {
                    lease: Some(Lease {
                        beat: round * ROUNDS_IN_A_BEAT,
                        lasts: round * ROUNDS_IN_A_LEASE,
                        refill,
                    }),
                    ..trial.config
                },
                ..trial
            },
            churn: Some(self.churn),
            centre_restarts: None,
            centre_cut_off: None,
        }
    }
}
