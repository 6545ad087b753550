//! Any input at any time, in any number.

use hustings_protocol::announce::{Config, Criterion, Joining, Listen, Message, Takeover};
use hustings_protocol::{Candidate, Duration, Input, Timer as _, ViewChange};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;

use crate::desk::{announcement, seat};
use crate::group::{ANNOUNCE, field, is_announcement};
use crate::kin::Kin;
use crate::support::{below, choose, happens};
use crate::{Verdict, require};

fn any_number(rng: &mut impl Rng) -> u64 {
    match below(6, rng) {
        0 => 0,
        1 => u64::MAX,
        2 => rng.next_u64(),
        _ => below(5, rng),
    }
}

fn any_message(rng: &mut impl Rng) -> Message {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    match below(8, rng) {
        0 => Message::Query,
        1 => {
            let incarnation = small(any_number(rng));
            Message::Bye { incarnation }
        }
        2 => Message::Complaint {
            about: hustings_protocol::MemberId(any_number(rng)),
            byes: any_number(rng) as u8,
        },
        _ => announcement(
            any_number(rng),
            any_number(rng),
            small(any_number(rng)),
            small(any_number(rng)),
            happens(50, rng),
        ),
    }
}

fn sender(message: &Message, rng: &mut impl Rng) -> u64 {
    match message {
        Message::Announcement { claim, .. } if happens(90, rng) => claim.candidate.id.0,
        _ => any_number(rng),
    }
}

/// No input makes a member panic; before it starts and after it leaves, or once it is refused, it
/// sends nothing.
pub(crate) fn arbitrary_input_does_not_panic<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
    let election_timeout = ANNOUNCE.mul_f64(0.1);
    let config = Config {
        suppress: choose(&[Duration::ZERO, field().suppress], rng),
        takeover: choose(&[Takeover::Never, Takeover::ByTheBetter], rng),
        leaders: choose(&[1, 2, 3], rng),
        listen: choose(&[Listen::Never, field().listen], rng),
        criterion: choose(&[Criterion::Priority, Criterion::EarliestWake], rng),
        joining: choose(
            &[
                Joining::Announce,
                Joining::Query { election_timeout },
                Joining::SuppressThenQuery { election_timeout },
            ],
            rng,
        ),
        ..field()
    };
    let me = Candidate::new(below(5, rng), any_number(rng));
    let saved = choose(&[None, Some(1), Some(u32::MAX)], rng);
    let mut desk = seat::<P>(me, config, saved, seed);
    let mut is_up = false;
    for _ in 0..100 {
        let input = match below(12, rng) {
            0 => Input::Start,
            1 if happens(50, rng) => {
                let id = hustings_protocol::MemberId(any_number(rng));
                Input::ViewChanged(ViewChange::Left(id))
            }
            1 => Input::ViewChanged(ViewChange::Joined(Candidate::new(any_number(rng), 3))),
            2 => Input::Timer(choose(P::Timer::ALL, rng)),
            3 if happens(20, rng) => Input::Leave,
            _ => {
                let message = any_message(rng);
                let from = hustings_protocol::MemberId(sender(&message, rng));
                Input::Message { from, message }
            }
        };
        is_up |= matches!(input, Input::Start);
        let leaves = matches!(input, Input::Leave);
        let said = desk.papers.said.len();
        desk.tell(input);
        desk.wait(ANNOUNCE.mul_f64(below(100, rng) as f64 / 50.0));
        require(is_up || desk.papers.said.len() == said, || {
            "it sends before it starts, or after it left".to_owned()
        })?;
        is_up &= !leaves;
    }
    require(desk.papers.told.is_empty(), || "it sends a unicast".to_owned())
}

/// For any number of corrections, a leader announces itself at most ten times in T_A; for any
/// number of questions, twice in the time for which an asking member waits, a tenth of T_A here.
pub(crate) fn answers_are_limited<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
    let mut desk = seat::<P>(Candidate::new(3, 5), field(), None, seed);
    desk.tell(Input::Start);
    desk.wait(ANNOUNCE * 2);
    let said = desk.papers.said.len();
    let asks = happens(50, rng);
    let inputs = 10_000;
    for _ in 0..inputs {
        match asks {
            true => desk.hear(below(99, rng), Message::Query),
            false => desk.hear(7, announcement(7, 1, 1, 1, false)),
        }
        desk.wait(Duration(ANNOUNCE.0 / inputs));
    }
    let answers = desk.papers.said[said..].iter();
    let answers = answers.filter(|(_, message)| is_announcement(message));
    let count = answers.count();
    let most = if asks { 21 } else { 11 };
    require((5..=most).contains(&count), || format!("{count} announcements in T_A"))
}
