//! Comparisons of expected and measured numbers, and the verdict that follows from them.

use std::fmt::Display;
use std::slice;

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

/// Returns the name of a verdict, of an origin or of a method, as in the JSON report.
pub(super) fn name_of(it: &impl Serialize) -> String {
    let name = serde_json::to_value(it).expect("a variant without content has a JSON form");
    name.as_str().unwrap_or_default().to_owned()
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

/// A statement that waits for its comparison. Each comparison returns the evidence, so that the
/// next statement may follow.
#[must_use]
pub(crate) struct Statement<'a> {
    evidence: &'a mut Evidence,
    word: Word,
    what: String,
}

impl<'a> Statement<'a> {
    fn add(self, expected: String, measured: String, agrees: bool) -> &'a mut Evidence {
        let Self { evidence, word, what } = self;
        evidence.checks.push(Check { word, what, expected, measured, agrees });
        evidence
    }

    /// Expects two equal values.
    pub(crate) fn equal<T: PartialEq<M> + Display, M: Display>(
        self,
        expected: T,
        measured: M,
    ) -> &'a mut Evidence {
        self.all_equal([expected], [measured])
    }

    /// Expects two equal lists.
    pub(crate) fn all_equal<T: PartialEq<M> + Display, M: Display>(
        self,
        expected: impl IntoIterator<Item = T>,
        measured: impl IntoIterator<Item = M>,
    ) -> &'a mut Evidence {
        let expected: Vec<T> = expected.into_iter().collect();
        let measured: Vec<M> = measured.into_iter().collect();
        self.add(list(&expected), list(&measured), expected == measured)
    }

    /// Expects the mean `expected`, within the error of the sample.
    pub(crate) fn mean(self, expected: f64, sample: &Sample) -> &'a mut Evidence {
        self.add(number(expected), estimated(sample), has_mean(expected, sample))
    }

    /// Expects a mean for each sample, within the error of that sample.
    pub(crate) fn means(self, expected: &[f64], samples: &[Sample]) -> &'a mut Evidence {
        let mut pairs = expected.iter().zip(samples);
        let agrees = !expected.is_empty()
            && expected.len() == samples.len()
            && pairs.all(|(expected, sample)| has_mean(*expected, sample));
        self.add(numbers(expected), all_estimated(samples), agrees)
    }

    /// Expects two equal means, within the errors of both samples.
    pub(crate) fn alike(self, expected: &Sample, measured: &Sample) -> &'a mut Evidence {
        let apart = (average(measured) - average(expected)).abs();
        let allowed = STANDARD_ERRORS * error_of(expected).hypot(error_of(measured));
        self.add(estimated(expected), estimated(measured), apart <= allowed)
    }

    /// Expects each mean to lie below its bound by more than chance explains.
    pub(crate) fn all_below(self, bounds: &[Sample], measured: &[Sample]) -> &'a mut Evidence {
        let is_below = |(bound, sample): (&Sample, &Sample)| {
            let error = error_of(bound).hypot(error_of(sample));
            average(bound) - average(sample) > STANDARD_ERRORS * error
        };
        let agrees = !bounds.is_empty()
            && bounds.len() == measured.len()
            && bounds.iter().zip(measured).all(is_below);
        self.add(format!("below {}", all_estimated(bounds)), all_estimated(measured), agrees)
    }

    /// Expects the mean of `measured` to lie below that of `bound`, by the same measure.
    pub(crate) fn below(self, bound: &Sample, measured: &Sample) -> &'a mut Evidence {
        self.all_below(slice::from_ref(bound), slice::from_ref(measured))
    }

    /// Expects `measured` between `low` and `high`, both included.
    pub(crate) fn between(self, low: f64, high: f64, measured: f64) -> &'a mut Evidence {
        self.add(range(low, high), number(measured), (low..=high).contains(&measured))
    }

    /// Expects the mean between `low` and `high`, within the error of the sample.
    pub(crate) fn mean_between(self, low: f64, high: f64, sample: &Sample) -> &'a mut Evidence {
        let allowed = STANDARD_ERRORS * error_of(sample);
        let agrees = (low - allowed..=high + allowed).contains(&average(sample));
        self.add(range(low, high), estimated(sample), agrees)
    }

    /// Expects the mean below `bound` by more than chance explains.
    pub(crate) fn mean_below(self, bound: f64, sample: &Sample) -> &'a mut Evidence {
        let agrees = average(sample) + STANDARD_ERRORS * error_of(sample) < bound;
        self.add(format!("below {}", number(bound)), estimated(sample), agrees)
    }

    /// Expects the mean above `bound` by more than chance explains.
    pub(crate) fn mean_above(self, bound: f64, sample: &Sample) -> &'a mut Evidence {
        let agrees = average(sample) - STANDARD_ERRORS * error_of(sample) > bound;
        self.add(format!("above {}", number(bound)), estimated(sample), agrees)
    }

    /// Expects `measured` to be at most `bound`.
    pub(crate) fn at_most(self, bound: u64, measured: u64) -> &'a mut Evidence {
        self.add(format!("at most {bound}"), measured.to_string(), measured <= bound)
    }

    /// Expects all of `of` cases, of which there must be at least one.
    pub(crate) fn all_of(self, of: usize, measured: usize) -> &'a mut Evidence {
        let agrees = measured == of && of > 0;
        self.add(format!("all of {of}"), format!("{measured} of {of}"), agrees)
    }

    /// Expects all `cases` to be true. There must be at least one.
    pub(crate) fn all_true(self, cases: impl IntoIterator<Item = bool>) -> &'a mut Evidence {
        let cases: Vec<bool> = cases.into_iter().collect();
        self.all_of(cases.len(), cases.iter().filter(|&&case| case).count())
    }

    /// Expects a proportion above `bound`, within the confidence interval of the sample.
    pub(crate) fn share_above(self, bound: f64, sample: &Sample) -> &'a mut Evidence {
        let ci95 = sample.estimate().and_then(|it| it.ci95);
        let agrees = ci95.is_some_and(|[low, _]| low > bound);
        self.add(format!("above {}", number(bound)), estimated(sample), agrees)
    }

    /// Expects a proportion between `low` and `high`, within the error of the sample.
    ///
    /// The allowed error is that of the bounds, because a sample in which all cases agree has no
    /// error of its own. One case more or less is also allowed.
    pub(crate) fn share_between(self, low: f64, high: f64, sample: &Sample) -> &'a mut Evidence {
        let count = sample.count().max(1) as f64;
        let allowed = |share: f64| {
            let share = share.clamp(0.0, 1.0);
            STANDARD_ERRORS * (share * (1.0 - share) / count).sqrt() + 1.0 / count
        };
        let agrees = (low - allowed(low)..=high + allowed(high)).contains(&average(sample));
        self.add(range(low, high), estimated(sample), agrees)
    }

    /// Expects the proportion `expected`, within the same error.
    pub(crate) fn share(self, expected: f64, sample: &Sample) -> &'a mut Evidence {
        self.share_between(expected, expected, sample)
    }
}

fn range(low: f64, high: f64) -> String {
    format!("{} to {}", number(low), number(high))
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

/// The evidence for or against a claim.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// The main result, on one line.
    pub(super) measured: String,
    pub(super) checks: Vec<Check>,
}

impl Evidence {
    /// Adds a check of the document's statement.
    pub(crate) fn stated(&mut self, what: impl Into<String>) -> Statement<'_> {
        Statement { evidence: self, word: Word::Stated, what: what.into() }
    }

    /// Adds a check of the document's statement with our correction.
    pub(crate) fn corrected(&mut self, what: impl Into<String>) -> Statement<'_> {
        Statement { evidence: self, word: Word::Corrected, what: what.into() }
    }

    /// Adds a check of our own statement.
    pub(crate) fn ours(&mut self, what: impl Into<String>) -> Statement<'_> {
        Statement { evidence: self, word: Word::Ours, what: what.into() }
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

/// Formats the mean of a sample.
pub(crate) fn shown(sample: &Sample) -> String {
    number(average(sample))
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

    use super::{Evidence, Statement, Verdict, number};

    fn sample(values: &[f64]) -> Sample {
        let mut sample = Sample::new(Kind::Number);
        values.iter().for_each(|&value| sample.add(value));
        sample
    }

    fn agrees(compare: impl FnOnce(Statement<'_>) -> &mut Evidence) -> bool {
        compare(Evidence::default().stated("it is so")).checks[0].agrees
    }

    #[test]
    fn means_are_compared_within_their_standard_errors() {
        let (low, high) = (sample(&[0.9, 1.0, 1.1]), sample(&[1.9, 2.0, 2.1]));
        assert!(agrees(|it| it.mean(1.2, &low)) && !agrees(|it| it.mean(1.3, &low)));
        assert!(agrees(|it| it.means(&[1.0, 2.0], &[low, high])));
        assert!(!agrees(|it| it.means(&[1.0, 3.0], &[low, high])));
        assert!(!agrees(|it| it.means(&[1.0], &[low, high])) && !agrees(|it| it.means(&[], &[])));
        assert!(agrees(|it| it.alike(&low, &low)) && !agrees(|it| it.alike(&low, &high)));
        assert!(agrees(|it| it.all_below(&[high], &[low])));
        assert!(!agrees(|it| it.all_below(&[low], &[high])));
        assert!(!agrees(|it| it.all_below(&[high, high], &[low])));
        assert!(agrees(|it| it.mean_between(0.5, 0.9, &low)));
        assert!(!agrees(|it| it.mean_between(0.1, 0.2, &low)));
        assert!(agrees(|it| it.mean_below(1.3, &low)) && !agrees(|it| it.mean_below(1.2, &low)));
        assert!(agrees(|it| it.mean_above(0.7, &low)) && !agrees(|it| it.mean_above(0.8, &low)));
        let nothing = sample(&[f64::NAN]);
        assert!(!agrees(|it| it.mean_below(9.0, &nothing)));
        assert!(!agrees(|it| it.mean_above(0.0, &nothing)));
        assert!(!agrees(|it| it.mean(1.0, &nothing)));
        assert!(!agrees(|it| it.all_below(&[nothing], &[low])));
    }

    #[test]
    fn shares_are_compared_within_the_errors_of_the_bounds() {
        let share = |yes: usize| {
            let mut sample = Sample::new(Kind::Proportion);
            (0..100).for_each(|it| sample.add(f64::from(u8::from(it < yes))));
            sample
        };
        // The standard error of 0.9 is 0.03.
        assert!(agrees(|it| it.share(0.9, &share(76))));
        assert!(!agrees(|it| it.share(0.9, &share(75))));
        assert!(agrees(|it| it.share_between(0.9, 0.95, &share(100))));
        assert!(!agrees(|it| it.share_between(0.2, 0.8, &share(100))));
        assert!(!agrees(|it| it.share_between(0.0, 1.0, &sample(&[]))));
        assert!(agrees(|it| it.share(0.0001, &share(0))));
        assert!(!agrees(|it| it.share(0.0, &share(2))));
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
                evidence.stated("it is so").equal(true, agrees);
            }
            if let Some(agrees) = corrected {
                evidence.corrected("it is so, corrected").equal(true, agrees);
            }
            evidence.ours("ours do not count").equal(1, 2);
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
