//! The other processes that a member has received frames from.
//!
//! Purpose     the name, address, incarnation and last frame time of each sender
//! Inputs      admitted frames, and the channel that each came over
//! Outputs     lookups by identity; the addresses that multicasts do not reach
//! Owns        one entry for each sender
//! Invariants  at most `MOST_PEERS` entries; an entry describes the latest frame's incarnation

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::frame::Frame;
use crate::identity::Incarnation;
use crate::leadership::Peer;

/// The number of members that are remembered. A further one replaces the member that was heard
/// least recently.
const MOST_PEERS: usize = 65_536;

/// The age of a member's last frame after which the member may be gone, unless a failure detector
/// knows better.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The members that a member has received frames from.
#[derive(Debug, Default)]
pub(crate) struct PeerTable {
    known: BTreeMap<MemberId, PeerInfo>,
}

/// The last known facts about another member.
#[derive(Debug, Clone)]
pub(crate) struct PeerInfo {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    pub(crate) incarnation: Incarnation,
    /// The first incarnation of its process.
    pub(crate) process_incarnation: Incarnation,
    pub(crate) heard: Instant,
    /// The questions whether it is alive that it has not answered.
    pub(crate) unanswered: Option<Unanswered>,
    /// True if the member is known to be dead, and no frame of it has arrived since.
    pub(crate) is_dead: bool,
    /// The channels over which its frames to all members arrived in this incarnation.
    pub(crate) channels: Channels,
}

/// Questions without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unanswered {
    /// The time of the first question.
    pub(crate) since: Instant,
    /// The number of questions.
    pub(crate) count: u32,
}

/// The time of the first frame over each channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    pub(crate) unicast: Option<Instant>,
    pub(crate) multicast: Option<Instant>,
}

/// The channel that a frame came over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// A datagram to this member.
    Unicast,
    /// A datagram to all members.
    Multicast,
    /// An ordered link.
    Link,
}

impl PeerTable {
    /// Records a frame of a process that receives at `address`.
    pub(crate) fn note(
        &mut self,
        frame: &Frame<'_>,
        address: SocketAddr,
        channel: Channel,
        now: Instant,
    ) {
        let sender = &frame.sender;
        // A frame to this member alone says nothing about how frames to all members arrive.
        let channel = if frame.to_all { Some(channel) } else { None };
        let known = self.known.get_mut(&sender.id);
        if let Some(peer) = known
            && peer.incarnation == sender.incarnation
        {
            peer.address = address;
            peer.heard = now;
            peer.unanswered = None;
            peer.is_dead = false;
            peer.channels.note(channel, now);
            return;
        }
        if self.known.len() >= MOST_PEERS {
            self.forget_one();
        }
        let mut channels = Channels::default();
        channels.note(channel, now);
        let peer = PeerInfo {
            name: sender.name.to_owned(),
            address,
            incarnation: sender.incarnation,
            process_incarnation: sender.process_incarnation,
            heard: now,
            unanswered: None,
            is_dead: false,
            channels,
        };
        self.known.insert(sender.id, peer);
    }

    fn forget_one(&mut self) {
        let stalest = self.known.iter().min_by_key(|(_, peer)| peer.heard);
        if let Some(id) = stalest.map(|(id, _)| *id) {
            self.known.remove(&id);
        }
    }

    /// The number of known members.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn get(&self, id: MemberId) -> Option<&PeerInfo> {
        self.known.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (MemberId, &PeerInfo)> {
        self.known.iter().map(|(id, peer)| (*id, peer))
    }

    /// Makes this member believe that `id` is at another address.
    #[cfg(test)]
    pub(crate) fn mislead(&mut self, id: MemberId, address: SocketAddr) {
        if let Some(peer) = self.known.get_mut(&id) {
            peer.address = address;
        }
    }

    /// Records that this member asks `id` whether it is alive.
    pub(crate) fn ask(&mut self, id: MemberId, now: Instant) {
        if let Some(peer) = self.known.get_mut(&id) {
            let unanswered = peer.unanswered.get_or_insert(Unanswered { since: now, count: 0 });
            unanswered.count = unanswered.count.saturating_add(1);
        }
    }

    /// Records whether `id` is known to be dead.
    pub(crate) fn note_death(&mut self, id: MemberId, is_dead: bool) {
        if let Some(peer) = self.known.get_mut(&id) {
            peer.is_dead = is_dead;
        }
    }

    /// Forgets all unanswered questions, because this member asks no longer.
    pub(crate) fn ask_no_more(&mut self) {
        for peer in self.known.values_mut() {
            peer.unanswered = None;
        }
    }

    /// Forgets `id`.
    pub(crate) fn forget(&mut self, id: MemberId) {
        self.known.remove(&id);
    }

    /// Forgets the channels over which members were heard.
    pub(crate) fn forget_ways(&mut self) {
        for peer in self.known.values_mut() {
            peer.channels = Channels::default();
        }
    }

    /// The addresses of members that sent a frame to all within [`A_MOMENT`], and of which no
    /// multicast ever arrived.
    pub(crate) fn reached_by_unicast(&self, now: Instant) -> impl Iterator<Item = SocketAddr> {
        let is_one = move |peer: &&PeerInfo| {
            let channels = peer.channels;
            channels.unicast.is_some()
                && channels.multicast.is_none()
                && now - peer.heard < A_MOMENT
        };
        self.known.values().filter(is_one).map(|peer| peer.address)
    }

    /// The member as users see it.
    pub(crate) fn describe(&self, id: MemberId) -> Peer {
        let known = self.known.get(&id);
        Peer {
            name: known.map_or_else(|| format!("#{:016x}", id.0), |peer| peer.name.clone()),
            id,
            address: known.map(|peer| peer.address),
        }
    }
}

impl Channels {
    fn note(&mut self, channel: Option<Channel>, now: Instant) {
        match channel {
            Some(Channel::Unicast) => self.unicast = self.unicast.or(Some(now)),
            Some(Channel::Multicast) => self.multicast = self.multicast.or(Some(now)),
            Some(Channel::Link) | None => {} // says nothing about datagrams
        }
    }
}
