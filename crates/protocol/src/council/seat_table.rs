//! The table of seats: holders, places, and the places that are free.
//!
//! A place that was taken away is not given to another host before its last holder must know: by a
//! heartbeat without it, or by its lease. So no two hosts ever hold one place. With as many places
//! as may be filled at once, at most `U` hosts ever hold seats, whatever messages are lost.

use super::Lease;
use crate::{Duration, Instant, MemberId};

/// The seats of one chamber.
#[derive(Debug, Clone, Default)]
pub(super) struct SeatTable {
    seats: Vec<Holder>,
    /// Places taken away, with the time from which they may be given again.
    cooling: Vec<(u8, Instant)>,
}

/// A seated host, as the centre knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The class of hosts.
    pub class: u16,
    /// The host.
    pub member: MemberId,
    /// Its place.
    pub place: u8,
    /// The round in which it was elected.
    pub(super) round: u32,
    /// The time of its last message, or of its seating.
    pub heard: Instant,
    /// True if it has ever confirmed that it holds the seat.
    pub is_confirmed: bool,
}

impl SeatTable {
    pub(super) fn len(&self) -> u32 {
        self.seats.len() as u32
    }

    pub(super) fn seats(&self) -> &[Holder] {
        &self.seats
    }

    pub(super) fn has(&self, member: MemberId) -> bool {
        self.seats.iter().any(|it| it.member == member)
    }

    /// The number of seats, out of `room`, that can be filled now. Seats whose last holders may
    /// still believe in them cannot.
    pub(super) fn free(&mut self, room: u32, now: Instant) -> u32 {
        self.cooling.retain(|(_, until)| *until > now);
        let held = self.cooling.len() as u32;
        room.saturating_sub(held)
    }

    /// Seats a member of `class` that was elected in `round`. Returns `None` if there is no place.
    pub(super) fn seat(
        &mut self,
        (class, member): (u16, MemberId),
        round: u32,
        now: Instant,
    ) -> Option<Holder> {
        let taken = self.places() | bits(self.cooling.iter().map(|(place, _)| *place));
        let place = (!taken).trailing_zeros() as u8;
        if place >= 128 || self.has(member) {
            return None;
        }
        let holder = Holder { class, member, place, round, heard: now, is_confirmed: false };
        self.seats.push(holder);
        Some(holder)
    }

    /// Notes a message of a holder. Returns true if the member holds this place.
    pub(super) fn confirm(&mut self, member: MemberId, place: u8, now: Instant) -> bool {
        let seat = self.seats.iter_mut();
        let seat = seat.filter(|it| it.member == member && it.place == place);
        seat.fold(false, |_, it| {
            (it.heard, it.is_confirmed) = (now, true);
            true
        })
    }

    /// Removes a holder that has given its seat up; the place is free at once. Returns true if the
    /// member held it.
    pub(super) fn leave(&mut self, member: MemberId, place: u8) -> bool {
        let before = self.seats.len();
        self.seats.retain(|it| it.member != member || it.place != place);
        self.seats.len() < before
    }

    /// Takes the seats of hosts that have been silent for too long. Returns true if there were any.
    pub(super) fn expire(&mut self, lease: Lease, margin: Duration, now: Instant) -> bool {
        self.vacate(lease, margin, now, |it| now - it.heard > lease.lasts)
    }

    /// Takes all seats away.
    pub(super) fn dissolve(&mut self, lease: Lease, margin: Duration, now: Instant) {
        self.vacate(lease, margin, now, |_| true);
    }

    fn vacate(
        &mut self,
        lease: Lease,
        margin: Duration,
        now: Instant,
        is_lost: impl Fn(&Holder) -> bool,
    ) -> bool {
        let before = self.seats.len();
        let until = now + lease.lasts + margin;
        let lost = self.seats.iter().filter(|it| is_lost(it));
        self.cooling.extend(lost.map(|it| (it.place, until)));
        self.seats.retain(|it| !is_lost(it));
        self.seats.len() < before
    }

    /// One bit for each place that is taken.
    pub(super) fn places(&self) -> u128 {
        bits(self.seats.iter().map(|it| it.place))
    }
}

fn bits(places: impl Iterator<Item = u8>) -> u128 {
    places.fold(0, |bits, place| bits | 1 << place)
}

#[cfg(test)]
mod tests {
    use super::SeatTable;
    use crate::council::{Lease, Refill};
    use crate::{Duration, Instant, MemberId};

    const LEASE: Lease = Lease { beat: Duration(10), lasts: Duration(30), refill: Refill::TopUp };

    fn seat(seat_table: &mut SeatTable, member: u64, now: u64) -> Option<u8> {
        let seated = seat_table.seat((0, MemberId(member)), 1, Instant(now));
        seated.map(|it| it.place)
    }

    #[test]
    fn a_place_is_reused_only_when_its_last_holder_must_know() {
        let mut seat_table = SeatTable::default();
        assert_eq!(seat(&mut seat_table, 7, 0), Some(0));
        assert_eq!(seat(&mut seat_table, 8, 0), Some(1));
        assert_eq!(seat(&mut seat_table, 8, 0), None, "seated already");
        assert!(seat_table.confirm(MemberId(8), 1, Instant(20)));
        assert!(!seat_table.confirm(MemberId(8), 0, Instant(20)), "not its place");
        assert!(!seat_table.expire(LEASE, Duration(5), Instant(30)));
        assert!(seat_table.expire(LEASE, Duration(5), Instant(31)), "7 was silent");
        assert_eq!(seat_table.places(), 0b10);
        assert_eq!(seat_table.free(3, Instant(31)), 2);
        assert_eq!(seat(&mut seat_table, 9, 31), Some(2));
        assert_eq!(seat_table.free(3, Instant(66)), 3);
        assert_eq!(seat(&mut seat_table, 10, 66), Some(0));
    }

    #[test]
    fn a_farewell_frees_the_place_at_once() {
        let mut seat_table = SeatTable::default();
        seat(&mut seat_table, 7, 0);
        assert!(!seat_table.leave(MemberId(7), 1) && !seat_table.leave(MemberId(8), 0));
        assert!(seat_table.leave(MemberId(7), 0));
        assert_eq!(seat(&mut seat_table, 8, 0), Some(0));
    }
}
