//! Lifelines: a follower holds a connection to its leader, and the leader's kernel closes it the
//! moment that the leader's process dies. Nobody need wait for a time-out then.
//!
//! A broken lifeline alone proves nothing, so the follower connects again at once, and only if the leader's
//! host answers that nobody listens there any more is there reason to think the leader dead. Where no such
//! answer comes (a host that is gone too) the listen interval decides, as it does without lifelines. That
//! answer a firewall can give as well, so the leader is asked once more, by a sealed datagram: see
//! [`crate::group`]. Not by datagrams alone: silence takes longer to tell than a refusal.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hustings_protocol::MemberId;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Before a leader that cannot be reached is tried again.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);
/// A host that answers at all answers within a round trip.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);
/// How often a connection that breaks at once is tried again at once: a process that dies closes its
/// connections a moment before its listener.
const AT_ONCE: u32 = 16;
/// A connection that lasted longer did not break at once.
const MOMENT: Duration = Duration::from_millis(20);

/// A leader, as the agent's loop knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whose {
    /// Of which of the agent's groups.
    pub(crate) group: usize,
    pub(crate) leader: MemberId,
}

/// A leader's host says that nobody listens where the leader was: a word to the agent's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) whose: Whose,
    /// How long it took to say so.
    pub(crate) round_trip: Duration,
}

/// A connection to a leader. Ends when dropped.
pub(crate) struct Lifeline {
    pub(crate) leader: MemberId,
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Lifeline {
    /// Holds a connection to a leader until it is refused, and says so.
    pub(crate) fn hold(address: SocketAddr, whose: Whose, told: mpsc::Sender<Refusal>) -> Self {
        let task = tokio::spawn(async move {
            let mut was_there = false;
            loop {
                match follow(address).await {
                    // Refused from the start it may be out of reach, behind a firewall.
                    Fate::Refused(_) if !was_there => {}
                    Fate::Dead(round_trip) | Fate::Refused(round_trip) => {
                        // Nobody to tell if the agent is gone.
                        let _ = told.send(Refusal { whose, round_trip }).await;
                        return;
                    }
                    Fate::Unreachable => {}
                    Fate::Flickering => was_there = true,
                }
                tokio::time::sleep(RECONNECT_AFTER).await;
            }
        });
        Self {
            leader: whose.leader,
            address,
            task,
        }
    }

    /// Whether it has said what there was to say.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Finds out whether a leader that somebody else holds to be dead refuses connections.
pub(crate) fn inquire(address: SocketAddr, whose: Whose, told: mpsc::Sender<Refusal>) {
    tokio::spawn(async move {
        let fate = tokio::time::timeout(ANSWER_WITHIN, follow(address)).await;
        if let Ok(Fate::Dead(round_trip) | Fate::Refused(round_trip)) = fate {
            // Nobody to tell if the agent is gone.
            let _ = told.send(Refusal { whose, round_trip }).await;
        }
    });
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The host says, after so long, that nobody listens there any more.
    Dead(Duration),
    /// The same, and has said nothing else.
    Refused(Duration),
    /// No word from it.
    Unreachable,
    /// Somebody is there, but does not keep connections.
    Flickering,
}

/// Connects to a leader for as long as it lives.
async fn follow(address: SocketAddr) -> Fate {
    let mut breaks = 0;
    while breaks < AT_ONCE {
        let asked = Instant::now();
        let attempt = tokio::time::timeout(ANSWER_WITHIN, TcpStream::connect(address));
        let mut stream = match attempt.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return match breaks {
                    0 => Fate::Refused(asked.elapsed()),
                    _ => Fate::Dead(asked.elapsed()),
                };
            }
            Ok(Err(_)) | Err(_) => return Fate::Unreachable,
        };
        let since = Instant::now();
        // The leader says nothing here: this ends when the connection does.
        while matches!(stream.read(&mut [0; 16]).await, Ok(1..)) {}
        breaks = match since.elapsed() > MOMENT {
            true => 1,
            false => breaks + 1,
        };
    }
    Fate::Flickering
}

#[cfg(test)]
mod tests {
    use super::{Fate, Lifeline, Whose, follow};
    use hustings_protocol::MemberId;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    const WHOSE: Whose = Whose {
        group: 0,
        leader: MemberId(7),
    };

    #[tokio::test]
    async fn where_nobody_listens_nobody_lives() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        // Another test may have had the port for a moment.
        let fate = follow(address).await;
        assert!(matches!(fate, Fate::Refused(_) | Fate::Dead(_)), "{fate:?}");
    }

    #[tokio::test]
    async fn a_leader_that_drops_its_connections_is_not_dead_until_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, mut told) = mpsc::channel(1);
        let _lifeline = Lifeline::hold(address, WHOSE, tell);
        for _ in 0..3 {
            let (stream, _) = listener.accept().await.unwrap();
            drop(stream);
        }
        let (stream, _) = listener.accept().await.unwrap();
        assert!(told.try_recv().is_err(), "it lives");
        drop(stream);
        drop(listener);
        let refusal = told.recv().await;
        assert_eq!(refusal.map(|it| it.whose), Some(WHOSE));
    }
}
