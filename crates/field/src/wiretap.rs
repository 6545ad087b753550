//! Records the datagrams that arrive at a host, or replays them from another host, as they are or
//! changed into packets that no member would send. Runs as a process of its own, on a host of the
//! trial.

use std::fs::{self, File};
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket};

use super::chance::Chance;
use crate::Result;

/// The kernel's number of IPv4 among the protocols of an interface, in network byte order.
const IPV4: u32 = 0x0800_u16.to_be() as u32;

/// The number of UDP among the protocols of IPv4.
const UDP: u8 = 17;

#[derive(Args)]
pub(crate) struct Options {
    /// The file of datagrams, one on each line
    #[arg(long)]
    file: PathBuf,
    /// Record the datagrams that arrive for this port, until killed
    #[arg(long, required_unless_present = "targets")]
    port: Option<u16>,
    /// Replay the recorded datagrams to these addresses, again and again, until killed
    #[arg(long, conflicts_with = "port", value_delimiter = ',')]
    targets: Vec<SocketAddr>,
    /// Milliseconds between two datagrams
    #[arg(long, default_value_t = 5)]
    every_ms: u64,
    /// Send this many wrong packets to the first address, and print the number that were sent
    #[arg(long, value_name = "N", requires = "targets")]
    wrong: Option<u64>,
}

/// Records or replays datagrams.
pub(crate) fn run(options: &Options) -> Result<()> {
    match (options.port, options.wrong) {
        (Some(port), _) => record(port, &options.file),
        (None, Some(count)) => send_wrong_packets(options, count),
        (None, None) => replay(options),
    }
}

/// Prints an empty line when it is ready to record.
fn record(port: u16, path: &Path) -> Result<()> {
    let protocol = NonZeroU32::new(IPV4).map(Protocol::from_raw);
    let wire = socket(AddressFamily::PACKET, SocketType::DGRAM, protocol)?;
    let mut file = File::create(path)?;
    println!();
    let mut buffer = [0; 2_048];
    loop {
        let (_, length) = recv(&wire, &mut buffer[..], RecvFlags::empty())?;
        if let Some(datagram) = datagram(&buffer[..length.min(buffer.len())], port) {
            let line = serde_json::to_string(datagram)?;
            file.write_all(format!("{line}\n").as_bytes())?;
        }
    }
}

/// Returns the content of a packet, if it is a datagram for `port`.
fn datagram(packet: &[u8], port: u16) -> Option<&[u8]> {
    let header = usize::from(packet.first()? & 0x0f) * 4;
    let datagram = packet.get(header..)?;
    let its_port = u16::from_be_bytes([*datagram.get(2)?, *datagram.get(3)?]);
    let is_for_port = *packet.get(9)? == UDP && its_port == port;
    datagram.get(8..).filter(|_| is_for_port)
}

fn replay(options: &Options) -> Result<()> {
    let datagrams = read(&options.file)?;
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    loop {
        for datagram in &datagrams {
            for target in &options.targets {
                // If no socket is bound there, the kernel may return an error.
                let _ = socket.send_to(datagram, target);
            }
            thread::sleep(Duration::from_millis(options.every_ms));
        }
    }
}

/// Returns the recorded datagrams. Fails if there are none.
fn read(path: &Path) -> Result<Vec<Vec<u8>>> {
    let lines = fs::read_to_string(path)?;
    let datagrams: std::result::Result<Vec<Vec<u8>>, _> =
        lines.lines().map(serde_json::from_str).collect();
    let datagrams = datagrams?;
    ensure!(!datagrams.is_empty(), "{}: no datagrams are recorded", path.display());
    Ok(datagrams)
}

/// The number of packets before a pause. If they came faster than an agent can read them, the
/// kernel would drop them.
const AT_A_TIME: u64 = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// The longest random packet.
const MOST_BYTES: usize = 1_400;

/// The seed of the random numbers.
const SEED: u64 = 1;

/// Sends the packets and prints their number.
fn send_wrong_packets(options: &Options, count: u64) -> Result<()> {
    let frames = read(&options.file)?;
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let mut chance = Chance::from_seed(SEED);
    let mut sent = 0;
    for number in 0..count {
        let frame = &frames[chance.below(frames.len())];
        // A packet that the local kernel refuses was not sent.
        let packet = wrong_packet(number, frame, &mut chance);
        sent += u64::from(socket.send_to(&packet, options.targets[0]).is_ok());
        if number % AT_A_TIME == 0 {
            thread::sleep(PAUSE);
        }
    }
    println!("{sent}");
    Ok(())
}

/// Makes a packet that is wrong in one of four ways, by its number.
fn wrong_packet(number: u64, frame: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut packet = frame.to_vec();
    match number % 4 {
        0 => packet.truncate(chance.below(frame.len())),
        1 => {
            let bit = chance.below(8 * packet.len());
            packet[bit / 8] ^= 1 << (bit % 8);
        }
        2 => {} // replayed
        _ => packet = (0..chance.below(MOST_BYTES)).map(|_| chance.next() as u8).collect(),
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::{Chance, MOST_BYTES, datagram, wrong_packet};

    #[test]
    fn datagram_content_is_extracted_for_the_port() {
        let mut packet = vec![0; 28];
        packet[0] = 0x45; // IPv4, and a header of five words
        packet[9] = 17;
        packet[22..24].copy_from_slice(&7400_u16.to_be_bytes());
        packet.extend(b"content");
        assert_eq!(datagram(&packet, 7400), Some(&b"content"[..]));
        assert_eq!(datagram(&packet, 7401), None);
        for length in 0..28 {
            assert_eq!(datagram(&packet[..length], 7400), None, "{length}");
        }
        packet[9] = 6;
        assert_eq!(datagram(&packet, 7400), None);
    }

    #[test]
    fn each_kind_of_wrong_packet_is_made_as_named() {
        let frame: Vec<u8> = (0..100).collect();
        let mut chance = Chance::from_seed(1);
        for _ in 0..1_000 {
            let [truncated, flipped, replayed, random] =
                [0, 1, 2, 3].map(|number| wrong_packet(number, &frame, &mut chance));
            assert!(truncated.len() < frame.len() && frame.starts_with(&truncated));
            let bits = frame.iter().zip(&flipped).map(|(a, b)| (a ^ b).count_ones());
            assert_eq!((flipped.len(), bits.sum()), (frame.len(), 1));
            assert_eq!(replayed, frame);
            assert!(random.len() < MOST_BYTES);
        }
    }
}
