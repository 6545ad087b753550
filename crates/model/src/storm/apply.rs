//! The application of faults, and the end of their effects.

use hustings_protocol::tenure::counter::COUNT_BITS;
use hustings_protocol::tenure::{Ballot, BallotOwner, Message, Refused, Request, Saved};
use hustings_protocol::{Input, MemberId};

use super::clock::Micros;
use super::fault::{Fault, Kind, Profile};
use super::judge::{Broken, Holder};
use super::log::Brief;
use super::machine::{Condition, Death, Disk};
use super::network_faults::NetworkFaults;
use super::storm_run::{Scheduled, StormRun};
use super::tally::Count;
use crate::{Answer, Sut};

/// The time after which the operator tries again to initialise a voter.
const INITIALISED_AFTER: Micros = 1_000_000;
/// Maximum number of recorded answers per voter.
const MOST_RECORDED: usize = 16;
/// Counters that could exhaust the counter space: of this era, of a later one, of the last, of
/// none.
const MADE_UP: [u64; 4] = [1 << 47, 1 << COUNT_BITS, i64::MAX as u64, u64::MAX];
/// Maximum number of effects before a member dies within a step: as many as the longest step has.
const MOST_EFFECTS: u64 = 7;

impl<S: Sut> StormRun<S> {
    pub(super) fn apply(&mut self, fault: Fault) -> Result<(), Broken> {
        let Fault { kind, lasts, how, .. } = fault;
        match kind {
            Kind::Crash => self.crash_now(self.whom(fault), lasts),
            Kind::Die => self.doom(self.whom(fault), how, lasts, Disk::Stays),
            Kind::LoseDisk => self.destroy_disk(fault),
            Kind::Pause => self.pause(self.whom(fault), Condition::Paused, lasts),
            Kind::Sleep => self.pause(self.whom(fault), Condition::Asleep, lasts),
            Kind::Divide => self.divide(how, lasts),
            Kind::CutOneWay => self.cut_one_way(self.whom(fault), how, lasts),
            Kind::NetworkFaults => self.change_network_faults(),
            Kind::Rate => self.change_rate(self.whom(fault), how),
            Kind::Configure => self.configure(self.whom(fault), how),
            Kind::Ring => return self.ring_early(self.whom(fault), how),
            Kind::Acquire => return self.request(fault, Request::Acquire),
            Kind::Withdraw => return self.request(fault, Request::Withdraw),
            Kind::Release => return self.request(fault, Request::Release),
            Kind::Transfer => {
                let to = MemberId(self.group.nominee(how) as u64);
                return self.request(fault, Request::Transfer { to });
            }
            Kind::Sicken => return self.request(fault, Request::Healthy(false)),
            Kind::Recover => return self.request(fault, Request::Healthy(true)),
            Kind::Leave => return self.leave(self.whom(fault), lasts),
            Kind::Forge => return self.forge(self.whom(fault), how),
        }
        Ok(())
    }

    /// The target of a fault: the holder, or any member.
    fn whom(&self, fault: Fault) -> usize {
        let holder = self.judge.holder(self.now).filter(|_| fault.is_aimed);
        let anyone = (fault.whom % self.machines.len() as u64) as usize;
        holder.map_or(anyone, |it| it.member)
    }

    fn is_up(&self, who: usize) -> bool {
        self.machines[who].condition == Condition::Up
    }

    /// The present incarnation of a member.
    fn incarnation(&self, who: usize) -> Holder {
        Holder { member: who, incarnation: self.machines[who].incarnation }
    }

    fn request(&mut self, fault: Fault, request: Request) -> Result<(), Broken> {
        let holder = self.judge.holder(self.now);
        let who = match holder.filter(|_| fault.is_aimed) {
            Some(holder) => holder.member,
            None => self.group.nominee(fault.whom),
        };
        if !self.is_up(who) {
            return Ok(());
        }
        if self.machines[who].held.is_some() && holder == Some(self.incarnation(who)) {
            match request {
                Request::Release => self.tally.note(Count::Releases),
                Request::Transfer { to } => {
                    self.tally.note(Count::Transfers);
                    self.heir = Some(to.0 as usize);
                }
                Request::Acquire | Request::Withdraw | Request::Healthy(_) => {}
            }
        }
        self.ask(who, request)
    }

    fn crash_now(&mut self, who: usize, lasts: Micros) {
        if self.machines[who].condition != Condition::Down {
            self.crash(who, lasts);
        }
    }

    /// Crashes a member for `lasts`.
    pub(super) fn crash(&mut self, who: usize, lasts: Micros) {
        self.log.note(self.now, || format!("{who}  is down"));
        if self.group.votes(who) {
            self.tally.note(Count::VoterCrashes);
        }
        if self.group.stands(who) {
            self.tally.note(Count::NomineeCrashes);
        }
        self.end_incarnation(who, lasts);
    }

    /// Ends an incarnation; the next begins after `lasts`. The tenure that it held expires in its
    /// absence.
    fn end_incarnation(&mut self, who: usize, lasts: Micros) {
        let incarnation = self.incarnation(who);
        self.judge.lose(incarnation);
        self.machines[who].stop();
        self.expect(who);
        self.enter(lasts, Scheduled::Restart(incarnation));
    }

    fn doom(&mut self, who: usize, how: u64, lasts: Micros, disk: Disk) {
        if self.is_up(who) {
            let after = (how % (MOST_EFFECTS + 1)) as u32;
            self.log.note(self.now, || {
                format!("{who}  will die in its next step, after {after} effects")
            });
            self.machines[who].death = Some(Death { after, lasts, disk });
        }
    }

    /// The end of a step in which a member dies.
    pub(super) fn die(&mut self, who: usize, death: Death) {
        self.tally.note(Count::Deaths);
        match death.disk {
            Disk::Stays => {}
            Disk::GoesToo => self.lose_disk(who),
        }
        self.crash(who, death.lasts);
    }

    /// Loses a disk at once, or just after the voter has saved and sent a promise.
    fn destroy_disk(&mut self, fault: Fault) {
        let Fault { whom, how, lasts, .. } = fault;
        let who = (whom % self.group.voters as u64) as usize;
        if how & 1 == 0 {
            self.doom(who, how >> 1, lasts, Disk::GoesToo);
        } else if self.is_up(who) {
            self.lose_disk(who);
            self.crash(who, lasts);
        }
    }

    /// Loses the disk of a voter, unless too few voters with a disk would be left: a majority must
    /// be able to report the promises.
    fn lose_disk(&mut self, who: usize) {
        let voters = &self.machines[..self.group.voters];
        let is_lost = |disk| disk == Some(Saved::Missing);
        let lost = voters.iter().filter(|machine| is_lost(machine.disk)).count();
        if lost + self.group.majority() < self.group.voters {
            self.tally.note(Count::LostDisks);
            self.log.note(self.now, || format!("{who}  loses its disk"));
            self.machines[who].disk = Some(Saved::Missing);
        }
    }

    pub(super) fn restart(&mut self, whose: Holder) -> Result<(), Broken> {
        let who = whose.member;
        if self.incarnation(who) != whose {
            return Ok(()); // it has restarted already
        }
        if self.machines[who].disk == Some(Saved::Missing) {
            self.initialise(who);
        }
        if self.members.happens(50) {
            let how = self.members.number();
            self.configure(who, how);
        }
        self.start(who)?;
        if self.machines[who].disk == Some(Saved::Missing) {
            self.enter(INITIALISED_AFTER, Scheduled::Restart(self.incarnation(who)));
        }
        Ok(())
    }

    /// Initialises a voter whose disk was lost, if a majority of voters can be asked: the majority
    /// that knows least. Answers to its earlier queries were recorded, and arrive first.
    fn initialise(&mut self, who: usize) {
        let asker = MemberId(who as u64);
        let number = self.machines[who].incarnation.into();
        let ids = (0..self.group.voters as u64).map(MemberId);
        let told = ids.clone().zip(&self.machines).filter_map(|(voter, machine)| {
            Some(Answer { voter, asker, number, promised: machine.promised()? })
        });
        let mut told: Vec<Answer> = told.collect();
        told.sort_unstable_by_key(|answer| answer.promised);
        let answers = self.recorded.iter().chain(&told).copied();
        let highest = S::told(asker, ids.collect(), number, answers);
        let recorded = self.recorded.iter().filter(|it| it.asker == asker).count();
        if recorded < MOST_RECORDED {
            self.recorded.extend(told);
        }
        let Some(highest) = highest else {
            return;
        };
        let durable = (self.operator)(highest, self.group.most_ttl());
        self.tally.note(Count::Replaced);
        self.machines[who].disk = Some(Saved::Initialised(durable));
    }

    fn pause(&mut self, who: usize, condition: Condition, lasts: Micros) {
        if !self.is_up(who) {
            return;
        }
        self.tally.note(match condition {
            Condition::Asleep => Count::Sleeps,
            Condition::Up | Condition::Paused | Condition::Down => Count::Pauses,
        });
        self.tally.longest.pause = self.tally.longest.pause.max(lasts);
        self.log.note(self.now, || format!("{who}  is {condition:?}"));
        self.machines[who].condition = condition;
        self.expect(who);
        self.enter(lasts, Scheduled::Resume(self.incarnation(who)));
    }

    /// Resumes a member. All waiting messages arrive at once.
    pub(super) fn resume(&mut self, whose: Holder) {
        let who = whose.member;
        let stopped = [Condition::Paused, Condition::Asleep];
        if self.incarnation(who) != whose || !stopped.contains(&self.machines[who].condition) {
            return; // it crashed meanwhile
        }
        self.log.note(self.now, || format!("{who}  goes on"));
        self.machines[who].condition = Condition::Up;
        let mut waiting = std::mem::take(&mut self.machines[who].waiting);
        for datagram in waiting.drain(..) {
            self.in_flight.push(self.now, datagram);
        }
        self.machines[who].waiting = waiting;
        self.expect(who);
    }

    fn divide(&mut self, how: u64, lasts: Micros) {
        let side = how as u16;
        self.tally.note(Count::Divisions);
        self.log.note(self.now, || {
            let one: Vec<usize> =
                (0..self.machines.len()).filter(|who| side & 1 << who != 0).collect();
            format!("cut: {one:?} from all others")
        });
        self.cuts.divide(side);
        self.enter(lasts, Scheduled::Heal);
    }

    fn cut_one_way(&mut self, who: usize, how: u64, lasts: Micros) {
        let other = (how >> 1) as usize % self.machines.len();
        let (from, to) = match how & 1 {
            0 => (who, other),
            _ => (other, who),
        };
        self.tally.note(Count::OneWayCuts);
        self.log.note(self.now, || format!("cut: {to} does not hear {from}"));
        self.cuts.cut_one_way(from, to);
        self.enter(lasts, Scheduled::Heal);
    }

    fn change_network_faults(&mut self) {
        self.network_faults = NetworkFaults::draw(Profile::Any, self.faults.chance());
        self.log.note(self.now, || format!("{:?}", self.network_faults));
    }

    fn change_rate(&mut self, who: usize, how: u64) {
        let rate_ppm = self.group.rate_ppm(who, how);
        self.tally.note(Count::Rates);
        self.log.note(self.now, || format!("{who}  its clock goes at {rate_ppm} ppm"));
        let machine = &mut self.machines[who];
        machine.change_rate(self.now, rate_ppm);
        self.judge.reckon(self.now, who, &machine.clock);
        self.expect(who);
    }

    fn configure(&mut self, who: usize, how: u64) {
        self.tally.note(Count::Configurations);
        let config = &mut self.machines[who].config;
        (config.ttl, config.max_ttl) = self.group.ttls(how);
        let (ttl, max_ttl) = (config.ttl.0, config.max_ttl.0);
        self.log.note(self.now, || format!("{who}  ttl {ttl}, max_ttl {max_ttl}"));
    }

    fn ring_early(&mut self, who: usize, how: u64) -> Result<(), Broken> {
        if !self.is_up(who) {
            return Ok(());
        }
        match self.machines[who].ring_early(how) {
            None => Ok(()),
            Some(timer) => {
                self.tally.note(Count::Rings);
                self.log.note(self.now, || format!("{who}  {timer:?} rings early"));
                self.step(who, Input::Timer(timer))
            }
        }
    }

    /// Lets a member leave in good order. It gets no further input, but the tenure that it holds
    /// expires only at its deadline.
    fn leave(&mut self, who: usize, lasts: Micros) -> Result<(), Broken> {
        if !self.is_up(who) {
            return Ok(());
        }
        self.tally.note(Count::Leaves);
        self.log.note(self.now, || format!("{who}  leaves"));
        self.step(who, Input::Leave)?;
        if self.is_up(who) {
            self.end_incarnation(who, lasts);
        }
        Ok(())
    }

    /// Delivers a forged message in the name of another member: of a nominee, of a voter that
    /// refuses the last question, or of a holder that hands over.
    fn forge(&mut self, who: usize, how: u64) -> Result<(), Broken> {
        if !self.is_up(who) {
            return Ok(());
        }
        let counter = MADE_UP[(how % 4) as usize];
        let from = MemberId((how >> 2) % self.machines.len() as u64);
        let owner = BallotOwner { id: from, number: how };
        let ballot = Ballot { counter, owner };
        let message = match ((how >> 32) % 4, self.asked[who]) {
            (0, _) => Message::Prepare { ballot },
            (1, _) => Message::Propose { ballot, number: 1, ttl: self.machines[who].config.ttl },
            (2, Some((ballot, question))) => {
                Message::Refusal { ballot, question, promised: counter, refused: Refused::Outrun }
            }
            (_, _) => Message::Handover { released: ballot },
        };
        self.tally.note(Count::Forgeries);
        let said = Brief(&message);
        self.log.note(self.now, || format!("{from} -> {who}  {said} (forged)"));
        self.step(who, Input::Message { from, message })
    }
}
