//! One election of the announce family, event by event, and its random numbers.

use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant};

/// Splitmix64.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// Uniform on `[0, 1)`.
    pub(crate) fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) last_send: f64,
    pub(crate) last_send_of_first_round: f64,
    pub(crate) first_round_messages: f64,
    pub(crate) messages_until_heard: f64,
    pub(crate) messages_until_sent: f64,
}

struct Sent {
    at: f64,
    from: usize,
    lost: Vec<bool>,
}

/// Plays until all have heard the leader and all have been awake.
pub(crate) fn play(algorithm: Variant, model: &AnnounceModel, chance: &mut Chance) -> Outcome {
    let members = model.members as usize;
    let wake_ups = wake_ups(algorithm, model, chance);
    let mut next: Vec<Option<f64>> = wake_ups.iter().copied().map(Some).collect();
    let mut sent: Vec<Sent> = Vec::new();
    let mut last_to_hear: Option<f64> = None;
    let mut outcome = Outcome::default();
    while let Some((now, from)) = earliest(&next) {
        let over = last_to_hear.is_some_and(|at| now > at + model.delay);
        if over && now > model.suppress_interval {
            break;
        }
        let heard = |message: &&Sent| message.at + model.delay < now && !message.lost[from];
        if sent.iter().filter(heard).any(|m| yields(algorithm, from, m.from)) {
            next[from] = None;
            continue;
        }
        if now == wake_ups[from] {
            outcome.first_round_messages += 1.0;
            outcome.last_send_of_first_round = now;
        }
        outcome.messages_until_heard += f64::from(u8::from(!over));
        sent.push(Sent { at: now, from, lost: losses(model.loss, members, chance) });
        if last_to_hear.is_none() && from == 0 && all_heard_leader(&sent, members) {
            last_to_hear = Some(now);
            outcome.messages_until_sent = outcome.messages_until_heard;
        }
        next[from] = (algorithm != Variant::Sup).then_some(now + model.announce_interval);
    }
    outcome.last_send = match algorithm {
        Variant::Sup => outcome.last_send_of_first_round,
        _ => last_to_hear.expect("announced until all had heard"),
    };
    if algorithm == Variant::Sup {
        outcome.messages_until_heard = outcome.first_round_messages;
    }
    outcome
}

/// The wake-up times by rank, the best first.
fn wake_ups(algorithm: Variant, model: &AnnounceModel, chance: &mut Chance) -> Vec<f64> {
    let mut times: Vec<f64> = (0..model.members)
        .map(|_| model.suppress_interval * model.wake.quantile(chance.draw()))
        .collect();
    match algorithm {
        Variant::LeA | Variant::Al => times.fill(0.0),
        Variant::LeM => times.sort_by(f64::total_cmp),
        Variant::LeS | Variant::Sup => {}
    }
    times
}

fn earliest(next: &[Option<f64>]) -> Option<(f64, usize)> {
    let due = next.iter().enumerate().filter_map(|(i, at)| at.map(|at| (at, i)));
    due.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn yields(algorithm: Variant, process: usize, to: usize) -> bool {
    match algorithm {
        Variant::LeA | Variant::LeS | Variant::LeM => to < process,
        Variant::Sup => true,
        Variant::Al => false,
    }
}

fn losses(loss: MulticastLoss, members: usize, chance: &mut Chance) -> Vec<bool> {
    match loss {
        MulticastLoss::None => vec![false; members],
        MulticastLoss::Correlated(loss) => vec![chance.draw() < loss; members],
        MulticastLoss::Uncorrelated(loss) => (0..members).map(|_| chance.draw() < loss).collect(),
    }
}

fn all_heard_leader(sent: &[Sent], members: usize) -> bool {
    let heard = |process: usize| sent.iter().any(|m| m.from == 0 && !m.lost[process]);
    (1..members).all(heard)
}
