//! Enums of other crates as option values. The crates that define them do not depend on clap.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hustings_protocol::config::Reports;
use hustings_sim::LossModel;
use hustings_sim::classics::{BullyInitiator, Order};
use hustings_sim::elections::PriorityKind;

/// An enum whose values have names on the command line.
pub(crate) trait Named: Copy + PartialEq + Send + Sync + 'static {
    /// Each value with its name and its help text.
    const NAMES: &'static [(Self, &'static str, &'static str)];

    /// Returns the value's name on the command line.
    fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(value, _, _)| *value == self);
        found.map_or("", |(_, name, _)| name)
    }
}

/// Returns a parser of the names.
pub(crate) fn one_of<T: Named>() -> impl TypedValueParser<Value = T> {
    let values = T::NAMES.iter();
    let values = values.map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).map(|chosen| {
        let found = T::NAMES.iter().find(|(_, name, _)| *name == chosen);
        found.expect("clap lets nothing else through").0
    })
}

impl Named for LossModel {
    const NAMES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Uncorrelated, "uncorrelated", "Each receiver loses it by its own chance"),
        (Self::Correlated, "correlated", "All receivers lose it, or none"),
    ];
}

impl Named for BullyInitiator {
    const NAMES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Lowest, "lowest", "The worst member"),
        (
            Self::SecondHighest,
            "second-highest",
            "The best but one: with the leader down, the one that will win",
        ),
        (Self::Random, "random", "Any one member that is up"),
        (Self::All, "all", "Every member, at once"),
    ];
}

impl Named for Order {
    const NAMES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Random, "random", "Anywhere: theory gives the mean over all orders"),
        (Self::Best, "best", "Where the election costs least"),
        (Self::Worst, "worst", "Where the election costs most"),
        (
            Self::Ascending,
            "ascending",
            "Each better than the one before, as in the slides' examples; the first members start. For scenarios that name members",
        ),
    ];
}

impl Named for Reports {
    const NAMES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Trusted, "believed", "Believes it, as in the sources"),
        (
            Self::CheckedAgainstView,
            "checked",
            "Refuses to name who is gone, or worse than the leader it sees",
        ),
    ];
}

impl Named for PriorityKind {
    const NAMES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Id, "id", "The greater identity: members are numbered from 0, the last is the best"),
        (Self::Wake, "wake", "The earlier wake-up: LE-M"),
        (
            Self::Priority,
            "priority",
            "The greater priority, 0 to 255, drawn anew for each run; of equals the lower identity",
        ),
    ];
}
