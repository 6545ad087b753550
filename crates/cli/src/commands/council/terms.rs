//! Parsers for the terms of a council on the command line.

use hustings_protocol::council::{MOST_SEATS, Seats};

use crate::options;
pub(super) use crate::options::seats::{Aim, Average, aim};

/// Parses `L..U`, or one number for both.
pub(super) fn seats(text: &str) -> Result<Seats, String> {
    let (least, most) = options::seats::seats(text, MOST_SEATS)?;
    Ok(Seats { least, most })
}

pub(super) fn average(text: &str) -> Result<Average, String> {
    let usage = "choose auto, robust, or a number above 0 and below U + 1";
    options::seats::average(text, f64::from(MOST_SEATS) + 1.0, usage)
}

/// The centre's estimate of the number of hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Guess {
    Aggressive,
    Conservative,
    Own { alpha: f64, beta: f64 },
    Known(u32),
}

pub(super) fn guess(text: &str) -> Result<Guess, String> {
    const USAGE: &str = "choose aggressive, conservative, known:N with N hosts, or alpha:A,beta:B with A above 0 and at \
                         most 1, and B 1 or more, not both 1";
    let own = || {
        let (alpha, beta) = text.strip_prefix("alpha:")?.split_once(",beta:")?;
        let (alpha, beta): (f64, f64) = (alpha.parse().ok()?, beta.parse().ok()?);
        let falls = alpha > 0.0 && alpha <= 1.0 && beta >= 1.0 && (alpha < 1.0 || beta > 1.0);
        (falls && beta.is_finite()).then_some(Guess::Own { alpha, beta })
    };
    let known = || {
        let hosts = text.strip_prefix("known:")?.parse().ok();
        hosts.filter(|it| *it > 0).map(Guess::Known)
    };
    match text {
        "aggressive" => Ok(Guess::Aggressive),
        "conservative" => Ok(Guess::Conservative),
        _ => known().or_else(own).ok_or_else(|| USAGE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Guess, guess};

    #[test]
    fn estimates_fall() {
        let own = |alpha, beta| Ok(Guess::Own { alpha, beta });
        assert_eq!(guess("aggressive"), Ok(Guess::Aggressive));
        assert_eq!(guess("known:2000"), Ok(Guess::Known(2_000)));
        assert_eq!(guess("alpha:0.5,beta:1"), own(0.5, 1.0));
        for bad in [
            "",
            "known",
            "known:0",
            "known:-3",
            "alpha:1,beta:1",
            "alpha:2,beta:1",
            "alpha:0.5",
            "alpha:NaN,beta:2",
            "alpha:0.5,beta:inf",
        ] {
            assert!(guess(bad).is_err(), "{bad}");
        }
    }
}
