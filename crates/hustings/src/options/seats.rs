//! What every council needs, as it is written on the command line: how many seats, and how many replies a draw is to have.

/// L and U of `L..U`, or of one number for both. At most `most`.
pub(crate) fn seats(text: &str, most_seats: u32) -> Result<(u32, u32), String> {
    let usage = || format!("write L..U, as in 4..8, with 1 <= L <= U <= {most_seats}");
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().map_err(|_| usage());
    let (least, most) = (number(least)?, number(most)?);
    if least == 0 {
        return Err(format!("a council of none: {}", usage()));
    }
    if least > most {
        return Err(format!("{least} is more than {most}: {}", usage()));
    }
    if most > most_seats {
        return Err(format!("too many seats: {}", usage()));
    }
    Ok((least, most))
}

/// How many replies a draw is to have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Average {
    /// As many as are best.
    Best,
    /// So many.
    Fixed(f64),
}

/// `auto`, or a number above 0 and up to `most`; else `usage`.
pub(crate) fn average(text: &str, most: f64, usage: &str) -> Result<Average, String> {
    match text.parse::<f64>() {
        _ if text == "auto" => Ok(Average::Best),
        Ok(c) if c > 0.0 && c <= most => Ok(Average::Fixed(c)),
        Ok(_) | Err(_) => Err(usage.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Average, average, seats};

    #[test]
    fn seats_are_from_l_to_u() {
        assert_eq!(seats("4..8", 64), Ok((4, 8)));
        assert_eq!(seats("5", 64), Ok((5, 5)));
        for bad in [
            "", "0..3", "8..4", "4..65", "-1..3", "4..", "..8", "4...8", "a..b",
        ] {
            assert!(seats(bad, 64).is_err(), "{bad}");
        }
    }

    #[test]
    fn averages_are_above_nothing() {
        let read = |text| average(text, 65.0, "no");
        assert_eq!(read("auto"), Ok(Average::Best));
        assert_eq!(read("6.2"), Ok(Average::Fixed(6.2)));
        for bad in ["", "0", "-1", "NaN", "inf", "66", "six"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
