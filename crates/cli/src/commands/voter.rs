//! `hustings voter`: initialises and shows a voter's state on disk.

mod voter_query;

use std::io;
use std::path::Path;

use clap::{Args, Subcommand};
use hustings_agent::AgentConfig;
use hustings_agent::authority::era;
use hustings_agent::authority::voter_file::{self, Vote, VoterError, VoterFile, VoterLock};
use hustings_agent::config::{AuthorityConfig, GroupConfig, QuorumConfig, non_voter};
use hustings_fence::slots::OpenError;
use hustings_protocol::Duration;
use hustings_protocol::tenure::{Durable, counter};

use self::voter_query::{Answers, Unproven, voter_query};
use super::agent::runtime;
use crate::failure::{Failure, print, say};
use crate::options::agent_options::AgentOptions;
use crate::options::{SignedArg, values};

/// Initialise this host's voter, or show its promise
#[derive(Debug, Subcommand)]
pub(crate) enum Voter {
    Init(Box<Init>),
    /// Print the promise of this host's voter. Its agent must not run
    Show {
        #[command(flatten)]
        options: Box<AgentOptions>,
    },
}

/// Make this member a voter of its group, once, before it votes for the first time
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Init {
    #[command(flatten)]
    options: AgentOptions,

    /// The group is new: none of its voters has ever voted. Run this once on each of them
    #[arg(long, conflicts_with = "era")]
    new: bool,

    /// A majority of the voters has lost its disks for good: begin this era, higher than the one
    /// before, on every voter, after every member of the group has stopped
    #[arg(long, value_name = "N", value_parser = values::whole(1..=era::LAST))]
    era: Option<u16>,

    /// The time to wait for the other voters, at least 1s [default: 5s; 1s with --new and --era,
    /// where no answer is expected]
    #[arg(long, value_name = "DURATION", signed = within)]
    within: Option<Duration>,
}

/// The default time to wait for answers that are needed.
const OTHERS_WITHIN: Duration = Duration::from_secs(5);

/// The minimum time to wait for answers. In less time a running member may not have answered, and
/// its silence would be taken for absence. For a new group or a new era no answer is expected, and
/// this time is enough.
const LEAST_WITHIN: Duration = Duration::from_secs(1);

/// The way out when the counters are used up, for example because a member invented some.
const NO_ERA_LEFT: &str = "no era is left above that. Stop every member, find the last fence \
                           that the guarded resources accepted, move the files of all voters \
                           away, wait for the longest ttl that was ever granted, and run this \
                           command on every voter with --era N, where N is one above the era of \
                           that fence (the fence divided by 2^48)";

fn within(text: &str) -> Result<Duration, String> {
    match values::duration(text)? {
        span if span < LEAST_WITHIN => {
            Err(format!("too short for the other voters to answer: choose {LEAST_WITHIN} or more"))
        }
        span => Ok(span),
    }
}

const AFTER_HELP: &str = include_str!("voter_help.txt").trim_ascii_end();

impl Voter {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Init(init) => init.run(),
            Self::Show { options } => show(&options),
        }
    }
}

/// A voter of one group and the place of its state.
struct LocalVoter<'a> {
    group: &'a GroupConfig,
    quorum: &'a QuorumConfig,
    state: &'a Path,
    member: &'a str,
}

impl<'a> LocalVoter<'a> {
    fn of(config: &'a AgentConfig) -> Result<Self, Failure> {
        let [group] = &config.groups[..] else {
            let names: Vec<&str> = config.groups.iter().map(|it| it.name.as_str()).collect();
            return Err(Failure::Usage(format!(
                "this command handles the voters of one group, and the file has the groups {}: \
                 choose one with --group",
                names.join(", ")
            )));
        };
        let without =
            |why: &str| Err(Failure::Usage(format!("group `{}` has no voters{why}", group.name)));
        let quorum = match &group.authority {
            AuthorityConfig::Quorum(quorum) => quorum,
            AuthorityConfig::Nobody => {
                return without(": give them with --voters, or voters = [..]");
            }
            AuthorityConfig::Store(store) => {
                let store = store.store.name();
                return without(&format!(
                    ", because {store} grants its tenure: there is nothing to initialise"
                ));
            }
        };
        let member = config.name.as_str();
        if let Some(state) = quorum.state.as_ref().filter(|_| quorum.is_voter(member)) {
            return Ok(Self { group, quorum, state, member });
        }
        let meant = non_voter::meant(member, quorum);
        let meant = meant.map(|(voter, _)| format!("; {}", non_voter::suggestion(voter)));
        Err(Failure::Usage(format!(
            "this member, `{member}`, is not a voter of group `{}`: run this command on a voter's \
             host ({}), or give the voter's name with --name{}",
            group.name,
            quorum.voters.join(", "),
            meant.unwrap_or_default()
        )))
    }

    fn open(&self) -> Result<Durable, VoterError> {
        let (_, durable) = VoterFile::open(self.state, self.vote())?;
        Ok(durable)
    }

    fn vote(&self) -> Vote<'_> {
        self.quorum.vote(&self.group.name, self.member)
    }

    /// Checks that `era` may begin after the promise of this voter.
    fn check_era(&self, era: u16, promised: Durable) -> Result<(), Failure> {
        if promised.counter <= era::begin(era) {
            return Ok(()); // nothing is promised in this era yet
        }
        let (member, group, counter) = (self.member, &self.group.name, promised.counter);
        let promised =
            format!("voter `{member}` of group `{group}` has promised counter {counter}");
        Err(next_era(&promised, counter, |next| {
            format!(
                ", of era {}: choose {next} for all voters, also for voters that began era {era}, \
                 or fences would be granted a second time",
                era::of(counter)
            )
        }))
    }

    /// Returns the state to begin with if the other voters have moved out of this voter's reach.
    /// This voter's own promise is lower and remains valid.
    fn catch_up(
        &self,
        kept: Durable,
        longest_ttl: Duration,
        highest: Option<u64>,
    ) -> Result<Durable, Failure> {
        match highest.filter(|it| *it > counter::reach_of(kept.counter)) {
            Some(counter) => Ok(Durable { counter, owner: None, longest_ttl }),
            None => Err(Failure::Failed(format!(
                "voter `{}` of group `{}` is initialised, and has promised counter {}: there is nothing to do",
                self.member, self.group.name, kept.counter
            ))),
        }
    }

    /// Creates the state directory if necessary, and locks it so that no agent of this host votes
    /// with it, even if the voter's file is gone.
    fn lock(&self) -> Result<VoterLock, Failure> {
        VoterLock::take(self.state, self.vote()).map_err(|error| match &error {
            VoterError::State { path, source } => Failure::Failed(format!(
                "{}: the voter's promises cannot be stored there: {source}: {}",
                path.display(),
                remedy(source)
            )),
            _ => Failure::failed(error),
        })
    }

    /// Removes the voter's file. The voter does not vote until it is initialised again.
    fn take_away(&self) -> Result<(), Failure> {
        let path = voter_file::path(self.state, &self.group.name);
        let shown = path.display();
        std::fs::remove_file(&path).map_err(|error| {
            Failure::Failed(format!(
                "{shown}: {error}: remove this file, which says that the group never had a leader"
            ))
        })?;
        say(&format!("{shown}: removed: it said that the group never had a leader"));
        Ok(())
    }

    fn reset(&self, durable: Durable) -> Result<(), Failure> {
        let kept = VoterFile::reset(self.state, self.vote(), durable);
        kept.map_err(|error| Failure::Failed(in_words(&error)))?;
        print(&format!(
            "{}: voter `{}` of group `{}` begins at counter {}\n",
            voter_file::path(self.state, &self.group.name).display(),
            self.member,
            self.group.name,
            durable.counter
        ))
    }
}

impl Init {
    fn run(self) -> Result<(), Failure> {
        let config = self.options.config(None)?;
        let local = LocalVoter::of(&config)?;
        let _lock = local.lock()?;
        let mut longest_ttl = local.quorum.ttl;
        let mut is_untouched = false;
        let mut kept = None;
        match (local.open(), self.era) {
            // It has not voted yet, so it can begin again with better information.
            (Ok(durable), None) if durable.counter == 0 => is_untouched = true,
            (Ok(durable), None) if self.new => {
                return local.catch_up(durable, longest_ttl, None).map(drop);
            }
            // It may have been left behind.
            (Ok(durable), None) => {
                longest_ttl = longest_ttl.max(durable.longest_ttl);
                kept = Some(durable);
            }
            // A promise to another list of voters does not apply to this list, and must not be
            // forgotten either.
            (Err(error @ VoterError::OtherVoters { .. }), None) => {
                return Err(Failure::Failed(in_words(&error)));
            }
            (Ok(promised) | Err(VoterError::OtherVoters { promised, .. }), Some(era)) => {
                local.check_era(era, promised)?;
                longest_ttl = longest_ttl.max(promised.longest_ttl); // its grants may still last
            }
            (Err(error), _) if !may_be_replaced(&error) => {
                return Err(Failure::Failed(in_words(&error)));
            }
            // A new group has no file yet.
            (Err(VoterError::File(OpenError::Missing { .. })), _) => {}
            (Err(error), _) if self.new => {
                return Err(Failure::Failed(format!(
                    "{error}. A group that has such a file is not new: run this command without \
                     --new"
                )));
            }
            (Err(error), _) => say(&format!("found: {error}")),
        }
        let told = voter_query(&config, &local, self.within(), self.needs_others());
        let told = runtime()?.block_on(told)?;
        let begins = self.judge(&local, kept, longest_ttl, &told);
        if begins.is_err() && is_untouched && self.new {
            local.take_away()?; // or it would vote as if no member had ever led
        }
        let begins = begins?;
        // The frames may come from other groups at the same address, so this is only a warning.
        if let (false, Some(hint)) = (self.needs_others(), told.other_keys()) {
            say(&format!(
                "warning: {hint} If they come from members of group `{}`, the group is not new \
                 and some members run: then run this command again with the right key, before \
                 you start any agent",
                local.group.name
            ));
        }
        local.reset(begins)
    }

    fn needs_others(&self) -> bool {
        !self.new && self.era.is_none()
    }

    /// The time to wait for the other voters.
    fn within(&self) -> Duration {
        self.within.unwrap_or(if self.needs_others() { OTHERS_WITHIN } else { LEAST_WITHIN })
    }

    /// Returns the state that this voter may begin with, given the answers of the others.
    /// `longest_ttl` is the longest tenure that it can have granted; `kept` is its own promise,
    /// unless its disk was lost.
    fn judge(
        &self,
        local: &LocalVoter<'_>,
        kept: Option<Durable>,
        longest_ttl: Duration,
        told: &Answers,
    ) -> Result<Durable, Failure> {
        let granted = told.voters.values().flatten().map(|it| it.longest_ttl);
        let longest_ttl = granted.fold(longest_ttl, Ord::max);
        if self.needs_others() {
            return self.rejoin(local, kept, longest_ttl, told);
        }
        let group = &local.group.name;
        if let Some((holder, fence)) = &told.holder {
            return Err(Failure::Failed(format!(
                "`{holder}` of group `{group}` runs and holds tenure with fence {fence}: the \
                 group is not new; stop every member before you begin a new era"
            )));
        }
        if let Some(other) = &told.another {
            return Err(Failure::Failed(other.in_words(group, &local.quorum.voters)));
        }
        // A replayed recording can only keep a voter from beginning.
        if let Some(Unproven { member, fence, address }) = &told.unproven {
            return Err(Failure::Failed(format!(
                "`{member}` of group `{group}` sends from {address} that it holds tenure with \
                 fence {fence}, but it has not answered that it runs. If it runs, the group is \
                 not new: let UDP pass between this host and that address, and stop every member \
                 before you begin a new era. If it does not run, an old recording of it is being \
                 replayed: stop the replay, or give all members another key. Then run this \
                 command again"
            )));
        }
        let Some(era) = self.era else {
            return match told.promised().find(|(_, counter)| *counter > 0) {
                None => Ok(Durable::FOUNDING),
                Some((voter, counter)) => Err(Failure::Failed(format!(
                    "group `{group}` is not new, because voter `{voter}` has promised counter \
                     {counter}: run this command without --new"
                ))),
            };
        };
        match told.voters.keys().next() {
            None => Ok(Durable { counter: era::begin(era), owner: None, longest_ttl }),
            Some(voter) => Err(Failure::Failed(format!(
                "voter `{voter}` of group `{group}` runs: stop every member before you begin a \
                 new era; if only this voter's disk was lost, run this command without --era"
            ))),
        }
    }

    /// Returns the state with which this voter joins the others again. A majority of all voters
    /// must have answered.
    fn rejoin(
        &self,
        local: &LocalVoter<'_>,
        kept: Option<Durable>,
        longest_ttl: Duration,
        told: &Answers,
    ) -> Result<Durable, Failure> {
        let group = &local.group.name;
        let majority = local.quorum.terms().majority() as usize;
        let (names, counters): (Vec<&str>, Vec<u64>) = told.promised().unzip();
        let highest = counters.into_iter().max();
        if let Some(kept) = kept {
            return local.catch_up(kept, longest_ttl, highest.filter(|_| names.len() >= majority));
        }
        if names.len() < majority {
            return Err(Failure::Failed(format!(
                "only {} of the {majority} voters that are needed answered within {} ({}): start \
                 the agents of the others and try again; use --new if this group has never had a \
                 leader, --era if their disks are lost for good{}",
                names.len(),
                self.within(),
                if names.is_empty() { "none".to_owned() } else { names.join(", ") },
                told.other_keys().map_or_else(String::new, |hint| format!(". But {hint}")),
            )));
        }
        let highest = highest.unwrap_or(0);
        if counter::is_lawful(highest) && Durable::can_replace(highest) {
            return Ok(Durable::replacing(highest, longest_ttl));
        }
        let promised = format!("the voters of group `{group}` have promised counter {highest}");
        Err(next_era(&promised, highest, |next| {
            format!(
                ", and era {} has no counter left above it: stop every member, and run this \
                 command with --era {next} on every voter",
                era::of(highest)
            )
        }))
    }
}

/// Reports that a counter is used up, with the remedy for the era after it, if there is one.
fn next_era(promised: &str, counter: u64, remedy: impl Fn(u16) -> String) -> Failure {
    let remedy = era::after(counter).map_or_else(|| format!(": {NO_ERA_LEFT}"), remedy);
    Failure::Failed(format!("{promised}{remedy}"))
}

/// Returns true unless the file is unreadable, which is not lost, or belongs to another voter, which
/// is not for this voter to replace.
fn may_be_replaced(error: &VoterError) -> bool {
    use OpenError::{Another, InUse, Io, NotOurs};
    !matches!(
        error,
        VoterError::Another { .. }
            | VoterError::File(InUse { .. } | Io { .. } | NotOurs { .. } | Another { .. })
    )
}

/// Explains why a voter's file cannot be used, and the remedy.
fn in_words(error: &VoterError) -> String {
    let VoterError::File(file) = error else {
        return error.to_string();
    };
    let (path, why) = match file {
        OpenError::Missing(path) => (
            path,
            "no such file: this voter was never initialised, or its disk was lost: `hustings voter \
             init --help` tells what to do in each case"
                .to_owned(),
        ),
        OpenError::InUse(path) => (
            path,
            "the file is in use: stop the agent of this member first, or the other process that \
             has it open"
                .to_owned(),
        ),
        OpenError::Io { path, .. } if path.is_dir() => (
            path,
            "a directory is where the voter's file belongs: move the directory away".to_owned(),
        ),
        OpenError::Io { path, source } => (path, format!("{source}: {}", remedy(source))),
        OpenError::Truncated { .. } | OpenError::Damaged { .. } => {
            return format!("{file}, with `hustings voter init`");
        }
        _ => return file.to_string(), // the message already has the remedy
    };
    format!("{}: {why}", path.display())
}

/// The remedy for an error of the file system.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "run this command as the agent's user and let that user write there, or give another \
             directory (--state, or state = \"..\")"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a part of that path is a file: give a directory (--state, or state = \"..\")"
        }
        _ => "give a directory on a writable disk (--state, or state = \"..\")",
    }
}

fn show(options: &AgentOptions) -> Result<(), Failure> {
    let config = options.config(None)?;
    let local = LocalVoter::of(&config)?;
    let durable = local.open().map_err(|error| Failure::Failed(in_words(&error)))?;
    print(&format!(
        "voter `{}` of group `{}`: promised counter {}, granted {} at most\n",
        local.member, local.group.name, durable.counter, durable.longest_ttl
    ))
}
