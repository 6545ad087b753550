//! The authority that grants a group's tenure, from its member's point of view.
//!
//! Purpose     one interface to no authority, to a quorum of voters and to a store
//! Inputs      requests, messages of voters, fences of other members, results of the disk
//! Outputs     [`Act`]s, and the tenure that this member holds
//! Owns        the quorum's state, or the client of the store
//! Invariants  `holds` is computed at each call from the time, never cached

pub mod quorum;

use hustings_authority::{KIND, tag_of};
use hustings_protocol::names::member_id;
use hustings_protocol::tenure::Message;
use hustings_protocol::{Duration, Instant, MemberId};

pub use hustings_authority::{
    Fence, Heard, Held, InFlight, LastWill, LeaseClient, LeaseEvent, LeaseEvents, LeaseWatch,
    Remember, Request, Seen, SeenFences, StoreTag, StoreTerms, WorkGuard, era, holds, in_flight,
    store, store_id, voter_file,
};
use quorum::{Act, Quorum};

/// The authority that grants a group's tenure.
pub enum Authority {
    /// No authority: there are nominations, but no tenure.
    Nobody,
    /// The group's voters.
    Quorum(Box<Quorum>),
    /// A store.
    Store {
        /// The name of the kind of store.
        name: &'static str,
        /// The client of the store, which runs beside the member.
        lease_client: LeaseClient,
    },
}

impl Authority {
    fn quorum(&self) -> Option<&Quorum> {
        match self {
            Self::Quorum(quorum) => Some(quorum),
            Self::Nobody | Self::Store { .. } => None,
        }
    }

    fn quorum_mut(&mut self) -> Option<&mut Quorum> {
        match self {
            Self::Quorum(quorum) => Some(quorum),
            Self::Nobody | Self::Store { .. } => None,
        }
    }

    fn lease_client(&self) -> Option<&LeaseClient> {
        match self {
            Self::Store { lease_client, .. } => Some(lease_client),
            Self::Nobody | Self::Quorum(_) => None,
        }
    }

    /// The name for people; none if there is no authority.
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => Some(format!("quorum of {}", quorum.voters.len())),
            Self::Store { name, .. } => Some((*name).to_owned()),
        }
    }

    /// The voters, if there are any.
    pub(crate) fn voters(&self) -> impl Iterator<Item = (&String, MemberId)> {
        let names = self.quorum().into_iter().flat_map(|it| &it.voters);
        names.map(|name| (name, member_id(name)))
    }

    /// The identity of the authority: of its list of voters, or of the store as far as the store
    /// has reported it.
    pub fn id(&self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::Quorum(quorum) => quorum.voters_id,
            Self::Store { name, lease_client } => store_id(name, lease_client.identity()),
        }
    }

    /// True if members with the authority `theirs` use the same one. While either store has not
    /// reported its identity, stores of one kind count as the same.
    pub(crate) fn is_also(&self, theirs: u64) -> bool {
        let ours = self.id();
        let is_like_it = match self {
            Self::Nobody | Self::Quorum(_) => false,
            Self::Store { name, .. } => {
                let untold = store_id(name, None);
                theirs & KIND == untold && (theirs == untold || ours == untold)
            }
        };
        theirs == ours || is_like_it
    }

    /// The longest tenure that this member can ever have granted, if it votes.
    pub(crate) fn longest_ttl(&self) -> Option<Duration> {
        self.quorum()?.longest_ttl
    }

    pub(crate) fn lease_watch(&self) -> Option<LeaseWatch> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => Some(quorum.lease_watch()),
            Self::Store { lease_client, .. } => Some(lease_client.lease_watch()),
        }
    }

    pub(crate) fn holds(&self, now: Instant) -> Option<Held> {
        self.lease_watch()?.borrow().filter(|held| now < held.until)
    }

    /// Stops showing the tenure of this member, because another member claims the same fence or a
    /// higher one. The tenure is not released by that: work may go on for as long as it takes to
    /// end it. The client of a store does so by itself.
    pub(crate) fn forfeit(&mut self, now: Instant) {
        if let Some(quorum) = self.quorum_mut() {
            quorum.forfeit(now);
        }
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => quorum.due(),
            // The client reports the end of tenure by itself, but after a suspend this timer may be
            // first.
            Self::Store { lease_client, .. } => {
                lease_client.lease_watch().borrow().map(|held| held.until)
            }
        }
    }

    /// Starts the member.
    pub fn start(&mut self, now: Instant) -> Vec<Act> {
        self.quorum_mut().map_or_else(Vec::new, |it| it.start(now))
    }

    /// Passes a request to the authority.
    pub fn request(&mut self, now: Instant, request: Request) -> Vec<Act> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Quorum(quorum) => quorum.request(now, request),
            Self::Store { lease_client, .. } => {
                lease_client.request(request);
                Vec::new()
            }
        }
    }

    /// Records that the member `by` holds tenure with this fence, or held it if `holds` is false.
    /// Its authority `theirs` must be the same as this one ([`is_also`](Self::is_also)). Voters
    /// ignore it: they remember their grants themselves.
    pub(crate) fn hear_fence(&self, by: MemberId, theirs: u64, fence: Fence, holds: bool) {
        if let Some(lease_client) = self.lease_client() {
            lease_client.hear(Heard { by, store: tag_of(theirs), fence, holds });
        }
    }

    pub(crate) fn pass(&mut self, now: Instant) -> Vec<Act> {
        self.quorum_mut().map_or_else(Vec::new, |it| it.pass(now))
    }

    pub(crate) fn on_saved(&mut self, now: Instant, is_done: bool) -> Vec<Act> {
        self.quorum_mut().map_or_else(Vec::new, |it| it.on_saved(now, is_done))
    }

    /// True if the disk refuses to store a promise or a high-water mark, or does not answer.
    pub(crate) fn is_stuck(&self) -> bool {
        match self {
            Self::Nobody => false,
            Self::Quorum(quorum) => quorum.is_stuck(),
            Self::Store { lease_client, .. } => lease_client.is_stuck(),
        }
    }

    /// The start of the disk operation that is under way.
    pub(crate) fn saves_since(&self) -> Option<Instant> {
        self.quorum()?.saves_since()
    }

    /// True if the last answer of a store was that another member holds tenure. Voters say so with
    /// each refusal.
    pub(crate) fn is_held_elsewhere(&self) -> bool {
        self.lease_client().is_some_and(LeaseClient::is_held_elsewhere)
    }

    /// True if a store answered the last request; none if there is no store.
    pub(crate) fn is_reachable(&self) -> Option<bool> {
        self.lease_client().map(LeaseClient::reachable)
    }

    /// The release that other processes may send for this member once it is dead.
    pub(crate) fn last_word(&self) -> Option<Message> {
        self.quorum()?.last_word()
    }
}
