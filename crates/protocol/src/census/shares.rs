//! Shares on their way: sent ones without a receipt, and recently received ones.

use super::Share;
use crate::{Instant, MemberId};

/// The greatest number of parcels out at once: one is sent per turn, so each may be tried for this
/// many turns.
pub(super) const MOST_OUT: usize = 4;

/// The number of received parcels that are recognised if they arrive again.
const MOST_KNOWN: usize = 3 * MOST_OUT;

/// A sent parcel without a receipt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sent {
    pub(super) to: MemberId,
    pub(super) number: u32,
    pub(super) share: Share,
    /// The number of tries left.
    pub(super) tries: u8,
    /// The time at which it is sent again, or taken back.
    pub(super) again_at: Instant,
}

/// The sent parcels without a receipt.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct OutParcels([Option<Sent>; MOST_OUT]);

impl OutParcels {
    pub(super) fn has_room(&self) -> bool {
        self.0.iter().any(Option::is_none)
    }

    /// Enters a parcel, if there is room.
    pub(super) fn enter(&mut self, sent: Sent) {
        if let Some(place) = self.0.iter_mut().find(|it| it.is_none()) {
            *place = Some(sent);
        }
    }

    /// Removes the parcel that has arrived.
    pub(super) fn arrived(&mut self, to: MemberId, number: u32) {
        self.take(|it| (it.to, it.number) == (to, number));
    }

    /// Removes and returns a parcel whose receipt is overdue at `now`.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<Sent> {
        self.take(|it| it.again_at <= now)
    }

    /// Removes and returns any parcel.
    pub(super) fn any(&mut self) -> Option<Sent> {
        self.take(|_| true)
    }

    /// The time at which the next receipt is overdue.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.iter().flatten().map(|it| it.again_at).min()
    }

    fn take(&mut self, is_it: impl Fn(&Sent) -> bool) -> Option<Sent> {
        let mut places = self.0.iter_mut();
        places.find_map(|place| place.take_if(|it| is_it(it)))
    }
}

/// The parcels received last. A parcel that arrives again has lost its receipt. While a parcel is
/// tried, a member gets [`MOST_OUT`] others on average, and hardly ever more than are kept here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// A mostly random identification of each parcel; 0 for none.
    shares: [u64; MOST_KNOWN],
    /// The index of the oldest.
    next: u8,
}

impl Received {
    /// Enters a parcel. Returns true if it is new.
    pub(super) fn enter(&mut self, from: MemberId, number: u32) -> bool {
        let parcel = from.0.rotate_left(32) ^ u64::from(number);
        let is_new = !self.shares.contains(&parcel);
        if is_new {
            self.shares[usize::from(self.next)] = parcel;
            self.next = (self.next + 1) % MOST_KNOWN as u8;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_KNOWN, Received};
    use crate::MemberId;

    #[test]
    fn the_last_parcels_are_recognised_when_they_arrive_again() {
        let mut received = Received::default();
        for number in 1..=1_000 {
            assert!(received.enter(MemberId(7), number));
            let oldest = number.saturating_sub(MOST_KNOWN as u32 - 1).max(1);
            let mut last = oldest..=number;
            assert!(last.all(|it| !received.clone().enter(MemberId(7), it)), "{number}");
        }
    }
}
