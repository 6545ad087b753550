//! What replies tell of the number of hosts.
//!
//! Of `n` hosts that reply with probability `c/N` each, `n c/N` do on average. So after any draws of all together the likeliest
//! `n` is all replies over the sum of all `c/N`: draws to which nobody replied count too. A host that has missed calls draws by a
//! greater number than the centre's, and says so: its reply counts as many times as that is greater.

use super::{Estimate, Seats};

/// The replies to draws of all, and with what probabilities they were given, in sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Evidence {
    replies: f64,
    shares: f64,
}

impl Evidence {
    pub(super) fn add(&mut self, replies: f64, share: f64) {
        self.replies += replies;
        self.shares += share;
    }

    /// The likeliest number of hosts. None: nobody has replied.
    pub(super) fn hosts(&self) -> Option<f64> {
        (self.replies > 0.0).then(|| self.replies / self.shares)
    }

    /// For a later election, worth one draw at most: hosts come and go.
    pub(super) fn faded(self, c: f64) -> Self {
        let part = (c / self.replies).min(1.0);
        match self.replies > 0.0 {
            true => Self {
                replies: self.replies * part,
                shares: self.shares * part,
            },
            false => Self::default(),
        }
    }

    /// What the number is taken for after an undershoot with `size`: what the replies tell, and while there are none the
    /// estimate's next; never less than that, which is how far hosts go down at once. 0: all are to reply.
    pub(super) fn next(&self, estimate: Estimate, size: f64, wanted: Seats) -> f64 {
        let lowest = f64::from(estimate.step_down(size.round() as u32, wanted));
        let told = self.hosts().map_or(0.0, f64::round);
        let next = told.max(lowest);
        match next > f64::from(wanted.most) {
            true => next,
            false => 0.0,
        }
    }
}
