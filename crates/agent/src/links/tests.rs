//! Links over real sockets of this host.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::{Arrival, Limits, LinkCounts, Links, MOST_FRAME_BYTES, framed};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// A span that a test waits for.
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

    /// The next frame. It is let in.
    async fn next(&mut self) -> Vec<u8> {
        let mut arrival = self.heard.recv().await.unwrap();
        let frame = std::mem::take(&mut arrival.frame);
        arrival.judge(true);
        frame
    }

    /// The next frame. It is not let in.
    async fn refuse(&mut self) -> Vec<u8> {
        let mut arrival = self.heard.recv().await.unwrap();
        let frame = std::mem::take(&mut arrival.frame);
        arrival.judge(false);
        frame
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }

    /// A connection on which a frame was let in.
    async fn member(&mut self) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(&framed(b"hello")).await.unwrap();
        assert_eq!(self.next().await, b"hello");
        stream
    }
}

/// Whether the other end has not closed the connection for a while.
async fn stays(stream: &mut TcpStream) -> bool {
    tokio::time::timeout(SHORT * 2, stream.read(&mut [0]))
        .await
        .is_err()
}

/// Returns when the other end has closed the connection.
async fn closed(stream: &mut TcpStream) {
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut [0])).await;
    let _ = read.expect("it is closed"); // an end or a reset
}

#[tokio::test]
async fn frames_arrive_in_order_whatever_their_lengths() {
    let mut here = End::open(Limits::FIELD).await;
    let mut there = End::open(Limits::FIELD).await;
    let frame = |number: usize| {
        let length = [9, 100, 1_500, 40_000][number % 4] + usize::from(number.is_multiple_of(7));
        let mut frame = vec![number as u8; length];
        frame[..8].copy_from_slice(&(number as u64).to_be_bytes());
        frame
    };
    for number in 0..10_000 {
        // Not more than fit into the queue: what is heard makes room.
        here.links.send(there.at, frame(number));
        if number >= 500 {
            assert_eq!(there.next().await, frame(number - 500));
        }
    }
    for number in 9_500..10_000 {
        assert_eq!(there.next().await, frame(number));
    }
    assert_eq!(here.links.counts(), LinkCounts::default());
}

#[tokio::test]
async fn the_longest_frame_arrives_and_a_longer_one_is_not_sent() {
    let mut here = End::open(Limits::FIELD).await;
    let mut there = End::open(Limits::FIELD).await;
    here.links.send(there.at, vec![1; MOST_FRAME_BYTES + 1]);
    here.links.send(there.at, Vec::new());
    here.links.send(there.at, vec![2; MOST_FRAME_BYTES]);
    assert_eq!(there.next().await, vec![2; MOST_FRAME_BYTES]);
    assert_eq!(here.links.counts().dropped, 2);
}

#[tokio::test]
async fn a_link_is_made_anew_after_the_other_end_restarted() {
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
    // What is written before the end of the old connection is known is lost with it, and so it is
    // said until it is heard.
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
async fn where_nobody_is_frames_are_dropped_and_counted() {
    let mut here = End::open(Limits::FIELD).await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = nobody.local_addr().unwrap();
    drop(nobody);
    for _ in 0..10 {
        here.links.send(at, b"lost".to_vec());
    }
    while here.links.counts().dropped < 10 {
        tokio::task::yield_now().await;
    }
    // Once somebody is there, the same link reaches them.
    let mut there = End::on(crate::sockets::listener(at).unwrap(), Limits::FIELD);
    here.links.send(at, b"found".to_vec());
    assert_eq!(there.next().await, b"found");
    assert_eq!(here.links.counts().dropped, 10);
}

#[tokio::test]
async fn an_impossible_length_closes_its_connection_and_nothing_else() {
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
    // A frame that is cut short is no frame.
    let mut stream = TcpStream::connect(there.at).await.unwrap();
    stream.write_all(&framed(b"cut short")[..6]).await.unwrap();
    stream.shutdown().await.unwrap();
    closed(&mut stream).await;
    honest.write_all(&framed(b"two")).await.unwrap();
    assert_eq!(there.next().await, b"two");
    assert_eq!(there.links.counts().misfits, 4);
}

#[tokio::test]
async fn many_connections_are_heard_and_one_too_many_is_refused() {
    let limits = Limits {
        connections: 200,
        ..Limits::FIELD
    };
    let mut there = End::open(limits).await;
    let mut streams = Vec::new();
    for number in 0..200_u8 {
        let mut stream = TcpStream::connect(there.at).await.unwrap();
        stream.write_all(&framed(&[number])).await.unwrap();
        assert_eq!(there.next().await, [number]);
        streams.push(stream);
    }
    // What is heard after the first frame is heard on a member's connection.
    streams[199].write_all(&framed(b"again")).await.unwrap();
    assert_eq!(there.next().await, b"again");
    let mut refused = TcpStream::connect(there.at).await.unwrap();
    closed(&mut refused).await;
    assert_eq!(there.links.counts().refused, 1);
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&framed(&[number as u8, 1])).await.unwrap();
        assert_eq!(there.next().await, [number as u8, 1]);
    }
}

#[tokio::test]
async fn a_member_that_falls_silent_amid_a_frame_is_cut_off_and_a_lifeline_is_not() {
    let limits = Limits {
        silence: SHORT,
        hello_within: SHORT,
        ..Limits::FIELD
    };
    let mut there = End::open(limits).await;
    let mut lifeline = there.member().await;
    let mut stalled = there.member().await;
    stalled.write_all(&[0, 0]).await.unwrap();
    closed(&mut stalled).await;
    assert_eq!(there.links.counts().silent, 1);
    // It came first and said nothing for longer, and is still there.
    lifeline.write_all(&framed(b"here")).await.unwrap();
    assert_eq!(there.next().await, b"here");
    assert_eq!(there.links.counts().strangers, 0);
}

/// Neither does one that says nothing, nor one whose frames are not let in, or do not end.
#[tokio::test]
async fn no_stranger_stays_for_longer_than_it_takes_to_say_hello() {
    let limits = Limits {
        hello_within: SHORT,
        ..Limits::FIELD
    };
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
    while there.links.counts().strangers < 3 {
        tokio::task::yield_now().await;
    }
}

/// A link that broke sends again what may have arrived, and then what has not.
#[tokio::test]
async fn a_frame_that_is_let_in_after_others_that_were_not_makes_a_member() {
    let limits = Limits {
        hello_within: SHORT,
        ..Limits::FIELD
    };
    let mut there = End::open(limits).await;
    let mut stream = there.connect().await;
    for frame in [b"old", b"new"] {
        stream.write_all(&framed(frame)).await.unwrap();
    }
    assert_eq!(there.refuse().await, b"old");
    assert_eq!(there.next().await, b"new");
    assert!(stays(&mut stream).await);
}

/// Those from other addresses stay, and so do members.
#[tokio::test]
async fn the_oldest_stranger_of_an_address_makes_room_for_the_next() {
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
    assert_eq!(there.links.counts().strangers, 16);

    // There is room for one more, and then for none: the oldest of all goes.
    let _one_more = from("127.0.0.3").await;
    let _too_many = from("127.0.0.4").await;
    closed(&mut neighbour).await;
    // Who says hello gets in, however many others say nothing.
    let mut late = from("127.0.0.1").await;
    late.write_all(&framed(b"late")).await.unwrap();
    assert_eq!(there.next().await, b"late");
    assert!(stays(&mut late).await);
}

#[tokio::test]
async fn an_idle_link_is_closed_and_the_next_frame_opens_another() {
    let limits = Limits {
        idle: Duration::from_millis(20),
        ..Limits::FIELD
    };
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
async fn links_that_are_dropped_close_what_they_accepted() {
    let mut there = End::open(Limits::FIELD).await;
    let mut stream = TcpStream::connect(there.at).await.unwrap();
    stream.write_all(&framed(b"x")).await.unwrap();
    there.next().await;
    drop(there);
    closed(&mut stream).await;
}
