//! Makes voters grant a stale request: they receive the renewal of a holder only after the holder
//! was cut off. For that a process is stopped between two datagrams: it has received the first, and
//! the next receive does not begin.
//!
//! No signal can hit that moment, but a tracer can. The tracer delays the second receive on a
//! socket, and detaches when it ends.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use hustings_testkit::{Process, observe};
use rustix::process::Pid;

use super::TTL_MS;
use super::writers::Writers;
use crate::Result;
use crate::testbed::PORT;

/// Longer than any stall lasts. A stall ends when it is dropped.
const AT_MOST: Duration = Duration::from_secs(60);

/// The time within which a holder asks all its voters again.
const ALL_WITHIN: Duration = Duration::from_millis(TTL_MS);

/// The time within which a member asks at least one voter, whatever fault has hit the holder.
const ONE_WITHIN: Duration = Duration::from_secs(5);

/// A process that is stopped, or will stop at its second receive, until this value is dropped.
pub(super) struct StalledProcess {
    _tracer: Process,
    process: Pid,
}

impl StalledProcess {
    /// Stops a member as soon as it has received one datagram and would receive the next. Returns
    /// `None` if it has no socket, because its process has just started or is ending.
    fn begin(writers: &Writers<'_>, member: usize) -> Result<Option<Self>> {
        let Some(process) = writers.pid(member) else { return Ok(None) };
        let testbed = writers.testbed;
        let sockets = fs::read_to_string(format!("/proc/{process}/net/udp")).unwrap_or_default();
        let Some(socket) = inode(&sockets, testbed.place(member, PORT)) else {
            return Ok(None);
        };
        let mut command = testbed.hosts.tied_command(member);
        command
            .args(["strace", "-qq", "-o", "/dev/null"])
            .args(["-p", &process.to_string(), "-P"])
            .arg(format!("socket:[{socket}]"))
            .args(["-e", "trace=recvfrom", "-e"])
            .arg(format!("inject=recvfrom:delay_enter={}:when=2", AT_MOST.as_micros()))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // On SIGTERM strace detaches from the process.
        let tracer = Process::spawn_terminated(&mut command)?;
        Ok(Some(Self { _tracer: tracer, process }))
    }

    /// True if the process is stopped. strace also stops it for a moment at other calls, so the
    /// state is read several times. The letter is that of a tracing stop.
    fn has_begun(&self) -> bool {
        const LOOKS: usize = 3;
        (0..LOOKS).all(|_| {
            thread::sleep(Duration::from_millis(1));
            observe::state(self.process).is_some_and(|it| it == "t")
        })
    }
}

/// Waits until all `voters` are stopped. A voter that is killed meanwhile never stops, so after a
/// while one is enough.
pub(super) fn begin(writers: &Writers<'_>, voters: &[usize]) -> Result<Vec<StalledProcess>> {
    let began = Instant::now();
    let mut stalls: Vec<StalledProcess> = Vec::new();
    loop {
        if stalls.is_empty() {
            let begun = voters.iter().map(|&it| StalledProcess::begin(writers, it));
            stalls = begun.filter_map(Result::transpose).collect::<Result<_>>()?;
        }
        let count = stalls.iter().filter(|it| it.has_begun()).count();
        let waited = began.elapsed();
        if count > 0 && (count == stalls.len() || waited > ALL_WITHIN) {
            return Ok(stalls);
        }
        ensure!(waited <= ONE_WITHIN, "no voter is stopped: may this user trace processes?");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the inode of the socket at `place`, from `/proc/PID/net/udp`.
fn inode(sockets: &str, place: SocketAddr) -> Option<u64> {
    let IpAddr::V4(address) = place.ip() else {
        return None;
    };
    // The kernel prints the address in its memory order.
    let address = u32::from_ne_bytes(address.octets());
    let local = format!("{address:08X}:{:04X}", place.port());
    let mut lines = sockets.lines().map(str::split_whitespace);
    let mut socket = lines.find(|words| words.clone().nth(1) == Some(&local))?;
    socket.nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::inode;

    #[test]
    fn socket_is_found_by_its_address() {
        let sockets = "\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  187: 4B08FFEF:1CE8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 2981 2 000000004df25a3a 0
  188: 0100480A:1CE8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 2980 2 00000000fd4a4b5c 0
";
        let check = |place: &str, expected| {
            let place = place.parse().expect("an address");
            assert_eq!(inode(sockets, place), expected, "{place}");
        };
        if cfg!(target_endian = "little") {
            check("10.72.0.1:7400", Some(2980));
            check("239.255.8.75:7400", Some(2981));
        }
        check("10.72.0.1:7401", None);
        check("[::1]:7400", None);
    }
}
