//! Parsers and formats of option values.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Arg;
use clap::builder::ValueParser;
use hustings_protocol::Duration;
use hustings_sim::{Delay, Detection};

/// Options whose values may begin with a minus. Such a value is refused as a value, not taken for
/// an unknown option.
pub(crate) trait SignedArg {
    /// Parses a number.
    fn number(self, parser: impl Into<ValueParser>) -> Self;

    /// Parses a value that may be no number, such as a duration.
    fn signed(self, parser: impl Into<ValueParser>) -> Self;
}

impl SignedArg for Arg {
    fn number(self, parser: impl Into<ValueParser>) -> Self {
        self.value_parser(parser.into()).allow_negative_numbers(true)
    }

    fn signed(self, parser: impl Into<ValueParser>) -> Self {
        self.value_parser(parser.into()).allow_hyphen_values(true)
    }
}

/// Parses a whole number in `range`.
pub(crate) fn whole<N>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: FromStr + PartialOrd + Display + Clone,
{
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("choose a whole number from {} to {}", range.start(), range.end())),
    }
}

/// Parses a number that `fits`. The error is `usage`.
pub(crate) fn number(
    text: &str,
    fits: impl FnOnce(f64) -> bool,
    usage: &str,
) -> Result<f64, String> {
    text.parse().ok().filter(|it| fits(*it)).ok_or_else(|| usage.to_owned())
}

/// Parses a number from 0 to 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    let is_one = |it| (0.0..=1.0).contains(&it);
    number(text, is_one, "not a probability: choose from 0 to 1").map(f64::abs)
}

/// Parses a duration, zero included.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const USAGE: &str = "not a duration: write a number and a unit (ns, us, ms, s, m, h), as in \
                         250ms, up to 876000h";
    text.parse().map_err(|_| USAGE.to_owned())
}

/// Parses a duration above zero.
pub(crate) fn some_time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("too short: choose 1ns or more".to_owned()),
        span => Ok(span),
    }
}

/// Parses the delay of messages: a duration, or a distribution with its parameters.
pub(crate) fn delay(text: &str) -> Result<Delay, String> {
    let Some((law, parameters)) = text.split_once(':') else {
        return some_time(text).map(Delay::Constant);
    };
    match law {
        "uniform" => uniform(parameters),
        "exponential" => Ok(Delay::Exponential { mean: some_time(parameters)? }),
        "lognormal" => log_normal(parameters),
        _ => Err(
            "unknown distribution: choose 100ms, uniform:50ms..150ms, exponential:100ms or lognormal:100ms:0.5"
                .to_owned(),
        ),
    }
}

fn uniform(range: &str) -> Result<Delay, String> {
    let (from, to) = range.split_once("..").ok_or("not a range: write uniform:50ms..150ms")?;
    let (from, to) = (duration(from)?, some_time(to)?);
    if from > to {
        return Err(format!(
            "the range {from}..{to} is empty: the first value must not be above the second"
        ));
    }
    Ok(Delay::Uniform { from, to })
}

fn log_normal(parameters: &str) -> Result<Delay, String> {
    let (median, sigma) = parameters
        .split_once(':')
        .ok_or("sigma is missing: write the median and sigma, as in lognormal:100ms:0.5")?;
    let median = some_time(median)?;
    match sigma.parse::<f64>() {
        Ok(sigma) if (0.0..=10.0).contains(&sigma) => Ok(Delay::LogNormal { median, sigma }),
        _ => Err(format!("sigma {sigma} is out of range: choose from 0 to 10")),
    }
}

/// Formats a delay as [`delay`] reads it.
pub(crate) fn show_delay(delay: Delay) -> String {
    match delay {
        Delay::Constant(delay) => delay.to_string(),
        Delay::Uniform { from, to } => format!("uniform:{from}..{to}"),
        Delay::Exponential { mean } => format!("exponential:{mean}"),
        Delay::LogNormal { median, sigma } => format!("lognormal:{median}:{sigma}"),
    }
}

/// Parses the failure detection of members.
pub(crate) fn detection(text: &str) -> Result<Detection, String> {
    match text {
        "oracle" => Ok(Detection::Oracle),
        "never" => Ok(Detection::Never),
        _ => duration(text)
            .map(Detection::After)
            .map_err(|_| "choose oracle, never, or a duration as in 500ms".to_owned()),
    }
}

/// Formats a detection as [`detection`] reads it.
pub(crate) fn show_detection(detection: Detection) -> String {
    match detection {
        Detection::Oracle => "oracle".to_owned(),
        Detection::Never => "never".to_owned(),
        Detection::After(span) => span.to_string(),
    }
}

/// The probability that a message is held back, and the longest extra delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HoldingBack {
    pub(crate) probability: f64,
    /// One mean delay if `None`.
    pub(crate) by: Option<Duration>,
}

/// Parses a probability with an optional duration: `0.1` or `0.1:200ms`.
pub(crate) fn holding_back(text: &str) -> Result<HoldingBack, String> {
    let (chance, by) = match text.split_once(':') {
        None => (text, None),
        Some((chance, by)) => (chance, Some(duration(by)?)),
    };
    Ok(HoldingBack { probability: probability(chance)?, by })
}

#[cfg(test)]
mod tests {
    use super::{delay, detection, holding_back, probability, show_delay, show_detection, whole};

    #[test]
    fn delays_and_detections_are_shown_as_they_are_read() {
        for text in ["100ms", "uniform:0s..150ms", "exponential:2s", "lognormal:100ms:0.5"] {
            assert_eq!(delay(text).map(show_delay).as_deref(), Ok(text));
        }
        for text in ["oracle", "never", "0s", "1500ms"] {
            assert_eq!(detection(text).map(show_detection).as_deref(), Ok(text));
        }
    }

    #[test]
    fn impossible_delays_are_refused_with_the_remedy() {
        for (text, complaint) in [
            ("0s", "too short: choose 1ns or more"),
            ("uniform:0s..0s", "too short: choose 1ns or more"),
            ("exponential:0s", "too short: choose 1ns or more"),
            ("lognormal:0s:1", "too short: choose 1ns or more"),
            ("uniform:1s", "not a range: write uniform:50ms..150ms"),
            (
                "uniform:2s..1s",
                "the range 2s..1s is empty: the first value must not be above the second",
            ),
            (
                "lognormal:1s",
                "sigma is missing: write the median and sigma, as in lognormal:100ms:0.5",
            ),
            ("lognormal:1s:11", "sigma 11 is out of range: choose from 0 to 10"),
            (
                "pareto:1s",
                "unknown distribution: choose 100ms, uniform:50ms..150ms, exponential:100ms or lognormal:100ms:0.5",
            ),
        ] {
            assert_eq!(delay(text).map_err(|error| error.clone()), Err(complaint.to_owned()));
        }
    }

    #[test]
    fn whole_numbers_lie_in_their_range() {
        let few = whole(2..=5_u32);
        assert_eq!((few("2"), few("5")), (Ok(2), Ok(5)));
        for text in ["1", "6", "-3", "3.0", "three", "99999999999", ""] {
            let complaint = "choose a whole number from 2 to 5".to_owned();
            assert_eq!(few(text), Err(complaint), "{text}");
        }
    }

    #[test]
    fn probabilities_lie_between_0_and_1() {
        for (text, expected) in [("0", 0.0), ("1", 1.0), ("-0", 0.0), ("1e-3", 0.001)] {
            assert_eq!(probability(text), Ok(expected));
        }
        for text in ["1.5", "-0.1", "nan", "inf", "", "half"] {
            assert!(probability(text).is_err(), "{text}");
        }
    }

    #[test]
    fn holding_back_has_a_probability_and_an_optional_span() {
        assert_eq!(holding_back("0.5").map(|held| held.by), Ok(None));
        assert!(holding_back("0.5:1s").is_ok_and(|held| held.by.is_some()));
        assert!(holding_back("2:1s").is_err());
        assert!(holding_back("0.5:1").is_err());
    }
}
