//! A SWIM failure detector, by the crate `foca`: every member knows all others.
//!
//! Every member probes another, in turn, each [`PROBE_EVERY`]; one that answers neither it nor those it
//! asks to try is suspected, and, if it does not object in time, down. News ride on the probes.
//!
//! As pure as the driver: told the time and what arrived, it leaves [`MembershipEffect`]s.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU8, NonZeroUsize};
use std::time::Duration as StdDuration;

use foca::{
    Config, Foca, Message, NoCustomBroadcast, Notification, PeriodicParams, PostcardCodec, Runtime,
};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Merit};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::loss::Loss;
use super::{MOST_BYTES, MembershipEffect};
use crate::frame::Sender;
use crate::leadership::Peer;
use crate::seal::Rejected;
use presence::Presence;

mod presence;
#[cfg(test)]
mod tests;

type Timer = foca::Timer<Presence>;

/// How often a member probes another.
const PROBE_EVERY: StdDuration = StdDuration::from_millis(200);

/// How long it waits for the answer before it asks others to try.
const ROUND_TRIP: StdDuration = StdDuration::from_millis(60);

/// How many others it asks.
const HELPERS: usize = 3;

/// How long a suspect has to object. A dead member is down after the wait for its probe, the probe,
/// and this: about a second.
const OBJECT_WITHIN: StdDuration = StdDuration::from_millis(500);

/// How often news are told on their own, to [`HELPERS`] members at a time, as long as there are any.
const GOSSIP_EVERY: StdDuration = StdDuration::from_millis(50);

/// How often one news is passed on by one member. Where a third of all is lost, a suspect has to hear
/// of it and to be heard within [`OBJECT_WITHIN`].
const TELLINGS: u8 = 30;

/// How often a member asks another one for whom it may have missed.
const ASK_EVERY: StdDuration = StdDuration::from_secs(2);

/// How often it tries whether two of those that are down are back: what heals a partition.
const TRY_DOWN_EVERY: StdDuration = StdDuration::from_secs(1);

/// How long it remembers who is down.
const REMEMBER_DOWN: StdDuration = StdDuration::from_secs(3_600);

/// How often a member that nobody talks to introduces itself to those it remembers.
const REINTRODUCE_EVERY: Duration = Duration::from_millis(250);

/// Of more members than this, it remembers only where those are who are up.
const MOST_PLACES: usize = 65_536;

/// Who is there, as one member sees it.
pub(crate) struct Swim {
    foca: Foca<Presence, PostcardCodec, Xoshiro256PlusPlus, NoCustomBroadcast>,
    world: World,
    /// Whom it introduces itself to next, counted through those that it remembers.
    next_introduced: usize,
}

/// What foca may touch.
struct World {
    now: Instant,
    standing: Standing,
    /// When those who were heard of before are to be told that we are here.
    introduce_at: Option<Instant>,
    /// By time and order of setting.
    timers: BTreeMap<(Instant, u64), Timer>,
    timers_set: u64,
    /// Those who are up.
    up: BTreeMap<MemberId, Presence>,
    /// Where members were heard themselves: better than where others say that they are.
    heard_at: BTreeMap<MemberId, SocketAddr>,
    loss: Loss,
    effects: Vec<MembershipEffect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Somebody has talked to it in its present life.
    Taken,
    /// Nobody has, yet or any more.
    Alone,
    /// It has left, for a while or for good.
    Gone,
}

impl Swim {
    /// That of the member `sender`, which knows nobody.
    pub(crate) fn new(sender: &Sender<'_>, merit: Merit) -> Self {
        Self::of(Presence::of_ourselves(sender, merit), sender)
    }

    /// The same of one that takes no part in elections.
    pub(crate) fn of_bystander(sender: &Sender<'_>) -> Self {
        Self::of(Presence::of_bystander(sender), sender)
    }

    fn of(me: Presence, sender: &Sender<'_>) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(sender.life().0 ^ sender.id.0);
        let world = World {
            now: Instant::START,
            standing: Standing::Alone,
            introduce_at: None,
            timers: BTreeMap::new(),
            timers_set: 0,
            up: BTreeMap::new(),
            heard_at: BTreeMap::new(),
            loss: Loss::default(),
            effects: Vec::new(),
        };
        Self {
            foca: Foca::new(me, lan(), rng, PostcardCodec),
            world,
            next_introduced: 0,
        }
    }

    /// Whether nobody has talked to this member in its present life, or nobody is left.
    pub(crate) fn is_alone(&self) -> bool {
        self.world.standing != Standing::Taken
    }

    /// Whether the sender is known to be up, in its present life.
    pub(crate) fn knows(&self, sender: &Sender<'_>) -> bool {
        let known = self.world.up.get(&sender.id);
        known.is_some_and(|it| it.life == sender.life().0)
    }

    /// Somebody said hello, and can be answered at `address`.
    pub(crate) fn greet(&mut self, sender: &Sender<'_>, address: SocketAddr) {
        if self.world.standing != Standing::Gone {
            let stranger = Presence::of_stranger(sender, address);
            self.world.note_place(stranger.id, address);
            let told = self.foca.announce(stranger, &mut self.world);
            note(told);
        }
    }

    /// A message arrived from the member `sender` that receives at `from`.
    ///
    /// # Errors
    /// If it is not what a failure detector would say, or names another member as its source than the frame does.
    pub(crate) fn hear(
        &mut self,
        now: Instant,
        sender: MemberId,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.world.now = now;
        if self.world.standing == Standing::Gone {
            return Ok(());
        }
        let (source, bytes) = presence::fill_in_addresses(bytes, from)?;
        if source != sender {
            return Err(Rejected::Malformed);
        }
        if let Some(Message::Ack(number)) = presence::message(&bytes) {
            self.world.loss.answered(source, number.into());
        }
        if source != self.foca.identity().id {
            self.world.note_place(source, from);
        }
        let was_alone = self.is_alone();
        let heard = self.foca.handle_data(&bytes, &mut self.world);
        if was_alone && let Some(first) = self.world.up.get(&source).cloned() {
            // Whoever answers first is asked for all others.
            let told = self.foca.announce(first, &mut self.world);
            note(told);
        }
        self.look_after_introduction();
        heard.map_err(|_| Rejected::Malformed)
    }

    /// Time passed: what is due is done.
    pub(crate) fn pass(&mut self, now: Instant) {
        self.world.now = now;
        if self.world.standing == Standing::Gone {
            return;
        }
        while let Some(timer) = self.world.take_due() {
            let done = self.foca.handle_timer(timer, &mut self.world);
            note(done);
        }
        if self.world.introduce_at.is_some_and(|at| at <= now) {
            self.introduce();
        }
        self.look_after_introduction();
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        let timer = self.world.timers.keys().next().map(|(at, _)| *at);
        timer.into_iter().chain(self.world.introduce_at).min()
    }

    /// Takes what is to be done.
    pub(crate) fn take_effects(&mut self, now: Instant) -> Vec<MembershipEffect> {
        self.world.now = now;
        self.look_after_introduction();
        std::mem::take(&mut self.world.effects)
    }

    /// Comes up anew: in another life, with another merit, or after it had left.
    pub(crate) fn renew(&mut self, sender: &Sender<'_>, merit: Merit) {
        let renewed = Presence::of_ourselves(sender, merit).after(self.foca.identity());
        let told = self.foca.change_identity(renewed, &mut self.world);
        note(told);
        self.world.standing = Standing::Alone;
        self.look_after_introduction();
    }

    /// Leaves, and says so. Until it is renewed it is deaf and mute.
    pub(crate) fn leave(&mut self) {
        if self.world.standing == Standing::Gone {
            return;
        }
        let told = self.foca.leave_cluster(&mut self.world);
        note(told);
        // A goodbye that gets lost is not said again later: a few more of them, to others.
        for _ in 0..2 {
            let told = self.foca.gossip(&mut self.world);
            note(told);
        }
        self.world.standing = Standing::Gone;
        self.world.introduce_at = None;
        self.world.timers.clear();
    }

    /// What part of the messages is lost, as its probes tell.
    pub(crate) fn loss(&self) -> Option<f64> {
        self.world.loss.rate()
    }

    /// Where a member that is up can be reached.
    pub(crate) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.world.up.get(&id).map(|it| self.world.locate(it))
    }

    /// Where those who are up can be reached, ourselves not included.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.world.up.values().map(|it| self.world.locate(it))
    }

    /// Those who are up, ourselves not included.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Candidate> {
        let up = self.world.up.values().filter(|it| it.stands);
        up.map(Presence::candidate)
    }

    /// A member that is up, as users see it.
    pub(crate) fn describe(&self, id: MemberId) -> Option<Peer> {
        self.world.up.get(&id).map(|it| Peer {
            name: it.name.clone(),
            id,
            address: Some(self.world.locate(it)),
        })
    }
}

// A member that nobody talks to is probed by nobody, and foca probes nobody for it: it may have been
// forgotten, or the news of its present life may have been lost.
impl Swim {
    /// Sees to it that introductions are due exactly as long as they are needed.
    fn look_after_introduction(&mut self) {
        let remembers_any = self.foca.iter_membership_state().len() > 0;
        let is_needed = self.world.standing == Standing::Alone && remembers_any;
        match (is_needed, self.world.introduce_at) {
            (true, None) => self.world.introduce_at = Some(self.world.now + REINTRODUCE_EVERY),
            (true, Some(_)) => {}
            (false, _) => self.world.introduce_at = None,
        }
    }

    /// Introduces itself to the next few of those it remembers, up or down.
    fn introduce(&mut self) {
        let known: Vec<_> = self.foca.iter_membership_state().collect();
        let next = self.next_introduced;
        let chosen: Vec<_> = (next..next + HELPERS.min(known.len()))
            .map(|at| known[at % known.len()].id().clone())
            .collect();
        self.next_introduced = next.wrapping_add(HELPERS);
        self.world.introduce_at = None;
        for presence in chosen {
            let told = self.foca.announce(presence, &mut self.world);
            note(told);
        }
    }
}

impl World {
    fn take_due(&mut self) -> Option<Timer> {
        let first = self.timers.first_entry()?;
        (first.key().0 <= self.now).then(|| first.remove())
    }

    fn note_place(&mut self, id: MemberId, address: SocketAddr) {
        if self.heard_at.len() >= MOST_PLACES && !self.heard_at.contains_key(&id) {
            let up = &self.up;
            self.heard_at.retain(|id, _| up.contains_key(id));
        }
        self.heard_at.insert(id, address);
    }

    fn locate(&self, presence: &Presence) -> SocketAddr {
        let heard_at = self.heard_at.get(&presence.id).copied();
        heard_at.unwrap_or_else(|| presence.address())
    }

    /// Takes note that a member is there; unless nothing changed, with an effect.
    fn welcome(&mut self, presence: &Presence) {
        let before = self.up.insert(presence.id, presence.clone());
        let changed = before.map(|it| it.life != presence.life || it.merit != presence.merit);
        match changed {
            Some(false) => return,
            Some(true) => self.effects.push(MembershipEffect::Down(presence.id)),
            None => {}
        }
        if presence.stands {
            let up = MembershipEffect::Up(presence.candidate());
            self.effects.push(up);
        }
    }

    fn dismiss(&mut self, presence: &Presence) {
        if self.up.remove(&presence.id).is_some() {
            self.effects.push(MembershipEffect::Down(presence.id));
        }
    }
}

impl Runtime<Presence> for World {
    fn notify(&mut self, notification: Notification<'_, Presence>) {
        match notification {
            Notification::MemberUp(presence) => self.welcome(presence),
            Notification::MemberDown(presence) => self.dismiss(presence),
            Notification::Rename(before, presence) => {
                // If it was down, that it is up follows by itself.
                if self.up.contains_key(&before.id) {
                    self.welcome(presence);
                }
            }
            Notification::Active => self.standing = Standing::Taken,
            Notification::Idle | Notification::Rejoin(_) => self.standing = Standing::Alone,
            Notification::Defunct => {} // leaving, we know
        }
    }

    fn send_to(&mut self, to: Presence, data: &[u8]) {
        if let Some(Message::Ping(number)) = presence::message(data) {
            self.loss.asked(to.id, number.into());
        }
        let (receiver, to) = (to.id, self.locate(&to));
        let bytes = data.to_vec();
        let send = MembershipEffect::Send {
            receiver,
            to,
            bytes,
        };
        self.effects.push(send);
    }

    fn submit_after(&mut self, timer: Timer, after: StdDuration) {
        let at = self.now + Duration::from(after);
        self.timers.insert((at, self.timers_set), timer);
        self.timers_set += 1;
    }
}

/// What foca complains of, beside what it hears, is of no consequence: a probe that came too late
/// because the process did not run, or a timer of an earlier life.
fn note(outcome: Result<(), foca::Error>) {
    if let Err(error) = outcome {
        tracing::debug!("failure detector: {error}");
    }
}

/// For members on one local network.
fn lan() -> Config {
    const FEW: NonZeroUsize = NonZeroUsize::new(HELPERS).expect("not zero");
    const ONE: NonZeroUsize = NonZeroUsize::MIN;
    const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");
    let every = |frequency, num_members| {
        Some(PeriodicParams {
            frequency,
            num_members,
        })
    };
    Config {
        probe_period: PROBE_EVERY,
        probe_rtt: ROUND_TRIP,
        num_indirect_probes: FEW,
        max_transmissions: const { NonZeroU8::new(TELLINGS).expect("not zero") },
        suspect_to_down_after: OBJECT_WITHIN,
        remove_down_after: Some(REMEMBER_DOWN),
        max_packet_size: const { NonZeroUsize::new(MOST_BYTES).expect("not zero") },
        notify_down_members: true,
        periodic_announce: every(ASK_EVERY, ONE),
        periodic_announce_to_down_members: every(TRY_DOWN_EVERY, TWO),
        periodic_gossip: every(GOSSIP_EVERY, FEW),
    }
}
