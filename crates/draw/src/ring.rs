//! The ring file: the members of a draw, their order, and the rules. All members need the same
//! file.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};
use std::path::Path;
use std::str::FromStr;

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_protocol::wagner::{self, Config};
use hustings_protocol::{Candidate, Duration, MemberId, Roster};
use serde::Deserialize;
use sha2::Digest as _;

use super::bytes::{Bytes, Digest, encode};
use super::keys::PublicKey;

/// The largest number of members. A Basic round has 2 N^2 messages.
const MOST_MEMBERS: usize = 1_000;

/// The longest name of a member or a draw, in bytes.
const LONGEST_NAME: usize = 64;

/// The default time within which a neighbour must answer.
const RESPOND_WITHIN: Duration = Duration::from_secs(10);

/// A draw: its name and number, its members, and its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    /// The name of the draw: what the members draw for.
    pub draw: String,
    /// The number of the draw. Each number is used once.
    pub number: u64,
    /// The members in clockwise order.
    pub members: Vec<Member>,
    /// The rules of the protocol.
    pub config: Config,
}

/// A member of the ring.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The name.
    pub name: String,
    /// The host and port to which the left neighbour connects.
    pub address: String,
    /// The public key.
    pub key: PublicKey,
}

/// The reason for which a ring file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadRing(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    draw: String,
    number: u64,
    compare: Option<Compare>,
    direction: Option<wagner::Ring>,
    stall_limit: Option<u32>,
    respond_within: Option<String>,
    #[serde(default)]
    member: Vec<Member>,
}

impl Ring {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// A description of the first problem in the file.
    pub fn read(path: &Path) -> Result<Self, BadRing> {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| BadRing(format!("cannot read it: {error}")))?.parse()
    }

    /// Checks that a draw can be held with this ring.
    fn check(self) -> Result<Self, BadRing> {
        let bad = |what: String| Err(BadRing(what));
        let members = self.members.len();
        let fewest = self.config.ring.fewest() as usize;
        if members < fewest {
            let remedy = match members {
                3 => ", or 3 with direction = \"clockwise\"",
                _ => "",
            };
            return bad(format!(
                "{members} members cannot bind each other to their flips: {fewest} are \
                 needed{remedy}"
            ));
        }
        if members > MOST_MEMBERS {
            return bad(format!("{members} members are above the limit of {MOST_MEMBERS}"));
        }
        check_name("draw", &self.draw)?;
        for (place, member) in self.members.iter().enumerate() {
            let Member { name, address, key } = member;
            check_name("member", name)?;
            hustings_system::place(address)
                .map_err(|what| BadRing(format!("member {name}: address {address}: {what}")))?;
            for other in &self.members[..place] {
                let same = match other {
                    _ if other.name == *name => "name",
                    _ if other.key == *key => "key",
                    _ if other.address == *address => "address",
                    _ => continue,
                };
                return bad(format!("members {} and {name} have the same {same}", other.name));
            }
        }
        Ok(self)
    }

    /// The digest of the ring, the draw's name and its number. Comments and the order of fields in
    /// the file do not change it.
    pub fn digest(&self) -> Digest {
        let Config { ring, selection, compare, stall_limit, respond_within } = self.config;
        let members: Vec<_> =
            self.members.iter().map(|it| (&it.name, &it.address, it.key)).collect();
        let content = (
            ("hustings ring 1", &self.draw, self.number),
            (
                ring == wagner::Ring::Clockwise,
                selection == Selection::Proportional,
                compare == Compare::Strict,
            ),
            (stall_limit, respond_within.map(|it| it.0)),
            members,
        );
        Bytes(sha2::Sha256::digest(encode(&content)).into())
    }

    /// The place of the member called `name`.
    pub fn place_of(&self, name: &str) -> Option<u32> {
        let place = self.members.iter().position(|it| it.name == name);
        place.map(|it| it as u32)
    }

    /// The member at `place`, taken modulo the number of members.
    pub fn member(&self, place: u32) -> &Member {
        &self.members[place as usize % self.members.len()]
    }

    /// The name of the member at `place`, taken modulo the number of members.
    pub(super) fn name(&self, place: u32) -> &str {
        &self.member(place).name
    }

    /// The time within which a neighbour must answer.
    pub(super) fn respond_within(&self) -> Duration {
        self.config.respond_within.unwrap_or(RESPOND_WITHIN)
    }

    /// The number of members.
    pub fn len(&self) -> u32 {
        self.members.len() as u32
    }

    /// False for every ring that was read from a file: an empty ring is refused.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The place next to `place` on `side`.
    pub(super) fn neighbour(&self, place: u32, side: Side) -> u32 {
        match side {
            Side::Left => (place % self.len() + self.len() - 1) % self.len(),
            Side::Right => (place % self.len() + 1) % self.len(),
        }
    }

    /// The members as the protocol sees them. Their ids are their places.
    pub(super) fn roster(&self) -> Roster {
        let mut roster = Roster::alone(candidate(0));
        for place in 1..self.len() {
            roster.insert(candidate(place));
        }
        roster
    }
}

/// A pair of values, one for each neighbour.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sides<T> {
    pub(super) left: T,
    pub(super) right: T,
}

impl<T> Sides<T> {
    pub(super) fn both(&self) -> [&T; 2] {
        [&self.left, &self.right]
    }
}

impl<T> Index<Side> for Sides<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }
}

impl<T> IndexMut<Side> for Sides<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }
}

/// The member at `place` as the protocol sees it.
pub(super) fn candidate(place: u32) -> Candidate {
    Candidate::new(u64::from(place), 0)
}

/// The place of a member that the protocol names.
pub(super) fn place(MemberId(id): MemberId) -> u32 {
    id as u32 // made by `candidate`
}

/// Checks that a name fits in one printed line and in a file name.
fn check_name(what: &str, name: &str) -> Result<(), BadRing> {
    let fits = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | '.' | ' ');
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
        return Ok(());
    }
    Err(BadRing(format!(
        "{what} `{}`: a name has 1 to {LONGEST_NAME} letters, digits, spaces, `-`, `_` and `.`",
        name.escape_debug()
    )))
}

impl FromStr for Ring {
    type Err = BadRing;

    fn from_str(text: &str) -> Result<Self, BadRing> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].lines().count().max(1));
            let place = line.map_or_else(String::new, |line| format!("near line {line}: "));
            BadRing(format!("{place}{}", error.message()))
        })?;
        let respond_within = match &file.respond_within {
            Some(text) => hustings_system::some_time(text)
                .map_err(|what| BadRing(format!("respond_within = \"{text}\": {what}")))?,
            None => RESPOND_WITHIN,
        };
        let stall_limit = match file.stall_limit {
            Some(limit) => NonZeroU32::new(limit).ok_or_else(|| {
                BadRing("stall_limit = 0 ends every draw: choose 1 or more".to_owned())
            })?,
            None => Config::USUAL_STALL_LIMIT,
        };
        let ring = Self {
            draw: file.draw,
            number: file.number,
            members: file.member,
            config: Config {
                ring: file.direction.unwrap_or(wagner::Ring::BothWays),
                selection: Selection::Proportional,
                compare: file.compare.unwrap_or(Compare::NonStrict),
                stall_limit: Some(stall_limit),
                respond_within: Some(respond_within),
            },
        };
        ring.check()
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use crate::keys::Secret;

    fn text(options: &str, members: &[(&str, &str)]) -> String {
        let mut text = format!("draw = \"chair\"\nnumber = 1\n{options}\n");
        for (name, address) in members {
            let key = Secret::generate().unwrap().public();
            text += &format!(
                "[[member]]\nname = \"{name}\"\naddress = \"{address}\"\nkey = \"{key}\"\n"
            );
        }
        text
    }

    const FOUR: [(&str, &str); 4] = [("a", "h:1"), ("b", "h:2"), ("c", "h:3"), ("d", "h:4")];

    #[test]
    fn invalid_ring_file_is_refused_with_a_reason() {
        let refused = |text: String| text.parse::<Ring>().unwrap_err().to_string();
        let check = |options, members: &[_], expected: &str| {
            let signed = refused(text(options, members));
            assert!(signed.contains(expected), "{signed}");
        };
        check("", &FOUR[..2], "2 members cannot bind each other to their flips: 4");
        check("", &FOUR[..3], "or 3 with direction = \"clockwise\"");
        check("stall_limit = 0", &FOUR, "choose 1 or more");
        check("respond_within = \"0s\"", &FOUR, "too short");
        check("respond_within = \"soon\"", &FOUR, "not a duration");
        check("direction = \"left\"", &FOUR, "line 3: unknown variant `left`");
        check("colour = 1", &FOUR, "unknown field `colour`");
        let twice = |first, second| {
            let mut members = FOUR;
            members[3] = (first, second);
            members
        };
        check("", &twice("a", "h:4"), "members a and a have the same name");
        check("", &twice("d", "h:1"), "members a and d have the same address");
        check("", &twice("d", "h"), "not a host and a port");
        check("", &twice("", "h:4"), "a name has 1 to 64");
        check("", &twice("../d", "h:4"), "a name has 1 to 64");
        let same_key = {
            let text = text("", &FOUR);
            let keys: Vec<&str> = text.lines().filter(|it| it.starts_with("key")).collect();
            text.replace(keys[1], keys[0])
        };
        assert!(refused(same_key).contains("members a and b have the same key"));
        let weak = text("", &FOUR).replace("key = \"", "key = \"00");
        assert!(refused(weak).contains("near line"));
    }

    #[test]
    fn digest_depends_on_every_setting_but_not_on_layout() {
        let plain = text("", &FOUR);
        let digest = |text: &str| text.parse::<Ring>().unwrap().digest();
        let same = plain.replace("number = 1", "# the first\nnumber   = 1");
        assert_eq!(digest(&plain), digest(&same));
        for (old, new) in [
            ("number = 1", "number = 2"),
            ("\"chair\"", "\"table\""),
            ("\"a\"", "\"e\""),
            ("h:3", "h:5"),
            ("number = 1", "number = 1\ncompare = \"strict\""),
            ("number = 1", "number = 1\ndirection = \"clockwise\""),
            ("number = 1", "number = 1\nstall_limit = 41"),
            ("number = 1", "number = 1\nrespond_within = \"11s\""),
        ] {
            assert_ne!(digest(&plain), digest(&plain.replace(old, new)), "{new}");
        }
    }
}
