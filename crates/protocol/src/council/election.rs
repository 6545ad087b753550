//! How the centre goes on from one count to the next: Figs. 4, 9, 13 and 16, without the messages.

use super::climb::{Climb, Found};
use super::content::Mask;
use super::evidence::Evidence;
use super::seats::Verdict;
use super::{Algorithm, Config, Content, Knowledge, Pick, Reset, Search, Seats};
use crate::Candidate;

/// So many polls of all that find too few hosts, without an overshoot in between, are followed by a rest.
const POLLS: u32 = 4;
/// After so many undershoots in a row from the same number the centre no longer believes it: hosts have gone.
const PATIENCE: u32 = 16;

/// An election in one chamber, and what the centre has learnt of the number of hosts.
#[derive(Debug, Clone)]
pub(super) struct Election {
    /// `N`. Nothing: all are to reply.
    size: f64,
    /// What the replies of this election and the one before tell of the number of hosts.
    evidence: Evidence,
    /// Who was called last.
    called: Called,
    /// Whether there was an overshoot.
    overshot: bool,
    /// Undershoots in a row.
    undershoots: u32,
    /// Of which all had replied.
    polls: u32,
    /// With history: where an undershoot goes back to, the latest last.
    bases: Vec<Base>,
    climb: Climb,
    mask: Mask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called {
    /// All, to reply.
    Poll,
    /// All, to draw.
    All,
    /// Those who were active.
    Active,
}

/// More than `U` have replied.
#[derive(Debug, Clone, Copy)]
struct Base {
    round: u32,
    count: u32,
}

/// What the centre says next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) content: Content,
    /// Those draw who were active after this round; 0: all.
    pub(super) base: u32,
    pub(super) floor: Option<Candidate>,
}

/// What follows a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Another round.
    Ask(Ask),
    /// Those who said yes in this draw are the council, as many as there is room for.
    Elected(u8),
    /// There are too few hosts. It begins anew later.
    Rest,
}

/// What has come in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count<'a> {
    /// By draw.
    pub(super) yes: [u32; 2],
    /// By draw, the numbers by which they drew in sum, `c` for those who had to reply: who has missed calls draws by a greater
    /// one than the centre's, and stands for more.
    pub(super) numbers: [f64; 2],
    /// Who, if merit counts: the best first.
    pub(super) best_first: &'a [Candidate],
    /// In which round.
    pub(super) round: u32,
    /// How many are wanted.
    pub(super) wanted: Seats,
    /// With so many there would be a council, if there are no more hosts.
    pub(super) enough: u32,
    pub(super) c: f64,
}

impl Election {
    pub(super) fn new(knowledge: Knowledge) -> Self {
        Self {
            size: first_size(knowledge),
            evidence: Evidence::default(),
            called: Called::All,
            overshot: false,
            undershoots: 0,
            polls: 0,
            bases: Vec::new(),
            climb: Climb::default(),
            mask: Mask { key: 0, bits: 0 },
        }
    }

    /// There are so many hosts.
    pub(super) fn learn(&mut self, members: u32) {
        self.size = f64::from(members);
    }

    /// The first round of an election; `key` is random. It goes by the number that the last one has left, unless that is so
    /// small that all would reply: since then many may have come.
    pub(super) fn open(&mut self, config: &Config, (wanted, c): (Seats, f64), key: u16) -> Ask {
        let evidence = self.evidence.faded(c);
        let left = match config.search {
            Search::Printed => None,
            Search::Guarded => evidence.hosts(),
        };
        let size = left.or(self.climb.foot()).unwrap_or(self.size);
        let is_safe = size > f64::from(wanted.most);
        *self = match config.knowledge {
            Knowledge::Estimated(_) if !is_safe => Self::new(config.knowledge),
            Knowledge::Told(_) => Self::new(config.knowledge).with_size(self.size),
            Knowledge::Polled | Knowledge::Estimated(_) => Self {
                evidence,
                ..Self::new(config.knowledge).with_size(size)
            },
        };
        self.mask = Mask {
            key,
            bits: Mask::WHOLE,
        };
        self.call_all(config.algorithm)
    }

    fn with_size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    /// After a rest, much may have changed: too high a number is the safe one.
    pub(super) fn forget(&mut self, knowledge: Knowledge) {
        *self = Self::new(knowledge);
    }

    /// Takes in the count of a round.
    pub(super) fn count(&mut self, count: Count<'_>, config: &Config) -> Next {
        match config.algorithm {
            Algorithm::Merit => return self.count_by_merit(count, config),
            Algorithm::Bolot => return self.count_by_mask(count),
            Algorithm::Naive
            | Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::History { .. } => {}
        }
        let taken = take(config.algorithm, count.yes, count.wanted);
        let number = count.yes[usize::from(taken)];
        self.weigh(&count, config.algorithm);
        match count.wanted.verdict(number) {
            Verdict::Council => Next::Elected(taken),
            Verdict::Overshoot => Next::Ask(self.overshoot(number, taken, count, config)),
            Verdict::Undershoot => self.undershoot(number, &count, config),
        }
    }

    /// No host draws by a greater number, whatever it says.
    pub(super) fn most_drawn_by(&self, config: &Config) -> f64 {
        self.size.max(first_size(config.knowledge))
    }

    /// What a draw of all tells of their number, whichever of two draws is taken.
    fn weigh(&mut self, count: &Count<'_>, algorithm: Algorithm) {
        let by = match self.called {
            Called::Active => return,
            Called::Poll => count.c,
            Called::All => self.size.max(count.c),
        };
        for numbers in &count.numbers[..usize::from(algorithm.draws())] {
            self.evidence.add(*numbers / by, count.c / by);
        }
    }

    /// More than `U`: those who said yes draw again.
    fn overshoot(&mut self, number: u32, taken: u8, count: Count<'_>, config: &Config) -> Ask {
        (self.undershoots, self.polls) = (0, 0);
        self.overshot = true;
        if self.called != Called::Active {
            self.size = self.size_after(number, count.c, config);
        }
        let round = count.round;
        match config.algorithm {
            Algorithm::Naive => return self.call_all(config.algorithm),
            Algorithm::History { depth } => {
                let base = Base {
                    round,
                    count: number,
                };
                self.bases.push(base);
                let old = self.bases.len().saturating_sub(usize::from(depth));
                self.bases.drain(..old);
            }
            Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::Merit
            | Algorithm::Bolot => {}
        }
        self.called = Called::Active;
        Ask {
            content: Content {
                count: number,
                reset: false,
                taken,
            },
            base: round,
            floor: None,
        }
    }

    /// `N` after a draw of all that left too many.
    fn size_after(&self, number: u32, c: f64, config: &Config) -> f64 {
        let counted = self.size.max(f64::from(number));
        match (config.knowledge, config.algorithm) {
            (Knowledge::Told(_), _) => self.size,
            (Knowledge::Estimated(_), Algorithm::Naive) if config.search == Search::Guarded => {
                self.evidence.hosts().map_or(counted, f64::round)
            }
            // Everyone draws anew, so it takes the best guess.
            (Knowledge::Estimated(_), Algorithm::Naive) if self.called == Called::All => {
                self.size * f64::from(number) / c
            }
            (Knowledge::Polled | Knowledge::Estimated(_), _) => counted,
        }
    }

    /// Fewer than `L`.
    fn undershoot(&mut self, number: u32, count: &Count<'_>, config: &Config) -> Next {
        let wanted = count.wanted;
        self.undershoots += 1;
        if self.called == Called::Poll {
            if number >= count.enough {
                return Next::Elected(0); // all that there are, and they have said yes to every draw
            }
            self.polls += 1;
            if self.polls >= POLLS {
                return Next::Rest;
            }
            if let (0, Search::Guarded, Knowledge::Estimated(_)) =
                (number, config.search, config.knowledge)
            {
                return Next::Ask(self.search_anew(config));
            }
        }
        let is_tired = self.undershoots.is_multiple_of(PATIENCE);
        let goes_back = is_tired && self.bases.pop().is_some();
        if let Some(base) = self.bases.last() {
            return Next::Ask(Ask {
                content: Content {
                    count: base.count,
                    reset: true,
                    taken: 0,
                },
                base: base.round,
                floor: None,
            });
        }
        let polls = match config.algorithm {
            Algorithm::Basic | Algorithm::Choice(_, Reset::Polled) => true,
            Algorithm::Naive
            | Algorithm::SkipReset
            | Algorithm::Choice(_, Reset::Skipped)
            | Algorithm::History { .. }
            | Algorithm::Merit
            | Algorithm::Bolot => false,
        };
        match config.knowledge {
            Knowledge::Told(_) | Knowledge::Polled if polls => Next::Ask(self.poll(number)),
            Knowledge::Estimated(_) if polls && self.overshot => Next::Ask(self.poll(number)),
            Knowledge::Estimated(estimate) => {
                self.size = match config.search {
                    Search::Printed => estimate.next(self.size, wanted).unwrap_or(0.0),
                    Search::Guarded => self.evidence.next(estimate, self.size, wanted),
                };
                Next::Ask(self.call_all(config.algorithm))
            }
            Knowledge::Told(_) | Knowledge::Polled => {
                // A threshold's number is a guess from few replies.
                if config.algorithm == Algorithm::Merit || is_tired && !goes_back {
                    self.size /= 2.0;
                }
                if self.size < f64::from(wanted.least) {
                    self.size = 0.0;
                }
                Next::Ask(self.call_all(config.algorithm))
            }
        }
    }

    /// All were to reply, and nobody did: the centre may be cut off, and there may be very many.
    fn search_anew(&mut self, config: &Config) -> Ask {
        self.size = first_size(config.knowledge);
        self.evidence = Evidence::default();
        self.call_all(config.algorithm)
    }

    fn count_by_merit(&mut self, count: Count<'_>, config: &Config) -> Next {
        let size = match self.called {
            Called::Poll => 0.0,
            Called::All | Called::Active => self.size,
        };
        let Count {
            best_first,
            wanted,
            c,
            ..
        } = count;
        match self.climb.take_in(best_first, size, (wanted, c)) {
            Found::Best => Next::Elected(0),
            Found::Size(size) => {
                (self.undershoots, self.polls) = (0, 0);
                self.size = if size <= c { 0.0 } else { size };
                Next::Ask(self.call_all(config.algorithm))
            }
            Found::TooFew => self.undershoot(best_first.len() as u32, &count, config),
        }
    }

    /// Bolot's: one bit less each time, until somebody replies.
    fn count_by_mask(&mut self, count: Count<'_>) -> Next {
        if count.yes[0] >= count.wanted.least {
            return Next::Elected(0);
        }
        match self.mask.bits.checked_sub(1) {
            Some(bits) => {
                self.mask.bits = bits;
                Next::Ask(self.call_all(Algorithm::Bolot))
            }
            None => Next::Rest,
        }
    }

    /// All are to reply; `number` have, which is too few.
    fn poll(&mut self, number: u32) -> Ask {
        self.called = Called::Poll;
        call(number)
    }

    /// All draw, as `N` says.
    fn call_all(&mut self, algorithm: Algorithm) -> Ask {
        if algorithm == Algorithm::Bolot {
            return call(self.mask.count());
        }
        // A number that rounds to 0 has all reply, as 0 has.
        let size = self.size.round() as u32;
        self.called = match size {
            0 => Called::Poll,
            1.. => Called::All,
        };
        Ask {
            floor: self.climb.floor(),
            ..call(size)
        }
    }
}

fn call(count: u32) -> Ask {
    Ask {
        content: Content {
            count,
            reset: true,
            taken: 0,
        },
        base: 0,
        floor: None,
    }
}

fn first_size(knowledge: Knowledge) -> f64 {
    match knowledge {
        Knowledge::Told(members) => f64::from(members),
        Knowledge::Polled => 0.0,
        Knowledge::Estimated(estimate) => f64::from(estimate.first),
    }
}

/// Which draw counts.
fn take(algorithm: Algorithm, yes: [u32; 2], wanted: Seats) -> u8 {
    let Algorithm::Choice(pick, _) = algorithm else {
        return 0;
    };
    let verdicts = yes.map(|count| wanted.verdict(count));
    let first_is = |it| verdicts[0] == it;
    let second_is = |it| verdicts[1] == it;
    let second = match pick {
        _ if first_is(Verdict::Council) || second_is(Verdict::Council) => {
            // Of two councils the larger.
            !first_is(Verdict::Council) || second_is(Verdict::Council) && yes[1] > yes[0]
        }
        Pick::First => false,
        Pick::SmallestOvershoot => {
            second_is(Verdict::Overshoot) && (first_is(Verdict::Undershoot) || yes[1] < yes[0])
        }
    };
    u8::from(second)
}

#[cfg(test)]
mod tests {
    use super::{Count, Election, Next, PATIENCE, POLLS};
    use crate::Duration;
    use crate::council::{Algorithm, Config, Estimate, Knowledge, Search, Seats};

    const SEATS: Seats = Seats::new(4, 8);
    const C: f64 = 6.0;

    /// An election, and the number of its last round.
    struct Centre {
        config: Config,
        election: Election,
        round: u32,
        enough: u32,
    }

    impl Centre {
        fn new(algorithm: Algorithm, knowledge: Knowledge) -> Self {
            Self {
                config: Config::once(SEATS, algorithm, knowledge, Duration::from_secs(1)),
                election: Election::new(knowledge),
                round: 0,
                enough: SEATS.least,
            }
        }

        /// As in the field.
        fn guarded(first: Estimate) -> Self {
            let mut centre = Self::new(Algorithm::SkipReset, Knowledge::Estimated(first));
            centre.config.search = Search::Guarded;
            centre
        }

        /// The first feedback of an election.
        fn open(&mut self) -> String {
            let ask = self.election.open(&self.config, (SEATS, C), 0);
            self.round += 1;
            self.show(Next::Ask(ask))
        }

        /// What follows when so many say yes in the first draw, and in the second.
        fn hear(&mut self, first: u32, second: u32) -> String {
            // All have heard every call.
            let by = self.election.size.max(C);
            let count = Count {
                yes: [first, second],
                numbers: [first, second].map(|it| f64::from(it) * by),
                best_first: &[],
                round: self.round,
                wanted: SEATS,
                enough: self.enough,
                c: C,
            };
            let next = self.election.count(count, &self.config);
            self.round += 1;
            self.show(next)
        }

        fn show(&self, next: Next) -> String {
            match next {
                Next::Ask(ask) if ask.content.reset && ask.base == 0 => {
                    format!("all {}", ask.content.count)
                }
                Next::Ask(ask) if ask.content.reset => {
                    format!("back to {} {}", ask.base, ask.content.count)
                }
                Next::Ask(ask) => format!("on {} by {}", ask.content.count, ask.content.taken),
                Next::Elected(draw) => format!("elected by {draw}"),
                Next::Rest => "rest".to_owned(),
            }
        }
    }

    /// Feedbacks and counts in turn: what was said after each count of the first draw.
    #[track_caller]
    fn course(algorithm: Algorithm, knowledge: Knowledge, steps: &[(u32, &str)]) {
        let mut centre = Centre::new(algorithm, knowledge);
        let mut said = centre.open();
        for (count, expected) in steps {
            assert_eq!(said, *expected, "{algorithm:?}, before {count}");
            said = centre.hear(*count, 0);
        }
        assert_eq!(said, "elected by 0", "{algorithm:?}");
    }

    #[test]
    fn each_algorithm_goes_on_as_its_figure_says() {
        let told = Knowledge::Told(500);
        course(
            Algorithm::Naive,
            told,
            &[(9, "all 500"), (3, "all 500"), (5, "all 500")],
        );
        course(
            Algorithm::Basic,
            Knowledge::Polled,
            &[
                (500, "all 0"),
                (9, "on 500 by 0"),
                (2, "on 9 by 0"),
                (499, "all 2"),
                (8, "on 499 by 0"),
            ],
        );
        course(
            Algorithm::SkipReset,
            Knowledge::Polled,
            &[
                (500, "all 0"),
                (9, "on 500 by 0"),
                (2, "on 9 by 0"),
                (4, "all 500"),
            ],
        );
        course(
            Algorithm::HISTORY,
            told,
            &[
                (2, "all 500"),
                (20, "all 500"),
                (12, "on 20 by 0"),
                (3, "on 12 by 0"),
                (1, "back to 3 12"),
                (9, "back to 3 12"),
                (0, "on 9 by 0"),
                (4, "back to 6 9"),
            ],
        );
        course(
            Algorithm::SkipReset,
            Knowledge::Estimated(Estimate::conservative(1_000)),
            &[
                (0, "all 1000"),
                (20, "all 500"),
                (3, "on 20 by 0"),
                (6, "all 250"),
            ],
        );
        course(
            Algorithm::SkipReset,
            Knowledge::Estimated(Estimate::conservative(30)),
            &[(0, "all 30"), (0, "all 15"), (6, "all 0")],
        );
    }

    #[test]
    fn of_two_draws_the_better_is_taken() {
        for (first, second, next) in [
            (5, 9, "elected by 0"),
            (3, 4, "elected by 1"),
            (4, 8, "elected by 1"),
            (8, 4, "elected by 0"),
            (12, 9, "on 9 by 1"),
            (9, 12, "on 9 by 0"),
            (3, 9, "on 9 by 1"),
            (9, 3, "on 9 by 0"),
            (3, 0, "all 500"),
        ] {
            let mut centre = Centre::new(Algorithm::CHOICE, Knowledge::Told(500));
            centre.open();
            assert_eq!(centre.hear(first, second), next, "{first} {second}");
        }
    }

    #[test]
    fn where_draw_after_draw_finds_too_few_it_goes_back_further_and_at_last_takes_less() {
        let mut centre = Centre::new(Algorithm::History { depth: 2 }, Knowledge::Told(500));
        centre.open();
        assert_eq!(centre.hear(30, 0), "on 30 by 0");
        assert_eq!(centre.hear(15, 0), "on 15 by 0");
        for undershoots in 1..=3 * PATIENCE {
            let next = match undershoots / PATIENCE {
                0 => "back to 2 15",
                1 => "back to 1 30",
                2 => "all 500",
                _ => "all 250",
            };
            assert_eq!(centre.hear(0, 0), next, "{undershoots}");
        }
    }

    #[test]
    fn where_there_are_too_few_hosts_it_rests_and_begins_with_the_highest_estimate() {
        let estimated = Knowledge::Estimated(Estimate::conservative(30));
        let mut centre = Centre::new(Algorithm::SkipReset, estimated);
        centre.open();
        assert_eq!(centre.hear(0, 0), "all 15");
        for _ in 0..POLLS {
            assert_eq!(centre.hear(2, 0), "all 0");
        }
        assert_eq!(centre.hear(2, 0), "rest");
        centre.election.forget(estimated);
        assert_eq!(centre.open(), "all 30");
    }

    #[test]
    fn with_guard_a_later_election_goes_by_the_number_that_the_replies_told() {
        let mut centre = Centre::guarded(Estimate::conservative(1_000));
        assert_eq!(centre.open(), "all 1000");
        assert_eq!(centre.hear(0, 0), "all 500");
        assert_eq!(centre.hear(9, 0), "on 9 by 0");
        // 9 replies where there were 6/1000 and 6/500 of all.
        assert_eq!(centre.hear(1, 0), "all 500");
        assert_eq!(centre.hear(12, 0), "on 12 by 0");
        // 21, where there were 6/1000 and 12/500.
        assert_eq!(centre.hear(6, 0), "elected by 0");
        assert_eq!(centre.open(), "all 700");
        // As much again as told of the 700, and nobody: half as many.
        assert_eq!(centre.hear(0, 0), "all 350");
    }

    #[test]
    fn with_guard_an_undershoot_after_an_overshoot_is_no_reason_to_take_less() {
        let next = |search| {
            let mut centre = Centre::guarded(Estimate::aggressive(100_000));
            centre.config.search = search;
            centre.open();
            assert_eq!(centre.hear(0, 0), "all 3162");
            assert_eq!(centre.hear(10, 0), "on 10 by 0");
            centre.hear(3, 0)
        };
        assert_eq!(next(Search::Printed), "all 282");
        assert_eq!(next(Search::Guarded), "all 5108");
    }

    #[test]
    fn with_guard_a_few_replies_tell_more_than_none() {
        let mut centre = Centre::guarded(Estimate::aggressive(100_000));
        centre.open();
        assert_eq!(centre.hear(0, 0), "all 3162");
        assert_eq!(centre.hear(3, 0), "all 1533");
        assert_eq!(centre.hear(0, 0), "all 511");
        // Never less than one step of the estimate, however few reply.
        let mut centre = Centre::guarded(Estimate::conservative(1_000));
        centre.open();
        assert_eq!(centre.hear(1, 0), "all 500");
    }

    #[test]
    fn with_guard_a_centre_that_nobody_answers_polls_once_and_begins_with_the_highest_estimate() {
        let mut centre = Centre::guarded(Estimate::conservative(30));
        centre.open();
        for poll in 1..=POLLS {
            assert_eq!(centre.hear(0, 0), "all 15");
            assert_eq!(centre.hear(0, 0), "all 0");
            let after = if poll < POLLS { "all 30" } else { "rest" };
            assert_eq!(centre.hear(0, 0), after);
        }
    }

    #[test]
    fn where_there_are_no_more_hosts_it_takes_those_that_make_a_council() {
        for (found, then) in [(2, "elected by 0"), (1, "all 0")] {
            let mut centre = Centre::guarded(Estimate::conservative(30));
            centre.enough = 2;
            centre.open();
            assert_eq!(centre.hear(0, 0), "all 15");
            assert_eq!(centre.hear(0, 0), "all 0");
            assert_eq!(centre.hear(found, 0), then);
        }
    }

    #[test]
    fn a_number_found_by_having_all_reply_is_not_gone_by_again() {
        let estimated = Knowledge::Estimated(Estimate::conservative(30));
        let mut centre = Centre::new(Algorithm::SkipReset, estimated);
        centre.open();
        assert_eq!(centre.hear(0, 0), "all 15");
        assert_eq!(centre.hear(0, 0), "all 0");
        assert_eq!(centre.hear(6, 0), "elected by 0");
        assert_eq!(centre.open(), "all 30");
    }
}
