//! Time stamps, and the cost of processes.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// Returns the nanoseconds since boot. The clock is the same for all processes of this machine.
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns a span in milliseconds; zero if it ends before it begins.
pub(crate) fn milliseconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e6
}

/// Counts the processor time of processes.
pub(crate) struct CpuMeter {
    pids: Vec<u32>,
    began_ns: u64,
    before: Vec<u64>,
}

impl CpuMeter {
    pub(crate) fn begin(pids: Vec<u32>) -> Result<Self> {
        let before = pids.iter().map(|&pid| cpu_ns(pid)).collect::<Result<_>>()?;
        Ok(Self { pids, began_ns: now_ns(), before })
    }

    /// Returns the processor time of each process since the beginning, in milliseconds a second.
    pub(crate) fn read(&self) -> Result<Vec<f64>> {
        let seconds = milliseconds(self.began_ns, now_ns()) / 1e3;
        let used = self.pids.iter().zip(&self.before);
        used.map(|(&pid, &before)| Ok(milliseconds(before, cpu_ns(pid)?) / seconds)).collect()
    }
}

/// Returns the total processor time of all threads of a process.
fn cpu_ns(pid: u32) -> Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may have ended since it was listed.
        let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else {
            continue;
        };
        sum += first_number(&text).ok_or("no number in schedstat")?;
    }
    Ok(sum)
}

/// Returns the proportional set size of a process in MiB: shared memory is divided among the
/// processes that share it.
pub(crate) fn pss_mib(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    Ok(pss_kib(&text).ok_or("no Pss in smaps_rollup")? as f64 / 1024.0)
}

fn pss_kib(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    first_number(line?)
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{cpu_ns, first_number, milliseconds, pss_kib, pss_mib};

    #[test]
    fn kernel_files_are_parsed() {
        let rollup = "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:    5000 kB\nPss:    1234 kB\n";
        assert_eq!(pss_kib(rollup), Some(1234));
        assert_eq!(pss_kib("Rss: 1 kB"), None);
        assert_eq!(first_number("123456 789 1\n"), Some(123_456));
        let me = std::process::id();
        assert!(cpu_ns(me).unwrap() > 0);
        assert!(pss_mib(me).unwrap() > 0.1);
    }

    #[test]
    fn span_is_never_negative() {
        assert_eq!(milliseconds(1_000_000, 3_500_000), 2.5);
        assert_eq!(milliseconds(3, 2), 0.0);
    }
}
