//! Our own claims about the epidemic multicast: the share of members that a message reaches.
//!
//! The probabilistic election needs multicasts that reach most members. Where a network has none,
//! its report names bimodal multicast. Ours is `epidemic` of the protocol crate. These claims are
//! the promises of its header.

use hustings_protocol::epidemic::{Config, Epidemic, Request};
use hustings_protocol::{Duration, Instant, Priority};
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Delay, Detection, Memory, Network, Seeds, Setup, Silent, World};
use hustings_theory::epidemic::{EpidemicModel, dies_out, missed_by_fan_out, reaches_all};

use super::budget::{Budget, Result, sample_of, seed_of, share_of};
use super::evidence::Verdict::Holds;
use super::evidence::{Evidence, averages, list, shown};
use super::figure::{Axis, Corner, Frame, Panel, Point, Series};
use super::{Claim, Document, FigureSpec, Method};

pub(super) const DOCUMENT: Document = Document {
    key: "E",
    title: "Epidemic multicast (ours, after Birman et al., Bimodal Multicast, ACM TOCS 1999)",
    claims: &[
        Claim {
            id: "E1",
            source: "crates/protocol/src/epidemic.rs, promises",
            says: "If each member passes a message on to f others, and a fraction q of messages \
                   arrives, it misses a fraction u = e^(-fq(1-u)) of all members",
            reading: "1000 members that know each other, one message, no repair; after 16 steps. \
                      A message that loses too many first copies reaches almost no member. The \
                      share of such messages is the extinction probability of a branching \
                      process.",
            method: Method::Simulation,
            on_record: Holds,
            evaluate: e1,
        },
        Claim {
            id: "E2",
            source: "crates/protocol/src/epidemic.rs, promises",
            says: "Repair leaves a factor of e^(-q^3) of the missed members in each period: soon \
                   all members have the message",
            reading: "1000 members, 16 steps, digests in each period: the probability that all \
                      members have a message, by the number of periods after it was sent. The \
                      measured value lies between the value for steps and answers that take no \
                      time, and the value for the longest times allowed.",
            method: Method::Simulation,
            on_record: Holds,
            evaluate: e2,
        },
    ],
    figures: &[FigureSpec {
        panels: &[Panel {
            name: "E-epidemic",
            caption: "Epidemic multicast with a fan-out of 6 among 1000 members: the probability \
                      that all members have a message, by the number of periods after it was \
                      sent. Points: simulated messages with 95 % confidence bands; lines: \
                      theory, from the repair of e^(-q^3) a period.",
            title: "Everybody has heard a word, N = 1000, fan-out 6",
            frame: Frame {
                x: Axis::logarithmic("periods after it was said"),
                y: Axis::linear("share of words"),
                legend: Corner::LowerRight,
            },
        }],
        draw: |budget| Ok(vec![against_periods(budget)?]),
    }],
};

const MEMBERS: u32 = 1_000;
const PERIOD: Duration = Duration::from_secs(1);
/// The message delay. It is short, so that the steps take a small part of a period.
const DELAY: Duration = Duration::from_millis(10);
/// The number of hops of [`Config::field`].
const HOPS: u8 = 16;
/// The digest, the request and the reply.
const STEPS_OF_REPAIR: u32 = 3;
/// The numbers of periods after which the share of reached members is measured.
const PERIODS: [u64; 6] = [1, 2, 5, 10, 20, 40];
const LOSSES: [f64; 4] = [0.0, 0.1, 0.2, 0.4];
const FAN_OUTS: [u8; 3] = [4, 6, 10];

fn model(fan_out: u8, loss: f64) -> EpidemicModel {
    EpidemicModel { members: MEMBERS.into(), fan_out: fan_out.into(), hops: HOPS.into(), loss }
}

fn setup(loss: f64) -> Setup {
    Setup {
        priorities: vec![Priority(0); MEMBERS as usize],
        network: Network { unicast_loss: loss, ..Network::perfect(Delay::Constant(DELAY)) },
        detection: Detection::Never,
        view: 1.0,
    }
}

/// Returns, for each run, the fraction of the other members that a message of the first member has
/// reached at each of `times`.
fn heard(
    budget: &Budget,
    runs: u64,
    (config, loss): (Config, f64),
    times: &[Instant],
) -> Result<Vec<Vec<f64>>> {
    let memory: Memory<Epidemic<()>> = Memory::default();
    let own = budget.reseeded(seed_of(&format!("{config:?} {loss}")));
    own.each(runs, |_, seeds: Seeds| {
        let make = |_| Epidemic::new(1);
        let mut world = World::within(memory.take(), setup(loss), config, seeds, Silent, make);
        world.request(0, Request::Multicast(()));
        let (mut count, others) = (0, MEMBERS as usize - 1);
        let mut fractions = Vec::new();
        for &time in times {
            // Once the message has reached all members, nothing changes.
            if count < others {
                world.run_until(time);
                let members = world.members_mut().iter_mut();
                count += members.map(|it| it.take_delivered().count()).sum::<usize>();
            }
            fractions.push(count as f64 / others as f64);
        }
        memory.give_back(world.retire().1);
        fractions
    })
}

/// The fraction below which the first phase counts as died out. It reaches either hardly any member
/// or most of them.
const DIED_OUT: f64 = 0.1;

fn e1(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(100, 400);
    let mut gist = Vec::new();
    for (fan_out, loss) in [(4, 0.0), (4, 0.2), (4, 0.4), (6, 0.0), (6, 0.2), (6, 0.4), (10, 0.4)] {
        let config = Config {
            fan_out,
            hops: HOPS,
            period: PERIOD * 1_000_000,
            repair_time: PERIOD * 1_000_000,
            room: 1,
        };
        let end = Instant::START + DELAY * (u64::from(HOPS) + 1);
        let reached = heard(budget, runs, (config, loss), &[end])?;
        let reached: Vec<f64> = reached.into_iter().flatten().collect();
        let gone = share_of(reached.iter().map(|&fraction| fraction < DIED_OUT));
        let most = reached.iter().filter(|&&fraction| fraction >= DIED_OUT);
        let missed = sample_of(Kind::Fraction, most.map(|fraction| 1.0 - fraction));
        let model = model(fan_out, loss);
        let expected = missed_by_fan_out(&model);
        // The formula is an equation of means: among N members its error is about one member.
        let error = 1.0 / f64::from(MEMBERS);
        evidence.stated(format!("fan-out {fan_out}, loss {loss}: fraction missed")).mean_between(
            expected - error,
            expected + error,
            &missed,
        );
        let chance = dies_out(&model);
        evidence.ours("the same: share of messages that die out").share(chance, &gone);
        gist.push(format!("{fan_out} at {loss}: {}", shown(&missed)));
    }
    Ok(format!("missed, by fan-out and loss: {}", list(&gist)))
}

/// Returns the share of runs in which a message has reached all members, at each of [`PERIODS`].
fn shares(budget: &Budget, runs: u64, fan_out: u8, loss: f64) -> Result<Vec<Sample>> {
    let config = Config { fan_out, hops: HOPS, ..Config::field(PERIOD) };
    let times = PERIODS.map(|periods| Instant::START + PERIOD * periods);
    let heard = heard(budget, runs, (config, loss), &times)?;
    let share = |time: usize| share_of(heard.iter().map(|fractions| fractions[time] >= 1.0));
    Ok((0..times.len()).map(share).collect())
}

/// Returns the least and the greatest predicted share. A message whose first phase died out reaches
/// all members late, or not in time.
fn predicted(model: &EpidemicModel, periods: f64) -> [f64; 2] {
    let step = DELAY.as_secs_f64() / PERIOD.as_secs_f64();
    let repair = f64::from(STEPS_OF_REPAIR) * step;
    let first_phase = f64::from(model.hops) * step;
    let gone = dies_out(model);
    [
        (1.0 - gone) * reaches_all(model, periods - repair - first_phase),
        (1.0 - gone) * reaches_all(model, periods - repair) + gone,
    ]
}

fn e2(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(50, 200);
    let losses: &[f64] = budget.choose(&[0.0, 0.2], &LOSSES);
    let fan_outs: &[u8] = budget.choose(&[6], &FAN_OUTS);
    let mut gist = Vec::new();
    for &loss in losses {
        for &fan_out in fan_outs {
            let shares = shares(budget, runs, fan_out, loss)?;
            for (periods, share) in PERIODS.iter().zip(&shares) {
                let [least, most] = predicted(&model(fan_out, loss), *periods as f64);
                evidence
                    .stated(format!(
                        "loss {loss}, fan-out {fan_out}, {periods} periods: share of messages that \
                         all members have"
                    ))
                    .share_between(least, most, share);
            }
            gist.push(format!("{loss} and {fan_out}: {}", averages(&shares)));
        }
    }
    Ok(format!(
        "all members have it after {} periods, by loss and fan-out: {}",
        list(&PERIODS),
        gist.join("; ")
    ))
}

fn against_periods(budget: &Budget) -> Result<Vec<Series>> {
    let runs = budget.choose(50, 200);
    let fan_out = 6;
    let mut series = Vec::new();
    for loss in LOSSES {
        let model = model(fan_out, loss);
        let on_paper = |tenth: u32| {
            let periods = f64::from(tenth) / 10.0;
            let [least, most] = predicted(&model, periods);
            (periods, f64::midpoint(least, most))
        };
        let shares = shares(budget, runs, fan_out, loss)?;
        let points = PERIODS.iter().zip(&shares);
        let points = points.filter_map(|(&periods, share)| Point::of(periods as f64, share));
        let line = (10..=400).map(on_paper).collect();
        series.push(Series::new(format!("loss {loss}"), line, points.collect()));
    }
    Ok(series)
}
