//! Arrival of multicasts: delivers a multicast to every receiver, without a copy in flight for
//! each.

use hustings_protocol::{Candidate, Simulated};

use crate::in_flight::Flight;
use crate::interest::Interest;
use crate::network::Wire;
use crate::{LossModel, Trace, World};

/// The receivers that lose a multicast, ascending.
struct Losers {
    /// The next receiver that loses it; `end` if there is none.
    next: u32,
    end: u32,
    /// The number of receivers before `next` that lost it.
    count: u32,
}

impl Losers {
    /// Creates the losers among `end` receivers; there are none unless `lossy`.
    fn among(end: u32, lossy: bool, wire: &mut Wire) -> Self {
        let next = if lossy { wire.receivers_before_loss(end) } else { end };
        let count = 0;
        Self { next, end, count }
    }

    /// True if `receiver` loses the multicast. Each call must ask for a greater receiver than the
    /// last.
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

impl<P: Simulated, T: Trace<P>> World<P, T> {
    /// Delivers a multicast to every member that it reaches.
    pub(crate) fn fan_out(&mut self, flight: Flight<P::Message>) {
        self.state.in_flight.multicasts -= 1;
        let lossy = self.state.network.multicast_loss > 0.0
            && self.state.network.loss_model == LossModel::Uncorrelated;
        match P::weight(&flight.message) {
            Some(weight) if P::SELECTIVE && self.state.skips_ignored_messages => {
                self.fan_out_to_interested(flight, weight, lossy);
            }
            // A trace records every delivery.
            Some(_) | None if T::ON || !self.may_repeat(&flight.message) => {
                self.fan_out_to_all(flight, lossy);
            }
            Some(_) | None => self.fan_out_to_new_receivers(flight, lossy),
        }
    }

    /// True if a repetition of `message` changes nothing.
    fn may_repeat(&self, message: &P::Message) -> bool {
        P::is_duplicate_of(message, message, &self.state.config)
    }

    /// Delivers to the members that have not seen the same content before. If dozens of members
    /// send the same to a million, nearly all have seen it. So only the others, and the sender, are
    /// examined one by one.
    fn fan_out_to_new_receivers(&mut self, flight: Flight<P::Message>, lossy: bool) {
        let Flight { from, message, .. } = flight;
        let count = self.members.len() as u32;
        let config = &self.state.config;
        let is_duplicate = |earlier: &P::Message| P::is_duplicate_of(&message, earlier, config);
        let mut heard = self.state.seen.take(count as usize, is_duplicate);
        let mut losers = Losers::among(count, lossy, &mut self.state.wire);
        let mut looked_at = 0;
        let mut lost = 0;
        for first in (0..count).step_by(u64::BITS as usize) {
            let mut places = heard.lacks(first, count);
            if first <= from && from - first < u64::BITS {
                places |= 1 << (from - first);
            }
            while places != 0 {
                let to = first + places.trailing_zeros();
                places &= places - 1;
                looked_at += 1;
                if losers.has(to, &mut self.state.wire) {
                    lost += 1;
                } else if to != from {
                    if self.state.people.hears(to, from) {
                        heard.enter(to);
                    }
                    let message = message.clone();
                    self.deliver(Flight { to, from, message });
                }
            }
        }
        losers.has(count, &mut self.state.wire);
        let lost_by_others = losers.count - lost;
        self.state.tally.delivered += u64::from(count - looked_at - lost_by_others);
        self.state.seen.keep(message, heard);
    }

    /// Delivers to the members whose state the message can change. The loss of the other copies has
    /// no observable effect.
    fn fan_out_to_interested(
        &mut self,
        flight: Flight<P::Message>,
        weight: Candidate,
        lossy: bool,
    ) {
        let Flight { from, message, .. } = flight;
        let filed = self.state.interest.take();
        let mut interest = filed.unwrap_or_else(|| {
            Interest::of(self.members.len() as u32, |member| self.ignored_by(member))
        });
        let mut picked = interest.pick(weight, |member| self.ignored_by(member));
        picked.retain(|&to| {
            if to != from && self.ignored_by(to) < Some(weight) {
                if lossy && self.state.wire.loses_multicast() {
                    self.state.record_lost(from, Some(to));
                } else {
                    let message = message.clone();
                    self.deliver(Flight { to, from, message });
                }
            }
            interest.follows(to, self.ignored_by(to), weight)
        });
        interest.file_followers(weight, picked);
        self.state.interest = Some(interest);
    }

    fn ignored_by(&self, member: u32) -> Option<Candidate> {
        let me = self.state.people.candidate(member);
        self.members[member as usize].ignores_up_to(me, &self.state.config)
    }

    /// Delivers to every member whose copy is not lost.
    fn fan_out_to_all(&mut self, flight: Flight<P::Message>, lossy: bool) {
        let Flight { from, message, .. } = flight;
        let end = self.members.len() as u32;
        let mut next = 0;
        while next < end {
            let lucky =
                if lossy { next + self.state.wire.receivers_before_loss(end - next) } else { end };
            for to in (next..lucky).filter(|&to| to != from) {
                let message = message.clone();
                self.deliver(Flight { to, from, message });
            }
            if lucky < end && lucky != from {
                self.state.record_lost(from, Some(lucky));
            }
            next = lucky + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::probabilistic::{Config, Probabilistic, Recall};
    use hustings_protocol::{Duration, Instant, Priority};

    use crate::{
        Delay, Detection, JsonLines, Network, Seeds, Setup, Silent, Tally, Trace, Verb, Who, World,
    };

    /// An election in which the number of members is no multiple of 64, some members crash, and
    /// several send the same content.
    fn election<T: Trace<Probabilistic>>(
        seed: u64,
        loss: f64,
        trace: T,
    ) -> (Tally, Vec<Probabilistic>) {
        let members: u32 = 150;
        let hop = Duration::from_millis(100);
        let setup = Setup {
            priorities: vec![Priority(0); members as usize],
            network: Network {
                unicast_loss: loss,
                multicast_loss: loss,
                ..Network::perfect(Delay::Constant(hop))
            },
            detection: Detection::Never,
            view: 0.5,
        };
        let config =
            Config { key: seed, recall: Recall::All, ..Config::paper(members.into(), hop) };
        let make = |_| Probabilistic::default();
        let mut world = World::traced(setup, config, Seeds::new(seed, 0), trace, make);
        for member in [3, 63, 64, 149] {
            let at = Instant::START + hop * u64::from(member / 5);
            world.schedule(at, Verb::Kill(Who::one(member)));
        }
        world.start(seed as u32 % members);
        world.run_until(Instant::START + Duration::from_secs(1_000));
        (*world.tally(), world.members().to_vec())
    }

    /// A traced run delivers every message, an untraced one only messages that the receiver has not
    /// seen.
    #[test]
    fn skipped_duplicates_change_nothing_but_are_counted() {
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
