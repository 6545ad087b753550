//! Counts of events: a storm without events proves nothing.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Defines the counted events, each with its name and its minimum per million messages: about half
/// of the actual count.
macro_rules! counts {
    ($($count:ident $name:literal $least:literal),* $(,)?) => {
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

            fn least_in_a_million(self) -> u64 {
                match self {
                    $(Self::$count => $least),*
                }
            }
        }
    };
}

counts! {
    Schedules "schedules" 0,
    Messages "messages" 0,
    Lost "lost" 40_000,
    CutOff "cut off" 15_000,
    Doubled "doubled" 40_000,
    Late "late by more than a ttl" 15_000,
    Unheard "arrived where nobody was up" 0,
    Tenures "tenures" 4_000,
    Renewals "renewals" 30_000,
    Releases "releases" 700,
    Transfers "transfers" 700,
    HandedOver "tenures after a transfer, of its heir" 400,
    Changes "tenures of another than before" 2_000,
    Refusals "refusals" 0,
    Held "refused: held" 40_000,
    Quarantined "refused: in quarantine" 40_000,
    Outrun "refused: outrun" 20_000,
    TtlTooLong "refused: ttl too long" 10_000,
    Uninitialised "refused: not initialised" 8_000,
    OutOfReach "refused: out of reach" 1_000,
    VoterCrashes "crashes of voters" 10_000,
    NomineeCrashes "crashes of nominees" 10_000,
    Deaths "of these amid a step" 5_000,
    LostDisks "lost disks" 0,
    Replaced "voters initialised anew" 800,
    Pauses "pauses" 8_000,
    Sleeps "sleeps of a machine" 3_000,
    Divisions "divisions" 10_000,
    OneWayCuts "one-way cuts" 10_000,
    Rates "changes of a clock's rate" 10_000,
    Configurations "exchanged configurations" 15_000,
    Rings "timers rung early" 0,
    Leaves "members that left" 0,
    Forgeries "forged messages" 3_000,
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
        let is_few = |it: &&Count| self.of(**it) * MILLION < it.least_in_a_million() * messages;
        let few = Count::ALL.iter().filter(is_few);
        few.map(|&count| {
            let (name, had, least) = (count.name(), self.of(count), count.least_in_a_million());
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
    use super::{Count, Tally};

    #[test]
    fn storms_without_events_fall_short_of_every_minimum() {
        let mut tally = Tally::default();
        assert_eq!(tally.shortfalls(), [""; 0]);
        for _ in 0..1_000_000 {
            tally.note(Count::Messages);
        }
        assert_eq!(tally.shortfalls().len(), 27);
        for _ in 0..4_000 {
            assert_eq!(tally.shortfalls().len(), 27);
            tally.note(Count::Tenures);
        }
        assert_eq!(tally.shortfalls().len(), 26);
    }
}
