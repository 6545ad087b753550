//! The pause before a command that ended is started again.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);

/// Pauses that double from [`SHORTEST`] to [`LONGEST`].
#[derive(Debug)]
pub(super) struct BackOff {
    next: Duration,
}

impl BackOff {
    pub(super) fn new() -> Self {
        Self { next: SHORTEST }
    }

    /// The pause after a run that lasted `ran`. After a long run the pauses start from the shortest
    /// again.
    pub(super) fn pause_after(&mut self, ran: Duration) -> Duration {
        if ran >= LONGEST {
            self.next = SHORTEST;
        }
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_reset_after_a_long_run() {
        let mut back_off = BackOff::new();
        let mut pause_millis = |ran| back_off.pause_after(Duration::from_secs(ran)).as_millis();
        let pauses = [0, 1, 0, 29, 0, 0, 0, 0, 0].map(&mut pause_millis);
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        assert_eq!([30, 0].map(pause_millis), [250, 500]);
    }
}
