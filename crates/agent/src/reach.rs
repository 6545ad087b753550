//! How a member reaches all others: by multicast where the network carries it.
//!
//! Many networks drop multicasts without a word, so whether they arrive is found out and not
//! assumed: a member that has been told addresses to join at sends by both ways at first. Whose words to
//! all it hears by unicast, and not by multicast in the time of a few announcements, shows that the
//! network does not carry them everywhere; then it goes on by unicast, and by multicast only if others are
//! heard by it. If everyone is it goes on by multicast alone. Without addresses to join at there is nothing
//! but multicast. What a member says to another alone tells nothing of this.
//!
//! A network that carries multicasts may cease to. So what is said rarely, by whoever does not lead, still goes by
//! both ways, and where words come by unicast alone it is all found out anew. Not so in elections that are made for
//! groups of any size: a datagram to each member would be what they are there to avoid.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant};

use crate::group::Route;
use crate::peers::{Peers, Way, Ways};

/// So many words to all that came by unicast, one after the other, and by multicast not at all, are no accident.
const MOST_BY_UNICAST_ALONE: u8 = 3;

/// Whom we have heard by unicast should have been heard by multicast after so long.
const PROBE_FOR: Duration = Duration::from_secs(2);

/// How a member reaches all others.
#[derive(Debug)]
pub(crate) struct Reach {
    way: Chosen,
    /// Where others may be found.
    seeds: Vec<SocketAddr>,
    /// How many words to all have come by unicast since one came by multicast.
    by_unicast_alone: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    Multicast(SocketAddr),
    /// By both ways, until it is known which serves.
    Probing(SocketAddr),
    /// By both ways: some can be reached by multicast, and some cannot.
    Both(SocketAddr),
    Unicast,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing that calls for anything.
    AsBefore,
    /// Some members' multicasts do not arrive.
    SomeAreMissed,
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
            by_unicast_alone: 0,
        }
    }

    pub(crate) fn set_seeds(&mut self, seeds: &[SocketAddr]) {
        self.seeds = seeds.to_vec();
    }

    /// Whether multicasts may arrive.
    pub(crate) fn has_multicast(&self) -> bool {
        self.multicast().is_some()
    }

    /// The network cannot carry them: this host says so itself.
    pub(crate) fn give_up_multicast(&mut self) {
        self.way = Chosen::Unicast;
    }

    /// Where others may be found.
    pub(crate) fn seeds(&self) -> &[SocketAddr] {
        &self.seeds
    }

    /// Where multicasts go, if they may arrive.
    pub(crate) fn multicast(&self) -> Option<SocketAddr> {
        match self.way {
            Chosen::Multicast(address) | Chosen::Probing(address) | Chosen::Both(address) => {
                Some(address)
            }
            Chosen::Unicast => None,
        }
    }

    /// Whether some may not be reached by multicast.
    pub(crate) fn may_miss_some(&self) -> bool {
        !matches!(self.way, Chosen::Multicast(_))
    }

    /// A word to all came this way, for the first time. Returns whether multicasts seem to arrive no longer: then
    /// what was known of them is past.
    pub(crate) fn note_first(&mut self, way: Way) -> bool {
        self.by_unicast_alone = match way {
            Way::Unicast => self.by_unicast_alone.saturating_add(1),
            Way::Multicast | Way::Link => 0,
        };
        match self.way {
            Chosen::Multicast(address) if self.by_unicast_alone >= MOST_BY_UNICAST_ALONE => {
                self.way = Chosen::Probing(address);
                true
            }
            Chosen::Multicast(_) | Chosen::Probing(_) | Chosen::Both(_) | Chosen::Unicast => false,
        }
    }

    /// A word that had come by unicast came by multicast too.
    pub(crate) fn note_copy(&mut self, way: Way) {
        if way == Way::Multicast {
            self.by_unicast_alone = 0;
        }
    }

    /// Judges by whom has been heard, and how.
    pub(crate) fn judge(&mut self, now: Instant, peers: &Peers) -> Verdict {
        let (Chosen::Multicast(address) | Chosen::Probing(address)) = self.way else {
            return Verdict::AsBefore;
        };
        let ways = || peers.iter().map(|(_, peer)| peer.ways);
        let is_long = |since: Instant| now - since >= PROBE_FOR;
        let is_missed = |it: Ways| it.multicast.is_none() && it.unicast.is_some_and(is_long);
        if ways().any(is_missed) {
            self.way = match ways().any(|it| it.multicast.is_some()) {
                true => Chosen::Both(address),
                false => Chosen::Unicast,
            };
            return Verdict::SomeAreMissed;
        }
        if ways().any(|it| it.multicast.is_some_and(is_long)) {
            self.way = Chosen::Multicast(address);
        }
        Verdict::AsBefore
    }

    /// By which ways to send to everyone. `members` are the addresses of those known to be there. What is said
    /// rarely can go by both.
    pub(crate) fn routes(
        &self,
        members: impl Iterator<Item = SocketAddr>,
        is_rare: bool,
    ) -> Vec<Route> {
        let unicasts = || {
            let everyone: BTreeSet<_> = members.chain(self.seeds.iter().copied()).collect();
            everyone.into_iter().map(Route::To)
        };
        match self.way {
            Chosen::Multicast(address) if !is_rare => vec![Route::Multicast(address)],
            Chosen::Multicast(address) | Chosen::Probing(address) | Chosen::Both(address) => {
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
            Chosen::Both(address) => write!(f, "multicast {address} and unicast"),
            Chosen::Unicast => f.write_str("unicast"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PROBE_FOR, Reach, Verdict};
    use crate::frame::{Body, Frame, Sender};
    use crate::identity::{Life, member_id};
    use crate::peers::{Peers, Way};
    use hustings_protocol::{Duration, Instant};

    const LATER: Instant = Instant(PROBE_FOR.0);

    /// What a member that has heard these, at the beginning and [`LATER`], makes of it.
    fn judge(heard: &[(&str, Way, bool)]) -> (Verdict, String) {
        let mut peers = Peers::default();
        let mut reach = Reach::new(Some("239.255.72.85:7401".parse().unwrap()), false);
        let mut verdict = Verdict::AsBefore;
        for now in [Instant(0), LATER, LATER + Duration::from_millis(1)] {
            for &(name, way, to_all) in heard {
                let frame = Frame {
                    group: 1,
                    sender: Sender::new(name, member_id(name), Life(1), 7400),
                    number: now.0,
                    to_all,
                    body: Body::Hello { alone: true },
                };
                peers.note(&frame, "10.0.0.2:7400".parse().unwrap(), way, now);
            }
            if reach.judge(now, &peers) == Verdict::SomeAreMissed {
                verdict = Verdict::SomeAreMissed;
            }
        }
        (verdict, reach.to_string())
    }

    #[test]
    fn what_is_said_to_us_alone_tells_nothing_of_multicasts() {
        let heard = [
            ("leader", Way::Multicast, true),
            ("follower", Way::Unicast, false),
        ];
        let multicast = "multicast 239.255.72.85:7401".to_owned();
        assert_eq!(judge(&heard), (Verdict::AsBefore, multicast));
    }

    #[test]
    fn where_no_multicast_arrives_it_is_done_without() {
        let heard = [("a", Way::Unicast, true), ("b", Way::Unicast, true)];
        assert_eq!(
            judge(&heard),
            (Verdict::SomeAreMissed, "unicast".to_owned())
        );
    }

    #[test]
    fn where_some_multicasts_arrive_both_ways_are_gone() {
        let heard = [("near", Way::Multicast, true), ("far", Way::Unicast, true)];
        let both = "multicast 239.255.72.85:7401 and unicast".to_owned();
        assert_eq!(judge(&heard), (Verdict::SomeAreMissed, both));
    }
}
