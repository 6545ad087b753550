//! A full view: a SWIM failure detector, by the crate `foca`.
//!
//! Purpose     lets every member know all others
//! Inputs      the time, messages of other members, greetings
//! Outputs     [`MembershipEffect`]s
//! Owns        foca's state, its timers, the members that are up and their addresses
//! Invariants  a member that has left neither sends nor handles messages until it is renewed
//!
//! Every [`PROBE_EVERY`] a member probes one other member, in turn. If that member answers neither
//! the probe nor the indirect probes, it is suspected. If it does not refute the suspicion within
//! [`OBJECT_WITHIN`], it is down. Updates are piggybacked on the probes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU8, NonZeroUsize};
use std::time::Duration as StdDuration;

use foca::{
    Config, Foca, Message, NoCustomBroadcast, Notification, PeriodicParams, PostcardCodec, Runtime,
};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Priority};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::loss_estimate::LossEstimate;
use super::{MOST_BYTES, Membership, MembershipEffect};
use crate::frame::Sender;
use crate::leadership::Peer;
use crate::node::Event;
use crate::peer_table::Channel;
use crate::seal::Rejected;
use presence::Presence;

mod presence;
#[cfg(test)]
mod tests;

type Timer = foca::Timer<Presence>;

/// The period of probes.
const PROBE_EVERY: StdDuration = StdDuration::from_millis(200);

/// The time to wait for an answer before indirect probes are sent.
const ROUND_TRIP: StdDuration = StdDuration::from_millis(60);

/// The number of members that are asked for an indirect probe.
const HELPERS: usize = 3;

/// The time that a suspect has to refute the suspicion. A dead member is down after the wait for
/// its turn, the probe, and this time: about a second.
const OBJECT_WITHIN: StdDuration = StdDuration::from_millis(500);

/// The period of gossip messages to [`HELPERS`] members, as long as there are updates.
const GOSSIP_EVERY: StdDuration = StdDuration::from_millis(50);

/// The number of times that a member passes on one update. Even if a third of all messages is lost,
/// a suspect has to hear of the suspicion, and its refutation has to arrive, within
/// [`OBJECT_WITHIN`].
const TELLINGS: u8 = 30;

/// The period at which a member asks another one for members that it may have missed.
const ASK_EVERY: StdDuration = StdDuration::from_secs(2);

/// The period at which two members that are down are contacted again. This heals a partition.
const TRY_DOWN_EVERY: StdDuration = StdDuration::from_secs(1);

/// The time for which members that are down are remembered.
const REMEMBER_DOWN: StdDuration = StdDuration::from_secs(3_600);

/// The period at which a member that no other member contacts introduces itself to the members that
/// it remembers.
const REINTRODUCE_EVERY: Duration = Duration::from_millis(250);

/// The number of addresses that are remembered. Beyond it, only those of members that are up are
/// kept.
const MOST_PLACES: usize = 65_536;

/// The view of one member, by SWIM.
pub(crate) struct Swim {
    foca: Foca<Presence, PostcardCodec, Xoshiro256PlusPlus, NoCustomBroadcast>,
    world: SwimRuntime,
    /// The position of the next member to introduce itself to, among those that it remembers.
    next_introduced: usize,
}

/// The side of the runtime that foca calls.
struct SwimRuntime {
    now: Instant,
    standing: SwimState,
    /// The time of the next introduction to remembered members.
    introduce_at: Option<Instant>,
    /// The timers, by time and order of setting.
    timers: BTreeMap<(Instant, u64), Timer>,
    timers_set: u64,
    /// The members that are up.
    up: BTreeMap<MemberId, Presence>,
    /// The source addresses of members' own messages. They are more reliable than reported
    /// addresses.
    heard_at: BTreeMap<MemberId, SocketAddr>,
    loss: LossEstimate,
    effects: Vec<MembershipEffect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwimState {
    /// Another member has contacted this one in its present incarnation.
    Taken,
    /// No member has contacted this one yet, or none is left.
    Alone,
    /// This member has left, for a while or for good.
    Gone,
}

impl Swim {
    /// The view of the member `sender`, with no other member in it yet.
    pub(crate) fn new(sender: &Sender<'_>, priority: Priority) -> Self {
        Self::of(Presence::of_ourselves(sender, priority), sender)
    }

    /// The view of a member that takes no part in elections.
    pub(crate) fn of_bystander(sender: &Sender<'_>) -> Self {
        Self::of(Presence::of_bystander(sender), sender)
    }

    fn of(me: Presence, sender: &Sender<'_>) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(sender.incarnation.0 ^ sender.id.0);
        let world = SwimRuntime {
            now: Instant::START,
            standing: SwimState::Alone,
            introduce_at: None,
            timers: BTreeMap::new(),
            timers_set: 0,
            up: BTreeMap::new(),
            heard_at: BTreeMap::new(),
            loss: LossEstimate::default(),
            effects: Vec::new(),
        };
        Self { foca: Foca::new(me, lan(), rng, PostcardCodec), world, next_introduced: 0 }
    }
}

impl Membership for Swim {
    fn is_alone(&self) -> bool {
        self.world.standing != SwimState::Taken
    }

    fn knows(&self, sender: &Sender<'_>) -> bool {
        let known = self.world.up.get(&sender.id);
        known.is_some_and(|it| it.incarnation == sender.incarnation.0)
    }

    fn greet(&mut self, sender: &Sender<'_>, address: SocketAddr, _: Channel) {
        if self.world.standing != SwimState::Gone {
            let stranger = Presence::of_stranger(sender, address);
            self.world.note_place(stranger.id, address);
            let told = self.foca.announce(stranger, &mut self.world);
            note(told);
        }
    }

    /// A message is malformed too if it names another source than the frame does.
    fn hear(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.world.now = now;
        if self.world.standing == SwimState::Gone {
            return Ok(());
        }
        let (source, bytes) = presence::fill_in_addresses(bytes, from)?;
        if source != sender.id {
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
            // Asks the first member that answers for all others.
            let told = self.foca.announce(first, &mut self.world);
            note(told);
        }
        self.look_after_introduction();
        heard.map_err(|_| Rejected::Malformed)
    }

    fn pass(&mut self, now: Instant) {
        self.world.now = now;
        if self.world.standing == SwimState::Gone {
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

    fn due(&self) -> Option<Instant> {
        let timer = self.world.timers.keys().next().map(|(at, _)| *at);
        timer.into_iter().chain(self.world.introduce_at).min()
    }

    fn take_effects(&mut self, now: Instant) -> Vec<MembershipEffect> {
        self.world.now = now;
        self.look_after_introduction();
        std::mem::take(&mut self.world.effects)
    }

    fn renew(&mut self, sender: &Sender<'_>, priority: Priority) {
        let renewed = Presence::of_ourselves(sender, priority).after(self.foca.identity());
        let told = self.foca.change_identity(renewed, &mut self.world);
        note(told);
        self.world.standing = SwimState::Alone;
        self.look_after_introduction();
    }

    fn leave(&mut self, _: Instant) {
        if self.world.standing == SwimState::Gone {
            return;
        }
        let told = self.foca.leave_cluster(&mut self.world);
        note(told);
        // Lost farewells are not repeated later, so a few more go to other members now.
        for _ in 0..2 {
            let told = self.foca.gossip(&mut self.world);
            note(told);
        }
        self.world.standing = SwimState::Gone;
        self.world.introduce_at = None;
        self.world.timers.clear();
    }

    fn loss(&self) -> Option<f64> {
        self.world.loss.rate()
    }

    fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.world.up.get(&id).map(|it| self.world.locate(it))
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.world.up.values().map(|it| self.world.locate(it)).collect()
    }

    fn candidates(&self) -> Vec<Candidate> {
        let up = self.world.up.values().filter(|it| it.stands);
        up.map(Presence::candidate).collect()
    }

    fn describe(&self, id: MemberId) -> Option<Peer> {
        self.world.up.get(&id).map(|it| Peer {
            name: it.name.clone(),
            id,
            address: Some(self.world.locate(it)),
        })
    }
}

// If no member contacts this one, then no member probes it, and foca sends no probes of its own. It
// may have been forgotten, or the update about its present incarnation was lost. Introductions end
// this state.
impl Swim {
    /// Schedules introductions exactly as long as they are needed.
    fn look_after_introduction(&mut self) {
        let remembers_any = self.foca.iter_membership_state().len() > 0;
        let is_needed = self.world.standing == SwimState::Alone && remembers_any;
        match (is_needed, self.world.introduce_at) {
            (true, None) => self.world.introduce_at = Some(self.world.now + REINTRODUCE_EVERY),
            (true, Some(_)) => {}
            (false, _) => self.world.introduce_at = None,
        }
    }

    /// Introduces this member to the next few members that it remembers, up or down.
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

impl SwimRuntime {
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

    /// Records that a member is up. Emits effects only if something changed.
    fn welcome(&mut self, presence: &Presence) {
        let before = self.up.insert(presence.id, presence.clone());
        let changed = before
            .map(|it| it.incarnation != presence.incarnation || it.priority != presence.priority);
        match changed {
            Some(false) => return,
            Some(true) => self.find(Event::MemberDown(presence.id)),
            None => {}
        }
        if presence.stands {
            self.find(Event::MemberUp(presence.candidate()));
        }
    }

    fn find(&mut self, event: Event<'static>) {
        self.effects.push(MembershipEffect::Finding(event));
    }

    fn dismiss(&mut self, presence: &Presence) {
        if self.up.remove(&presence.id).is_some() {
            self.find(Event::MemberDown(presence.id));
        }
    }
}

impl Runtime<Presence> for SwimRuntime {
    fn notify(&mut self, notification: Notification<'_, Presence>) {
        match notification {
            Notification::MemberUp(presence) => self.welcome(presence),
            Notification::MemberDown(presence) => self.dismiss(presence),
            Notification::Rename(before, presence) => {
                // If it was down, foca reports separately that it is up.
                if self.up.contains_key(&before.id) {
                    self.welcome(presence);
                }
            }
            Notification::Active => self.standing = SwimState::Taken,
            Notification::Idle | Notification::Rejoin(_) => self.standing = SwimState::Alone,
            Notification::Defunct => {} // this member is leaving
        }
    }

    fn send_to(&mut self, to: Presence, data: &[u8]) {
        if let Some(Message::Ping(number)) = presence::message(data) {
            self.loss.asked(to.id, number.into());
        }
        let (receiver, to) = (to.id, self.locate(&to));
        let bytes = data.to_vec();
        let send = MembershipEffect::Send { receiver, to, bytes };
        self.effects.push(send);
    }

    fn submit_after(&mut self, timer: Timer, after: StdDuration) {
        let at = self.now + Duration::from(after);
        self.timers.insert((at, self.timers_set), timer);
        self.timers_set += 1;
    }
}

/// Logs foca's complaints, other than those about received messages. They have no consequence: a
/// probe that came too late because the process was paused, or a timer of an earlier incarnation.
fn note(outcome: Result<(), foca::Error>) {
    if let Err(error) = outcome {
        tracing::debug!("failure detector: {error}");
    }
}

/// The parameters for members on one local network.
fn lan() -> Config {
    const FEW: NonZeroUsize = NonZeroUsize::new(HELPERS).expect("not zero");
    const ONE: NonZeroUsize = NonZeroUsize::MIN;
    const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");
    let every = |frequency, num_members| Some(PeriodicParams { frequency, num_members });
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
