//! Default tenure parameters of an agent, each with its reason.

use hustings_protocol::Duration;

/// The time for which tenure is granted. The holder renews it three times per ttl, with one small
/// datagram to each voter and one back. After a host is lost, the group has no leader for this
/// long.
pub const TTL: Duration = Duration::from_secs(2);

/// The assumed clock drift in parts per million: twice that of the worst oscillators in servers.
pub const DRIFT_PPM: u32 = 200;

/// The fraction of a ttl that a nominee waits for a voter's answer: 1/6. A renewal may fail twice
/// before tenure ends.
pub const ANSWERS_IN_A_TTL: u64 = 6;

/// The fraction of a ttl that bounds the random back-off before a nominee tries again: 1/30. The
/// back-off delays the new leader after a host is lost, and collisions between two nominees are
/// rare.
pub const BACK_OFFS_IN_A_TTL: u64 = 30;
/// The upper bound of the back-off. Two attempts take far less time than this, whatever the ttl.
pub const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// The permitted range of a ttl. A shorter ttl would expire during the ordinary pauses of a busy
/// host. With a longer one the group would have no leader for more than an hour after a host is
/// lost.
pub const TTL_BOUNDS: Bounds = Bounds {
    shortest: Duration::from_millis(100),
    longest: Duration::from_secs(3600),
    in_words: "100ms to 1h",
};

/// The permitted range of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The shortest permitted interval.
    pub shortest: Duration,
    /// The longest permitted interval.
    pub longest: Duration,
    /// The range as text for messages: `1ms to 1h`.
    pub in_words: &'static str,
}

impl Bounds {
    /// Returns `span` if it is within the range.
    ///
    /// # Errors
    /// Returns a message that names the permitted range.
    pub fn check(self, span: Duration) -> Result<Duration, String> {
        let what = match span {
            _ if span < self.shortest => "too short",
            _ if span > self.longest => "too long",
            _ => return Ok(span),
        };
        Err(format!("{what}: choose from {}", self.in_words))
    }
}
