//! Comparisons of expected and measured numbers, and the verdict that follows from them.

use std::fmt::{self, Display};

use hustings_sim::statistics::Sample;
use serde::Serialize;

/// The number of standard errors by which a mean may differ from its expectation. Chance alone
/// exceeds it once in 150,000.
const STANDARD_ERRORS: f64 = 4.5;

/// The result of testing a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Verdict {
    /// The claim is true as the document states it.
    #[serde(rename = "holds")]
    Holds,
    /// The claim is true with a correction that we state.
    #[serde(rename = "holds with correction")]
    HoldsWithCorrection,
    /// The claim is false, with and without the correction.
    #[serde(rename = "does not hold")]
    DoesNotHold,
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::HoldsWithCorrection => "holds with correction",
            Self::DoesNotHold => "does not hold",
        })
    }
}

/// The origin of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// The document.
    Stated,
    /// The document, with our correction.
    Corrected,
    /// This project: a closed form, or behaviour beyond the document's assumptions.
    Ours,
}

impl Word {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stated => "stated",
            Self::Corrected => "corrected",
            Self::Ours => "ours",
        }
    }
}

/// An expectation, its measurement, and whether they agree.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Check {
    pub(super) word: Word,
    pub(super) what: String,
    pub(super) expected: String,
    pub(super) measured: String,
    pub(super) agrees: bool,
}

/// An expectation and its measurement, before an origin is assigned to it.
pub(crate) struct Comparison {
    expected: String,
    measured: String,
    agrees: bool,
}

/// Expects two equal values.
pub(crate) fn equal<T: PartialEq + Display>(expected: &T, measured: &T) -> Comparison {
    Comparison {
        agrees: expected == measured,
        expected: expected.to_string(),
        measured: measured.to_string(),
    }
}

/// Expects two equal lists.
pub(crate) fn all_equal<T: PartialEq + Display>(expected: &[T], measured: &[T]) -> Comparison {
    Comparison { agrees: expected == measured, expected: list(expected), measured: list(measured) }
}

/// Expects the mean `expected`, within the error of the sample.
pub(crate) fn mean(expected: f64, sample: &Sample) -> Comparison {
    Comparison {
        expected: number(expected),
        measured: estimated(sample),
        agrees: has_mean(expected, sample),
    }
}

/// Expects a mean for each sample, within the error of that sample.
pub(crate) fn means(expected: &[f64], samples: &[Sample]) -> Comparison {
    let mut pairs = expected.iter().zip(samples);
    Comparison {
        expected: numbers(expected),
        measured: all_estimated(samples),
        agrees: !expected.is_empty()
            && expected.len() == samples.len()
            && pairs.all(|(expected, sample)| has_mean(*expected, sample)),
    }
}

/// Expects two equal means, within the errors of both samples.
pub(crate) fn alike(expected: &Sample, measured: &Sample) -> Comparison {
    let apart = (average(measured) - average(expected)).abs();
    Comparison {
        expected: estimated(expected),
        measured: estimated(measured),
        agrees: apart <= STANDARD_ERRORS * error_of(expected).hypot(error_of(measured)),
    }
}

/// Expects each mean to lie below its bound by more than chance explains.
pub(crate) fn all_below(bounds: &[Sample], measured: &[Sample]) -> Comparison {
    let is_below = |(bound, sample): (&Sample, &Sample)| {
        let error = error_of(bound).hypot(error_of(sample));
        average(bound) - average(sample) > STANDARD_ERRORS * error
    };
    Comparison {
        expected: format!("below {}", all_estimated(bounds)),
        measured: all_estimated(measured),
        agrees: !bounds.is_empty()
            && bounds.len() == measured.len()
            && bounds.iter().zip(measured).all(is_below),
    }
}

fn has_mean(expected: f64, sample: &Sample) -> bool {
    let allowed = STANDARD_ERRORS * error_of(sample) + 1e-9 * expected.abs();
    (average(sample) - expected).abs() <= allowed
}

/// Returns the mean of a sample, or NaN if the sample is empty.
pub(crate) fn average(sample: &Sample) -> f64 {
    sample.estimate().map_or(f64::NAN, |estimate| estimate.mean)
}

/// Returns the standard error of a mean.
fn error_of(sample: &Sample) -> f64 {
    sample.deviation() / (sample.count().max(1) as f64).sqrt()
}

/// Expects `measured` between `low` and `high`, both included.
pub(crate) fn between(low: f64, high: f64, measured: f64) -> Comparison {
    Comparison {
        expected: format!("{} to {}", number(low), number(high)),
        measured: number(measured),
        agrees: (low..=high).contains(&measured),
    }
}

/// Expects the mean between `low` and `high`, within the error of the sample.
pub(crate) fn mean_between(low: f64, high: f64, sample: &Sample) -> Comparison {
    let allowed = STANDARD_ERRORS * error_of(sample);
    Comparison {
        expected: format!("{} to {}", number(low), number(high)),
        measured: estimated(sample),
        agrees: (low - allowed..=high + allowed).contains(&average(sample)),
    }
}

/// Expects the mean below `bound` by more than chance explains.
pub(crate) fn mean_below(bound: f64, sample: &Sample) -> Comparison {
    Comparison {
        expected: format!("below {}", number(bound)),
        measured: estimated(sample),
        agrees: average(sample) + STANDARD_ERRORS * error_of(sample) < bound,
    }
}

/// Expects the mean above `bound` by more than chance explains.
pub(crate) fn mean_above(bound: f64, sample: &Sample) -> Comparison {
    Comparison {
        expected: format!("above {}", number(bound)),
        measured: estimated(sample),
        agrees: average(sample) - STANDARD_ERRORS * error_of(sample) > bound,
    }
}

/// Expects `measured` to be at most `bound`.
pub(crate) fn at_most(bound: u64, measured: u64) -> Comparison {
    Comparison {
        expected: format!("at most {bound}"),
        measured: measured.to_string(),
        agrees: measured <= bound,
    }
}

/// Expects all of `of` cases, of which there must be at least one.
pub(crate) fn all_of(of: usize, measured: usize) -> Comparison {
    Comparison {
        expected: format!("all of {of}"),
        measured: format!("{measured} of {of}"),
        agrees: measured == of && of > 0,
    }
}

/// Expects all `cases` to be true. There must be at least one.
pub(crate) fn all_true(cases: &[bool]) -> Comparison {
    all_of(cases.len(), cases.iter().filter(|&&case| case).count())
}

/// Expects a proportion above `bound`, within the confidence interval of the sample.
pub(crate) fn share_above(bound: f64, sample: &Sample) -> Comparison {
    Comparison {
        expected: format!("above {}", number(bound)),
        measured: estimated(sample),
        agrees: sample.estimate().and_then(|it| it.ci95).is_some_and(|[low, _]| low > bound),
    }
}

/// Expects a proportion between `low` and `high`, within the error of the sample.
///
/// The allowed error is that of the bounds, because a sample in which all cases agree has no error
/// of its own. One case more or less is also allowed.
pub(crate) fn share_between(low: f64, high: f64, sample: &Sample) -> Comparison {
    let count = sample.count().max(1) as f64;
    let allowed = |share: f64| {
        let share = share.clamp(0.0, 1.0);
        STANDARD_ERRORS * (share * (1.0 - share) / count).sqrt() + 1.0 / count
    };
    Comparison {
        expected: format!("{} to {}", number(low), number(high)),
        measured: estimated(sample),
        agrees: (low - allowed(low)..=high + allowed(high)).contains(&average(sample)),
    }
}

/// The evidence for or against a claim.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// The main result, on one line.
    pub(super) measured: String,
    pub(super) checks: Vec<Check>,
}

impl Evidence {
    /// Adds a check of the document's statement.
    pub(crate) fn stated(&mut self, what: impl Into<String>, comparison: Comparison) {
        self.add(Word::Stated, what.into(), comparison);
    }

    /// Adds a check of the document's statement with our correction.
    pub(crate) fn corrected(&mut self, what: impl Into<String>, comparison: Comparison) {
        self.add(Word::Corrected, what.into(), comparison);
    }

    /// Adds a check of our own statement.
    pub(crate) fn ours(&mut self, what: impl Into<String>, comparison: Comparison) {
        self.add(Word::Ours, what.into(), comparison);
    }

    fn add(&mut self, word: Word, what: String, comparison: Comparison) {
        let Comparison { expected, measured, agrees } = comparison;
        self.checks.push(Check { word, what, expected, measured, agrees });
    }

    /// Returns the verdict of all checks. A claim without any check does not hold.
    pub(crate) fn verdict(&self) -> Verdict {
        let agree_on = |word| {
            let mut checks = self.checks.iter().filter(|check| check.word == word);
            let is_any = checks.clone().next().is_some();
            is_any && checks.all(|check| check.agrees)
        };
        if agree_on(Word::Stated) {
            Verdict::Holds
        } else if agree_on(Word::Corrected) {
            Verdict::HoldsWithCorrection
        } else {
            Verdict::DoesNotHold
        }
    }

    pub(super) fn first_of_ours_that_fails(&self) -> Option<&Check> {
        let mut ours = self.checks.iter().filter(|it| it.word == Word::Ours);
        ours.find(|check| !check.agrees)
    }
}

/// Formats a number with few decimals and without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 => 1,
        size if size >= 10.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a mean with its 95 % confidence interval.
pub(crate) fn estimated(sample: &Sample) -> String {
    let Some(estimate) = sample.estimate() else {
        return "nothing".to_owned();
    };
    let mean = number(estimate.mean);
    match estimate.ci95 {
        Some([low, high]) if low != high => {
            format!("{mean} ({} to {})", number(low), number(high))
        }
        Some(_) | None => mean,
    }
}

/// Formats numbers, separated by commas.
pub(crate) fn numbers(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().copied().map(number).collect();
    list(&texts)
}

/// Formats the means of samples, separated by commas.
pub(crate) fn averages(samples: &[Sample]) -> String {
    numbers(&samples.iter().map(average).collect::<Vec<_>>())
}

fn all_estimated(samples: &[Sample]) -> String {
    let texts: Vec<String> = samples.iter().map(estimated).collect();
    list(&texts)
}

/// Formats items, separated by commas.
pub(crate) fn list<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use hustings_sim::statistics::{Kind, Sample};

    use super::{
        Evidence, Verdict, alike, all_below, equal, mean, mean_above, mean_below, mean_between,
        means, number, share_between,
    };

    fn sample(values: &[f64]) -> Sample {
        let mut sample = Sample::new(Kind::Number);
        values.iter().for_each(|&value| sample.add(value));
        sample
    }

    #[test]
    fn means_are_compared_within_their_standard_errors() {
        let (low, high) = (sample(&[0.9, 1.0, 1.1]), sample(&[1.9, 2.0, 2.1]));
        assert!(mean(1.2, &low).agrees && !mean(1.3, &low).agrees);
        assert!(means(&[1.0, 2.0], &[low, high]).agrees);
        assert!(!means(&[1.0, 3.0], &[low, high]).agrees);
        assert!(!means(&[1.0], &[low, high]).agrees && !means(&[], &[]).agrees);
        assert!(alike(&low, &low).agrees && !alike(&low, &high).agrees);
        assert!(all_below(&[high], &[low]).agrees && !all_below(&[low], &[high]).agrees);
        assert!(!all_below(&[high, high], &[low]).agrees);
        assert!(mean_between(0.5, 0.9, &low).agrees && !mean_between(0.1, 0.2, &low).agrees);
        assert!(mean_below(1.3, &low).agrees && !mean_below(1.2, &low).agrees);
        assert!(mean_above(0.7, &low).agrees && !mean_above(0.8, &low).agrees);
        let nothing = sample(&[f64::NAN]);
        assert!(!mean_below(9.0, &nothing).agrees && !mean_above(0.0, &nothing).agrees);
        assert!(!mean(1.0, &nothing).agrees && !all_below(&[nothing], &[low]).agrees);
    }

    #[test]
    fn shares_are_compared_within_the_errors_of_the_bounds() {
        let share = |yes: usize| {
            let mut sample = Sample::new(Kind::Proportion);
            (0..100).for_each(|it| sample.add(f64::from(u8::from(it < yes))));
            sample
        };
        // The standard error of 0.9 is 0.03.
        assert!(share_between(0.9, 0.9, &share(76)).agrees);
        assert!(!share_between(0.9, 0.9, &share(75)).agrees);
        assert!(share_between(0.9, 0.95, &share(100)).agrees);
        assert!(!share_between(0.2, 0.8, &share(100)).agrees);
        assert!(!share_between(0.0, 1.0, &sample(&[])).agrees);
        assert!(share_between(0.0001, 0.0001, &share(0)).agrees);
        assert!(!share_between(0.0, 0.0, &share(2)).agrees);
    }

    #[test]
    fn verdict_follows_from_the_checks() {
        for (stated, corrected, verdict) in [
            (Some(true), None, Verdict::Holds),
            (Some(true), Some(false), Verdict::Holds),
            (Some(false), Some(true), Verdict::HoldsWithCorrection),
            (Some(false), Some(false), Verdict::DoesNotHold),
            (Some(false), None, Verdict::DoesNotHold),
            (None, None, Verdict::DoesNotHold),
        ] {
            let mut evidence = Evidence::default();
            if let Some(agrees) = stated {
                evidence.stated("it is so", equal(&true, &agrees));
            }
            if let Some(agrees) = corrected {
                evidence.corrected("it is so, corrected", equal(&true, &agrees));
            }
            evidence.ours("ours do not count", equal(&1, &2));
            assert_eq!(evidence.verdict(), verdict, "{stated:?} {corrected:?}");
            assert!(evidence.first_of_ours_that_fails().is_some());
        }
    }

    #[test]
    fn numbers_have_few_decimals_and_no_trailing_zeros() {
        for (value, shown) in
            [(299.0, "299"), (1300.0, "1300"), (0.1, "0.1"), (618.737_75, "618.74"), (0.0, "0")]
        {
            assert_eq!(number(value), shown);
        }
    }
}
