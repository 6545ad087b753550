//! A council that is kept while hosts come and go.

use clap::Args;
use hustings_protocol::Duration;
use hustings_protocol::council::{Lease, Refill};
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

    /// Returns the churn of the hosts, if the council is kept.
    fn host_churn(&self) -> Option<Churn> {
        let crash_every = self.churn?;
        let gone_for = self.absence.unwrap_or(Duration((crash_every.0 / GONE).max(1)));
        Some(Churn { crash_every, gone_for })
    }

    fn refill(&self) -> Refill {
        self.refill.unwrap_or(Refill::TopUp)
    }

    pub(super) fn parameters(&self) -> Parameters {
        let Some(Churn { crash_every, gone_for }) = self.host_churn() else {
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
        let Some(Churn { crash_every, gone_for }) = self.host_churn() else {
            return String::new();
        };
        format!(
            ", kept by {}, each host crashes every {crash_every} and is gone for {gone_for}",
            self.refill().name()
        )
    }

    /// Returns the run in which the elected council is kept as in the field.
    pub(super) fn stay(&self, mut trial: Trial) -> Stay {
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
