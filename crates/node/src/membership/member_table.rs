//! The addresses, incarnations and names of members.
//!
//! Purpose     remembers the best known address of each member
//! Inputs      frames of the members themselves, and reports by other members
//! Outputs     lookups by identity
//! Owns        one entry for each member
//! Invariants  a later incarnation replaces an earlier one; within one incarnation a member's own
//!             frame replaces a report
//!
//! A member that receives at all addresses of its host does not know which one others can use. The
//! first receiver fills in the source address. From there on the address travels with the reports.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hustings_protocol::MemberId;
use serde::{Deserialize, Serialize};

use crate::frame::Sender;
use crate::identity::{Incarnation, is_name, member_id};
use crate::leadership::Peer;

/// A member's address, as members report it to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MemberAddress {
    name: String,
    pub(super) incarnation: Incarnation,
    /// An IPv6 address, or an IPv4 address mapped to IPv6.
    ip: Ipv6Addr,
    port: u16,
}

impl MemberAddress {
    /// The address of a member whose own frame came from `address`.
    pub(super) fn of(sender: &Sender<'_>, address: SocketAddr) -> Self {
        Self {
            name: sender.name.to_owned(),
            incarnation: sender.incarnation,
            ip: widen(address.ip()),
            port: address.port(),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.to_canonical(), self.port)
    }

    /// True if the name matches the identity `id`.
    pub(super) fn is_of(&self, id: MemberId) -> bool {
        is_name(&self.name) && member_id(&self.name) == id
    }

    /// The address as seen from here, if a member at `host` has reported it.
    pub(super) fn reported_from(mut self, host: IpAddr) -> Self {
        localize(&mut self.ip, widen(host));
        self
    }
}

/// The addresses of some members.
#[derive(Debug, Default)]
pub(super) struct MemberTable(BTreeMap<MemberId, (MemberAddress, Source)>);

/// The source of an address, the more reliable one last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Hearsay,
    Itself,
}

impl MemberTable {
    /// Records an address, unless a better one is known. A later incarnation is better than an
    /// earlier one. Within one incarnation the member's own frame is better than a report.
    pub(super) fn note(&mut self, id: MemberId, known: MemberAddress, source: Source) {
        let rank = (known.incarnation, source);
        if self.0.get(&id).is_none_or(|(it, source)| rank >= (it.incarnation, *source)) {
            self.0.insert(id, (known, source));
        }
    }

    pub(super) fn get(&self, id: MemberId) -> Option<&MemberAddress> {
        self.0.get(&id).map(|it| &it.0)
    }

    pub(super) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.get(id).map(MemberAddress::address)
    }

    pub(super) fn describe(&self, id: MemberId) -> Option<Peer> {
        self.get(id).map(|known| Peer {
            name: known.name.clone(),
            id,
            address: Some(known.address()),
        })
    }

    pub(super) fn forget(&mut self, id: MemberId) {
        self.0.remove(&id);
    }

    /// If there are more than `most` entries, forgets all for which `is_needed` is false.
    pub(super) fn tidy(&mut self, most: usize, is_needed: impl Fn(MemberId) -> bool) {
        if self.0.len() > most {
            self.0.retain(|id, _| is_needed(*id));
        }
    }
}

/// Replaces another host's loopback address by that host's address as seen from here. If that
/// address is a loopback address too, both members run on this host, and nothing changes.
pub(super) fn localize(ip: &mut Ipv6Addr, host: Ipv6Addr) {
    if ip.to_canonical().is_loopback() && !host.to_canonical().is_loopback() {
        *ip = host;
    }
}

/// Maps an address of either version to IPv6.
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
    fn address_with_forbidden_name_is_refused() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7400));
        for (name, is_one) in [("a", true), ("a\n", false), ("\u{1b}[2J", false), ("", false)] {
            let id = member_id(name);
            let known = MemberAddress::of(&Sender::new(name, id, Incarnation(1), 7400), address);
            assert_eq!(known.is_of(id), is_one, "{name:?}");
        }
    }
}
