//! Last words on their way: from the member to who watches over it, and from there to whom they are meant for.
//!
//! Assumes   that whoever calls [`send`] has proof of the member's death, and that nothing of its work is left
//! Promises  words arrive as they were given, or not at all

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

use crate::authority::last_words::LastWords;

/// Datagrams get lost, and there will be nobody to notice: so each is sent so often.
const TIMES: u32 = 3;
/// What drops one datagram often drops those right behind it.
const APART: Duration = Duration::from_millis(3);
/// The end of a line of last words, without which some may be missing.
const END: &str = ".";

/// Last words as one line: addresses, each with what to send there.
pub(crate) fn to_line(words: &LastWords) -> String {
    let mut line = String::new();
    for (address, bytes) in &words.0 {
        line += &format!("{address} {} ", hex::encode(bytes));
    }
    line + END
}

/// What [`to_line`] has written; None if it has not written this.
pub(crate) fn from_line(line: &str) -> Option<LastWords> {
    let mut parts = line.split(' ');
    let mut words = Vec::new();
    loop {
        let address = parts.next()?;
        if address == END {
            return parts.next().is_none().then_some(LastWords(words));
        }
        words.push((address.parse().ok()?, hex::decode(parts.next()?).ok()?));
    }
}

/// Sends a dead member's last words. The first copy of each leaves at once; it returns when the last has left.
pub(crate) fn send(words: &LastWords) {
    for round in 0..TIMES {
        if words.0.is_empty() {
            return;
        }
        if round > 0 {
            sleep(APART);
        }
        for (address, bytes) in &words.0 {
            // What cannot be sent, or is lost, costs time alone: the tenure runs out.
            let _ = send_one(*address, bytes);
        }
    }
}

fn send_one(address: SocketAddr, bytes: &[u8]) -> std::io::Result<usize> {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    UdpSocket::bind((any, 0))?.send_to(bytes, address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> LastWords {
        let to = |address: &str| address.parse().expect("an address");
        LastWords(vec![
            (to("127.0.0.1:4101"), vec![0, 255, 16]),
            (to("[fe80::1%3]:4102"), vec![]),
        ])
    }

    #[test]
    fn what_is_written_is_read() {
        for words in [words(), LastWords::default()] {
            assert_eq!(from_line(&to_line(&words)), Some(words));
        }
    }

    #[test]
    fn no_part_of_a_line_is_taken_for_the_whole() {
        let line = to_line(&words());
        for length in 0..line.len() {
            assert_eq!(from_line(&line[..length]), None, "{}", &line[..length]);
        }
        for wrong in ["127.0.0.1:4101 0g .", "127.0.0.1 00 .", ". ."] {
            assert_eq!(from_line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_is_sent_more_than_once() {
        let voter = UdpSocket::bind("[::1]:0").expect("loopback is there");
        let address = voter.local_addr().expect("it is bound");
        send(&LastWords(vec![(address, b"farewell".to_vec())]));
        for _ in 0..TIMES {
            let mut bytes = [0; 16];
            let length = voter.recv(&mut bytes).expect("it was sent");
            assert_eq!(&bytes[..length], b"farewell");
        }
    }
}
