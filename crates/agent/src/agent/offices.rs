//! The authorities of an agent's groups, and how those that work beside the loop reach it.

use std::path::Path;
use std::sync::Arc;

use hustings_protocol::Candidate;
use hustings_protocol::tenure::Role;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{Notify, mpsc};

use crate::authority::occupancy::Occupancy;
use crate::authority::quorum::{Disk, Quorum};
use crate::authority::voter_file::{self, VoterFile};
use crate::authority::{Authority, Word};
use crate::config::{AuthorityConfig, GroupConfig, QuorumConfig};
use crate::identity::member_id;

/// Where authorities that work beside the loop leave what they have to say.
pub(super) struct Offices {
    words: mpsc::UnboundedSender<(usize, Word)>,
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
    pub(super) fn open() -> (Self, Doors) {
        let (words, heard) = mpsc::unbounded_channel();
        let (saved, told) = mpsc::unbounded_channel();
        let stopped = Arc::new(Notify::new());
        let doors = Doors {
            words: heard,
            saved: told,
            stopped: stopped.clone(),
        };
        let offices = Self {
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
    pub(super) fn authority(&self, number: usize, group: &GroupConfig, member: &str) -> Authority {
        match &group.authority {
            AuthorityConfig::Nobody => Authority::Nobody,
            AuthorityConfig::Quorum(quorum) => self.quorum(number, group, quorum, member),
        }
    }

    fn quorum(
        &self,
        number: usize,
        group: &GroupConfig,
        quorum: &QuorumConfig,
        member: &str,
    ) -> Authority {
        let me = Candidate {
            merit: group.merit,
            id: member_id(member),
        };
        let state = quorum.state.as_deref().filter(|_| quorum.is_voter(member));
        let (votes, disk) = match state {
            Some(state) => self.vote(number, group, state, member),
            None => (None, None),
        };
        let role = Role {
            votes,
            stands: group.campaigns,
        };
        // A member that restarts is someone else: what tells its lives apart is drawn, not counted.
        let rng = Xoshiro256PlusPlus::from_seed(rand_seed());
        let (voters, terms) = (quorum.voters.clone(), quorum.terms());
        Authority::Quorum(Box::new(Quorum::new(me, voters, terms, role, rng, disk)))
    }

    /// A voter, with what it finds on its disk.
    fn vote(
        &self,
        number: usize,
        group: &GroupConfig,
        state: &Path,
        member: &str,
    ) -> (Option<hustings_protocol::tenure::Saved>, Option<Disk>) {
        let opened = VoterFile::open(state, &group.name, member);
        let votes = Some(voter_file::found(&opened));
        let disk = match opened {
            Ok((file, _)) => {
                let saved = self.saved.clone();
                // Without a loop there is nobody to tell.
                Some(file.serve(move |done| _ = saved.send((number, done))))
            }
            Err(error) => {
                tracing::error!(
                    "group `{}`: this voter does not vote: {error}. To make it one: stop this agent, and run `hustings voter init`",
                    group.name
                );
                None
            }
        };
        (votes, disk)
    }
}

fn rand_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    if let Err(error) = getrandom::fill(&mut seed) {
        // The calendar and the process's number are what is left to tell lives apart by.
        tracing::warn!("no randomness of the system: {error}");
        let life = crate::identity::Life::begin().0;
        seed[..8].copy_from_slice(&life.to_le_bytes());
        seed[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
    seed
}
