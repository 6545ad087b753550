//! A member as failure detectors tell each other of it: who it is, in which life, and where.
//!
//! A member that receives at all of its host's addresses does not know which of them others can use.
//! So it leaves the address blank, and whoever hears it fills in where it heard it; from there on the
//! address goes with the news of it.

use std::net::{Ipv6Addr, SocketAddr};

use foca::{Header, Identity, Member, Message};
use hustings_protocol::{Candidate, MemberId, Merit};
use serde::{Deserialize, Serialize};

use crate::frame::Sender;
use crate::identity::{is_name, member_id};
use crate::membership::place::{localize, widen};
use crate::seal::Rejected;

/// A member in one of its lives. Two are the same if identity, life and return are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Presence {
    pub(super) id: MemberId,
    pub(super) life: u64,
    /// How often it has come back in this life, after others had given it up or with another merit.
    returns: u32,
    pub(super) merit: Merit,
    /// Whether it takes part in elections.
    pub(super) stands: bool,
    pub(super) name: String,
    /// As an address of IPv6, whatever it is: filling it in then does not lengthen a message.
    ip: Ipv6Addr,
    port: u16,
}

impl Presence {
    /// This member itself.
    pub(super) fn of_ourselves(sender: &Sender<'_>, merit: Merit) -> Self {
        Self {
            id: sender.id,
            life: sender.life().0,
            returns: 0,
            merit,
            stands: true,
            name: sender.name.to_owned(),
            ip: Ipv6Addr::UNSPECIFIED,
            port: sender.port,
        }
    }

    /// This member itself, if it takes no part in elections.
    pub(super) fn of_bystander(sender: &Sender<'_>) -> Self {
        Self {
            stands: false,
            ..Self::of_ourselves(sender, Merit(0))
        }
    }

    /// Somebody of whom no more is known than a frame tells. Enough to write to it.
    pub(super) fn of_stranger(sender: &Sender<'_>, address: SocketAddr) -> Self {
        let mut stranger = Self::of_ourselves(sender, Merit(0));
        stranger.ip = widen(address.ip());
        stranger
    }

    /// Sees to it that it counts as later than `before`, even if the calendar was set back. Who took no part does not now.
    pub(super) fn after(mut self, before: &Self) -> Self {
        self.stands = before.stands;
        if self.life <= before.life {
            self.life = before.life;
            self.returns = before.returns.saturating_add(1);
        }
        self
    }

    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.to_canonical(), self.port)
    }

    pub(super) fn candidate(&self) -> Candidate {
        Candidate {
            merit: self.merit,
            id: self.id,
        }
    }

    fn is_fit(&self) -> bool {
        is_name(&self.name) && member_id(&self.name) == self.id
    }
}

impl PartialEq for Presence {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.life, self.returns) == (other.id, other.life, other.returns)
    }
}

impl Eq for Presence {}

impl Identity for Presence {
    type Addr = MemberId;

    /// Others gave us up though we live: we are back.
    fn renew(&self) -> Option<Self> {
        Some(self.clone().after(self))
    }

    fn addr(&self) -> MemberId {
        self.id
    }

    fn win_addr_conflict(&self, other: &Self) -> bool {
        (self.life, self.returns) > (other.life, other.returns)
    }
}

/// Fills in, in a message that the member at `from` sent, the addresses that it could not know.
/// Returns who sent it, and the message.
///
/// What it has on its own host's loopback is, seen from here, at its address.
pub(super) fn fill_in_addresses(
    bytes: &[u8],
    from: SocketAddr,
) -> Result<(MemberId, Vec<u8>), Rejected> {
    let (mut header, mut rest) = take::<Header<Presence>>(bytes)?;
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
    let mut filled = Vec::with_capacity(bytes.len());
    put(&header, &mut filled);
    if let Some((count, mut members)) = rest.split_first_chunk::<2>() {
        filled.extend_from_slice(count);
        for _ in 0..u16::from_be_bytes(*count) {
            let (member, others) = take::<Member<Presence>>(members)?;
            let mut presence = member.id().clone();
            if !presence.is_fit() {
                return Err(Rejected::Malformed);
            }
            localize(&mut presence.ip, ip);
            let member = Member::new(presence, member.incarnation(), member.state());
            put(&member, &mut filled);
            members = others;
        }
        rest = members;
    }
    match rest.is_empty() {
        true => Ok((header.src.id, filled)),
        false => Err(Rejected::Malformed),
    }
}

/// What kind of message it is, if it is one.
pub(super) fn message(bytes: &[u8]) -> Option<Message<Presence>> {
    let (header, _) = take::<Header<Presence>>(bytes).ok()?;
    Some(header.message)
}

fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), Rejected> {
    postcard::take_from_bytes(bytes).map_err(|_| Rejected::Malformed)
}

fn put<T: Serialize>(value: &T, bytes: &mut Vec<u8>) {
    // Writing plain types to memory cannot fail.
    if let Ok(longer) = postcard::to_extend(value, std::mem::take(bytes)) {
        *bytes = longer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Life;

    #[test]
    fn a_name_that_no_member_may_have_is_nobodys_presence() {
        for (name, is_one) in [
            ("a", true),
            ("a\n", false),
            ("\u{1b}[2J", false),
            ("", false),
        ] {
            let sender = Sender::new(name, member_id(name), Life(1), 7400);
            let presence = Presence::of_ourselves(&sender, Merit(0));
            assert_eq!(presence.is_fit(), is_one, "{name:?}");
        }
    }
}
