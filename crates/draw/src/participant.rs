//! A member's part in a draw: its inputs, and the errors that prevent a draw.

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

use super::bytes::{Bytes, Digest};
use super::connect::Connector;
use super::keys::Secret;
use super::link::Ends;
use super::once_marker;
use super::rendezvous::{Rendezvous, TooLate};
use super::ring::Ring;
use super::ring_driver::{RingDriver, RingMember, os_randomness};
use super::session::{Failure, Session};
use super::status::DrawStatus;
use super::transcript::{NoTranscript, Transcript};
use hustings_system::clock;

/// The inputs that a member needs to take part in a draw.
#[derive(Debug, Clone)]
pub struct Participant {
    /// The ring of the draw.
    pub ring: Ring,
    /// The name of this member on the ring.
    pub member: String,
    /// The member's secret key.
    pub secret: Secret,
    /// The file to which the transcript is written.
    pub transcript: PathBuf,
    /// The directory of the markers that this key's draws leave. It must be the same for all draws
    /// of the key.
    pub marks: PathBuf,
    /// The time to wait until all other members are present.
    pub wait: Duration,
}

/// The reason for which there was no draw, or none that this member can report on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoDraw {
    /// The member is not on the ring.
    #[error("{name} is not a member of this ring: its members are {members}")]
    NoMember {
        /// The name that was given.
        name: String,
        /// The names on the ring.
        members: String,
    },
    /// The secret key does not belong to the member.
    #[error(
        "the ring file has another key for {name}: the public key of this secret key is {ours}"
    )]
    OtherKey {
        /// The name of the member.
        name: String,
        /// The public key of the given secret.
        ours: Bytes<32>,
    },
    /// The member has already taken part in this draw.
    #[error(
        "{name} has taken part in this draw, as {} shows. A draw that is repeated until a member \
         likes the result is worthless: agree with the others on a new number, and give them the \
         reason", once_marker.display()
    )]
    Drawn {
        /// The name of the member.
        name: String,
        /// The marker of that draw.
        once_marker: PathBuf,
    },
    /// The marker cannot be created. The draw has not begun, and no other member was told.
    #[error("cannot write the mark {} of this draw: {error}: the draw has not begun", once_marker.display())]
    NoPlaceForMark {
        /// The path of the marker.
        once_marker: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// The marker could not be created when all members were present. This member withdrew before
    /// it drew anything, and the others learned of the fault.
    #[error("cannot write the mark {} of this draw: {error}: the others have learned of a fault", once_marker.display())]
    NoMark {
        /// The path of the marker.
        once_marker: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// The transcript cannot be created or written.
    #[error(transparent)]
    Transcript(#[from] NoTranscript),
    /// Writing the transcript failed after this member had signed a result.
    #[error(
        "cannot write the transcript {}: {error}: but this member has signed that {leader} is elected, {}", transcript.display(), after_all(*.is_certain)
    )]
    LateDisk {
        /// The path of the transcript.
        transcript: PathBuf,
        /// The operating system's error.
        error: io::Error,
        /// The leader in the result that this member signed.
        leader: String,
        /// True if this member has seen the signatures of all others under the same result.
        is_certain: bool,
    },
    /// The draw has begun without this process.
    #[error(
        "{by} reports that the draw has begun without this process, which has drawn nothing. \
         Either another process takes part with this member's key, or a copy of it: then that \
         draw continues, and counts. Or this member lost its link just before the draw began: \
         then the others find a fault; agree with them on a new number"
    )]
    TooLate {
        /// The neighbour that reported it.
        by: String,
    },
    /// Not all members were present in time.
    #[error("the draw has not begun: {missing} did not appear within {waited}{}", caller(.refused.as_deref()))]
    NotGathered {
        /// The time that this member waited.
        waited: Duration,
        /// The missing members, and the reasons.
        missing: String,
        /// The reason for which a caller was refused, if the left neighbour was missing. The caller
        /// may have been any process.
        refused: Option<String>,
    },
    /// The member was stopped before the draw began.
    #[error("stopped before the draw began: nothing was drawn")]
    Stopped,
    /// The operating system has no randomness.
    #[error("the operating system gave no random bytes: the others have learned of a fault")]
    NoRandomness,
}

fn caller(refused: Option<&str>) -> String {
    refused.map_or_else(String::new, |why| format!("; a caller was refused: {why}"))
}

fn after_all(is_certain: bool) -> &'static str {
    if is_certain {
        "and so have all others: the result stands, and their transcripts show it"
    } else {
        "so the result may stand: ask the others, whose transcripts show whether all \
                  have signed"
    }
}

impl Participant {
    /// Checks that this member can take part, and returns its place.
    ///
    /// # Errors
    /// The reason for which it cannot.
    pub fn check(&self) -> Result<u32, NoDraw> {
        let Some(place) = self.ring.place_of(&self.member) else {
            let names: Vec<&str> = self.ring.members.iter().map(|it| &*it.name).collect();
            return Err(NoDraw::NoMember { name: self.member.clone(), members: names.join(", ") });
        };
        let ours = self.secret.public();
        if self.ring.member(place).key != ours {
            return Err(NoDraw::OtherKey { name: self.member.clone(), ours: ours.into() });
        }
        Transcript::check(&self.transcript)?;
        let once_marker = once_marker::path(&self.marks, &self.ring);
        match once_marker::check(&once_marker) {
            Ok(true) => Ok(place),
            Ok(false) => Err(self.drawn(once_marker)),
            Err(error) => Err(NoDraw::NoPlaceForMark { once_marker, error }),
        }
    }

    fn drawn(&self, once_marker: PathBuf) -> NoDraw {
        let name = self.member.clone();
        NoDraw::Drawn { name, once_marker }
    }

    /// Creates the status of a member that waits for others. The draw updates it.
    pub fn status(&self) -> watch::Sender<DrawStatus> {
        watch::Sender::new(DrawStatus {
            draw: self.ring.draw.clone(),
            number: self.ring.number,
            ring: self.ring.digest(),
            member: self.member.clone(),
            transcript: self.transcript.clone(),
            ..DrawStatus::default()
        })
    }

    /// Takes part honestly. Accepts the left neighbour at `listener` and keeps `status` up to date.
    /// When `stop` completes, the member withdraws, which is a fault.
    ///
    /// # Errors
    /// The reason for which there was no draw. A fault is not an error: the status reports it.
    pub async fn draw(
        self,
        listener: TcpListener,
        status: &watch::Sender<DrawStatus>,
        stop: impl Future<Output = ()>,
    ) -> Result<DrawStatus, NoDraw> {
        self.play(Wagner::default(), listener, status, stop).await
    }

    /// Takes part with the protocol `player`, which need not be honest.
    ///
    /// # Errors
    /// As [`Participant::draw`].
    pub async fn play<P: RingMember>(
        self,
        player: P,
        listener: TcpListener,
        status: &watch::Sender<DrawStatus>,
        stop: impl Future<Output = ()>,
    ) -> Result<DrawStatus, NoDraw> {
        let place = self.check()?;
        let digest = self.ring.digest();
        let ends =
            Ends { ring: Arc::new(self.ring.clone()), digest, place, secret: self.secret.clone() };
        let mut stop = pin!(stop);
        let mut connect = Connector::open(listener, ends.clone(), status.clone());
        let mut rendezvous = Rendezvous::new(ends.clone(), status);
        let gathered = tokio::select! {
            gathered = rendezvous.gather(&mut connect) => Some(gathered),
            () = sleep(StdDuration::from_nanos(self.wait.0)) => None,
            () = &mut stop => return Err(NoDraw::Stopped),
        };
        let gathered = match gathered {
            Some(Ok(gathered)) => gathered,
            Some(Err(TooLate { by })) => {
                rendezvous.pass_on_begun(&mut connect).await;
                let by = ends.neighbour(by).name.clone();
                return Err(NoDraw::TooLate { by });
            }
            None => {
                let now = clock::now();
                let missing = rendezvous.absent(now);
                return Err(NoDraw::NotGathered {
                    waited: self.wait,
                    missing: if missing.is_empty() {
                        "a member that is not a neighbour of this one".to_owned()
                    } else {
                        missing.join(" and ")
                    },
                    refused: rendezvous.refused(now),
                });
            }
        };
        let ring_driver = RingDriver::new(player, &ends.ring, place, Box::new(os_randomness));
        let begun = self.leave_mark(gathered.session);
        let begun = begun.and_then(|()| Ok(Transcript::create(&self.transcript)?));
        let (transcript, failure) = match begun {
            Ok(transcript) => (transcript, None),
            Err(error) => (Transcript::lost(), Some(error)),
        };
        let session = Session::new(ends, gathered, ring_driver, transcript, connect.herald());
        if let Some(error) = failure {
            session.leave().await;
            return Err(error);
        }
        let held = session.hold(status, stop).await;
        held.map_err(|failure| match failure {
            Failure::Randomness => NoDraw::NoRandomness,
            Failure::Disk(error) => self.disk_failed(error, status),
        })
    }

    fn leave_mark(&self, session: Digest) -> Result<(), NoDraw> {
        let once_marker = once_marker::path(&self.marks, &self.ring);
        match once_marker::leave(&once_marker, session, &self.transcript) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.drawn(once_marker)),
            Err(error) => Err(NoDraw::NoMark { once_marker, error }),
        }
    }

    /// The error to report for a failed disk, which depends on whether this member had signed a
    /// result.
    pub(super) fn disk_failed(
        self,
        error: io::Error,
        status: &watch::Sender<DrawStatus>,
    ) -> NoDraw {
        let DrawStatus { leader, seen, .. } = status.borrow().clone();
        match seen {
            Some(seen) => NoDraw::LateDisk {
                transcript: self.transcript,
                error,
                is_certain: leader.is_some(),
                leader: seen,
            },
            None => NoDraw::Transcript(NoTranscript::Write { path: self.transcript, error }),
        }
    }
}
