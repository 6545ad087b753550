//! Sends a member packets that no member would send. Runs as a process of its own, on a host of its
//! own.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::chance::Chance;
use crate::Result;

/// The default multicast address of the agents.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 72, 85);
const GROUP_PORT: u16 = 7401;

/// The number of real frames that are captured first, to be altered and replayed.
const FRAMES: usize = 10;

/// The number of packets before a pause. If they came faster than an agent can read them, the
/// kernel would drop them.
const AT_A_TIME: u64 = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// The longest random packet.
const MOST_BYTES: usize = 1_400;

#[derive(Args)]
pub(crate) struct Options {
    /// The targets, in turn
    #[arg(long, required = true, value_delimiter = ',')]
    targets: Vec<SocketAddr>,
    /// The address of the interface on which to capture real frames
    #[arg(long)]
    interface: Ipv4Addr,
    /// Number of packets
    #[arg(long, default_value_t = 0)]
    packets: u64,
    /// Number of real frames to capture first
    #[arg(long, default_value_t = FRAMES)]
    frames: usize,
    /// Replay the captured frames in order, one in this many milliseconds, and send nothing else;
    /// begins when a line arrives on standard input
    #[arg(long)]
    replay_every_ms: Option<u64>,
    /// Milliseconds to wait between capturing and sending
    #[arg(long, default_value_t = 0)]
    wait_ms: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The way in which a packet is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WrongPacket {
    Truncated,
    Flipped,
    Replayed,
    Random,
}

const WRONG_PACKETS: [WrongPacket; 4] =
    [WrongPacket::Truncated, WrongPacket::Flipped, WrongPacket::Replayed, WrongPacket::Random];

/// Sends the packets and prints their number.
pub(crate) fn run(options: &Options) -> Result<()> {
    let frames = capture(options.interface, options.frames)?;
    if let Some(pause) = options.replay_every_ms {
        return replay(options, &frames, Duration::from_millis(pause));
    }
    thread::sleep(Duration::from_millis(options.wait_ms));
    let socket = UdpSocket::bind((options.interface, 0))?;
    let mut chance = Chance::from_seed(options.seed);
    let mut sent = 0;
    for number in 0..options.packets {
        let wrong_packet = WRONG_PACKETS[number as usize % WRONG_PACKETS.len()];
        let frame = &frames[chance.below(frames.len())];
        let target = options.targets[number as usize % options.targets.len()];
        // A packet that the local kernel refuses was not sent.
        sent += u64::from(socket.send_to(&wrong_packet.make(frame, &mut chance), target).is_ok());
        if number % AT_A_TIME == 0 {
            thread::sleep(PAUSE);
        }
    }
    println!("{sent}");
    Ok(())
}

/// Reports that the frames are captured, waits for a line, replays the frames, and prints the
/// number of sent ones.
fn replay(options: &Options, frames: &[Vec<u8>], pause: Duration) -> Result<()> {
    writeln!(io::stdout(), "captured")?;
    io::stdin().read_line(&mut String::new())?;
    let socket = UdpSocket::bind((options.interface, 0))?;
    let mut sent = 0;
    for frame in frames {
        for target in &options.targets {
            // The send fails after an earlier frame reached a member that was not up yet.
            sent += u64::from(socket.send_to(frame, target).is_ok());
        }
        thread::sleep(pause);
    }
    writeln!(io::stdout(), "{sent}")?;
    Ok(())
}

/// Captures frames of real members.
fn capture(interface: Ipv4Addr, count: usize) -> Result<Vec<Vec<u8>>> {
    let socket = UdpSocket::bind((GROUP, GROUP_PORT))?;
    socket.join_multicast_v4(&GROUP, &interface)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut buffer = [0; 2_048];
    let mut frames = Vec::new();
    while frames.len() < count {
        let length =
            socket.recv(&mut buffer).map_err(|error| format!("no frames to capture: {error}"))?;
        frames.push(buffer[..length].to_vec());
    }
    Ok(frames)
}

impl WrongPacket {
    fn make(self, frame: &[u8], chance: &mut Chance) -> Vec<u8> {
        match self {
            Self::Truncated => frame[..chance.below(frame.len())].to_vec(),
            Self::Flipped => {
                let mut packet = frame.to_vec();
                let bit = chance.below(8 * packet.len());
                packet[bit / 8] ^= 1 << (bit % 8);
                packet
            }
            Self::Replayed => frame.to_vec(),
            Self::Random => {
                let length = chance.below(MOST_BYTES);
                (0..length).map(|_| chance.next() as u8).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, MOST_BYTES, WrongPacket};

    #[test]
    fn each_kind_of_wrong_packet_is_made_as_named() {
        let frame: Vec<u8> = (0..100).collect();
        let mut chance = Chance::from_seed(1);
        for _ in 0..1_000 {
            let truncated = WrongPacket::Truncated.make(&frame, &mut chance);
            assert!(truncated.len() < frame.len() && frame.starts_with(&truncated));
            let flipped = WrongPacket::Flipped.make(&frame, &mut chance);
            let bits = frame.iter().zip(&flipped).map(|(a, b)| (a ^ b).count_ones());
            assert_eq!((flipped.len(), bits.sum()), (frame.len(), 1));
            assert_eq!(WrongPacket::Replayed.make(&frame, &mut chance), frame);
            assert!(WrongPacket::Random.make(&frame, &mut chance).len() < MOST_BYTES);
        }
    }
}
