//! What a member tells its user: who leads, and whether it is this member.

use std::net::SocketAddr;

use crate::{Instant, MemberId};
use serde::{Deserialize, Serialize};

/// Whom a member of a group takes for the leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leadership {
    /// The group's name.
    pub group: String,
    /// This member's name.
    pub member: String,
    /// Whether the group elects leaders at all: false with protocol `none`.
    #[serde(default = "elects")]
    pub elects: bool,
    /// The leader, if there is one. In fenced mode, who holds tenure; while nobody does, whom the election names.
    pub leader: Option<Peer>,
    /// Whether this member is the leader. In fenced mode, whether it held tenure when this was written: ask what
    /// it holds each time that it matters.
    pub leads: bool,
    /// What being the leader is worth.
    pub mode: Mode,
    /// The number that a resource checks: of the leader's tenure. None while it has none, and in advisory mode.
    pub fence: Option<u64>,
    /// Since when it is so, in nanoseconds on this host's boot clock.
    pub since: Instant,
    /// How often the leader has changed since this member came up.
    pub changes: u64,
    /// Why the leader changed last, as far as this member knows: a clause; empty before the first change.
    #[serde(default)]
    pub cause: String,
}

/// The value of [`Leadership::elects`] where it is not given.
fn elects() -> bool {
    true
}

/// What being the leader is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A nomination alone: for a while two members may both take themselves for the leader.
    Advisory,
    /// An authority grants tenure: at most one member leads, and each tenure has a higher fence.
    Fenced,
}

/// Another member, or this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its name, unique in its group.
    pub name: String,
    /// Its identity, which follows from its name.
    pub id: MemberId,
    /// Where it receives unicasts.
    pub address: Option<SocketAddr>,
}

impl Leadership {
    /// What a member knows that has just come up: nothing.
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
    /// The reason: a clause, as "its command ended with code 7".
    pub why: String,
    /// Whether something has failed, so that a person should look at it.
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
