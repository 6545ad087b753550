//! A draw under way: between the links, the protocol and the transcript of one member.

use std::future::Future;
use std::io;
use std::time::Duration as StdDuration;

use hustings_protocol::wagner::fault::{Cause, Side};
use hustings_protocol::{Instant, Outcome};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::account::{Account, Evidence, State};
use super::gathering::Links;
use super::link::{Broken, Ends};
use super::ring;
use super::said::{Frame, Said, Statement, Verdict, Way};
use super::seat::{Effect, NoChance, Player, Seat, System};
use super::transcript::{Entry, Header, Transcript, VERSION};
use crate::clock;

/// How long neighbours may take to hear the last words.
const LAST_WORDS_WITHIN: StdDuration = StdDuration::from_secs(2);

/// An honest member needs two statements: whom it saw elected, and a fault that it was told of later.
const MOST_STATEMENTS: usize = 2;

/// What ends a draw without a word.
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
    left: Traffic,
    right: Traffic,
    seat: Seat<P, System>,
    transcript: Transcript,
    /// What each member has signed, by place.
    statements: Vec<Vec<Statement>>,
    /// What this member has come to, last.
    verdict: Option<Verdict>,
    /// The last time that somebody's statement was new, once this member has come to something.
    news: Instant,
}

/// What passed on one side.
#[derive(Default)]
struct Traffic {
    sent: u64,
    heard: u64,
    /// The entry of the neighbour's transcript that was heard of last.
    entry: Option<u64>,
    broken: bool,
}

impl<P: Player> Sitting<P> {
    pub(super) fn new(
        ends: Ends,
        links: Links,
        seat: Seat<P, System>,
        transcript: Transcript,
    ) -> Self {
        let statements = vec![Vec::new(); ends.ring.members.len()];
        Self {
            ends,
            links,
            left: Traffic::default(),
            right: Traffic::default(),
            seat,
            transcript,
            statements,
            verdict: None,
            news: clock::now(),
        }
    }

    pub(super) async fn hold(
        mut self,
        account: &watch::Sender<Account>,
        mut stop: impl Future<Output = ()> + Unpin,
    ) -> Result<Account, Failure> {
        self.begin()?;
        account.send_modify(|it| it.state = State::Drawing);
        while !self.is_done() {
            let due = self.due();
            tokio::select! {
                frame = self.links.left.hear(), if !self.left.broken => self.on_frame(Side::Left, frame)?,
                frame = self.links.right.hear(), if !self.right.broken => self.on_frame(Side::Right, frame)?,
                () = until(due) => {
                    if self.verdict.is_some() {
                        break; // nobody has anything to say any more
                    }
                    self.on_silence()?;
                }
                () = &mut stop => {
                    self.on_stop()?;
                    break;
                }
            }
            if self.verdict.is_some() {
                account.send_if_modified(|it| self.tell(it));
            }
        }
        self.close()?;
        account.send_modify(|it| self.conclude(it));
        let Links { left, right } = self.links;
        let last_words = async { tokio::join!(left.finish(), right.finish()) };
        // Whoever has not heard by then will not.
        let _ = timeout(LAST_WORDS_WITHIN, last_words).await;
        Ok(account.borrow().clone())
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
        for side in Side::BOTH {
            let session = self.links.to(side).session;
            self.transcript.add(&Entry::Opened { side, session })?;
        }
        self.transcript.add(&Entry::Began)?;
        // A disk that is full is full before anything is said.
        self.transcript.sync()?;
        let effects = self.seat.begin(clock::now())?;
        self.carry_out(effects)
    }

    fn on_frame(&mut self, side: Side, frame: Result<Frame, Broken>) -> Result<(), Failure> {
        match frame {
            Ok(Frame::Said(said)) => self.on_said(side, said),
            Ok(Frame::Statement(statement)) => self.on_statement(Some(side), &statement),
            Ok(Frame::Ready(_)) => {
                self.lose(side, &Broken::Nonsense);
                Ok(())
            }
            Err(why) => {
                self.lose(side, &why);
                Ok(())
            }
        }
    }

    fn on_said(&mut self, side: Side, said: Said) -> Result<(), Failure> {
        let key = &self.ends.neighbour(side).key;
        let heard = self.side(side);
        let is_next =
            said.number == heard.heard + 1 && heard.entry.is_none_or(|it| it < said.entry);
        if !is_next || !said.is_signed(key, &self.way_from(side)) {
            self.lose(side, &Broken::Signature);
            return Ok(());
        }
        let heard = self.side_mut(side);
        heard.heard = said.number;
        heard.entry = Some(said.entry);
        let message = said.message;
        self.transcript.add(&Entry::Heard { side, said })?;
        let effects = self.seat.hear(clock::now(), side, message)?;
        self.carry_out(effects)
    }

    /// What somebody has come to is kept and passed on, once.
    fn on_statement(&mut self, from: Option<Side>, statement: &Statement) -> Result<(), Failure> {
        if !statement.is_signed(&self.ends.ring, self.ends.digest) {
            if let Some(side) = from {
                self.lose(side, &Broken::Signature);
            }
            return Ok(());
        }
        let known = &mut self.statements[statement.place as usize];
        if known.contains(statement) || known.len() == MOST_STATEMENTS {
            return Ok(());
        }
        known.push(statement.clone());
        self.transcript.add(&Entry::Statement(statement.clone()))?;
        self.news = clock::now();
        for side in Side::BOTH {
            if from != Some(side) {
                let frame = Frame::Statement(statement.clone());
                self.links.to(side).say(frame);
            }
        }
        Ok(())
    }

    fn on_silence(&mut self) -> Result<(), Failure> {
        self.transcript.add(&Entry::Silence)?;
        let effects = self.seat.ring_out(clock::now())?;
        self.carry_out(effects)
    }

    fn on_stop(&mut self) -> Result<(), Failure> {
        self.transcript.add(&Entry::Withdrew)?;
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
                    let (entry, head) = self.transcript.add(&Entry::Sent { side, message })?;
                    let sent = self.side_mut(side);
                    sent.sent += 1;
                    let place = (sent.sent, entry, head);
                    let said = Said::sign(&self.ends.secret, &self.way_to(side), place, message);
                    self.links.to(side).say(Frame::Said(said));
                }
                Effect::Report(outcome) => verdict = self.weigh(outcome).or(verdict),
            }
        }
        match verdict {
            Some(verdict) => self.state(verdict),
            None => Ok(()),
        }
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

    /// Signs what this member has come to, and with it its transcript, which must last before it says so.
    fn state(&mut self, verdict: Verdict) -> Result<(), Failure> {
        self.transcript.sync()?;
        self.verdict = Some(verdict);
        let statement = self.sign(verdict);
        self.on_statement(None, &statement)
    }

    /// Signs the whole transcript, with all that came after this member had come to something.
    fn close(&mut self) -> Result<(), Failure> {
        if let Some(verdict) = self.verdict {
            let statement = self.sign(verdict);
            self.transcript.add(&Entry::Statement(statement))?;
        }
        Ok(self.transcript.sync()?)
    }

    fn sign(&self, verdict: Verdict) -> Statement {
        let Ends {
            secret,
            digest,
            place,
            ..
        } = &self.ends;
        Statement::sign(secret, *digest, *place, self.transcript.state(), verdict)
    }

    fn lose(&mut self, side: Side, why: &Broken) {
        let name = &self.ends.neighbour(side).name;
        match self.verdict {
            None => tracing::warn!("the link to {name} is broken: {why}"),
            Some(_) => tracing::debug!("the link to {name} has ended: {why}"),
        }
        self.side_mut(side).broken = true;
    }

    /// Whether there is nothing left to wait for.
    fn is_done(&self) -> bool {
        let Some(verdict) = self.verdict else {
            return false;
        };
        let all_have_spoken = || self.statements.iter().all(|it| !it.is_empty());
        self.certified().is_some()
            || self.left.broken && self.right.broken
            || matches!(verdict, Verdict::Fault(_)) && all_have_spoken()
    }

    /// When silence has lasted too long.
    fn due(&self) -> Option<Instant> {
        match self.verdict {
            None => self.seat.due(),
            Some(_) => Some(self.news + self.ends.ring.respond_within()),
        }
    }

    /// The place of who is elected, if all members have signed it. A fault that somebody reports after that changes nothing:
    /// all have seen the same.
    fn certified(&self) -> Option<u32> {
        let own = self.statements[self.ends.place as usize].first()?.verdict;
        let Verdict::Elected { leader, .. } = own else {
            return None;
        };
        let mut all = self.statements.iter();
        all.all(|it| it.iter().any(|one| one.verdict == own))
            .then_some(leader)
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
        std::mem::replace(&mut account.state, state) != state
    }

    /// The account of a draw that is over.
    fn conclude(&self, account: &mut Account) {
        self.tell(account);
        let name = |place| self.ends.ring.member(place).name.clone();
        match (self.certified(), self.verdict) {
            (Some(leader), _) => {
                account.state = State::Elected;
                account.leader = Some(name(leader));
            }
            (None, Some(own @ Verdict::Elected { .. })) => {
                account.state = State::Unconfirmed;
                let lacks = |it: &&Vec<Statement>| it.iter().all(|one| one.verdict != own);
                let missing = (0..).zip(&self.statements).filter(|(_, it)| lacks(it));
                account.unconfirmed_by = missing.map(|(place, _)| name(place)).collect();
            }
            (None, Some(Verdict::Fault(_)) | None) => {}
        }
        account.reports = self.reports().collect();
        let members = u64::from(self.ends.ring.len());
        account.basic_rounds = match self.verdict {
            Some(Verdict::Elected { messages, .. }) => (messages / members) as u32,
            Some(Verdict::Fault(fault)) => fault.round,
            None => 0,
        };
        account.messages_sent = self.left.sent + self.right.sent;
        account.bytes_sent = self.links.left.written() + self.links.right.written();
    }

    /// What others have signed that they noticed themselves.
    fn reports(&self) -> impl Iterator<Item = Evidence> {
        let others = self.statements.iter().flatten();
        let others = others.filter(|it| it.place != self.ends.place);
        others.filter_map(|it| match it.verdict {
            Verdict::Fault(fault) if !matches!(fault.cause, Cause::Told { .. }) => {
                Some(Evidence::new(&self.ends.ring, fault))
            }
            Verdict::Fault(_) | Verdict::Elected { .. } => None,
        })
    }

    fn way_to(&self, side: Side) -> Way {
        let Ends {
            ring,
            digest,
            place,
            ..
        } = &self.ends;
        Way {
            ring: *digest,
            session: self.links.to(side).session,
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
