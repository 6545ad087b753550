//! Lifelines: a follower keeps a TCP connection to its leader. The leader's kernel closes the
//! connection when the leader's process dies, so the follower need not wait for a timeout.
//!
//! A broken lifeline alone proves nothing. The follower connects again at once:
//!
//! - If the leader's host refuses the connection, no process listens there any more, and the
//!   follower suspects the leader.
//! - If no answer comes, because the host is down too, the listen interval decides, as it does
//!   without lifelines.
//!
//! A firewall can also refuse a connection. The follower therefore asks the leader once more, by a
//! sealed datagram: see [`crate::group`]. Datagrams alone would not do, because detecting silence
//! takes longer than receiving a refusal.
//!
//! The follower begins each connection with a sealed frame that the agent's loop makes. The leader
//! closes connections that do not begin with such a frame.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hustings_protocol::MemberId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::links::framed;

/// The pause before the next attempt to connect to an unreachable leader.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);
/// The timeout of each attempt to connect. A reachable host answers within a round trip. The kernel
/// does not repeat a lost SYN within a second, so a new attempt is made, and each waits longer.
const WAITS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(20), Duration::from_millis(70)];
/// The sum of [`WAITS`].
const ANSWER_WITHIN: Duration = Duration::from_millis(100);
/// The number of immediate reconnections after connections that break at once. A dying process
/// closes its connections a moment before its listener.
const AT_ONCE: u32 = 16;
/// A connection that lasted longer than this did not break at once.
const MOMENT: Duration = Duration::from_millis(20);

/// A leader as the agent's loop identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaderRef {
    /// The index of the group in the agent.
    pub(crate) group: usize,
    pub(crate) leader: MemberId,
}

/// A message of a lifeline to the agent's loop.
#[derive(Debug)]
pub(crate) enum Notice {
    /// The leader's host refused a connection to the leader's port.
    Refused {
        target: LeaderRef,
        /// The time from the attempt to the refusal.
        round_trip: Duration,
    },
    /// The lifeline is connected and needs a sealed frame to begin with.
    Connected { target: LeaderRef, hello: oneshot::Sender<Vec<u8>> },
}

/// A connection to a leader. It ends when dropped.
pub(crate) struct Lifeline {
    pub(crate) leader: MemberId,
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Lifeline {
    /// Keeps a connection to a leader until the leader's host refuses one, and reports the refusal.
    pub(crate) fn hold(
        address: SocketAddr,
        target: LeaderRef,
        notices: mpsc::Sender<Notice>,
    ) -> Self {
        let task = tokio::spawn(async move {
            let mut was_there = false;
            loop {
                match follow(address, Some((target, &notices))).await {
                    // A leader that refuses from the start may be unreachable behind a firewall.
                    Fate::Refused(_) if !was_there => {}
                    Fate::Dead(round_trip) | Fate::Refused(round_trip) => {
                        // The send fails only if the agent has ended.
                        let _ = notices.send(Notice::Refused { target, round_trip }).await;
                        return;
                    }
                    Fate::Unreachable => {}
                    Fate::Flickering => was_there = true,
                }
                tokio::time::sleep(RECONNECT_AFTER).await;
            }
        });
        Self { leader: target.leader, address, task }
    }

    /// True if the lifeline has reported a refusal and ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Checks whether a leader that another member reported dead refuses connections.
pub(crate) fn probe(address: SocketAddr, target: LeaderRef, notices: mpsc::Sender<Notice>) {
    tokio::spawn(async move {
        // The connection carries no hello, so it lasts no longer than [`ANSWER_WITHIN`].
        let fate = tokio::time::timeout(ANSWER_WITHIN, follow(address, None)).await;
        if let Ok(Fate::Dead(round_trip) | Fate::Refused(round_trip)) = fate {
            // The send fails only if the agent has ended.
            let _ = notices.send(Notice::Refused { target, round_trip }).await;
        }
    });
}

/// The outcome of following a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The host refused a connection after an earlier one had worked. Holds the time to the
    /// refusal.
    Dead(Duration),
    /// The host refused the first connection. Holds the time to the refusal.
    Refused(Duration),
    /// The host did not answer.
    Unreachable,
    /// The host answered before and may still be up, but keeps no connection open.
    Flickering,
}

/// Stays connected to a leader and returns when it cannot. Sends a hello on each connection if
/// `hello` is given, so that the leader keeps the connection.
async fn follow(address: SocketAddr, hello: Option<(LeaderRef, &mpsc::Sender<Notice>)>) -> Fate {
    let mut breaks = 0;
    while breaks < AT_ONCE {
        let (round_trip, attempt) = connect(address).await;
        let mut stream = match attempt {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return match breaks {
                    0 => Fate::Refused(round_trip),
                    _ => Fate::Dead(round_trip),
                };
            }
            Err(_) if breaks == 0 => return Fate::Unreachable,
            Err(_) => return Fate::Flickering,
        };
        let since = Instant::now();
        if let Some((target, notices)) = hello {
            // A failed write means that the connection broke, and the next read finds that out.
            let _ = send_hello(&mut stream, target, notices).await;
        }
        // The leader sends nothing on a lifeline: the loop ends when the connection does.
        while matches!(stream.read(&mut [0; 16]).await, Ok(1..)) {}
        breaks = if since.elapsed() > MOMENT { 1 } else { breaks + 1 };
    }
    Fate::Flickering
}

/// Begins a connection with a frame from the agent's loop. Without a loop there is no frame.
async fn send_hello(
    stream: &mut TcpStream,
    target: LeaderRef,
    notices: &mpsc::Sender<Notice>,
) -> io::Result<()> {
    let (hello, frame) = oneshot::channel();
    let connected = Notice::Connected { target, hello };
    let is_sent = notices.send(connected).await.is_ok();
    match frame.await {
        Ok(frame) if is_sent => stream.write_all(&framed(&frame)).await,
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Connects, and returns the time until the answer.
async fn connect(address: SocketAddr) -> (Duration, io::Result<TcpStream>) {
    for wait in WAITS {
        let asked = Instant::now();
        if let Ok(answer) = tokio::time::timeout(wait, TcpStream::connect(address)).await {
            return (asked.elapsed(), answer);
        }
    }
    (ANSWER_WITHIN, Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::{
        ANSWER_WITHIN, Fate, LeaderRef, Lifeline, Notice, RECONNECT_AFTER, WAITS, follow, probe,
    };
    use hustings_protocol::MemberId;
    use socket2::{Domain, Socket, Type};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc;
    use tokio::time::{sleep, timeout};

    const LEADER: LeaderRef = LeaderRef { group: 0, leader: MemberId(7) };

    /// Starts an agent's loop that answers lifelines and forwards refusals.
    fn agent() -> (mpsc::Sender<Notice>, mpsc::Receiver<LeaderRef>) {
        let (tell, mut notices) = mpsc::channel(1);
        let (refuse, refusals) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(notice) = notices.recv().await {
                match notice {
                    Notice::Refused { target, .. } => refuse.send(target).await.unwrap(),
                    Notice::Connected { hello, .. } => hello.send(b"sealed".to_vec()).unwrap(),
                }
            }
        });
        (tell, refusals)
    }

    #[tokio::test]
    async fn each_lifeline_connection_begins_with_its_own_frame() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (tell, _refusals) = agent();
        let _lifeline = Lifeline::hold(listener.local_addr().unwrap(), LEADER, tell);
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; 10];
            stream.read_exact(&mut hello).await.unwrap();
            assert_eq!(&hello, b"\0\0\0\x06sealed");
        }
    }

    #[tokio::test]
    async fn port_without_listener_counts_as_dead() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        // Another test may have used the port for a moment.
        let fate = follow(address, None).await;
        assert!(matches!(fate, Fate::Refused(_) | Fate::Dead(_)), "{fate:?}");
    }

    #[tokio::test]
    async fn leader_that_drops_connections_is_dead_only_once_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, mut notices) = agent();
        let _lifeline = Lifeline::hold(address, LEADER, tell);
        for _ in 0..3 {
            let (stream, _) = listener.accept().await.unwrap();
            drop(stream);
        }
        let (stream, _) = listener.accept().await.unwrap();
        assert!(notices.try_recv().is_err(), "it lives");
        drop(stream);
        drop(listener);
        assert_eq!(notices.recv().await, Some(LEADER));
    }

    /// A listener with the shortest possible queue.
    fn narrow() -> (TcpListener, SocketAddr) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let listener = TcpListener::from_std(socket.into()).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// Fills a listener's queue: further connections get no answer until the listener is gone.
    async fn crowd(address: SocketAddr) -> Vec<TcpStream> {
        let mut queue = Vec::new();
        while let Ok(stream) = timeout(Duration::from_millis(1), TcpStream::connect(address)).await
        {
            queue.push(stream.unwrap());
        }
        queue
    }

    #[tokio::test(start_paused = true)]
    async fn lost_connection_attempt_is_repeated() {
        let (listener, address) = narrow();
        let _queue = crowd(address).await;
        let (tell, mut notices) = agent();
        probe(address, LEADER, tell);
        sleep(WAITS[0] / 2).await;
        drop(listener);
        assert_eq!(notices.recv().await, Some(LEADER));
    }

    #[tokio::test(start_paused = true)]
    async fn silent_leader_is_dead_once_its_host_refuses() {
        let (listener, address) = narrow();
        let (tell, mut notices) = agent();
        let _lifeline = Lifeline::hold(address, LEADER, tell);
        let (stream, _) = listener.accept().await.unwrap();
        let _queue = crowd(address).await;
        drop(stream);
        sleep(ANSWER_WITHIN * 2).await;
        drop(listener);
        let refusal = timeout(RECONNECT_AFTER * 2, notices.recv()).await;
        assert_eq!(refusal, Ok(Some(LEADER)));
    }
}
