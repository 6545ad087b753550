//! The observer and the metrics of elections by announcement.

use hustings_protocol::announce::Message;
use hustings_protocol::{Duration, ElectionOutcome, Instant, MemberId, Simulated};

use crate::convergence::{Convergence, Expected, Watch};
use crate::elections::Observer;
use crate::measure::{Account, Metric};
use crate::statistics::Kind;
use crate::trial::{Course, Run};
use crate::{Ending, Event, Trace, Verb};

/// The event that ends an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// Every member has received the leader's announcement.
    Heard,
    /// Every member that will announce itself has done so.
    Spoken {
        /// The message delay D, after which the last announcement has arrived.
        delay: Duration,
    },
}

/// Observes a run: what [`Watch`] sees, and scripted faults.
pub struct Onlooker {
    convergence: Watch,
    close: Close,
    course: Course,
    expected: Expected,
    first_announcer: Option<u32>,
    /// The times at which messages other than announcements were sent, until the election was over.
    asides: Vec<Instant>,
    /// The cost of the election, once it is over.
    election: Option<Convergence>,
}

impl Onlooker {
    pub(super) fn new(members: u32, expected: Expected, close: Close, course: Course) -> Self {
        Self {
            convergence: Watch::new(members, expected),
            close,
            course,
            expected,
            first_announcer: None,
            asides: Vec::new(),
            election: None,
        }
    }

    fn note_end(&mut self) {
        let hearing = &self.convergence.hearing;
        let Some(heard) = hearing.convergence else {
            return;
        };
        let asides_by_tmax = self.asides.partition_point(|sent| *sent <= heard.tmax);
        self.election = Some(Convergence {
            messages: heard.messages + self.asides.len() as u64,
            messages_by_tmax: heard.messages_by_tmax + asides_by_tmax as u64,
            ..heard
        });
    }

    /// Returns the cost of an election that ends with [`Close::Spoken`]: all messages of a single
    /// round.
    fn spoken(&self, delay: Duration) -> Option<Convergence> {
        let hearing = &self.convergence.hearing;
        let (last, messages) = (hearing.last_sent()?, hearing.messages());
        Some(Convergence {
            tmax: last,
            delay: last + delay,
            messages,
            messages_by_tmax: messages,
            rounds: 1,
            avg_rounds: 1.0,
            first_round_messages: messages,
            first_round_ended: last,
        })
    }

    /// True if the leader is the member that the rules require.
    fn is_best(&self, run: &Run) -> bool {
        match (self.expected, run.summary.ending) {
            (Expected::Member(_), _) => run.summary.elected_best,
            (Expected::FirstAnnouncer, Ending::Elected(MemberId(leader))) => {
                self.first_announcer.map(u64::from) == Some(leader)
            }
            (Expected::FirstAnnouncer, _) => false,
        }
    }
}

impl<P: Simulated<Message = Message, Outcome = ElectionOutcome>> Trace<P> for Onlooker {
    const ON: bool = true;

    #[inline]
    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        let mut may_end = false;
        match &event {
            Event::Delivered { .. } => {
                may_end = self.election.is_none() && self.close == Close::Heard;
            }
            Event::Multicast { from, message } => match message {
                Message::Announcement { .. } => {
                    self.first_announcer.get_or_insert(*from);
                }
                Message::Query | Message::Bye { .. } | Message::Complaint { .. } => {
                    if self.election.is_none() {
                        self.asides.push(at);
                    }
                }
            },
            Event::Struck { verb: Verb::Kill(_) | Verb::Leave(_), members } => {
                members.iter().for_each(|member| self.convergence.left(*member, at));
            }
            Event::Struck { verb: Verb::Restart { .. }, members } => {
                for member in *members {
                    self.convergence.left(*member, at);
                    self.convergence.came(*member, at);
                }
            }
            _ => {}
        }
        self.convergence.record(at, event);
        if may_end {
            self.note_end();
        }
    }
}

impl<P: Simulated<Message = Message, Outcome = ElectionOutcome>> Observer<P> for Onlooker {
    type Account = Story;

    fn has_seen_the_end(&self) -> bool {
        self.election.is_some()
    }

    fn account(self, run: Run) -> Story {
        let election = match self.close {
            Close::Heard => self.election,
            Close::Spoken { delay } => self.spoken(delay),
        };
        let afterwards = match self.course {
            Course::UntilDecided => None,
            Course::UntilLimit => Some(Afterwards::of(&self.convergence, run.ended)),
        };
        let elected_best = self.is_best(&run);
        Story { run, election, afterwards, elected_best }
    }
}

/// The result of a run.
pub struct Story {
    run: Run,
    /// `None` if the election was not over by the end of the run.
    election: Option<Convergence>,
    afterwards: Option<Afterwards>,
    elected_best: bool,
}

/// The behaviour of the group after its first agreement.
struct Afterwards {
    inconsistent: f64,
    reestablishment: Option<f64>,
    changes: u64,
}

impl Afterwards {
    fn of(convergence: &Watch, ended: Instant) -> Self {
        let agreement = &convergence.agreement;
        let changes = agreement.changes;
        let spans = &agreement.disagreements;
        let Some((_, agreed)) = spans.first() else {
            return Self { inconsistent: 1.0, reestablishment: None, changes };
        };
        let disagreed = agreement.disagreed(*agreed, ended).as_secs_f64();
        let time = (ended - *agreed).as_secs_f64();
        let present = usize::from(agreement.disagreed_since.is_some());
        let count = spans.len() - 1 + present;
        Self {
            inconsistent: if time > 0.0 { disagreed / time } else { 0.0 },
            reestablishment: (count > 0).then(|| disagreed / count as f64),
            changes,
        }
    }
}

impl Account for Story {
    fn caveat(&self) -> Option<&'static str> {
        let undecided = "ended before all had heard the leader: messages, times and rounds of the election are those of the others";
        self.run.caveat().or(self.election.is_none().then_some(undecided))
    }
}

/// Returns the metrics of an election that ends with `close`, in runs that take this course.
pub(super) fn metrics<P: Simulated>(close: Close, course: Course) -> Vec<Metric<Story>> {
    let number = |name, read: fn(&Convergence) -> f64| {
        Metric::new(name, Kind::Number, move |story: &Story| story.election.as_ref().map(read))
    };
    let mut metrics = vec![
        number("messages", |it| it.messages as f64),
        number("tmax", |it| it.tmax.as_secs_f64()),
        number("delay", |it| it.delay.as_secs_f64()),
    ];
    if close == Close::Heard {
        metrics.extend([
            number("rounds", |it| f64::from(it.rounds)),
            number("avg_rounds", |it| it.avg_rounds),
            number("first_round_messages", |it| it.first_round_messages as f64),
            number("first_round_tmax", |it| it.first_round_ended.as_secs_f64()),
            number("messages_by_tmax", |it| it.messages_by_tmax as f64),
        ]);
    }
    if course == Course::UntilLimit {
        metrics.extend(metrics_afterwards::<P>());
    }
    metrics.extend([
        Metric::share("strong_success", |it: &Story| it.run.summary.strong_success),
        Metric::new("weak_success", Kind::Fraction, |it: &Story| Some(it.run.summary.weak_success)),
        Metric::share("elected_best", |it: &Story| it.elected_best),
        Metric::share("converged", |it: &Story| it.election.is_some()),
    ]);
    metrics
}

fn metrics_afterwards<P: Simulated>() -> Vec<Metric<Story>> {
    let read = |name, kind, read: fn(&Afterwards) -> Option<f64>| {
        Metric::new(name, kind, move |story: &Story| story.afterwards.as_ref().and_then(read))
    };
    let mut metrics = vec![
        read("inconsistent", Kind::Fraction, |it| Some(it.inconsistent)),
        read("reestablishment", Kind::Number, |it| it.reestablishment),
        read("changes", Kind::Number, |it| Some(it.changes as f64)),
    ];
    let kinds = <P::Message as hustings_protocol::Message>::KINDS;
    metrics.extend(kinds.iter().enumerate().map(|(index, kind)| {
        Metric::number(format!("sent_{kind}"), move |story: &Story| {
            story.run.summary.tally.multicasts[index] as f64
        })
    }));
    metrics
}
