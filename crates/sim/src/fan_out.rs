//! What is said to all, on arrival: handed to each whom it reaches, without a copy in flight for each.

use hustings_protocol::{Candidate, Message, Protocol};

use crate::attention::Attention;
use crate::network::Wire;
use crate::post::Flight;
use crate::{LossModel, Trace, World};

/// Who loses a message to all, by their places, ascending.
struct Losers {
    /// The next that does; `end`, if none.
    next: u32,
    end: u32,
    /// How many did before.
    count: u32,
}

impl Losers {
    /// Of so many; nobody, if it is not `lossy`.
    fn among(end: u32, lossy: bool, wire: &mut Wire) -> Self {
        let next = match lossy {
            true => wire.receivers_before_loss(end),
            false => end,
        };
        let count = 0;
        Self { next, end, count }
    }

    /// Whether `receiver`, which is beyond all that were asked about before, is one of them.
    #[inline(always)]
    fn has(&mut self, receiver: u32, wire: &mut Wire) -> bool {
        while self.next < receiver {
            self.count += 1;
            let after = self.next + 1;
            self.next = after + wire.receivers_before_loss(self.end - after);
        }
        self.next == receiver
    }
}

impl<P: Protocol, T: Trace<P>> World<P, T> {
    /// Hands a multicast to every member it reaches.
    pub(crate) fn fan_out(&mut self, flight: Flight<P::Message>) {
        self.scene.post.multicasts -= 1;
        let lossy = self.scene.network.multicast_loss > 0.0
            && self.scene.network.loss_model == LossModel::Uncorrelated;
        match flight.message.weight() {
            Some(weight) if P::SELECTIVE && self.scene.spares_the_deaf => {
                self.fan_out_to_attentive(flight, weight, lossy);
            }
            // A record is of all that arrives.
            Some(_) | None if T::ON || !self.may_echo(&flight.message) => {
                self.fan_out_to_all(flight, lossy);
            }
            Some(_) | None => self.fan_out_to_unaware(flight, lossy),
        }
    }

    /// Whether it makes no difference if it is said once more.
    fn may_echo(&self, message: &P::Message) -> bool {
        P::echoes(message, message, &self.scene.config)
    }

    /// To those who have not heard the same before. Nearly all have when dozens say it to a million: so only the others, and the
    /// sender, are looked at one by one.
    fn fan_out_to_unaware(&mut self, flight: Flight<P::Message>, lossy: bool) {
        let Flight { from, message, .. } = flight;
        let count = self.members.len() as u32;
        let config = &self.scene.config;
        let is_echo = |earlier: &P::Message| P::echoes(&message, earlier, config);
        let mut heard = self.scene.echoes.take(count as usize, is_echo);
        let mut losers = Losers::among(count, lossy, &mut self.scene.wire);
        let mut looked_at = 0;
        let mut lost = 0;
        for first in (0..count).step_by(u64::BITS as usize) {
            let mut places = heard.unaware(first, count);
            if first <= from && from - first < u64::BITS {
                places |= 1 << (from - first);
            }
            while places != 0 {
                let to = first + places.trailing_zeros();
                places &= places - 1;
                looked_at += 1;
                if losers.has(to, &mut self.scene.wire) {
                    lost += 1;
                } else if to != from {
                    if self.scene.people.hears(to, from) {
                        heard.enter(to);
                    }
                    let message = message.clone();
                    self.deliver(Flight { to, from, message });
                }
            }
        }
        losers.has(count, &mut self.scene.wire);
        let lost_by_others = losers.count - lost;
        self.scene.tally.delivered += u64::from(count - looked_at - lost_by_others);
        self.scene.echoes.keep(message, heard);
    }

    /// To those to whom it makes a difference. What becomes of the other copies nobody can tell.
    fn fan_out_to_attentive(&mut self, flight: Flight<P::Message>, weight: Candidate, lossy: bool) {
        let Flight { from, message, .. } = flight;
        let filed = self.scene.attention.take();
        let mut attention = filed.unwrap_or_else(|| {
            Attention::of(self.members.len() as u32, |member| self.ignored_by(member))
        });
        let mut picked = attention.pick(weight, |member| self.ignored_by(member));
        picked.retain(|&to| {
            if to != from && self.ignored_by(to) < Some(weight) {
                if lossy && self.scene.wire.loses_multicast() {
                    self.scene.record_lost(from, Some(to));
                } else {
                    let message = message.clone();
                    self.deliver(Flight { to, from, message });
                }
            }
            attention.follows(to, self.ignored_by(to), weight)
        });
        attention.file_followers(weight, picked);
        self.scene.attention = Some(attention);
    }

    fn ignored_by(&self, member: u32) -> Option<Candidate> {
        let me = self.scene.people.candidate(member);
        self.members[member as usize].deaf_up_to(me, &self.scene.config)
    }

    /// To each whose copy is not lost on its way.
    fn fan_out_to_all(&mut self, flight: Flight<P::Message>, lossy: bool) {
        let Flight { from, message, .. } = flight;
        let end = self.members.len() as u32;
        let mut next = 0;
        while next < end {
            let lucky = if lossy {
                next + self.scene.wire.receivers_before_loss(end - next)
            } else {
                end
            };
            for to in (next..lucky).filter(|&to| to != from) {
                let message = message.clone();
                self.deliver(Flight { to, from, message });
            }
            if lucky < end && lucky != from {
                self.scene.record_lost(from, Some(lucky));
            }
            next = lucky + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::probabilistic::{Config, Probabilistic, Recall};
    use hustings_protocol::{Duration, Instant, Merit};

    use crate::{
        Delay, Detection, JsonLines, Network, Seeds, Setup, Silent, Tally, Trace, Verb, Who, World,
    };

    /// Members that are no whole number of 64, some of whom crash meanwhile; several say the same.
    fn election<T: Trace<Probabilistic>>(
        seed: u64,
        loss: f64,
        trace: T,
    ) -> (Tally, Vec<Probabilistic>) {
        let members: u32 = 150;
        let hop = Duration::from_millis(100);
        let setup = Setup {
            merits: vec![Merit(0); members as usize],
            network: Network {
                unicast_loss: loss,
                multicast_loss: loss,
                ..Network::perfect(Delay::Constant(hop))
            },
            detection: Detection::Never,
            view: 0.5,
        };
        let config = Config {
            key: seed,
            recall: Recall::All,
            ..Config::document(members.into(), hop)
        };
        let make = |_| Probabilistic::new();
        let mut world = World::traced(setup, config, Seeds::new(seed, 0), trace, make);
        for member in [3, 63, 64, 149] {
            let at = Instant::START + hop * u64::from(member / 5);
            world.schedule(at, Verb::Kill(Who::one(member)));
        }
        world.start(seed as u32 % members);
        world.run_until(Instant::START + Duration::from_secs(1_000));
        (*world.tally(), world.members().to_vec())
    }

    /// Who is recorded is handed all that arrives, who is not only what it has not heard.
    #[test]
    fn what_was_heard_before_makes_no_difference_but_is_counted() {
        for seed in 0..200 {
            for loss in [0.0, 0.1, 0.4] {
                let recorded = election(seed, loss, JsonLines::new(Vec::new()));
                let plain = election(seed, loss, Silent);
                assert_eq!(plain.0, recorded.0, "seed {seed}, loss {loss}");
                assert!(plain.1 == recorded.1, "seed {seed}, loss {loss}: members");
            }
        }
    }
}
