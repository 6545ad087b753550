//! Messages in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hustings_protocol::tenure::Message;

use super::clock::Micros;

/// A message in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) message: Message,
}

/// Messages by time of arrival; at equal times, in the order of sending. The heap holds only small
/// keys: the messages themselves stay in place.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    arrivals: BinaryHeap<Reverse<(Micros, u32, u32)>>,
    sent: u32,
    places: Vec<Datagram>,
    free: Vec<u32>,
}

impl InFlight {
    pub(super) fn push(&mut self, at: Micros, datagram: Datagram) {
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = datagram;
                place
            }
            None => {
                self.places.push(datagram);
                (self.places.len() - 1) as u32
            }
        };
        self.sent += 1;
        self.arrivals.push(Reverse((at, self.sent, place)));
    }

    /// The time of the next arrival.
    pub(super) fn due(&self) -> Option<Micros> {
        self.arrivals.peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<Datagram> {
        let Reverse((.., place)) = self.arrivals.pop()?;
        self.free.push(place);
        Some(self.places[place as usize])
    }
}
