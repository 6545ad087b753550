//! A member's part in a draw: what it needs for it, and why there may be none.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use hustings_protocol::Duration;
use hustings_protocol::wagner::Wagner;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::account::{Account, State};
use super::bytes::{Bytes, Digest};
use super::doors::Doors;
use super::gathering::{Gathering, TooLate};
use super::keys::Secret;
use super::link::Ends;
use super::mark::{self, Unmarked};
use super::ring::Ring;
use super::seat::{Player, Seat, System};
use super::sitting::{Failure, Sitting};
use super::transcript::{NoTranscript, Transcript};
use crate::clock;

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
    /// The directory where the draws that this key has taken part in leave their marks: the same for all of its draws.
    pub marks: PathBuf,
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
    /// It has taken part in this draw.
    #[error(
        "{name} has taken part in this draw, as {} says: a draw that is held again until somebody likes the result is none; agree with the others on a new number and say why", mark.display()
    )]
    Drawn {
        /// The member.
        name: String,
        /// The mark of that draw.
        mark: PathBuf,
    },
    /// No mark can be left: nothing has begun, and nobody else knows of it.
    #[error("cannot leave the mark {} of this draw: {error}: nothing has begun", mark.display())]
    NoPlaceForMark {
        /// Which file.
        mark: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The draw left no mark, so it has not begun.
    #[error("cannot leave the mark {} of this draw: {error}: the others have been told of a fault", mark.display())]
    NoMark {
        /// Which file.
        mark: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is no transcript.
    #[error(transparent)]
    Transcript(#[from] NoTranscript),
    /// The disk refused when this member had signed a result.
    #[error(
        "cannot write the transcript {}: {error}: but this member has signed that {leader} is elected, {}", transcript.display(), after_all(*.is_certain)
    )]
    LateDisk {
        /// Which file.
        transcript: PathBuf,
        /// What the system says.
        error: io::Error,
        /// Whom this member has signed to be elected.
        leader: String,
        /// Whether it has seen that all others have, too.
        is_certain: bool,
    },
    /// The others have begun.
    #[error(
        "{by} says that the draw has begun, and without this process, which has drawn nothing. Either another process takes part with this \
         member's key, perhaps a copy of it: then that draw goes on, and counts. Or this member lost its link just before the draw \
         began: then the others find a fault, and you agree with them on a new number"
    )]
    TooLate {
        /// Which neighbour says so.
        by: String,
    },
    /// Somebody did not come.
    #[error("the draw has not begun: within {waited} there was no sign of {missing}{}", caller(.refused.as_deref()))]
    NotGathered {
        /// How long that was.
        waited: Duration,
        /// Who, and why.
        missing: String,
        /// Why somebody who called was refused, where the left neighbour did not come. It may have been anybody.
        refused: Option<String>,
    },
    /// It was stopped before it began.
    #[error("stopped before the draw began: nothing was drawn")]
    Stopped,
    /// There is no chance to be had.
    #[error("the operating system has no randomness to give: the others have been told of a fault")]
    NoRandomness,
}

fn caller(refused: Option<&str>) -> String {
    refused.map_or_else(String::new, |why| {
        format!("; somebody called, and was refused: {why}")
    })
}

fn after_all(is_certain: bool) -> &'static str {
    match is_certain {
        true => "and so have all others: that stands, and their transcripts show it",
        false => "so that may stand: ask the others, whose transcripts show whether all have",
    }
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
        Transcript::check(&self.transcript)?;
        let mark = mark::path(&self.marks, &self.ring);
        match mark::check(&mark) {
            Ok(()) => Ok(place),
            Err(Unmarked::Drawn) => Err(self.drawn(mark)),
            Err(Unmarked::Refused(error)) => Err(NoDraw::NoPlaceForMark { mark, error }),
        }
    }

    fn drawn(&self, mark: PathBuf) -> NoDraw {
        let name = self.member.clone();
        NoDraw::Drawn { name, mark }
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
            seen: None,
            fault: None,
            reports: Vec::new(),
            unconfirmed_by: Vec::new(),
            missing: Vec::new(),
            basic_rounds: 0,
            messages_sent: 0,
            bytes_sent: 0,
            refused: 0,
            last_refused: None,
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
            ring: Arc::new(self.ring.clone()),
            digest,
            place,
            secret: self.secret.clone(),
        };
        let mut stop = pin!(stop);
        let mut doors = Doors::open(listener, ends.clone(), account.clone());
        let mut gathering = Gathering::new(ends.clone(), account);
        let gathered = tokio::select! {
            gathered = gathering.gather(&mut doors) => Some(gathered),
            () = sleep(StdDuration::from_nanos(self.wait.0)) => None,
            () = &mut stop => return Err(NoDraw::Stopped),
        };
        let gathered = match gathered {
            Some(Ok(gathered)) => gathered,
            Some(Err(TooLate { by })) => {
                gathering.pass_on_begun(&mut doors).await;
                let by = ends.neighbour(by).name.clone();
                return Err(NoDraw::TooLate { by });
            }
            None => {
                let now = clock::now();
                let missing = gathering.absent(now);
                return Err(NoDraw::NotGathered {
                    waited: self.wait,
                    missing: match missing.is_empty() {
                        true => "somebody who is no neighbour of this member".to_owned(),
                        false => missing.join(" and "),
                    },
                    refused: gathering.refused(now),
                });
            }
        };
        let seat = Seat::new(player, &ends.ring, place, System);
        let begun = self.leave_mark(gathered.sitting);
        let begun = begun.and_then(|()| Ok(Transcript::create(&self.transcript)?));
        let (transcript, failure) = match begun {
            Ok(transcript) => (transcript, None),
            Err(error) => (Transcript::lost(), Some(error)),
        };
        let sitting = Sitting::new(ends, gathered, seat, transcript, doors.herald());
        if let Some(error) = failure {
            sitting.leave().await;
            return Err(error);
        }
        let held = sitting.hold(account, stop).await;
        held.map_err(|failure| match failure {
            Failure::Chance => NoDraw::NoRandomness,
            Failure::Disk(error) => self.disk_failed(error, account),
        })
    }

    fn leave_mark(&self, sitting: Digest) -> Result<(), NoDraw> {
        let mark = mark::path(&self.marks, &self.ring);
        let left = mark::leave(&mark, sitting, &self.transcript);
        left.map_err(|why| match why {
            Unmarked::Drawn => self.drawn(mark),
            Unmarked::Refused(error) => NoDraw::NoMark { mark, error },
        })
    }

    /// What a disk that refused means, once the draw is over.
    pub(super) fn disk_failed(self, error: io::Error, account: &watch::Sender<Account>) -> NoDraw {
        let Account { leader, seen, .. } = account.borrow().clone();
        match seen {
            Some(seen) => NoDraw::LateDisk {
                transcript: self.transcript,
                error,
                is_certain: leader.is_some(),
                leader: seen,
            },
            None => NoDraw::Transcript(NoTranscript::Write {
                path: self.transcript,
                error,
            }),
        }
    }
}
