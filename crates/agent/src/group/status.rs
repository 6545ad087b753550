//! What a member tells of its group on request.

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};
use serde::{Deserialize, Serialize};

use super::health::{self, Health};
use super::{CircleStatus, Group, Measured, TenureStatus};
use crate::council::CouncilStatus;
use crate::counters::Counters;
use crate::leadership::{Leadership, Peer};
use crate::membership::Circle;
use crate::peers::Acquaintance;

/// An answer may take this long. A member that has not answered for longer is shown as silent.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// What a member tells of itself on request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupStatus {
    /// The verdict about the group, as this member sees it.
    #[serde(default)]
    pub health: Health,
    /// Who leads.
    pub leadership: Leadership,
    /// What its authority tells; none in advisory mode.
    pub tenure: Option<TenureStatus>,
    /// By which protocol.
    pub protocol: String,
    /// How all members are reached.
    pub reach: String,
    /// The members that this one has heard of, itself not included.
    pub peers: Vec<PeerStatus>,
    /// The addresses at which this member looks for others, as they were configured.
    #[serde(default)]
    pub join: Vec<String>,
    /// How many are to relay in the first round of an election that it calls; none where none do.
    #[serde(default)]
    pub k: Option<u32>,
    /// What it has measured of its group, and K is computed from; none where none relay.
    #[serde(default)]
    pub measured: Option<Measured>,
    /// What it knows of a group that nobody knows whole.
    #[serde(default)]
    pub circle: Option<CircleStatus>,
    /// What it tells of the group's council; none if it has no part in one.
    #[serde(default)]
    pub council: Option<CouncilStatus>,
    /// Why this member takes no part in elections at present; none if it does.
    #[serde(default)]
    pub aside: Option<Aside>,
    /// The time since which no member leads, as far as this one knows; in fenced mode, since which none holds tenure.
    #[serde(default)]
    pub vacant_since: Option<Instant>,
    /// The time at which a frame of this group under another key arrived last.
    #[serde(default)]
    pub other_key_at: Option<Instant>,
    /// Who else goes by this member's name, if anybody does.
    pub namesake: Option<SocketAddr>,
    /// What it has counted.
    pub counters: Counters,
}

/// Another member, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Who, and where.
    #[serde(flatten)]
    pub peer: Peer,
    /// When it was last heard. Members that follow are silent, so that a long silence may mean nothing.
    #[serde(default)]
    pub heard: Option<Instant>,
    /// The time of the first question that it has not answered; none if it was not asked since it was heard. Only a
    /// member that follows no other member asks.
    #[serde(default)]
    pub unanswered: Option<Instant>,
    /// The time for which it has not answered questions, if that is longer than an answer may take.
    #[serde(default)]
    pub silent_for: Option<Duration>,
    /// Whether it is up, as the failure detector says; none where there is none, or it does not know all.
    #[serde(default)]
    pub up: Option<bool>,
}

/// A member that takes no part in elections for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// Why: a reason of its own; none if it was asked to step down.
    pub why: Option<String>,
    /// Whether the reason is a failure, so that a person should look at it.
    #[serde(default)]
    pub is_failure: bool,
    /// For how long yet. A member that stands aside for a reason of its own looks then whether the reason is still there.
    pub remaining: Duration,
}

impl Group {
    pub(crate) fn status(&self, now: Instant) -> GroupStatus {
        let mut status = GroupStatus {
            health: Health::default(),
            leadership: self.leadership.borrow().clone(),
            tenure: self.tenure_status(now),
            protocol: self.config.protocol.name().to_owned(),
            reach: self.reach.to_string(),
            peers: self.peer_statuses(now),
            join: self.config.join.clone(),
            k: self.first_k(),
            measured: self.measured(),
            circle: self.circle().map(Circle::status),
            council: self.council_status(now),
            aside: self.aside(now),
            vacant_since: self.vacant_since,
            other_key_at: self.other_key_at,
            namesake: self.namesake(),
            counters: self.counters,
        };
        status.health = health::judge(&status, now);
        status
    }

    fn peer_statuses(&self, now: Instant) -> Vec<PeerStatus> {
        let detector = self.membership.as_ref().filter(|it| it.circle().is_none());
        let status = |(id, known): (MemberId, &Acquaintance)| PeerStatus {
            peer: self.peers.describe(id),
            heard: Some(known.heard),
            unanswered: known.unanswered.map(|it| it.since),
            silent_for: known
                .unanswered
                .map(|it| now - it.since)
                .filter(|it| *it >= ANSWERS_WITHIN),
            up: detector.map(|it| it.address_of(id).is_some()),
        };
        self.peers.iter().map(status).collect()
    }

    fn aside(&self, now: Instant) -> Option<Aside> {
        let because = self.aside_because.as_ref();
        Some(Aside {
            why: because.map(|it| it.why.clone()),
            is_failure: because.is_some_and(|it| it.is_failure),
            remaining: self.abstains_until? - now,
        })
    }
}
