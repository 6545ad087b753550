//! Parsers for the terms of a council election on the command line.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use hustings_protocol::council::{Algorithm, MOST_STEPS};
use hustings_theory::council::{Estimate, Seats};

use super::ALGORITHMS;
use crate::failure::Failure;
use crate::options;
use crate::options::named::{one_in, possible_values};
use crate::options::seats::{Average, Fall};

/// The limit for seats up to which the theory is fast for every algorithm.
const MOST_SEATS: u32 = 1_000;

/// The parser of an [`Algorithm`]. A request for the baseline, which `hustings council` lists among
/// the algorithms, refers to `bolot`.
#[derive(Clone)]
pub(super) struct Algorithms;

impl TypedValueParser for Algorithms {
    type Value = Algorithm;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Algorithm, clap::Error> {
        let parsed = one_in(ALGORITHMS).parse_ref(command, argument, value);
        parsed.map_err(|mut error| {
            if value == "bolot" {
                let tip = "the baseline has its own commands: `hustings sim bolot`, `hustings \
                           theory bolot`";
                let tips = ContextValue::StyledStrs(vec![tip.into()]);
                error.insert(ContextKind::Suggested, tips);
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(possible_values(ALGORITHMS)))
    }
}

/// Parses `L..U`, or one number for both.
pub(super) fn seats(text: &str) -> Result<Seats, String> {
    let (least, most) = options::seats::seats(text, MOST_SEATS)?;
    Ok(Seats { least: least.into(), most: most.into() })
}

pub(super) fn show_seats(seats: Seats) -> String {
    format!("{}..{}", seats.least, seats.most)
}

pub(super) fn average(text: &str) -> Result<Average, String> {
    let usage = "choose auto, robust, or a number above 0, up to 1000000";
    options::seats::average(text, 1e6, usage)
}

/// The fall of the centre's estimate of the number of hosts, or `None` if it knows the number.
pub(super) type Guess = Option<Fall>;

pub(super) fn guess(text: &str) -> Result<Guess, String> {
    const USAGE: &str = "choose known, conservative, aggressive, or alpha:A,beta:B with A above 0 and at most 1, and B 1 or more";
    if text == "known" {
        return Ok(None);
    }
    match Fall::parse(text).ok_or(USAGE)? {
        Fall::Own { alpha: 1.0, beta: 1.0 } => {
            Err(format!("this estimate never falls: {USAGE}, not both 1"))
        }
        Fall::Own { beta, .. } if beta > 1e9 => Err(USAGE.to_owned()),
        fall => Ok(Some(fall)),
    }
}

/// Formats a guess as [`guess`] reads it.
pub(super) fn show_guess(guess: Guess) -> String {
    guess.map_or_else(|| "known".to_owned(), |fall| fall.to_string())
}

/// Checks that an estimate comes down in time.
pub(super) fn require_progress(estimate: Estimate, seats: Seats) -> Result<(), Failure> {
    let next = |now: &f64| estimate.next(*now, seats);
    // If the estimate is at most one above the seats, nearly all hosts reply. A power approaches 1
    // and never reaches it, so only the steps above that count.
    let is_high = |now: &f64| *now > seats.most as f64 + 1.0;
    let steps = std::iter::successors(Some(estimate.first), next).take_while(is_high);
    if steps.take(MOST_STEPS + 1).count() <= MOST_STEPS {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--estimate alpha:{},beta:{} falls too slowly: it takes more than {MOST_STEPS} rounds from {} to {} hosts: choose a \
         smaller alpha or a greater beta",
        estimate.alpha, estimate.beta, estimate.first, seats.most
    )))
}

#[cfg(test)]
mod tests {
    use hustings_theory::council::Estimate;

    use super::{average, guess, require_progress, seats, show_guess, show_seats};
    use crate::options::seats::aim;

    #[test]
    fn terms_are_shown_as_they_are_read() {
        for text in ["4..8", "1..1", "1..1000"] {
            assert_eq!(seats(text).map(show_seats).as_deref(), Ok(text));
        }
        assert_eq!(seats("3").map(show_seats).as_deref(), Ok("3..3"));
        for text in ["known", "conservative", "aggressive", "alpha:0.5,beta:1.5"] {
            assert_eq!(guess(text).map(show_guess).as_deref(), Ok(text));
        }
        for text in ["t", "n", "t:1,n:0.25"] {
            let shown = aim(text).map(|it| it.to_string());
            assert_eq!(shown.as_deref(), Ok(text));
        }
    }

    #[test]
    fn estimates_must_come_down_in_time() {
        for (estimate, council, is_fast) in [
            ("aggressive", "1..1", true),
            ("conservative", "1..1", true),
            ("alpha:0.99,beta:1", "4..8", true),
            ("alpha:1,beta:1.01", "4..8", true),
            ("alpha:1,beta:1.0001", "4..8", false),
            ("alpha:0.999999,beta:1", "4..8", false),
        ] {
            let estimate = guess(estimate).unwrap().unwrap().estimate(100_000);
            let (alpha, beta) = (estimate.alpha, estimate.beta);
            let estimate = Estimate { alpha, beta, first: estimate.first.into() };
            let outcome = require_progress(estimate, seats(council).unwrap());
            assert_eq!(outcome.is_ok(), is_fast, "{estimate:?}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["0..3", "5..4", "1..1001", "", "..", "4..", "-1..3", "1..2..3", "a..b"] {
            assert!(seats(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "nan", "inf", "1e300", "best", ""] {
            assert!(average(text).is_err(), "{text}");
        }
        for text in [
            "alpha:1,beta:1",
            "alpha:0,beta:2",
            "alpha:1.5,beta:2",
            "alpha:0.5,beta:0.5",
            "alpha:nan,beta:2",
            "alpha:0.5,beta:inf",
            "beta:2,alpha:1",
            "alpha:0.5",
            "half",
        ] {
            assert!(guess(text).is_err(), "{text}");
        }
        for text in ["m", "t:0,n:0", "t:-1,n:2", "t:1", "n:1,t:1", "t:inf,n:1"] {
            assert!(aim(text).is_err(), "{text}");
        }
    }
}
