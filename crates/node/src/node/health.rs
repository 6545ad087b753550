//! The health verdict: one member's view of its group.
//!
//! Purpose     one verdict that the page, `hustings status` and the metrics all show; none of them
//!             judges by itself
//! Inputs      the status and the time
//! Outputs     [`Health`]
//! Owns        nothing
//! Invariants  the verdict is a function of the status alone ([`judge`])
//!
//! The verdict says what this member knows, not what is true elsewhere. A member that follows no
//! other knows only by asking whether any member is left (`isolation.rs`). Only a member that holds
//! tenure, or asks for it, hears from voters.

#[cfg(test)]
mod tests;

use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::status::{Aside, GroupStatus};
use crate::council::CouncilStatus;
use crate::leadership::Mode;
use crate::tenure::{EXPLAIN_EVERY, TenureStatus};

/// The silence of all known members after which a member that follows no other is cut off, or the
/// others are down.
pub const CUT_OFF_AFTER: Duration = Duration::from_secs(5);

/// The time for which a group may be without a leader, or in fenced mode without a holder, before
/// that is bad. An election takes part of it.
const VACANT_FOR: Duration = Duration::from_secs(5);

/// The time for which a frame of this group under another key is a warning.
const OTHER_KEY_FOR: Duration = Duration::from_secs(10);

/// One member's verdict about its group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Health {
    /// The member's state in its group.
    pub state: HealthState,
    /// The urgency.
    pub level: Level,
    /// The verdict as a sentence, without a full stop.
    pub summary: String,
}

/// A member's state in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthState {
    /// This member leads.
    Leading,
    /// Another member leads, and this one follows it.
    Following,
    /// No leader is known.
    #[default]
    NoLeader,
    /// A leader is named, but has no tenure yet: no member may act.
    NoTenure,
    /// Fewer voters answer this member than are needed.
    NoMajority,
    /// The store that grants tenure does not answer this member.
    StoreSilent,
    /// This member takes no tenure from its store, although the store answers.
    ShutOut,
    /// This member takes no part in elections for a while.
    StandsAside,
    /// This member receives from none of the members that it knows.
    CutOff,
    /// Another member holds tenure by another list of voters, or by another store.
    Disputed,
    /// Another process has this member's name, and this one takes no part.
    DuplicateName,
    /// The group elects no leader.
    NoElection,
}

impl HealthState {
    /// Every state.
    pub const ALL: [Self; 12] = [
        Self::Leading,
        Self::Following,
        Self::NoLeader,
        Self::NoTenure,
        Self::NoMajority,
        Self::StoreSilent,
        Self::ShutOut,
        Self::StandsAside,
        Self::CutOff,
        Self::Disputed,
        Self::DuplicateName,
        Self::NoElection,
    ];

    /// Returns the name in JSON and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leading => "leading",
            Self::Following => "following",
            Self::NoLeader => "no-leader",
            Self::NoTenure => "no-tenure",
            Self::NoMajority => "no-majority",
            Self::StoreSilent => "store-silent",
            Self::ShutOut => "shut-out",
            Self::StandsAside => "stands-aside",
            Self::CutOff => "cut-off",
            Self::Disputed => "disputed",
            Self::DuplicateName => "duplicate-name",
            Self::NoElection => "no-election",
        }
    }
}

/// The urgency of a verdict: whether a person should look at the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// All is well, as far as this member can tell.
    Good,
    /// The group works, or is about to, but something is not as it should be.
    #[default]
    Warning,
    /// This member, or its group, does not serve its purpose.
    Bad,
}

impl Level {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

/// Returns the verdict about a group by its status at `now`. It ignores `status.health`.
pub fn judge(status: &GroupStatus, now: Instant) -> Health {
    let mut health = judge_standing(status, now);
    if let Some(remark) = judge_council(status)
        && health.level == Level::Good
    {
        health.level = Level::Warning;
        health.summary += &format!("; {remark}");
    }
    let has_other_key = status.other_key_at.is_some_and(|at| now - at < OTHER_KEY_FOR);
    if has_other_key && health.level == Level::Good {
        health.level = Level::Warning;
        health.summary +=
            "; frames of this group under another key arrive here: give every member the same key";
    }
    health
}

/// Returns the fault of a council of which this member is the centre, if there is one.
fn judge_council(status: &GroupStatus) -> Option<String> {
    let Some(CouncilStatus::Centre(centre)) = &status.council else {
        return None;
    };
    if let Some(other) = centre.gives_way_to.as_ref() {
        let other = &other.name;
        return Some(format!(
            "this centre has stopped, as `{other}` is the centre of the council now"
        ));
    }
    if let Some(host) = centre.held_elsewhere.as_ref() {
        let host = &host.name;
        return Some(format!(
            "this centre has stopped, as `{host}` holds a seat of another centre"
        ));
    }
    let chamber = centre.chambers.iter().find(|it| !it.is_filled())?;
    let (filled, least, most) = (chamber.seats.len(), chamber.least, chamber.most);
    let of_class = match centre.chambers.len() {
        0 | 1 => String::new(),
        _ => format!(" of class {}", chamber.class),
    };
    Some(format!(
        "the council{of_class} has {filled} seats filled of {least} to {most}: too few hosts are up, or its election is not over"
    ))
}

/// Returns the verdict without regard to the council and to frames under other keys.
fn judge_standing(status: &GroupStatus, now: Instant) -> Health {
    let verdict = |state, level, summary| Health { state, level, summary };
    let leadership = &status.leadership;
    if let Some(address) = status.duplicate_name {
        let summary = format!(
            "another member called {} is at {address}, and this member takes no part: rename one of them",
            leadership.member
        );
        return verdict(HealthState::DuplicateName, Level::Bad, summary);
    }
    if status.protocol == "none" {
        let summary = "no leader is elected in this group".to_owned();
        return verdict(HealthState::NoElection, Level::Good, summary);
    }
    if let Some(why) = status.tenure.as_ref().and_then(|it| it.disputed.clone()) {
        return verdict(HealthState::Disputed, Level::Bad, why);
    }
    let other = leadership.leader.as_ref().map(|it| it.name.as_str());
    let other = other.filter(|name| *name != leadership.member);
    let is_named = leadership.leader.is_some() && other.is_none();
    let is_cut_off = || judge_contact(status, other, now);
    let is_unfit = || judge_tenure(status, other);
    let has_store = status.tenure.as_ref().is_some_and(|it| it.reachable.is_some());
    let found = match has_store {
        true => is_unfit().or_else(is_cut_off), // leading by a store needs no other member
        false => is_cut_off().or_else(is_unfit),
    };
    if let Some((state, level, summary)) = found {
        return verdict(state, level, summary);
    }
    if let Some(aside) = &status.aside {
        let (level, summary) = judge_aside(aside, other, status, now);
        return verdict(HealthState::StandsAside, level, summary);
    }
    let since = now - leadership.since;
    match other {
        None if leadership.leads => {
            let (level, summary) = leading(status, now);
            verdict(HealthState::Leading, level, summary)
        }
        None if is_named => {
            let why = status.tenure.as_ref().and_then(|it| it.refusals.last());
            let why = why.filter(|it| now - it.at < CUT_OFF_AFTER);
            let why = why.map_or_else(|| "asks for it".to_owned(), |it| it.why.clone());
            let summary = format!("named, and has no tenure yet: {why}");
            verdict(HealthState::NoTenure, vacancy(status, now), summary)
        }
        None => {
            let level = vacancy(status, now);
            let summary = format!("no leader is known, for {}", in_words(since));
            verdict(HealthState::NoLeader, level, summary)
        }
        Some(leader) if leadership.mode == Mode::Fenced && leadership.fence.is_none() => {
            let summary = format!("{leader} is named, and has no tenure yet");
            verdict(HealthState::NoTenure, vacancy(status, now), summary)
        }
        Some(leader) => {
            let summary = format!("follows {leader}");
            verdict(HealthState::Following, Level::Good, summary)
        }
    }
}

/// Returns a verdict if this member receives from no other, although it follows none and needs
/// them.
fn judge_contact(
    status: &GroupStatus,
    other: Option<&str>,
    now: Instant,
) -> Option<(HealthState, Level, String)> {
    let leadership = &status.leadership;
    let needs_others = leadership.mode == Mode::Advisory || !leadership.leads;
    let silence = status.silence(now);
    let silence = silence.filter(|it| *it >= CUT_OFF_AFTER && needs_others && other.is_none())?;
    let (participation, level) = match leadership.leads {
        true => ("leads, but has", Level::Warning),
        false => ("has", Level::Bad),
    };
    let aside = if status.aside.is_some() { ", and stands aside" } else { "" };
    let known = match status.peers.iter().filter(|it| it.up == Some(false)).count() {
        0 => status.peers.len().to_string(),
        down => format!("{}, {down} of them known to be down", status.peers.len()),
    };
    let summary = format!(
        "{participation} received nothing from the other members that it knows ({known}) for {}{aside}: they are down, or this host is cut off",
        in_words(silence)
    );
    Some((HealthState::CutOff, level, summary))
}

/// Returns a verdict if the authority does not answer this member, or the member takes no tenure
/// from it.
fn judge_tenure(status: &GroupStatus, other: Option<&str>) -> Option<(HealthState, Level, String)> {
    let (leadership, tenure) = (&status.leadership, status.tenure.as_ref()?);
    let is_named = leadership.leader.is_some() && other.is_none();
    if (leadership.leads || is_named)
        && let Some(found) = judge_authority(status, tenure)
    {
        return Some(found);
    }
    (tenure.shut_out == Some(true) && !leadership.leads).then(|| {
        let (level, summary) = judge_shut_out(tenure, other);
        (HealthState::ShutOut, level, summary)
    })
}

/// Returns the level of a group without a leader, or in fenced mode without a holder.
fn vacancy(status: &GroupStatus, now: Instant) -> Level {
    match status.vacant_since.is_some_and(|at| now - at > VACANT_FOR) {
        true => Level::Bad,
        false => Level::Warning,
    }
}

/// Returns the fault of the authority, if this member holds tenure or asks for it.
fn judge_authority(
    status: &GroupStatus,
    tenure: &TenureStatus,
) -> Option<(HealthState, Level, String)> {
    let leads = status.leadership.leads;
    let participation = match (leads, tenure.remaining) {
        (true, Some(left)) => format!("leads for {} more unless renewed, but", in_words(left)),
        (true, None) => "leads, but".to_owned(),
        (false, _) => "named, and has no tenure:".to_owned(),
    };
    if tenure.reachable == Some(false) {
        let summary = format!("{participation} {} does not answer", tenure.authority);
        return Some((HealthState::StoreSilent, Level::Bad, summary));
    }
    if !tenure.hears_voters() {
        return None; // it has not asked them for long enough
    }
    let silent = tenure.silent();
    let heard = tenure.reached().len();
    (heard < tenure.majority()).then(|| {
        let summary = format!(
            "{participation} only {heard} of {} voters answer: {} do not",
            tenure.voters.len(),
            silent.join(", ")
        );
        (HealthState::NoMajority, Level::Bad, summary)
    })
}

/// Judges a member that takes no tenure from its store: it cannot succeed a failed leader.
fn judge_shut_out(tenure: &TenureStatus, leader: Option<&str>) -> (Level, String) {
    let why = tenure.refusals.last().map_or("", |it| it.why.as_str());
    match leader.filter(|_| tenure.fence.is_some()) {
        Some(leader) => {
            (Level::Warning, format!("follows {leader}, but cannot take tenure after it: {why}"))
        }
        None => (Level::Bad, format!("takes no tenure: {why}")),
    }
}

/// Judges a leader. If only a bare majority of voters answers, the loss of one more ends its
/// tenure.
fn leading(status: &GroupStatus, now: Instant) -> (Level, String) {
    let alone = if status.peers.is_empty() { "; no other member found yet" } else { "" };
    let since = now - status.leadership.since;
    if status.peers.is_empty() && !status.join.is_empty() && since >= CUT_OFF_AFTER {
        let summary = format!(
            "leads, but no other member answers at its `join` addresses ({}): they are down, or this host is cut off",
            status.join.join(", ")
        );
        return (Level::Warning, summary);
    }
    let Some(tenure) = &status.tenure else {
        return (Level::Good, format!("leads{alone}"));
    };
    let fence = tenure.fence.map_or_else(String::new, |fence| format!(", fence {fence}"));
    let silent = tenure.silent();
    let heard = tenure.reached().len();
    if silent.is_empty() || since < EXPLAIN_EVERY {
        return (Level::Good, format!("leads{fence}"));
    }
    let (level, remark) = match heard <= tenure.majority() {
        true => (Level::Warning, ": if one more is lost, no member can lead"),
        false => (Level::Good, ""),
    };
    let summary = format!(
        "leads{fence}, though {} of {} voters do not answer ({}){remark}",
        silent.len(),
        tenure.voters.len(),
        silent.join(", ")
    );
    (level, summary)
}

fn judge_aside(
    aside: &Aside,
    other: Option<&str>,
    status: &GroupStatus,
    now: Instant,
) -> (Level, String) {
    let (level, follows) = match other {
        None => (vacancy(status, now), "no leader is known".to_owned()),
        Some(named) if status.vacant_since.is_some() => {
            let follows = format!("{named} is named, and has no tenure yet");
            (vacancy(status, now), follows)
        }
        Some(leader) => {
            let level = if aside.is_failure { Level::Warning } else { Level::Good };
            (level, format!("{leader} leads"))
        }
    };
    let left = in_words(aside.remaining);
    let summary = match &aside.why {
        Some(why) => format!("stands aside ({why}), and tries again in {left}; {follows}"),
        None => format!("stepped down as asked, and takes part again in {left}; {follows}"),
    };
    (level, summary)
}

impl GroupStatus {
    /// Returns the time since the last frame of any known member; `None` if no member is known.
    fn silence(&self, now: Instant) -> Option<Duration> {
        let heard = self.peers.iter().filter_map(|it| it.heard).max();
        heard.map(|at| now - at)
    }
}

/// Formats a span of time for people.
pub fn in_words(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    let whole = seconds as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..172_800 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} days", whole / 86_400),
    }
}
