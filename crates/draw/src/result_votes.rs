//! Signed conclusions of all members of a session, as far as one member has received them.

use super::signed::{Statement, Verdict};

/// The number of statements kept for each member in addition to the one that agrees with ours. An
/// honest member makes at most two: the leader it saw elected, and a fault that a neighbour
/// reported later. Two are enough to prove that a member contradicted itself.
const MOST_OTHERS: usize = 2;

/// The statements of all members.
pub(super) struct ResultVotes {
    place: usize,
    /// Statements by place, at most one for each verdict.
    kept: Vec<Vec<Statement>>,
    /// True if a member made more statements than are kept. Before this member has its own verdict,
    /// a dropped statement may be one that agrees with it.
    pub(super) has_dropped: bool,
}

impl ResultVotes {
    /// Creates an empty set for the member at `place` of a ring of `members`.
    pub(super) fn new(place: u32, members: usize) -> Self {
        Self { place: place as usize, kept: vec![Vec::new(); members], has_dropped: false }
    }

    /// The largest number of statements that an honest neighbour sends: all statements it keeps,
    /// and once more those that agree with its own verdict.
    pub(super) fn most_from_one_side(&self) -> usize {
        self.kept.len() * (MOST_OTHERS + 2)
    }

    /// True if a statement with this verdict by the member at `place` is kept.
    pub(super) fn knows(&self, place: u32, verdict: Verdict) -> bool {
        let signed = self.kept.get(place as usize);
        signed.is_some_and(|it| it.iter().any(|one| one.verdict == verdict))
    }

    /// True if a valid statement is new and should be kept and forwarded.
    pub(super) fn wants(&mut self, statement: &Statement) -> bool {
        if self.knows(statement.place, statement.verdict) {
            return false;
        }
        let agrees = self.own() == Some(statement.verdict);
        let is_too_much = !agrees && self.kept[statement.place as usize].len() >= MOST_OTHERS;
        self.has_dropped |= is_too_much;
        !is_too_much
    }

    /// Keeps a statement that [`Self::wants`] accepted.
    pub(super) fn keep(&mut self, statement: &Statement) {
        // a valid statement names a place on the ring
        self.kept[statement.place as usize].push(statement.clone());
    }

    /// This member's first verdict.
    pub(super) fn own(&self) -> Option<Verdict> {
        self.kept[self.place].first().map(|it| it.verdict)
    }

    /// The statements of all members that agree with this member's first verdict.
    pub(super) fn agreeing(&self) -> impl Iterator<Item = &Statement> {
        let own = self.own();
        let all = self.kept.iter().flatten();
        all.filter(move |it| Some(it.verdict) == own)
    }

    /// The place of the elected leader, if all members have signed it. A fault reported after that
    /// changes nothing, because all members have seen the same result.
    pub(super) fn certified(&self) -> Option<u32> {
        let Some(Verdict::Elected { leader, .. }) = self.own() else {
            return None;
        };
        (self.agreeing().count() == self.kept.len()).then_some(leader)
    }

    /// The places of members that have not signed this member's first verdict.
    pub(super) fn lacking(&self) -> impl Iterator<Item = u32> {
        let own = self.own();
        let lacks = move |place: &u32| own.is_none_or(|own| !self.knows(*place, own));
        (0..self.kept.len() as u32).filter(lacks)
    }

    pub(super) fn all_have_spoken(&self) -> bool {
        self.kept.iter().all(|it| !it.is_empty())
    }

    /// The statements of all other members.
    pub(super) fn of_others(&self) -> impl Iterator<Item = &Statement> {
        let own = self.place;
        let all = self.kept.iter().flatten();
        all.filter(move |it| it.place as usize != own)
    }
}

#[cfg(test)]
mod tests {
    use super::ResultVotes;
    use crate::bytes::Bytes;
    use crate::signed::{Conclusion, Signed, Statement, Verdict};

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

    fn take(result_votes: &mut ResultVotes, statement: &Statement) -> bool {
        let is_new = result_votes.wants(statement);
        if is_new {
            result_votes.keep(statement);
        }
        is_new
    }

    #[test]
    fn agreeing_statement_is_kept_after_contradicting_ones() {
        let mut result_votes = ResultVotes::new(0, 3);
        assert!(take(&mut result_votes, &elected(0, 1, 8)));
        assert!(take(&mut result_votes, &elected(1, 1, 8)));
        for messages in 0..2 {
            assert!(take(&mut result_votes, &elected(2, 2, messages)), "evidence against it");
        }
        for messages in 2..100 {
            assert!(!take(&mut result_votes, &elected(2, 2, messages)), "there is enough");
        }
        assert_eq!(result_votes.certified(), None);
        assert_eq!(result_votes.lacking().collect::<Vec<_>>(), [2]);
        assert!(take(&mut result_votes, &elected(2, 1, 8)));
        assert!(!take(&mut result_votes, &elected(2, 1, 8)), "it is known");
        assert_eq!(result_votes.certified(), Some(1));
    }

    #[test]
    fn dropped_statements_are_noted_before_own_verdict() {
        let mut result_votes = ResultVotes::new(0, 2);
        for messages in 0..3 {
            take(&mut result_votes, &elected(1, 1, messages));
        }
        assert!(result_votes.has_dropped);
    }
}
