//! The query for running members and their promises before a voter is initialised.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use hustings_agent::agent::{Promised, Told};
use hustings_agent::authority::era;
use hustings_agent::{Agent, AgentConfig, AgentStoppedError, clock};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::{LEAST_WITHIN, LocalVoter};
use crate::failure::Failure;

/// The interval between two queries.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// The answers of the running members.
pub(super) struct Answers {
    /// The promises of the other voters, by name.
    pub(super) voters: BTreeMap<String, Option<Promised>>,
    /// The member that holds tenure, and its fence.
    pub(super) holder: Option<(String, u64)>,
    /// A member that uses another list of voters, or a store.
    pub(super) another: Option<Other>,
    /// The member with the highest fence that claims tenure and has not proven that it runs.
    pub(super) unproven: Option<Unproven>,
    /// The number of frames under keys that are not this group's.
    pub(super) under_other_keys: u64,
}

impl Answers {
    /// Returns the voters that told their promises, each with the counter.
    pub(super) fn promised(&self) -> impl Iterator<Item = (&str, u64)> {
        let voters = self.voters.iter();
        voters.filter_map(|(voter, promised)| Some((voter.as_str(), promised.as_ref()?.counter)))
    }

    /// A hint for the user if frames under other keys arrived.
    pub(super) fn other_keys(&self) -> Option<String> {
        (self.under_other_keys > 0).then(|| {
            format!(
                "{} frames arrived under keys that are not this group's: check that key or \
                 key-file is the same on every host.",
                self.under_other_keys
            )
        })
    }
}

/// A member that claims tenure and has not proven that it runs.
pub(super) struct Unproven {
    pub(super) member: String,
    pub(super) fence: u64,
    pub(super) address: SocketAddr,
}

/// A member that uses another list of voters, or a store.
pub(super) struct Other {
    member: String,
    /// The fence of the tenure that it holds or held, if it reported one.
    fence: Option<u64>,
    holds: bool,
}

/// Queries all running members.
pub(super) async fn voter_query(
    config: &AgentConfig,
    local: &LocalVoter<'_>,
    within: hustings_protocol::Duration,
    needs_others: bool,
) -> Result<Answers, Failure> {
    let mut config = config.clone();
    config.http = None;
    for group in &mut config.groups {
        group.campaigns = group.protocol.elects_all(); // asks without standing, if the protocol allows it
        group.trace = None;
    }
    let mut agent = Agent::start_survey(config).await.map_err(|error| {
        Failure::Failed(format!(
            "{error}. If this member's own agent runs, stop it: it must not run during this command"
        ))
    })?;
    let (answers, mut arriving) = mpsc::unbounded_channel();
    let (deadline, least) = (clock::now() + within, clock::now() + LEAST_WITHIN);
    let others = local.quorum.voters.len() - 1;
    let (mut voters, mut another) = (BTreeMap::new(), None);
    let mut unproven: Option<Unproven> = None;
    let handle = agent.handle().clone();
    let asking = async {
        // If no answer is expected, the query takes all its time to find a member that holds
        // tenure. A member with this member's name may also answer later than the others.
        let is_open = |known: usize| known < others || !needs_others || clock::now() < least;
        while is_open(voters.len()) && clock::now() < deadline {
            let asked = handle.voter_query(&local.group.name, &answers).await;
            asked.map_err(Failure::failed)?;
            // Arriving answers do not delay the next query.
            let ask_at = Instant::now() + ASK_EVERY;
            while let Ok(Some(told)) = timeout_at(ask_at, arriving.recv()).await {
                match told {
                    // This is the highest promise that the voter has reported.
                    Told::Voter { voter, promised } => _ = voters.insert(voter, promised),
                    // The highest fence matters most; for equal fences, the latest report.
                    Told::Another { member, fence, holds } => {
                        let is_later = |before: &Other| before.fence <= fence;
                        if another.as_ref().is_none_or(is_later) {
                            another = Some(Other { member, fence, holds });
                        }
                    }
                    Told::Unproven { member, fence, address } => {
                        if unproven.as_ref().is_none_or(|it| it.fence <= fence) {
                            unproven = Some(Unproven { member, fence, address });
                        }
                    }
                }
            }
        }
        Ok(())
    };
    tokio::select! {
        biased; // a running agent may have promised more than the file says
        ended = agent.ended() => return Err(still_runs(ended)),
        asked = asking => asked?,
    }
    let groups = handle.status().await.map_or_else(Vec::new, |it| it.groups);
    let under_other_keys = groups.iter().map(|it| it.counters.unknown_key).sum();
    let mut leaderships = groups.into_iter().map(|it| it.leadership);
    let holder = leaderships.find_map(|it| Some((it.leader?.name, it.fence?)));
    agent.abort().await; // it was not a member, so no goodbye is due
    Ok(Answers { voters, holder, another, unproven, under_other_keys })
}

impl Other {
    /// Explains why nothing begins beside an unknown list of voters, or a store. A member that
    /// votes by another list and reports no tenure may be as new as this one. Then one of the two
    /// lists is wrong.
    pub(super) fn in_words(&self, group: &str, voters: &[String]) -> String {
        let (member, list) = (&self.member, voters.join(", "));
        let holds = self.fence.map(|fence| {
            let verb = if self.holds { "holds" } else { "has held" };
            format!(" and {verb} tenure with fence {fence}, so group `{group}` is not new")
        });
        let holds = holds.unwrap_or_default();
        let above = match self.fence.map(|fence| (fence, era::after(fence))) {
            Some((fence, Some(next))) => {
                format!("--era {next} or higher, so that new fences are above fence {fence}")
            }
            Some((_, None)) => "--era, one above the era of the last fence that was really \
                                granted: no era is left above this fence"
                .to_owned(),
            None => "--era, one above the last".to_owned(),
        };
        format!(
            "`{member}` runs with another list of voters{holds}: all members of group `{group}` \
             must have the same list. Compare its voters with the voters given here ({list}), \
             correct the wrong ones, and run this command again. To replace the voters: stop \
             every member that has the old list, then run this command with {above}"
        )
    }
}

/// Explains why no member could be queried.
fn still_runs(ended: Result<(), AgentStoppedError>) -> Failure {
    Failure::Failed(match ended {
        Err(AgentStoppedError::DuplicateName { member, address }) => format!(
            "the agent of `{member}` runs at {address}: stop it and run this command again; if \
             it belongs to another member, give one of the two another name (--name)"
        ),
        Err(error) => error.to_string(),
        Ok(()) => "the other voters could not be queried: try again".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::Other;

    #[test]
    fn member_with_another_list_is_a_holder_only_while_it_holds() {
        let said = |fence, holds| {
            let member = "b".to_owned();
            let other = Other { member, fence, holds };
            other.in_words("g", &["a".to_owned()])
        };
        let runs = "`b` runs with another list of voters";
        for (fence, holds, how) in [
            (Some(7), true, " and holds tenure with fence 7, so group `g` is not new: "),
            (Some(7), false, " and has held tenure with fence 7, so group `g` is not new: "),
            (None, false, ": "),
        ] {
            let said = said(fence, holds);
            let begins = format!("{runs}{how}all members of group `g` must have the same list. ");
            assert!(said.starts_with(&begins), "{said}");
        }
        assert!(
            said(Some(7), false)
                .ends_with("--era 1 or higher, so that new fences are above fence 7")
        );
    }
}
