//! How many messages are lost, as far as one member can tell: by the questions that were not answered, a failure
//! detector's probes or a circle's offers.

use hustings_protocol::MemberId;

/// With fewer fates than this there is no telling.
const FEWEST: u32 = 16;

/// What became of the last questions. One goes there and an answer comes back, so that it is lost if either is; one to a
/// member that is gone counts too, as it should: who relays may be gone as well.
#[derive(Debug, Default)]
pub(super) struct Loss {
    waits: Option<(MemberId, u32)>,
    /// The last 64, a bit each, the latest lowest: whether it was not answered.
    fates: u64,
    /// How many there were, up to 64.
    count: u32,
}

impl Loss {
    /// A question is asked. The one before it has had its time.
    pub(super) fn asked(&mut self, to: MemberId, number: u32) {
        if self.waits.replace((to, number)).is_some() {
            self.enter(1);
        }
    }

    /// An answer came.
    pub(super) fn answered(&mut self, from: MemberId, number: u32) {
        if self.waits.take_if(|it| *it == (from, number)).is_some() {
            self.enter(0);
        }
    }

    fn enter(&mut self, fate: u64) {
        self.fates = self.fates << 1 | fate;
        self.count = (self.count + 1).min(u64::BITS);
    }

    /// What part of the messages is lost; none before enough of them have been counted.
    pub(super) fn rate(&self) -> Option<f64> {
        let lost = f64::from(self.fates.count_ones()) / f64::from(self.count);
        (self.count >= FEWEST).then(|| 1.0 - (1.0 - lost).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::{FEWEST, Loss};
    use hustings_protocol::MemberId;

    #[test]
    fn it_is_what_one_way_loses_of_the_last_questions() {
        let mut loss = Loss::default();
        let other = MemberId(1);
        // 19 of 100 are not answered where one in ten messages is lost.
        for number in 0..1_000 {
            assert_eq!(loss.rate().is_none(), number < FEWEST, "{number}");
            loss.asked(other, number);
            loss.answered(other, number + 1); // of no question
            if number % 100 % 16 >= 3 {
                loss.answered(other, number);
                loss.answered(other, number); // twice
            }
        }
        let rate = loss.rate().unwrap();
        assert!((rate - 0.1).abs() < 0.03, "{rate}");
    }
}
