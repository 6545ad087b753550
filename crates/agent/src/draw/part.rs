//! A member's part in a draw: what it needs for it, and why there may be none.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as StdDuration;

use hustings_protocol::Duration;
use hustings_protocol::wagner::Wagner;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::account::{Account, State};
use super::bytes::Bytes;
use super::gathering::Gathering;
use super::keys::Secret;
use super::link::Ends;
use super::ring::Ring;
use super::seat::{Player, Seat, System};
use super::sitting::{Failure, Sitting};
use super::transcript::{NoTranscript, Transcript};

/// What a member needs to take part in a draw.
#[derive(Debug, Clone)]
pub struct Part {
    /// The draw.
    pub ring: Ring,
    /// Which of its members this is.
    pub member: String,
    /// That member's key.
    pub secret: Secret,
    /// Where its transcript goes.
    pub transcript: PathBuf,
    /// How long to wait for the others to be there.
    pub wait: Duration,
}

/// Why there was no draw, or none that this member can say anything of.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoDraw {
    /// It is not of this ring.
    #[error("{name} is no member of this ring: its members are {members}")]
    NoMember {
        /// Who is not.
        name: String,
        /// Who are.
        members: String,
    },
    /// It holds another key.
    #[error(
        "the ring file has another key for {name} than this secret one belongs to, which is {ours}"
    )]
    OtherKey {
        /// The member.
        name: String,
        /// The key that it should have there.
        ours: Bytes<32>,
    },
    /// There is no transcript.
    #[error(transparent)]
    Transcript(#[from] NoTranscript),
    /// Somebody did not come.
    #[error("the draw has not begun: within {waited} there was no sign of {missing}")]
    NotGathered {
        /// How long that was.
        waited: Duration,
        /// Who, and why.
        missing: String,
    },
    /// It was stopped before it began.
    #[error("stopped before the draw began: nothing was drawn")]
    Stopped,
    /// There is no chance to be had.
    #[error("the operating system has no randomness to give: the draw is left without a word")]
    NoRandomness,
}

impl Part {
    /// Whether this member can take part.
    ///
    /// # Errors
    /// Tells why not.
    pub fn check(&self) -> Result<u32, NoDraw> {
        let Some(place) = self.ring.place_of(&self.member) else {
            let names: Vec<&str> = self.ring.members.iter().map(|it| &*it.name).collect();
            return Err(NoDraw::NoMember {
                name: self.member.clone(),
                members: names.join(", "),
            });
        };
        let ours = self.secret.public();
        if self.ring.member(place).key != ours {
            return Err(NoDraw::OtherKey {
                name: self.member.clone(),
                ours: ours.into(),
            });
        }
        match self.transcript.exists() {
            true => Err(NoTranscript::Exists(self.transcript.clone()).into()),
            false => Ok(place),
        }
    }

    /// The account of a member that waits for others, to be told how it goes on.
    pub fn account(&self) -> watch::Sender<Account> {
        watch::Sender::new(Account {
            draw: self.ring.draw.clone(),
            number: self.ring.number,
            ring: self.ring.digest(),
            member: self.member.clone(),
            state: State::Gathering,
            leader: None,
            fault: None,
            reports: Vec::new(),
            unconfirmed_by: Vec::new(),
            basic_rounds: 0,
            messages_sent: 0,
            bytes_sent: 0,
            refused: 0,
            transcript: self.transcript.clone(),
        })
    }

    /// Takes part honestly. The left neighbour calls at `listener`; `account` is kept up to date; once `stop` is over the member
    /// withdraws, which is a fault.
    ///
    /// # Errors
    /// If there was no draw. A fault is none of these: it is in the account.
    pub async fn draw(
        self,
        listener: TcpListener,
        account: &watch::Sender<Account>,
        stop: impl Future<Output = ()>,
    ) -> Result<Account, NoDraw> {
        self.play(Wagner::new(), listener, account, stop).await
    }

    /// Takes part as `player` does, honest or not.
    ///
    /// # Errors
    /// As [`Part::draw`].
    pub async fn play<P: Player>(
        self,
        player: P,
        listener: TcpListener,
        account: &watch::Sender<Account>,
        stop: impl Future<Output = ()>,
    ) -> Result<Account, NoDraw> {
        let place = self.check()?;
        let digest = self.ring.digest();
        let ends = Ends {
            ring: Arc::new(self.ring),
            digest,
            place,
            secret: self.secret,
        };
        let mut stop = pin!(stop);
        let refused = Arc::new(AtomicU64::new(0));
        let mut gathering = Gathering::new(ends.clone(), Arc::clone(&refused));
        let links = tokio::select! {
            links = gathering.gather(listener) => links,
            () = sleep(StdDuration::from_nanos(self.wait.0)) => None,
            () = &mut stop => return Err(NoDraw::Stopped),
        };
        let links = links.ok_or_else(|| NoDraw::NotGathered {
            waited: self.wait,
            missing: gathering.missing(),
        })?;
        let seat = Seat::new(player, &ends.ring, place, System);
        let transcript = Transcript::create(&self.transcript)?;
        let sitting = Sitting::new(ends, links, seat, transcript);
        account.send_modify(|it| it.refused = refused.load(Ordering::Relaxed));
        let held = sitting.hold(account, stop).await;
        held.map_err(|failure| match failure {
            Failure::Chance => NoDraw::NoRandomness,
            Failure::Disk(error) => NoDraw::Transcript(NoTranscript::Write {
                path: self.transcript,
                error,
            }),
        })
    }
}
