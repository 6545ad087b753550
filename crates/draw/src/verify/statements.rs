//! Checks of the members' signed conclusions. They are compared with the transcripts and with each
//! other, and show faults that no signature proves.

mod silence;

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_theory::wagner::stall::{StallLimit, false_alarm};

use super::conduct;
use super::neighbour_comparison::cut_off;
use super::reading::Reading;
use super::{Finding, Weight, verdict_in_words};
use crate::ring::Ring;
use crate::signed::{Statement, Verdict};
use crate::status::in_a_row;
use crate::transcript::Entry;

/// A leader that was elected, and the number of messages that it took.
type Elected = (u32, u64);

/// The statements of all members in one session, collected from its transcripts.
pub(super) struct Statements<'r> {
    ring: &'r Ring,
    readings: &'r [Option<Reading>],
    /// Statements by place, in the order in which they were signed.
    by_place: Vec<Vec<&'r Statement>>,
}

impl<'r> Statements<'r> {
    pub(super) fn new(ring: &'r Ring, readings: &'r [Option<Reading>]) -> Self {
        let mut by_place = vec![Vec::new(); ring.members.len()];
        for statement in readings.iter().flatten().flat_map(Reading::statements) {
            // a valid statement names a place on the ring
            by_place[statement.place as usize].push(statement);
        }
        for own in &mut by_place {
            own.sort_by_key(|it| it.entry);
        }
        Self { ring, readings, by_place }
    }

    /// True if the member at `place` has signed a statement.
    pub(super) fn is_signed_by(&self, place: u32) -> bool {
        !self.by_place[place as usize].is_empty()
    }

    /// The elected leader, if all members signed the same result. A member may have signed another
    /// result as well, which changes nothing.
    pub(super) fn leader(&self) -> Option<u32> {
        self.elected().find(|it| self.lacking(*it).next().is_none()).map(|(leader, _)| leader)
    }

    /// All findings, including open results.
    ///
    /// `is_sound` is true at a place whose member hands in a transcript that an honest member could
    /// have.
    pub(super) fn check(&self, is_sound: &[bool]) -> Vec<Finding> {
        let places = || 0..self.ring.len();
        let holders = self.readings.iter().flatten();
        let mut found: Vec<Finding> = holders.filter_map(|it| self.misfit(it)).collect();
        found.extend(places().filter_map(|place| self.contradiction(place)));
        found.extend(places().filter_map(|place| self.withdrawal(place)));
        found.extend(places().flat_map(|place| self.silences(place)));
        found.extend(self.stall(is_sound));
        found.extend(places().filter_map(|place| self.secret_fault(place)));
        found.extend(places().filter_map(|place| self.another_result(place, is_sound)));
        found.extend(self.unsigned(is_sound));
        found
    }

    fn names(&self, places: &[u32]) -> String {
        let names: Vec<&str> = places.iter().map(|it| self.ring.name(*it)).collect();
        names.join(" and ")
    }

    /// A finding about a statement of `holder` that others received but that its own transcript
    /// does not contain.
    fn misfit(&self, holder: &Reading) -> Option<Finding> {
        let fits = |it: &Statement| {
            let at = it.entry as usize;
            let last = at.checked_sub(1).and_then(|last| holder.heads.get(last));
            let is_there =
                matches!(holder.entries.get(at), Some(Entry::Statement(own)) if own == it);
            last == Some(&it.head) && is_there
        };
        let mut signed = self.by_place[holder.place as usize].iter();
        let misfit = signed.find(|it| !fits(it))?;
        let entries = misfit.entry;
        let name = self.ring.name(holder.place);
        if entries >= holder.entries.len() as u64 {
            return Some(cut_off(name, holder));
        }
        let what = format!(
            "signed a transcript of {entries} entries that differs from the one that it \
                     hands in"
        );
        Some(Finding::proven(name, what))
    }

    /// A finding about a member that signed two results. An honest member may sign the leader it
    /// saw elected, and later a fault that a neighbour reported.
    fn contradiction(&self, place: u32) -> Option<Finding> {
        let mut signed: Vec<Verdict> = Vec::new();
        for statement in &self.by_place[place as usize] {
            if !signed.contains(&statement.verdict) {
                signed.push(statement.verdict);
            }
        }
        let is_honest = match signed[..] {
            [] | [_] => true,
            [Verdict::Elected { .. }, Verdict::Fault(_)] => {
                let own = &self.by_place[place as usize];
                own.first().map(|it| it.entry) != own.last().map(|it| it.entry)
            }
            _ => false,
        };
        let signed: Vec<String> = signed
            .into_iter()
            .map(|it| format!("\"{}\"", verdict_in_words(self.ring, it)))
            .collect();
        let what =
            format!("signed several results where there can be only one: {}", signed.join(" and "));
        (!is_honest).then(|| Finding::proven(self.ring.name(place), what))
    }

    fn withdrawal(&self, place: u32) -> Option<Finding> {
        let fault = self.fault_of(place)?;
        let what = "withdrew before the draw ended, as it reports itself: it was stopped, or its \
                    host failed (disk, randomness). For any reason, that is a veto"
            .to_owned();
        (fault.cause == FaultCause::Withdrawn).then(|| Finding::proven(self.ring.name(place), what))
    }

    /// Findings about the limit on equal stages. If a sound transcript shows that the limit was
    /// reached, no member is blamed.
    fn stall(&self, is_sound: &[bool]) -> Vec<Finding> {
        let stages = |place: u32| match self.fault_of(place)?.cause {
            FaultCause::Stalled { stages } => Some(stages),
            _ => None,
        };
        let says: Vec<(u32, u32)> =
            (0..self.ring.len()).filter_map(|place| Some((place, stages(place)?))).collect();
        let shown = says.iter().find_map(|(place, stages)| {
            let holder = self.readings[*place as usize].as_ref();
            let holder = holder.filter(|_| is_sound[*place as usize])?;
            Some((conduct::active(self.ring, holder)?, *stages))
        });
        if let Some((active, stages)) = shown {
            return vec![self.equal_flips(&active, stages)];
        }
        // A member whose transcript does not show it is already convicted by the transcript.
        let alone = says.into_iter().filter(|(place, _)| self.readings[*place as usize].is_none());
        let alone = alone.map(|(place, stages)| {
            let in_a_row = in_a_row(stages);
            let what = format!(
                "signed that all active members flipped the same coin {in_a_row}, which no \
                 transcript shows"
            );
            Finding::unanswered(self.ring.name(place), what)
        });
        alone.collect()
    }

    /// The finding that the limit on equal stages was reached among the members at `active`. Flips
    /// of other members do not count. Unless it was chance, one of the active members took part in
    /// it and knew another member's flip.
    fn equal_flips(&self, active: &[u32], stages: u32) -> Finding {
        let (active, in_a_row) = (self.names(active), in_a_row(stages));
        // An honest member reported it, so the number is at least 1.
        let chance = false_alarm(self.ring.members.len(), StallLimit::new(stages));
        Finding::open(format!(
            "the active members {active} flipped the same coin {in_a_row}, which ends a draw. \
             This was chance, which ends an honest draw so with probability {chance:.1e}, or two \
             or more members conspired, and at least one of them was active"
        ))
    }

    /// The result that most members have signed, and the members that have not signed it. Members
    /// with a sound transcript count first.
    fn result(&self, is_sound: &[bool]) -> Option<(Elected, Vec<u32>)> {
        let weighed = self.elected().map(|elected| {
            let lacking: Vec<u32> = self.lacking(elected).collect();
            let shown = lacking.iter().filter(|it| is_sound[**it as usize]);
            ((shown.count(), lacking.len()), (elected, lacking))
        });
        let least = weighed.min_by_key(|(weight, _)| *weight)?;
        Some(least.1)
    }

    /// A finding about a result that some members have signed and the others may have. The result
    /// is open unless a sound transcript shows that its holder reached another one.
    fn unsigned(&self, is_sound: &[bool]) -> Option<Finding> {
        if self.leader().is_some() {
            return None;
        }
        let ((leader, _), lacking) = self.result(is_sound)?;
        if lacking.iter().any(|it| is_sound[*it as usize]) {
            return None;
        }
        let leader = self.ring.name(leader);
        let what = format!(
            "all others have signed that {leader} is elected. The draw is open: a missing \
             signature on that counts whenever it is shown"
        );
        let who = lacking.into_iter().map(|it| self.ring.name(it));
        Some(Finding::new(Weight::Unanswered, who, what))
    }

    /// A finding about a member that signed another result than the members with sound transcripts,
    /// and hands in no transcript.
    fn another_result(&self, place: u32, is_sound: &[bool]) -> Option<Finding> {
        let (most, lacking) = self.result(is_sound)?;
        if self.readings[place as usize].is_some() || !lacking.contains(&place) {
            return None;
        }
        let mut own = self.by_place[place as usize].iter().filter_map(|it| elected_in(it));
        let other = own.find(|it| *it != most)?;
        let [(theirs, number), (leader, messages)] = [other, most];
        let [theirs, leader] = [theirs, leader].map(|it| self.ring.name(it));
        let members = self.ring.members.len();
        let signers = members - lacking.len();
        let what = format!(
            "signed that {theirs} is elected after {number} messages, where {signers} of {members} signed that {leader} is after {messages}"
        );
        Some(Finding::unanswered(self.ring.name(place), what))
    }

    /// A finding about a member that signed a fault but exchanged no fault message with its
    /// neighbours. Its statement travelled through one of the neighbours, after all earlier
    /// messages on that link.
    fn secret_fault(&self, place: u32) -> Option<Finding> {
        let first = self.by_place[place as usize].first()?;
        let is_fault = matches!(first.verdict, Verdict::Fault(_));
        let has_heard = |side: Side| {
            let neighbour = self.ring.neighbour(place, side);
            let neighbour = self.readings[neighbour as usize].as_ref()?;
            let mut heard = neighbour.heard(side.opposite());
            let mut sent = neighbour.sent(side.opposite());
            Some(
                heard.any(|it| it.message == Message::Fault) || sent.any(|it| it == Message::Fault),
            )
        };
        let is_secret = Side::BOTH.into_iter().all(|it| has_heard(it) == Some(false));
        let what = "signed a fault that reached neither of its neighbours: a veto".to_owned();
        (is_fault && is_secret && self.readings[place as usize].is_none())
            .then(|| Finding::unanswered(self.ring.name(place), what))
    }

    /// All elections of a leader that a member has signed.
    fn elected(&self) -> impl Iterator<Item = Elected> {
        self.by_place.iter().flatten().filter_map(|it| elected_in(it))
    }

    /// The places of members that have not signed `elected`.
    fn lacking(&self, elected: Elected) -> impl Iterator<Item = u32> {
        let lacks = move |it: &[&Statement]| it.iter().all(|one| elected_in(one) != Some(elected));
        let all = (0..).zip(&self.by_place);
        all.filter(move |(_, it)| lacks(it)).map(|(place, _)| place)
    }

    pub(super) fn fault_of(&self, place: u32) -> Option<Fault> {
        let mut own = self.by_place[place as usize].iter();
        own.find_map(|it| match it.verdict {
            Verdict::Fault(fault) => Some(fault),
            Verdict::Elected { .. } => None,
        })
    }
}

fn elected_in(statement: &Statement) -> Option<Elected> {
    match statement.verdict {
        Verdict::Elected { leader, messages } => Some((leader, messages)),
        Verdict::Fault(_) => None,
    }
}
