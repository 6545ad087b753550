//! Both rings, played message by message as on the slides.

use hustings_theory::rings::Failure;

/// The effect of starting an election on a member's participation.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    Participates,
    Literal,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Played {
    pub(crate) election: u64,
    /// Messages `elected` or `coordinator`.
    pub(crate) result: u64,
    pub(crate) delay: u64,
}

/// Chang and Roberts as on the slide: unit delays, priorities by position, initiators as bits.
pub(crate) fn play_chang_roberts(priorities: &[usize], initiators: u32, start: Start) -> Played {
    #[derive(Clone, Copy)]
    enum Message {
        Election(usize),
        Elected(usize),
    }
    let n = priorities.len();
    let mut participant = vec![false; n];
    let mut leader = vec![None; n];
    let mut under_way = Vec::new(); // (sender, message)
    for member in (0..n).filter(|member| initiators >> member & 1 == 1) {
        participant[member] = matches!(start, Start::Participates);
        under_way.push((member, Message::Election(priorities[member])));
    }
    let mut played = Played::default();
    let mut now = 0;
    while !under_way.is_empty() {
        now += 1;
        for (sender, message) in std::mem::take(&mut under_way) {
            let me = (sender + 1) % n;
            match message {
                Message::Election(id) => {
                    played.election += 1;
                    if id == priorities[me] {
                        participant[me] = false;
                        if leader[me].replace(id).is_none() {
                            played.delay = now;
                        }
                        under_way.push((me, Message::Elected(id)));
                    } else if id > priorities[me] {
                        participant[me] = true;
                        under_way.push((me, message));
                    } else if !participant[me] {
                        participant[me] = true;
                        under_way.push((me, Message::Election(priorities[me])));
                    }
                }
                Message::Elected(id) => {
                    played.result += 1;
                    if id != priorities[me] {
                        participant[me] = false;
                        if leader[me].replace(id).is_none() {
                            played.delay = now;
                        }
                        under_way.push((me, message));
                    }
                }
            }
        }
    }
    assert!(leader.iter().all(|leader| *leader == Some(n - 1)));
    played
}

/// The modified ring as on the slide, with a member that dies right after sending a message of one
/// kind, if any.
pub(crate) fn play_modified_ring(
    priorities: &[usize],
    initiators: u32,
    failure: Option<Failure>,
) -> Played {
    enum Message {
        Election,
        Coordinator(usize),
    }
    let n = priorities.len();
    let position =
        |priority| priorities.iter().position(|m| *m == priority).expect("a merit of the ring");
    let first_initiator = initiators.trailing_zeros() as usize;
    let mut dead = vec![false; n];
    let mut stands = vec![false; n];
    let mut under_way = Vec::new(); // (sender, message, initiator, list)
    for member in (0..n).filter(|member| initiators >> member & 1 == 1) {
        stands[member] = true;
        under_way.push((member, Message::Election, member, vec![priorities[member]]));
    }
    let mut played = Played::default();
    let mut now = 0;
    while !under_way.is_empty() {
        now += 1;
        for (sender, message, initiator, mut list) in std::mem::take(&mut under_way) {
            match (failure, &message) {
                (Some(Failure::BestAfterSigning), Message::Election)
                    if priorities[sender] == n - 1 =>
                {
                    dead[sender] = true;
                }
                (Some(Failure::InitiatorAfterElection), Message::Election)
                | (Some(Failure::InitiatorAfterCoordinator), Message::Coordinator(_))
                    if sender == first_initiator =>
                {
                    dead[sender] = true;
                }
                _ => {}
            }
            let me = (1..=n)
                .map(|hop| (sender + hop) % n)
                .find(|to| !dead[*to])
                .expect("one dies at most");
            let (signed, mine) = (list.contains(&priorities[me]), initiator == me);
            let mut anew = false;
            match message {
                Message::Election => {
                    played.election += 1;
                    if mine {
                        let best = *list.iter().max().expect("the initiator signed");
                        under_way.push((me, Message::Coordinator(best), me, vec![priorities[me]]));
                    } else if signed {
                        anew = true;
                    } else if !stands[me] || priorities[initiator] > priorities[me] {
                        list.push(priorities[me]);
                        under_way.push((me, Message::Election, initiator, list));
                    }
                }
                Message::Coordinator(best) => {
                    played.result += 1;
                    if mine && signed && list.contains(&best) {
                        assert!(!dead[position(best)] && (failure.is_some() || best == n - 1));
                        played.delay = now;
                    } else if signed {
                        anew = true;
                    } else {
                        list.push(priorities[me]);
                        under_way.push((me, Message::Coordinator(best), initiator, list));
                    }
                }
            }
            if anew {
                stands[me] = true;
                under_way.push((me, Message::Election, me, vec![priorities[me]]));
            }
        }
    }
    played
}
