//! The choice between multicast and unicast for frames to all members.
//!
//! Purpose     finds out if the network carries multicasts, and chooses the routes accordingly
//! Inputs      the channel of each frame to all members; the peer table; seeds
//! Outputs     the [`Route`]s for a frame to all members
//! Owns        the chosen channel, and the addresses of the seeds
//! Invariants  without a multicast address the choice is always unicast
//!
//! Many networks drop multicasts silently. A member therefore measures instead of assuming:
//!
//! - With seeds it starts by using both channels. Without seeds there is nothing but multicast.
//! - Suppose a member's frames to all arrive by unicast, and none arrives by multicast within
//!   [`PROBE_FOR`]. Then the network does not carry multicasts everywhere. The member goes on by
//!   unicast, and by multicast too if it receives some other member's multicasts.
//! - If it receives multicasts of every member, it goes on by multicast alone.
//! - A frame to one member says nothing about this.
//!
//! A network that carries multicasts may stop doing so. Members that do not lead therefore send
//! their rare frames over both channels. If frames arrive by unicast alone, the probe starts anew.
//! Elections that are made for groups of any size are an exception: they exist to avoid a datagram
//! to each member.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant};

use crate::node::Route;
use crate::peer_table::{Channel, Channels, PeerTable};

/// The number of consecutive frames to all by unicast, with none by multicast, after which
/// multicasts are presumed lost.
const MOST_BY_UNICAST_ALONE: u8 = 3;

/// The time within which a member that was heard by unicast should be heard by multicast too.
const PROBE_FOR: Duration = Duration::from_secs(2);

/// The choice of channel, and the evidence for it.
#[derive(Debug)]
pub(crate) struct MulticastProbe {
    channel: Chosen,
    /// The addresses at which other members may be found.
    pub(crate) seeds: Vec<SocketAddr>,
    /// The number of frames to all that came by unicast since the last one by multicast.
    by_unicast_alone: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    Multicast(SocketAddr),
    /// Both channels, until it is known which one works.
    Probing(SocketAddr),
    /// Both channels: multicasts reach some members and not others.
    Both(SocketAddr),
    Unicast,
}

impl MulticastProbe {
    pub(crate) fn new(multicast: Option<SocketAddr>, has_seeds: bool) -> Self {
        let channel = match multicast {
            Some(address) if has_seeds => Chosen::Probing(address),
            Some(address) => Chosen::Multicast(address),
            None => Chosen::Unicast,
        };
        Self { channel, seeds: Vec::new(), by_unicast_alone: 0 }
    }

    /// True if multicasts may arrive.
    pub(crate) fn has_multicast(&self) -> bool {
        self.multicast().is_some()
    }

    /// Switches to unicast, because the host itself reports that it cannot send multicasts.
    pub(crate) fn give_up_multicast(&mut self) {
        self.channel = Chosen::Unicast;
    }

    /// The multicast address, if multicasts may arrive.
    pub(crate) fn multicast(&self) -> Option<SocketAddr> {
        match self.channel {
            Chosen::Multicast(address) | Chosen::Probing(address) | Chosen::Both(address) => {
                Some(address)
            }
            Chosen::Unicast => None,
        }
    }

    /// True if multicasts may not reach some members.
    pub(crate) fn may_miss_some(&self) -> bool {
        !matches!(self.channel, Chosen::Multicast(_))
    }

    /// Records the channel of a frame to all that was not received before. Returns true if
    /// multicasts seem to arrive no longer: then the caller must forget the earlier evidence.
    pub(crate) fn note_first(&mut self, channel: Channel) -> bool {
        self.by_unicast_alone = match channel {
            Channel::Unicast => self.by_unicast_alone.saturating_add(1),
            Channel::Multicast | Channel::Link => 0,
        };
        match self.channel {
            Chosen::Multicast(address) if self.by_unicast_alone >= MOST_BY_UNICAST_ALONE => {
                self.channel = Chosen::Probing(address);
                true
            }
            Chosen::Multicast(_) | Chosen::Probing(_) | Chosen::Both(_) | Chosen::Unicast => false,
        }
    }

    /// Records the channel of a second copy of a frame to all.
    pub(crate) fn note_copy(&mut self, channel: Channel) {
        if channel == Channel::Multicast {
            self.by_unicast_alone = 0;
        }
    }

    /// Updates the choice from the channels over which each member was heard. Returns true if it
    /// has just turned out that multicasts of some members do not arrive.
    pub(crate) fn judge(&mut self, now: Instant, peer_table: &PeerTable) -> bool {
        let (Chosen::Multicast(address) | Chosen::Probing(address)) = self.channel else {
            return false;
        };
        let channels = || peer_table.iter().map(|(_, peer)| peer.channels);
        let is_long = |since: Instant| now - since >= PROBE_FOR;
        let is_missed = |it: Channels| it.multicast.is_none() && it.unicast.is_some_and(is_long);
        if channels().any(is_missed) {
            self.channel = match channels().any(|it| it.multicast.is_some()) {
                true => Chosen::Both(address),
                false => Chosen::Unicast,
            };
            return true;
        }
        if channels().any(|it| it.multicast.is_some_and(is_long)) {
            self.channel = Chosen::Multicast(address);
        }
        false
    }

    /// The routes for a frame to all members. `members` are the addresses of the known members. A
    /// rare frame may use both channels.
    pub(crate) fn routes(
        &self,
        members: impl Iterator<Item = SocketAddr>,
        is_rare: bool,
    ) -> Vec<Route> {
        let unicasts = || {
            let everyone: BTreeSet<_> = members.chain(self.seeds.iter().copied()).collect();
            everyone.into_iter().map(Route::To)
        };
        match self.channel {
            Chosen::Multicast(address) if !is_rare => vec![Route::Multicast(address)],
            Chosen::Multicast(address) | Chosen::Probing(address) | Chosen::Both(address) => {
                let multicast = std::iter::once(Route::Multicast(address));
                multicast.chain(unicasts()).collect()
            }
            Chosen::Unicast => unicasts().collect(),
        }
    }
}

impl fmt::Display for MulticastProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.channel {
            Chosen::Multicast(address) => write!(f, "multicast {address}"),
            Chosen::Probing(address) => write!(f, "multicast {address} and unicast, probing"),
            Chosen::Both(address) => write!(f, "multicast {address} and unicast"),
            Chosen::Unicast => f.write_str("unicast"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MulticastProbe, PROBE_FOR};
    use crate::frame::{Body, Frame, Sender};
    use crate::identity::{Incarnation, member_id};
    use crate::peer_table::{Channel, PeerTable};
    use hustings_protocol::{Duration, Instant};

    const LATER: Instant = Instant(PROBE_FOR.0);

    /// True if some multicasts are missed, and the channel, of a member that receives these frames
    /// at the start and at [`LATER`].
    fn judge(heard: &[(&str, Channel, bool)]) -> (bool, String) {
        let mut peer_table = PeerTable::default();
        let mut multicast_probe =
            MulticastProbe::new(Some("239.255.72.85:7401".parse().unwrap()), false);
        let mut misses_some = false;
        for now in [Instant(0), LATER, LATER + Duration::from_millis(1)] {
            for &(name, channel, to_all) in heard {
                let frame = Frame {
                    group: 1,
                    sender: Sender::new(name, member_id(name), Incarnation(1), 7400),
                    number: now.0,
                    to_all,
                    body: Body::Hello { alone: true },
                };
                peer_table.note(&frame, "10.0.0.2:7400".parse().unwrap(), channel, now);
            }
            misses_some |= multicast_probe.judge(now, &peer_table);
        }
        (misses_some, multicast_probe.to_string())
    }

    #[test]
    fn unicast_to_one_member_says_nothing_about_multicast() {
        let heard = [("leader", Channel::Multicast, true), ("follower", Channel::Unicast, false)];
        let multicast = "multicast 239.255.72.85:7401".to_owned();
        assert_eq!(judge(&heard), (false, multicast));
    }

    #[test]
    fn unicast_is_chosen_if_no_multicast_arrives() {
        let heard = [("a", Channel::Unicast, true), ("b", Channel::Unicast, true)];
        assert_eq!(judge(&heard), (true, "unicast".to_owned()));
    }

    #[test]
    fn both_channels_are_chosen_if_some_multicasts_arrive() {
        let heard = [("near", Channel::Multicast, true), ("far", Channel::Unicast, true)];
        let both = "multicast 239.255.72.85:7401 and unicast".to_owned();
        assert_eq!(judge(&heard), (true, both));
    }
}
