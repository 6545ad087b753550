//! Holds idle connections to an agent open. Runs as a process of its own, on a host of its own.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::Result;

/// The number of threads that open connections.
const THREADS: usize = 4;

/// The interval at which closed connections are opened again.
const AGAIN_EVERY: Duration = Duration::from_millis(500);

/// The time limit for opening a connection. Round trips in this network take less than a
/// millisecond.
const OPEN_WITHIN: Duration = Duration::from_millis(20);

#[derive(Args)]
pub(crate) struct Options {
    /// The agent to connect to
    #[arg(long)]
    target: SocketAddr,
    /// Number of connections to hold
    #[arg(long)]
    count: usize,
}

/// Opens the connections and prints a line when all were tried once. Opens closed ones again until
/// killed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let opened = Barrier::new(THREADS + 1);
    thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| hold(options.target, options.count / THREADS, &opened));
        }
        opened.wait();
        println!("opened");
    });
    Ok(())
}

fn hold(target: SocketAddr, count: usize, opened: &Barrier) {
    let open = || {
        let stream = TcpStream::connect_timeout(&target, OPEN_WITHIN).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(stream)
    };
    let mut streams: Vec<Option<TcpStream>> = (0..count).map(|_| open()).collect();
    opened.wait();
    loop {
        thread::sleep(AGAIN_EVERY);
        for stream in &mut streams {
            if !stream.as_ref().is_some_and(is_open) {
                *stream = open();
            }
        }
    }
}

fn is_open(mut stream: &TcpStream) -> bool {
    let read = stream.read(&mut [0]);
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}
