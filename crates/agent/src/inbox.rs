//! Lines of text that arrive on a socket.
//!
//! A line counts when all of it is there: whoever dies while it writes has not said the rest.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// A socket, and the lines that have arrived on it.
#[derive(Debug)]
pub(crate) struct Inbox<S> {
    pub(crate) socket: S,
    /// What has arrived and was not asked for yet.
    bytes: Vec<u8>,
    /// Nothing more will arrive.
    pub(crate) has_ended: bool,
}

impl<S> Inbox<S> {
    pub(crate) fn new(socket: S) -> Self {
        Self {
            socket,
            bytes: Vec::new(),
            has_ended: false,
        }
    }

    fn next_line(&mut self) -> Option<String> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
        let line = self.bytes.drain(..=end).take(end).collect::<Vec<u8>>();
        // What is not text is no line that anybody here would write, and stays one that nobody can read.
        Some(String::from_utf8_lossy(&line).into_owned())
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.has_ended |= bytes.is_empty();
        self.bytes.extend_from_slice(bytes);
    }
}

impl<S: AsFd> Inbox<S> {
    /// The lines that are there by now.
    pub(crate) fn arrived(&mut self) -> Vec<String> {
        let mut bytes = [0; 4096];
        while !self.has_ended {
            match recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => self.take_in(&bytes[..length]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // Reset by the other's death with words unheard.
                Err(_) => self.has_ended = true,
            }
        }
        std::iter::from_fn(|| self.next_line()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::Inbox;

    #[test]
    fn lines_are_told_when_they_are_whole() {
        let (mut theirs, ours) = UnixStream::pair().expect("sockets can be had");
        let mut inbox = Inbox::new(ours);
        let mut after = |said: &[u8]| {
            theirs.write_all(said).expect("it is open");
            inbox.arrived()
        };
        assert_eq!(after(b"one\ntw"), ["one"]);
        assert!(after(b"").is_empty());
        assert_eq!(after(b"o\n\nthr"), ["two", ""]);
        drop(theirs);
        assert!(inbox.arrived().is_empty());
        assert!(inbox.has_ended);
    }
}
