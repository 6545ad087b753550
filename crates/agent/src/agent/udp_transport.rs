//! The UDP sockets of an agent: opening, sending and receiving.

use std::collections::BTreeSet;
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
use crate::sockets;
use hustings_node::peer_table::Channel;

/// The number of attempts to find a free port for both datagrams and links.
const PORT_ATTEMPTS: usize = 16;

/// The number of ports above that of `bind` to try before any free port is taken. With the defaults
/// this ends below the port of the HTTP interface.
const NEXT_PORTS: u16 = 79;

/// The sockets for datagrams.
pub(super) struct UdpTransport {
    own: UdpSocket,
    address: SocketAddr,
    /// Each socket with the multicast address at which it receives.
    multicasts: Vec<(SocketAddr, UdpSocket)>,
    /// The index of the socket to read first. It rotates, so that a flood at one socket does not
    /// starve the others.
    turn: AtomicUsize,
}

/// The envelope of a datagram. Its bytes are in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram {
    pub(super) origin: Origin,
    pub(super) length: usize,
}

/// The origin of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) channel: Channel,
    pub(super) from: SocketAddr,
    /// The time, read after the frame had arrived. A holder counts its tenure from the moment of
    /// its request, so a voter must not count from an earlier moment. The process may be stopped
    /// between any two lines.
    pub(super) at: Instant,
}

impl Datagram {
    fn received(channel: Channel, length: usize, from: SocketAddr) -> Self {
        let origin = Origin { channel, from, at: clock::now() };
        Self { origin, length }
    }
}

impl UdpTransport {
    /// Opens all sockets, and the listener for links on the same port. If multicast is not
    /// available, logs a warning and continues without it.
    pub(super) fn open(config: &AgentConfig) -> Result<(Self, TcpListener), StartError> {
        let opened = own_and_listener(config.bind, config.interface, ports(config));
        let (own, listener, address) =
            opened.map_err(|source| StartError::Bind { address: config.bind, source })?;
        if config.next_free_port && address.port() != config.bind.port() {
            tracing::info!(
                "port {} is in use on this host: receiving at port {} instead; to choose one, set bind",
                config.bind.port(),
                address.port()
            );
        }
        let mut multicasts = Vec::new();
        let groups = config.groups.iter().filter_map(|group| group.multicast);
        for group in groups.collect::<BTreeSet<SocketAddr>>() {
            match sockets::multicast(group, config.interface) {
                Ok(socket) => multicasts.push((group, socket)),
                Err(error) => tracing::warn!(
                    "no multicast on {group} by interface {}: {error}: name the other members with --join",
                    config.interface
                ),
            }
        }
        let udp_transport = Self { own, address, multicasts, turn: AtomicUsize::new(0) };
        Ok((udp_transport, listener))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// True if this agent receives multicasts to `group`.
    pub(super) fn hears(&self, group: SocketAddr) -> bool {
        self.multicasts.iter().any(|(known, _)| *known == group)
    }

    fn sockets(&self) -> impl Iterator<Item = (Channel, &UdpSocket)> {
        let count = self.multicasts.len() + 1;
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        (0..count).map(move |index| match (first + index) % count {
            0 => (Channel::Unicast, &self.own),
            other => (Channel::Multicast, &self.multicasts[other - 1].1),
        })
    }

    /// Waits for a datagram on any socket.
    pub(super) async fn receive(&self, buffer: &mut [u8]) -> Datagram {
        poll_fn(|context| {
            for (channel, socket) in self.sockets() {
                let mut buffer = ReadBuf::new(buffer);
                // An error refers to a datagram sent earlier, which is lost like any other.
                while let Poll::Ready(received) = socket.poll_recv_from(context, &mut buffer) {
                    if let Ok(from) = received {
                        let length = buffer.filled().len();
                        return Poll::Ready(Datagram::received(channel, length, from));
                    }
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Returns a datagram that has already arrived, if there is one.
    pub(super) fn try_receive(&self, buffer: &mut [u8]) -> Option<Datagram> {
        self.sockets().find_map(|(channel, socket)| {
            let (length, from) = socket.try_recv_from(buffer).ok()?;
            Some(Datagram::received(channel, length, from))
        })
    }

    /// Waits until datagrams can be sent. Until the runtime has polled the socket once, every send
    /// fails.
    pub(super) async fn ready(&self) {
        // Each later send reports an error of the socket again.
        let _ = self.own.writable().await;
    }

    /// Sends a datagram at once or drops it. The kernel's buffer is full only if the network is,
    /// and then the datagram is lost like any other.
    pub(super) fn send(&self, to: SocketAddr, frame: &[u8]) -> io::Result<()> {
        self.own.try_send_to(frame, to).map(drop)
    }
}

/// Returns the ports to try, in order. 0 stands for any free port.
fn ports(config: &AgentConfig) -> Vec<u16> {
    let first = config.bind.port();
    if first != 0 && !config.next_free_port {
        return vec![first];
    }
    let mut ports = Vec::new();
    if first != 0 {
        // A socket at a group's multicast port would keep all agents of this host from receiving
        // the group's multicasts.
        let multicasts = config.groups.iter().filter_map(|group| group.multicast);
        let multicasts: Vec<u16> = multicasts.map(|it| it.port()).collect();
        let next = first..=first.saturating_add(NEXT_PORTS);
        ports.extend(next.filter(|port| !multicasts.contains(port)));
    }
    ports.extend([0; PORT_ATTEMPTS]);
    ports
}

/// Opens the first of `ports` that is free for both datagrams and links.
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

    use super::{NEXT_PORTS, PORT_ATTEMPTS, UdpTransport, ports};
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
            groups: vec![GroupConfig { multicast, ..GroupConfig::plain("ports", protocol) }],
        }
    }

    #[test]
    fn ports_are_tried_upwards_without_multicast_ports_then_any() {
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
    async fn second_agent_on_a_host_takes_the_next_port() {
        // Any free port that has some others above it.
        let probe = std::net::TcpListener::bind((HOME, 0)).unwrap();
        let first = probe.local_addr().unwrap().port().min(60_000);
        drop(probe);
        let open = |is_next| UdpTransport::open(&config(first, is_next, None));
        let (one, _one_listens) = open(true).unwrap_or_else(|error| panic!("{error}"));
        let (other, _other_listens) = open(true).unwrap_or_else(|error| panic!("{error}"));
        let taken = [&one, &other].map(|it| it.address().port());
        let next = first..=first + NEXT_PORTS;
        assert!(taken[0] < taken[1] && taken.iter().all(|it| next.contains(it)), "{taken:?}");
        let refused = UdpTransport::open(&config(taken[0], false, None));
        let refused = refused.err().map(|error| error.to_string());
        let refused = refused.expect("a port that was asked for is not exchanged");
        assert!(refused.contains("another process listens there"), "{refused}");
    }

    /// The first datagram is already in the kernel's buffer when it is received; the others arrive
    /// later.
    #[tokio::test]
    async fn each_datagram_carries_its_own_time_of_arrival() {
        let opened = super::own_and_listener((HOME, 0).into(), HOME, vec![0]);
        let (own, _listener, address) = opened.unwrap();
        let udp_transport = UdpTransport { own, address, multicasts: Vec::new(), turn: 0.into() };
        udp_transport.ready().await;
        let mut buffer = [0; 16];
        udp_transport.send(address, b"first").unwrap();
        let first = udp_transport.receive(&mut buffer).await;
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let sent = clock::now();
            udp_transport.send(address, b"later").unwrap();
            udp_transport.own.readable().await.unwrap();
            let later = udp_transport.try_receive(&mut buffer).unwrap();
            assert!(first.origin.at < sent && sent <= later.origin.at);
        }
    }
}
