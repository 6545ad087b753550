//! The sockets of an agent, and what goes through them.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use hustings_protocol::Instant;
use tokio::io::ReadBuf;
use tokio::net::{TcpListener, UdpSocket};

use super::StartError;
use crate::clock;
use crate::config::AgentConfig;
use crate::peers::Way;
use crate::sockets;

/// How often a free port is looked for that both datagrams and links can have.
const PORT_ATTEMPTS: usize = 16;

/// The sockets for datagrams.
pub(super) struct Exchange {
    own: UdpSocket,
    address: SocketAddr,
    /// By the multicast address that each hears.
    multicasts: Vec<(SocketAddr, UdpSocket)>,
    /// Which socket is looked at first: each in turn, so that a flood at one leaves the others heard.
    turn: AtomicUsize,
}

/// A datagram that came, and lies in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram {
    pub(super) way: Way,
    pub(super) length: usize,
    pub(super) from: SocketAddr,
    /// The time, read when it was there. Whoever is granted tenure counts from when it asked, so a voter must not count
    /// from any earlier moment: and a process may be stopped between two lines.
    pub(super) at: Instant,
}

impl Datagram {
    fn received(way: Way, length: usize, from: SocketAddr) -> Self {
        let at = clock::now();
        Self {
            way,
            length,
            from,
            at,
        }
    }
}

impl Exchange {
    /// Opens them all, and the listener for links on the same port. Where multicast cannot be had it
    /// is done without, and said.
    pub(super) fn open(config: &AgentConfig) -> Result<(Self, TcpListener), StartError> {
        let opened = own_and_listener(config.bind, config.interface);
        let (own, listener, address) = opened.map_err(|source| StartError::Bind {
            address: config.bind,
            source,
        })?;
        let mut multicasts: Vec<(SocketAddr, UdpSocket)> = Vec::new();
        for group in config.groups.iter().filter_map(|group| group.multicast) {
            if multicasts.iter().any(|(known, _)| *known == group) {
                continue;
            }
            match sockets::multicast(group, config.interface) {
                Ok(socket) => multicasts.push((group, socket)),
                Err(error) => tracing::warn!(
                    "no multicast on {group} by interface {}: {error}: members must be named with --join",
                    config.interface
                ),
            }
        }
        let exchange = Self {
            own,
            address,
            multicasts,
            turn: AtomicUsize::new(0),
        };
        Ok((exchange, listener))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether what is sent to the multicast address `group` is heard here.
    pub(super) fn hears(&self, group: SocketAddr) -> bool {
        self.multicasts.iter().any(|(known, _)| *known == group)
    }

    fn sockets(&self) -> impl Iterator<Item = (Way, &UdpSocket)> {
        let count = self.multicasts.len() + 1;
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        (0..count).map(move |index| match (first + index) % count {
            0 => (Way::Unicast, &self.own),
            other => (Way::Multicast, &self.multicasts[other - 1].1),
        })
    }

    /// Waits for a datagram on any of the sockets.
    pub(super) async fn receive(&self, buffer: &mut [u8]) -> Datagram {
        poll_fn(|context| {
            for (way, socket) in self.sockets() {
                let mut buffer = ReadBuf::new(buffer);
                // An error is about a datagram sent before, and that one is lost like any other.
                while let Poll::Ready(received) = socket.poll_recv_from(context, &mut buffer) {
                    if let Ok(from) = received {
                        let length = buffer.filled().len();
                        return Poll::Ready(Datagram::received(way, length, from));
                    }
                }
            }
            Poll::Pending
        })
        .await
    }

    /// A datagram that is there already.
    pub(super) fn try_receive(&self, buffer: &mut [u8]) -> Option<Datagram> {
        self.sockets().find_map(|(way, socket)| {
            let (length, from) = socket.try_recv_from(buffer).ok()?;
            Some(Datagram::received(way, length, from))
        })
    }

    /// Waits until datagrams can be sent. Until the runtime has looked at the socket once it refuses all.
    pub(super) async fn ready(&self) {
        // An error here is one of each datagram later, and told there.
        let _ = self.own.writable().await;
    }

    /// Sends a datagram, now or never: the kernel's buffer is full only if the network is, and then
    /// the datagram is lost like any other.
    pub(super) fn send(&self, to: SocketAddr, frame: &[u8]) -> io::Result<()> {
        self.own.try_send_to(frame, to).map(drop)
    }
}

/// One port for datagrams and links alike.
fn own_and_listener(
    bind: SocketAddr,
    interface: IpAddr,
) -> io::Result<(UdpSocket, TcpListener, SocketAddr)> {
    let mut attempts = if bind.port() == 0 { PORT_ATTEMPTS } else { 1 };
    loop {
        attempts -= 1;
        let own = sockets::own(bind, interface)?;
        let address = own.local_addr()?;
        match sockets::listener(address) {
            Ok(listener) => return Ok((own, listener, address)),
            Err(_) if attempts > 0 => {} // taken for links: another one then
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use super::Exchange;
    use crate::clock;

    /// What lies in the buffers of the kernel when the first is received, and what comes while the others are.
    #[tokio::test]
    async fn each_datagram_has_the_time_at_which_it_was_there() {
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (own, _listener, address) = super::own_and_listener((home, 0).into(), home).unwrap();
        let exchange = Exchange {
            own,
            address,
            multicasts: Vec::new(),
            turn: 0.into(),
        };
        exchange.ready().await;
        let mut buffer = [0; 16];
        exchange.send(address, b"first").unwrap();
        let first = exchange.receive(&mut buffer).await;
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let sent = clock::now();
            exchange.send(address, b"later").unwrap();
            exchange.own.readable().await.unwrap();
            let later = exchange.try_receive(&mut buffer).unwrap();
            assert!(first.at < sent && sent <= later.at);
        }
    }
}
