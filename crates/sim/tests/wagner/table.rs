//! Members with queues for links: a test decides which message arrives next.

use std::collections::VecDeque;

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::{Config, DrawOutcome, Message, Timer, Wagner};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Protocol, Roster, View,
};
use rand_core::{Infallible, TryRng};

#[derive(Clone)]
pub(crate) struct Table {
    config: Config,
    view: Roster,
    /// The honest members, by position.
    members: Vec<Option<Wagner>>,
    /// The messages in flight to a position, from its left and from its right.
    pub(crate) to: Vec<[VecDeque<Message>; 2]>,
    /// For each position and side: a fault message received from there, and sent there.
    told: Vec<[bool; 2]>,
    warned: Vec<[bool; 2]>,
    coins: Vec<Coins>,
    waits: Vec<bool>,
    /// A position and a side from which nothing arrives there any more.
    pub(crate) cut: Option<(usize, usize)>,
}

/// A member's random numbers: given flips first, then numbers from a generator.
#[derive(Debug, Clone)]
pub(crate) struct Coins {
    pub(crate) next: VecDeque<bool>,
    pub(crate) state: u64,
}

impl TryRng for Coins {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|it| (it >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        if let Some(flip) = self.next.pop_front() {
            return Ok(if flip { u64::MAX } else { 0 });
        }
        self.state = self.state.wrapping_add(1);
        Ok(hustings_protocol::mix64::mix64(self.state))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("flips are drawn one by one")
    }
}

impl Table {
    /// A ring of `members` of which those at `honest` positions are honest, and flip as their coins
    /// say.
    pub(crate) fn new(
        members: u32,
        config: Config,
        is_honest: impl Fn(u32) -> bool,
        coins: impl Fn(u32) -> Coins,
    ) -> Self {
        let mut view = Roster::alone(Candidate::new(0, 0));
        for place in 1..members {
            view.insert(Candidate::new(u64::from(place), 0));
        }
        let count = members as usize;
        Self {
            config,
            view,
            members: (0..members).map(|place| is_honest(place).then(Wagner::default)).collect(),
            to: vec![Default::default(); count],
            told: vec![[false; 2]; count],
            warned: vec![[false; 2]; count],
            coins: (0..members).map(coins).collect(),
            waits: vec![false; count],
            cut: None,
        }
    }

    pub(crate) fn start_all(&mut self) {
        for place in 0..self.members.len() {
            self.tell(place, Input::Start);
        }
    }

    pub(crate) fn honest(&self) -> impl Iterator<Item = &Wagner> {
        self.members.iter().flatten()
    }

    pub(crate) fn member(&self, place: usize) -> &Wagner {
        self.members[place].as_ref().expect("an honest member")
    }

    /// Delivers messages until there are none, each time the one that `pick` chooses.
    pub(crate) fn run(&mut self, mut pick: impl FnMut(usize) -> usize) {
        loop {
            let waiting: Vec<(usize, usize)> = (0..self.members.len())
                .filter(|place| self.members[*place].is_some())
                .flat_map(|place| [(place, 0), (place, 1)])
                .filter(|(place, side)| !self.to[*place][*side].is_empty())
                .collect();
            if waiting.is_empty() {
                return;
            }
            let (place, side) = waiting[pick(waiting.len())];
            self.deliver(place, side);
        }
    }

    /// Delivers messages until there are none, in no particular order.
    pub(crate) fn settle(&mut self) {
        let mut is_quiet = false;
        while !is_quiet {
            is_quiet = true;
            for place in 0..self.members.len() {
                for side in [0, 1] {
                    is_quiet &= self.to[place][side].is_empty();
                    self.deliver(place, side);
                }
            }
        }
    }

    /// Delivers the next message to a position from one side.
    pub(crate) fn deliver(&mut self, place: usize, side: usize) {
        let Some(message) = self.to[place][side].pop_front() else {
            return;
        };
        if message == Message::Fault {
            self.told[place][side] = true;
        }
        let count = self.members.len();
        let from = match side {
            0 => (place + count - 1) % count,
            _ => (place + 1) % count,
        };
        let from = MemberId(from as u64);
        self.tell(place, Input::Message { from, message });
    }

    /// Expires the timer of a member, if it waits for an answer.
    pub(crate) fn expire(&mut self, place: usize) {
        if std::mem::take(&mut self.waits[place]) {
            self.tell(place, Input::Timer(Timer::ResponseDue));
        }
    }

    pub(crate) fn tell(&mut self, place: usize, input: Input<Wagner>) {
        if let Some(mut member) = self.members[place].take() {
            member.step(input, &mut Chair { table: self, place });
            self.members[place] = Some(member);
        }
    }
}

/// A member's `Io`.
struct Chair<'a> {
    table: &'a mut Table,
    place: usize,
}

impl Io<Wagner> for Chair<'_> {
    fn me(&self) -> Candidate {
        Candidate::new(self.place as u64, 0)
    }

    fn config(&self) -> &Config {
        &self.table.config
    }

    fn now(&self) -> Instant {
        Instant::START
    }

    fn rng(&mut self) -> &mut impl rand_core::Rng {
        &mut self.table.coins[self.place]
    }

    fn view(&self) -> impl View {
        &self.table.view
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        let count = self.table.members.len();
        let to = to.0 as usize;
        // The member to my right hears me from its left.
        let (mine, theirs) = if to == (self.place + 1) % count {
            (1, 0)
        } else {
            assert_eq!(to, (self.place + count - 1) % count, "not a neighbour");
            (0, 1)
        };
        if message == Message::Fault {
            let place = self.place;
            assert!(!self.table.told[place][mine], "sent back to its sender");
            let again = std::mem::replace(&mut self.table.warned[place][mine], true);
            assert!(!again, "sent twice");
        }
        if self.table.cut != Some((to, theirs)) {
            self.table.to[to][theirs].push_back(message);
        }
    }

    fn multicast(&mut self, _: Message) {
        panic!("a ring has no multicast");
    }

    fn arm(&mut self, Timer::ResponseDue: Timer, _: Duration) {
        self.table.waits[self.place] = true;
    }

    fn disarm(&mut self, Timer::ResponseDue: Timer) {
        self.table.waits[self.place] = false;
    }

    fn save(&mut self, (): ()) {}

    fn report(&mut self, _: DrawOutcome) {}
}

/// The number of a side in a table.
pub(crate) fn number(side: Side) -> usize {
    match side {
        Side::Left => 0,
        Side::Right => 1,
    }
}
