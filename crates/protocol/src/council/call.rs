//! A feedback as a host understands it: whether it makes sense, whom it calls, and with what probability they reply.

use super::candidacy::Candidacy;
use super::coin::Chance;
use super::content::Mask;
use super::{Algorithm, Config, Content, Estimate, Feedback, Seats};
use crate::Candidate;

/// A feedback that makes sense.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Call {
    pub(super) content: Content,
    pub(super) wanted: Seats,
    c: f64,
    /// Whether all draw, of whatever merit.
    pub(super) is_to_all: bool,
    /// Bolot's.
    mask: Option<Mask>,
}

impl Call {
    /// None: no centre that is configured alike says so.
    pub(super) fn of(feedback: &Feedback, config: &Config) -> Option<Self> {
        let chamber = config.chamber(feedback.class)?;
        let wanted = chamber.wanted(u32::from(feedback.seated))?;
        if feedback.base >= feedback.round {
            return None; // nobody was active after a round that is yet to come
        }
        let algorithm = config.algorithm;
        let continues = feedback.base != 0 && feedback.base + 1 == feedback.round;
        let content = Content::decode(feedback.word, algorithm, continues)?;
        let mask = match algorithm {
            Algorithm::Bolot => Some(Mask::from_count(content.count)?),
            Algorithm::Naive
            | Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::History { .. }
            | Algorithm::Merit => None,
        };
        if mask.is_none() && !content.reset && content.count <= wanted.most {
            return None; // the election would be over
        }
        if content.fraction != 0 && (!content.reset || config.steps().is_some()) {
            return None; // counts are whole, and so are the numbers that hosts go down by themselves
        }
        Some(Self {
            content,
            wanted,
            c: chamber.c(u32::from(feedback.seated)),
            is_to_all: feedback.base == 0 && feedback.floor.is_none(),
            mask,
        })
    }

    /// By which number, in whole hosts, a host draws that goes down by itself, by these steps. It has not yet taken in this feedback.
    #[inline]
    pub(super) fn number(
        &self,
        candidacy: &mut Candidacy,
        round: u32,
        steps: Option<Estimate>,
    ) -> u32 {
        let count = self.content.count;
        match steps.filter(|_| self.is_to_all) {
            Some(steps) => candidacy.step((round, count), steps, self.wanted),
            None => count,
        }
    }

    /// The probability of a reply by who draws by this number; the centre's own is taken with its fraction.
    #[inline]
    pub(super) fn chance(&self, number: u32) -> Chance {
        let exact = match number == self.content.count {
            true => self.content.number(),
            false => f64::from(number),
        };
        match self.mask.is_some() || number < self.wanted.least {
            true => Chance::CERTAIN,
            false => Chance::new(self.c, exact),
        }
    }

    /// Whether it is meant for this host.
    #[inline]
    pub(super) fn admits(&self, host: Candidate, floor: Option<Candidate>, key: u16) -> bool {
        floor.is_none_or(|floor| host >= floor) && self.mask.is_none_or(|mask| mask.admits(key))
    }
}
