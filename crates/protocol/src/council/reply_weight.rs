//! The estimate of the number of hosts from their replies.
//!
//! If `n` hosts reply with probability `c/N` each, `n c/N` do on average. So after several draws
//! the likeliest `n` is the number of all replies over the sum of all `c/N`; draws without replies
//! count too. A host that has missed calls draws by a greater number than the centre's, and its
//! reply contains it: the reply is weighted by the quotient of the two.

use super::{Estimate, Seats};

/// The replies to draws of all hosts, and the sum of the probabilities with which they were given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ReplyWeight {
    replies: f64,
    shares: f64,
}

impl ReplyWeight {
    pub(super) fn add(&mut self, replies: f64, share: f64) {
        self.replies += replies;
        self.shares += share;
    }

    /// The likeliest number of hosts; `None` if no host has replied.
    pub(super) fn hosts(&self) -> Option<f64> {
        (self.replies > 0.0).then(|| self.replies / self.shares)
    }

    /// The evidence for a later election, worth one draw at most: hosts come and go.
    pub(super) fn faded(self, c: f64) -> Self {
        let part = (c / self.replies).min(1.0);
        if self.replies > 0.0 {
            Self { replies: self.replies * part, shares: self.shares * part }
        } else {
            Self::default()
        }
    }

    /// The assumed number after an undershoot with `size`: the number that the replies give, or the
    /// estimate's next while there are none. It is never below that next estimate, which is the
    /// greatest step of hosts. 0: all are to reply.
    pub(super) fn next(&self, estimate: Estimate, size: f64, wanted: Seats) -> f64 {
        let lowest = f64::from(estimate.step_down(size.round() as u32, wanted));
        let told = self.hosts().map_or(0.0, f64::round);
        let next = told.max(lowest);
        if next > f64::from(wanted.most) { next } else { 0.0 }
    }
}
