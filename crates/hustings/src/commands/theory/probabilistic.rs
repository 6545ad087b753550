//! `hustings theory probabilistic`: one round of the probabilistic election, and the choice of K.

use clap::Args;
use hustings_sim::Detection;
use hustings_theory::probabilistic::adaptive::{OutOfReach, smallest_k};
use hustings_theory::probabilistic::{Model, cost, detection, factors, success};

use crate::failure::Failure;
use crate::options::{Common, Conditions, no_closed_form, values};
use crate::report::{Findings, Parameters, Report};

/// The first round's K in the paper's simulations.
const USUAL_K: u32 = 7;

/// The options of `theory probabilistic`.
#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub(crate) struct Probabilistic {
    #[command(flatten)]
    round: RoundOptions,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
struct RoundOptions {
    /// How many members the group has: 1 to 1000000000. Hardly anything depends on it
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(1..=1_000_000_000_u32))]
    members: u32,

    /// How many members are drawn to agree on a leader, on average: 1 to N. More succeed more often, and
    /// send more messages. Default: 7, or N if that is less
    #[arg(long, value_name = "K", value_parser = values::whole(1..=1_000_000_000_u32),
          allow_negative_numbers = true)]
    k: Option<u32>,

    /// In place of --k: find the smallest K with which a round succeeds with this probability,
    /// whatever makes a good leader, at the measured --view, --crash and losses; and tell its cost
    #[arg(long, value_name = "P", value_parser = target, allow_negative_numbers = true,
          conflicts_with = "k")]
    target: Option<f64>,
}

const VALUES: &str = "\
Values, of one round. As the paper prints them:
  e1                 about K members take part, and about K of them live to tell
  e2                 those are connected, if each knows each other with --view
  e3                 then they choose the same leader
  e4                 then each member crashes or is told
  e5                 the leader does not crash
  success_bound      the product of the five: a round succeeds. Far too low, and
                     it falls again as K grows
  detection_bound_printed
                     a round that fails is noticed; the exponents are misplaced
  unicasts_bound     half the cube of 3/2 of those who take part: an order, since
                     answers come on top
Corrected:
  success_corrected  a round succeeds, at least, whatever makes a good leader
  detection_bound    a round that fails is noticed, if whoever notices says so
With --target also:
  k                  the K that is enough, by success_corrected
  relay_members      how many take part, on average
  first_unicasts     how many tell first choices, on average; what is relayed and
                     answered comes on top
  multicasts_bound   the initiation, and one from each of 3/2 of them

A round is one attempt. --crash is for one round, --multicast-loss for each receiver
by itself: there is no closed form for loss that all share, nor with --duplicate,
--reorder or --detect. How long messages take does not matter, as long as members
wait for them. --runs, --seed and --threads change nothing here.

Examples:
  hustings theory probabilistic --members 10000 --k 24 --view 0.4 --crash 0.01 --loss 0.01
  hustings theory probabilistic --members 1000000 --target 0.999 --view 0.1 --loss 0.05";

fn target(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1.0 => Ok(number),
        _ => Err("choose a probability above 0 and below 1, as in 0.999".to_owned()),
    }
}

impl Probabilistic {
    pub(super) fn run(self) -> Result<(), Failure> {
        let conditions = self.common.conditions();
        let members = self.round.members;
        let model = model(members, &conditions)?;
        let aim = self.round.aim()?;
        let (k, target) = match aim {
            Aim::K(k) => (Some(k), None),
            Aim::Target(target) => (None, Some(target)),
        };
        let report = Report {
            protocol: "probabilistic",
            sentence: format!(
                "{members} members, {}; {}",
                aim.sentence(),
                conditions.sentence()
            ),
            parameters: Parameters::new()
                .with("members", members)
                .with("k", k)
                .with("target", target)
                .and(conditions.parameters()),
            findings: Findings::Computed {
                values: aim.values(&model)?,
                missing: Vec::new(),
            },
        };
        report.print(self.common.experiment.format)
    }
}

/// What the user wants to know of.
#[derive(Debug, Clone, Copy)]
enum Aim {
    /// A round with this K.
    K(u32),
    /// The K that succeeds with this probability.
    Target(f64),
}

impl RoundOptions {
    fn aim(&self) -> Result<Aim, Failure> {
        let members = self.members;
        match (self.k, self.target) {
            (_, Some(target)) => Ok(Aim::Target(target)),
            (None, None) => Ok(Aim::K(USUAL_K.min(members))),
            (Some(k), None) if k <= members => Ok(Aim::K(k)),
            (Some(k), None) => Err(Failure::Usage(format!(
                "--k {k} is more than --members {members}: choose from 1 to {members}"
            ))),
        }
    }
}

impl Aim {
    fn sentence(self) -> String {
        match self {
            Self::K(k) => format!("K {k}"),
            Self::Target(target) => format!("K for a success of {target}"),
        }
    }

    fn values(self, model: &Model) -> Result<Vec<(String, f64)>, Failure> {
        match self {
            Self::K(k) => Ok(of_round(model, f64::from(k))),
            Self::Target(target) => {
                let chosen = smallest_k(model, target)
                    .map_err(|shortfall| out_of_reach(model, target, &shortfall))?;
                let k = chosen.k as f64;
                let mut values = vec![("k".to_owned(), k)];
                values.extend(of_round(model, k));
                values.extend(cost_of_round(model, k));
                Ok(values)
            }
        }
    }
}

fn of_round(model: &Model, k: f64) -> Vec<(String, f64)> {
    named([
        ("e1", factors::e1(model, k)),
        ("e2", factors::e2(model, k)),
        ("e3", factors::e3(model, k)),
        ("e4", factors::e4(model, k)),
        ("e5", factors::e5(model, k)),
        ("success_bound", factors::success_bound(model, k)),
        ("success_corrected", success::success_corrected(model, k)),
        ("detection_bound", detection::detection_bound(model, k)),
        (
            "detection_bound_printed",
            detection::detection_bound_printed(model, k),
        ),
        ("unicasts_bound", cost::unicasts_bound(model, k)),
    ])
}

fn cost_of_round(model: &Model, k: f64) -> Vec<(String, f64)> {
    named([
        ("relay_members", model.relay_members(k)),
        ("first_unicasts", cost::first_unicasts(model, k)),
        ("multicasts_bound", cost::multicasts_bound(model, k)),
    ])
}

fn named<const COUNT: usize>(values: [(&str, f64); COUNT]) -> Vec<(String, f64)> {
    values
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
}

fn model(members: u32, conditions: &Conditions) -> Result<Model, Failure> {
    conditions.require_independent_losses()?;
    if conditions.detection(Detection::Never) != Detection::Never {
        return Err(no_closed_form("with --detect"));
    }
    Ok(Model {
        members: members.into(),
        view: conditions.view,
        crash: conditions.crash,
        unicast_loss: conditions.network.unicast_loss,
        multicast_loss: conditions.network.multicast_loss,
    })
}

fn out_of_reach(model: &Model, target: f64, shortfall: &OutOfReach) -> Failure {
    let OutOfReach { ceiling, best } = shortfall;
    Failure::Usage(if target >= *ceiling {
        format!(
            "no K reaches --target {target}: with --crash {} the leader itself crashes so often that no round succeeds more often than {ceiling}: choose a target below that",
            model.crash
        )
    } else {
        // Rounded down, so that it can be asked for.
        let success = (best.success * 1e6).floor() / 1e6;
        format!(
            "no K reaches --target {target}: the best of --members {} is K {}, with {success}: choose a lower target, or more members, wider views, fewer losses",
            model.members, best.k
        )
    })
}
