//! The machine's clock.

use hustings_protocol::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The time since the machine booted, time asleep included. Alike for all processes of a host, and
/// never set: an interval on it is an interval in the world.
pub fn now() -> Instant {
    let time = clock_gettime(ClockId::Boottime);
    // Since boot: neither is negative.
    Instant(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
