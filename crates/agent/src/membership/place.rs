//! Where members are, in which life, and what they are called.
//!
//! A member that receives at all of its host's addresses does not know which of them others can use: whoever hears it
//! fills in where it heard it, and from there on the address goes with the news of it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hustings_protocol::MemberId;
use serde::{Deserialize, Serialize};

use crate::frame::Sender;
use crate::identity::{Life, is_name, member_id};
use crate::leadership::Peer;

/// A member's place, as others are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    name: String,
    life: u64,
    /// As an address of IPv6, whatever it is.
    ip: Ipv6Addr,
    port: u16,
}

impl Place {
    /// Of one that was heard at `address` itself.
    pub(super) fn of(sender: &Sender<'_>, address: SocketAddr) -> Self {
        Self {
            name: sender.name.to_owned(),
            life: sender.life().0,
            ip: widen(address.ip()),
            port: address.port(),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.to_canonical(), self.port)
    }

    pub(super) fn life(&self) -> Life {
        Life(self.life)
    }

    /// Whether it can be the place of `id`.
    pub(super) fn is_of(&self, id: MemberId) -> bool {
        is_name(&self.name) && member_id(&self.name) == id
    }

    /// As it is seen from here, if a member at `host` has told it.
    pub(super) fn told_from(mut self, host: IpAddr) -> Self {
        localize(&mut self.ip, widen(host));
        self
    }
}

/// The places of some members.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<MemberId, Known>);

#[derive(Debug)]
struct Known {
    place: Place,
    source: Source,
}

/// Who tells where a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Hearsay,
    Itself,
}

impl Places {
    /// Takes note of a place: a later life goes before an earlier one, and in one life what was heard there before
    /// what was heard of it.
    pub(super) fn note(&mut self, id: MemberId, place: Place, source: Source) {
        let rank = |place: &Place, source| (place.life, source);
        let is_better = |it: &Known| rank(&place, source) >= rank(&it.place, it.source);
        if self.0.get(&id).is_none_or(is_better) {
            self.0.insert(id, Known { place, source });
        }
    }

    pub(super) fn get(&self, id: MemberId) -> Option<&Place> {
        self.0.get(&id).map(|it| &it.place)
    }

    pub(super) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.get(id).map(Place::address)
    }

    pub(super) fn describe(&self, id: MemberId) -> Option<Peer> {
        self.get(id).map(|place| Peer {
            name: place.name.clone(),
            id,
            address: Some(place.address()),
        })
    }

    pub(super) fn forget(&mut self, id: MemberId) {
        self.0.remove(&id);
    }

    /// If there are more than `most`, forgets those that `is_needed` does not hold of.
    pub(super) fn tidy(&mut self, most: usize, is_needed: impl Fn(MemberId) -> bool) {
        if self.0.len() > most {
            self.0.retain(|id, _| is_needed(*id));
        }
    }
}

/// What somebody has on its own host's loopback is, seen from here, at its address. If that is a loopback's too it is this host.
pub(super) fn localize(ip: &mut Ipv6Addr, host: Ipv6Addr) {
    if ip.to_canonical().is_loopback() && !host.to_canonical().is_loopback() {
        *ip = host;
    }
}

/// An address of either version, as one of IPv6.
pub(super) fn widen(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_name_that_no_member_may_have_is_nobodys_place() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7400));
        for (name, is_one) in [
            ("a", true),
            ("a\n", false),
            ("\u{1b}[2J", false),
            ("", false),
        ] {
            let id = member_id(name);
            let place = Place::of(&Sender::new(name, id, Life(1), 7400), address);
            assert_eq!(place.is_of(id), is_one, "{name:?}");
        }
    }
}
