//! The baseline by Bolot, Turletti and Wakeman: each round compares one bit less of a key.

use clap::Args;
use hustings_theory::bolot::{Keys, cost};
use hustings_theory::council::Loss;

use super::{Kind, Poll, ReplyOptions};
use crate::elections::ClosedForm;
use crate::failure::Failure;
use crate::options::{Conditions, no_closed_form, values};

/// The options of `bolot`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct BolotOptions {
    /// The number of hosts: 1 to 10^9; the centre does not know it. Each host has a random key of
    /// 16 bits. In the first round the hosts reply whose key equals the centre's. In each further
    /// round one bit less has to be equal, until a reply arrives
    #[arg(long, value_name = "N", default_value = "10000", allow_negative_numbers = true,
          value_parser = values::whole(1..=1_000_000_000_u64))]
    members: u64,

    #[command(flatten)]
    replies: ReplyOptions,
}

impl BolotOptions {
    pub(in crate::elections) fn settle(&self, conditions: &Conditions) -> Result<Poll, Failure> {
        Ok(Poll {
            loss: self.replies.loss(Bolot::NAME, conditions)?,
            kind: Kind::Bolot(Bolot { members: self.members }),
            replies: self.replies,
            kept: None,
        })
    }
}

/// The baseline with all options settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bolot {
    pub(super) members: u64,
}

impl Bolot {
    pub(super) const NAME: &'static str = "bolot";

    pub(super) fn closed_form(self, loss: Loss) -> Result<ClosedForm, Failure> {
        if loss != Loss::NONE {
            return Err(no_closed_form("with loss"));
        }
        let cost = cost(self.members, Keys::Nested);
        Ok(ClosedForm::of([
            ("rounds", cost.rounds),
            ("messages", cost.messages),
            ("success_first_round", cost.success_first_round),
        ]))
    }
}
