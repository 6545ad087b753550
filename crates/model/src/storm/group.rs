//! The members of a storm and their configuration.

use hustings_protocol::tenure::Config;
use hustings_protocol::{Duration, MemberId};

use super::chance::Chance;
use super::clock::{Clock, MILLION, Micros};
use super::fault::Profile;

/// The time for which nominees wait for answers, in every storm. All other times are relative to
/// it.
pub(super) const ANSWER_WITHIN: Micros = 100_000;
/// The units of clocks: microseconds, milliseconds, or tenths of a second. With the last, two
/// correct clocks still differ by a considerable part of a ttl.
const UNITS: [Micros; 3] = [1, 1_000, ANSWER_WITHIN];
/// The drift of clocks in parts per million: none, as in the field, and large enough to matter.
const DRIFTS: [u32; 6] = [0, 200, 10_000, 100_000, 100_000, 200_000];
/// The longest ttl that a voter may be configured to grant, as a multiple of the least ttl that
/// works.
const MOST_TTLS: u64 = 4;
/// The maximum difference between clocks when a storm begins.
const APART: Micros = 1_000_000_000;

/// The group. Voters come first; the first few of them may be nominees too; all others are
/// nominees.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) voters: usize,
    pub(super) standing_voters: usize,
    pub(super) members: usize,
    pub(super) drift_ppm: u32,
    unit: Micros,
    /// The least ttl that a configuration may have, in units.
    least_ttl: u64,
    back_off: u64,
    rates: Rates,
}

/// The choice of clock rates.
#[derive(Debug, Clone, Copy)]
enum Rates {
    /// Any rate within the bound.
    Any,
    /// One end of the bound or the other.
    Extreme,
    /// Voters' clocks as fast, other nominees' clocks as slow as the bound allows: the worst case.
    Against,
}

impl Group {
    pub(super) fn draw(profile: Profile, chance: &mut Chance) -> Self {
        let (voters, nominees, standing_voters) = match profile {
            Profile::Any => {
                let voters = chance.choose(&[1, 3, 3, 3, 5]);
                let nominees = chance.between(2, 6);
                (voters, nominees, chance.between(0, nominees.min(voters)))
            }
            Profile::LostDisks => (3, chance.between(2, 3), 0),
        };
        let drift_ppm = chance.choose(&DRIFTS);
        let unit = chance.choose(&UNITS);
        let answer_within = ANSWER_WITHIN / unit;
        let drift = u64::from(drift_ppm);
        // One more than the quotient: rounded up.
        let least_ttl = 3 * answer_within * (MILLION + drift) / (MILLION - drift) + 1;
        Self {
            voters: voters as usize,
            standing_voters: standing_voters as usize,
            members: (voters + nominees - standing_voters) as usize,
            drift_ppm,
            unit,
            least_ttl,
            back_off: chance.choose(&[answer_within / 10, answer_within / 2, answer_within]),
            rates: chance.choose(&[Rates::Any, Rates::Extreme, Rates::Against]),
        }
    }

    pub(super) fn votes(&self, who: usize) -> bool {
        who < self.voters
    }

    pub(super) fn stands(&self, who: usize) -> bool {
        who < self.standing_voters || !self.votes(who)
    }

    pub(super) fn majority(&self) -> usize {
        self.voters / 2 + 1
    }

    /// A nominee.
    pub(super) fn nominee(&self, number: u64) -> usize {
        let others = self.members - self.voters;
        let rank = (number % (self.standing_voters + others) as u64) as usize;
        if rank < self.standing_voters { rank } else { self.voters + rank - self.standing_voters }
    }

    /// The longest ttl that any voter can ever have been configured to grant.
    pub(super) fn most_ttl(&self) -> Duration {
        Duration(self.least_ttl * MOST_TTLS)
    }

    /// As `most_ttl`, in real time.
    pub(super) fn longest(&self) -> Micros {
        self.most_ttl().0 * self.unit
    }

    pub(super) fn config(&self, chance: &mut Chance) -> Config {
        let (ttl, max_ttl) = self.ttls(chance.number());
        Config {
            voters: (0..self.voters as u64).map(MemberId).collect(),
            ttl,
            max_ttl,
            drift_ppm: self.drift_ppm,
            answer_within: Duration(ANSWER_WITHIN / self.unit),
            back_off: Duration(self.back_off.max(1)),
        }
    }

    /// A ttl and a `max_ttl` for one member. Members are configured individually, so some ask for
    /// more than others grant.
    pub(super) fn ttls(&self, number: u64) -> (Duration, Duration) {
        let part = |bits: u64, span: u64| ((bits & 0xffff) * span) >> 16;
        let longest = self.least_ttl * (MOST_TTLS - 1);
        let ttl = self.least_ttl + part(number, longest - self.least_ttl);
        // More often than not every request is granted.
        let max_ttl = match number >> 16 & 3 {
            0 => ttl,
            1 => longest,
            _ => longest + part(number >> 18, self.most_ttl().0 - longest + 1),
        };
        (Duration(ttl), Duration(max_ttl))
    }

    /// A rate of the clock of a member.
    pub(super) fn rate_ppm(&self, who: usize, number: u64) -> u64 {
        let drift = u64::from(self.drift_ppm);
        let (slowest, fastest) = (MILLION - drift, MILLION + drift);
        match (self.rates, number & 1 == 0, self.votes(who)) {
            (Rates::Any, _, _) => slowest + (number >> 1) % (2 * drift + 1),
            (Rates::Extreme, true, _) | (Rates::Against, _, true) => fastest,
            (Rates::Extreme, false, _) | (Rates::Against, _, false) => slowest,
        }
    }

    pub(super) fn clock(&self, who: usize, chance: &mut Chance) -> Clock {
        let mut clock = Clock::new(self.unit, chance.choose(&[0, 1]) * chance.below(APART));
        clock.change_rate(0, self.rate_ppm(who, chance.number()));
        clock
    }
}

#[cfg(test)]
mod tests {
    use super::Group;
    use crate::storm::chance::{Chance, Stream};
    use crate::storm::fault::Profile;

    #[test]
    fn every_drawn_configuration_is_valid() {
        for seed in 0..500 {
            let chance = &mut Chance::new(seed, Stream::Group);
            let group = Group::draw(Profile::Any, chance);
            for _ in 0..20 {
                let config = group.config(chance);
                assert_eq!(config.check(), Ok(()), "{config:?}");
                assert!(config.max_ttl <= group.most_ttl(), "{config:?}");
            }
        }
    }

    #[test]
    fn numbers_cover_exactly_the_nominees() {
        for seed in 0..100 {
            let group = Group::draw(Profile::of(seed), &mut Chance::new(seed, Stream::Group));
            let mut named: Vec<usize> = (0..12).map(|number| group.nominee(number)).collect();
            named.sort_unstable();
            named.dedup();
            let standing = (0..group.members).filter(|who| group.stands(*who));
            assert!(named.into_iter().eq(standing), "{group:?}");
        }
    }

    #[test]
    fn clock_rates_stay_within_the_drift() {
        for seed in 0..100 {
            let chance = &mut Chance::new(seed, Stream::Group);
            let group = Group::draw(Profile::Any, chance);
            for who in 0..group.members {
                let off = group.rate_ppm(who, chance.number()).abs_diff(1_000_000);
                assert!(off <= u64::from(group.drift_ppm), "{group:?}");
            }
        }
    }
}
