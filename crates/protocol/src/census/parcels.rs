//! Parcels on their way: those that a member has sent and knows not to have arrived, and those that came to it.

use super::Share;
use crate::{Instant, MemberId};

/// As many parcels may be out at once: one is sent a turn, so each may be tried for so many turns.
pub(super) const MOST_OUT: usize = 4;

/// So many of those that came are known again.
const MOST_KNOWN: usize = 3 * MOST_OUT;

/// A parcel that its sender waits for a receipt of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sent {
    pub(super) to: MemberId,
    pub(super) number: u32,
    pub(super) share: Share,
    /// How often it may still be sent.
    pub(super) tries: u8,
    /// When it is sent again, or taken back.
    pub(super) again_at: Instant,
}

/// The parcels that a member waits for receipts of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Out([Option<Sent>; MOST_OUT]);

impl Out {
    pub(super) fn has_room(&self) -> bool {
        self.0.iter().any(Option::is_none)
    }

    /// Enters one, if there is room.
    pub(super) fn enter(&mut self, sent: Sent) {
        if let Some(place) = self.0.iter_mut().find(|it| it.is_none()) {
            *place = Some(sent);
        }
    }

    /// Takes out the one that has arrived.
    pub(super) fn arrived(&mut self, to: MemberId, number: u32) {
        self.take(|it| (it.to, it.number) == (to, number));
    }

    /// Takes out one whose receipt should have come by `now`.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<Sent> {
        self.take(|it| it.again_at <= now)
    }

    /// Takes out any.
    pub(super) fn any(&mut self) -> Option<Sent> {
        self.take(|_| true)
    }

    /// When the next is overdue.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.iter().flatten().map(|it| it.again_at).min()
    }

    fn take(&mut self, is_it: impl Fn(&Sent) -> bool) -> Option<Sent> {
        let mut places = self.0.iter_mut();
        places.find_map(|place| place.take_if(|it| is_it(it)))
    }
}

/// The parcels that came last: one that comes again was lost only on the way back. While a parcel is tried a member gets
/// [`MOST_OUT`] others in the mean, and hardly ever more than these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// What tells each from others, most of which is drawn at random; 0: none yet.
    parcels: [u64; MOST_KNOWN],
    /// The place of the oldest.
    next: u8,
}

impl Received {
    /// Enters a parcel. Returns whether it is new.
    pub(super) fn enter(&mut self, from: MemberId, number: u32) -> bool {
        let parcel = from.0.rotate_left(32) ^ u64::from(number);
        let is_new = !self.parcels.contains(&parcel);
        if is_new {
            self.parcels[usize::from(self.next)] = parcel;
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
    fn the_parcels_that_came_last_are_known_again_however_many_came_before() {
        let mut received = Received::default();
        for number in 1..=1_000 {
            assert!(received.enter(MemberId(7), number));
            let oldest = number.saturating_sub(MOST_KNOWN as u32 - 1).max(1);
            let mut last = oldest..=number;
            assert!(
                last.all(|it| !received.clone().enter(MemberId(7), it)),
                "{number}"
            );
        }
    }
}
