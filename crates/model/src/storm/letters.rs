//! Messages on their way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hustings_protocol::tenure::Message;

use super::clock::Micros;

/// A message on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letter {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) message: Message,
}

/// Letters by the time of their arrival; of equal times, the first that was sent. What is sorted is
/// small: the letters themselves stay where they are.
#[derive(Debug, Default)]
pub(super) struct Letters {
    arrivals: BinaryHeap<Reverse<(Micros, u32, u32)>>,
    sent: u32,
    places: Vec<Letter>,
    free: Vec<u32>,
}

impl Letters {
    pub(super) fn push(&mut self, at: Micros, letter: Letter) {
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = letter;
                place
            }
            None => {
                self.places.push(letter);
                (self.places.len() - 1) as u32
            }
        };
        self.sent += 1;
        self.arrivals.push(Reverse((at, self.sent, place)));
    }

    /// When the next arrives, if any is on its way.
    pub(super) fn due(&self) -> Option<Micros> {
        self.arrivals.peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<Letter> {
        let Reverse((.., place)) = self.arrivals.pop()?;
        self.free.push(place);
        Some(self.places[place as usize])
    }
}
