//! Names, and the numbers that the protocols know members by.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hustings_protocol::MemberId;

use crate::frame::MOST_NAME_BYTES;

/// Returns whether a member or a group may have this name: 1 to 64 letters, digits, dots, hyphens or underscores of
/// ASCII. Every name that arrives from another member is held to this rule, so that logs, the status, the page and the
/// metrics show names as they are: no name contains a line break or a terminal's escape sequence.
pub fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.len() <= MOST_NAME_BYTES && text.bytes().all(is_plain)
}

/// The identity of the member called `name`. The same on every host and platform.
pub fn member_id(name: &str) -> MemberId {
    MemberId(hash(name))
}

/// What a group's frames are known by.
pub fn group_id(name: &str) -> u64 {
    hash(name)
}

/// Names are short and not chosen by an enemy (who would need a key): FNV-1a will do, and its high
/// bits, where the order of identities is decided, are stirred once more.
fn hash(name: &str) -> u64 {
    let folded = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let stirred = (folded ^ (folded >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    stirred ^ (stirred >> 32)
}

/// One life of a member, its incarnation: greater for each later one, as far as the host's calendar can tell. Where the
/// calendar was set back, others answer a lower one with the one that they know ([`Body::Outlived`](crate::frame::Body)),
/// and the member goes on after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Life(pub u64);

/// 2025-01-01 in seconds since 1970.
const EPOCH_SECS: u64 = 1_735_689_600;

/// The time by the host's calendar, in nanoseconds since 2025 began.
pub fn calendar() -> u64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let since = since_1970.as_nanos() as u64;
    since.saturating_sub(EPOCH_SECS * 1_000_000_000)
}

/// Warns if the calendar is before the date of this program's file, or before 2025: it cannot be right.
pub(crate) fn look_at_calendar() {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let built = file.and_then(|it| it.modified()).unwrap_or(UNIX_EPOCH);
    if let Some(days) = days_behind(SystemTime::now(), built) {
        tracing::warn!(
            "this host's calendar is {days} days before the day on which this program was built: set the clock. Elections and tenure go \
             on, but times in logs are wrong, and a host of a council takes no part"
        );
    }
}

/// The days by which `now` is before `built` or the beginning of 2025, if it is: at least one.
fn days_behind(now: SystemTime, built: SystemTime) -> Option<u64> {
    let built = built.max(UNIX_EPOCH + Duration::from_secs(EPOCH_SECS));
    let behind = built.duration_since(now).ok()?;
    let days = behind.as_secs() / 86_400;
    (days > 0).then_some(days)
}

/// The low bits of an incarnation that are drawn at random: about a millisecond. No process restarts within that time.
const RANDOM_BITS: u32 = 20;

/// The same where the calendar is before 2025, or hardly after it: then nothing else tells processes apart.
const RANDOM_BITS_WITHOUT_CALENDAR: u32 = 32;

impl Life {
    /// The life that begins when the calendar says `calendar`, in nanoseconds since 2025 began. Its low bits are those of
    /// `random`, so that two processes differ though their calendars say the same.
    pub fn begin(calendar: u64, random: u64) -> Self {
        let bits = match calendar >> RANDOM_BITS_WITHOUT_CALENDAR {
            0 => RANDOM_BITS_WITHOUT_CALENDAR,
            _ => RANDOM_BITS,
        };
        let low = (1 << bits) - 1;
        Self(calendar & !low | random & low)
    }

    /// This life, or the one after `other` if that is later.
    pub fn after(self, other: Self) -> Self {
        self.max(Self(other.0.saturating_add(1)))
    }

    /// The number of incarnations before this life, as protocols count them: quarters of a second.
    /// Enough for 34 years.
    pub fn incarnations_before(self) -> u32 {
        (self.0 / 250_000_000).min(u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::{Life, days_behind, is_name, member_id};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn names_that_could_forge_a_line_or_steer_a_terminal_are_none() {
        for name in ["a", "alpha.example.org", "db-1_b", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for text in [
            "",
            "a b",
            "a\n",
            "a\u{1b}[2J",
            "\u{9b}31m",
            "a`",
            "a/b",
            "é",
            &"x".repeat(65),
        ] {
            assert!(!is_name(text), "{text:?}");
        }
    }

    #[test]
    fn calendar_before_the_build_is_noticed() {
        let day = |number: u64| UNIX_EPOCH + Duration::from_secs(number * 86_400);
        assert_eq!(days_behind(day(0), UNIX_EPOCH), Some(20_089)); // 2025-01-01
        assert_eq!(days_behind(day(20_500), day(20_600)), Some(100));
        assert_eq!(days_behind(day(20_600), day(20_600)), None);
        // Files may be a little ahead of a clock that is right.
        assert_eq!(
            days_behind(day(20_600), day(20_600) + Duration::from_secs(3_600)),
            None
        );
    }

    #[test]
    fn identities_are_the_same_on_every_platform() {
        assert_eq!(member_id("a").0, 3_384_403_655_233_400_689);
        assert_ne!(member_id("a"), member_id("b"));
    }

    /// A restart takes longer than a millisecond.
    #[test]
    fn a_later_life_is_greater() {
        const MILLISECOND: u64 = 1 << 20;
        for calendar in [1 << 33, 1 << 50, 60 << 50] {
            let first = Life::begin(calendar, u64::MAX);
            assert!(first < Life::begin(calendar + MILLISECOND, 0));
            assert!(first.0.abs_diff(calendar) < MILLISECOND);
            let ahead = Life(first.0 + 1_000_000_000_000);
            assert!(first.after(ahead) > ahead);
            assert_eq!(first.after(Life(0)), first);
        }
        assert!(Life(300_000_000).incarnations_before() > Life(0).incarnations_before());
    }

    /// As on a host without a clock that runs while it is off: its calendar begins with 1970 at each start.
    #[test]
    fn lives_differ_though_the_calendar_says_nothing() {
        let lives = (0..1_000_u64).map(|it| it.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let lives = lives.map(|random| Life::begin(0, random));
        let lives: std::collections::BTreeSet<Life> = lives.collect();
        assert_eq!(lives.len(), 1_000);
        // All are before any life of a host whose calendar is right.
        assert!(lives.iter().all(|it| *it < Life::begin(1 << 33, 0)));
    }
}
