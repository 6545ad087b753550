//! Parsers for the terms of any council: the number of seats, and the number of replies to a draw.

use std::fmt;

use hustings_protocol::council::{Algorithm, Estimate};
use hustings_theory::council::optimum::Goal;

use super::values;
use crate::failure::Failure;

/// Parses `L..U`, or one number for both, up to `most_seats`.
pub(crate) fn seats(text: &str, most_seats: u32) -> Result<(u32, u32), String> {
    let usage = || format!("write L..U, as in 4..8, with 1 <= L <= U <= {most_seats}");
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().map_err(|_| usage());
    match (number(least)?, number(most)?) {
        (0, _) => Err(format!("a council of none: {}", usage())),
        (least, most) if least > most => Err(format!("{least} is more than {most}: {}", usage())),
        (_, most) if most > most_seats => Err(format!("too many seats: {}", usage())),
        seats => Ok(seats),
    }
}

/// Returns an algorithm with its depth, if one is given.
///
/// # Errors
/// If --depth is given with an algorithm without memory.
pub(crate) fn with_depth(
    algorithm: Algorithm,
    name: &str,
    depth: Option<u8>,
) -> Result<Algorithm, Failure> {
    match (algorithm, depth) {
        (_, None) => Ok(algorithm),
        (Algorithm::History { .. }, Some(depth)) => Ok(Algorithm::History { depth }),
        (_, Some(_)) => Err(Failure::Usage(format!(
            "--depth is the number of rounds that hosts of --algorithm history remember: hosts of \
             {name} remember none"
        ))),
    }
}

/// The average number of replies to a draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Average {
    /// The best number.
    Best,
    /// The number that is best in the worst of several cases.
    Robust,
    /// A given number.
    Fixed(f64),
}

/// Parses `auto`, `robust`, or a number above 0 and up to `most`; the error is `usage`.
pub(crate) fn average(text: &str, most: f64, usage: &str) -> Result<Average, String> {
    match text {
        "auto" => Ok(Average::Best),
        "robust" => Ok(Average::Robust),
        _ => values::number(text, |c| c > 0.0 && c <= most, usage).map(Average::Fixed),
    }
}

/// The cost that the best `c` minimises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Aim {
    Rounds,
    Messages,
    Both(Goal),
}

impl Aim {
    pub(crate) fn goal(self) -> Goal {
        match self {
            Self::Rounds => Goal::ROUNDS,
            Self::Messages => Goal::MESSAGES,
            Self::Both(goal) => goal,
        }
    }
}

pub(crate) fn aim(text: &str) -> Result<Aim, String> {
    match text {
        "t" => Ok(Aim::Rounds),
        "n" => Ok(Aim::Messages),
        _ => pair(text, ["t", "n"])
            .filter(|weights| weights.iter().all(|it| *it >= 0.0) && weights.iter().sum::<f64>() > 0.0)
            .map(|[rounds, messages]| Aim::Both(Goal { rounds, messages }))
            .ok_or_else(|| {
                "choose t, n, or weights of both that are not below 0, and not both 0, as in t:1,n:0.1".to_owned()
            }),
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounds => f.write_str("t"),
            Self::Messages => f.write_str("n"),
            Self::Both(Goal { rounds, messages }) => write!(f, "t:{rounds},n:{messages}"),
        }
    }
}

/// The fall of an estimate of the number of hosts, after each round with too few replies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fall {
    /// It is raised to the power 0.7.
    Aggressive,
    /// It is halved.
    Conservative,
    /// It is raised to the power `alpha` and divided by `beta`.
    Own {
        /// Above 0 and at most 1.
        alpha: f64,
        /// 1 or more, and finite.
        beta: f64,
    },
}

impl Fall {
    /// Parses `aggressive`, `conservative` or `alpha:A,beta:B`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "aggressive" => Some(Self::Aggressive),
            "conservative" => Some(Self::Conservative),
            _ => {
                let [alpha, beta] = pair(text, ["alpha", "beta"])?;
                let is_lawful = alpha > 0.0 && alpha <= 1.0 && beta >= 1.0;
                is_lawful.then_some(Self::Own { alpha, beta })
            }
        }
    }

    /// Returns the estimate that falls from `first` on.
    pub(crate) fn estimate(self, first: u32) -> Estimate {
        match self {
            Self::Aggressive => Estimate::aggressive(first),
            Self::Conservative => Estimate::conservative(first),
            Self::Own { alpha, beta } => Estimate { alpha, beta, first },
        }
    }
}

impl fmt::Display for Fall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aggressive => f.write_str("aggressive"),
            Self::Conservative => f.write_str("conservative"),
            Self::Own { alpha, beta } => write!(f, "alpha:{alpha},beta:{beta}"),
        }
    }
}

/// Parses `a:1,b:2`, in this order.
fn pair(text: &str, names: [&str; 2]) -> Option<[f64; 2]> {
    let (first, second) = text.split_once(',')?;
    let value = |part: &str, name: &str| -> Option<f64> {
        let value = part.strip_prefix(name)?.strip_prefix(':')?;
        value.parse().ok().filter(|it: &f64| it.is_finite())
    };
    Some([value(first, names[0])?, value(second, names[1])?])
}

#[cfg(test)]
mod tests {
    use super::{Average, average, seats};

    #[test]
    fn seats_are_parsed_from_l_to_u() {
        assert_eq!(seats("4..8", 64), Ok((4, 8)));
        assert_eq!(seats("5", 64), Ok((5, 5)));
        for bad in ["", "0..3", "8..4", "4..65", "-1..3", "4..", "..8", "4...8", "a..b"] {
            assert!(seats(bad, 64).is_err(), "{bad}");
        }
    }

    #[test]
    fn averages_are_above_zero() {
        let read = |text| average(text, 65.0, "no");
        assert_eq!(read("auto"), Ok(Average::Best));
        assert_eq!(read("robust"), Ok(Average::Robust));
        assert_eq!(read("6.2"), Ok(Average::Fixed(6.2)));
        for bad in ["", "0", "-1", "NaN", "inf", "66", "six"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
