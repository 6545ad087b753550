//! A council that is kept while hosts come and go.

use clap::Args;
use hustings_protocol::Duration;
use hustings_protocol::council::{Config, Lease, Refill};
use hustings_sim::council::{CouncilTrial as Trial, HostChurn as Churn, Stay};

use crate::options::{Named, one_of, values};
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

    pub(super) fn settle(&self) -> Option<Kept> {
        let crash_every = self.churn?;
        Some(Kept {
            churn: Churn {
                crash_every,
                gone_for: self.absence.unwrap_or(Duration((crash_every.0 / GONE).max(1))),
            },
            lasts: self.lasts,
            refill: self.refill.unwrap_or(Refill::TopUp),
        })
    }
}

/// A council that is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    churn: Churn,
    lasts: Option<Duration>,
    refill: Refill,
}

impl Kept {
    pub(super) fn parameters(self) -> Parameters {
        Parameters::new()
            .with("churn", format!("die:{}", self.churn.crash_every))
            .with("absence", self.churn.gone_for.to_string())
            .with("for", self.lasts.map(|it| it.to_string()))
            .with("refill", self.refill.name())
    }

    /// The settings as the end of a sentence for people.
    pub(super) fn sentence(self) -> String {
        let Churn { crash_every, gone_for } = self.churn;
        format!(
            ", kept by {}, each host crashes every {crash_every} and is gone for {gone_for}",
            self.refill.name()
        )
    }

    /// Returns the run in which the elected council is kept as in the field.
    pub(super) fn stay(&self, trial: Trial) -> Stay {
        let round = trial.config.round;
        Stay {
            lasts: self.lasts.unwrap_or(round * ROUNDS),
            trial: Trial {
                config: Config {
                    lease: Some(Lease {
                        beat: round * ROUNDS_IN_A_BEAT,
                        lasts: round * ROUNDS_IN_A_LEASE,
                        refill: self.refill,
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
