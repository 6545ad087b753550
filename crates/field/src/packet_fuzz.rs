//! Sends a member packets that no member would send. Runs as a process of its own, on a host of its
//! own.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;

use super::chance::Chance;
use super::wiretap;
use crate::Result;

/// The number of packets before a pause. If they came faster than an agent can read them, the
/// kernel would drop them.
const AT_A_TIME: u64 = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// The longest random packet.
const MOST_BYTES: usize = 1_400;

#[derive(Args)]
pub(crate) struct Options {
    /// The target
    #[arg(long)]
    target: SocketAddr,
    /// The file of recorded frames, to be altered and replayed
    #[arg(long)]
    file: PathBuf,
    /// Number of packets
    #[arg(long)]
    packets: u64,
}

/// The seed of the random numbers.
const SEED: u64 = 1;

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
    let frames = wiretap::read(&options.file)?;
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let mut chance = Chance::from_seed(SEED);
    let mut sent = 0;
    for number in 0..options.packets {
        let wrong_packet = WRONG_PACKETS[number as usize % WRONG_PACKETS.len()];
        let frame = &frames[chance.below(frames.len())];
        // A packet that the local kernel refuses was not sent.
        let packet = wrong_packet.make(frame, &mut chance);
        sent += u64::from(socket.send_to(&packet, options.target).is_ok());
        if number % AT_A_TIME == 0 {
            thread::sleep(PAUSE);
        }
    }
    println!("{sent}");
    Ok(())
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
