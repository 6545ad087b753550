//! The transport of a last will: from the member to the process that supervises it, and from there
//! to the voters.
//!
//! Assumes   the caller of [`send`] has proof that the member is dead and that nothing of its work
//!           is left
//! Promises  a last will arrives unchanged, or not at all

use std::net::{SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

use hustings_authority::LastWill;

/// The number of copies of each datagram. Datagrams get lost, and no process is left to notice.
const TIMES: u32 = 3;
/// The time between copies. A fault that drops one datagram often drops those right behind it.
const APART: Duration = Duration::from_millis(3);
/// The end of a line. Without it a part of the line may be missing.
const END: &str = ".";

/// Encodes a last will as one line: addresses, each with its datagram.
pub(crate) fn to_line(last_will: &LastWill) -> String {
    let mut line = String::new();
    for (address, bytes) in &last_will.0 {
        line += &format!("{address} {} ", hex::encode(bytes));
    }
    line + END
}

/// Decodes a line of [`to_line`]. Returns `None` if the line is invalid or incomplete.
pub(crate) fn from_line(line: &str) -> Option<LastWill> {
    let mut parts = line.split(' ');
    let mut releases = Vec::new();
    loop {
        let address = parts.next()?;
        if address == END {
            return parts.next().is_none().then_some(LastWill(releases));
        }
        releases.push((address.parse().ok()?, hex::decode(parts.next()?).ok()?));
    }
}

/// Sends a dead member's last will. The first copy of each datagram leaves at once. Returns when
/// the last copy has left.
pub(crate) fn send(last_will: &LastWill) {
    for round in 0..TIMES {
        if last_will.0.is_empty() {
            return;
        }
        if round > 0 {
            sleep(APART);
        }
        for (address, bytes) in &last_will.0 {
            // A datagram that cannot be sent or gets lost only costs time: the tenure expires.
            let _ = send_one(*address, bytes);
        }
    }
}

fn send_one(address: SocketAddr, bytes: &[u8]) -> std::io::Result<usize> {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    UdpSocket::bind(any)?.send_to(bytes, address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_will() -> LastWill {
        let to = |address: &str| address.parse().expect("an address");
        LastWill(vec![(to("127.0.0.1:4101"), vec![0, 255, 16]), (to("[fe80::1%3]:4102"), vec![])])
    }

    #[test]
    fn last_will_survives_encoding_and_decoding() {
        for last_will in [last_will(), LastWill::default()] {
            assert_eq!(from_line(&to_line(&last_will)), Some(last_will));
        }
    }

    #[test]
    fn incomplete_line_is_refused() {
        let line = to_line(&last_will());
        for length in 0..line.len() {
            assert_eq!(from_line(&line[..length]), None, "{}", &line[..length]);
        }
        for wrong in ["127.0.0.1:4101 0g .", "127.0.0.1 00 .", ". ."] {
            assert_eq!(from_line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_datagram_is_sent_more_than_once() {
        let voter = UdpSocket::bind("[::1]:0").expect("loopback is there");
        let address = voter.local_addr().expect("it is bound");
        send(&LastWill(vec![(address, b"farewell".to_vec())]));
        for _ in 0..TIMES {
            let mut bytes = [0; 16];
            let length = voter.recv(&mut bytes).expect("it was sent");
            assert_eq!(&bytes[..length], b"farewell");
        }
    }
}
