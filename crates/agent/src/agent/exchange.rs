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

/// The number of ports above that of `bind` which are tried before any free one is taken: up to the port of HTTP, if
/// both have their defaults.
const NEXT_PORTS: u16 = 79;

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
        let opened = own_and_listener(config.bind, config.interface, ports(config));
        let (own, listener, address) = opened.map_err(|source| StartError::Bind {
            address: config.bind,
            source,
        })?;
        if config.next_free_port && address.port() != config.bind.port() {
            tracing::info!(
                "port {} is in use on this host: receiving at port {} instead; to choose one, set bind",
                config.bind.port(),
                address.port()
            );
        }
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

/// The ports to try, in order; 0 is any that is free.
fn ports(config: &AgentConfig) -> Vec<u16> {
    let first = config.bind.port();
    if first != 0 && !config.next_free_port {
        return vec![first];
    }
    let mut ports = Vec::new();
    if first != 0 {
        // A socket at a group's multicast port would keep all agents of this host from hearing the group.
        let multicasts = config.groups.iter().filter_map(|group| group.multicast);
        let multicasts: Vec<u16> = multicasts.map(|it| it.port()).collect();
        let next = first..=first.saturating_add(NEXT_PORTS);
        ports.extend(next.filter(|port| !multicasts.contains(port)));
    }
    ports.extend([0; PORT_ATTEMPTS]);
    ports
}

/// One port for datagrams and links alike: the first of `ports` that is free for both.
fn own_and_listener(
    bind: SocketAddr,
    interface: IpAddr,
    ports: Vec<u16>,
) -> io::Result<(UdpSocket, TcpListener, SocketAddr)> {
    let mut taken = io::Error::from(io::ErrorKind::AddrInUse);
    for port in ports {
        let opened = sockets::own(SocketAddr::new(bind.ip(), port), interface).and_then(|own| {
            let address = own.local_addr()?;
            Ok((own, sockets::listener(address)?, address))
        });
        match opened {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => taken = error,
            opened => return opened,
        }
    }
    Err(taken)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use super::{Exchange, NEXT_PORTS, PORT_ATTEMPTS, ports};
    use crate::clock;
    use crate::config::presets::ANNOUNCE;
    use crate::config::{AgentConfig, GroupConfig, ProtocolConfig};

    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn config(port: u16, next_free_port: bool, multicast: Option<SocketAddr>) -> AgentConfig {
        let protocol = ProtocolConfig::announce_field(ANNOUNCE);
        AgentConfig {
            name: "a".to_owned(),
            bind: (HOME, port).into(),
            next_free_port,
            interface: HOME,
            http: None,
            metrics: None,
            insecure: false,
            groups: vec![GroupConfig {
                multicast,
                ..GroupConfig::plain("ports", protocol)
            }],
        }
    }

    #[test]
    fn ports_are_tried_upwards_but_for_multicasts_and_then_any() {
        let multicast: SocketAddr = "239.255.72.85:7401".parse().unwrap();
        let tried = ports(&config(7400, true, Some(multicast)));
        assert_eq!(tried[..3], [7400, 7402, 7403]);
        let any = tried.iter().filter(|it| **it == 0).count();
        assert_eq!(any, PORT_ATTEMPTS);
        assert_eq!(tried[tried.len() - any - 1], 7400 + NEXT_PORTS);
        assert_eq!(ports(&config(7400, false, Some(multicast))), [7400]);
        assert_eq!(ports(&config(0, true, None)), [0; PORT_ATTEMPTS]);
        assert_eq!(ports(&config(u16::MAX, true, None))[..2], [u16::MAX, 0]);
    }

    #[tokio::test]
    async fn of_two_agents_on_one_host_the_second_takes_the_next_port() {
        // Any one that is free, and has some others behind it.
        let probe = std::net::TcpListener::bind((HOME, 0)).unwrap();
        let first = probe.local_addr().unwrap().port().min(60_000);
        drop(probe);
        let open = |is_next| Exchange::open(&config(first, is_next, None));
        let (one, _one_listens) = open(true).unwrap_or_else(|error| panic!("{error}"));
        let (other, _other_listens) = open(true).unwrap_or_else(|error| panic!("{error}"));
        let taken = [&one, &other].map(|it| it.address().port());
        let next = first..=first + NEXT_PORTS;
        assert!(
            taken[0] < taken[1] && taken.iter().all(|it| next.contains(it)),
            "{taken:?}"
        );
        let refused = Exchange::open(&config(taken[0], false, None));
        let refused = refused.err().map(|error| error.to_string());
        let refused = refused.expect("a port that was asked for is not exchanged");
        assert!(
            refused.contains("another process listens there"),
            "{refused}"
        );
    }

    /// What lies in the buffers of the kernel when the first is received, and what comes while the others are.
    #[tokio::test]
    async fn each_datagram_has_the_time_at_which_it_was_there() {
        let opened = super::own_and_listener((HOME, 0).into(), HOME, vec![0]);
        let (own, _listener, address) = opened.unwrap();
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
