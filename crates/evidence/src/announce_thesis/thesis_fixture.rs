//! The fixture of the chapter's elections: its model, put into the simulator.
//!
//! The chapter has no unit of time. Ours is a second of simulated time.

use hustings_protocol::announce::{Announce, Config, Criterion, Wake};
use hustings_protocol::{Duration, Instant, Priority, announce_listen, suppression};
use hustings_sim::announcing::{self, Perturbation};
use hustings_sim::convergence::{Expected, Watch};
use hustings_sim::statistics::Sample;
use hustings_sim::{
    Boot, Delay, Detection, LossModel, Network, Seeds, Setup, Stream, Verb, Who, World,
};
use hustings_theory::announce::delay::{last_send, last_send_of_first_round, leadership_delay};
use hustings_theory::announce::messages::{first_round_messages, messages_until_heard};
use hustings_theory::announce::{self as paper, AnnounceModel, MulticastLoss, Variant};

use super::super::budget::{Budget, Result, seed_of};
use super::super::evidence::{Evidence, Statement};

/// The time limit. An election that has not converged by then counts as never converging.
const LIMIT: Duration = Duration::from_secs(100_000);
/// The time by which a group has settled. With a loss of 0.4 one member in 10^20 has not heard its
/// leader by then.
const SETTLED: f64 = 50.0;

/// Converts units of the chapter's time to a duration.
pub(super) fn time(units: f64) -> Duration {
    Duration::from_secs_f64(units)
}

pub(super) fn instant(units: f64) -> Instant {
    Instant::START + time(units)
}

/// Describes a loss in words.
pub(super) fn name_of(loss: MulticastLoss) -> String {
    match loss {
        MulticastLoss::None => "no loss".to_owned(),
        MulticastLoss::Correlated(loss) => format!("correlated loss {loss}"),
        MulticastLoss::Uncorrelated(loss) => format!("uncorrelated loss {loss}"),
    }
}

/// Returns the network of the model.
pub(super) fn network(model: &AnnounceModel) -> Network {
    let loss_model = match model.loss {
        MulticastLoss::None | MulticastLoss::Uncorrelated(_) => LossModel::Uncorrelated,
        MulticastLoss::Correlated(_) => LossModel::Correlated,
    };
    Network {
        multicast_loss: model.loss.probability(),
        loss_model,
        ..Network::perfect(Delay::Constant(time(model.delay)))
    }
}

/// Returns the configuration of LE-A, LE-S or LE-M in the model.
pub(super) fn config(algorithm: Variant, model: &AnnounceModel) -> Config {
    let suppress = if algorithm == Variant::LeA { 0.0 } else { model.suppress_interval };
    let criterion = match algorithm {
        Variant::LeM => Criterion::EarliestWake,
        Variant::LeA | Variant::LeS | Variant::Sup | Variant::Al => Criterion::Priority,
    };
    let paper = Config::paper(time(suppress), time(model.announce_interval));
    Config { wake: wake(model.wake), criterion, ..paper }
}

fn wake(law: paper::Wake) -> Wake {
    match law {
        paper::Wake::Uniform => Wake::Uniform,
        paper::Wake::Exponential { rate } => Wake::Exponential { rate },
    }
}

/// The measures of many elections.
pub(super) struct AnnounceResults {
    /// The time of the announcement after which all had heard the leader. For suppression, the time
    /// of the last message.
    pub(super) tmax: Sample,
    /// The time at which the last member heard the leader.
    pub(super) delay: Sample,
    /// The number of announcements until then.
    pub(super) messages: Sample,
    /// The number of members that announced themselves at their wake-up.
    pub(super) first_messages: Sample,
    /// The time of the last announcement among them.
    pub(super) first_ended: Sample,
    /// The number of announcements of the leader.
    pub(super) rounds: Sample,
}

/// Runs `runs` elections. Each algorithm and model has its own seed.
pub(super) fn held(
    budget: &Budget,
    runs: u64,
    algorithm: Variant,
    model: &AnnounceModel,
) -> Result<AnnounceResults> {
    let own = budget.reseeded(seed_of(&format!("{algorithm:?} {model:?}")));
    let [tmax, delay, messages, first_messages, first_ended, rounds] =
        own.samples(runs, |seeds| course(algorithm, model, seeds))?;
    Ok(AnnounceResults { tmax, delay, messages, first_messages, first_ended, rounds })
}

/// Returns the chapter's models of these sizes.
pub(super) fn models(sizes: &[u64], loss: MulticastLoss) -> Vec<AnnounceModel> {
    sizes.iter().map(|&members| AnnounceModel::of_the_chapter(members, loss)).collect()
}

/// A quantity that elections measure and theory computes.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) label: &'static str,
    pub(super) of: fn(&AnnounceResults) -> Sample,
    pub(super) on_paper: fn(Variant, &AnnounceModel) -> Option<f64>,
}

pub(super) const TMAX: Measure =
    Measure { label: "mean tmax, in T_S", of: |held| held.tmax, on_paper: last_send };
pub(super) const DELAY: Measure = Measure {
    label: "mean time until all have heard the leader, in T_A",
    of: |held| held.delay,
    on_paper: leadership_delay,
};
pub(super) const MESSAGES: Measure =
    Measure { label: "mean messages", of: |held| held.messages, on_paper: messages_until_heard };
pub(super) const FIRST_MESSAGES: Measure = Measure {
    label: "mean messages of the first round",
    of: |held| held.first_messages,
    on_paper: first_round_messages,
};
pub(super) const FIRST_ENDED: Measure = Measure {
    label: "mean time of the last first-round message, in T_S",
    of: |held| held.first_ended,
    on_paper: last_send_of_first_round,
};

/// The elections of one algorithm in several models.
pub(super) struct Sweep {
    algorithm: Variant,
    models: Vec<AnnounceModel>,
    held: Vec<AnnounceResults>,
}

impl Sweep {
    /// Runs `runs` elections in each model.
    pub(super) fn hold(
        budget: &Budget,
        runs: u64,
        algorithm: Variant,
        models: &[AnnounceModel],
    ) -> Result<Self> {
        let held = models.iter().map(|model| held(budget, runs, algorithm, model));
        Ok(Self { algorithm, models: models.to_vec(), held: held.collect::<Result<_>>()? })
    }

    /// Returns the measurement in each model.
    pub(super) fn measured(&self, measure: Measure) -> Vec<Sample> {
        self.held.iter().map(measure.of).collect()
    }

    /// Evaluates a formula for each model. The value is NaN where the formula has none.
    pub(super) fn by(&self, formula: impl Fn(&AnnounceModel) -> Option<f64>) -> Vec<f64> {
        self.models.iter().map(|model| formula(model).unwrap_or(f64::NAN)).collect()
    }

    /// Returns the computed value in each model.
    pub(super) fn computed(&self, measure: Measure) -> Vec<f64> {
        self.by(|model| (measure.on_paper)(self.algorithm, model))
    }

    /// Returns the results in the last model.
    pub(super) fn last(&self) -> &AnnounceResults {
        &self.held[self.held.len() - 1]
    }
}

impl<'a> Statement<'a> {
    /// Expects the measurement that theory computes, in each model.
    pub(super) fn computed(self, held: &Sweep, measure: Measure) -> &'a mut Evidence {
        self.means(&held.computed(measure), &held.measured(measure))
    }

    /// Expects a smaller measurement in `less` than in `more`, in each model.
    pub(super) fn less(self, less: &Sweep, more: &Sweep, measure: Measure) -> &'a mut Evidence {
        self.all_below(&more.measured(measure), &less.measured(measure))
    }
}

/// Runs one election and returns its measures in the order of [`AnnounceResults`]. Measures of the
/// convergence are NaN if the election did not converge.
fn course(algorithm: Variant, model: &AnnounceModel, seeds: Seeds) -> [f64; 6] {
    let members = model.members as u32;
    let limit = Instant::START + LIMIT;
    let watch = match algorithm {
        Variant::LeA | Variant::LeS | Variant::LeM => {
            let config = config(algorithm, model);
            announcing::elect(members, config, network(model), seeds, limit)
        }
        Variant::Al => {
            let announce = time(model.announce_interval);
            let config = announce_listen::Config { announce, listen: None };
            announcing::announce_listen(members, config, network(model), seeds, limit)
        }
        Variant::Sup => {
            let suppress = time(model.suppress_interval);
            let config = suppression::Config { suppress, wake: wake(model.wake) };
            let watch = announcing::suppression(members, config, network(model), seeds);
            // A run ends with its last message, even if not all members heard it.
            let messages = watch.hearing.messages() as f64;
            let last = watch.hearing.last_sent().map_or(f64::NAN, Instant::as_secs_f64);
            return [last, last + model.delay, messages, messages, last, 1.0];
        }
    };
    let hearing = watch.hearing;
    let first_messages = hearing.first_round_messages as f64;
    let first_ended = hearing.first_round_ended.as_secs_f64();
    let Some(end) = hearing.convergence else {
        return [f64::NAN, f64::NAN, f64::NAN, first_messages, first_ended, f64::NAN];
    };
    let (tmax, delay) = (end.tmax.as_secs_f64(), end.delay.as_secs_f64());
    [tmax, delay, end.messages as f64, first_messages, first_ended, end.rounds.into()]
}

/// Builds a group in which all members start at once. Its last member is the best. The world is
/// traced and has not run.
pub(super) fn group(config: Config, model: &AnnounceModel, seeds: Seeds) -> World<Announce, Watch> {
    let members = model.members as u32;
    let priorities = announcing::priorities(members);
    group_of(priorities, members - 1, config, model, seeds)
}

/// Builds the same with priorities in any order. `best` is the index of the greatest.
pub(super) fn group_of(
    priorities: Vec<Priority>,
    best: u32,
    config: Config,
    model: &AnnounceModel,
    seeds: Seeds,
) -> World<Announce, Watch> {
    let watch = Watch::new(priorities.len() as u32, Expected::Member(best));
    let setup =
        Setup { priorities, network: network(model), detection: Detection::Never, view: 1.0 };
    let make = |boot: Boot<Announce>| Announce::new(boot.saved);
    let mut world = World::traced(setup, config, seeds, watch, make);
    world.schedule(Instant::START, Verb::Start(Who::All));
    world
}

/// Runs until all have heard the leader. Returns true if they have.
pub(super) fn converge(world: &mut World<Announce, Watch>, announce: Duration) -> bool {
    let limit = Instant::START + LIMIT;
    while world.trace().hearing.convergence.is_none() && world.now() < limit {
        world.run_until(world.now() + announce);
    }
    world.trace().hearing.convergence.is_some()
}

/// Measures how long settled groups disagree after a perturbation. The perturbation comes at a
/// uniformly random time of an announce interval.
///
/// `model` counts the members afterwards. The value is NaN for a group that had not settled or does
/// not agree again within `election_timeout`.
pub(super) fn reestablished(
    budget: &Budget,
    runs: u64,
    perturbation: Perturbation,
    config: Config,
    model: &AnnounceModel,
    election_timeout: f64,
) -> Result<Sample> {
    let name = format!("{perturbation:?} {config:?} {model:?}");
    budget.reseeded(seed_of(&name)).sample(runs, |seeds| {
        // From 0 to 1, without 1.
        let phase = (seeds.number(Stream::Faults) >> 11) as f64 / (1_u64 << 53) as f64;
        let at = SETTLED + phase * model.announce_interval;
        let span = (instant(at), instant(at + election_timeout));
        let members = model.members as u32;
        let network = network(model);
        let delay =
            announcing::reestablishment(members, config, network, perturbation, span, seeds);
        delay.map_or(f64::NAN, Duration::as_secs_f64)
    })
}
