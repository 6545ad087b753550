//! The terms of a council, as they are written on the command line.

use hustings_protocol::council::{MOST_SEATS, Seats};

/// `L..U`, or one number for both.
pub(super) fn seats(text: &str) -> Result<Seats, String> {
    let usage = || format!("write L..U, as in 4..8, with 1 <= L <= U <= {MOST_SEATS}");
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().map_err(|_| usage());
    let (least, most) = (number(least)?, number(most)?);
    if least == 0 {
        return Err(format!("a council of none: {}", usage()));
    }
    if least > most {
        return Err(format!("{least} is more than {most}: {}", usage()));
    }
    if most > MOST_SEATS {
        return Err(format!("too many seats: {}", usage()));
    }
    Ok(Seats { least, most })
}

/// How many replies a draw is to have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Average {
    /// As many as are best.
    Best,
    /// So many.
    Fixed(f64),
}

pub(super) fn average(text: &str) -> Result<Average, String> {
    match text.parse::<f64>() {
        _ if text == "auto" => Ok(Average::Best),
        Ok(c) if c > 0.0 && c <= f64::from(MOST_SEATS) + 1.0 => Ok(Average::Fixed(c)),
        Ok(_) | Err(_) => Err("choose auto, or a number above 0 and below U + 1".to_owned()),
    }
}

/// What the centre takes the number of hosts to be.
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
    use super::{Average, Guess, average, guess, seats};
    use hustings_protocol::council::Seats;

    #[test]
    fn seats_are_from_l_to_u() {
        assert_eq!(seats("4..8"), Ok(Seats::new(4, 8)));
        assert_eq!(seats("5"), Ok(Seats::new(5, 5)));
        for bad in [
            "", "0..3", "8..4", "4..65", "-1..3", "4..", "..8", "4...8", "a..b",
        ] {
            assert!(seats(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn averages_are_above_nothing() {
        assert_eq!(average("auto"), Ok(Average::Best));
        assert_eq!(average("6.2"), Ok(Average::Fixed(6.2)));
        for bad in ["", "0", "-1", "NaN", "inf", "66", "six"] {
            assert!(average(bad).is_err(), "{bad}");
        }
    }

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
