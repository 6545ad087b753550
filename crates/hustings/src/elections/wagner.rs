//! Wagner's ring: a fair draw among members who do not trust each other.

mod paper;

use std::num::NonZeroU32;

use clap::{Args, ValueEnum};
use hustings_theory::wagner as theory;

use super::ClosedForm;
use crate::failure::Failure;
use crate::options::{Conditions, name_of, values};
use crate::report::Parameters;

/// The options of `wagner`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct Options {
    /// How many members are on the ring: 2 to 1000. Nobody can be held to a flip among fewer than 4, or than 3 with --ring
    /// clockwise. The paper's example has 25
    #[arg(long, value_name = "N", default_value = "25", allow_negative_numbers = true,
          value_parser = values::whole(2..=1_000_u32))]
    members: u32,

    /// When the bits of the random number t that are there so far are taken to lie above or below the part r of the
    /// members that flipped heads
    #[arg(long, value_enum, default_value_t = Compare::Nonstrict)]
    compare: Compare,

    /// How a member is made to commit to its flip before it knows those of the others
    #[arg(long, value_enum, default_value_t = Ring::BothWays)]
    ring: Ring,

    /// So many stages in a row in which all active members flip alike are a fault; or `none`: as in the paper, whose ring
    /// two cheaters can hold up for ever. An honest ring comes to it with a probability of about 0.7 x 2^-L
    #[arg(long, value_name = "L|none", default_value = "40", value_parser = stall_limit,
          allow_negative_numbers = true)]
    stall_limit: Limit,
}

/// When a comparison of t with r is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compare {
    /// As printed: when t is greater, or less. A half then takes three flips, where one tells
    Strict,
    /// When t cannot be less any more, or greater
    Nonstrict,
}

/// How a member is made to commit to its flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ring {
    /// It sends it both ways at once: solution (a)
    BothWays,
    /// It sends it clockwise, and the other way when its neighbour's has come: solution (b). All must agree which way is
    /// clockwise. A round takes twice as long, and an odd ring bears one more cheater
    Clockwise,
}

/// A limit on equal stages in a row, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit(Option<NonZeroU32>);

/// The greatest limit: its false alarms are rarer than anything that a number can say.
const GREATEST_LIMIT: u32 = 1_000;

fn stall_limit(text: &str) -> Result<Limit, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    match text.parse::<NonZeroU32>() {
        Ok(limit) if limit.get() <= GREATEST_LIMIT => Ok(Limit(Some(limit))),
        _ => Err(format!(
            "choose a whole number from 1 to {GREATEST_LIMIT}, or none"
        )),
    }
}

impl Options {
    pub(crate) fn settle(&self) -> Wagner {
        Wagner {
            members: self.members,
            compare: self.compare,
            ring: self.ring,
            limit: self.stall_limit,
        }
    }
}

/// A draw on Wagner's ring, all its options settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wagner {
    members: u32,
    compare: Compare,
    ring: Ring,
    limit: Limit,
}

impl Wagner {
    /// The protocol's name on the command line.
    pub(crate) const NAME: &'static str = "wagner";

    /// All that was chosen.
    pub(crate) fn parameters(&self) -> Parameters {
        Parameters::new()
            .with("members", self.members)
            .with("compare", name_of(&self.compare))
            .with("ring", name_of(&self.ring))
            .with("stall_limit", self.limit.0.map(NonZeroU32::get))
    }

    /// What is worth saying of it.
    pub(crate) fn sentence(&self) -> String {
        let ring = match self.ring {
            Ring::BothWays => "both ways",
            Ring::Clockwise => "clockwise first",
        };
        let limit = match self.limit.0 {
            Some(limit) => format!("at most {limit} equal stages in a row"),
            None => "no limit on equal stages".to_owned(),
        };
        format!(
            "{} members, compare {}, flips {ring}, {limit}",
            self.members,
            name_of(&self.compare)
        )
    }

    /// What a draw costs on paper.
    ///
    /// # Errors
    /// If there is no closed form under these conditions.
    pub(crate) fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        paper::draw(self, conditions)
    }

    fn theory_of_compare(&self) -> theory::Compare {
        match self.compare {
            Compare::Strict => theory::Compare::Strict,
            Compare::Nonstrict => theory::Compare::NonStrict,
        }
    }

    fn theory_of_ring(&self) -> theory::Ring {
        match self.ring {
            Ring::BothWays => theory::Ring::BothWays,
            Ring::Clockwise => theory::Ring::Clockwise,
        }
    }
}
