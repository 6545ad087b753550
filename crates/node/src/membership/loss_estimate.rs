//! An estimate of the message loss between this member and others.
//!
//! Purpose     estimates the loss of one message from the questions that stay unanswered
//! Inputs      probes of the failure detector or offers of the shuffle, and their answers
//! Outputs     the fraction of messages that is lost in one direction
//! Owns        the outcome of the last 64 questions
//! Invariants  no estimate before [`FEWEST`] outcomes

use hustings_protocol::MemberId;

/// The number of outcomes below which there is no estimate.
const FEWEST: u32 = 16;

/// The outcomes of the last questions. A question counts as lost if either the question or its
/// answer is lost. A question to a dead member counts too, on purpose: relaying members may be dead
/// as well.
#[derive(Debug, Default)]
pub(super) struct LossEstimate {
    waits: Option<(MemberId, u32)>,
    /// The last 64 outcomes, a bit each, the latest lowest. A set bit means that no answer came.
    fates: u64,
    /// The number of outcomes, up to 64.
    count: u32,
}

impl LossEstimate {
    /// Records a question. If the one before it has no answer yet, it counts as lost.
    pub(super) fn asked(&mut self, to: MemberId, number: u32) {
        if self.waits.replace((to, number)).is_some() {
            self.enter(1);
        }
    }

    /// Records an answer.
    pub(super) fn answered(&mut self, from: MemberId, number: u32) {
        if self.waits.take_if(|it| *it == (from, number)).is_some() {
            self.enter(0);
        }
    }

    fn enter(&mut self, fate: u64) {
        self.fates = self.fates << 1 | fate;
        self.count = (self.count + 1).min(u64::BITS);
    }

    /// The fraction of messages that is lost; none before enough questions were counted.
    pub(super) fn rate(&self) -> Option<f64> {
        let lost = f64::from(self.fates.count_ones()) / f64::from(self.count);
        (self.count >= FEWEST).then(|| 1.0 - (1.0 - lost).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::{FEWEST, LossEstimate};
    use hustings_protocol::MemberId;

    #[test]
    fn rate_is_the_loss_of_one_direction() {
        let mut loss = LossEstimate::default();
        let other = MemberId(1);
        // If one in ten messages is lost, 19 of 100 questions stay unanswered.
        for number in 0..1_000 {
            assert_eq!(loss.rate().is_none(), number < FEWEST, "{number}");
            loss.asked(other, number);
            loss.answered(other, number + 1); // answers no question
            if number % 100 % 16 >= 3 {
                loss.answered(other, number);
                loss.answered(other, number); // a duplicate
            }
        }
        let rate = loss.rate().unwrap();
        assert!((rate - 0.1).abs() < 0.03, "{rate}");
    }
}
