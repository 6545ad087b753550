//! Where the chapter's elections are held: its model, put into the simulator.
//!
//! The chapter has no unit of time. Ours is a second of simulated time.

use hustings_protocol::announce::{Announce, Config, Criterion, Wake};
use hustings_protocol::{Duration, Instant, Merit, announce_listen, suppression};
use hustings_sim::announcing::{self, Perturbation};
use hustings_sim::statistics::Sample;
use hustings_sim::watch::{Expected, Hearing, Watch};
use hustings_sim::{
    Boot, Delay, Detection, LossModel, Network, Seeds, Setup, Stream, Verb, Who, World,
};
use hustings_theory::announce::{self as paper, Algorithm, Loss, Model};

use super::super::effort::{Effort, ExperimentError, seed_of};

/// An election that has not converged by then is taken never to converge.
const LIMIT: Duration = Duration::from_secs(100_000);
/// By then a group has settled: with a loss of 0.4 one member in 10^20 has not heard its leader.
const SETTLED: f64 = 50.0;

/// So many units of the chapter's time.
pub(super) fn time(units: f64) -> Duration {
    Duration::from_secs_f64(units)
}

pub(super) fn instant(units: f64) -> Instant {
    Instant::START + time(units)
}

/// A loss, in words.
pub(super) fn name_of(loss: Loss) -> String {
    match loss {
        Loss::None => "no loss".to_owned(),
        Loss::Correlated(loss) => format!("correlated loss {loss}"),
        Loss::Uncorrelated(loss) => format!("uncorrelated loss {loss}"),
    }
}

/// The network of the model.
pub(super) fn network(model: &Model) -> Network {
    let loss_model = match model.loss {
        Loss::None | Loss::Uncorrelated(_) => LossModel::Uncorrelated,
        Loss::Correlated(_) => LossModel::Correlated,
    };
    Network {
        multicast_loss: model.loss.probability(),
        loss_model,
        ..Network::perfect(Delay::Constant(time(model.delay)))
    }
}

/// The election of the model: LE-A, LE-S or LE-M.
pub(super) fn config(algorithm: Algorithm, model: &Model) -> Config {
    let suppress = match algorithm {
        Algorithm::LeA => 0.0,
        Algorithm::LeS | Algorithm::LeM | Algorithm::Sup | Algorithm::Al => model.suppress_interval,
    };
    let criterion = match algorithm {
        Algorithm::LeM => Criterion::EarliestWake,
        Algorithm::LeA | Algorithm::LeS | Algorithm::Sup | Algorithm::Al => Criterion::Merit,
    };
    Config {
        wake: wake(model.wake),
        criterion,
        ..Config::chapter(time(suppress), time(model.announce_interval))
    }
}

fn wake(law: paper::Wake) -> Wake {
    match law {
        paper::Wake::Uniform => Wake::Uniform,
        paper::Wake::Exponential { rate } => Wake::Exponential { rate },
    }
}

/// What many elections came to.
pub(super) struct Held {
    /// When the announcement was sent after which all had heard the leader; of suppression, when the
    /// last message was.
    pub(super) tmax: Sample,
    /// When the last member heard it.
    pub(super) delay: Sample,
    /// Announcements until then.
    pub(super) messages: Sample,
    /// How many members announced themselves at their wake-up.
    pub(super) first_messages: Sample,
    /// When the last of them did.
    pub(super) first_ended: Sample,
    /// Announcements of the leader.
    pub(super) rounds: Sample,
}

/// Holds `runs` elections, with chance of their own for each algorithm and model.
pub(super) fn held(
    effort: &Effort,
    runs: u64,
    algorithm: Algorithm,
    model: &Model,
) -> Result<Held, ExperimentError> {
    let own = effort.reseeded(seed_of(&format!("{algorithm:?} {model:?}")));
    let [tmax, delay, messages, first_messages, first_ended, rounds] =
        own.samples(runs, |seeds| course(algorithm, model, seeds))?;
    Ok(Held {
        tmax,
        delay,
        messages,
        first_messages,
        first_ended,
        rounds,
    })
}

/// The same for several models.
pub(super) fn all_held(
    effort: &Effort,
    runs: u64,
    algorithm: Algorithm,
    models: &[Model],
) -> Result<Vec<Held>, ExperimentError> {
    let held = |model| held(effort, runs, algorithm, model);
    models.iter().map(held).collect()
}

/// One measure of each.
pub(super) fn each(held: &[Held], of: fn(&Held) -> Sample) -> Vec<Sample> {
    held.iter().map(of).collect()
}

/// What one election came to, in the order of [`Held`]; no numbers if it did not converge.
fn course(algorithm: Algorithm, model: &Model, seeds: Seeds) -> [f64; 6] {
    let members = model.members as u32;
    let limit = Instant::START + LIMIT;
    let watch = match algorithm {
        Algorithm::LeA | Algorithm::LeS | Algorithm::LeM => {
            let config = config(algorithm, model);
            announcing::elect(members, config, network(model), seeds, limit)
        }
        Algorithm::Al => {
            let config = announce_listen::Config {
                announce: time(model.announce_interval),
                listen: None,
            };
            announcing::announce_listen(members, config, network(model), seeds, limit)
        }
        Algorithm::Sup => {
            let config = suppression::Config {
                suppress: time(model.suppress_interval),
                wake: wake(model.wake),
            };
            let watch = announcing::suppression(members, config, network(model), seeds);
            return course_of_suppression(watch.hearing(), model.delay);
        }
    };
    course_of_election(watch.hearing())
}

fn course_of_election(hearing: &Hearing) -> [f64; 6] {
    let first_round = [
        hearing.first_round_messages() as f64,
        hearing.first_round_ended().as_secs_f64(),
    ];
    let [tmax, delay, messages, rounds] = match hearing.convergence() {
        Some(end) => [
            end.tmax.as_secs_f64(),
            end.delay.as_secs_f64(),
            end.messages as f64,
            end.rounds.into(),
        ],
        None => [f64::NAN; 4],
    };
    [
        tmax,
        delay,
        messages,
        first_round[0],
        first_round[1],
        rounds,
    ]
}

/// Suppression ends with its last message, whoever has heard it.
fn course_of_suppression(hearing: &Hearing, delay: f64) -> [f64; 6] {
    let messages = hearing.messages() as f64;
    let last = hearing.last_sent().map_or(f64::NAN, Instant::as_secs_f64);
    [last, last + delay, messages, messages, last, 1.0]
}

/// A group in which all start at once, the best its last member; watched, and yet to run.
pub(super) fn group(config: Config, model: &Model, seeds: Seeds) -> World<Announce, Watch> {
    let members = model.members as u32;
    let merits = announcing::merits(members);
    group_of(merits, members - 1, config, model, seeds)
}

/// The same with merits that nobody has ordered, and the index of the best.
pub(super) fn group_of(
    merits: Vec<Merit>,
    best: u32,
    config: Config,
    model: &Model,
    seeds: Seeds,
) -> World<Announce, Watch> {
    let watch = Watch::new(merits.len() as u32, Expected::Member(best));
    let setup = Setup {
        merits,
        network: network(model),
        detection: Detection::Never,
        view: 1.0,
    };
    let make = |boot: Boot<Announce>| Announce::new(boot.saved);
    let mut world = World::traced(setup, config, seeds, watch, make);
    world.schedule(Instant::START, Verb::Start(Who::All));
    world
}

/// Runs until all have heard the leader. Returns whether they have.
pub(super) fn converge(world: &mut World<Announce, Watch>, announce: Duration) -> bool {
    let limit = Instant::START + LIMIT;
    while world.trace().hearing().convergence().is_none() && world.now() < limit {
        world.run_until(world.now() + announce);
    }
    world.trace().hearing().convergence().is_some()
}

/// How long groups that had settled disagree when something befalls them, at any time of an announce
/// interval alike; `model` counts the members afterwards. No number for a group that had not settled or
/// does not agree again within `patience`.
pub(super) fn reestablished(
    effort: &Effort,
    runs: u64,
    perturbation: Perturbation,
    config: Config,
    model: &Model,
    patience: f64,
) -> Result<Sample, ExperimentError> {
    let name = format!("{perturbation:?} {config:?} {model:?}");
    effort.reseeded(seed_of(&name)).sample(runs, |seeds| {
        let phase = fraction(seeds.number(Stream::Faults));
        let at = SETTLED + phase * model.announce_interval;
        let span = (instant(at), instant(at + patience));
        let members = model.members as u32;
        let network = network(model);
        let delay =
            announcing::reestablishment(members, config, network, perturbation, span, seeds);
        delay.map_or(f64::NAN, Duration::as_secs_f64)
    })
}

/// A number as one from 0 up to but not including 1.
fn fraction(number: u64) -> f64 {
    (number >> 11) as f64 / (1_u64 << 53) as f64
}
