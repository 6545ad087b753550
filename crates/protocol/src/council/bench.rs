//! Who is seated, on whose word, and which places are free.
//!
//! A place that was taken away is not given to somebody else before its last holder must know: by a heartbeat without it, or
//! by its lease. So no two hosts ever hold one place, and with as many places as may be filled at once no more than `U` hosts
//! ever hold seats, whatever messages are lost.

use super::Lease;
use crate::{Duration, Instant, MemberId};

/// The seats of one chamber.
#[derive(Debug, Clone, Default)]
pub(super) struct Bench {
    seats: Vec<Seated>,
    /// Places taken away, with the time from which they may be given again.
    cooling: Vec<(u8, Instant)>,
}

/// One that is seated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seated {
    pub(super) member: MemberId,
    pub(super) place: u8,
    /// In which round it was elected.
    pub(super) round: u32,
    /// When it was last heard, or seated.
    pub(super) heard: Instant,
    /// Whether it has ever said that it holds the seat.
    pub(super) is_confirmed: bool,
}

impl Bench {
    pub(super) fn len(&self) -> u32 {
        self.seats.len() as u32
    }

    pub(super) fn seats(&self) -> &[Seated] {
        &self.seats
    }

    pub(super) fn has(&self, member: MemberId) -> bool {
        self.seats.iter().any(|it| it.member == member)
    }

    /// How many of `room` seats can be filled now: those whose last holders may still believe in them cannot.
    pub(super) fn free(&mut self, room: u32, now: Instant) -> u32 {
        self.cooling.retain(|(_, until)| *until > now);
        let held = self.cooling.len() as u32;
        room.saturating_sub(held)
    }

    /// Seats a member that was elected in `round`. None: there is no place.
    pub(super) fn seat(&mut self, member: MemberId, round: u32, now: Instant) -> Option<Seated> {
        let taken = self.places() | bits(self.cooling.iter().map(|(place, _)| *place));
        let place = (!taken).trailing_zeros() as u8;
        if place >= 128 || self.has(member) {
            return None;
        }
        let seated = Seated {
            member,
            place,
            round,
            heard: now,
            is_confirmed: false,
        };
        self.seats.push(seated);
        Some(seated)
    }

    /// A holder was heard. Whether it is one.
    pub(super) fn confirm(&mut self, member: MemberId, place: u8, now: Instant) -> bool {
        let seat = self.seats.iter_mut();
        let seat = seat.filter(|it| it.member == member && it.place == place);
        seat.fold(false, |_, it| {
            (it.heard, it.is_confirmed) = (now, true);
            true
        })
    }

    /// A holder has given its seat up, which is free at once. Whether it was one.
    pub(super) fn leave(&mut self, member: MemberId, place: u8) -> bool {
        let before = self.seats.len();
        self.seats
            .retain(|it| it.member != member || it.place != place);
        self.seats.len() < before
    }

    /// Takes their seats from those who have been silent for too long. Whether there were any.
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
        is_lost: impl Fn(&Seated) -> bool,
    ) -> bool {
        let before = self.seats.len();
        let until = now + lease.lasts + margin;
        let lost = self.seats.iter().filter(|it| is_lost(it));
        self.cooling.extend(lost.map(|it| (it.place, until)));
        self.seats.retain(|it| !is_lost(it));
        self.seats.len() < before
    }

    /// A bit for each place that is taken.
    pub(super) fn places(&self) -> u128 {
        bits(self.seats.iter().map(|it| it.place))
    }
}

fn bits(places: impl Iterator<Item = u8>) -> u128 {
    places.fold(0, |bits, place| bits | 1 << place)
}

#[cfg(test)]
mod tests {
    use super::Bench;
    use crate::council::{Lease, Refill};
    use crate::{Duration, Instant, MemberId};

    const LEASE: Lease = Lease {
        beat: Duration(10),
        lasts: Duration(30),
        refill: Refill::TopUp,
    };

    fn seat(bench: &mut Bench, member: u64, now: u64) -> Option<u8> {
        let seated = bench.seat(MemberId(member), 1, Instant(now));
        seated.map(|it| it.place)
    }

    #[test]
    fn a_place_is_given_again_when_its_last_holder_must_know() {
        let mut bench = Bench::default();
        assert_eq!(seat(&mut bench, 7, 0), Some(0));
        assert_eq!(seat(&mut bench, 8, 0), Some(1));
        assert_eq!(seat(&mut bench, 8, 0), None, "seated already");
        assert!(bench.confirm(MemberId(8), 1, Instant(20)));
        assert!(!bench.confirm(MemberId(8), 0, Instant(20)), "not its place");
        assert!(!bench.expire(LEASE, Duration(5), Instant(30)));
        assert!(
            bench.expire(LEASE, Duration(5), Instant(31)),
            "7 was silent"
        );
        assert_eq!(bench.places(), 0b10);
        assert_eq!(bench.free(3, Instant(31)), 2);
        assert_eq!(seat(&mut bench, 9, 31), Some(2));
        assert_eq!(bench.free(3, Instant(66)), 3);
        assert_eq!(seat(&mut bench, 10, 66), Some(0));
    }

    #[test]
    fn who_leaves_in_order_leaves_its_place_at_once() {
        let mut bench = Bench::default();
        seat(&mut bench, 7, 0);
        assert!(!bench.leave(MemberId(7), 1) && !bench.leave(MemberId(8), 0));
        assert!(bench.leave(MemberId(7), 0));
        assert_eq!(seat(&mut bench, 8, 0), Some(0));
    }
}
