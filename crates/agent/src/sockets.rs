//! The UDP and TCP sockets of an agent: one pair for its own address, one UDP socket for each
//! multicast address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};

/// The size of the receive buffer. It is sized for bursts: after a common restart all members send
/// at once.
const RECEIVE_BUFFER_BYTES: usize = 1 << 20;

/// Opens the UDP socket of this member's own address. It also sends the multicasts, so that
/// receivers can answer to the source address.
///
/// # Errors
/// The operating system's error: the address is in use, not of this host, or not permitted.
pub(crate) fn own(bind: SocketAddr, interface: IpAddr) -> io::Result<UdpSocket> {
    let socket = udp(bind)?;
    match (bind, interface) {
        (SocketAddr::V4(_), IpAddr::V4(interface)) => {
            socket.set_multicast_if_v4(&interface)?;
            socket.set_multicast_loop_v4(true)?; // other agents of this host receive them too
            socket.set_multicast_ttl_v4(1)?; // multicasts stay in the LAN
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

/// Opens the listener for links and lifelines, on the same port as datagrams.
///
/// # Errors
/// The operating system's error.
pub(crate) fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?; // a restarted agent need not wait for the end of old connections
    socket.bind(&address.into())?;
    socket.listen(128)?;
    TcpListener::from_std(socket.into())
}

/// Opens a socket that receives multicasts to `group`. Other agents of this host can open one too.
///
/// # Errors
/// The operating system's error.
pub(crate) fn multicast(group: SocketAddr, interface: IpAddr) -> io::Result<UdpSocket> {
    let socket = udp(group)?;
    socket.set_reuse_address(true)?;
    socket.bind(&group.into())?;
    match (group, interface) {
        (SocketAddr::V4(group), IpAddr::V4(interface)) => {
            socket.join_multicast_v4(group.ip(), &interface)?;
            // Without this option a socket receives every group that any process of the host has
            // joined.
            socket.set_multicast_all_v4(false)?;
        }
        (SocketAddr::V6(group), IpAddr::V6(interface)) => {
            let index = index_of(interface);
            socket.join_multicast_v6(group.ip(), index)?;
            // A group can be joined where nothing can be sent to it: the loopback interface has no
            // route for IPv6 multicasts unless the administrator added one.
            let sending = udp(group.into())?;
            sending.set_multicast_if_v6(index)?;
            sending.connect(&SocketAddr::from(group).into())?;
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
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // The kernel may grant less. A smaller buffer works too, except in bursts.
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
    Ok(socket)
}

/// Returns the index of the interface that has `address`, or 0 (the default interface) if none has
/// it.
fn index_of(address: Ipv6Addr) -> u32 {
    interfaces().into_iter().find(|it| it.address == IpAddr::V6(address)).map_or(0, |it| it.index)
}

/// A network interface that could carry a group's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NetworkInterface {
    address: IpAddr,
    index: u32,
}

fn interfaces() -> Vec<NetworkInterface> {
    let all = if_addrs::get_if_addrs().unwrap_or_default();
    all.into_iter()
        .map(|it| NetworkInterface { address: it.ip(), index: it.index.unwrap_or(0) })
        .collect()
}

/// Returns the address of the default multicast interface for members that receive at every address
/// of the IP version of `any`.
///
/// # Errors
/// Returns the addresses to choose from if the choice is not clear.
pub(crate) fn default_interface(any: IpAddr) -> Result<IpAddr, Vec<IpAddr>> {
    match any {
        IpAddr::V4(_) => Ok(first_v4(&interfaces())),
        IpAddr::V6(_) => only_v6(&interfaces()),
    }
}

/// Returns the first IPv4 address that is not a loopback address, or else the loopback address.
fn first_v4(interfaces: &[NetworkInterface]) -> IpAddr {
    let leads_away = |it: &&NetworkInterface| it.address.is_ipv4() && !it.address.is_loopback();
    let away = interfaces.iter().filter(leads_away);
    away.min_by_key(|it| it.index).map_or(Ipv4Addr::LOCALHOST.into(), |it| it.address)
}

/// Returns the IPv6 address of the only interface that leads beyond this host, or the loopback
/// address if none does.
///
/// Every interface also has a link-local address. Members cannot answer each other at such an
/// address, because it does not name the link. Link-local addresses therefore count only if there
/// are no others, and then the user has to choose.
fn only_v6(interfaces: &[NetworkInterface]) -> Result<IpAddr, Vec<IpAddr>> {
    let is_away = |it: &&NetworkInterface| it.address.is_ipv6() && !it.address.is_loopback();
    let is_of_link = |it: &&NetworkInterface| match it.address {
        IpAddr::V6(address) => address.is_unicast_link_local(),
        IpAddr::V4(_) => false,
    };
    let away = interfaces.iter().filter(is_away);
    let (of_link, mut beyond): (Vec<&NetworkInterface>, Vec<&NetworkInterface>) =
        away.partition(is_of_link);
    beyond.sort_by_key(|it| it.index);
    beyond.dedup_by_key(|it| it.index);
    let addresses = |these: &[&NetworkInterface]| these.iter().map(|it| it.address).collect();
    match (&beyond[..], &of_link[..]) {
        ([only], _) => Ok(only.address),
        ([], []) => Ok(Ipv6Addr::LOCALHOST.into()),
        ([], of_link) => Err(addresses(of_link)),
        (several, _) => Err(addresses(several)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{NetworkInterface, first_v4, only_v6};

    fn host(addresses: &[(u32, &str)]) -> Vec<NetworkInterface> {
        let interface = |(index, address): &(u32, &str)| NetworkInterface {
            index: *index,
            address: address.parse().unwrap(),
        };
        addresses.iter().map(interface).collect()
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn first_interface_beyond_the_host_is_chosen() {
        let host = host(&[(1, "127.0.0.1"), (3, "10.0.0.3"), (2, "10.0.0.2"), (2, "fd00::2")]);
        assert_eq!(first_v4(&host), addresses(&["10.0.0.2"])[0]);
        assert_eq!(first_v4(&host[..1]), addresses(&["127.0.0.1"])[0]);
    }

    #[test]
    fn ipv6_interface_is_chosen_only_if_it_is_the_only_one() {
        let one = host(&[
            (1, "::1"),
            (2, "192.0.2.2"),
            (2, "fe80::2"),
            (2, "fd00::2"),
            (2, "fd00::7"),
            (3, "fe80::3"),
        ]);
        assert_eq!(only_v6(&one), Ok(addresses(&["fd00::2"])[0]));
        assert_eq!(only_v6(&one[..2]), Ok(addresses(&["::1"])[0]));
        assert_eq!(only_v6(&one[..3]), Err(addresses(&["fe80::2"])));
        let two = host(&[(1, "::1"), (4, "fd00::4"), (3, "fe80::3"), (3, "2001:db8::3")]);
        assert_eq!(only_v6(&two), Err(addresses(&["2001:db8::3", "fd00::4"])));
    }
}
