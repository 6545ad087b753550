//! To step down, where something has to be done first: a command that runs only while its member leads ends
//! before another member may lead.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use hustings_protocol::Duration;
use tokio::sync::{mpsc, oneshot};

use super::{Control, NoSuchGroup};
use crate::group::Heir;

/// What became of tenure that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandedOver {
    /// The heir has it.
    Taken,
    /// The heir has not said in time that it has it: unless it has, whom the election names gets the next.
    Missed {
        /// How long it had ([`taken_within`](crate::config::QuorumConfig::taken_within)); none: there was nothing
        /// left to hand over.
        within: Option<Duration>,
    },
}

/// Why tenure is not handed over. Nothing was given up, and nothing was stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotHandedOver {
    /// The agent is no member of the group.
    #[error(transparent)]
    NoSuchGroup(#[from] NoSuchGroup),
    /// A store grants to whoever asks first, and an election names whom it likes.
    #[error(
        "group `{group}` has no voters, and only tenure that voters grant can be handed to somebody: name nobody, and \
         whom the election names leads next"
    )]
    NoVoters {
        /// Which group.
        group: String,
    },
    /// Somebody else leads, or nobody.
    #[error(
        "this member, `{member}`, holds no tenure of group `{group}` to hand over: {}",
        .holder.as_ref().map_or_else(
            || "nobody is known to hold it, see `hustings status` for the reason".to_owned(),
            |holder| format!("`{holder}` holds it, ask the agent there"),
        )
    )]
    NoTenure {
        /// Which group.
        group: String,
        /// This member.
        member: String,
        /// Who does, as far as this member knows.
        holder: Option<String>,
    },
    /// It would not step down.
    #[error("`{member}` is this member of group `{group}` itself: name another one: {}", list(.known))]
    Itself {
        /// Which group.
        group: String,
        /// This member.
        member: String,
        /// The others that it knows.
        known: BTreeSet<String>,
    },
    /// Nobody goes by that name, or nobody who can hear this member.
    #[error(
        "no member of group `{group}` is known as `{heir}`, and nobody answers to that name: choose of those known: {}",
        list(.known)
    )]
    Unknown {
        /// Which group.
        group: String,
        /// The name.
        heir: String,
        /// The others that this member knows.
        known: BTreeSet<String>,
    },
    /// The agent has ended, and holds nothing.
    #[error(
        "the agent has ended, and what it held with it: see its log for the reason, and start it again"
    )]
    Ended,
}

/// Of more names than this a few are told.
const MOST_TOLD: usize = 20;

fn list(names: &BTreeSet<String>) -> String {
    let told: Vec<&str> = names.iter().take(MOST_TOLD).map(String::as_str).collect();
    match names.len().saturating_sub(MOST_TOLD) {
        0 if told.is_empty() => "nobody yet".to_owned(),
        0 => told.join(", "),
        more => format!("{}, and {more} more", told.join(", ")),
    }
}

/// The reason for which a member gives up leadership by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resignation {
    /// The reason: a clause, as "its command ended with code 7".
    pub why: String,
    /// Whether something has failed, so that a person should look at it.
    pub is_failure: bool,
}

/// How many may wait. Each waits for the same, so more need not.
const MOST_WAITING: usize = 16;

/// Somebody wishes that this member give up leadership of a group. Whoever receives it carries it out, even if
/// that somebody has gone meanwhile; a wish that is dropped was not carried out, as when the agent ends.
#[derive(Debug)]
pub struct StepDown {
    pub(super) control: mpsc::Sender<Control>,
    pub(super) group: String,
    pub(super) span: Duration,
    pub(super) heir: Option<Heir>,
    /// None if the member was asked to step down.
    pub(super) resignation: Option<Resignation>,
    pub(super) done: oneshot::Sender<()>,
}

impl StepDown {
    /// Gives up leadership. When this returns, whoever watches the group has been told.
    pub async fn carry_out(self) {
        let (done, is_done) = oneshot::channel();
        let control = Control::StepDown {
            group: self.group,
            span: self.span,
            heir: self.heir,
            resignation: self.resignation,
            done,
        };
        // An agent that has ended leads nothing.
        if self.control.send(control).await.is_ok() {
            let _ = is_done.await;
        }
        // Whoever wished it may have gone.
        let _ = self.done.send(());
    }
}

/// Who has to do something before a member steps down; at most one for each group.
#[derive(Debug, Default)]
pub(super) struct Desk(OnceLock<mpsc::Sender<StepDown>>);

impl Desk {
    /// From now on wishes arrive at what this returns. None if they already arrive elsewhere.
    pub(super) fn open(&self) -> Option<mpsc::Receiver<StepDown>> {
        let (wishes, arriving) = mpsc::channel(MOST_WAITING);
        self.0.set(wishes).is_ok().then_some(arriving)
    }

    /// Has a wish carried out: by whoever sits there, else at once.
    pub(super) async fn hand_in(&self, wish: StepDown) {
        let refused = match self.0.get() {
            Some(wishes) => wishes.send(wish).await.err().map(|refused| refused.0),
            None => Some(wish),
        };
        if let Some(wish) = refused {
            wish.carry_out().await;
        }
    }
}
