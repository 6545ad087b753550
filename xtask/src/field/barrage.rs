//! Packets that no member would send, thrown at one. Runs as a process of its own, on a host of its own.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::chance::Chance;
use crate::Result;

/// Where agents multicast unless told otherwise.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 72, 85);
const GROUP_PORT: u16 = 7401;

/// How many real frames are caught first, to be spoilt and replayed.
const FRAMES: usize = 10;

/// What is printed when the frames are caught that are to be replayed.
pub(super) const CAUGHT: &str = "caught";

/// So many at a time, then a pause: faster than an agent can look at them the kernel would drop them.
const AT_A_TIME: u64 = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// The longest random packet.
const MOST_BYTES: usize = 1_400;

#[derive(Args)]
pub(crate) struct Options {
    /// Whom to throw at, in turn
    #[arg(long, required = true, value_delimiter = ',')]
    targets: Vec<SocketAddr>,
    /// The address of the interface on which to catch real frames
    #[arg(long)]
    interface: Ipv4Addr,
    /// How many packets
    #[arg(long, default_value_t = 0)]
    packets: u64,
    /// How many real frames to catch first
    #[arg(long, default_value_t = FRAMES)]
    frames: usize,
    /// Replay the caught frames in order, one in this many milliseconds, and throw nothing else: from the moment that a line
    /// comes by standard input
    #[arg(long)]
    replay_every_ms: Option<u64>,
    /// How many milliseconds to wait between the catch and the throw
    #[arg(long, default_value_t = 0)]
    wait_ms: u64,
    /// Where all chance comes from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How a packet is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Truncated,
    Flipped,
    Replayed,
    Random,
}

const WRONGS: [Wrong; 4] = [
    Wrong::Truncated,
    Wrong::Flipped,
    Wrong::Replayed,
    Wrong::Random,
];

/// Throws them, and prints how many.
pub(crate) fn run(options: &Options) -> Result<()> {
    let frames = catch(options.interface, options.frames)?;
    if let Some(pause) = options.replay_every_ms {
        return replay(options, &frames, Duration::from_millis(pause));
    }
    thread::sleep(Duration::from_millis(options.wait_ms));
    let socket = UdpSocket::bind((options.interface, 0))?;
    let mut chance = Chance::from_seed(options.seed);
    let mut sent = 0;
    for number in 0..options.packets {
        let wrong = WRONGS[number as usize % WRONGS.len()];
        let frame = &frames[chance.below(frames.len())];
        let target = options.targets[number as usize % options.targets.len()];
        // What the own kernel refuses was not sent.
        sent += u64::from(
            socket
                .send_to(&wrong.make(frame, &mut chance), target)
                .is_ok(),
        );
        if number % AT_A_TIME == 0 {
            thread::sleep(PAUSE);
        }
    }
    println!("{sent}");
    Ok(())
}

/// Says that frames are caught, waits for a line, replays them, and prints how many were sent.
fn replay(options: &Options, frames: &[Vec<u8>], pause: Duration) -> Result<()> {
    writeln!(io::stdout(), "{CAUGHT}")?;
    io::stdin().read_line(&mut String::new())?;
    let socket = UdpSocket::bind((options.interface, 0))?;
    let mut sent = 0;
    for frame in frames {
        for target in &options.targets {
            // A member that is not up yet refuses what came before.
            sent += u64::from(socket.send_to(frame, target).is_ok());
        }
        thread::sleep(pause);
    }
    writeln!(io::stdout(), "{sent}")?;
    Ok(())
}

/// Frames of real members.
fn catch(interface: Ipv4Addr, count: usize) -> Result<Vec<Vec<u8>>> {
    let socket = UdpSocket::bind((GROUP, GROUP_PORT))?;
    socket.join_multicast_v4(&GROUP, &interface)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut buffer = [0; 2_048];
    let mut frames = Vec::new();
    while frames.len() < count {
        let length = socket
            .recv(&mut buffer)
            .map_err(|error| format!("no frames to be caught: {error}"))?;
        frames.push(buffer[..length].to_vec());
    }
    Ok(frames)
}

impl Wrong {
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
    use super::{Chance, MOST_BYTES, Wrong};

    #[test]
    fn packets_are_wrong_in_their_own_ways() {
        let frame: Vec<u8> = (0..100).collect();
        let mut chance = Chance::from_seed(1);
        for _ in 0..1_000 {
            let truncated = Wrong::Truncated.make(&frame, &mut chance);
            assert!(truncated.len() < frame.len() && frame.starts_with(&truncated));
            let flipped = Wrong::Flipped.make(&frame, &mut chance);
            let bits = frame
                .iter()
                .zip(&flipped)
                .map(|(a, b)| (a ^ b).count_ones());
            assert_eq!((flipped.len(), bits.sum()), (frame.len(), 1));
            assert_eq!(Wrong::Replayed.make(&frame, &mut chance), frame);
            assert!(Wrong::Random.make(&frame, &mut chance).len() < MOST_BYTES);
        }
    }
}
