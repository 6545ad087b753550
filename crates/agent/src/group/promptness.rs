//! How soon voters answer: a ttl that leaves them too little time gets nobody tenure, and should say so.

use std::collections::VecDeque;

use hustings_protocol::{Duration, Instant};

/// So many answers are looked at together. Of some the question was lost, and asked again: the median does not mind.
const LATEST: usize = 9;

/// How soon voters answered of late.
#[derive(Debug, Default)]
pub(super) struct Promptness {
    latest: VecDeque<Duration>,
    is_told: bool,
}

/// A question that waits for its answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked(Option<Instant>);

impl Asked {
    /// A question goes out; of several without an answer the first counts.
    pub(super) fn ask(&mut self, now: Instant) {
        self.0.get_or_insert(now);
    }

    /// How long the answer took that has come.
    pub(super) fn answered(&mut self, now: Instant) -> Option<Duration> {
        self.0.take().map(|asked| now - asked)
    }
}

impl Promptness {
    /// An answer came after `took`. Returns how long they take, if that is more than `allowed` and was not told before.
    pub(super) fn note(&mut self, took: Duration, allowed: Duration) -> Option<Duration> {
        if self.latest.len() >= LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(took);
        let mut sorted: Vec<Duration> = self.latest.iter().copied().collect();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let is_late = sorted.len() == LATEST && median > allowed;
        let is_news = is_late && !self.is_told;
        self.is_told = is_late;
        is_news.then_some(median)
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, LATEST, Promptness};
    use hustings_protocol::{Duration, Instant};

    const ALLOWED: Duration = Duration::from_millis(50);

    #[test]
    fn voters_that_are_late_as_a_rule_are_told_of_once() {
        let mut promptness = Promptness::default();
        let mut note = |millis| promptness.note(Duration::from_millis(millis), ALLOWED);
        // Every third question was lost, and its answer counts from the first.
        assert!((0..30).all(|it| note(if it % 3 == 0 { 900 } else { 2 }).is_none()));
        let told: Vec<_> = (0..20).filter_map(|_| note(80)).collect();
        assert_eq!(told, [Duration::from_millis(80)]);
        assert!((0..LATEST).all(|_| note(2).is_none()));
        assert_eq!((0..20).filter_map(|_| note(80)).count(), 1);
    }

    #[test]
    fn the_first_question_counts() {
        let mut asked = Asked::default();
        assert_eq!(asked.answered(Instant(7)), None);
        asked.ask(Instant(10));
        asked.ask(Instant(20));
        assert_eq!(asked.answered(Instant(25)), Some(Duration(15)));
        assert_eq!(asked.answered(Instant(26)), None);
    }
}
