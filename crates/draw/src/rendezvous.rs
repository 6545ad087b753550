//! The rendezvous of a ring: no member begins before all are present.
//!
//! Each member connects to its right neighbour and accepts its left one. A member that has both
//! links signs an attestation and sends it to both sides. It forwards what it receives from either
//! side to the other, step by step. After k attestations from one side, k members on that side are
//! present and hold the links between them.
//!
//! A member that is not present yet, or leaves and returns, is waited for: nothing has been drawn.
//! A member that loses one link closes the other. The loss thus travels round the ring, and all
//! members begin anew with new links.

#[cfg(test)]
mod tests;

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::attestation::{Attestation, Seating, session};
use super::bytes::Digest;
use super::connect::{AGAIN_AFTER, Connector};
use super::link::{Broken, Ends, LAST_WORDS_WITHIN, Link};
use super::ring::Sides;
use super::signed::Frame;
use super::status::DrawStatus;
use hustings_system::clock;

/// The age up to which a lost link may be about to be re-established.
const FRESH: Duration = Duration::from_secs(5);

/// Waits until the neighbours have received the last frames, at most for [`LAST_WORDS_WITHIN`].
pub(super) async fn finish(links: Sides<Link>) {
    let finished = async { tokio::join!(links.left.finish(), links.right.finish()) };
    let _ = timeout(LAST_WORDS_WITHIN, finished).await;
}

/// The result of a rendezvous: all members are present.
pub(super) struct Met {
    pub(super) links: Sides<Link>,
    /// The attestations of all members, by place.
    pub(super) seated: Vec<Attestation>,
    /// The id of this session.
    pub(super) session: Digest,
}

/// The error that the draw has begun without this member.
pub(super) struct TooLate {
    /// The side of the neighbour that reported it.
    pub(super) by: Side,
}

/// A rendezvous under way.
pub(super) struct Rendezvous<'a> {
    ends: Ends,
    status: &'a watch::Sender<DrawStatus>,
    slots: Sides<Slot>,
    /// This member's own attestation, while it has both links.
    own: Option<Attestation>,
    /// The number of attestations sent to each side over the current links.
    signed: usize,
    /// The members that were missing beyond the neighbours when both neighbours were last present.
    beyond: Option<String>,
}

/// The state of one side.
#[derive(Default)]
struct Slot {
    link: Option<Link>,
    /// The attestations received, beginning with the neighbour's.
    heard: Vec<Attestation>,
    /// The reason for which there is no link.
    trouble: Option<Broken>,
    /// The time at which the last link was lost.
    lost: Option<Instant>,
}

impl Slot {
    fn is_fresh(&self, now: Instant) -> bool {
        self.lost.is_some_and(|it| now < it + FRESH)
    }
}

impl<'a> Rendezvous<'a> {
    pub(super) fn new(ends: Ends, status: &'a watch::Sender<DrawStatus>) -> Self {
        let mut rendezvous =
            Self { ends, status, slots: Sides::default(), own: None, signed: 0, beyond: None };
        rendezvous.publish_missing();
        rendezvous
    }

    /// Waits until all members are present.
    pub(super) async fn gather(&mut self, connect: &mut Connector) -> Result<Met, TooLate> {
        let mut is_called = true;
        loop {
            let waves = self.ends.waves();
            let Sides { left, right } = &mut self.slots;
            let (from, frame) = tokio::select! {
                (side, link) = connect.next() => {
                    is_called &= !(side == Side::Right && link.is_ok());
                    self.on_link(side, link);
                    (side, None)
                }
                frame = receive(&mut left.link), if left.heard.len() < waves => (Side::Left, Some(frame)),
                frame = receive(&mut right.link), if right.heard.len() < waves => (Side::Right, Some(frame)),
            };
            match frame {
                Some(Ok(Frame::Begun)) => return Err(TooLate { by: from }),
                Some(Ok(Frame::Here(attestation))) if self.fits(from, &attestation) => {
                    self.slots[from].heard.push(attestation);
                }
                Some(Ok(_)) => self.lose(from, Broken::Nonsense),
                Some(Err(why)) => self.lose(from, why),
                None => {}
            }
            self.send_attestations();
            if let Some(gathered) = self.complete() {
                return Ok(gathered);
            }
            if self.slots.right.link.is_none() && !is_called {
                // Two processes with one key displace each other's links. The delay limits how fast
                // they do so.
                connect.call(AGAIN_AFTER);
                is_called = true;
            }
            self.publish_missing();
        }
    }

    /// Forwards `Begun` to linked neighbours, and to those that connect within a while.
    pub(super) async fn pass_on_begun(self, connect: &mut Connector) {
        let links = [self.slots.left.link, self.slots.right.link].into_iter().flatten();
        let mut told = tokio::task::JoinSet::new();
        for link in links {
            link.send(Frame::Begun);
            told.spawn(link.finish());
        }
        tokio::select! {
            () = connect.answer_begun() => {}
            () = sleep(LAST_WORDS_WITHIN) => {}
        }
    }

    /// The members that are missing now and the reasons, as far as this member knows them.
    fn missing(&self) -> Vec<String> {
        let neighbours = Side::BOTH.into_iter();
        let neighbours: Vec<String> = neighbours.filter_map(|it| self.unlinked(it)).collect();
        if neighbours.is_empty() { self.beyond().into_iter().collect() } else { neighbours }
    }

    /// The members that were missing, for a member that gives up at `now`.
    ///
    /// All members give up at about the same time, and the first one takes down the links of all.
    /// For a link that was lost just before, the members that were missing while it stood are
    /// reported instead.
    pub(super) fn absent(&self, now: Instant) -> Vec<String> {
        let sides = Side::BOTH.into_iter();
        let gone = sides.filter(|side| !self.slots[*side].is_fresh(now));
        let mut absent: Vec<String> = gone.filter_map(|it| self.unlinked(it)).collect();
        // A member that was missing long ago may have come since.
        let stood = |slot: &Slot| slot.link.is_some() || slot.is_fresh(now);
        if self.slots.both().into_iter().all(stood) {
            absent.extend(self.beyond.clone());
        }
        if absent.is_empty() { self.missing() } else { absent }
    }

    /// The reason for which a caller was refused, if the left neighbour is missing.
    pub(super) fn refused(&self, now: Instant) -> Option<String> {
        let left = &self.slots.left;
        let is_missing = left.link.is_none() && !left.is_fresh(now);
        self.status.borrow().last_refused.clone().filter(|_| is_missing)
    }

    /// The neighbour on one side and the reason, if there is no link to it.
    fn unlinked(&self, side: Side) -> Option<String> {
        let Slot { link, trouble, lost, .. } = &self.slots[side];
        let name = &self.ends.neighbour(side).name;
        let text = match (lost, trouble) {
            (None, None) => name.clone(),
            (None, Some(why)) => format!("{name} ({why})"),
            (Some(_), None) => {
                format!("{name} (its link was closed because the link to another member was lost)")
            }
            (Some(_), Some(why)) => format!("{name} (its link is lost: {why})"),
        };
        link.is_none().then_some(text)
    }

    /// The members that are missing beyond the neighbours, while both neighbours are present.
    fn beyond(&self) -> Option<String> {
        let [left, right] = self.slots.both().map(|it| it.heard.len() as u32);
        let (members, me) = (self.ends.ring.len(), self.ends.place);
        let names = |[left, right]: [u32; 2]| -> Vec<&str> {
            let steps = right + 1..members.saturating_sub(left);
            let places = steps.map(|it| (me + it) % members);
            places.map(|it| self.ends.ring.name(it)).collect()
        };
        // A neighbour sends its attestation when it has both of its links. So a member without
        // attestation, or the one beyond it, is missing. The neighbours themselves are present,
        // unless no other member is left and they have no link to each other.
        let others = names([left.max(1), right.max(1)]);
        let unheard = if others.is_empty() { names([left, right]) } else { others };
        match unheard[..] {
            [] => None, // all are present: the last attestations are on their way
            [name] => Some(name.to_owned()),
            _ => Some(format!("one or more of {}", unheard.join(", "))),
        }
    }

    fn publish_missing(&mut self) {
        if self.slots.both().iter().all(|it| it.link.is_some()) {
            self.beyond = self.beyond();
        }
        let missing = self.missing();
        self.status.send_if_modified(|it| {
            let is_new = it.missing != missing;
            it.missing = missing;
            is_new
        });
    }

    /// True if the attestation is the next member's on `side` and its links match those received
    /// before.
    fn fits(&self, side: Side, attestation: &Attestation) -> bool {
        let Slot { link: Some(link), heard, .. } = &self.slots[side] else {
            return false;
        };
        let ring = &self.ends.ring;
        let before = heard.last().map_or(self.ends.place, |it| it.place);
        let place = ring.neighbour(before, side);
        let (inward, outward) = match side {
            Side::Left => (attestation.right, heard.last().map(|it| it.left)),
            Side::Right => (attestation.left, heard.last().map(|it| it.right)),
        };
        attestation.place == place
            && inward == outward.unwrap_or(link.session)
            && attestation.is_by(&ring.member(place).key, &self.ends.digest)
    }

    /// Returns the result once the attestations of all members are complete.
    fn complete(&mut self) -> Option<Met> {
        let waves = self.ends.waves();
        if self.slots.both().iter().any(|it| it.heard.len() < waves) {
            return None;
        }
        let ring = &self.ends.ring;
        let heard = self.slots.both().into_iter().flat_map(|it| &it.heard);
        let seated = seats(ring.members.len(), heard.chain(&self.own));
        let gathered = seated.and_then(|seated| {
            let session = session(ring, self.ends.digest, &seated)?;
            Some((seated, session))
        });
        let Some((seated, session)) = gathered else {
            // The attestations from the left and from the right do not match: a member has signed
            // two different ones.
            self.lose(Side::Left, Broken::Nonsense);
            return None;
        };
        let Sides { left, right } = &mut self.slots;
        let (left, right) = left.link.take().zip(right.link.take())?;
        Some(Met { links: Sides { left, right }, seated, session })
    }

    /// Takes in a new link or a failed attempt. A new link replaces an earlier one of the same
    /// neighbour, which may belong to a process that has ended.
    fn on_link(&mut self, side: Side, link: Result<Link, Broken>) {
        let name = self.ends.neighbour(side).name.clone();
        match link {
            Ok(link) => {
                if self.slots[side].link.is_some() {
                    self.lose(side, Broken::Closed);
                }
                tracing::info!("{name} is there");
                self.slots[side] = Slot { link: Some(link), ..Slot::default() };
            }
            Err(why) if self.slots[side].trouble.as_ref() != Some(&why) => {
                tracing::info!("no link to {name} yet: {why}");
                self.slots[side].trouble = Some(why);
            }
            Err(_) => {}
        }
    }

    /// Handles the loss of a link and closes the other one, because the members beyond it have
    /// received an attestation of the lost link.
    fn lose(&mut self, side: Side, why: Broken) {
        tracing::info!("{} is gone: {why}", self.ends.neighbour(side).name);
        let lost = Some(clock::now());
        self.slots[side] = Slot { trouble: Some(why), lost, ..Slot::default() };
        // The neighbour on the other side may have received the attestation of the lost link.
        if self.own.take().is_some() {
            self.slots[side.opposite()] = Slot { lost, ..Slot::default() };
        }
        self.signed = 0;
    }

    /// Sends further attestations if more have been received.
    fn send_attestations(&mut self) {
        let Sides { left, right } = &self.slots;
        let (Some(to_left), Some(to_right)) = (&left.link, &right.link) else {
            return;
        };
        let own = self.own.get_or_insert_with(|| {
            let seating =
                Seating { place: self.ends.place, left: to_left.session, right: to_right.session };
            Attestation::sign(&self.ends.secret, &self.ends.digest, seating)
        });
        let most = left.heard.len().min(right.heard.len()) + 1;
        for wave in self.signed..most.min(self.ends.waves()) {
            // The first attestation is this member's own. The others came from the opposite side.
            let [from_left, from_right] = [left, right].map(|it| match wave {
                0 => own.clone(),
                _ => it.heard[wave - 1].clone(),
            });
            to_left.send(Frame::Here(from_right));
            to_right.send(Frame::Here(from_left));
            self.signed = wave + 1;
        }
    }
}

impl Ends {
    /// The number of attestations to send to each side until every member knows of all others.
    fn waves(&self) -> usize {
        self.ring.members.len() / 2
    }
}

/// The attestations by place. `None` if one is missing, or if a member signed two different ones.
/// On an even ring, the attestation of the opposite member arrives from both sides.
fn seats<'p>(
    members: usize,
    attestations: impl Iterator<Item = &'p Attestation>,
) -> Option<Vec<Attestation>> {
    let mut seated: Vec<Option<Attestation>> = vec![None; members];
    for attestation in attestations {
        let slot = seated.get_mut(attestation.place as usize)?;
        match slot {
            Some(other) if other.content != attestation.content => return None,
            _ => *slot = Some(attestation.clone()),
        }
    }
    seated.into_iter().collect()
}

/// Waits for the next frame on a link, or for ever if there is no link.
async fn receive(link: &mut Option<Link>) -> Result<Frame, Broken> {
    match link {
        Some(link) => link.receive().await,
        None => std::future::pending().await,
    }
}
