//! Counts of events: a storm without events proves nothing.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Defines the counted events, each with its name.
macro_rules! counts {
    ($($count:ident $name:literal),* $(,)?) => {
        /// A counted event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Count {
            $(#[doc = concat!("The number of: ", $name, ".")] $count),*
        }

        impl Count {
            /// All counted events.
            pub const ALL: &[Self] = &[$(Self::$count),*];

            /// The name of the event.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$count => $name),*
                }
            }
        }
    };
}

counts! {
    Schedules "schedules",
    Messages "messages",
    Lost "lost",
    CutOff "cut off",
    Doubled "doubled",
    Late "late by more than a ttl",
    Unheard "arrived where nobody was up",
    Tenures "tenures",
    Renewals "renewals",
    Releases "releases",
    Transfers "transfers",
    HandedOver "tenures after a transfer, of its heir",
    Changes "tenures of another than before",
    Refusals "refusals",
    Held "refused: held",
    Quarantined "refused: in quarantine",
    Outrun "refused: outrun",
    TtlTooLong "refused: ttl too long",
    Uninitialised "refused: not initialised",
    OutOfReach "refused: out of reach",
    VoterCrashes "crashes of voters",
    NomineeCrashes "crashes of nominees",
    Deaths "of these amid a step",
    LostDisks "lost disks",
    Replaced "voters initialised anew",
    Pauses "pauses",
    Sleeps "sleeps of a machine",
    Divisions "divisions",
    OneWayCuts "one-way cuts",
    Rates "changes of a clock's rate",
    Configurations "exchanged configurations",
    Rings "timers rung early",
    Leaves "members that left",
    Forgeries "forged messages",
}

/// The longest durations, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Longest {
    /// The longest tenure of one holder.
    pub tenure: u64,
    /// The longest pause or sleep.
    pub pause: u64,
    /// The longest delay of a message.
    pub message: u64,
}

/// Counts of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    counts: [u64; Count::ALL.len()],
    /// The longest durations.
    pub longest: Longest,
}

/// The minimum counts per million messages: about half of the actual ones.
const LEAST_IN_A_MILLION: &[(Count, u64)] = &[
    (Count::Tenures, 4_000),
    (Count::Renewals, 30_000),
    (Count::Releases, 700),
    (Count::Transfers, 700),
    (Count::HandedOver, 400),
    (Count::Changes, 2_000),
    (Count::Held, 40_000),
    (Count::Quarantined, 40_000),
    (Count::Outrun, 20_000),
    (Count::TtlTooLong, 10_000),
    (Count::Uninitialised, 8_000),
    (Count::OutOfReach, 1_000),
    (Count::Lost, 40_000),
    (Count::CutOff, 15_000),
    (Count::Doubled, 40_000),
    (Count::Late, 15_000),
    (Count::VoterCrashes, 10_000),
    (Count::NomineeCrashes, 10_000),
    (Count::Deaths, 5_000),
    (Count::Replaced, 800),
    (Count::Pauses, 8_000),
    (Count::Sleeps, 3_000),
    (Count::Divisions, 10_000),
    (Count::OneWayCuts, 10_000),
    (Count::Rates, 10_000),
    (Count::Configurations, 15_000),
    (Count::Forgeries, 3_000),
];

const MILLION: u64 = 1_000_000;

impl Tally {
    /// The count of an event.
    pub fn of(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    pub(super) fn note(&mut self, count: Count) {
        self.counts[count as usize] += 1;
    }

    /// Adds the counts of another storm.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        let (mine, its) = (&mut self.longest, other.longest);
        mine.tenure = mine.tenure.max(its.tenure);
        mine.pause = mine.pause.max(its.pause);
        mine.message = mine.message.max(its.message);
    }

    /// The events that were too rare for the storms to be meaningful. Empty below a million
    /// messages.
    pub fn shortfalls(&self) -> Vec<String> {
        let messages = self.of(Count::Messages);
        if messages < MILLION {
            return Vec::new();
        }
        let few = LEAST_IN_A_MILLION
            .iter()
            .filter(|(count, least)| self.of(*count) * MILLION < least * messages);
        few.map(|(count, least)| {
            let (name, had) = (count.name(), self.of(*count));
            format!("only {had} {name} in {messages} messages: at least {least} in a million")
        })
        .collect()
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self { counts: [0; Count::ALL.len()], longest: Longest::default() }
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for count in Count::ALL {
            map.serialize_entry(count.name(), &self.of(*count))?;
        }
        map.serialize_entry("longest, in microseconds", &self.longest)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, LEAST_IN_A_MILLION, Tally};

    #[test]
    fn storms_without_events_fall_short_of_every_minimum() {
        let mut tally = Tally::default();
        assert_eq!(tally.shortfalls(), [""; 0]);
        for _ in 0..1_000_000 {
            tally.note(Count::Messages);
        }
        assert_eq!(tally.shortfalls().len(), LEAST_IN_A_MILLION.len());
        let (count, least) = LEAST_IN_A_MILLION[0];
        for _ in 0..least {
            assert_eq!(tally.shortfalls().len(), LEAST_IN_A_MILLION.len());
            tally.note(count);
        }
        assert_eq!(tally.shortfalls().len(), LEAST_IN_A_MILLION.len() - 1);
    }
}
