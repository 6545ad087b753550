//! Names, and the numbers that the protocols know members by.

use std::time::{SystemTime, UNIX_EPOCH};

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

/// One life of a member: greater for each later one, as far as the host's calendar can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Life(pub u64);

/// 2025-01-01 in seconds since 1970.
const EPOCH_SECS: u64 = 1_735_689_600;

/// The time by the host's calendar, in nanoseconds since 2025 began.
pub(crate) fn calendar() -> u64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let since = since_1970.as_nanos() as u64;
    since.saturating_sub(EPOCH_SECS * 1_000_000_000)
}

impl Life {
    /// The life that begins now.
    pub fn begin() -> Self {
        Self(calendar())
    }

    /// The life that begins now, after `other`, whatever the calendar says.
    pub fn begin_after(other: Self) -> Self {
        Self::begin().max(Self(other.0.saturating_add(1)))
    }

    /// The number of incarnations before this life, as protocols count them: quarters of a second.
    /// Enough for 34 years.
    pub fn incarnations_before(self) -> u32 {
        (self.0 / 250_000_000).min(u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::{Life, is_name, member_id};

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
    fn identities_are_the_same_on_every_platform() {
        assert_eq!(member_id("a").0, 3_384_403_655_233_400_689);
        assert_ne!(member_id("a"), member_id("b"));
    }

    #[test]
    fn a_later_life_is_greater() {
        let first = Life::begin();
        assert!(first <= Life::begin());
        let ahead = Life(first.0 + 1_000_000_000_000);
        assert!(Life::begin_after(ahead) > ahead);
        assert!(Life::begin_after(Life(0)) >= first);
        assert!(Life(300_000_000).incarnations_before() > Life(0).incarnations_before());
    }
}
