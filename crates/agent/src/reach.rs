//! How a member reaches all others: by multicast where the network carries it.
//!
//! Many networks drop multicasts without a word, so whether they arrive is found out and not
//! assumed: a member that has been told addresses to join at sends by both ways at first. Whom it
//! hears by unicast, and not by multicast in the time of a few announcements, shows that the
//! network does not carry them; then it goes on by unicast alone. If everyone is heard by multicast
//! it goes on by multicast alone. Without addresses to join at there is nothing but multicast.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant};

use crate::group::Route;
use crate::peers::Peers;

/// Whom we have heard by unicast should have been heard by multicast after so long.
const PROBE_FOR: Duration = Duration::from_secs(2);

/// How a member reaches all others.
#[derive(Debug)]
pub(crate) struct Reach {
    way: Chosen,
    /// Where others may be found.
    seeds: Vec<SocketAddr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    Multicast(SocketAddr),
    /// By both ways, until it is known which serves.
    Probing(SocketAddr),
    Unicast,
}

impl Reach {
    pub(crate) fn new(multicast: Option<SocketAddr>, has_seeds: bool) -> Self {
        let way = match multicast {
            Some(address) if has_seeds => Chosen::Probing(address),
            Some(address) => Chosen::Multicast(address),
            None => Chosen::Unicast,
        };
        Self {
            way,
            seeds: Vec::new(),
        }
    }

    pub(crate) fn set_seeds(&mut self, seeds: &[SocketAddr]) {
        self.seeds = seeds.to_vec();
    }

    /// Whether multicasts may arrive.
    pub(crate) fn has_multicast(&self) -> bool {
        self.way != Chosen::Unicast
    }

    /// The network cannot carry them: this host says so itself.
    pub(crate) fn give_up_multicast(&mut self) {
        self.way = Chosen::Unicast;
    }

    /// Judges by whom has been heard, and how.
    pub(crate) fn judge(&mut self, now: Instant, peers: &Peers) {
        let (Chosen::Multicast(address) | Chosen::Probing(address)) = self.way else {
            return;
        };
        let is_unheard = |since: Instant| now - since >= PROBE_FOR;
        let mut waits = peers
            .iter()
            .map(|(_, peer)| (peer.ways.unicast, peer.ways.multicast));
        if waits.any(|(unicast, multicast)| multicast.is_none() && unicast.is_some_and(is_unheard))
        {
            self.way = Chosen::Unicast;
            return;
        }
        let mut heard = peers.iter().filter_map(|(_, peer)| peer.ways.multicast);
        let is_proven = heard.any(|since| now - since >= PROBE_FOR);
        if is_proven {
            self.way = Chosen::Multicast(address);
        }
    }

    /// By which ways to send to everyone. `members` are the addresses of those known to be there.
    pub(crate) fn routes(&self, members: impl Iterator<Item = SocketAddr>) -> Vec<Route> {
        let unicasts = || {
            let everyone: BTreeSet<_> = members.chain(self.seeds.iter().copied()).collect();
            everyone.into_iter().map(Route::To)
        };
        match self.way {
            Chosen::Multicast(address) => vec![Route::Multicast(address)],
            Chosen::Probing(address) => {
                let multicast = std::iter::once(Route::Multicast(address));
                multicast.chain(unicasts()).collect()
            }
            Chosen::Unicast => unicasts().collect(),
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.way {
            Chosen::Multicast(address) => write!(f, "multicast {address}"),
            Chosen::Probing(address) => write!(f, "multicast {address} and unicast, probing"),
            Chosen::Unicast => f.write_str("unicast"),
        }
    }
}
