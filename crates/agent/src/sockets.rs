//! The sockets of an agent: one for its own address, one for each multicast address.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};

/// A receive buffer for bursts: at a restart storm all members speak at once.
const RECEIVE_BUFFER_BYTES: usize = 1 << 20;

/// The socket of this member's own address. It also sends the multicasts, so that whoever hears one
/// can answer.
///
/// # Errors
/// The operating system's, with the address: in use, not of this host, not permitted.
pub(crate) fn own(bind: SocketAddr, interface: IpAddr) -> io::Result<UdpSocket> {
    let socket = udp(bind)?;
    match (bind, interface) {
        (SocketAddr::V4(_), IpAddr::V4(interface)) => {
            socket.set_multicast_if_v4(&interface)?;
            socket.set_multicast_loop_v4(true)?; // other agents of this host hear them too
            socket.set_multicast_ttl_v4(1)?; // not beyond the LAN
        }
        (SocketAddr::V6(_), IpAddr::V6(interface)) => {
            socket.set_multicast_if_v6(index_of(interface))?;
            socket.set_multicast_loop_v6(true)?;
            socket.set_multicast_hops_v6(1)?;
        }
        (SocketAddr::V4(_), IpAddr::V6(_)) | (SocketAddr::V6(_), IpAddr::V4(_)) => {}
    }
    socket.bind(&bind.into())?;
    UdpSocket::from_std(socket.into())
}

/// The listener for links and lifelines, on the same port as datagrams.
///
/// # Errors
/// The operating system's.
pub(crate) fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?; // a restarted agent need not wait for the old connections' end
    socket.bind(&address.into())?;
    socket.listen(128)?;
    TcpListener::from_std(socket.into())
}

/// A socket that hears what is sent to the multicast address `group`, as other agents of this host
/// do.
///
/// # Errors
/// The operating system's.
pub(crate) fn multicast(group: SocketAddr, interface: IpAddr) -> io::Result<UdpSocket> {
    let socket = udp(group)?;
    socket.set_reuse_address(true)?;
    socket.bind(&group.into())?;
    match (group, interface) {
        (SocketAddr::V4(group), IpAddr::V4(interface)) => {
            socket.join_multicast_v4(group.ip(), &interface)?;
            // Without this a socket hears every group that any process of the host has joined.
            socket.set_multicast_all_v4(false)?;
        }
        (SocketAddr::V6(group), IpAddr::V6(interface)) => {
            socket.join_multicast_v6(group.ip(), index_of(interface))?;
        }
        (SocketAddr::V4(_), IpAddr::V6(_)) | (SocketAddr::V6(_), IpAddr::V4(_)) => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the interface's address is of the other IP version",
            ));
        }
    }
    UdpSocket::from_std(socket.into())
}

fn udp(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    socket.set_nonblocking(true)?;
    // The kernel grants what it may: a smaller buffer works as well, but for bursts.
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
    Ok(socket)
}

/// The interface that has this address; 0, the default one, if none has.
fn index_of(address: Ipv6Addr) -> u32 {
    interfaces()
        .into_iter()
        .find(|it| it.address == IpAddr::V6(address))
        .map_or(0, |it| it.index)
}

/// A network interface that could carry a group's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interface {
    address: IpAddr,
    index: u32,
}

fn interfaces() -> Vec<Interface> {
    let all = if_addrs::get_if_addrs().unwrap_or_default();
    all.into_iter()
        .map(|it| Interface {
            address: it.ip(),
            index: it.index.unwrap_or(0),
        })
        .collect()
}

/// The address of the interface on which a group is looked for unless told otherwise: the first that
/// leads away from this host, else the loopback's.
pub fn default_interface() -> IpAddr {
    let leads_away = |it: &Interface| it.address.is_ipv4() && !it.address.is_loopback();
    interfaces()
        .into_iter()
        .filter(leads_away)
        .min_by_key(|it| it.index)
        .map_or(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), |it| it.address)
}
