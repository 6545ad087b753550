//! Reads the lines of a stream on a separate thread as they arrive.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// Reads a stream to its end, and returns the channel of its lines.
pub fn read(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    forward(stream, sender, |line| line);
    lines
}

/// Reads a stream to its end, and sends the result of `make` for each line. Several streams can
/// share one channel.
pub fn forward<T: Send + 'static>(
    stream: impl Read + Send + 'static,
    sender: Sender<T>,
    make: impl Fn(String) -> T + Send + 'static,
) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(make(line)).is_err() {
                return; // the receiver is gone
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{forward, read};
    use std::sync::mpsc;

    #[test]
    fn lines_arrive_in_order_and_end_with_the_stream() {
        let lines: Vec<String> = read(&b"one\ntwo\nthree"[..]).iter().collect();
        assert_eq!(lines, ["one", "two", "three"]);
    }

    #[test]
    fn several_streams_share_a_channel() {
        let (sender, lines) = mpsc::channel();
        for (number, text) in [b"a\n", b"b\n"].into_iter().enumerate() {
            forward(&text[..], sender.clone(), move |line| (number, line));
        }
        drop(sender);
        let mut lines: Vec<(usize, String)> = lines.iter().collect();
        lines.sort();
        assert_eq!(lines, [(0, "a".to_owned()), (1, "b".to_owned())]);
    }
}
