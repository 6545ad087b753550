//! The leadership of a group, as a member reports it to its user.

use std::net::SocketAddr;

use crate::{Instant, MemberId};
use serde::{Deserialize, Serialize};

/// The leader of a group as one member knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leadership {
    /// The group's name.
    pub group: String,
    /// This member's name.
    pub member: String,
    /// True if the group elects leaders; false with protocol `none`.
    #[serde(default = "elects")]
    pub elects: bool,
    /// The leader, if there is one. In fenced mode, the holder of tenure, or the nominee while no
    /// member holds tenure.
    pub leader: Option<Peer>,
    /// True if this member is the leader. In fenced mode, true if it held tenure when this was
    /// written: query its tenure each time that it matters.
    pub leads: bool,
    /// The guarantee behind the leadership.
    pub mode: Mode,
    /// The number of the leader's tenure, which a resource checks. None while the leader has no
    /// tenure, and in advisory mode.
    pub fence: Option<u64>,
    /// The time of the last change, in nanoseconds on this host's boot clock.
    pub since: Instant,
    /// The number of changes of the leader since this member came up.
    pub changes: u64,
    /// The reason for the last change, as far as this member knows: a clause, empty before the
    /// first change.
    #[serde(default)]
    pub cause: String,
}

/// The value of [`Leadership::elects`] where it is not given.
fn elects() -> bool {
    true
}

/// The guarantee behind a leadership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A nomination alone: two members may both lead for a while.
    Advisory,
    /// An authority grants tenure: at most one member leads, and each tenure has a higher fence.
    Fenced,
}

/// Another member, or this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The name, unique in its group.
    pub name: String,
    /// The identity, which follows from the name.
    pub id: MemberId,
    /// The address for unicasts.
    pub address: Option<SocketAddr>,
}

impl Leadership {
    /// The leadership that a member knows when it has just come up: none.
    pub fn unknown(group: &str, member: &str, mode: Mode, now: Instant) -> Self {
        Self {
            group: group.to_owned(),
            member: member.to_owned(),
            elects: elects(),
            leader: None,
            leads: false,
            mode,
            fence: None,
            since: now,
            changes: 0,
            cause: String::new(),
        }
    }
}

/// The reason for which a member gives up leadership by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resignation {
    /// The reason: a clause, as "this member's command ended with code 7".
    pub why: String,
    /// True if something has failed, so that an operator should look at it.
    pub is_failure: bool,
}

#[cfg(test)]
mod tests {
    use super::Peer;
    use crate::MemberId;

    /// 2^53 + 1 is the first number that floating point rounds.
    const ROUNDED: u64 = (1 << 53) + 1;

    #[test]
    fn an_identity_is_a_string_in_json_and_read_as_a_number_too() {
        let peer = Peer { name: "alpha".to_owned(), id: MemberId(ROUNDED), address: None };
        let text = serde_json::to_string(&peer).unwrap();
        let written = r#"{"name":"alpha","id":"9007199254740993","address":null}"#;
        assert_eq!(text, written);
        let earlier = written.replace("\"9007199254740993\"", "9007199254740993");
        for text in [written, &earlier] {
            assert_eq!(serde_json::from_str::<Peer>(text).unwrap(), peer);
        }
        for wrong in ["\"\"", "\"+5\"", "\"x\"", "\"18446744073709551616\"", "-1", "0.5"] {
            let text = written.replace("\"9007199254740993\"", wrong);
            assert!(serde_json::from_str::<Peer>(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn on_the_wire_an_identity_is_the_number_that_it_always_was() {
        let bytes = postcard::to_allocvec(&MemberId(ROUNDED)).unwrap();
        assert_eq!(bytes, postcard::to_allocvec(&ROUNDED).unwrap());
        assert_eq!(postcard::from_bytes(&bytes), Ok(MemberId(ROUNDED)));
    }
}
