//! Enums of other crates as option values. The crates that define them do not depend on clap.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hustings_protocol::announce::{Correction, Heartbeat, Takeover};
use hustings_protocol::config::Reports;
use hustings_protocol::council::{Refill, Search};
use hustings_protocol::probabilistic::{Introduction, LastRound, Recall, ReplyRule};
use hustings_protocol::wagner::Ring;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_sim::LossModel;
use hustings_sim::classics::{BullyInitiator, Order};
use hustings_sim::elections::PriorityKind;

/// Values, each with its name and its help text.
pub(crate) type Names<T> = &'static [(T, &'static str, &'static str)];

/// An enum whose values have names on the command line.
pub(crate) trait Named: Copy + PartialEq + Send + Sync + 'static {
    /// The names of the values.
    const NAMES: Names<Self>;

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
    const NAMES: Names<Self> = &[
        (Self::Uncorrelated, "uncorrelated", "Each receiver loses it by its own chance"),
        (Self::Correlated, "correlated", "All receivers lose it, or none"),
    ];
}

impl Named for BullyInitiator {
    const NAMES: Names<Self> = &[
        (Self::Lowest, "lowest", "The worst member"),
        (
            Self::SecondHighest,
            "second-highest",
            "The second best member: with the leader down, it will win",
        ),
        (Self::Random, "random", "Any one member that is up"),
        (Self::All, "all", "Every member, at once"),
    ];
}

impl Named for Order {
    const NAMES: Names<Self> = &[
        (Self::Random, "random", "Random: theory gives the mean over all orders"),
        (Self::Best, "best", "The order in which the election costs least"),
        (Self::Worst, "worst", "The order in which the election costs most"),
        (
            Self::Ascending,
            "ascending",
            "Each member better than its predecessor, as in the slides' examples; the first \
             members start. For scenarios that name members",
        ),
    ];
}

impl Named for Reports {
    const NAMES: Names<Self> = &[
        (Self::Trusted, "believed", "The receiver believes it, as in the sources"),
        (
            Self::CheckedAgainstView,
            "checked",
            "The receiver refuses a leader that is gone, or worse than the leader that it sees",
        ),
    ];
}

impl Named for PriorityKind {
    const NAMES: Names<Self> = &[
        (Self::Id, "id", "The greater identity: members are numbered from 0, the last is the best"),
        (Self::Wake, "wake", "The earlier wake-up: LE-M"),
        (
            Self::Priority,
            "priority",
            "The greater priority, 0 to 255, drawn anew for each run; between equals the lower \
             identity",
        ),
    ];
}

impl Named for Correction {
    const NAMES: Names<Self> = &[
        (Self::AtNextAnnouncement, "at-next", "With its next announcement, within T_A"),
        (Self::AtOnce, "at-once", "At once, but at most ten times in T_A"),
    ];
}

impl Named for Takeover {
    const NAMES: Names<Self> = &[
        (Self::ByTheBetter, "better", "It takes over"),
        (
            Self::Never,
            "never",
            "It follows: a leader that was unchallenged for T_S + T_A stays until members miss \
             it. If there are two, as after a partition, the leader with more followers stays",
        ),
    ];
}

impl Named for Heartbeat {
    const NAMES: Names<Self> = &[
        (Self::Restarts, "restarts", "Restarts it"),
        (
            Self::Ignored,
            "ignored",
            "No effect, as the chapter's program is printed: listeners then miss leaders that are up",
        ),
    ];
}

impl Named for LastRound {
    const NAMES: Names<Self> = &[
        (Self::Everybody, "everyone", "N: all members take part"),
        (Self::Grown, "grown", "Grown by the same factor as in every round"),
    ];
}

impl Named for Recall {
    const NAMES: Names<Self> = &[
        (
            Self::Hash,
            "hash",
            "Members whose hash is below K/N, as in the paper's figure 3: possibly none",
        ),
        (Self::Delay, "delay", "The member with the shortest hesitation, the paper's alternative"),
        (Self::All, "all", "Every member"),
    ];
}

impl Named for ReplyRule {
    const NAMES: Names<Self> = &[
        (Self::Worse, "worse", "Members with a worse choice"),
        (Self::Once, "once", "Also members with the same choice, but each only once in a round"),
        (
            Self::Literal,
            "literal",
            "All members, as in the paper's figure 3: two members that agree reply to each other \
             until time is up",
        ),
    ];
}

impl Named for Introduction {
    const NAMES: Names<Self> = &[
        (Self::View, "view", "By their views, as in the paper: one of the two must know the other"),
        (
            Self::Multicast,
            "multicast",
            "Each member multicasts its first choice: about K more multicasts in a round, for \
             any size of view",
        ),
    ];
}

impl Named for Search {
    const NAMES: Names<Self> = &[
        (Self::Printed, "printed", "As in the paper: after each round with too few replies"),
        (
            Self::Guarded,
            "guarded",
            "As in agents: from the replies to all draws together; hosts that have missed calls \
             lower it by themselves, each for itself",
        ),
    ];
}

impl Named for Refill {
    const NAMES: Names<Self> = &[
        (Self::TopUp, "top-up", "Only the missing hosts are recruited"),
        (Self::Restart, "restart", "A new council is elected, as in the paper"),
    ];
}

impl Named for Compare {
    const NAMES: Names<Self> = &[
        (
            Self::Strict,
            "strict",
            "As printed: when t is greater, or less. A probability of one half then takes three \
             flips, although one is enough",
        ),
        (Self::NonStrict, "nonstrict", "As soon as t can no longer be less, or greater"),
    ];
}

impl Named for Ring {
    const NAMES: Names<Self> = &[
        (Self::BothWays, "both-ways", "It sends its flip both ways at once: solution (a)"),
        (
            Self::Clockwise,
            "clockwise",
            "It sends its flip clockwise, and the other way after its neighbour's has arrived: solution (b). All members must agree which way is clockwise. A round takes twice as long, and an odd ring tolerates one more cheater",
        ),
    ];
}

impl Named for Selection {
    const NAMES: Names<Self> = &[
        (
            Self::Proportional,
            "proportional",
            "Either part, with a probability equal to its share of the members: fair for any \
             flips of the members",
        ),
        (
            Self::Parity,
            "parity",
            "Heads if the number of heads of all members is odd, otherwise tails: the informal protocol of the paper's introduction, in which a cheater gains",
        ),
    ];
}
