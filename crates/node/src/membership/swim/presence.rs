//! The identity of a member in the messages of the failure detector.
//!
//! Purpose     name, incarnation, priority and address of a member, as foca passes them on
//! Inputs      encoded messages of other members
//! Outputs     the same messages with the unknown addresses filled in
//! Owns        nothing
//! Invariants  a name matches its identity in every message that is accepted
//!
//! A member that receives at all addresses of its host does not know which one others can use. It
//! leaves its address blank, and the first receiver fills in the source address. From there on the
//! address travels with the updates.

use std::net::{Ipv6Addr, SocketAddr};

use foca::{Header, Identity, Member, Message};
use hustings_protocol::{Candidate, MemberId, Priority};
use serde::{Deserialize, Serialize};

use crate::driver::{decode, encode};
use crate::frame::Sender;
use crate::identity::{is_name, member_id};
use crate::membership::member_table::{localize, widen};
use crate::seal::Rejected;

/// A member in one of its incarnations. Two values are equal if identity, incarnation and returns
/// are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Presence {
    pub(super) id: MemberId,
    pub(super) incarnation: u64,
    /// The number of times it came back in this incarnation, because other members took it for dead
    /// or because its priority changed.
    returns: u32,
    pub(super) priority: Priority,
    /// True if it takes part in elections.
    pub(super) stands: bool,
    pub(super) name: String,
    /// An IPv6 address, or an IPv4 address mapped to IPv6. Filling it in does not lengthen a
    /// message.
    ip: Ipv6Addr,
    port: u16,
}

impl Presence {
    /// This member.
    pub(super) fn of_ourselves(sender: &Sender<'_>, priority: Priority) -> Self {
        Self {
            id: sender.id,
            incarnation: sender.incarnation.0,
            returns: 0,
            priority,
            stands: true,
            name: sender.name.to_owned(),
            ip: Ipv6Addr::UNSPECIFIED,
            port: sender.port,
        }
    }

    /// This member, if it takes no part in elections.
    pub(super) fn of_bystander(sender: &Sender<'_>) -> Self {
        Self { stands: false, ..Self::of_ourselves(sender, Priority(0)) }
    }

    /// A member of which only a frame is known: enough to send to it.
    pub(super) fn of_stranger(sender: &Sender<'_>, address: SocketAddr) -> Self {
        let mut stranger = Self::of_ourselves(sender, Priority(0));
        stranger.ip = widen(address.ip());
        stranger
    }

    /// Makes this value later than `before`, even if the calendar was set back. Keeps `stands`.
    pub(super) fn after(mut self, before: &Self) -> Self {
        self.stands = before.stands;
        if self.incarnation <= before.incarnation {
            self.incarnation = before.incarnation;
            self.returns = before.returns.saturating_add(1);
        }
        self
    }

    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.to_canonical(), self.port)
    }

    pub(super) fn candidate(&self) -> Candidate {
        Candidate { priority: self.priority, id: self.id }
    }

    fn is_fit(&self) -> bool {
        is_name(&self.name) && member_id(&self.name) == self.id
    }
}

impl PartialEq for Presence {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.incarnation, self.returns) == (other.id, other.incarnation, other.returns)
    }
}

impl Eq for Presence {}

impl Identity for Presence {
    type Addr = MemberId;

    /// Other members took this live member for dead: it comes back.
    fn renew(&self) -> Option<Self> {
        Some(self.clone().after(self))
    }

    fn addr(&self) -> MemberId {
        self.id
    }

    fn win_addr_conflict(&self, other: &Self) -> bool {
        (self.incarnation, self.returns) > (other.incarnation, other.returns)
    }
}

/// Fills in the addresses that the sender of a message, at `from`, could not know. Returns the
/// sender and the message.
///
/// An address on the sender's own loopback becomes the sender's address.
pub(super) fn fill_in_addresses(
    bytes: &[u8],
    from: SocketAddr,
) -> Result<(MemberId, Vec<u8>), Rejected> {
    let (mut header, mut rest) = decode::<Header<Presence>>(bytes)?;
    let ip = widen(from.ip());
    header.src.ip = ip;
    header.src.port = from.port();
    match &mut header.message {
        Message::PingReq { target: it, .. }
        | Message::IndirectPing { origin: it, .. }
        | Message::IndirectAck { target: it, .. }
        | Message::ForwardedAck { origin: it, .. } => localize(&mut it.ip, ip),
        Message::Ping(_)
        | Message::Ack(_)
        | Message::Announce
        | Message::Feed
        | Message::Gossip
        | Message::Broadcast
        | Message::TurnUndead => {}
    }
    if !header.src.is_fit() {
        return Err(Rejected::Malformed);
    }
    let mut filled = encode(&header);
    if let Some((count, mut members)) = rest.split_first_chunk::<2>() {
        filled.extend_from_slice(count);
        for _ in 0..u16::from_be_bytes(*count) {
            let (member, others) = decode::<Member<Presence>>(members)?;
            let mut presence = member.id().clone();
            if !presence.is_fit() {
                return Err(Rejected::Malformed);
            }
            localize(&mut presence.ip, ip);
            let member = Member::new(presence, member.incarnation(), member.state());
            filled.extend(encode(&member));
            members = others;
        }
        rest = members;
    }
    if rest.is_empty() { Ok((header.src.id, filled)) } else { Err(Rejected::Malformed) }
}

/// The kind of a message; none if it is malformed.
pub(super) fn message(bytes: &[u8]) -> Option<Message<Presence>> {
    let (header, _) = decode::<Header<Presence>>(bytes).ok()?;
    Some(header.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Incarnation;

    #[test]
    fn presence_with_forbidden_name_is_refused() {
        for (name, is_one) in [("a", true), ("a\n", false), ("\u{1b}[2J", false), ("", false)] {
            let sender = Sender::new(name, member_id(name), Incarnation(1), 7400);
            let presence = Presence::of_ourselves(&sender, Priority(0));
            assert_eq!(presence.is_fit(), is_one, "{name:?}");
        }
    }
}
