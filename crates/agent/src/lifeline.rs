//! Lifelines: a follower holds a connection to its leader, and the leader's kernel closes it the
//! moment that the leader's process dies. Nobody need wait for a time-out then.
//!
//! A broken lifeline alone proves nothing, so the follower connects again at once, and only if the leader's
//! host answers that nobody listens there any more is there reason to think the leader dead. Where no such
//! answer comes (a host that is gone too) the listen interval decides, as it does without lifelines. That
//! answer a firewall can give as well, so the leader is asked once more, by a sealed datagram: see
//! [`crate::group`]. Not by datagrams alone: silence takes longer to tell than a refusal.
//!
//! The follower begins with a sealed frame, which the agent's loop makes for each connection: the leader keeps no connection
//! of strangers.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hustings_protocol::MemberId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::links::framed;

/// Before a leader that cannot be reached is tried again.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);
/// A host that answers at all answers within a round trip. A question that is lost is not repeated by the kernel within a
/// second, so it is asked anew, and each time waited for longer.
const WAITS: [Duration; 3] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(70),
];
/// All of them.
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

/// What a lifeline tells the agent's loop.
#[derive(Debug)]
pub(crate) enum Notice {
    Refused(Refusal),
    /// It is connected, and needs a sealed frame to begin with.
    Connected {
        whose: Whose,
        hello: oneshot::Sender<Vec<u8>>,
    },
}

/// A connection to a leader. Ends when dropped.
pub(crate) struct Lifeline {
    pub(crate) leader: MemberId,
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Lifeline {
    /// Holds a connection to a leader until it is refused, and says so.
    pub(crate) fn hold(address: SocketAddr, whose: Whose, told: mpsc::Sender<Notice>) -> Self {
        let task = tokio::spawn(async move {
            let mut was_there = false;
            loop {
                match follow(address, Some((whose, &told))).await {
                    // Refused from the start it may be out of reach, behind a firewall.
                    Fate::Refused(_) if !was_there => {}
                    Fate::Dead(round_trip) | Fate::Refused(round_trip) => {
                        let refusal = Refusal { whose, round_trip };
                        // Nobody to tell if the agent is gone.
                        let _ = told.send(Notice::Refused(refusal)).await;
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
pub(crate) fn inquire(address: SocketAddr, whose: Whose, told: mpsc::Sender<Notice>) {
    tokio::spawn(async move {
        // Its connection lasts no longer than a stranger's may.
        let fate = tokio::time::timeout(ANSWER_WITHIN, follow(address, None)).await;
        if let Ok(Fate::Dead(round_trip) | Fate::Refused(round_trip)) = fate {
            let refusal = Refusal { whose, round_trip };
            // Nobody to tell if the agent is gone.
            let _ = told.send(Notice::Refused(refusal)).await;
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
    /// Somebody was there, and may be still, but keeps no connection.
    Flickering,
}

/// Connects to a leader for as long as it lives. With a hello, if the connections are to stay.
async fn follow(address: SocketAddr, hello: Option<(Whose, &mpsc::Sender<Notice>)>) -> Fate {
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
        if let Some((whose, told)) = hello {
            // What cannot be written has broken, and that is read next.
            let _ = say_hello(&mut stream, whose, told).await;
        }
        // The leader says nothing here: this ends when the connection does.
        while matches!(stream.read(&mut [0; 16]).await, Ok(1..)) {}
        breaks = match since.elapsed() > MOMENT {
            true => 1,
            false => breaks + 1,
        };
    }
    Fate::Flickering
}

/// Begins a connection with a frame that the agent's loop makes. Without a loop there is none.
async fn say_hello(
    stream: &mut TcpStream,
    whose: Whose,
    told: &mpsc::Sender<Notice>,
) -> io::Result<()> {
    let (hello, frame) = oneshot::channel();
    let connected = Notice::Connected { whose, hello };
    let is_told = told.send(connected).await.is_ok();
    match frame.await {
        Ok(frame) if is_told => stream.write_all(&framed(&frame)).await,
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Connects, and tells how long it took to be answered.
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
        ANSWER_WITHIN, Fate, Lifeline, Notice, RECONNECT_AFTER, Refusal, WAITS, Whose, follow,
        inquire,
    };
    use hustings_protocol::MemberId;
    use socket2::{Domain, Socket, Type};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc;
    use tokio::time::{sleep, timeout};

    const WHOSE: Whose = Whose {
        group: 0,
        leader: MemberId(7),
    };

    /// An agent's loop, which answers lifelines and passes refusals on.
    fn agent() -> (mpsc::Sender<Notice>, mpsc::Receiver<Refusal>) {
        let (tell, mut told) = mpsc::channel(1);
        let (refuse, refusals) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(notice) = told.recv().await {
                match notice {
                    Notice::Refused(refusal) => refuse.send(refusal).await.unwrap(),
                    Notice::Connected { hello, .. } => hello.send(b"sealed".to_vec()).unwrap(),
                }
            }
        });
        (tell, refusals)
    }

    #[tokio::test]
    async fn each_connection_begins_with_a_frame_of_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (tell, _refusals) = agent();
        let _lifeline = Lifeline::hold(listener.local_addr().unwrap(), WHOSE, tell);
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; 10];
            stream.read_exact(&mut hello).await.unwrap();
            assert_eq!(&hello, b"\0\0\0\x06sealed");
        }
    }

    #[tokio::test]
    async fn where_nobody_listens_nobody_lives() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        // Another test may have had the port for a moment.
        let fate = follow(address, None).await;
        assert!(matches!(fate, Fate::Refused(_) | Fate::Dead(_)), "{fate:?}");
    }

    #[tokio::test]
    async fn a_leader_that_drops_its_connections_is_not_dead_until_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, mut told) = agent();
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

    /// A listener with the shortest of queues.
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

    /// Fills a listener's queue: what comes then is lost, until the listener is gone.
    async fn crowd(address: SocketAddr) -> Vec<TcpStream> {
        let mut queue = Vec::new();
        while let Ok(stream) = timeout(Duration::from_millis(1), TcpStream::connect(address)).await
        {
            queue.push(stream.unwrap());
        }
        queue
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_was_lost_is_asked_anew() {
        let (listener, address) = narrow();
        let _queue = crowd(address).await;
        let (tell, mut told) = agent();
        inquire(address, WHOSE, tell);
        sleep(WAITS[0] / 2).await;
        drop(listener);
        assert_eq!(told.recv().await.map(|it| it.whose), Some(WHOSE));
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_there_and_then_silent_is_dead_when_its_host_says_so() {
        let (listener, address) = narrow();
        let (tell, mut told) = agent();
        let _lifeline = Lifeline::hold(address, WHOSE, tell);
        let (stream, _) = listener.accept().await.unwrap();
        let _queue = crowd(address).await;
        drop(stream);
        sleep(ANSWER_WITHIN * 2).await;
        drop(listener);
        let refusal = timeout(RECONNECT_AFTER * 2, told.recv()).await;
        assert_eq!(refusal.map(|it| it.map(|it| it.whose)), Ok(Some(WHOSE)));
    }
}
