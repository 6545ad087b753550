//! How the members of a ring find each other: nobody begins before all are there.
//!
//! Each connects to its right neighbour and waits for its left one. Who has both signs so and says it to both sides, and passes
//! on what it hears from either side to the other, step by step: after k steps from one side there are k members on that side,
//! and they hold the links between them. Somebody who is not there yet, or goes and comes back, is waited for: nothing has
//! been drawn. Who loses one link gives up the other, so that the word goes round and all begin anew with new links.

#[cfg(test)]
mod tests;

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::account::Account;
use super::bytes::Digest;
use super::doors::{AGAIN_AFTER, Doors};
use super::link::{Broken, Ends, LAST_WORDS_WITHIN, Link, Meter};
use super::presence::{Presence, Seating, sitting};
use super::said::Frame;
use crate::clock;

/// A link that was lost no longer ago may be about to be made anew.
const FRESH: Duration = Duration::from_secs(5);

/// Both links of a member.
pub(super) struct Links {
    pub(super) left: Link,
    pub(super) right: Link,
}

impl Links {
    pub(super) fn to(&self, side: Side) -> &Link {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// What counts the bytes that go out on each, also when they are finished.
    pub(super) fn meters(&self) -> [Meter; 2] {
        [self.left.meter(), self.right.meter()]
    }

    /// Waits until neighbours have heard the last words. Whoever has not heard by then will not.
    pub(super) async fn finish(self) {
        let last_words = async { tokio::join!(self.left.finish(), self.right.finish()) };
        let _ = timeout(LAST_WORDS_WITHIN, last_words).await;
    }
}

/// All are there.
pub(super) struct Gathered {
    pub(super) links: Links,
    /// Every member's word that it is, by place.
    pub(super) seated: Vec<Presence>,
    /// What tells this sitting from all others.
    pub(super) sitting: Digest,
}

/// The draw has begun without this member.
pub(super) struct TooLate {
    /// By whose word.
    pub(super) by: Side,
}

/// A gathering under way.
pub(super) struct Gathering<'a> {
    ends: Ends,
    account: &'a watch::Sender<Account>,
    slots: [Slot; 2],
    /// This member's own word, while it has both links.
    own: Option<Presence>,
    /// How often it has said who is there, over these links.
    said: usize,
    /// Who was missing beyond the neighbours when both were there last.
    beyond: Option<String>,
}

/// One side.
#[derive(Default)]
struct Slot {
    link: Option<Link>,
    /// Who is there, from the neighbour on.
    heard: Vec<Presence>,
    /// Why there is no link yet, or no more.
    trouble: Option<Broken>,
    /// When there was one last.
    lost: Option<Instant>,
}

impl Slot {
    fn is_fresh(&self, now: Instant) -> bool {
        self.lost.is_some_and(|it| now < it + FRESH)
    }
}

impl<'a> Gathering<'a> {
    pub(super) fn new(ends: Ends, account: &'a watch::Sender<Account>) -> Self {
        let mut gathering = Self {
            ends,
            account,
            slots: Default::default(),
            own: None,
            said: 0,
            beyond: None,
        };
        gathering.tell_account();
        gathering
    }

    /// Waits until all members are there.
    pub(super) async fn gather(&mut self, doors: &mut Doors) -> Result<Gathered, TooLate> {
        let mut is_called = true;
        loop {
            let waves = self.ends.waves();
            let [left, right] = &mut self.slots;
            let (from, frame) = tokio::select! {
                (side, link) = doors.next() => {
                    is_called &= !(side == Side::Right && link.is_ok());
                    self.seat(side, link);
                    (side, None)
                }
                frame = hear(&mut left.link), if left.heard.len() < waves => (Side::Left, Some(frame)),
                frame = hear(&mut right.link), if right.heard.len() < waves => (Side::Right, Some(frame)),
            };
            match frame {
                Some(Ok(Frame::Begun)) => return Err(TooLate { by: from }),
                Some(Ok(Frame::Here(presence))) if self.fits(from, &presence) => {
                    self.slot_mut(from).heard.push(presence);
                }
                Some(Ok(_)) => self.lose(from, Broken::Nonsense),
                Some(Err(why)) => self.lose(from, why),
                None => {}
            }
            self.tell();
            if let Some(gathered) = self.complete() {
                return Ok(gathered);
            }
            if self.slots[1].link.is_none() && !is_called {
                // Two that hold one key throw each other out: not as fast as they can.
                doors.call(AGAIN_AFTER);
                is_called = true;
            }
            self.tell_account();
        }
    }

    /// The others learn that the draw has begun without them, too: those who are linked, and those who call within a while.
    pub(super) async fn pass_on_begun(self, doors: &mut Doors) {
        let links = self.slots.into_iter().filter_map(|it| it.link);
        let mut told = tokio::task::JoinSet::new();
        for link in links {
            link.say(Frame::Begun);
            told.spawn(link.finish());
        }
        tokio::select! {
            () = doors.tell_begun() => {}
            () = sleep(LAST_WORDS_WITHIN) => {}
        }
    }

    /// Who is missing just now, as far as this member can tell, and why.
    fn missing(&self) -> Vec<String> {
        let neighbours = Side::BOTH.into_iter();
        let neighbours: Vec<String> = neighbours.filter_map(|it| self.unlinked(it)).collect();
        match neighbours.is_empty() {
            true => self.beyond().into_iter().collect(),
            false => neighbours,
        }
    }

    /// Who was missing, for a member that gives up at `now`.
    ///
    /// All give up at about the same time, and the first that does takes the links of all with it: so of a link that was lost just
    /// before, what was missing while it stood is told instead.
    pub(super) fn absent(&self, now: Instant) -> Vec<String> {
        let sides = Side::BOTH.into_iter();
        let gone = sides.filter(|side| !self.slot(*side).is_fresh(now));
        let mut absent: Vec<String> = gone.filter_map(|it| self.unlinked(it)).collect();
        // Whoever was missing long ago may have come since.
        let stood = |slot: &Slot| slot.link.is_some() || slot.is_fresh(now);
        if self.slots.iter().all(stood) {
            absent.extend(self.beyond.clone());
        }
        match absent.is_empty() {
            true => self.missing(),
            false => absent,
        }
    }

    /// Why a caller was refused, where the left neighbour was not there.
    pub(super) fn refused(&self, now: Instant) -> Option<String> {
        let left = self.slot(Side::Left);
        let is_missing = left.link.is_none() && !left.is_fresh(now);
        self.account
            .borrow()
            .last_refused
            .clone()
            .filter(|_| is_missing)
    }

    /// The neighbour on one side, if there is no link to it, and why.
    fn unlinked(&self, side: Side) -> Option<String> {
        let Slot {
            link,
            trouble,
            lost,
            ..
        } = self.slot(side);
        let name = &self.ends.neighbour(side).name;
        let text = match (lost, trouble) {
            (None, None) => name.clone(),
            (None, Some(why)) => format!("{name} ({why})"),
            (Some(_), None) => {
                format!("{name} (its link was given up as that of another was lost)")
            }
            (Some(_), Some(why)) => format!("{name} (its link is lost: {why})"),
        };
        link.is_none().then_some(text)
    }

    /// Who is missing beyond the neighbours, while both are there.
    fn beyond(&self) -> Option<String> {
        let [left, right] = self.slots.each_ref().map(|it| it.heard.len() as u32);
        let (members, me) = (self.ends.ring.len(), self.ends.place);
        let names = |[left, right]: [u32; 2]| -> Vec<&str> {
            let steps = right + 1..members.saturating_sub(left);
            let places = steps.map(|it| (me + it) % members);
            places.map(|it| &*self.ends.ring.member(it).name).collect()
        };
        // A neighbour speaks when it has both of its own, so whoever is not heard of, or the one beyond, is missing. The
        // neighbours are there: unless nobody else is left, and they have no link to each other.
        let others = names([left.max(1), right.max(1)]);
        let unheard = match others.is_empty() {
            true => names([left, right]),
            false => others,
        };
        match unheard[..] {
            [] => None, // all are there: the last of them are about to say so
            [name] => Some(name.to_owned()),
            _ => Some(format!("somebody among {}", unheard.join(", "))),
        }
    }

    fn tell_account(&mut self) {
        if self.slots.iter().all(|it| it.link.is_some()) {
            self.beyond = self.beyond();
        }
        let missing = self.missing();
        self.account.send_if_modified(|it| {
            let is_new = it.missing != missing;
            it.missing = missing;
            is_new
        });
    }

    /// Whether what comes from `side` is the next member's word there, of links that fit to those heard of before.
    fn fits(&self, side: Side, presence: &Presence) -> bool {
        let Slot {
            link: Some(link),
            heard,
            ..
        } = self.slot(side)
        else {
            return false;
        };
        let ring = &self.ends.ring;
        let before = heard.last().map_or(self.ends.place, |it| it.place);
        let place = ring.neighbour(before, side);
        let (inward, outward) = match side {
            Side::Left => (presence.right, heard.last().map(|it| it.left)),
            Side::Right => (presence.left, heard.last().map(|it| it.right)),
        };
        presence.place == place
            && inward == outward.unwrap_or(link.session)
            && presence.is_by(&ring.member(place).key, &self.ends.digest)
    }

    /// All that is needed for a draw, once all are there by everybody's own word.
    fn complete(&mut self) -> Option<Gathered> {
        let waves = self.ends.waves();
        if self.slots.iter().any(|it| it.heard.len() < waves) {
            return None;
        }
        let ring = &self.ends.ring;
        let words = self.slots.iter().flat_map(|it| &it.heard).chain(&self.own);
        let seated = seats(ring.members.len(), words);
        let gathered = seated.and_then(|seated| {
            let sitting = sitting(ring, self.ends.digest, &seated)?;
            Some((seated, sitting))
        });
        let Some((seated, sitting)) = gathered else {
            // What came by the left and what came by the right does not meet: somebody has said two things.
            self.lose(Side::Left, Broken::Nonsense);
            return None;
        };
        let [left, right] = &mut self.slots;
        let (left, right) = left.link.take().zip(right.link.take())?;
        Some(Gathered {
            links: Links { left, right },
            seated,
            sitting,
        })
    }

    /// A connection has become a link, or has not. A later link of the same neighbour takes the place of an earlier one,
    /// which may be that of a process that is gone.
    fn seat(&mut self, side: Side, link: Result<Link, Broken>) {
        let name = self.ends.neighbour(side).name.clone();
        match link {
            Ok(link) => {
                if self.slot(side).link.is_some() {
                    self.lose(side, Broken::Closed);
                }
                tracing::info!("{name} is there");
                *self.slot_mut(side) = Slot {
                    link: Some(link),
                    ..Slot::default()
                };
            }
            Err(why) if self.slot(side).trouble.as_ref() != Some(&why) => {
                tracing::info!("no link to {name} yet: {why}");
                self.slot_mut(side).trouble = Some(why);
            }
            Err(_) => {}
        }
    }

    /// A link is lost. The other is given up: whoever is beyond it has heard of the one that is lost.
    fn lose(&mut self, side: Side, why: Broken) {
        tracing::info!("{} is gone: {why}", self.ends.neighbour(side).name);
        let lost = Some(clock::now());
        *self.slot_mut(side) = Slot {
            trouble: Some(why),
            lost,
            ..Slot::default()
        };
        // It may have heard of the link that is lost, or be the last to have.
        if self.own.take().is_some() {
            *self.slot_mut(side.opposite()) = Slot {
                lost,
                ..Slot::default()
            };
        }
        self.said = 0;
    }

    /// Says who is there, if it is more than before.
    fn tell(&mut self) {
        let [left, right] = &self.slots;
        let (Some(to_left), Some(to_right)) = (&left.link, &right.link) else {
            return;
        };
        let own = self.own.get_or_insert_with(|| {
            let seating = Seating {
                place: self.ends.place,
                left: to_left.session,
                right: to_right.session,
            };
            Presence::sign(&self.ends.secret, &self.ends.digest, seating)
        });
        let most = left.heard.len().min(right.heard.len()) + 1;
        for wave in self.said..most.min(self.ends.waves()) {
            // First its own, then what came from the other side.
            let [from_left, from_right] = [left, right].map(|it| match wave {
                0 => own.clone(),
                _ => it.heard[wave - 1].clone(),
            });
            to_left.say(Frame::Here(from_right));
            to_right.say(Frame::Here(from_left));
            self.said = wave + 1;
        }
    }

    fn slot(&self, side: Side) -> &Slot {
        match side {
            Side::Left => &self.slots[0],
            Side::Right => &self.slots[1],
        }
    }

    fn slot_mut(&mut self, side: Side) -> &mut Slot {
        match side {
            Side::Left => &mut self.slots[0],
            Side::Right => &mut self.slots[1],
        }
    }
}

impl Ends {
    /// How often all say who is there, until everybody knows it of all.
    fn waves(&self) -> usize {
        self.ring.members.len() / 2
    }
}

/// Everybody's word, by place; none if somebody's is missing, or if one who is heard of from both sides, as the opposite member
/// of an even ring is, has said two things.
fn seats<'p>(members: usize, words: impl Iterator<Item = &'p Presence>) -> Option<Vec<Presence>> {
    let mut seated: Vec<Option<Presence>> = vec![None; members];
    for word in words {
        let seat = seated.get_mut(word.place as usize)?;
        match seat {
            Some(other) if other.content != word.content => return None,
            _ => *seat = Some(word.clone()),
        }
    }
    seated.into_iter().collect()
}

/// What is heard on a link; nothing for ever where there is none.
async fn hear(link: &mut Option<Link>) -> Result<Frame, Broken> {
    match link {
        Some(link) => link.hear().await,
        None => std::future::pending().await,
    }
}
