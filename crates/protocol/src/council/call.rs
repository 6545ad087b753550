//! A feedback as a host understands it: whether it makes sense, whom it calls, and with what probability they reply.

use super::coin::Chance;
use super::content::Mask;
use super::{Algorithm, Config, Content, Feedback};
use crate::Candidate;

/// A feedback that makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) content: Content,
    pub(super) chance: Chance,
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
        if algorithm == Algorithm::Bolot {
            return Some(Self {
                content,
                chance: Chance::CERTAIN,
                mask: Some(Mask::from_count(content.count)?),
            });
        }
        if !content.reset && content.count <= wanted.most {
            return None; // the election would be over
        }
        let chance = if content.count < wanted.least {
            Chance::CERTAIN
        } else {
            Chance::new(chamber.c(u32::from(feedback.seated)), content.count)
        };
        Some(Self {
            content,
            chance,
            mask: None,
        })
    }

    /// Whether it is meant for this host.
    #[inline]
    pub(super) fn admits(&self, host: Candidate, floor: Option<Candidate>, key: u16) -> bool {
        floor.is_none_or(|floor| host >= floor) && self.mask.is_none_or(|mask| mask.admits(key))
    }
}
