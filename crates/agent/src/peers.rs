//! The members that a member has heard of.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::frame::Frame;
use crate::identity::Life;
use crate::leadership::Peer;

/// More members than this are not remembered one by one: the one heard least recently gives way.
const MOST_PEERS: usize = 65_536;

/// Whoever was heard so long ago may be gone, unless a failure detector knows better.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The members that a member has heard of, and where.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    known: BTreeMap<MemberId, Acquaintance>,
}

/// What is known of another member.
#[derive(Debug, Clone)]
pub(crate) struct Acquaintance {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    pub(crate) life: Life,
    /// The first life of its process.
    pub(crate) born: Life,
    pub(crate) heard: Instant,
    /// The questions whether it is there that it has not answered.
    pub(crate) unanswered: Option<Unanswered>,
    /// By which ways what it said to all was heard in this life.
    pub(crate) ways: Ways,
}

/// Questions without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unanswered {
    /// The time of the first one.
    pub(crate) since: Instant,
    /// The number of questions.
    pub(crate) count: u32,
}

/// By which ways something came, and since when.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) unicast: Option<Instant>,
    pub(crate) multicast: Option<Instant>,
}

/// How a frame came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Unicast,
    Multicast,
    Link,
}

impl Peers {
    /// Takes note of a frame of a process that receives at `address`.
    pub(crate) fn note(&mut self, frame: &Frame<'_>, address: SocketAddr, way: Way, now: Instant) {
        let sender = &frame.sender;
        // What was said to us alone tells nothing of how all are reached.
        let way = match frame.to_all {
            true => Some(way),
            false => None,
        };
        let known = self.known.get_mut(&sender.id);
        if let Some(peer) = known
            && peer.life == sender.life()
        {
            peer.address = address;
            peer.heard = now;
            peer.unanswered = None;
            peer.ways.note(way, now);
            return;
        }
        if self.known.len() >= MOST_PEERS {
            self.forget_one();
        }
        let mut ways = Ways::default();
        ways.note(way, now);
        let peer = Acquaintance {
            name: sender.name.to_owned(),
            address,
            life: sender.life(),
            born: sender.born(),
            heard: now,
            unanswered: None,
            ways,
        };
        self.known.insert(sender.id, peer);
    }

    fn forget_one(&mut self) {
        let stalest = self.known.iter().min_by_key(|(_, peer)| peer.heard);
        if let Some(id) = stalest.map(|(id, _)| *id) {
            self.known.remove(&id);
        }
    }

    /// The number of members that are known.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn get(&self, id: MemberId) -> Option<&Acquaintance> {
        self.known.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (MemberId, &Acquaintance)> {
        self.known.iter().map(|(id, peer)| (*id, peer))
    }

    /// Makes this member believe that `id` is elsewhere.
    #[cfg(test)]
    pub(crate) fn mislead(&mut self, id: MemberId, address: SocketAddr) {
        if let Some(peer) = self.known.get_mut(&id) {
            peer.address = address;
        }
    }

    /// Notes that this member asks `id` whether it is there.
    pub(crate) fn ask(&mut self, id: MemberId, now: Instant) {
        if let Some(peer) = self.known.get_mut(&id) {
            let unanswered = peer.unanswered.get_or_insert(Unanswered {
                since: now,
                count: 0,
            });
            unanswered.count = unanswered.count.saturating_add(1);
        }
    }

    /// Forgets all questions, as this member no longer asks.
    pub(crate) fn ask_no_more(&mut self) {
        for peer in self.known.values_mut() {
            peer.unanswered = None;
        }
    }

    /// Forgets `id`.
    pub(crate) fn forget(&mut self, id: MemberId) {
        self.known.remove(&id);
    }

    /// By which ways they were heard is past.
    pub(crate) fn forget_ways(&mut self) {
        for peer in self.known.values_mut() {
            peer.ways = Ways::default();
        }
    }

    /// Where those are who spoke to all a moment ago, and were never heard by multicast.
    pub(crate) fn reached_by_unicast(&self, now: Instant) -> impl Iterator<Item = SocketAddr> {
        let is_one = move |peer: &&Acquaintance| {
            let ways = peer.ways;
            ways.unicast.is_some() && ways.multicast.is_none() && now - peer.heard < A_MOMENT
        };
        self.known.values().filter(is_one).map(|peer| peer.address)
    }

    /// As users see it.
    pub(crate) fn describe(&self, id: MemberId) -> Peer {
        let known = self.known.get(&id);
        Peer {
            name: known.map_or_else(|| format!("#{:016x}", id.0), |peer| peer.name.clone()),
            id,
            address: known.map(|peer| peer.address),
        }
    }
}

impl Ways {
    fn note(&mut self, way: Option<Way>, now: Instant) {
        match way {
            Some(Way::Unicast) => self.unicast = self.unicast.or(Some(now)),
            Some(Way::Multicast) => self.multicast = self.multicast.or(Some(now)),
            Some(Way::Link) | None => {} // tells nothing of datagrams
        }
    }
}
