//! The metrics of elections that come to rest: the rings and the bully protocol.

use hustings_protocol::{Instant, Message, Simulated};

use super::Observer;
use crate::Silent;
use crate::measure::Metric;
use crate::statistics::Kind;
use crate::trial::{End, Run};

impl<P: Simulated> Observer<P> for Silent {
    type Account = Run;

    /// Always false, because the group comes to rest by itself.
    fn has_seen_the_end(&self) -> bool {
        false
    }

    fn account(self, run: Run) -> Run {
        run
    }
}

pub(super) fn metrics<P: Simulated>() -> Vec<Metric<Run>> {
    let unicasts = |run: &Run| run.summary.tally.unicasts.iter().sum::<u64>() as f64;
    let multicasts = |run: &Run| run.summary.tally.multicasts.iter().sum::<u64>() as f64;
    let mut metrics = vec![
        Metric::number("messages", move |run| unicasts(run) + multicasts(run)),
        Metric::number("unicasts", unicasts),
        Metric::number("multicasts", multicasts),
    ];
    let kinds = P::Message::KINDS.iter().enumerate();
    metrics.extend(kinds.map(|(index, kind)| {
        Metric::number(format!("messages_{kind}"), move |run: &Run| {
            let tally = &run.summary.tally;
            (tally.unicasts[index] + tally.multicasts[index]) as f64
        })
    }));
    metrics.extend([
        Metric::number("rounds", |run: &Run| f64::from(run.summary.tally.rounds)),
        Metric::new("delay", Kind::Number, |run: &Run| {
            run.summary.known_at.map(Instant::as_secs_f64)
        }),
        Metric::share("strong_success", |run: &Run| run.summary.strong_success),
        Metric::new("weak_success", Kind::Fraction, |run: &Run| Some(run.summary.weak_success)),
        Metric::share("elected_best", |run: &Run| run.summary.elected_best),
        Metric::share("finished", |run: &Run| run.end == End::AtRest),
    ]);
    metrics
}
