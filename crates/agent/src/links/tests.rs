//! Links over real sockets of this host.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::{Arrival, Limits, LinkCounts, Links, MOST_FRAME_BYTES, framed};

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(10);
/// A time that a test waits for.
const SHORT: Duration = Duration::from_millis(50);

struct End {
    links: Links,
    at: SocketAddr,
    heard: mpsc::Receiver<Arrival>,
}

impl End {
    async fn open(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, limits)
    }

    fn on(listener: TcpListener, limits: Limits) -> Self {
        let at = listener.local_addr().unwrap();
        let (sender, heard) = mpsc::channel(16);
        let links = Links::with_limits(listener, sender, limits);
        Self { links, at, heard }
    }

    /// Returns the next frame and admits it.
    async fn next(&mut self) -> Vec<u8> {
        let mut arrival = self.heard.recv().await.unwrap();
        let frame = std::mem::take(&mut arrival.frame);
        arrival.judge(true);
        frame
    }

    /// Returns the next frame and rejects it.
    async fn refuse(&mut self) -> Vec<u8> {
        let mut arrival = self.heard.recv().await.unwrap();
        let frame = std::mem::take(&mut arrival.frame);
        arrival.judge(false);
        frame
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }

    /// Opens a connection on which a frame was admitted.
    async fn member(&mut self) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(&framed(b"hello")).await.unwrap();
        assert_eq!(self.next().await, b"hello");
        stream
    }
}

fn count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// True if the other end keeps the connection open for a while.
async fn stays(stream: &mut TcpStream) -> bool {
    tokio::time::timeout(SHORT * 2, stream.read(&mut [0])).await.is_err()
}

/// Returns when the other end has closed the connection.
async fn closed(stream: &mut TcpStream) {
    let read = tokio::time::timeout(DEADLINE, stream.read(&mut [0])).await;
    let _ = read.expect("it is closed"); // an end or a reset
}

#[tokio::test]
async fn frames_of_any_length_arrive_in_order() {
    let mut here = End::open(Limits::FIELD).await;
    let mut there = End::open(Limits::FIELD).await;
    let frame = |number: usize| {
        let length = [9, 100, 1_500, 40_000][number % 4] + usize::from(number.is_multiple_of(7));
        let mut frame = vec![number as u8; length];
        frame[..8].copy_from_slice(&(number as u64).to_be_bytes());
        frame
    };
    for number in 0..10_000 {
        // No more frames than the queue holds: each received frame makes room.
        here.links.send(there.at, frame(number));
        if number >= 500 {
            assert_eq!(there.next().await, frame(number - 500));
        }
    }
    for number in 9_500..10_000 {
        assert_eq!(there.next().await, frame(number));
    }
    assert_eq!(format!("{:?}", here.links.counts), format!("{:?}", LinkCounts::default()));
}

#[tokio::test]
async fn longest_frame_arrives_and_a_longer_one_is_not_sent() {
    let mut here = End::open(Limits::FIELD).await;
    let mut there = End::open(Limits::FIELD).await;
    here.links.send(there.at, vec![1; MOST_FRAME_BYTES + 1]);
    here.links.send(there.at, Vec::new());
    here.links.send(there.at, vec![2; MOST_FRAME_BYTES]);
    assert_eq!(there.next().await, vec![2; MOST_FRAME_BYTES]);
    assert_eq!(count(&here.links.counts.dropped), 2);
}

#[tokio::test]
async fn link_reconnects_after_the_other_end_restarts() {
    let mut here = End::open(Limits::FIELD).await;
    let mut there = End::open(Limits::FIELD).await;
    here.links.send(there.at, b"before".to_vec());
    assert_eq!(there.next().await, b"before");
    let at = there.at;
    drop(there);
    // The port is free once the old listener's task has ended.
    let listener = loop {
        match crate::sockets::listener(at) {
            Ok(listener) => break listener,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let mut there = End::on(listener, Limits::FIELD);
    // Frames written before the end of the old connection is known are lost with it. The frame is
    // therefore sent until it arrives.
    let heard = loop {
        here.links.send(at, b"after".to_vec());
        tokio::select! {
            biased;
            heard = there.next() => break heard,
            () = tokio::task::yield_now() => {}
        }
    };
    assert_eq!(heard, b"after");
}

#[tokio::test]
async fn frames_to_an_unreachable_address_are_dropped_and_counted() {
    let mut here = End::open(Limits::FIELD).await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = nobody.local_addr().unwrap();
    drop(nobody);
    for _ in 0..10 {
        here.links.send(at, b"lost".to_vec());
    }
    while count(&here.links.counts.dropped) < 10 {
        tokio::task::yield_now().await;
    }
    // Once a process listens there, the same link reaches it.
    let mut there = End::on(crate::sockets::listener(at).unwrap(), Limits::FIELD);
    here.links.send(at, b"found".to_vec());
    assert_eq!(there.next().await, b"found");
    assert_eq!(count(&here.links.counts.dropped), 10);
}

#[tokio::test]
async fn invalid_length_closes_only_its_connection() {
    let mut there = End::open(Limits::FIELD).await;
    let mut honest = TcpStream::connect(there.at).await.unwrap();
    honest.write_all(&framed(b"one")).await.unwrap();
    assert_eq!(there.next().await, b"one");
    let too_long = (MOST_FRAME_BYTES as u32 + 1).to_be_bytes();
    let garbage: [&[u8]; 4] = [&too_long, &[0; 4], &[255; 9], b"GET / HTTP/1.1\r\n\r\n"];
    for bytes in garbage {
        let mut stream = TcpStream::connect(there.at).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        closed(&mut stream).await;
    }
    // A truncated frame does not arrive.
    let mut stream = TcpStream::connect(there.at).await.unwrap();
    stream.write_all(&framed(b"cut short")[..6]).await.unwrap();
    stream.shutdown().await.unwrap();
    closed(&mut stream).await;
    honest.write_all(&framed(b"two")).await.unwrap();
    assert_eq!(there.next().await, b"two");
    assert_eq!(count(&there.links.counts.misfits), 4);
}

#[tokio::test]
async fn connections_up_to_the_limit_are_read_and_one_more_is_refused() {
    let limits = Limits { connections: 200, ..Limits::FIELD };
    let mut there = End::open(limits).await;
    let mut streams = Vec::new();
    for number in 0..200_u8 {
        let mut stream = TcpStream::connect(there.at).await.unwrap();
        stream.write_all(&framed(&[number])).await.unwrap();
        assert_eq!(there.next().await, [number]);
        streams.push(stream);
    }
    // Frames after the first arrive on a member's connection.
    streams[199].write_all(&framed(b"again")).await.unwrap();
    assert_eq!(there.next().await, b"again");
    let mut refused = TcpStream::connect(there.at).await.unwrap();
    closed(&mut refused).await;
    assert_eq!(count(&there.links.counts.refused), 1);
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&framed(&[number as u8, 1])).await.unwrap();
        assert_eq!(there.next().await, [number as u8, 1]);
    }
}

/// Ended connections count neither as strangers' nor as members', however fast they come and go.
#[tokio::test]
async fn ended_connections_keep_no_member_out() {
    let limits = Limits { connections: 2, ..Limits::FIELD };
    let mut there = End::open(limits).await;
    for _ in 0..500 {
        let short = [there.connect().await, there.connect().await, there.connect().await];
        drop(short);
    }
    let mut member = there.member().await;
    assert!(stays(&mut member).await);
    assert_eq!(count(&there.links.counts.refused), 0);
}

#[tokio::test]
async fn silence_within_a_frame_closes_a_link_but_not_a_lifeline() {
    let limits = Limits { silence: SHORT, hello_within: SHORT, ..Limits::FIELD };
    let mut there = End::open(limits).await;
    let mut lifeline = there.member().await;
    let mut stalled = there.member().await;
    stalled.write_all(&[0, 0]).await.unwrap();
    closed(&mut stalled).await;
    assert_eq!(count(&there.links.counts.silent), 1);
    // The lifeline was silent for longer, and is still open.
    lifeline.write_all(&framed(b"here")).await.unwrap();
    assert_eq!(there.next().await, b"here");
    assert_eq!(count(&there.links.counts.strangers), 0);
}

/// This covers silent strangers, strangers with rejected frames, and frames that do not end.
#[tokio::test]
async fn stranger_is_closed_after_the_time_for_hello() {
    assert_eq!(Limits::FIELD.hello_within, Duration::from_secs(2), "as the guide says");
    let limits = Limits { hello_within: SHORT, ..Limits::FIELD };
    let mut there = End::open(limits).await;
    let mut silent = there.connect().await;
    let mut slow = there.connect().await;
    let mut announced = framed(&[7; MOST_FRAME_BYTES]);
    announced.truncate(10);
    slow.write_all(&announced).await.unwrap();
    let mut refused = there.connect().await;
    refused.write_all(&framed(b"forged")).await.unwrap();
    assert_eq!(there.refuse().await, b"forged");
    for stream in [&mut silent, &mut slow, &mut refused] {
        closed(stream).await;
    }
    while count(&there.links.counts.strangers) < 3 {
        tokio::task::yield_now().await;
    }
}

/// A link that broke repeats frames that may have arrived, and then sends the rest.
#[tokio::test]
async fn frame_admitted_after_rejected_ones_makes_a_member() {
    let limits = Limits { hello_within: SHORT, ..Limits::FIELD };
    let mut there = End::open(limits).await;
    let mut stream = there.connect().await;
    for frame in [b"old", b"new"] {
        stream.write_all(&framed(frame)).await.unwrap();
    }
    assert_eq!(there.refuse().await, b"old");
    assert_eq!(there.next().await, b"new");
    assert!(stays(&mut stream).await);
}

/// Strangers from other addresses stay, and so do members.
#[tokio::test]
async fn oldest_stranger_of_an_address_makes_room_for_the_next() {
    let limits = Limits {
        strangers: 6,
        strangers_per_address: 4,
        hello_within: Duration::from_secs(60),
        ..Limits::FIELD
    };
    let mut there = End::open(limits).await;
    let at = there.at;
    let from = async |address: &str| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        let address: std::net::IpAddr = address.parse().unwrap();
        socket.bind((address, 0).into()).unwrap();
        socket.connect(at).await.unwrap()
    };
    let mut member = from("127.0.0.1").await;
    member.write_all(&framed(b"hello")).await.unwrap();
    assert_eq!(there.next().await, b"hello");

    let mut neighbour = from("127.0.0.2").await;
    let mut flood = Vec::new();
    for _ in 0..20 {
        flood.push(from("127.0.0.1").await);
    }
    let (ended, last) = flood.split_at_mut(16);
    for stream in ended {
        closed(stream).await;
    }
    for stream in last.iter_mut().chain([&mut member, &mut neighbour]) {
        assert!(stays(stream).await);
    }
    assert_eq!(count(&there.links.counts.strangers), 16);

    // There is room for one more. After that the oldest of all is closed.
    let _one_more = from("127.0.0.3").await;
    let _too_many = from("127.0.0.4").await;
    closed(&mut neighbour).await;
    // A stranger that says hello is admitted, no matter how many others stay silent.
    let mut late = from("127.0.0.1").await;
    late.write_all(&framed(b"late")).await.unwrap();
    assert_eq!(there.next().await, b"late");
    assert!(stays(&mut late).await);
}

#[tokio::test]
async fn idle_link_is_closed_and_the_next_frame_opens_another() {
    let limits = Limits { idle: Duration::from_millis(20), ..Limits::FIELD };
    let mut here = End::open(limits).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    for _ in 0..2 {
        here.links.send(at, b"x".to_vec());
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, framed(b"x"));
    }
}

#[tokio::test]
async fn dropped_links_close_accepted_connections() {
    let mut there = End::open(Limits::FIELD).await;
    let mut stream = TcpStream::connect(there.at).await.unwrap();
    stream.write_all(&framed(b"x")).await.unwrap();
    there.next().await;
    drop(there);
    closed(&mut stream).await;
}
