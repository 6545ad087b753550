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
        name_in(Self::NAMES, &self)
    }
}

/// Returns the name of a value in a table, or an empty text if it has none.
pub(crate) fn name_in<T: PartialEq>(names: Names<T>, value: &T) -> &'static str {
    names.iter().find(|(other, _, _)| other == value).map_or("", |(_, name, _)| name)
}

/// Returns what clap shows of a table.
pub(crate) fn possible_values<T>(names: Names<T>) -> impl Iterator<Item = PossibleValue> {
    names.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help))
}

/// Returns a parser of the names in a table.
pub(crate) fn one_in<T>(names: Names<T>) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(possible_values(names)).map(|chosen| {
        let found = names.iter().find(|(_, name, _)| *name == chosen);
        found.expect("clap lets nothing else through").0
    })
}

/// Returns a parser of the names of an enum.
pub(crate) fn one_of<T: Named>() -> impl TypedValueParser<Value = T> {
    one_in(T::NAMES)
}

/// Makes a table of names. As in clap, the comment of a value is its help text.
macro_rules! names {
    ($type:ident { $($(#[doc = $help:literal])+ $value:ident = $name:literal,)+ }) => {
        &[$(($type::$value, $name, concat!($($help),+).trim_ascii_start())),+]
    };
}
pub(crate) use names;

/// Implements [`Named`] for enums.
macro_rules! named {
    ($($type:ident $values:tt)+) => {
        $(impl Named for $type {
            const NAMES: Names<Self> = names!($type $values);
        })+
    };
}

named! {
    LossModel {
        /// Each receiver loses it by its own chance
        Uncorrelated = "uncorrelated",
        /// All receivers lose it, or none
        Correlated = "correlated",
    }
    BullyInitiator {
        /// The worst member
        Lowest = "lowest",
        /// The second best member: with the leader down, it will win
        SecondHighest = "second-highest",
        /// Any one member that is up
        Random = "random",
        /// Every member, at once
        All = "all",
    }
    Order {
        /// Random: theory gives the mean over all orders
        Random = "random",
        /// The order in which the election costs least
        Best = "best",
        /// The order in which the election costs most
        Worst = "worst",
        /// Each member better than its predecessor, as in the slides' examples; the first members
        /// start. For scenarios that name members
        Ascending = "ascending",
    }
    Reports {
        /// The receiver believes it, as in the sources
        Trusted = "believed",
        /// The receiver refuses a leader that is gone, or worse than the leader that it sees
        CheckedAgainstView = "checked",
    }
    PriorityKind {
        /// The greater identity: members are numbered from 0, the last is the best
        Id = "id",
        /// The earlier wake-up: LE-M
        Wake = "wake",
        /// The greater priority, 0 to 255, drawn anew for each run; between equals the lower
        /// identity
        Priority = "priority",
    }
    Correction {
        /// With its next announcement, within T_A
        AtNextAnnouncement = "at-next",
        /// At once, but at most ten times in T_A
        AtOnce = "at-once",
    }
    Takeover {
        /// It takes over
        ByTheBetter = "better",
        /// It follows: a leader that was unchallenged for T_S + T_A stays until members miss it. If
        /// there are two, as after a partition, the leader with more followers stays
        Never = "never",
    }
    Heartbeat {
        /// Restarts it
        Restarts = "restarts",
        /// No effect, as the chapter's program is printed: listeners then miss leaders that are up
        Ignored = "ignored",
    }
    LastRound {
        /// N: all members take part
        Everybody = "everyone",
        /// Grown by the same factor as in every round
        Grown = "grown",
    }
    Recall {
        /// Members whose hash is below K/N, as in the paper's figure 3: possibly none
        Hash = "hash",
        /// The member with the shortest hesitation, the paper's alternative
        Delay = "delay",
        /// Every member
        All = "all",
    }
    ReplyRule {
        /// Members with a worse choice
        Worse = "worse",
        /// Also members with the same choice, but each only once in a round
        Once = "once",
        /// All members, as in the paper's figure 3: two members that agree reply to each other
        /// until time is up
        Literal = "literal",
    }
    Introduction {
        /// By their views, as in the paper: one of the two must know the other
        View = "view",
        /// Each member multicasts its first choice: about K more multicasts in a round, for any
        /// size of view
        Multicast = "multicast",
    }
    Search {
        /// As in the paper: after each round with too few replies
        Printed = "printed",
        /// As in agents: from the replies to all draws together; hosts that have missed calls lower
        /// it by themselves, each for itself
        Guarded = "guarded",
    }
    Refill {
        /// Only the missing hosts are recruited
        TopUp = "top-up",
        /// A new council is elected, as in the paper
        Restart = "restart",
    }
    Compare {
        /// As printed: when t is greater, or less. A probability of one half then takes three
        /// flips, although one is enough
        Strict = "strict",
        /// As soon as t can no longer be less, or greater
        NonStrict = "nonstrict",
    }
    Ring {
        /// It sends its flip both ways at once: solution (a)
        BothWays = "both-ways",
        /// It sends its flip clockwise, and the other way after its neighbour's has arrived:
        /// solution (b). All members must agree which way is clockwise. A round takes twice as
        /// long, and an odd ring tolerates one more cheater
        Clockwise = "clockwise",
    }
    Selection {
        /// Either part, with a probability equal to its share of the members: fair for any flips of
        /// the members
        Proportional = "proportional",
        /// Heads if the number of heads of all members is odd, otherwise tails: the informal
        /// protocol of the paper's introduction, in which a cheater gains
        Parity = "parity",
    }
}
