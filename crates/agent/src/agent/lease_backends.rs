//! The authorities of an agent's groups, and the channels by which their tasks reach the loop.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hustings_fence::slots::OpenError;

use hustings_protocol::Candidate;
use hustings_protocol::tenure::{Role, Saved};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};

use crate::authority::in_flight::InFlight;
use crate::authority::voter_file::{self, Vote, VoterError, VoterFile, VoterLock};
use crate::authority::{LeaseClient, LeaseEvent, LeaseEvents, SeenFences, StoreTerms};
use crate::config::{AuthorityConfig, GroupConfig, QuorumConfig, StoreKind};
use crate::identity::member_id;
use hustings_node::authority::Authority;
use hustings_node::authority::quorum::{Kept, Quorum};

/// The role of an agent in groups whose voters grant tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VoterPart {
    /// The agent votes and campaigns as configured. A voter that cannot vote logs the reason and
    /// takes part without a vote.
    Whole,
    /// As `Whole`, but a voter that cannot vote fails to start, because the user may not read the
    /// log.
    MustVote,
    /// The agent only asks for promises. It must not answer in place of the voter whose name it
    /// has.
    Asks,
}

/// The sending ends of the channels from the authorities' tasks to the loop.
pub(super) struct LeaseBackends {
    part: VoterPart,
    on_lease: LeaseEvents,
    on_saved: mpsc::UnboundedSender<(usize, Result<(), String>)>,
    stopped: Arc<Notify>,
}

/// The receiving ends of the channels, for the loop.
pub(super) struct BackendEvents {
    /// Events of an authority, with the index of its group.
    pub(super) leases: mpsc::UnboundedReceiver<(usize, LeaseEvent)>,
    /// Results of writing a voter's file, with the index of its group.
    pub(super) saved: mpsc::UnboundedReceiver<(usize, Result<(), String>)>,
    /// Signals that work under tenure has stopped.
    pub(super) stopped: Arc<Notify>,
}

impl LeaseBackends {
    pub(super) fn open(part: VoterPart) -> (Self, BackendEvents) {
        let (on_lease, leases) = mpsc::unbounded_channel();
        let (on_saved, saved) = mpsc::unbounded_channel();
        let stopped = Arc::new(Notify::new());
        let backend_events = BackendEvents { leases, saved, stopped: stopped.clone() };
        let lease_backends = Self { part, on_lease, on_saved, stopped };
        (lease_backends, backend_events)
    }

    pub(super) fn in_flight(&self) -> InFlight {
        InFlight::new(self.stopped.clone())
    }

    /// Opens the authority that grants tenure of the group with index `number` to `member`.
    ///
    /// # Errors
    /// - A store cannot be used as configured.
    /// - The stored high-water mark of a store cannot be read.
    /// - This member must vote and cannot.
    pub(super) async fn authority(
        &self,
        number: usize,
        group: &GroupConfig,
        member: &str,
    ) -> Result<Authority, String> {
        match &group.authority {
            AuthorityConfig::Nobody => Ok(Authority::Nobody),
            AuthorityConfig::Quorum(quorum) => self.quorum(number, group, quorum, member).await,
            AuthorityConfig::Store(store) => {
                let terms = store.terms(&group.name, member);
                let seen_fences = match &store.state {
                    Some(state) => SeenFences::on_disk(state, &group.name)?,
                    None => SeenFences::in_memory(),
                };
                let name = store.store.name();
                let on_lease = self.on_lease.clone();
                let lease_client = spawn(&store.store, terms, seen_fences, number, on_lease)?;
                Ok(Authority::Store { name, lease_client })
            }
        }
    }

    async fn quorum(
        &self,
        number: usize,
        group: &GroupConfig,
        quorum: &QuorumConfig,
        member: &str,
    ) -> Result<Authority, String> {
        let me = Candidate { priority: group.priority, id: member_id(member) };
        let is_whole = self.part != VoterPart::Asks;
        let votes = is_whole && quorum.is_voter(member);
        let (votes, kept) = match quorum.state.as_deref().filter(|_| votes) {
            Some(state) => {
                let vote = quorum.vote(&group.name, member);
                self.vote(number, state, vote).await?
            }
            None => (None, Kept::default()),
        };
        let role = Role { votes, stands: is_whole && group.campaigns };
        // A restarted member must differ from its earlier incarnations. Its number is random, not
        // counted.
        let rng = Xoshiro256PlusPlus::from_seed(rand_seed());
        let (voters, terms) = (quorum.voters.clone(), quorum.terms());
        let part = Quorum::new(me, (voters, quorum.voters_id()), terms, role, rng, kept);
        Ok(Authority::Quorum(Box::new(part)))
    }

    /// Opens the voter's file. Returns what the voter has promised.
    async fn vote(
        &self,
        number: usize,
        state: &Path,
        vote: Vote<'_>,
    ) -> Result<(Option<Saved>, Kept), String> {
        let (lock, opened) = match lock(state, vote).await {
            Ok(lock) => (Some(lock), VoterFile::open(state, vote)),
            Err(error @ VoterError::Runs { .. }) => (None, Err(error)),
            // The lock file could not be written, perhaps because the disk is full. The voter's
            // file may still be usable.
            Err(error) => {
                tracing::warn!("group `{}`: {error}", vote.group);
                (None, VoterFile::open(state, vote))
            }
        };
        let votes = Some(voter_file::found(&opened));
        let disk = match opened {
            Ok((file, _)) => {
                let saved = self.on_saved.clone();
                // The send fails only if the loop has ended.
                Some(file.serve(move |done| _ = saved.send((number, done))))
            }
            Err(error) if self.part == VoterPart::MustVote => {
                return Err(format!(
                    "voter `{}` cannot vote: {error}{}",
                    vote.member,
                    remedy_in_a_program(&error)
                ));
            }
            Err(error) => {
                tracing::error!(
                    "group `{}`: this voter does not vote: {error}{}",
                    vote.group,
                    remedy(&error)
                );
                None
            }
        };
        Ok((votes, Kept { disk, lock }))
    }
}

/// Returns the remedy that `error` itself does not name. `hustings voter init` refuses to replace a
/// file that is not lost.
fn remedy(error: &VoterError) -> &'static str {
    match error {
        VoterError::OtherVoters { .. } | VoterError::Another { .. } => "",
        VoterError::File(OpenError::Another { .. }) => {
            ". Put this group's own file there. If that file is lost: stop this agent, move the other file to where it belongs, and run `hustings voter init`"
        }
        VoterError::File(OpenError::NotOurs { .. }) => {
            ". Then put this voter's own file there, or run `hustings voter init`, while this agent is stopped"
        }
        VoterError::Runs { .. }
        | VoterError::File(OpenError::InUse { .. } | OpenError::Io { .. }) => {
            ", and then start this agent again"
        }
        _ => ". To make it one: stop this agent, and run `hustings voter init`",
    }
}

/// Returns the remedy for a program that uses the library. It can initialise a voter of a new group
/// itself.
fn remedy_in_a_program(error: &VoterError) -> &'static str {
    match error {
        VoterError::File(OpenError::Missing { .. }) => {
            ". If the group is new, call `GroupOptions::found_voter` once on each voter before it joins. If this voter has \
             voted before, its disk was lost: run `hustings voter init`"
        }
        _ => remedy(error),
    }
}

/// The time for which this agent waits for a voter's lock. `hustings voter init` holds the lock
/// while it asks the other voters, 5 s by default.
const INIT_TAKES: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Takes the lock of a voter. An agent that starts while `hustings voter init` runs waits for it.
/// Otherwise the voter would not vote until the next start.
async fn lock(state: &Path, vote: Vote<'_>) -> Result<VoterLock, VoterError> {
    let until = Instant::now() + INIT_TAKES;
    let mut is_logged = false;
    loop {
        match VoterLock::take(state, vote) {
            Err(VoterError::Runs { .. }) if Instant::now() < until => {}
            done => return done,
        }
        if !is_logged {
            tracing::info!(
                "group `{}`: this voter is being initialised, or its agent runs: waiting {} s at most",
                vote.group,
                INIT_TAKES.as_secs()
            );
            is_logged = true;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Starts the task of the lease client for a store that this program was built with.
fn spawn(
    store: &StoreKind,
    terms: StoreTerms,
    seen_fences: SeenFences,
    group: usize,
    on_lease: LeaseEvents,
) -> Result<LeaseClient, String> {
    match store {
        #[cfg(feature = "etcd")]
        StoreKind::Etcd(config) => {
            use crate::authority::etcd::Etcd;
            let store = Etcd::new(config.clone(), &terms).map_err(|error| error.to_string())?;
            Ok(LeaseClient::spawn(store, terms, seen_fences, group, on_lease))
        }
        #[cfg(feature = "postgres")]
        StoreKind::Postgres { url } => {
            use crate::authority::postgres::Postgres;
            let store = Postgres::new(url, &terms).map_err(|error| error.to_string())?;
            Ok(LeaseClient::spawn(store, terms, seen_fences, group, on_lease))
        }
        #[cfg(not(all(feature = "etcd", feature = "postgres")))]
        other => {
            let (_, _, _, _) = (terms, seen_fences, group, on_lease);
            let name = other.name();
            Err(format!(
                "this program was built without {name}: build it with `--features {name}`, or let voters grant tenure"
            ))
        }
    }
}

fn rand_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    if let Err(error) = getrandom::fill(&mut seed) {
        // The calendar and the process id are the remaining values that distinguish incarnations.
        tracing::warn!(
            "the operating system gives no random numbers: {error}: drawing from the calendar and the process id"
        );
        let calendar = hustings_system::clock::calendar();
        seed[..8].copy_from_slice(&calendar.to_le_bytes());
        seed[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
    seed
}

#[cfg(test)]
mod tests {
    use hustings_protocol::tenure::{Durable, Request};
    use hustings_protocol::{Duration, announce};

    use super::{LeaseBackends, VoterFile, VoterLock, VoterPart, remedy};
    use crate::clock;
    use crate::config::{AuthorityConfig, GroupConfig, ProtocolConfig, QuorumConfig};

    /// The election may nominate such a member if no other is present.
    #[tokio::test]
    async fn member_that_only_queries_voters_gets_no_tenure() {
        let quorum = QuorumConfig {
            voters: ["a", "b", "c"].map(str::to_owned).into(),
            ttl: Duration::from_secs(1),
            state: None,
        };
        let protocol = ProtocolConfig::Announce(announce::Config::field(Duration::from_secs(1)));
        let group = GroupConfig {
            authority: AuthorityConfig::Quorum(quorum),
            ..GroupConfig::plain("g", protocol)
        };
        for (part, asks_for_it) in [(VoterPart::Whole, true), (VoterPart::Asks, false)] {
            let (lease_backends, _doors) = LeaseBackends::open(part);
            let mut authority = lease_backends.authority(0, &group, "z").await.unwrap();
            authority.start(clock::now());
            let acts = authority.request(clock::now(), Request::Acquire);
            assert_eq!(!acts.is_empty(), asks_for_it, "{part:?}: {acts:?}");
        }
    }

    /// `voter init` holds the voter's lock for seconds, while it asks the other voters.
    #[tokio::test]
    async fn agent_started_during_voter_init_votes() {
        let state = std::env::temp_dir().join(format!("hustings-place-{}", std::process::id()));
        let quorum = QuorumConfig {
            voters: ["a", "b", "c"].map(str::to_owned).into(),
            ttl: Duration::from_secs(1),
            state: Some(state.clone()),
        };
        let vote = quorum.vote("g", "a");
        let place = VoterLock::take(&state, vote).unwrap();
        let (lease_backends, _doors) = LeaseBackends::open(VoterPart::Whole);
        let initialise = async {
            VoterFile::reset(&state, vote, Durable::FOUNDING).unwrap();
            drop(place);
        };
        // The agent is polled first and finds the lock taken.
        let (voter, ()) = tokio::join!(biased; lease_backends.vote(0, &state, vote), initialise);
        let (_, kept) = voter.unwrap();
        assert!(kept.disk.is_some() && kept.lock.is_some());
        drop(kept);
        std::fs::remove_dir_all(state).unwrap();
    }

    /// `voter init` refuses to replace these files, so the remedy must not recommend it.
    #[test]
    fn remedy_never_advises_what_voter_init_refuses() {
        let state = std::env::temp_dir().join(format!("hustings-advice-{}", std::process::id()));
        std::fs::create_dir_all(&state).unwrap();
        let quorum = QuorumConfig {
            voters: ["a", "b", "c"].map(str::to_owned).into(),
            ttl: Duration::from_secs(1),
            state: Some(state.clone()),
        };
        let advice = || {
            let error = VoterFile::open(&state, quorum.vote("h", "a")).unwrap_err();
            format!("{error}{}", remedy(&error))
        };
        let (own, another) = (state.join("h.voter"), state.join("g.voter"));
        let init = "To make it one: stop this agent, and run `hustings voter init`";
        assert!(advice().ends_with(init), "{}", advice());

        VoterFile::create(&state, quorum.vote("g", "a"), Durable::FOUNDING).unwrap();
        std::fs::rename(&another, &own).unwrap();
        assert!(
            advice().ends_with(
                "belongs to `voter of g`, not to `voter of h`: check the path. Put this group's own file there. If \
                 that file is lost: stop this agent, move the other file to where it belongs, and run `hustings voter init`"
            ),
            "{}",
            advice()
        );

        std::fs::write(&own, "a shopping list").unwrap();
        assert!(!advice().contains(init), "{}", advice());
        std::fs::remove_file(&own).unwrap();
        std::fs::create_dir(&own).unwrap();
        assert!(!advice().contains("voter init"), "{}", advice());
        std::fs::remove_dir_all(state).unwrap();
    }
}
