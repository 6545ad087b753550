//! The authorities of an agent's groups, and how those that work beside the loop reach it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hustings_fence::slots::OpenError;

use hustings_protocol::Candidate;
use hustings_protocol::tenure::{Role, Saved};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use crate::authority::occupancy::Occupancy;
use crate::authority::quorum::{Kept, Quorum};
use crate::authority::store::StoreError;
use crate::authority::voter_file::{self, Vote, VoterError, VoterFile, VoterLock};
use crate::authority::{Authority, Clerk, Memory, StoreTerms, Word, Words};
use crate::config::{AuthorityConfig, GroupConfig, QuorumConfig, StoreKind};
use crate::identity::member_id;

/// What an agent does where voters grant tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Votes and stands, as it is configured. A voter that cannot vote logs why, and takes part without a vote.
    Whole,
    /// As `Whole`, but a voter that cannot vote is refused: nobody may read the log.
    MustVote,
    /// Only asks what was promised. It must not answer in the place of the voter whose name it bears.
    Asks,
}

/// Where authorities that work beside the loop leave what they have to say.
pub(super) struct Offices {
    part: Part,
    words: Words,
    saved: mpsc::UnboundedSender<(usize, Result<(), String>)>,
    stopped: Arc<Notify>,
}

/// Where the loop finds it.
pub(super) struct Doors {
    /// What an authority said, by the number of its group.
    pub(super) words: mpsc::UnboundedReceiver<(usize, Word)>,
    /// What a voter's disk has done.
    pub(super) saved: mpsc::UnboundedReceiver<(usize, Result<(), String>)>,
    /// Somebody's work has stopped.
    pub(super) stopped: Arc<Notify>,
}

impl Offices {
    pub(super) fn open(part: Part) -> (Self, Doors) {
        let (words, heard) = mpsc::unbounded_channel();
        let (saved, told) = mpsc::unbounded_channel();
        let stopped = Arc::new(Notify::new());
        let doors = Doors {
            words: heard,
            saved: told,
            stopped: stopped.clone(),
        };
        let offices = Self {
            part,
            words,
            saved,
            stopped,
        };
        (offices, doors)
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        Occupancy::new(self.stopped.clone())
    }

    /// Who grants tenure of the group of this number to `member`.
    ///
    /// # Errors
    /// If a store cannot work as configured, or what was seen of it cannot be read; or if this member must vote and
    /// cannot.
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
                let memory = match &store.state {
                    Some(state) => Memory::on_disk(state, &group.name)?,
                    None => Memory::fleeting(),
                };
                let name = store.store.name();
                let words = self.words.clone();
                let clerk = hire(&store.store, terms, memory, number, words)?;
                Ok(Authority::Store { name, clerk })
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
        let me = Candidate {
            merit: group.merit,
            id: member_id(member),
        };
        let is_whole = self.part != Part::Asks;
        let votes = is_whole && quorum.is_voter(member);
        let (votes, kept) = match quorum.state.as_deref().filter(|_| votes) {
            Some(state) => {
                let vote = quorum.vote(&group.name, member);
                self.vote(number, state, vote).await?
            }
            None => (None, Kept::default()),
        };
        let role = Role {
            votes,
            stands: is_whole && group.campaigns,
        };
        // A member that restarts is someone else: what tells its lives apart is drawn, not counted.
        let rng = Xoshiro256PlusPlus::from_seed(rand_seed());
        let (voters, terms) = (quorum.voters.clone(), quorum.terms());
        let part = Quorum::new(me, (voters, quorum.voters_id()), terms, role, rng, kept);
        Ok(Authority::Quorum(Box::new(part)))
    }

    /// A voter, with what it finds on its disk.
    async fn vote(
        &self,
        number: usize,
        state: &Path,
        vote: Vote<'_>,
    ) -> Result<(Option<Saved>, Kept), String> {
        let (lock, opened) = match lock(state, vote).await {
            Ok(lock) => (Some(lock), VoterFile::open(state, vote)),
            Err(error @ VoterError::Runs { .. }) => (None, Err(error)),
            // No room for it, perhaps. What is there may be usable all the same.
            Err(error) => {
                tracing::warn!("group `{}`: {error}", vote.group);
                (None, VoterFile::open(state, vote))
            }
        };
        let votes = Some(voter_file::found(&opened));
        let disk = match opened {
            Ok((file, _)) => {
                let saved = self.saved.clone();
                // Without a loop there is nobody to tell.
                Some(file.serve(move |done| _ = saved.send((number, done))))
            }
            Err(error) if self.part == Part::MustVote => {
                return Err(format!(
                    "`{}` is one of the voters, and cannot vote: {error}{}",
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

/// What to do about it, beside what `error` says. `hustings voter init` refuses to replace what is not lost.
fn remedy(error: &VoterError) -> &'static str {
    match error {
        VoterError::OtherVoters { .. } | VoterError::Another { .. } => "",
        VoterError::File(OpenError::Another { .. }) => {
            ". Put this group's own file there. If there is none any more: stop this agent, move the file to where it \
             belongs, and run `hustings voter init`"
        }
        VoterError::File(OpenError::NotOurs { .. }) => {
            ". Then put this voter's own there, or run `hustings voter init`, while this agent is stopped"
        }
        VoterError::Runs { .. }
        | VoterError::File(OpenError::InUse { .. } | OpenError::Io { .. }) => {
            ", and then start this agent again"
        }
        _ => ". To make it one: stop this agent, and run `hustings voter init`",
    }
}

/// The same for a program that uses the library, which can initialise a voter of a new group by itself.
fn remedy_in_a_program(error: &VoterError) -> &'static str {
    match error {
        VoterError::File(OpenError::Missing { .. }) => {
            ". If the group is new, call `Joining::found_voter` once on each voter before it joins. If this voter has \
             voted before, its disk was lost: run `hustings voter init`"
        }
        _ => remedy(error),
    }
}

/// `hustings voter init` has a voter's place for as long as it asks the others, 5 s if it is not told otherwise.
const INIT_TAKES: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Takes a voter's place. An agent that is started while the voter is being initialised waits for that: else it would
/// not vote until it is started again.
async fn lock(state: &Path, vote: Vote<'_>) -> Result<VoterLock, VoterError> {
    let waited = async {
        let mut is_said = false;
        loop {
            match VoterLock::take(state, vote) {
                Err(VoterError::Runs { .. }) => {}
                done => return done,
            }
            if !is_said {
                tracing::info!(
                    "group `{}`: this voter is being initialised, or its agent runs: waiting {} s at most",
                    vote.group,
                    INIT_TAKES.as_secs()
                );
                is_said = true;
            }
            sleep(LOOK_EVERY).await;
        }
    };
    match timeout(INIT_TAKES, waited).await {
        Ok(done) => done,
        Err(_) => VoterLock::take(state, vote),
    }
}

/// Sends a clerk to a store that this program knows.
fn hire(
    store: &StoreKind,
    terms: StoreTerms,
    memory: Memory,
    group: usize,
    words: Words,
) -> Result<Clerk, String> {
    let failed = |error: StoreError| error.to_string();
    match store {
        #[cfg(feature = "etcd")]
        StoreKind::Etcd {
            endpoints,
            login,
            ca,
        } => {
            use crate::authority::etcd::{Etcd, EtcdConfig, Login};
            let login = login
                .clone()
                .map(|(user, password)| Login { user, password });
            let config = EtcdConfig {
                endpoints: endpoints.clone(),
                login,
                ca: ca.clone(),
            };
            let store = Etcd::new(config, &terms).map_err(failed)?;
            Ok(Clerk::hire(store, terms, memory, group, words))
        }
        #[cfg(feature = "postgres")]
        StoreKind::Postgres { url } => {
            use crate::authority::postgres::{Postgres, PostgresConfig};
            let config = PostgresConfig { url: url.clone() };
            let store = Postgres::new(&config, &terms).map_err(failed)?;
            Ok(Clerk::hire(store, terms, memory, group, words))
        }
        #[cfg(not(all(feature = "etcd", feature = "postgres")))]
        other => {
            let (_, _, _, _) = (terms, memory, group, words);
            let name = other.name();
            let what = format!(
                "this program was built without {name}: build it with `--features {name}`, or let voters grant tenure"
            );
            Err(failed(StoreError::Config(what)))
        }
    }
}

fn rand_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    if let Err(error) = getrandom::fill(&mut seed) {
        // The calendar and the process's number are what is left to tell lives apart by.
        tracing::warn!("no randomness of the system: {error}");
        let calendar = crate::identity::calendar();
        seed[..8].copy_from_slice(&calendar.to_le_bytes());
        seed[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
    seed
}

#[cfg(test)]
mod tests {
    use hustings_protocol::tenure::{Durable, Request};
    use hustings_protocol::{Duration, announce};

    use super::{Offices, Part, VoterFile, VoterLock, remedy};
    use crate::clock;
    use crate::config::{AuthorityConfig, GroupConfig, ProtocolConfig, QuorumConfig};

    /// The election may name it, where nobody else is there.
    #[tokio::test]
    async fn who_only_asks_what_was_promised_gets_no_tenure() {
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
        for (part, asks_for_it) in [(Part::Whole, true), (Part::Asks, false)] {
            let (offices, _doors) = Offices::open(part);
            let mut authority = offices.authority(0, &group, "z").await.unwrap();
            authority.start(clock::now());
            let acts = authority.request(clock::now(), Request::Acquire);
            assert_eq!(!acts.is_empty(), asks_for_it, "{part:?}: {acts:?}");
        }
    }

    /// Whoever initialises a voter has its place for seconds, while it asks the others.
    #[tokio::test]
    async fn an_agent_that_is_started_while_its_voter_is_initialised_votes() {
        let state = std::env::temp_dir().join(format!("hustings-place-{}", std::process::id()));
        let quorum = QuorumConfig {
            voters: ["a", "b", "c"].map(str::to_owned).into(),
            ttl: Duration::from_secs(1),
            state: Some(state.clone()),
        };
        let vote = quorum.vote("g", "a");
        let place = VoterLock::take(&state, vote).unwrap();
        let (offices, _doors) = Offices::open(Part::Whole);
        let initialise = async {
            VoterFile::reset(&state, vote, Durable::FOUNDING).unwrap();
            drop(place);
        };
        // The agent has its turn first, and finds the place taken.
        let (voter, ()) = tokio::join!(biased; offices.vote(0, &state, vote), initialise);
        let (_, kept) = voter.unwrap();
        assert!(kept.disk.is_some() && kept.lock.is_some());
        drop(kept);
        std::fs::remove_dir_all(state).unwrap();
    }

    /// `voter init` refuses to replace any of them, so it must not be said to do just that.
    #[test]
    fn what_voter_init_would_refuse_is_not_advised() {
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
                 there is none any more: stop this agent, move the file to where it belongs, and run `hustings voter init`"
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
