//! The status of a member in its group.
//!
//! Purpose     answers status requests
//! Inputs      the state of the group and the time
//! Outputs     [`GroupStatus`]
//! Owns        nothing
//! Invariants  reading the status changes nothing

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};
use serde::{Deserialize, Serialize};

use super::Node;
use super::context::Context;
use super::health::{self, Health};
use crate::council::CouncilStatus;
use crate::counters::Counters;
use crate::election::Measured;
use crate::leadership::{Leadership, Peer};
use crate::membership::{PartialView, PartialViewStatus};
use crate::peer_table::PeerInfo;
use crate::tenure::TenureStatus;

/// The time that an answer may take. A member without an answer for longer is shown as silent.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// The status of a member in its group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupStatus {
    /// The verdict about the group, as this member sees it.
    #[serde(default)]
    pub health: Health,
    /// The leadership.
    pub leadership: Leadership,
    /// The status of tenure; none in advisory mode.
    pub tenure: Option<TenureStatus>,
    /// The name of the election protocol.
    pub protocol: String,
    /// The channel that reaches all members.
    pub reach: String,
    /// The other members that this one knows.
    pub peers: Vec<PeerStatus>,
    /// The addresses at which this member looks for others, as configured.
    #[serde(default)]
    pub join: Vec<String>,
    /// The number of relays in the first round of an election that this member calls; none if the
    /// protocol has no relays.
    pub k: Option<u32>,
    /// The measurements from which K is computed; none if the protocol has no relays.
    pub measured: Option<Measured>,
    /// The partial view; none if members know the whole group.
    pub partial_view: Option<PartialViewStatus>,
    /// The status of the group's council; none if this member has no role in one.
    pub council: Option<CouncilStatus>,
    /// The reason why this member takes no part in elections at present; none if it does.
    pub aside: Option<Aside>,
    /// The time since which this member knows of no leader; in fenced mode, of no tenure holder.
    pub vacant_since: Option<Instant>,
    /// The time of the last frame of this group under another key.
    pub other_key_at: Option<Instant>,
    /// The address of another process with this member's name, if there is one.
    pub duplicate_name: Option<SocketAddr>,
    /// Counts of frames and events.
    pub counters: Counters,
}

/// Another member, and whether it is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// The member's name, id and address.
    #[serde(flatten)]
    pub peer: Peer,
    /// The time of its last frame. Followers are silent, so a long silence may mean nothing.
    pub heard: Option<Instant>,
    /// The time of the first unanswered question; none if it was not asked since its last frame.
    /// Only a member that follows no other member asks.
    pub unanswered: Option<Instant>,
    /// The time for which it has not answered, if that is longer than an answer may take.
    pub silent_for: Option<Duration>,
    /// False if it is known to be dead, and no frame of it has arrived since; true if the failure
    /// detector reports it up; none if neither is known.
    pub up: Option<bool>,
}

/// A member that takes no part in elections for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// The member's own reason; none if it was asked to step down.
    pub why: Option<String>,
    /// True if the reason is a failure that a person should look at.
    #[serde(default)]
    pub is_failure: bool,
    /// The remaining time. Afterwards a member with a reason of its own checks whether the reason
    /// persists.
    pub remaining: Duration,
}

impl GroupStatus {
    /// Returns the group's name.
    pub fn name(&self) -> &str {
        &self.leadership.group
    }
}

impl Node {
    /// Returns the status of this member in its group.
    pub fn status(&self, now: Instant) -> GroupStatus {
        let context = &self.context;
        let mut status = GroupStatus {
            health: Health::default(),
            leadership: self.publisher.leadership().clone(),
            tenure: self.tenure.status(context, now),
            protocol: context.config.protocol.name().to_owned(),
            reach: context.reach.to_string(),
            peers: peer_statuses(context, now),
            join: context.config.join.clone(),
            k: self.election.first_k(context),
            measured: self.election.measured(context),
            partial_view: context.partial_view().map(PartialView::status),
            council: self.council.as_ref().map(|it| it.status(context, now)),
            aside: aside(context, now),
            vacant_since: self.publisher.vacant_since(),
            other_key_at: self.other_key_at,
            duplicate_name: self.duplicate_name(),
            counters: self.emit.counters,
        };
        status.health = health::judge(&status, now);
        status
    }
}

fn peer_statuses(context: &Context, now: Instant) -> Vec<PeerStatus> {
    let detector = context.members.get().filter(|it| it.partial_view().is_none());
    let status = |(id, known): (MemberId, &PeerInfo)| {
        let silent_for = known.unanswered.map(|it| now - it.since);
        PeerStatus {
            peer: context.peers.describe(id),
            heard: Some(known.heard),
            unanswered: known.unanswered.map(|it| it.since),
            silent_for: silent_for.filter(|it| *it >= ANSWERS_WITHIN),
            up: match known.is_dead {
                true => Some(false),
                false => detector.map(|it| it.address_of(id).is_some()),
            },
        }
    };
    context.peers.iter().map(status).collect()
}

fn aside(context: &Context, now: Instant) -> Option<Aside> {
    let because = context.aside_because.as_ref();
    Some(Aside {
        why: because.map(|it| it.why.clone()),
        is_failure: because.is_some_and(|it| it.is_failure),
        remaining: context.stepped_down_until? - now,
    })
}
