//! A link of the ring: an authenticated, encrypted connection between two neighbours.
//!
//! 1. The left neighbour connects.
//! 2. Both ends send their names and the digest of their ring file in plain text, so that an error
//!    can name the mistake.
//! 3. A Noise handshake (KK) follows with the keys of the ring file. Its prologue covers the plain
//!    text.
//! 4. All further frames are encrypted.
//!
//! Flips must be encrypted: a third member that read them in transit would know them before it
//! shows its own.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hustings_protocol::wagner::fault::Side;
use serde::{Deserialize, Serialize};
use snow::{HandshakeState, StatelessTransportState};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::bytes::{Bytes, Digest, encode};
use super::keys::Secret;
use super::noise;
use super::ring::Ring;
use super::signed::Frame;

/// The longest encrypted frame in bytes, several times the size of the longest statement.
const MOST_FRAME_BYTES: usize = 1_024;

/// The size of the length field before each frame.
const LENGTH_BYTES: u64 = 2;

/// The number of frames that may wait to be read. Members wait for each other, so there are never
/// many.
const MOST_UNREAD: usize = 64;

/// The idle time after which TCP keep-alive probes start, to detect a neighbour whose host has
/// failed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The time that neighbours have to receive the last frames.
pub(super) const LAST_WORDS_WITHIN: Duration = Duration::from_secs(2);

/// The first message of both ends. A connection that begins otherwise is refused.
#[derive(Serialize, Deserialize)]
struct Hello {
    greeting: Bytes<16>,
    ring: Digest,
    from: String,
    to: String,
}

const GREETING: Bytes<16> = Bytes(*b"hustings draw 2\n");

/// The reason for which a connection did not become a link, or a link ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Connection(String),
    #[error("it was closed")]
    Closed,
    #[error("it sent nothing in time")]
    Late,
    #[error("too many other connections were open at that moment")]
    Crowd,
    #[error("the first bytes were not those of a draw")]
    Garbage,
    #[error("a frame of {0} bytes is empty or above the limit")]
    Misfit(usize),
    #[error("the peer calls itself {0}, which is not the neighbour on that side")]
    Stranger(String),
    #[error(
        "the peer that calls itself {name} has another ring file: its digest begins with {}, \
         ours with {}", short(.theirs), short(.ours)
    )]
    OtherRing { name: String, theirs: Digest, ours: Digest },
    #[error(
        "the keys do not fit: the peer that calls itself {0} does not hold the key that the ring \
         file has for it, or does not accept ours"
    )]
    Key(String),
    #[error("a frame was altered, repeated or omitted")]
    Seal,
    #[error("a frame that cannot be decoded")]
    Nonsense,
    #[error("a message with a wrong signature or number")]
    Signature,
    #[error("the peer sent more statements than a member has to pass on")]
    TooMuch,
}

impl Broken {
    /// True if the other end called itself `member`. The name is the other end's claim and proves
    /// nothing.
    pub(super) fn is_in_name_of(&self, member: &str) -> bool {
        match self {
            Self::OtherRing { name, .. } | Self::Key(name) | Self::Stranger(name) => name == member,
            _ => false,
        }
    }
}

fn short(digest: &Digest) -> String {
    hex::encode(&digest.0[..4])
}

/// The local end of a link: the ring, this member's place and its key.
#[derive(Clone)]
pub(super) struct Ends {
    pub(super) ring: Arc<Ring>,
    pub(super) digest: Digest,
    pub(super) place: u32,
    pub(super) secret: Secret,
}

/// Counter of the bytes sent on a link.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Arc<AtomicU64>);

impl Meter {
    pub(super) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// An established link. Dropping it closes the connection.
pub(super) struct Link {
    /// The id of the link, to which both ends contributed randomness.
    pub(super) session: Digest,
    outgoing: mpsc::Sender<Frame>,
    incoming: mpsc::Receiver<Result<Frame, Broken>>,
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
    meter: Meter,
}

impl Link {
    /// Turns a connection to the neighbour on `side` into a link. The left one of the two
    /// neighbours has connected.
    pub(super) async fn open(
        mut stream: TcpStream,
        side: Side,
        ends: &Ends,
    ) -> Result<Self, Broken> {
        prepare(&stream);
        let (ours, theirs) = greet(&mut stream, side, ends).await?;
        let connects = side == Side::Right;
        let prologue = if connects { [ours, theirs].concat() } else { [theirs, ours].concat() };
        let name = &ends.neighbour(side).name;
        let wrong_key = |_: snow::Error| Broken::Key(name.clone());
        let mut noise = ends
            .handshake(side, &prologue)
            .map_err(|error| Broken::Connection(format!("cannot begin a handshake: {error}")))?;
        let mut buffer = [0; MOST_FRAME_BYTES];
        for turn in [connects, !connects] {
            if turn {
                let length = noise.write_message(&[], &mut buffer).map_err(wrong_key)?;
                write_frame(&mut stream, &buffer[..length]).await?;
            } else {
                let message = read_frame(&mut stream).await?;
                noise.read_message(&message, &mut buffer).map_err(wrong_key)?;
            }
        }
        let session = noise.get_handshake_hash().try_into();
        let session = Bytes(session.map_err(|_| Broken::Garbage)?);
        let noise = noise.into_stateless_transport_mode().map_err(wrong_key)?;
        let link = Self::serve(stream, noise, session, ends.ring.len());
        match connects {
            // Only the first encrypted frame proves to the other end that the handshake message was
            // not replayed.
            true => link.send(Frame::Linked),
            false => return link.confirmed().await,
        }
        Ok(link)
    }

    async fn confirmed(mut self) -> Result<Self, Broken> {
        match self.receive().await? {
            Frame::Linked => Ok(self),
            _ => Err(Broken::Nonsense),
        }
    }

    fn serve(
        stream: TcpStream,
        noise: StatelessTransportState,
        session: Digest,
        members: u32,
    ) -> Self {
        let noise = Arc::new(noise);
        let (read_half, write_half) = stream.into_split();
        // The statements of all members may be queued at once.
        let (outgoing, to_write) = mpsc::channel(MOST_UNREAD + 4 * members as usize);
        let (read, incoming) = mpsc::channel(MOST_UNREAD);
        let meter = Meter::default();
        Self {
            session,
            outgoing,
            incoming,
            writer: tokio::spawn(write_frames(
                write_half,
                Arc::clone(&noise),
                to_write,
                meter.clone(),
            )),
            reader: tokio::spawn(read_frames(read_half, noise, read)),
            meter,
        }
    }

    /// Queues a frame. A frame that cannot be sent is dropped: the other end will notice that it is
    /// missing.
    pub(super) fn send(&self, frame: Frame) {
        if self.outgoing.try_send(frame).is_err() {
            tracing::debug!("a link is broken or blocked: a frame was dropped");
        }
    }

    /// Waits for the next frame. After an error, every call returns an error.
    pub(super) async fn receive(&mut self) -> Result<Frame, Broken> {
        self.incoming.recv().await.unwrap_or(Err(Broken::Closed))
    }

    /// The counter of bytes sent, which stays readable after the link is finished.
    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Stops sending, waits until all frames are sent, and then reads until the other end closes.
    pub(super) async fn finish(mut self) {
        let (closed, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.outgoing, closed));
        let _ = (&mut self.writer).await; // the task does not panic, and only `drop` aborts it
        while self.receive().await.is_ok() {}
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.writer.abort();
        self.reader.abort();
    }
}

impl Ends {
    /// The member at the other end.
    pub(super) fn neighbour(&self, side: Side) -> &super::ring::Member {
        self.ring.member(self.ring.neighbour(self.place, side))
    }

    fn handshake(&self, side: Side, prologue: &[u8]) -> Result<HandshakeState, snow::Error> {
        let (ours, theirs) = (self.secret.exchange(), self.neighbour(side).key.exchange());
        let builder = noise::builder()?
            .prologue(prologue)?
            .local_private_key(&ours)?
            .remote_public_key(&theirs)?;
        match side {
            Side::Right => builder.build_initiator(),
            Side::Left => builder.build_responder(),
        }
    }
}

/// Exchanges greetings. Returns both as sent, ours first.
async fn greet(
    stream: &mut TcpStream,
    side: Side,
    ends: &Ends,
) -> Result<(Vec<u8>, Vec<u8>), Broken> {
    let (me, neighbour) = (&ends.ring.member(ends.place).name, ends.neighbour(side));
    let ours = encode(&Hello {
        greeting: GREETING,
        ring: ends.digest,
        from: me.clone(),
        to: neighbour.name.clone(),
    });
    write_frame(stream, &ours).await?;
    let theirs = read_frame(stream).await?;
    let hello: Hello = postcard::from_bytes(&theirs).map_err(|_| Broken::Garbage)?;
    if hello.greeting != GREETING {
        return Err(Broken::Garbage);
    }
    let name = hello.from.escape_debug().to_string();
    if hello.ring != ends.digest {
        return Err(Broken::OtherRing { name, theirs: hello.ring, ours: ends.digest });
    }
    if hello.from == neighbour.name && hello.to == *me {
        Ok((ours, theirs))
    } else {
        Err(Broken::Stranger(name))
    }
}

fn prepare(stream: &TcpStream) {
    let probes =
        TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE / 4).with_retries(4);
    let set =
        stream.set_nodelay(true).and_then(|()| SockRef::from(stream).set_tcp_keepalive(&probes));
    if let Err(error) = set {
        tracing::debug!("a link is slower than it could be: {error}");
    }
}

/// Encrypts and writes queued frames, then shuts down the sending direction.
async fn write_frames(
    mut stream: OwnedWriteHalf,
    noise: Arc<StatelessTransportState>,
    mut frames: mpsc::Receiver<Frame>,
    meter: Meter,
) {
    let mut sealed = [0; MOST_FRAME_BYTES];
    let mut number = 0;
    while let Some(frame) = frames.recv().await {
        let Ok(length) = noise.write_message(number, &encode(&frame), &mut sealed) else {
            return; // longer than any frame of ours
        };
        if write_frame(&mut stream, &sealed[..length]).await.is_err() {
            return;
        }
        number += 1;
        meter.add(length as u64 + LENGTH_BYTES);
    }
    let _ = stream.shutdown().await; // a failure changes nothing: the link is over
}

/// Reads and decrypts frames until the connection ends.
async fn read_frames(
    mut stream: OwnedReadHalf,
    noise: Arc<StatelessTransportState>,
    heard: mpsc::Sender<Result<Frame, Broken>>,
) {
    let mut number = 0;
    loop {
        let frame = read_sealed(&mut stream, &noise, number).await;
        number += 1;
        let is_last = frame.is_err();
        if heard.send(frame).await.is_err() || is_last {
            return;
        }
    }
}

async fn read_sealed(
    stream: &mut OwnedReadHalf,
    noise: &StatelessTransportState,
    number: u64,
) -> Result<Frame, Broken> {
    let sealed = read_frame(stream).await?;
    let mut opened = [0; MOST_FRAME_BYTES];
    let length = noise.read_message(number, &sealed, &mut opened).map_err(|_| Broken::Seal)?;
    postcard::from_bytes(&opened[..length]).map_err(|_| Broken::Nonsense)
}

async fn write_frame(
    stream: &mut (impl AsyncWriteExt + Unpin),
    frame: &[u8],
) -> Result<(), Broken> {
    let mut bytes = Vec::with_capacity(frame.len() + LENGTH_BYTES as usize);
    bytes.extend_from_slice(&(frame.len() as u16).to_be_bytes());
    bytes.extend_from_slice(frame);
    stream.write_all(&bytes).await.map_err(connection)
}

async fn read_frame(stream: &mut (impl AsyncReadExt + Unpin)) -> Result<Vec<u8>, Broken> {
    let length = stream.read_u16().await.map_err(connection)?.into();
    if length == 0 || length > MOST_FRAME_BYTES {
        return Err(Broken::Misfit(length));
    }
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).await.map_err(connection)?;
    Ok(frame)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn connection(error: std::io::Error) -> Broken {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Broken::Closed,
        _ => Broken::Connection(error.to_string()),
    }
}
