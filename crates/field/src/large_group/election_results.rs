//! The result of an election, from the records of all its members, and estimates of many results.

use std::collections::{BTreeMap, BTreeSet};

use hustings_sim::statistics::{Kind, Sample};
use serde_json::Value;

use super::record::{ElectionRound, EventKind, MessageKind, Record};

/// The time span of an election, and the member that was killed at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) killed: u64,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// True if all survivors agreed within the time limit.
    pub(super) in_time: bool,
}

/// The result of the first election in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ElectionResult {
    /// The time at which the former leader was killed.
    pub(super) killed_ns: u64,
    /// The time of the first call.
    pub(super) called_ns: u64,
    /// True if all survivors came to name the same survivor in time, from the messages of the
    /// rounds alone.
    pub(super) strong: bool,
    /// The number of survivors that a check or an answer corrected.
    pub(super) corrected: u64,
    pub(super) rounds: u64,
    /// The messages that all members sent in the rounds.
    sent: Vec<Sent>,
    /// Decisions for the killed member, by members that did not know of its death.
    pub(super) for_the_dead: u64,
    /// Queries, checks and answers to them, in the whole window.
    pub(super) other: u64,
    /// The number of elections in the window.
    pub(super) elections: u64,
}

/// A message that a member sent in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    message: MessageKind,
    pub(super) to_all: bool,
    /// True if the sender missed the first call of the round and followed a later one.
    pub(super) is_late: bool,
}

impl Sent {
    /// True if the message calls a round.
    pub(super) fn calls(&self) -> bool {
        matches!(self.message, MessageKind::Initiation(_))
    }

    /// True if its sender relays in the first round.
    pub(super) fn relays(&self) -> bool {
        matches!(self.message, MessageKind::Decision { round, .. } if round.number == 1)
    }
}

/// The results of all elections.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ElectionResults {
    /// One for each death after which a member called an election.
    pub(super) called: Vec<ElectionResult>,
    /// The number of deaths after which no member called an election.
    pub(super) uncalled: usize,
}

impl ElectionResults {
    /// Computes the results from the records of all members.
    pub(super) fn of(windows: &[Window], records: &[Record]) -> Self {
        let called = windows.iter().filter_map(|it| ElectionResult::of(*it, records));
        let called: Vec<ElectionResult> = called.collect();
        let uncalled = windows.len() - called.len();
        Self { called, uncalled }
    }

    pub(super) fn deaths(&self) -> usize {
        self.called.len() + self.uncalled
    }

    /// Returns the share of all deaths that a strong success followed.
    pub(super) fn strong(&self) -> Estimate {
        let strong = self.called.iter().filter(|it| it.strong).count();
        Estimate::of_share(strong, self.deaths())
    }

    /// Returns the mean over the elections that were called.
    pub(super) fn mean(&self, count: impl Fn(&ElectionResult) -> u64) -> Estimate {
        let counts = self.called.iter().map(|it| count(it) as f64);
        Estimate::of_mean(&counts.collect::<Vec<f64>>())
    }
}

impl ElectionResult {
    /// Computes the result from the records of all members. Returns `None` if no member called an
    /// election.
    pub(super) fn of(window: Window, records: &[Record]) -> Option<Self> {
        let survivors = || records.iter().filter(|it| it.id != window.killed);
        let mut calls: Vec<(u64, ElectionRound, u64)> =
            survivors().flat_map(|it| calls_of(it, window)).collect();
        calls.sort_unstable();
        let elections: BTreeSet<u64> = calls.iter().map(|call| call.1.sequence).collect();
        let sequence = *elections.first()?;
        let mut its = calls.iter().filter(|call| call.1.sequence == sequence).peekable();
        let called_ns = its.peek()?.0;
        let mut first_callers = BTreeMap::new();
        for (_, round, by) in its {
            first_callers.entry(round.number).or_insert(*by);
        }
        let mut result = Self {
            killed_ns: window.from_ns,
            called_ns,
            rounds: *first_callers.keys().last()?,
            elections: elections.len() as u64,
            ..Self::default()
        };
        for record in survivors() {
            result.add_member(record, window, sequence, &first_callers);
        }
        let next = calls.iter().find(|call| call.1.sequence > sequence);
        let to_ns = next.map_or(window.to_ns, |call| call.0);
        result.judge(survivors(), Window { to_ns, ..window });
        Some(result)
    }

    /// Returns the number of messages of the rounds for which `is_it` holds.
    pub(super) fn count(&self, is_it: impl Fn(&Sent) -> bool) -> u64 {
        self.sent.iter().filter(|sent| is_it(sent)).count() as u64
    }

    /// Adds the messages of one member.
    fn add_member(
        &mut self,
        record: &Record,
        window: Window,
        sequence: u64,
        first_callers: &BTreeMap<u64, u64>,
    ) {
        let mut called_by: BTreeMap<u64, u64> = BTreeMap::new();
        for event in record.between(window.from_ns, window.to_ns) {
            let (message, to_all) = match event.what {
                EventKind::Sends { message, to_all } => (message, to_all),
                EventKind::ReceivesCall { by, round } => {
                    if round.sequence == sequence {
                        called_by.entry(round.number).or_insert(by);
                    }
                    continue;
                }
                EventKind::Names { .. } => continue,
            };
            let round = match message {
                MessageKind::Initiation(round) | MessageKind::Preference(round) => round,
                MessageKind::Decision { round, choice } => {
                    self.for_the_dead += u64::from(choice == window.killed);
                    round
                }
                MessageKind::Other => {
                    self.other += 1;
                    continue;
                }
            };
            if round.sequence != sequence {
                continue;
            }
            if let MessageKind::Initiation(_) = message {
                called_by.entry(round.number).or_insert(record.id);
            }
            let is_late = called_by.get(&round.number) != first_callers.get(&round.number);
            self.sent.push(Sent { message, to_all, is_late });
        }
    }

    /// Determines the leaders that the survivors name at the end, and whether the success is
    /// strong.
    fn judge<'r>(&mut self, survivors: impl Iterator<Item = &'r Record>, window: Window) {
        let mut named: BTreeSet<Option<u64>> = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for record in survivors {
            ids.insert(record.id);
            let events = record.between(window.from_ns, window.to_ns);
            let names = events.filter_map(|event| match event.what {
                EventKind::Names { leader, corrected } => Some((leader, corrected)),
                EventKind::Sends { .. } | EventKind::ReceivesCall { .. } => None,
            });
            match names.last().unwrap_or((None, false)) {
                (_, true) => self.corrected += 1,
                (leader, false) => _ = named.insert(leader),
            }
        }
        let only = named.first().copied().flatten();
        let is_up = only.is_some_and(|leader| ids.contains(&leader));
        self.strong = window.in_time && is_up && named.len() == 1 && self.corrected == 0;
    }
}

/// Returns the number of elections that were called outside the windows, when no leader had been
/// killed.
pub(super) fn called_for_nothing(windows: &[Window], records: &[Record]) -> usize {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else {
        return 0;
    };
    let all = Window { killed: 0, from_ns: first.from_ns, to_ns: last.to_ns, in_time: true };
    let is_in = |at_ns: &u64| windows.iter().any(|it| (it.from_ns..it.to_ns).contains(at_ns));
    let calls = records.iter().flat_map(|it| calls_of(it, all));
    let outside = calls.filter(|(at_ns, ..)| !is_in(at_ns));
    let sequences: BTreeSet<u64> = outside.map(|(_, round, _)| round.sequence).collect();
    sequences.len()
}

/// Returns the calls of a member: time, round, and the member's id.
fn calls_of(record: &Record, window: Window) -> impl Iterator<Item = (u64, ElectionRound, u64)> {
    let events = record.between(window.from_ns, window.to_ns);
    events.filter_map(|event| match event.what {
        EventKind::Sends { message: MessageKind::Initiation(round), to_all: true } => {
            Some((event.at_ns, round, record.id))
        }
        EventKind::Sends { .. } | EventKind::ReceivesCall { .. } | EventKind::Names { .. } => None,
    })
}

/// A mean or a share, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Estimate {
    /// Returns the share `held` / `of`.
    pub(super) fn of_share(held: usize, of: usize) -> Self {
        let values = (0..of).map(|index| f64::from(u8::from(index < held)));
        Self::of(Kind::Proportion, values)
    }

    /// Returns the mean of counts. Equal counts give no variance. Then the interval allows as many
    /// counts to be off by one as the interval of a share of zero would.
    pub(super) fn of_mean(values: &[f64]) -> Self {
        let estimate = Self::of(Kind::Number, values.iter().copied());
        if values.iter().any(|value| *value != values[0]) {
            return estimate;
        }
        let off = Self::of_share(0, values.len()).high;
        Self { low: estimate.mean - off, high: estimate.mean + off, ..estimate }
    }

    /// A single value gives the interval [0, 1]. Without values, all fields are NaN.
    fn of(kind: Kind, values: impl Iterator<Item = f64>) -> Self {
        let mut sample = Sample::new(kind);
        values.for_each(|value| sample.add(value));
        let (mean, [low, high]) = match sample.estimate() {
            Some(estimate) => (estimate.mean, estimate.ci95.unwrap_or([0.0, 1.0])),
            None => (f64::NAN, [f64::NAN; 2]),
        };
        Self { mean, low, high }
    }

    /// Reads a metric from the simulator's output.
    pub(super) fn read(metric: &Value) -> Option<Self> {
        Some(Self {
            mean: metric["mean"].as_f64()?,
            low: metric["ci95"][0].as_f64()?,
            high: metric["ci95"][1].as_f64()?,
        })
    }

    /// True if the intervals overlap.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Returns the cells of a table row: mean, from, to.
    pub(super) fn cells(&self) -> Vec<String> {
        let show = |value: &f64| format!("{value:.2}");
        [self.mean, self.low, self.high].iter().map(show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{ElectionRound, Event, EventKind, MessageKind, Record};
    use super::{ElectionResult, ElectionResults, Estimate, Sent, Window, called_for_nothing};
    use serde_json::json;

    const ROUND: ElectionRound = ElectionRound { sequence: 4, number: 1 };
    const WINDOW: Window = Window { killed: 9, from_ns: 10, to_ns: 100, in_time: true };

    fn record(id: u64, events: &[(u64, EventKind)]) -> Record {
        let event = |&(at_ns, what): &(u64, EventKind)| Event { at_ns, what };
        Record { id, events: events.iter().map(event).collect() }
    }

    fn call(at_ns: u64) -> (u64, EventKind) {
        (at_ns, EventKind::Sends { message: MessageKind::Initiation(ROUND), to_all: true })
    }

    fn called(at_ns: u64, by: u64) -> (u64, EventKind) {
        (at_ns, EventKind::ReceivesCall { by, round: ROUND })
    }

    fn prefer(at_ns: u64) -> (u64, EventKind) {
        (at_ns, EventKind::Sends { message: MessageKind::Preference(ROUND), to_all: false })
    }

    fn decide(at_ns: u64, choice: u64) -> (u64, EventKind) {
        let message = MessageKind::Decision { round: ROUND, choice };
        (at_ns, EventKind::Sends { message, to_all: true })
    }

    fn names(at_ns: u64, leader: Option<u64>, corrected: bool) -> (u64, EventKind) {
        (at_ns, EventKind::Names { leader, corrected })
    }

    /// Member 1 calls. Member 2 receives the call and relays. Member 3 misses it, calls again, and
    /// relays too.
    fn records() -> Vec<Record> {
        let agree = names(60, Some(2), false);
        vec![
            record(1, &[names(5, Some(9), false), call(20), called(30, 3), agree]),
            record(2, &[called(21, 1), prefer(40), decide(50, 2), agree]),
            record(3, &[call(30), prefer(41), prefer(42), decide(51, 2), agree]),
        ]
    }

    #[test]
    fn messages_after_a_repeated_call_are_counted_apart() {
        let result = ElectionResult::of(WINDOW, &records()).expect("it was called");
        let kinds: [fn(&Sent) -> bool; 4] =
            [|it| !it.to_all, |it| it.to_all, Sent::calls, Sent::relays];
        assert_eq!(kinds.map(|is_it| result.count(is_it)), [3, 4, 2, 2]);
        let in_time = kinds.map(|is_it| result.count(|it| is_it(it) && !it.is_late));
        assert_eq!(in_time, [1, 2, 1, 1]);
        assert!(result.strong);
        assert_eq!((result.called_ns, result.rounds, result.elections), (20, 1, 1));
    }

    #[test]
    fn strong_success_needs_all_survivors_without_corrections() {
        let with = |event: (u64, EventKind)| {
            let mut records = records();
            records[2].events.push(record(3, &[event]).events[0]);
            ElectionResult::of(WINDOW, &records).expect("it was called")
        };
        assert!(!with(names(70, Some(1), false)).strong, "another");
        assert!(!with(names(70, None, false)).strong, "nobody");
        let corrected = with(names(70, Some(2), true));
        assert_eq!((corrected.strong, corrected.corrected), (false, 1));
        assert!(with(names(170, Some(1), false)).strong, "later");
        let round = ElectionRound { sequence: 5, number: 1 };
        let message = MessageKind::Initiation(round);
        let again = with((80, EventKind::Sends { message, to_all: true }));
        assert_eq!((again.strong, again.elections), (true, 2));
        assert_eq!(with(decide(52, 9)).for_the_dead, 1);
        assert_eq!(ElectionResult::of(WINDOW, &records()[..0]), None);
    }

    #[test]
    fn late_or_uncalled_election_is_no_success() {
        let late = Window { in_time: false, ..WINDOW };
        let uncalled = Window { from_ns: 200, to_ns: 300, in_time: false, ..WINDOW };
        let accounts = ElectionResults::of(&[WINDOW, late, uncalled, WINDOW], &records());
        let strong: Vec<bool> = accounts.called.iter().map(|it| it.strong).collect();
        assert_eq!(strong, [true, false, true]);
        assert_eq!((accounts.uncalled, accounts.deaths()), (1, 4));
        assert!((accounts.strong().mean - 0.5).abs() < 1e-9);
        // The mean counts only the elections that were called.
        assert!((accounts.mean(|it| it.count(|it| !it.to_all)).mean - 3.0).abs() < 1e-9);
    }

    #[test]
    fn elections_between_windows_are_counted() {
        let later = Window { killed: 9, from_ns: 200, to_ns: 300, in_time: true };
        let mut all = records();
        assert_eq!(called_for_nothing(&[WINDOW, later], &all), 0);
        all[0].events.push(record(1, &[call(150)]).events[0]);
        assert_eq!(called_for_nothing(&[WINDOW, later], &all), 1);
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.001, "{value}, not {expected}");
    }

    #[test]
    fn intervals_match_textbook_values() {
        let all = Estimate::of_share(20, 20);
        near(all.low, 0.839);
        near(all.high, 1.0);
        let half = Estimate::of_share(10, 20);
        near(half.low, 0.299);
        near(half.high, 0.701);
        let mean = Estimate::of_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        near(mean.mean, 3.5);
        near(mean.low, 3.5 - 2.571 * 0.7638);
        let alike = Estimate::of_mean(&[1.0; 20]);
        near(alike.high, 1.161);
        near(alike.low, 0.839);
        let one = Estimate::of_mean(&[3.0]);
        assert_eq!((one.low, one.high), (2.0, 4.0));
        for none in [Estimate::of_mean(&[]), Estimate::of_share(0, 0)] {
            assert!(!none.agrees(&half), "{none:?}");
        }
    }

    #[test]
    fn estimates_agree_if_their_intervals_overlap() {
        let told = json!({"mean": 2.0, "ci95": [1.0, 3.0], "min": 0.0, "max": 9.0});
        let first = Estimate::read(&told).expect("it has all three");
        let at = |low, high| Estimate { mean: (low + high) / 2.0, low, high };
        assert!(first.agrees(&at(2.5, 4.0)));
        assert!(at(2.5, 4.0).agrees(&first));
        assert!(!first.agrees(&at(3.1, 4.0)));
        assert_eq!(Estimate::read(&json!(null)), None);
        assert_eq!(first.cells(), ["2.00", "1.00", "3.00"]);
    }
}
