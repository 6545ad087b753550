//! Lifelines: a follower holds a connection to its leader, and the leader's kernel closes it the
//! moment that the leader's process dies. Nobody need wait for a time-out then.
//!
//! A broken lifeline alone proves nothing, so the follower knocks: it sends a datagram to the
//! leader's port, and only if that host's kernel answers that nobody is there any more is the leader
//! dead. Where no such answer comes (a firewall, a host that is gone too) the listen interval decides,
//! as it does without lifelines.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hustings_protocol::MemberId;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// After a lifeline broke though the leader lives.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);
/// An answer that nobody is there takes one round trip.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);

/// Something that has to do with a leader's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The connection broke.
    Broken,
    /// Its kernel says that nobody is there.
    Dead,
}

/// A sign of a leader's life, to the agent's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Of which of the agent's groups.
    pub(crate) group: usize,
    pub(crate) leader: MemberId,
    pub(crate) sign: Sign,
}

/// A connection to a leader. Ends when dropped.
pub(crate) struct Lifeline {
    pub(crate) leader: MemberId,
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Lifeline {
    /// Holds a connection to the leader of group number `group`.
    pub(crate) fn hold(
        group: usize,
        leader: MemberId,
        address: SocketAddr,
        notices: mpsc::Sender<Notice>,
    ) -> Self {
        let broken = Notice {
            group,
            leader,
            sign: Sign::Broken,
        };
        let task = tokio::spawn(async move {
            loop {
                if let Ok(mut stream) = TcpStream::connect(address).await {
                    // The leader says nothing here: this ends when the connection does.
                    let mut nothing = [0; 16];
                    while matches!(stream.read(&mut nothing).await, Ok(1..)) {}
                    if notices.send(broken).await.is_err() {
                        return; // the agent is gone
                    }
                }
                tokio::time::sleep(RECONNECT_AFTER).await;
            }
        });
        Self {
            leader,
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

/// Sends `frame`, a knock, to a leader; notices if the answer is that nobody is there.
pub(crate) fn knock(
    address: SocketAddr,
    frame: Vec<u8>,
    dead: Notice,
    notices: mpsc::Sender<Notice>,
) {
    tokio::spawn(async move {
        if is_refused(address, &frame).await {
            // Nobody to tell if the agent is gone.
            let _ = notices.send(dead).await;
        }
    });
}

/// Whether the host at `address` answers that nobody receives there.
async fn is_refused(address: SocketAddr, frame: &[u8]) -> bool {
    let any = match address {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    // A connected socket, as only such a one is told what the other host's kernel answers.
    let attempt = async {
        let socket = UdpSocket::bind(any).await?;
        socket.connect(address).await?;
        socket.send(frame).await?;
        socket.recv(&mut [0; 1]).await
    };
    let answer: Result<io::Result<usize>, _> = tokio::time::timeout(ANSWER_WITHIN, attempt).await;
    matches!(answer, Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::{Lifeline, Notice, Sign, is_refused};
    use hustings_protocol::MemberId;
    use tokio::net::{TcpListener, UdpSocket};
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn a_port_where_nobody_is_refuses_and_a_living_one_does_not() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        assert!(!is_refused(address, b"knock").await);
        drop(socket);
        assert!(is_refused(address, b"knock").await);
    }

    #[tokio::test]
    async fn a_lifeline_breaks_when_its_other_end_does() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (notices, mut heard) = mpsc::channel(1);
        let leader = MemberId(7);
        let _lifeline = Lifeline::hold(0, leader, address, notices);
        let (stream, _) = listener.accept().await.unwrap();
        drop(stream);
        let broken = Notice {
            group: 0,
            leader,
            sign: Sign::Broken,
        };
        assert_eq!(heard.recv().await, Some(broken));
    }
}
