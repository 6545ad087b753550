//! A draw under way: between the links, the protocol and the transcript of one member.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::time::Duration as StdDuration;

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Cause, Fault, Side};
use hustings_protocol::{Duration, Instant, Outcome};
use tokio::sync::watch;
use tokio::time::sleep;

use super::account::{Account, Evidence, State};
use super::bytes::Digest;
use super::doors::Herald;
use super::gathering::{Gathered, Links};
use super::link::{Broken, Ends, Meter};
use super::presence::Presence;
use super::ring;
use super::said::{Conclusion, Frame, Said, Statement, Verdict, Way, Words};
use super::seat::{Effect, NoChance, Player, Seat, System};
use super::tally::Tally;
use super::transcript::{Entry, Header, Transcript, VERSION};
use crate::clock;

/// What ends a draw for want of what it needs.
pub(super) enum Failure {
    Chance,
    Disk(io::Error),
}

impl From<NoChance> for Failure {
    fn from(NoChance: NoChance) -> Self {
        Self::Chance
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

/// A draw under way.
pub(super) struct Sitting<P> {
    ends: Ends,
    links: Links,
    /// Every member's word that it is there.
    seated: Vec<Presence>,
    /// What tells this sitting from all others.
    sitting: Digest,
    left: Traffic,
    right: Traffic,
    seat: Seat<P, System>,
    transcript: Transcript,
    herald: Herald,
    tally: Tally,
    /// What this member has come to, last.
    verdict: Option<Verdict>,
    /// The last time that somebody's statement was new, once this member has come to something.
    news: Instant,
    /// Set when an answer is overdue: until then what lies unread may be read.
    last_call: Option<Instant>,
}

/// How long a member takes to read what has come, before it complains of silence. It may have been stopped itself, or its host
/// asleep, for longer than others may take to answer: then their answers lie there, and their silence was its own.
const LAST_CALL: Duration = Duration::from_millis(50);

/// What passed on one side.
#[derive(Default)]
struct Traffic {
    sent: u64,
    heard: u64,
    /// How many statements came.
    statements: usize,
    /// The entry of the neighbour's transcript that was heard of last.
    entry: Option<u64>,
    has_asked_again: bool,
    broken: bool,
}

impl<P: Player> Sitting<P> {
    pub(super) fn new(
        ends: Ends,
        gathered: Gathered,
        seat: Seat<P, System>,
        transcript: Transcript,
        herald: Herald,
    ) -> Self {
        let tally = Tally::new(ends.place, ends.ring.members.len());
        let Gathered {
            links,
            seated,
            sitting,
        } = gathered;
        Self {
            ends,
            links,
            seated,
            sitting,
            left: Traffic::default(),
            right: Traffic::default(),
            seat,
            transcript,
            herald,
            tally,
            verdict: None,
            news: clock::now(),
            last_call: None,
        }
    }

    pub(super) async fn hold(
        mut self,
        account: &watch::Sender<Account>,
        stop: impl Future<Output = ()> + Unpin,
    ) -> Result<Account, Failure> {
        let held = self.draw(account, stop).await;
        if held.is_err() {
            self.give_up();
        }
        account.send_modify(|it| self.conclude(it));
        let meters = self.links.meters();
        self.links.finish().await;
        account.send_modify(|it| it.bytes_sent = meters.iter().map(Meter::read).sum());
        held.map(|()| account.borrow().clone())
    }

    /// Gives up before anything was drawn.
    pub(super) async fn leave(mut self) {
        self.give_up();
        self.links.finish().await;
    }

    async fn draw(
        &mut self,
        account: &watch::Sender<Account>,
        mut stop: impl Future<Output = ()> + Unpin,
    ) -> Result<(), Failure> {
        account.send_modify(|it| {
            it.state = State::Drawing;
            it.missing.clear();
        });
        self.begin()?;
        account.send_if_modified(|it| self.tell(it));
        while !self.is_done() {
            let due = self.due();
            tokio::select! {
                frame = self.links.left.hear(), if !self.left.broken => self.on_frame(Side::Left, frame)?,
                frame = self.links.right.hear(), if !self.right.broken => self.on_frame(Side::Right, frame)?,
                () = until(due) => {
                    if self.verdict.is_some() {
                        break; // nobody has anything to say any more
                    }
                    self.on_overdue()?;
                }
                () = &mut stop => {
                    self.on_stop()?;
                    break;
                }
            }
            account.send_if_modified(|it| self.tell(it));
        }
        self.close()
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let ring = &self.ends.ring;
        let header = Header {
            version: VERSION,
            draw: ring.draw.clone(),
            number: ring.number,
            ring: self.ends.digest,
            member: ring.member(self.ends.place).name.clone(),
        };
        self.transcript.add(&Entry::Transcript(header))?;
        let seated = std::mem::take(&mut self.seated);
        self.transcript.add(&Entry::Gathered(seated))?;
        self.transcript.note(&Entry::Began)?;
        // A disk that is full is full before anything is said.
        self.transcript.sync()?;
        let effects = self.seat.begin(clock::now())?;
        self.carry_out(effects)
    }

    fn on_frame(&mut self, side: Side, frame: Result<Frame, Broken>) -> Result<(), Failure> {
        match frame {
            Ok(Frame::Said(said)) => self.on_said(side, said),
            Ok(Frame::Statement(statement)) => self.on_statement(side, &statement),
            Ok(Frame::Again) => {
                self.on_again(side);
                Ok(())
            }
            Ok(Frame::Linked | Frame::Here(_) | Frame::Begun) => self.lose(side, &Broken::Nonsense),
            Err(why) => self.lose(side, &why),
        }
    }

    fn on_said(&mut self, side: Side, said: Said) -> Result<(), Failure> {
        let key = &self.ends.neighbour(side).key;
        let heard = self.side(side);
        let is_next =
            said.number == heard.heard + 1 && heard.entry.is_none_or(|it| it < said.entry);
        if !is_next || !said.is_by(key, &self.way_from(side)) {
            return self.lose(side, &Broken::Signature);
        }
        let heard = self.side_mut(side);
        heard.heard = said.number;
        heard.entry = Some(said.entry);
        let message = said.message;
        self.last_call = None;
        self.transcript.note(&Entry::Heard { side, said })?;
        let effects = self.seat.hear(clock::now(), side, message)?;
        self.carry_out(effects)
    }

    /// What somebody has come to is kept and passed on, once.
    fn on_statement(&mut self, from: Side, statement: &Statement) -> Result<(), Failure> {
        let most = self.tally.most_from_one_side();
        let heard = self.side_mut(from);
        heard.statements += 1;
        if heard.statements > most {
            return self.lose(from, &Broken::TooMuch);
        }
        if self.tally.knows(statement.place, statement.verdict) {
            return Ok(());
        }
        match statement.counts(&self.ends.ring, self.sitting) {
            true => self.take(statement, Some(from)),
            false => self.lose(from, &Broken::Signature),
        }
    }

    fn take(&mut self, statement: &Statement, from: Option<Side>) -> Result<(), Failure> {
        if !self.tally.wants(statement) {
            return Ok(());
        }
        let entry = Entry::Statement(statement.clone());
        match from {
            Some(_) => self.transcript.note(&entry)?,
            None => {
                // The time is under its signature already.
                self.transcript.add(&entry)?;
                // Who is killed from now on can show what it has said.
                self.transcript.sync()?;
            }
        }
        self.tally.keep(statement);
        self.news = clock::now();
        for side in Side::BOTH {
            if from != Some(side) {
                let frame = Frame::Statement(statement.clone());
                self.links.to(side).say(frame);
            }
        }
        Ok(())
    }

    /// A neighbour had to drop statements before it could know which of them count.
    fn on_again(&mut self, side: Side) {
        if !std::mem::replace(&mut self.side_mut(side).has_asked_again, true) {
            for statement in self.tally.agreeing() {
                let frame = Frame::Statement(statement.clone());
                self.links.to(side).say(frame);
            }
        }
    }

    /// An answer is overdue, or still so after the last call; unless even that was slept through.
    fn on_overdue(&mut self) -> Result<(), Failure> {
        let now = clock::now();
        match self.last_call {
            Some(end) if now < end + LAST_CALL => self.on_silence(),
            Some(_) | None => {
                self.last_call = Some(now + LAST_CALL);
                Ok(())
            }
        }
    }

    fn on_silence(&mut self) -> Result<(), Failure> {
        self.transcript.note(&Entry::Silence)?;
        let effects = self.seat.ring_out(clock::now())?;
        self.carry_out(effects)
    }

    fn on_stop(&mut self) -> Result<(), Failure> {
        self.transcript.note(&Entry::Withdrew)?;
        let effects = self.seat.leave(clock::now())?;
        self.carry_out(effects)
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> Result<(), Failure> {
        let mut verdict = None;
        for effect in effects {
            match effect {
                Effect::Drew { word, salt } => {
                    self.transcript.add(&Entry::Drew { word, salt })?;
                }
                Effect::Say { side, message } => {
                    let place = self.transcript.add(&Entry::Sent { side, message })?;
                    self.say(side, message, place);
                }
                Effect::Report(outcome) => verdict = self.weigh(outcome).or(verdict),
            }
        }
        match verdict {
            Some(verdict) => self.state(verdict),
            None => Ok(()),
        }
    }

    /// Says and signs what stands in the transcript at an entry, with the hash up to it.
    fn say(&mut self, side: Side, message: Message, (entry, head): (u64, Digest)) {
        let sent = self.side_mut(side);
        sent.sent += 1;
        let words = Words {
            number: sent.sent,
            entry,
            head,
            message,
        };
        let said = Said::sign(&self.ends.secret, &self.way_to(side), words);
        self.links.to(side).say(Frame::Said(said));
    }

    /// What an outcome comes to.
    fn weigh(&self, outcome: Outcome) -> Option<Verdict> {
        match outcome {
            Outcome::Nominee(leader) => Some(Verdict::Elected {
                leader: ring::place(leader.id),
                messages: self.left.sent,
            }),
            Outcome::Fault(fault) => Some(Verdict::Fault(fault)),
            Outcome::Standing { .. }
            | Outcome::Vacant
            | Outcome::DuplicateIdentity
            | Outcome::Council(_)
            | Outcome::TenureGained { .. }
            | Outcome::TenureLost { .. }
            | Outcome::TenureRefused(_) => None, // no part of a draw
        }
    }

    /// Signs what this member has come to, and with it its transcript, which must last before it does: what a disk refuses is
    /// not signed.
    fn state(&mut self, verdict: Verdict) -> Result<(), Failure> {
        self.transcript.tell_time()?;
        self.transcript.sync()?;
        self.verdict = Some(verdict);
        let statement = self.sign(verdict);
        self.take(&statement, None)?;
        if self.tally.has_dropped && matches!(verdict, Verdict::Elected { .. }) {
            for side in Side::BOTH {
                self.links.to(side).say(Frame::Again);
            }
        }
        Ok(())
    }

    /// Signs the whole transcript, with all that came after this member had come to something.
    fn close(&mut self) -> Result<(), Failure> {
        if let Some(verdict) = self.verdict {
            self.transcript.tell_time()?;
            let statement = self.sign(verdict);
            self.transcript.add(&Entry::Statement(statement))?;
        }
        Ok(self.transcript.sync()?)
    }

    fn sign(&self, verdict: Verdict) -> Statement {
        let (entry, head) = self.transcript.state();
        let conclusion = Conclusion {
            place: self.ends.place,
            entry,
            head,
            verdict,
        };
        Statement::sign(&self.ends.secret, &self.sitting, conclusion)
    }

    /// Something that a draw cannot do without failed here. Unless this member has signed what it came to, it is a fault: the
    /// others need not wait for it. There is no transcript that shows it.
    fn give_up(&mut self) {
        if self.tally.own().is_some() {
            return;
        }
        let fault = Fault {
            place: self.ends.place,
            round: (self.left.sent / u64::from(self.ends.ring.len())) as u32 + 1,
            cause: Cause::Withdrawn,
        };
        for side in Side::BOTH {
            self.say(side, Message::Fault, self.transcript.state());
            let statement = self.sign(Verdict::Fault(fault));
            self.links.to(side).say(Frame::Statement(statement));
        }
    }

    fn lose(&mut self, side: Side, why: &Broken) -> Result<(), Failure> {
        let name = &self.ends.neighbour(side).name;
        match self.verdict {
            None => tracing::warn!("the link to {name} is broken: {why}"),
            Some(_) => tracing::debug!("the link to {name} has ended: {why}"),
        }
        self.side_mut(side).broken = true;
        if side == Side::Right && self.verdict.is_none() {
            self.herald.call_right();
        }
        let why = why.to_string();
        Ok(self.transcript.note(&Entry::Broken { side, why })?)
    }

    /// Whether there is nothing left to wait for.
    fn is_done(&self) -> bool {
        let Some(verdict) = self.verdict else {
            return false;
        };
        self.tally.certified().is_some()
            || self.left.broken && self.right.broken
            || matches!(verdict, Verdict::Fault(_)) && self.tally.all_have_spoken()
    }

    /// When silence has lasted too long.
    fn due(&self) -> Option<Instant> {
        match self.verdict {
            None => self.last_call.or(self.seat.due()),
            Some(_) => Some(self.news + self.ends.ring.respond_within()),
        }
    }

    /// Brings the account up to date. Tells whether that changed anything but numbers.
    fn tell(&self, account: &mut Account) -> bool {
        let state = match self.verdict {
            None => State::Drawing,
            Some(Verdict::Elected { .. }) => State::Confirming,
            Some(Verdict::Fault(fault)) => {
                account.fault = Some(Evidence::new(&self.ends.ring, fault));
                State::Fault
            }
        };
        if let Some(Verdict::Elected { leader, .. }) = self.tally.own() {
            account.seen = Some(self.ends.ring.member(leader).name.clone());
        }
        let members = u64::from(self.ends.ring.len());
        account.basic_rounds = match self.verdict {
            Some(Verdict::Elected { messages, .. }) => (messages / members) as u32,
            Some(Verdict::Fault(fault)) => fault.round,
            None => self.left.sent.max(self.right.sent).div_ceil(members) as u32,
        };
        account.messages_sent = self.left.sent + self.right.sent;
        account.bytes_sent = self.links.meters().iter().map(Meter::read).sum();
        std::mem::replace(&mut account.state, state) != state
    }

    /// The account of a draw that is over.
    fn conclude(&self, account: &mut Account) {
        self.tell(account);
        let name = |place| self.ends.ring.member(place).name.clone();
        account.reports = self.reports().collect();
        match (self.tally.certified(), self.verdict) {
            (Some(leader), _) => {
                account.state = State::Elected;
                account.leader = Some(name(leader));
                account.reports.extend(account.fault.take());
            }
            (None, Some(Verdict::Elected { .. })) => {
                account.state = State::Unconfirmed;
                account.unconfirmed_by = self.tally.lacking().map(name).collect();
            }
            (None, Some(Verdict::Fault(_)) | None) => {}
        }
    }

    /// What others have signed that they noticed themselves.
    fn reports(&self) -> impl Iterator<Item = Evidence> {
        self.tally.of_others().filter_map(|it| match it.verdict {
            Verdict::Fault(fault) if !matches!(fault.cause, Cause::Told { .. }) => {
                Some(Evidence::new(&self.ends.ring, fault))
            }
            Verdict::Fault(_) | Verdict::Elected { .. } => None,
        })
    }

    fn way_to(&self, side: Side) -> Way {
        let Ends { ring, place, .. } = &self.ends;
        Way {
            sitting: self.sitting,
            from: *place,
            to: ring.neighbour(*place, side),
        }
    }

    fn way_from(&self, side: Side) -> Way {
        let way = self.way_to(side);
        Way {
            from: way.to,
            to: way.from,
            ..way
        }
    }

    fn side(&self, side: Side) -> &Traffic {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut Traffic {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }
}

/// Waits until `due`; for ever if there is no such time.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep(StdDuration::from_nanos((due - clock::now()).0)).await,
        None => std::future::pending().await,
    }
}
