//! A draw under way: connects the links, the protocol and the transcript of one member.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::time::Duration as StdDuration;

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;

use super::attestation::Attestation;
use super::bytes::Digest;
use super::connect::Herald;
use super::link::{Broken, Ends, Link, Meter};
use super::rendezvous::{Met, finish};
use super::result_votes::ResultVotes;
use super::ring::Sides;
use super::ring_driver::{Effect, NoRandomness, RingDriver, RingMember};
use super::signed::{
    Conclusion, Frame, LastHeard, LinkDirection, NumberedMessage, SignedMessage, Statement, Verdict,
};
use super::status::{DrawStatus, Evidence, State};
use super::transcript::{Entry, Header, Transcript, VERSION};
use hustings_system::clock;

/// A failure of this host that ends the draw.
pub(super) enum Failure {
    Randomness,
    Disk(io::Error),
}

impl From<NoRandomness> for Failure {
    fn from(NoRandomness: NoRandomness) -> Self {
        Self::Randomness
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

/// A draw under way.
pub(super) struct Session<P> {
    ends: Ends,
    links: Sides<Link>,
    /// The attestations of all members, by place.
    seated: Vec<Attestation>,
    /// The id of this session.
    session: Digest,
    traffic: Sides<Traffic>,
    ring_driver: RingDriver<P>,
    transcript: Transcript,
    herald: Herald,
    result_votes: ResultVotes,
    /// This member's last verdict.
    verdict: Option<Verdict>,
    /// The time of the last new statement. Counts once this member has a verdict.
    last_news: Instant,
    /// Set when an answer is overdue. Until this time, frames that have already arrived are still
    /// read.
    last_call: Option<Instant>,
}

/// The time that a member takes to read what has arrived before it complains of silence. The member
/// may itself have been stopped, or its host suspended, for longer than others may take to answer.
/// Their answers then wait unread, and the silence was its own.
const LAST_CALL: Duration = Duration::from_millis(50);

/// Counters of the traffic on one side.
#[derive(Default)]
struct Traffic {
    sent: u64,
    last_heard: LastHeard,
    /// The number of statements received.
    statements: usize,
    has_asked_again: bool,
    broken: bool,
}

impl<P: RingMember> Session<P> {
    pub(super) fn new(
        ends: Ends,
        gathered: Met,
        ring_driver: RingDriver<P>,
        transcript: Transcript,
        herald: Herald,
    ) -> Self {
        let result_votes = ResultVotes::new(ends.place, ends.ring.members.len());
        let Met { links, seated, session } = gathered;
        Self {
            ends,
            links,
            seated,
            session,
            traffic: Sides::default(),
            ring_driver,
            transcript,
            herald,
            result_votes,
            verdict: None,
            last_news: clock::now(),
            last_call: None,
        }
    }

    pub(super) async fn hold(
        mut self,
        status: &watch::Sender<DrawStatus>,
        stop: impl Future<Output = ()> + Unpin,
    ) -> Result<DrawStatus, Failure> {
        let held = self.draw(status, stop).await;
        if held.is_err() {
            self.give_up();
        }
        status.send_modify(|it| self.conclude(it));
        let meters = self.links.both().map(Link::meter);
        finish(self.links).await;
        status.send_modify(|it| it.bytes_sent = meters.iter().map(Meter::read).sum());
        held.map(|()| status.borrow().clone())
    }

    /// Withdraws before anything was drawn.
    pub(super) async fn leave(mut self) {
        self.give_up();
        finish(self.links).await;
    }

    async fn draw(
        &mut self,
        status: &watch::Sender<DrawStatus>,
        mut stop: impl Future<Output = ()> + Unpin,
    ) -> Result<(), Failure> {
        status.send_modify(|it| {
            it.state = State::Drawing;
            it.missing.clear();
        });
        self.begin()?;
        status.send_if_modified(|it| self.update(it));
        while !self.is_done() {
            let due = self.due();
            tokio::select! {
                frame = self.links.left.receive(), if !self.traffic.left.broken => self.on_frame(Side::Left, frame)?,
                frame = self.links.right.receive(), if !self.traffic.right.broken => self.on_frame(Side::Right, frame)?,
                () = until(due) => {
                    if self.verdict.is_some() {
                        break; // no statement came for the time allowed: the draw is over
                    }
                    self.on_overdue()?;
                }
                () = &mut stop => {
                    self.on_stop()?;
                    break;
                }
            }
            status.send_if_modified(|it| self.update(it));
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
            member: ring.name(self.ends.place).to_owned(),
        };
        self.transcript.add(&Entry::Transcript(header))?;
        let seated = std::mem::take(&mut self.seated);
        self.transcript.add(&Entry::Met(seated))?;
        self.transcript.note(&Entry::Began)?;
        // A full disk is noticed before the first message is sent.
        self.transcript.sync()?;
        let effects = self.ring_driver.start(clock::now())?;
        self.carry_out(effects)
    }

    fn on_frame(&mut self, side: Side, frame: Result<Frame, Broken>) -> Result<(), Failure> {
        match frame {
            Ok(Frame::SignedMessage(signed)) => self.on_message(side, signed),
            Ok(Frame::Statement(statement)) => self.on_statement(side, &statement),
            Ok(Frame::Again) => {
                self.on_again(side);
                Ok(())
            }
            Ok(Frame::Linked | Frame::Here(_) | Frame::Begun) => self.lose(side, &Broken::Nonsense),
            Err(why) => self.lose(side, &why),
        }
    }

    fn on_message(&mut self, side: Side, signed: SignedMessage) -> Result<(), Failure> {
        let key = &self.ends.neighbour(side).key;
        let is_next = self.traffic[side].last_heard.is_before(&signed);
        if !is_next || !signed.is_by(key, &self.direction_from(side)) {
            return self.lose(side, &Broken::Signature);
        }
        self.traffic[side].last_heard.advance(&signed);
        let message = signed.message;
        self.last_call = None;
        self.transcript.note(&Entry::Heard { side, signed })?;
        let effects = self.ring_driver.receive(clock::now(), side, message)?;
        self.carry_out(effects)
    }

    /// Keeps and forwards a member's statement, once.
    fn on_statement(&mut self, from: Side, statement: &Statement) -> Result<(), Failure> {
        let most = self.result_votes.most_from_one_side();
        let traffic = &mut self.traffic[from];
        traffic.statements += 1;
        if traffic.statements > most {
            return self.lose(from, &Broken::TooMuch);
        }
        if self.result_votes.knows(statement.place, statement.verdict) {
            return Ok(());
        }
        if statement.counts(&self.ends.ring, self.session) {
            self.take(statement, Some(from))
        } else {
            self.lose(from, &Broken::Signature)
        }
    }

    fn take(&mut self, statement: &Statement, from: Option<Side>) -> Result<(), Failure> {
        if !self.result_votes.wants(statement) {
            return Ok(());
        }
        let entry = Entry::Statement(statement.clone());
        match from {
            Some(_) => self.transcript.note(&entry)?,
            None => {
                // The signature already covers the time.
                self.transcript.add(&entry)?;
                // A member that is killed from now on can still show what it has signed.
                self.transcript.sync()?;
            }
        }
        self.result_votes.keep(statement);
        self.last_news = clock::now();
        for side in Side::BOTH {
            if from != Some(side) {
                let frame = Frame::Statement(statement.clone());
                self.links[side].send(frame);
            }
        }
        Ok(())
    }

    /// Resends statements, once, to a neighbour that dropped some before it had its own verdict and
    /// could tell which ones agree.
    fn on_again(&mut self, side: Side) {
        if !std::mem::replace(&mut self.traffic[side].has_asked_again, true) {
            for statement in self.result_votes.agreeing() {
                let frame = Frame::Statement(statement.clone());
                self.links[side].send(frame);
            }
        }
    }

    /// Handles an overdue answer. The first call grants a last chance to read, the second one
    /// complains of silence. If the process slept through that chance too, it is granted again.
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
        let effects = self.ring_driver.time_out(clock::now())?;
        self.carry_out(effects)
    }

    fn on_stop(&mut self) -> Result<(), Failure> {
        self.transcript.note(&Entry::Withdrew)?;
        let effects = self.ring_driver.leave(clock::now())?;
        self.carry_out(effects)
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> Result<(), Failure> {
        let mut verdict = None;
        for effect in effects {
            match effect {
                Effect::Drew { word, salt } => {
                    self.transcript.add(&Entry::Drew { word, salt })?;
                }
                Effect::Send { side, message } => {
                    let place = self.transcript.add(&Entry::Sent { side, message })?;
                    self.send(side, message, place);
                }
                Effect::Report(outcome) => {
                    verdict = Verdict::of(outcome, self.traffic.left.sent).or(verdict);
                }
            }
        }
        match verdict {
            Some(verdict) => self.sign_verdict(verdict),
            None => Ok(()),
        }
    }

    /// Signs and sends the message at an entry of the transcript, with the hash up to that entry.
    fn send(&mut self, side: Side, message: Message, (entry, head): (u64, Digest)) {
        let traffic = &mut self.traffic[side];
        traffic.sent += 1;
        let numbered = NumberedMessage { number: traffic.sent, entry, head, message };
        let signed = SignedMessage::sign(&self.ends.secret, &self.direction_to(side), numbered);
        self.links[side].send(Frame::SignedMessage(signed));
    }

    /// Signs this member's verdict and with it the transcript. The transcript is synced to disk
    /// first: what the disk refuses is not signed.
    fn sign_verdict(&mut self, verdict: Verdict) -> Result<(), Failure> {
        self.transcript.add_time()?;
        self.transcript.sync()?;
        self.verdict = Some(verdict);
        let statement = self.sign(verdict);
        self.take(&statement, None)?;
        if self.result_votes.has_dropped && matches!(verdict, Verdict::Elected { .. }) {
            for side in Side::BOTH {
                self.links[side].send(Frame::Again);
            }
        }
        Ok(())
    }

    /// Signs the whole transcript, including everything after this member's verdict.
    fn close(&mut self) -> Result<(), Failure> {
        if let Some(verdict) = self.verdict {
            self.transcript.add_time()?;
            let statement = self.sign(verdict);
            self.transcript.add(&Entry::Statement(statement))?;
        }
        Ok(self.transcript.sync()?)
    }

    fn sign(&self, verdict: Verdict) -> Statement {
        let (entry, head) = self.transcript.state();
        let conclusion = Conclusion { place: self.ends.place, entry, head, verdict };
        Statement::sign(&self.ends.secret, &self.session, conclusion)
    }

    /// Withdraws because this host failed, unless this member has already signed a verdict. The
    /// withdrawal is a fault, so that the others need not wait. No transcript shows it.
    fn give_up(&mut self) {
        if self.result_votes.own().is_some() {
            return;
        }
        let fault = Fault {
            place: self.ends.place,
            round: (self.traffic.left.sent / u64::from(self.ends.ring.len())) as u32 + 1,
            cause: FaultCause::Withdrawn,
        };
        for side in Side::BOTH {
            self.send(side, Message::Fault, self.transcript.state());
            let statement = self.sign(Verdict::Fault(fault));
            self.links[side].send(Frame::Statement(statement));
        }
    }

    fn lose(&mut self, side: Side, why: &Broken) -> Result<(), Failure> {
        let name = &self.ends.neighbour(side).name;
        match self.verdict {
            None => tracing::warn!("the link to {name} is broken: {why}"),
            Some(_) => tracing::debug!("the link to {name} has ended: {why}"),
        }
        self.traffic[side].broken = true;
        if side == Side::Right && self.verdict.is_none() {
            self.herald.call_right();
        }
        let why = why.to_string();
        Ok(self.transcript.note(&Entry::Broken { side, why })?)
    }

    /// True if there is nothing left to wait for.
    fn is_done(&self) -> bool {
        let Some(verdict) = self.verdict else {
            return false;
        };
        self.result_votes.certified().is_some()
            || self.traffic.left.broken && self.traffic.right.broken
            || matches!(verdict, Verdict::Fault(_)) && self.result_votes.all_have_spoken()
    }

    /// The time at which silence has lasted too long.
    fn due(&self) -> Option<Instant> {
        match self.verdict {
            None => self.last_call.or(self.ring_driver.due()),
            Some(_) => Some(self.last_news + self.ends.ring.respond_within()),
        }
    }

    /// Updates the status. Returns true if the stage changed, not just a counter.
    fn update(&self, status: &mut DrawStatus) -> bool {
        let state = match self.verdict {
            None => State::Drawing,
            Some(Verdict::Elected { .. }) => State::Confirming,
            Some(Verdict::Fault(fault)) => {
                status.fault = Some(Evidence::new(&self.ends.ring, fault));
                State::Fault
            }
        };
        if let Some(Verdict::Elected { leader, .. }) = self.result_votes.own() {
            status.seen = Some(self.ends.ring.name(leader).to_owned());
        }
        let members = u64::from(self.ends.ring.len());
        let Sides { left, right } = &self.traffic;
        status.basic_rounds = match self.verdict {
            Some(Verdict::Elected { messages, .. }) => (messages / members) as u32,
            Some(Verdict::Fault(fault)) => fault.round,
            None => left.sent.max(right.sent).div_ceil(members) as u32,
        };
        status.messages_sent = left.sent + right.sent;
        status.bytes_sent = self.links.both().iter().map(|it| it.meter().read()).sum();
        std::mem::replace(&mut status.state, state) != state
    }

    /// Completes the status of a draw that is over.
    fn conclude(&self, status: &mut DrawStatus) {
        self.update(status);
        let name = |place| self.ends.ring.name(place).to_owned();
        status.reports = self.reports().collect();
        match (self.result_votes.certified(), self.verdict) {
            (Some(leader), _) => {
                status.state = State::Elected;
                status.leader = Some(name(leader));
                status.reports.extend(status.fault.take());
            }
            (None, Some(Verdict::Elected { .. })) => {
                status.state = State::Unconfirmed;
                status.unconfirmed_by = self.result_votes.lacking().map(name).collect();
            }
            (None, Some(Verdict::Fault(_)) | None) => {}
        }
    }

    /// Faults that other members noticed themselves and signed.
    fn reports(&self) -> impl Iterator<Item = Evidence> {
        self.result_votes.of_others().filter_map(|it| match it.verdict {
            Verdict::Fault(fault) if !matches!(fault.cause, FaultCause::Told { .. }) => {
                Some(Evidence::new(&self.ends.ring, fault))
            }
            Verdict::Fault(_) | Verdict::Elected { .. } => None,
        })
    }

    fn direction_to(&self, side: Side) -> LinkDirection {
        let Ends { ring, place, .. } = &self.ends;
        LinkDirection { session: self.session, from: *place, to: ring.neighbour(*place, side) }
    }

    fn direction_from(&self, side: Side) -> LinkDirection {
        let LinkDirection { session, from, to } = self.direction_to(side);
        LinkDirection { session, from: to, to: from }
    }
}

/// Waits until `due`, or for ever if it is `None`.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep(StdDuration::from_nanos((due - clock::now()).0)).await,
        None => std::future::pending().await,
    }
}
