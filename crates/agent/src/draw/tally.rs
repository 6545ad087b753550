//! What the members of a sitting have signed that they came to, as far as one of them has heard.

use super::said::{Statement, Verdict};

/// What is kept of each member beside what agrees with this one: an honest member has two things to say, whom it saw elected and a
/// fault that it was told of later. Two are enough to show that it said two.
const MOST_OTHERS: usize = 2;

/// Everybody's statements.
pub(super) struct Tally {
    place: usize,
    /// By place, one of each verdict.
    kept: Vec<Vec<Statement>>,
    /// Whether somebody said more than is kept. Before this member has come to something, what agrees with it may be among it.
    pub(super) has_dropped: bool,
}

impl Tally {
    /// Of the member at `place`, of so many.
    pub(super) fn new(place: u32, members: usize) -> Self {
        Self {
            place: place as usize,
            kept: vec![Vec::new(); members],
            has_dropped: false,
        }
    }

    /// The most that a neighbour has to say which passes on what it keeps, and once more what agrees with it.
    pub(super) fn most_from_one_side(&self) -> usize {
        self.kept.len() * (MOST_OTHERS + 2)
    }

    /// Whether the member at `place` is known to have said so.
    pub(super) fn knows(&self, place: u32, verdict: Verdict) -> bool {
        let said = self.kept.get(place as usize);
        said.is_some_and(|it| it.iter().any(|one| one.verdict == verdict))
    }

    /// Whether a statement that counts is new, and to be kept and passed on.
    pub(super) fn wants(&mut self, statement: &Statement) -> bool {
        if self.knows(statement.place, statement.verdict) {
            return false;
        }
        let agrees = self.own() == Some(statement.verdict);
        let is_too_much = !agrees && self.kept[statement.place as usize].len() >= MOST_OTHERS;
        self.has_dropped |= is_too_much;
        !is_too_much
    }

    /// Keeps a statement that is wanted.
    pub(super) fn keep(&mut self, statement: &Statement) {
        self.kept[statement.place as usize].push(statement.clone()); // it counts: so it is on the ring
    }

    /// What this member has come to first.
    pub(super) fn own(&self) -> Option<Verdict> {
        self.kept[self.place].first().map(|it| it.verdict)
    }

    /// Those of all members that agree with what this one has come to first.
    pub(super) fn agreeing(&self) -> impl Iterator<Item = &Statement> {
        let own = self.own();
        let all = self.kept.iter().flatten();
        all.filter(move |it| Some(it.verdict) == own)
    }

    /// The place of who is elected, if all members have signed it. A fault that somebody reports after that changes nothing:
    /// all have seen the same.
    pub(super) fn certified(&self) -> Option<u32> {
        let Some(Verdict::Elected { leader, .. }) = self.own() else {
            return None;
        };
        (self.agreeing().count() == self.kept.len()).then_some(leader)
    }

    /// Those who have not signed what this member has come to first.
    pub(super) fn lacking(&self) -> impl Iterator<Item = u32> {
        let own = self.own();
        let lacks = move |place: &u32| own.is_none_or(|own| !self.knows(*place, own));
        (0..self.kept.len() as u32).filter(lacks)
    }

    pub(super) fn all_have_spoken(&self) -> bool {
        self.kept.iter().all(|it| !it.is_empty())
    }

    /// What others have said.
    pub(super) fn of_others(&self) -> impl Iterator<Item = &Statement> {
        let own = self.place;
        let all = self.kept.iter().flatten();
        all.filter(move |it| it.place as usize != own)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use crate::draw::bytes::Bytes;
    use crate::draw::said::{Conclusion, Signed, Statement, Verdict};

    fn elected(place: u32, leader: u32, messages: u64) -> Statement {
        Signed {
            content: Conclusion {
                place,
                entry: 9,
                head: Bytes([0; 32]),
                verdict: Verdict::Elected { leader, messages },
            },
            signature: Bytes([0; 64]),
        }
    }

    fn take(tally: &mut Tally, statement: &Statement) -> bool {
        let is_new = tally.wants(statement);
        if is_new {
            tally.keep(statement);
        }
        is_new
    }

    #[test]
    fn what_agrees_is_kept_whatever_else_somebody_says() {
        let mut tally = Tally::new(0, 3);
        assert!(take(&mut tally, &elected(0, 1, 8)));
        assert!(take(&mut tally, &elected(1, 1, 8)));
        for messages in 0..2 {
            assert!(
                take(&mut tally, &elected(2, 2, messages)),
                "evidence against it"
            );
        }
        for messages in 2..100 {
            assert!(
                !take(&mut tally, &elected(2, 2, messages)),
                "there is enough"
            );
        }
        assert_eq!(tally.certified(), None);
        assert_eq!(tally.lacking().collect::<Vec<_>>(), [2]);
        assert!(take(&mut tally, &elected(2, 1, 8)));
        assert!(!take(&mut tally, &elected(2, 1, 8)), "it is known");
        assert_eq!(tally.certified(), Some(1));
    }

    #[test]
    fn who_has_come_to_nothing_yet_knows_that_it_dropped_something() {
        let mut tally = Tally::new(0, 2);
        for messages in 0..3 {
            take(&mut tally, &elected(1, 1, messages));
        }
        assert!(tally.has_dropped);
    }
}
