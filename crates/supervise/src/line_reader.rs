//! Reads lines of text from a socket.
//!
//! Only complete lines count: a process that dies while it writes leaves an incomplete one.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// A socket, and the bytes received from it.
#[derive(Debug)]
pub(crate) struct LineReader<S> {
    pub(crate) socket: S,
    /// Bytes received that have not been returned yet.
    bytes: Vec<u8>,
    /// True if nothing more will arrive.
    pub(crate) has_ended: bool,
}

impl<S> LineReader<S> {
    pub(crate) fn new(socket: S) -> Self {
        Self { socket, bytes: Vec::new(), has_ended: false }
    }

    fn next_line(&mut self) -> Option<String> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
        let line = self.bytes.drain(..=end).take(end).collect::<Vec<u8>>();
        // No program here writes bytes that are not text. The lossy line remains one that no parser
        // accepts.
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}

impl<S: AsFd> LineReader<S> {
    /// Returns the complete lines that have arrived, without blocking.
    pub(crate) fn arrived(&mut self) -> Vec<String> {
        let mut bytes = [0; 4096];
        while !self.has_ended {
            match recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => {
                    self.has_ended = length == 0;
                    self.bytes.extend_from_slice(&bytes[..length]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // Reset: the peer died with unread data.
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

    use super::LineReader;

    #[test]
    fn only_complete_lines_are_returned() {
        let (mut theirs, ours) = UnixStream::pair().expect("sockets can be had");
        let mut line_reader = LineReader::new(ours);
        let mut after = |said: &[u8]| {
            theirs.write_all(said).expect("it is open");
            line_reader.arrived()
        };
        assert_eq!(after(b"one\ntw"), ["one"]);
        assert!(after(b"").is_empty());
        assert_eq!(after(b"o\n\nthr"), ["two", ""]);
        drop(theirs);
        assert!(line_reader.arrived().is_empty());
        assert!(line_reader.has_ended);
    }
}
