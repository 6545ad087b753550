//! The cost of the packets alone: processes that send or receive a group's multicasts and do
//! nothing else.
//!
//! A sender between namespaces pays for the bridge and for waking the receivers, which is expensive
//! on a virtual machine. The cost of an agent therefore says little without the cost of a bare loop
//! beside it.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use clap::Args;
use hustings_testkit::{Processes, this_program};

use super::hosts::{Hosts, address};
use super::measure::CpuMeter;
use super::testbed::MEMBERS;
use crate::Result;

/// A multicast address that no agent uses.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 72, 86);
const GROUP_PORT: u16 = 7402;
/// About the length of an agent's announcement.
const BYTES: usize = 110;
/// The time after which all processes have joined the multicast group.
const SETTLE: Duration = Duration::from_secs(1);
/// The duration of the measurement.
const WATCHED_FOR: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(crate) struct Options {
    /// The address of the interface
    #[arg(long)]
    interface: Ipv4Addr,
    /// Send a multicast every this many milliseconds; without it, receive
    #[arg(long)]
    every_ms: Option<u64>,
}

/// Sends or receives until killed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Some(every_ms) = options.every_ms else {
        let socket = UdpSocket::bind((GROUP, GROUP_PORT))?;
        socket.join_multicast_v4(&GROUP, &options.interface)?;
        let mut buffer = [0; BYTES];
        loop {
            socket.recv(&mut buffer)?;
        }
    };
    let socket = UdpSocket::bind((options.interface, 0))?;
    socket.set_multicast_loop_v4(false)?;
    loop {
        socket.send_to(&[0; BYTES], (GROUP, GROUP_PORT))?;
        thread::sleep(Duration::from_millis(every_ms));
    }
}

/// The cost of a bare loop on each host, in milliseconds of processor time a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaselineCost {
    pub(super) sender: f64,
    pub(super) receiver: f64,
}

impl BaselineCost {
    /// Measures one sender that multicasts every `every`, and receivers on all other hosts.
    pub(super) fn measure(hosts: &Hosts, every: Duration) -> Result<Self> {
        let mut loops = Processes::new(MEMBERS);
        for index in 0..MEMBERS {
            let mut command = hosts.command(index, this_program());
            command.args(["baseline-loop", "--interface", &address(index)]).stdin(Stdio::null());
            if index == 0 {
                command.args(["--every-ms", &every.as_millis().to_string()]);
            }
            loops.start(index, &mut command)?;
        }
        thread::sleep(SETTLE);
        let pids = (0..MEMBERS).filter_map(|index| loops.get(index)).map(|it| it.id());
        let meter = CpuMeter::begin(pids.collect())?;
        thread::sleep(WATCHED_FOR);
        let costs = meter.read()?;
        Ok(Self {
            sender: costs[0],
            receiver: costs[1..].iter().sum::<f64>() / (costs.len() - 1) as f64,
        })
    }

    /// Returns the mean over all hosts.
    pub(super) fn mean(self) -> f64 {
        (self.sender + self.receiver * (MEMBERS - 1) as f64) / MEMBERS as f64
    }
}

#[cfg(test)]
mod tests {
    use super::BaselineCost;

    #[test]
    fn mean_covers_one_sender_and_four_receivers() {
        let baseline = BaselineCost { sender: 3.0, receiver: 0.5 };
        assert_eq!(baseline.mean(), 1.0);
    }
}
