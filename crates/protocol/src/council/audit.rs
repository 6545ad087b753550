//! Whether a draw with public coins was held as it should have been.
//!
//! Whoever has kept the feedback messages of a session, which all can hear, and the centre's list of who replied can tell who had
//! to reply in each round: a centre that lets somebody in who drew a no, or has left out somebody time after time, is found out.

use super::call::Call;
use super::candidacy::Candidacy;
use super::coin::{Draws, Toss};
use super::{Coin, Config, Feedback};
use crate::{Candidate, MemberId};

/// One round as the centre tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// What it said.
    pub feedback: Feedback,
    /// Who replied, and with what draws.
    pub replies: Vec<(MemberId, Draws)>,
}

/// Whose part in an election is not what its coins say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispute {
    /// In which round.
    pub round: u32,
    /// Who.
    pub host: MemberId,
    /// In what way.
    pub cause: Cause,
}

/// What is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It is said to have replied, with draws that it cannot have had.
    Favoured,
    /// It had to reply, and is not on the list. A message that was lost does that too.
    Missing,
}

/// Goes through the rounds of one class and session, from the first on, with all `hosts` of that class that held no seat and
/// heard all. None: the coins are not public, or these are not the rounds of one election, one after the other.
pub fn audit(config: &Config, rounds: &[Round], hosts: &[Candidate]) -> Option<Vec<Dispute>> {
    let Coin::Public { seed } = config.coin else {
        return None;
    };
    let follows = |pair: &[Round]| {
        let (one, next) = (&pair[0].feedback, &pair[1].feedback);
        (one.session, one.class, one.round.checked_add(1))
            == (next.session, next.class, Some(next.round))
    };
    if !rounds.windows(2).all(follows) {
        return None;
    }
    let mut candidacies = vec![Candidacy::default(); hosts.len()];
    let mut disputes = Vec::new();
    for Round { feedback, replies } in rounds {
        let call = Call::of(feedback, config)?;
        let toss = Toss::new(seed, feedback);
        let mut said: Vec<(MemberId, Draws)> = replies.clone();
        said.sort_unstable_by_key(|(host, _)| *host);
        let mut dispute = |host, cause| {
            disputes.push(Dispute {
                round: feedback.round,
                host,
                cause,
            });
        };
        for (candidacy, host) in candidacies.iter_mut().zip(hosts) {
            let due = draws_due(candidacy, *host, (feedback, &call, toss), config);
            let place = said.binary_search_by_key(&host.id, |(id, _)| *id);
            match place {
                Ok(place) if said.remove(place).1 != due => dispute(host.id, Cause::Favoured),
                Err(_) if due.any() => dispute(host.id, Cause::Missing),
                Ok(_) | Err(_) => {}
            }
        }
        // Replies of those who are no hosts.
        said.iter()
            .for_each(|(host, _)| dispute(*host, Cause::Favoured));
    }
    Some(disputes)
}

/// What a host draws.
fn draws_due(
    candidacy: &mut Candidacy,
    host: Candidate,
    (feedback, call, toss): (&Feedback, &Call, Toss),
    config: &Config,
) -> Draws {
    let rounds = (feedback.round, feedback.base);
    let number = call.number(candidacy, feedback.round, config.steps());
    if !call.admits(host, feedback.floor, 0) {
        candidacy.sit_out(feedback.round);
        return Draws(0);
    }
    if !candidacy.recall(config.algorithm, rounds, call.content) {
        return Draws(0);
    }
    let draws = config.algorithm.draws();
    let draws = Draws::new(draws, call.chance(number), |draw| {
        toss.number(host.id, draw)
    });
    candidacy.draw(config.algorithm, draws);
    draws
}
