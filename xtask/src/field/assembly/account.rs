//! What became of an election, by what all its members recorded.

use std::collections::{BTreeMap, BTreeSet};

use super::interval::Estimate;
use super::record::{Record, Round, What, Word};

/// The time in which an election took place, and who was killed at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) killed: u64,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// Whether all survivors agreed before the time for it was over.
    pub(super) in_time: bool,
}

/// What became of the first election in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// When the leader before was killed.
    pub(super) killed_ns: u64,
    /// When it was called first.
    pub(super) called_ns: u64,
    /// Whether all survivors came to name the same survivor, by what they heard in its rounds, and in time.
    pub(super) strong: bool,
    /// How many survivors somebody had to set right.
    pub(super) set_right: usize,
    /// How many rounds it had.
    pub(super) rounds: u64,
    /// What all sent in its rounds.
    pub(super) whole: Cost,
    /// Of this, what a member sent that missed the first call of a round, and was called again.
    pub(super) late: Cost,
    /// Decisions for the one that was killed, by members that had not heard of it.
    pub(super) for_the_dead: u64,
    /// Questions, checks and answers to them, in all of the window.
    pub(super) besides: u64,
    /// How many elections there were in the window.
    pub(super) elections: usize,
}

/// What was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) unicasts: u64,
    pub(super) multicasts: u64,
    /// Of the multicasts, those that call a round.
    pub(super) calls: u64,
    /// How many members relayed in the first round.
    pub(super) relaying: u64,
}

/// What became of all elections.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Accounts {
    /// One for each death after which somebody called an election.
    pub(super) called: Vec<Account>,
    /// How many deaths nobody called an election after.
    pub(super) uncalled: usize,
}

impl Accounts {
    /// Reads them from the records of all members.
    pub(super) fn of(windows: &[Window], records: &[Record]) -> Self {
        let called = windows.iter().filter_map(|it| Account::of(*it, records));
        let called: Vec<Account> = called.collect();
        let uncalled = windows.len() - called.len();
        Self { called, uncalled }
    }

    pub(super) fn deaths(&self) -> usize {
        self.called.len() + self.uncalled
    }

    /// After how many of all deaths there was a strong success.
    pub(super) fn strong(&self) -> Estimate {
        let strong = self.called.iter().filter(|it| it.strong).count();
        Estimate::of_share(strong, self.deaths())
    }

    /// The mean over the elections that there were.
    pub(super) fn mean(&self, count: fn(&Account) -> u64) -> Estimate {
        let counts = self.called.iter().map(|it| count(it) as f64);
        Estimate::of_mean(&counts.collect::<Vec<f64>>())
    }
}

impl Account {
    /// Reads it from the records of all members. None if nobody called an election.
    pub(super) fn of(window: Window, records: &[Record]) -> Option<Self> {
        let survivors = || records.iter().filter(|it| it.id != window.killed);
        let calls = survivors().flat_map(|it| calls_of(it, window));
        let mut calls: Vec<(u64, Round, u64)> = calls.collect();
        calls.sort_unstable();
        let sequence = calls.iter().map(|(_, round, _)| round.sequence).min()?;
        let called_ns = calls.iter().find(|call| call.1.sequence == sequence)?.0;
        let ended_ns = calls.iter().find(|call| call.1.sequence > sequence);
        let ended_ns = ended_ns.map_or(window.to_ns, |call| call.0);
        let elections: BTreeSet<u64> = calls.iter().map(|call| call.1.sequence).collect();
        let mut first_callers = BTreeMap::new();
        for (_, round, by) in calls.iter().filter(|call| call.1.sequence == sequence) {
            first_callers.entry(round.number).or_insert(*by);
        }
        let mut account = Self {
            killed_ns: window.from_ns,
            called_ns,
            rounds: first_callers.keys().max().copied()?,
            elections: elections.len(),
            ..Self::default()
        };
        for record in survivors() {
            account.take_in(record, window, sequence, &first_callers);
        }
        let first = Window {
            to_ns: ended_ns,
            ..window
        };
        account.judge(survivors(), first);
        Some(account)
    }

    /// What one member did.
    fn take_in(
        &mut self,
        record: &Record,
        window: Window,
        sequence: u64,
        first_callers: &BTreeMap<u64, u64>,
    ) {
        let mut called_by: BTreeMap<u64, u64> = BTreeMap::new();
        for event in record.between(window.from_ns, window.to_ns) {
            let (word, to_all) = match event.what {
                What::Tells(word) => (word, false),
                What::TellsAll(word) => (word, true),
                What::IsCalled { by, round } => {
                    if round.sequence == sequence {
                        called_by.entry(round.number).or_insert(by);
                    }
                    continue;
                }
                What::Names { .. } => continue,
            };
            let round = match word {
                Word::Initiation(round) | Word::Preference(round) => round,
                Word::Decision { round, choice } => {
                    self.for_the_dead += u64::from(choice == window.killed);
                    round
                }
                Word::Besides => {
                    self.besides += 1;
                    continue;
                }
            };
            if round.sequence != sequence {
                continue;
            }
            let number = round.number;
            if matches!(word, Word::Initiation(_)) {
                called_by.entry(number).or_insert(record.id);
            }
            let cost = Cost::of(word, to_all);
            self.whole.add(cost);
            if called_by.get(&number) != first_callers.get(&number) {
                self.late.add(cost);
            }
        }
    }

    /// Whom all name at the end.
    fn judge<'r>(&mut self, survivors: impl Iterator<Item = &'r Record>, window: Window) {
        let mut named: BTreeSet<Option<u64>> = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for record in survivors {
            ids.insert(record.id);
            let events = record.between(window.from_ns, window.to_ns);
            let last = events
                .filter_map(|event| match event.what {
                    What::Names { whom, set_right } => Some((whom, set_right)),
                    What::Tells(_) | What::TellsAll(_) | What::IsCalled { .. } => None,
                })
                .last();
            match last {
                Some((whom, false)) => _ = named.insert(whom),
                Some((_, true)) => self.set_right += 1,
                None => _ = named.insert(None),
            }
        }
        let only = named.first().copied().flatten();
        let is_up = only.is_some_and(|whom| ids.contains(&whom));
        self.strong = window.in_time && is_up && named.len() == 1 && self.set_right == 0;
    }

    /// What was sent by those that heard the first call of a round, as all do who are called but once.
    pub(super) fn in_time(&self) -> Cost {
        Cost {
            unicasts: self.whole.unicasts - self.late.unicasts,
            multicasts: self.whole.multicasts - self.late.multicasts,
            calls: self.whole.calls - self.late.calls,
            relaying: self.whole.relaying - self.late.relaying,
        }
    }
}

impl Cost {
    fn of(word: Word, to_all: bool) -> Self {
        let relays = matches!(word, Word::Decision { round, .. } if round.number == 1);
        Self {
            unicasts: u64::from(!to_all),
            multicasts: u64::from(to_all),
            calls: u64::from(matches!(word, Word::Initiation(_))),
            relaying: u64::from(relays),
        }
    }

    fn add(&mut self, other: Self) {
        self.unicasts += other.unicasts;
        self.multicasts += other.multicasts;
        self.calls += other.calls;
        self.relaying += other.relaying;
    }
}

/// How many elections were called at other times: nobody had been killed.
pub(super) fn called_for_nothing(windows: &[Window], records: &[Record]) -> usize {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else {
        return 0;
    };
    let all = Window {
        killed: 0,
        from_ns: first.from_ns,
        to_ns: last.to_ns,
        in_time: true,
    };
    let is_in = |at_ns: &u64| {
        let holds = |window: &Window| (window.from_ns..window.to_ns).contains(at_ns);
        windows.iter().any(holds)
    };
    let calls = records.iter().flat_map(|it| calls_of(it, all));
    let outside = calls.filter(|(at_ns, ..)| !is_in(at_ns));
    let sequences: BTreeSet<u64> = outside.map(|(_, round, _)| round.sequence).collect();
    sequences.len()
}

/// When a member called which round, and who it is.
fn calls_of(record: &Record, window: Window) -> impl Iterator<Item = (u64, Round, u64)> {
    let events = record.between(window.from_ns, window.to_ns);
    events.filter_map(|event| match event.what {
        What::TellsAll(Word::Initiation(round)) => Some((event.at_ns, round, record.id)),
        What::Tells(_) | What::TellsAll(_) | What::IsCalled { .. } | What::Names { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::record::{Event, Record, Round, What, Word};
    use super::{Account, Accounts, Cost, Window, called_for_nothing};

    const ROUND: Round = Round {
        sequence: 4,
        number: 1,
    };
    const WINDOW: Window = Window {
        killed: 9,
        from_ns: 10,
        to_ns: 100,
        in_time: true,
    };

    fn record(id: u64, events: &[(u64, What)]) -> Record {
        let event = |&(at_ns, what): &(u64, What)| Event { at_ns, what };
        Record {
            id,
            events: events.iter().map(event).collect(),
        }
    }

    fn call(at_ns: u64) -> (u64, What) {
        (at_ns, What::TellsAll(Word::Initiation(ROUND)))
    }

    fn called(at_ns: u64, by: u64) -> (u64, What) {
        (at_ns, What::IsCalled { by, round: ROUND })
    }

    fn prefer(at_ns: u64) -> (u64, What) {
        (at_ns, What::Tells(Word::Preference(ROUND)))
    }

    fn decide(at_ns: u64, choice: u64) -> (u64, What) {
        let round = ROUND;
        (at_ns, What::TellsAll(Word::Decision { round, choice }))
    }

    fn names(at_ns: u64, whom: Option<u64>, set_right: bool) -> (u64, What) {
        (at_ns, What::Names { whom, set_right })
    }

    /// Member 1 calls; 2 hears it and relays; 3 misses it and calls again, and relays too.
    fn records() -> Vec<Record> {
        let agree = names(60, Some(2), false);
        vec![
            record(
                1,
                &[names(5, Some(9), false), call(20), called(30, 3), agree],
            ),
            record(2, &[called(21, 1), prefer(40), decide(50, 2), agree]),
            record(3, &[call(30), prefer(41), prefer(42), decide(51, 2), agree]),
        ]
    }

    #[test]
    fn what_is_sent_after_a_repeated_call_is_told_apart() {
        let account = Account::of(WINDOW, &records()).expect("it was called");
        let whole = Cost {
            unicasts: 3,
            multicasts: 4,
            calls: 2,
            relaying: 2,
        };
        assert_eq!(account.whole, whole);
        let in_time = Cost {
            unicasts: 1,
            multicasts: 2,
            calls: 1,
            relaying: 1,
        };
        assert_eq!(account.in_time(), in_time);
        assert!(account.strong);
        assert_eq!(
            (account.called_ns, account.rounds, account.elections),
            (20, 1, 1)
        );
    }

    #[test]
    fn success_is_of_all_that_live_and_by_themselves() {
        let with = |event: (u64, What)| {
            let mut records = records();
            records[2].events.push(record(3, &[event]).events[0]);
            Account::of(WINDOW, &records).expect("it was called")
        };
        assert!(!with(names(70, Some(1), false)).strong, "another");
        assert!(!with(names(70, None, false)).strong, "nobody");
        let set_right = with(names(70, Some(2), true));
        assert_eq!((set_right.strong, set_right.set_right), (false, 1));
        assert!(with(names(170, Some(1), false)).strong, "later");
        let round = Round {
            sequence: 5,
            number: 1,
        };
        let again = with((80, What::TellsAll(Word::Initiation(round))));
        assert_eq!((again.strong, again.elections), (true, 2));
        assert_eq!(with(decide(52, 9)).for_the_dead, 1);
        assert_eq!(Account::of(WINDOW, &records()[..0]), None);
    }

    #[test]
    fn an_election_that_is_late_or_never_called_is_no_success() {
        let late = Window {
            in_time: false,
            ..WINDOW
        };
        let uncalled = Window {
            from_ns: 200,
            to_ns: 300,
            in_time: false,
            ..WINDOW
        };
        let accounts = Accounts::of(&[WINDOW, late, uncalled, WINDOW], &records());
        let strong: Vec<bool> = accounts.called.iter().map(|it| it.strong).collect();
        assert_eq!(strong, [true, false, true]);
        assert_eq!((accounts.uncalled, accounts.deaths()), (1, 4));
        assert!((accounts.strong().mean - 0.5).abs() < 1e-9);
        // What was sent is that of the elections that there were.
        assert!((accounts.mean(|it| it.whole.unicasts).mean - 3.0).abs() < 1e-9);
    }

    #[test]
    fn elections_between_windows_are_counted() {
        let later = Window {
            killed: 9,
            from_ns: 200,
            to_ns: 300,
            in_time: true,
        };
        let mut all = records();
        assert_eq!(called_for_nothing(&[WINDOW, later], &all), 0);
        all[0].events.push(record(1, &[call(150)]).events[0]);
        assert_eq!(called_for_nothing(&[WINDOW, later], &all), 1);
    }
}
