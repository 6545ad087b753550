//! The baseline by Bolot, Turletti and Wakeman: each round compares one bit less of a key.

use clap::Args;
use hustings_sim::trial::{Poll, Tallies};
use hustings_theory::bolot::{Keys, cost};
use hustings_theory::council::Loss;

use super::{ReplyOptions, hosts};
use crate::elections::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Setup, SignedArg, require_closed_form, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The options of `bolot`.
#[derive(Debug, Args)]
pub(crate) struct BolotOptions {
    /// The number of hosts: 1 to 10^9; the centre does not know it. Each host has a random key of
    /// 16 bits. In the first round the hosts reply whose key equals the centre's. In each further
    /// round one bit less has to be equal, until a reply arrives
    #[arg(long, value_name = "N", default_value = "10000",
          number = values::whole(1..=1_000_000_000_u64))]
    members: u64,

    #[command(flatten)]
    replies: ReplyOptions,
}

impl BolotOptions {
    pub(crate) fn settle(self, setup: &Setup) -> Result<Bolot, Failure> {
        Ok(Bolot { loss: self.replies.loss(setup)?, options: self })
    }
}

/// The baseline with all options settled.
#[derive(Debug)]
pub(crate) struct Bolot {
    options: BolotOptions,
    loss: Loss,
}

impl Described for Bolot {
    fn reply_loss(&self) -> Option<f64> {
        Some(self.loss.reply)
    }

    fn parameters(&self) -> Parameters {
        let BolotOptions { members, replies } = self.options;
        Parameters::default().with("members", members).and(replies.parameters(self.loss))
    }

    fn sentence(&self) -> String {
        format!("{} members, nested keys of 16 bits", self.options.members)
    }

    fn closed_form(&self, _: &Setup) -> Result<ClosedForm, Failure> {
        require_closed_form(&[(self.loss != Loss::NONE, "with loss")])?;
        let cost = cost(self.options.members, Keys::Nested);
        Ok(ClosedForm::of([
            ("rounds", cost.rounds),
            ("messages", cost.messages),
            ("success_first_round", cost.success_first_round),
        ]))
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.require_no_script()?;
        let BolotOptions { members, replies } = self.options;
        let (loss, most_rounds) = (self.loss, replies.max_rounds);
        let poll = if replies.is_by_hosts(None, simulation)? {
            let config = hosts::of_masks(simulation.setup.conditions.mean_delay());
            Poll::Hosts(hosts::trial(members, config, loss, most_rounds)?)
        } else {
            Poll::Masks { members, loss, most_rounds }
        };
        simulation.conduct(self, &Tallies::new(poll), Parameters::default())
    }
}
