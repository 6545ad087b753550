//! Names, and the numbers that the protocols know members and groups by.

use crate::MemberId;

/// The longest name of a member or a group.
pub const MOST_NAME_BYTES: usize = 64;

/// The rule for names, as a clause of error messages.
pub const NAME_RULE: &str = "1 to 64 letters, digits, dots, hyphens or underscores are needed";

/// Returns true if a member or a group may have this name: 1 to 64 letters, digits, dots, hyphens or
/// underscores of ASCII. Names from other members are checked too. So logs, the status, the page and
/// the metrics show names as they are: no name contains a line break or an escape sequence.
pub fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.len() <= MOST_NAME_BYTES && text.bytes().all(is_plain)
}

/// The identity of the member called `name`, the same on every host and platform.
pub fn member_id(name: &str) -> MemberId {
    MemberId(hash(name))
}

/// The number by which frames name the group called `name`.
pub fn group_id(name: &str) -> u64 {
    hash(name)
}

/// FNV-1a, with its high bits mixed once more, because they decide the order of identities. Names
/// are short, and an attacker cannot choose them without the group's key.
fn hash(name: &str) -> u64 {
    let folded = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let stirred = (folded ^ (folded >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    stirred ^ (stirred >> 32)
}

#[cfg(test)]
mod tests {
    use super::{MOST_NAME_BYTES, NAME_RULE, is_name, member_id};

    #[test]
    fn the_rule_tells_the_bound() {
        assert!(NAME_RULE.starts_with(&format!("1 to {MOST_NAME_BYTES} ")));
    }

    #[test]
    fn names_that_could_forge_a_line_or_steer_a_terminal_are_none() {
        for name in ["a", "alpha.example.org", "db-1_b", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for text in ["", "a b", "a\n", "a\u{1b}[2J", "\u{9b}31m", "a`", "a/b", "é", &"x".repeat(65)]
        {
            assert!(!is_name(text), "{text:?}");
        }
    }

    #[test]
    fn identities_are_the_same_on_every_platform() {
        assert_eq!(member_id("a").0, 3_384_403_655_233_400_689);
        assert_ne!(member_id("a"), member_id("b"));
    }
}
