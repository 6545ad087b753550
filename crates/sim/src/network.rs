//! The network's effect on messages: delay, loss, duplication and reordering.

use hustings_protocol::Duration;
use rand_core::Rng;
use rand_distr::{Distribution, Exp, LogNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The distribution of a message's delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// The same delay for every message.
    Constant(Duration),
    /// Uniform between two bounds.
    Uniform {
        /// The lower bound.
        from: Duration,
        /// The upper bound.
        to: Duration,
    },
    /// Exponential, that is memoryless.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Log-normal: most messages near the median, a few very late.
    LogNormal {
        /// The median: half of the messages take less.
        median: Duration,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Delay {
    /// The mean delay.
    pub fn mean(self) -> Duration {
        match self {
            Self::Constant(delay) => delay,
            Self::Uniform { from, to } => Duration((from.0 / 2) + (to.0 / 2)),
            Self::Exponential { mean } => mean,
            Self::LogNormal { median, sigma } => median.mul_f64((sigma * sigma / 2.0).exp()),
        }
    }
}

/// The correlation of multicast losses between receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossModel {
    /// Each receiver loses the multicast independently.
    Uncorrelated,
    /// All receivers lose the multicast, or none.
    Correlated,
}

/// Extra delay: with `probability`, a message takes up to `by` longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reordering {
    /// The probability that a message is held back.
    pub probability: f64,
    /// The maximum extra delay.
    pub by: Duration,
}

/// The network's effect on messages.
///
/// Messages between two members may overtake each other if delays vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// The distribution of delays.
    pub delay: Delay,
    /// The probability that a unicast is lost.
    pub unicast_loss: f64,
    /// The probability that a multicast is lost.
    pub multicast_loss: f64,
    /// The correlation of multicast losses.
    pub loss_model: LossModel,
    /// The probability that a message arrives twice.
    pub duplicate: f64,
    /// The extra delay of some messages.
    pub reordering: Reordering,
}

/// A network with an impossible parameter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// A probability outside its range.
    #[error("{field} {value} is not a probability: choose from 0 to 1")]
    Probability {
        /// The parameter.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// A range of delays that ends before it begins.
    #[error("delay range {from}..{to} is empty: the first must not exceed the second")]
    EmptyRange {
        /// The shortest delay.
        from: Duration,
        /// The longest delay.
        to: Duration,
    },
    /// A standard deviation out of range.
    #[error("log-normal sigma {0} is out of range: choose from 0 to 10")]
    Sigma(f64),
    /// An exponential delay with mean zero.
    #[error("an exponential delay needs a mean above 0")]
    ZeroMean,
}

impl Network {
    /// A network that only delays.
    pub fn perfect(delay: Delay) -> Self {
        Self {
            delay,
            unicast_loss: 0.0,
            multicast_loss: 0.0,
            loss_model: LossModel::Uncorrelated,
            duplicate: 0.0,
            reordering: Reordering { probability: 0.0, by: Duration::ZERO },
        }
    }

    /// A network that delays all messages alike, and loses some.
    pub(crate) fn lossy(delay: Duration, unicast_loss: f64, multicast_loss: f64) -> Self {
        Self { unicast_loss, multicast_loss, ..Self::perfect(Delay::Constant(delay)) }
    }

    /// Returns an error that names the first field out of range.
    ///
    /// # Errors
    /// If a probability is outside \[0, 1\] or the delay is not a distribution.
    pub fn check(&self) -> Result<(), NetworkError> {
        for (field, value) in [
            ("unicast loss", self.unicast_loss),
            ("multicast loss", self.multicast_loss),
            ("duplication", self.duplicate),
            ("reordering", self.reordering.probability),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(NetworkError::Probability { field, value });
            }
        }
        match self.delay {
            Delay::Uniform { from, to } if from > to => Err(NetworkError::EmptyRange { from, to }),
            Delay::Exponential { mean } if mean == Duration::ZERO => Err(NetworkError::ZeroMean),
            Delay::LogNormal { sigma, .. } if !(0.0..=10.0).contains(&sigma) => {
                Err(NetworkError::Sigma(sigma))
            }
            _ => Ok(()),
        }
    }

    /// True if every unicast arrives exactly once, after a delay of the stated distribution.
    pub(crate) fn only_delays(&self) -> bool {
        self.unicast_loss == 0.0 && self.duplicate == 0.0 && self.reordering.probability == 0.0
    }

    /// The delay, if a multicast reaches all its receivers at one time.
    pub(crate) fn common_delay(&self) -> Option<Duration> {
        let is_alike = self.duplicate == 0.0 && self.reordering.probability == 0.0;
        match self.delay {
            Delay::Constant(delay) => is_alike.then_some(delay),
            Delay::Uniform { .. } | Delay::Exponential { .. } | Delay::LogNormal { .. } => None,
        }
    }
}

/// The running network: samplers that share one generator.
#[derive(Debug)]
pub(crate) struct Wire {
    rng: Xoshiro256PlusPlus,
    delay: Sampler,
    unicast_loss: Chance,
    multicast_loss: Chance,
    duplicate: Chance,
    held_back: Chance,
    held_back_by: Duration,
}

#[derive(Debug)]
enum Sampler {
    Constant(Duration),
    Uniform { from: u64, width: u64 },
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
}

impl Wire {
    /// Creates the samplers of `network`, which must have passed [`Network::check`].
    pub(crate) fn new(network: &Network, mut rng: Xoshiro256PlusPlus) -> Self {
        let delay = match network.delay {
            Delay::Constant(delay) => Sampler::Constant(delay),
            Delay::Uniform { from, to } => Sampler::Uniform { from: from.0, width: to.0 - from.0 },
            Delay::Exponential { mean } => Sampler::Exponential(
                Exp::new(1.0 / mean.0 as f64).expect("a checked mean is above zero"),
            ),
            Delay::LogNormal { median, sigma } => Sampler::LogNormal(
                LogNormal::new((median.0 as f64).ln(), sigma).expect("a checked sigma is finite"),
            ),
        };
        let mut chance = |probability| Chance::new(probability, &mut rng);
        Self {
            unicast_loss: chance(network.unicast_loss),
            multicast_loss: chance(network.multicast_loss),
            duplicate: chance(network.duplicate),
            held_back: chance(network.reordering.probability),
            held_back_by: network.reordering.by,
            delay,
            rng,
        }
    }

    /// The delay of the next message if it is not held back.
    #[inline]
    pub(crate) fn plain_delay(&mut self) -> Duration {
        match &self.delay {
            Sampler::Constant(delay) => *delay,
            Sampler::Uniform { from, width } => Duration(from + below(&mut self.rng, *width)),
            Sampler::Exponential(law) => Duration(law.sample(&mut self.rng) as u64),
            Sampler::LogNormal(law) => Duration(law.sample(&mut self.rng) as u64),
        }
    }

    /// The delay of the next message.
    #[inline]
    pub(crate) fn delay(&mut self) -> Duration {
        let delay = self.plain_delay();
        if self.held_back.strikes(&mut self.rng) {
            delay + Duration(below(&mut self.rng, self.held_back_by.0))
        } else {
            delay
        }
    }

    /// True if the next unicast is lost.
    #[inline]
    pub(crate) fn loses_unicast(&mut self) -> bool {
        self.unicast_loss.strikes(&mut self.rng)
    }

    /// True if the next multicast (correlated), or the next receiver's copy of it (uncorrelated),
    /// is lost.
    #[inline]
    pub(crate) fn loses_multicast(&mut self) -> bool {
        self.multicast_loss.strikes(&mut self.rng)
    }

    /// The number of receivers, among the next `receivers`, that get a multicast before one loses
    /// it. If the result is below `receivers`, the next receiver loses the multicast.
    #[inline]
    pub(crate) fn receivers_before_loss(&mut self, receivers: u32) -> u32 {
        self.multicast_loss.passes(receivers, &mut self.rng)
    }

    /// True if the next message arrives twice.
    #[inline]
    pub(crate) fn doubles(&mut self) -> bool {
        self.duplicate.strikes(&mut self.rng)
    }
}

/// A number up to and including `width`, each equally likely to within 2^-64.
#[inline]
fn below(rng: &mut Xoshiro256PlusPlus, width: u64) -> u64 {
    ((u128::from(rng.next_u64()) * (u128::from(width) + 1)) >> 64) as u64
}

/// An event with a fixed probability, sampled by skipping. One draw gives the number of tries
/// before the next occurrence, so rare events cost next to nothing.
#[derive(Debug)]
struct Chance {
    /// `1 / ln(1 - probability)`, which turns a uniform number's logarithm into a number of tries.
    scale: f64,
    passes: u64,
    /// The count by the first bits of the random number, if these determine it; else
    /// [`BY_FORMULA`]. Empty until enough draws have paid for the table, and always empty for rare
    /// events.
    table: Vec<u8>,
    /// Draws left until the table is made.
    untabled: u32,
}

const TABLE_BITS: u32 = 8;
const BY_FORMULA: u8 = u8::MAX;
/// Draws before the table is made: making it takes four times as many logarithms.
const TABLED_AFTER: u32 = 64;
/// Below this probability counts are large, and the first bits seldom determine them.
const TABLED_FROM: f64 = 0.05;
/// The significant bits of a random number.
const BITS: u32 = 53;

impl Chance {
    fn new(probability: f64, rng: &mut Xoshiro256PlusPlus) -> Self {
        let mut chance = Self {
            scale: 1.0 / (-probability).ln_1p(),
            passes: u64::MAX,
            table: Vec::new(),
            untabled: if probability >= TABLED_FROM { TABLED_AFTER } else { u32::MAX },
        };
        if probability > 0.0 {
            chance.passes = chance.draw(rng);
        }
        chance
    }

    #[inline]
    fn strikes(&mut self, rng: &mut Xoshiro256PlusPlus) -> bool {
        if self.passes > 0 {
            self.passes -= 1;
            return false;
        }
        self.passes = self.draw(rng);
        true
    }

    /// The number of the next `tries` that pass before the event occurs. If it is below `tries`,
    /// the occurrence is consumed too.
    #[inline]
    fn passes(&mut self, tries: u32, rng: &mut Xoshiro256PlusPlus) -> u32 {
        if self.passes >= u64::from(tries) {
            self.passes -= u64::from(tries);
            return tries;
        }
        let passed = self.passes as u32;
        self.passes = self.draw(rng);
        passed
    }

    /// Draws from the geometric distribution: `floor(ln(u) / ln(1 - p))` for `u` uniform in (0, 1].
    #[inline]
    fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let number = rng.next_u64() >> (u64::BITS - BITS);
        match self.table.get((number >> (BITS - TABLE_BITS)) as usize) {
            Some(&count) if count != BY_FORMULA => u64::from(count),
            Some(_) => self.count(number) as u64,
            None => self.count_untabled(number),
        }
    }

    fn count(&self, number: u64) -> f64 {
        let uniform = (number + 1) as f64 * (1.0 / (1u64 << BITS) as f64);
        uniform.ln() * self.scale
    }

    #[inline(never)]
    fn count_untabled(&mut self, number: u64) -> u64 {
        match self.untabled {
            u32::MAX => {}
            0 => self.table = (0..1 << TABLE_BITS).map(|bits| self.tabled(bits)).collect(),
            _ => self.untabled -= 1,
        }
        self.count(number) as u64
    }

    /// The count of all numbers that begin with `bits`, if it is the same for all of them in spite
    /// of rounding; else [`BY_FORMULA`].
    fn tabled(&self, bits: u64) -> u8 {
        const ROUNDING: f64 = 1e-9;
        let rest = BITS - TABLE_BITS;
        let (least, most) = (bits << rest, ((bits + 1) << rest) - 1);
        // The greater the number, the smaller the count.
        let high = (self.count(least) + ROUNDING) as u64;
        let low = (self.count(most) - ROUNDING) as u64;
        match u8::try_from(high) {
            Ok(count) if high == low => count,
            Ok(_) | Err(_) => BY_FORMULA,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BY_FORMULA, Chance, Delay, Network, NetworkError, TABLE_BITS, TABLED_FROM, Wire};
    use crate::{Seeds, Stream};
    use hustings_protocol::Duration;
    use rand_core::Rng;

    #[test]
    fn skipping_has_the_stated_probability() {
        let mut rng = Seeds::new(1, 0).rng(Stream::Network);
        for probability in [0.0, 0.001, 0.1, 0.5, 0.9, 1.0] {
            let mut chance = Chance::new(probability, &mut rng);
            let tries = 400_000;
            let strikes = (0..tries).filter(|_| chance.strikes(&mut rng)).count() as f64;
            let expected = f64::from(tries) * probability;
            let deviation = (f64::from(tries) * probability * (1.0 - probability)).sqrt();
            assert!(
                (strikes - expected).abs() <= 4.5 * deviation,
                "{probability}: {strikes} strikes, {expected} expected"
            );
        }
    }

    #[test]
    fn table_agrees_with_the_formula() {
        for probability in [0.01, 0.05, 0.1, 0.4, 0.5, 0.9, 0.999] {
            let mut rng = Seeds::new(5, 0).rng(Stream::Network);
            let mut chance = Chance::new(probability, &mut rng);
            let mut same = rng.clone();
            let (mut decided, draws) = (0, 20_000);
            for _ in 0..draws {
                let number = same.next_u64() >> 11;
                let told = chance.table.get((number >> 45) as usize).copied();
                decided += usize::from(told.is_some_and(|it| it != BY_FORMULA));
                assert_eq!(chance.draw(&mut rng), chance.count(number) as u64);
            }
            let most = if probability < TABLED_FROM { 0 } else { draws };
            assert!((most / 3..=most).contains(&decided), "{probability}: {decided}");
        }
        // The smallest and greatest numbers of each table entry.
        let chance = Chance::new(0.4, &mut Seeds::new(5, 0).rng(Stream::Network));
        for bits in 0..1u64 << TABLE_BITS {
            let told = chance.tabled(bits);
            for number in [bits << 45, ((bits + 1) << 45) - 1] {
                assert!(told == BY_FORMULA || u64::from(told) == chance.count(number) as u64);
            }
        }
    }

    #[test]
    fn grouped_tries_agree_with_single_tries() {
        let rng = || Seeds::new(4, 0).rng(Stream::Network);
        let (mut one_by_one, mut at_once) = (rng(), rng());
        let mut single = Chance::new(0.2, &mut one_by_one);
        let mut grouped = Chance::new(0.2, &mut at_once);
        for group in 1..200 {
            let singly: Vec<bool> = (0..group).map(|_| single.strikes(&mut one_by_one)).collect();
            let mut grouply = Vec::new();
            while grouply.len() < group {
                let passed = grouped.passes((group - grouply.len()) as u32, &mut at_once);
                grouply.extend((0..passed).map(|_| false));
                if grouply.len() < group {
                    grouply.push(true);
                }
            }
            assert_eq!(singly, grouply);
        }
    }

    #[test]
    fn delays_have_the_stated_mean() {
        let ms = Duration::from_millis;
        for delay in [
            Delay::Constant(ms(7)),
            Delay::Uniform { from: ms(2), to: ms(12) },
            Delay::Exponential { mean: ms(7) },
            Delay::LogNormal { median: ms(7), sigma: 0.5 },
        ] {
            let mut wire =
                Wire::new(&Network::perfect(delay), Seeds::new(2, 0).rng(Stream::Network));
            let draws = 100_000;
            let sum: f64 = (0..draws).map(|_| wire.delay().as_secs_f64()).sum();
            let mean = sum / f64::from(draws);
            let claimed = delay.mean().as_secs_f64();
            assert!(
                (mean / claimed - 1.0).abs() < 0.02,
                "{delay:?}: mean {mean}, claimed {claimed}"
            );
        }
    }

    #[test]
    fn impossible_networks_are_refused_with_the_field() {
        let mut network = Network::perfect(Delay::Exponential { mean: Duration::ZERO });
        assert_eq!(network.check(), Err(NetworkError::ZeroMean));
        network.delay = Delay::LogNormal { median: Duration::from_millis(1), sigma: -0.5 };
        assert_eq!(network.check(), Err(NetworkError::Sigma(-0.5)));
        network.unicast_loss = 1.5;
        assert_eq!(
            network.check().unwrap_err().to_string(),
            "unicast loss 1.5 is not a probability: choose from 0 to 1"
        );
    }
}
