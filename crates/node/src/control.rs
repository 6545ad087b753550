//! Requests to a running member, and their results.
//!
//! Purpose     the types of voter queries and transfers
//! Outputs     results and errors; an error names the remedy
//! Owns        nothing
//! Invariants  after a [`TransferError`] nothing was given up and nothing was stopped

use std::collections::BTreeSet;
use std::net::SocketAddr;

use hustings_protocol::Duration;
pub use hustings_protocol::leadership::Resignation;

/// One finding of a query of the voters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A voter answered.
    Voter {
        /// The voter's name.
        voter: String,
        /// The voter's promise; none if the voter was never initialised.
        promised: Option<Promised>,
    },
    /// A running member uses another list of voters, or a store. These voters do not know its
    /// grants.
    Another {
        /// The member's name.
        member: String,
        /// The fence of its tenure, if it claims to hold one or to have held one until now.
        fence: Option<u64>,
        /// True if it claims to hold the tenure still.
        holds: bool,
    },
    /// A member claims to hold tenure, under this list of voters or another, but has not proven
    /// that it runs. The claim may be a replay.
    Unproven {
        /// The member's name.
        member: String,
        /// The fence of the claimed tenure.
        fence: u64,
        /// The source address of the claim.
        address: SocketAddr,
    },
}

/// A voter's promises and grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promised {
    /// The highest counter that it has promised.
    pub counter: u64,
    /// The longest tenure that it can ever have granted.
    pub longest_ttl: Duration,
}

/// The agent is not a member of this group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no member of group `{0}`")]
pub struct NoSuchGroup(pub String);

/// The outcome of a transfer of tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferOutcome {
    /// The transferee holds tenure.
    Taken,
    /// The transferee has not confirmed in time that it holds tenure. Unless it does, the nominee
    /// of the election gets the next tenure.
    Missed {
        /// The time that it had ([`taken_within`](crate::config::QuorumConfig::taken_within)).
        /// `None` means that there was no tenure left to transfer.
        within: Option<Duration>,
    },
}

/// The reason why a transfer is refused. Nothing was given up, and nothing was stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The agent is not a member of the group.
    #[error(transparent)]
    NoSuchGroup(#[from] NoSuchGroup),
    /// The group has no voters. A store grants tenure to the first member that asks, and an
    /// election alone names any member.
    #[error(
        "group `{group}` has no voters, and only tenure that voters grant can be transferred to a given member: name no member, and the election chooses the next leader"
    )]
    NoVoters {
        /// The group.
        group: String,
    },
    /// Another member holds tenure, or none does.
    #[error(
        "this member, `{member}`, holds no tenure of group `{group}` to transfer: {}",
        .holder.as_ref().map_or_else(
            || "it knows no holder, see `hustings status` for the reason".to_owned(),
            |holder| format!("`{holder}` holds it, ask the agent there"),
        )
    )]
    NoTenure {
        /// The group.
        group: String,
        /// This member.
        member: String,
        /// The holder, as far as this member knows.
        holder: Option<String>,
    },
    /// The transferee is this member itself.
    #[error("`{member}` is this member of group `{group}` itself: name another member: {}", list(.known))]
    Itself {
        /// The group.
        group: String,
        /// This member.
        member: String,
        /// The other members that it knows.
        known: BTreeSet<String>,
    },
    /// No member has that name, or none that this member can reach.
    #[error(
        "no member of group `{group}` is known as `{transferee}`, and no process answers to that name: choose a known member: {}",
        list(.known)
    )]
    Unknown {
        /// The group.
        group: String,
        /// The requested name.
        transferee: String,
        /// The other members that this member knows.
        known: BTreeSet<String>,
    },
    /// The agent has stopped, and holds nothing.
    #[error(
        "the agent has ended, and holds no tenure any more: see its log for the reason, and start it again"
    )]
    Ended,
}

/// The number of names in an error message. The rest is counted.
const MOST_LISTED: usize = 20;

fn list(names: &BTreeSet<String>) -> String {
    let listed: Vec<&str> = names.iter().take(MOST_LISTED).map(String::as_str).collect();
    match names.len().saturating_sub(MOST_LISTED) {
        0 if listed.is_empty() => "none yet".to_owned(),
        0 => listed.join(", "),
        more => format!("{}, and {more} more", listed.join(", ")),
    }
}
