//! Lifelines: a follower holds a connection to its leader, and the leader's kernel closes it the
//! moment that the leader's process dies. Nobody need wait for a time-out then.
//!
//! A broken lifeline alone proves nothing, so the follower connects again at once, and only if the leader's
//! host answers that nobody listens there any more is the leader dead. Where no such answer comes (a
//! firewall, a host that is gone too) the listen interval decides, as it does without lifelines.
//! Not by datagrams: kernels answer those that nobody receives only a few times in a row.

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

/// It is certain that a leader is dead: a word to the agent's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Death {
    /// Of which of the agent's groups.
    pub(crate) group: usize,
    pub(crate) leader: MemberId,
}

/// A connection to a leader. Ends when dropped.
pub(crate) struct Lifeline {
    pub(crate) leader: MemberId,
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Lifeline {
    /// Holds a connection to a leader, and tells of its death.
    pub(crate) fn hold(address: SocketAddr, death: Death, deaths: mpsc::Sender<Death>) -> Self {
        let task = tokio::spawn(async move {
            let mut was_there = false;
            loop {
                match follow(address).await {
                    // Refused from the start it may be out of reach, behind a firewall.
                    Fate::Refused if !was_there => {}
                    Fate::Dead | Fate::Refused => {
                        // Nobody to tell if the agent is gone.
                        let _ = deaths.send(death).await;
                        return;
                    }
                    Fate::Unreachable => {}
                    Fate::Flickering => was_there = true,
                }
                tokio::time::sleep(RECONNECT_AFTER).await;
            }
        });
        Self {
            leader: death.leader,
            address,
            task,
        }
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Finds out whether a leader that somebody else holds to be dead is.
pub(crate) fn inquire(address: SocketAddr, death: Death, deaths: mpsc::Sender<Death>) {
    tokio::spawn(async move {
        let fate = tokio::time::timeout(ANSWER_WITHIN, follow(address)).await;
        if matches!(fate, Ok(Fate::Dead | Fate::Refused)) {
            // Nobody to tell if the agent is gone.
            let _ = deaths.send(death).await;
        }
    });
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The host says that nobody listens there any more.
    Dead,
    /// The host says that nobody listens there, and has said nothing else.
    Refused,
    /// No word from it.
    Unreachable,
    /// Somebody is there, but does not keep connections.
    Flickering,
}

/// Connects to a leader for as long as it lives.
async fn follow(address: SocketAddr) -> Fate {
    let mut breaks = 0;
    while breaks < AT_ONCE {
        let attempt = tokio::time::timeout(ANSWER_WITHIN, TcpStream::connect(address));
        let mut stream = match attempt.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return if breaks == 0 {
                    Fate::Refused
                } else {
                    Fate::Dead
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
    use super::{Death, Fate, Lifeline, follow};
    use hustings_protocol::MemberId;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    const DEATH: Death = Death {
        group: 0,
        leader: MemberId(7),
    };

    #[tokio::test]
    async fn where_nobody_listens_nobody_lives() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        // Another test may have had the port for a moment.
        assert!(matches!(follow(address).await, Fate::Refused | Fate::Dead));
    }

    #[tokio::test]
    async fn a_leader_that_drops_its_connections_is_not_dead_until_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (deaths, mut told) = mpsc::channel(1);
        let _lifeline = Lifeline::hold(address, DEATH, deaths);
        for _ in 0..3 {
            let (stream, _) = listener.accept().await.unwrap();
            drop(stream);
        }
        let (stream, _) = listener.accept().await.unwrap();
        assert!(told.try_recv().is_err(), "it lives");
        drop(stream);
        drop(listener);
        assert_eq!(told.recv().await, Some(DEATH));
    }
}
