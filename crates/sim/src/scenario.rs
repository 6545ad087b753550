//! Scenario scripts: the faults and starts of a run, with their times.
//!
//! One verb per line; `#` begins a comment:
//! ```text
//! at 0s     start 2            # member 2 calls an election
//! at 250ms  kill 4             # crashes; 4,7 and 0-3 and best and all work too
//! at 1s     restart 4          # comes up with its saved state; `restart 4 fresh`: without
//! at 2s     cut 0-2 | 3,4      # partition; members not named are a third side
//! at 2s     cut 1 -> 3         # no message passes from 1 to 3
//! at 3s     heal               # all cuts end
//! at 4s     pause 1            # stops, as after SIGSTOP
//! at 5s     resume 1
//! at 6s     drift 1 1.01       # its clock runs 1 % fast
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use hustings_protocol::{Duration, Instant};

use crate::population::{Condition, Population};

/// An action of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// These members call an election.
    Start(Who),
    /// These members crash.
    Kill(Who),
    /// These members are stopped in good order: they may say goodbye before they go down.
    Leave(Who),
    /// These members come up again.
    Restart {
        /// The members.
        who: Who,
        /// True if they find their saved state.
        keep_state: bool,
    },
    /// Partitions the members into these groups; the members in none of them form one more group.
    /// Replaces an earlier partition.
    Cut(Vec<Who>),
    /// No message passes from the first members to the second.
    CutOneWay {
        /// The senders that are cut off.
        from: Who,
        /// The receivers that are cut off.
        to: Who,
    },
    /// All cuts end.
    Heal,
    /// These members stop: they neither receive nor act until they resume.
    Pause(Who),
    /// These members continue; they first handle the messages that arrived meanwhile.
    Resume(Who),
    /// These members' clocks run at `rate` times the true rate.
    Drift {
        /// The members.
        who: Who,
        /// The rate: 1 is exact.
        rate: f64,
    },
}

/// The members that a verb applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// These members, by index.
    Members(Vec<u32>),
    /// The best member that is up when the verb takes effect.
    Best,
    /// All members.
    All,
}

impl Who {
    /// The single member `member`.
    pub fn one(member: u32) -> Self {
        Self::Members(vec![member])
    }

    pub(crate) fn resolve(&self, people: &Population) -> Vec<u32> {
        match self {
            Self::Members(members) => members.clone(),
            Self::Best => {
                let up = people.up().filter(|&m| people.condition(m) == Condition::Up);
                up.max_by_key(|&member| people.candidate(member)).into_iter().collect()
            }
            Self::All => (0..people.len() as u32).collect(),
        }
    }
}

/// A script: verbs with their times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenario {
    lines: Vec<(Instant, Verb)>,
    /// The file's line number of each verb.
    numbers: Vec<usize>,
}

/// An invalid scenario line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ScenarioError {
    /// The line number, counted from 1.
    pub line: usize,
    /// The error.
    pub what: String,
}

impl Scenario {
    /// The verbs with their times, in the order of the script.
    pub fn lines(&self) -> &[(Instant, Verb)] {
        &self.lines
    }

    /// Adds a verb.
    pub fn push(&mut self, at: Instant, verb: Verb) {
        self.lines.push((at, verb));
        self.numbers.push(self.lines.len());
    }

    /// Checks that every named member is one of the `members`.
    ///
    /// # Errors
    /// The first line that names a member that does not exist.
    pub fn check(&self, members: usize) -> Result<(), ScenarioError> {
        for ((_, verb), &line) in self.lines.iter().zip(&self.numbers) {
            let strangers = verb.whom().into_iter().filter_map(|who| match who {
                Who::Members(named) => named.iter().find(|&&m| m as usize >= members),
                Who::Best | Who::All => None,
            });
            if let Some(stranger) = strangers.into_iter().next() {
                let last = members.saturating_sub(1);
                let what = format!("there is no member {stranger}: members are 0 to {last}");
                return Err(ScenarioError { line, what });
            }
        }
        Ok(())
    }
}

impl Verb {
    /// The members that it applies to; `None` for cuts.
    pub(crate) fn who(&self) -> Option<&Who> {
        match self {
            Self::Start(who) | Self::Kill(who) | Self::Leave(who) => Some(who),
            Self::Pause(who) | Self::Resume(who) => Some(who),
            Self::Restart { who, .. } | Self::Drift { who, .. } => Some(who),
            Self::Cut(_) | Self::CutOneWay { .. } | Self::Heal => None,
        }
    }

    /// All members that it names.
    fn whom(&self) -> Vec<&Who> {
        match self {
            Self::Cut(groups) => groups.iter().collect(),
            Self::CutOneWay { from, to } => vec![from, to],
            _ => self.who().into_iter().collect(),
        }
    }
}

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let mut scenario = Self::default();
        for (line, written) in (1..).zip(text.lines()) {
            let content = written.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let entry = parse_line(content).map_err(|what| ScenarioError { line, what })?;
            scenario.lines.push(entry);
            scenario.numbers.push(line);
        }
        Ok(scenario)
    }
}

const VERBS: &str = "start, kill, leave, restart, cut, heal, pause, resume or drift";

fn parse_line(content: &str) -> Result<(Instant, Verb), String> {
    let mut words = content.split_whitespace();
    if words.next() != Some("at") {
        return Err(format!("`{content}` does not begin with `at TIME`"));
    }
    let time = words.next().ok_or("a time is missing after `at`")?;
    let at: Duration = time.parse().map_err(|error| format!("{error}"))?;
    let verb = words.next().ok_or_else(|| format!("a verb is missing: {VERBS}"))?;
    let rest = words.collect::<Vec<_>>().join(" ");
    Ok((Instant::START + at, parse_verb(verb, &rest)?))
}

fn parse_verb(verb: &str, rest: &str) -> Result<Verb, String> {
    match verb {
        "start" => Ok(Verb::Start(parse_who(rest)?)),
        "kill" => Ok(Verb::Kill(parse_who(rest)?)),
        "leave" => Ok(Verb::Leave(parse_who(rest)?)),
        "pause" => Ok(Verb::Pause(parse_who(rest)?)),
        "resume" => Ok(Verb::Resume(parse_who(rest)?)),
        "restart" => {
            let fresh = rest.strip_suffix("fresh");
            Ok(Verb::Restart {
                who: parse_who(fresh.unwrap_or(rest).trim())?,
                keep_state: fresh.is_none(),
            })
        }
        "cut" => match rest.split_once("->") {
            Some((from, to)) => {
                let (from, to) = (parse_who(from.trim())?, parse_who(to.trim())?);
                require_apart(&[&from, &to])?;
                Ok(Verb::CutOneWay { from, to })
            }
            None => {
                let groups = rest.split('|').map(|group| parse_who(group.trim()));
                let groups: Vec<Who> = groups.collect::<Result<_, _>>()?;
                require_apart(&groups.iter().collect::<Vec<_>>())?;
                Ok(Verb::Cut(groups))
            }
        },
        "heal" if rest.is_empty() => Ok(Verb::Heal),
        "heal" => Err(format!("`heal` ends all cuts and takes nothing, not `{rest}`")),
        "drift" => {
            let usage =
                "`drift` takes members and a clock rate from 0.01 to 100, as in `drift 1 1.01`";
            let (who, rate) = rest.rsplit_once(' ').ok_or(usage)?;
            let rate: f64 = rate.parse().map_err(|_| usage)?;
            if !(0.01..=100.0).contains(&rate) {
                return Err(usage.to_owned());
            }
            let who = parse_who(who)?;
            Ok(Verb::Drift { who, rate })
        }
        _ => Err(format!("unknown verb `{verb}`: use {VERBS}")),
    }
}

/// Refuses a cut that has a member on two of its sides.
fn require_apart(sides: &[&Who]) -> Result<(), String> {
    if sides.len() > 1 && sides.contains(&&Who::All) {
        return Err(
            "a cut with `all` on one side leaves no member for the other: name members".to_owned()
        );
    }
    let mut seen = BTreeSet::new();
    for side in sides {
        let Who::Members(members) = side else {
            continue; // `best` goes to the last side that names it
        };
        let here: BTreeSet<u32> = members.iter().copied().collect();
        if let Some(member) = here.intersection(&seen).next() {
            return Err(format!("member {member} is on two sides of the cut"));
        }
        seen.extend(here);
    }
    Ok(())
}

fn parse_who(text: &str) -> Result<Who, String> {
    let usage = || format!("`{text}` names no members: write 4, or 0,2,5-7, or best, or all");
    match text {
        "best" => return Ok(Who::Best),
        "all" => return Ok(Who::All),
        _ => {}
    }
    let mut members = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| usage())?;
        let last: u32 = last.trim().parse().map_err(|_| usage())?;
        // The bound keeps a typing error from filling the memory.
        if first > last || last - first > 10_000_000 {
            return Err(usage());
        }
        members.extend(first..=last);
    }
    Ok(Who::Members(members))
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => write!(f, "best"),
            Self::All => write!(f, "all"),
            Self::Members(members) => {
                let names: Vec<String> = members.iter().map(u32::to_string).collect();
                write!(f, "{}", names.join(","))
            }
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(who) => write!(f, "start {who}"),
            Self::Kill(who) => write!(f, "kill {who}"),
            Self::Leave(who) => write!(f, "leave {who}"),
            Self::Pause(who) => write!(f, "pause {who}"),
            Self::Resume(who) => write!(f, "resume {who}"),
            Self::Restart { who, keep_state } => {
                write!(f, "restart {who}{}", if *keep_state { "" } else { " fresh" })
            }
            Self::Cut(groups) => {
                let sides: Vec<String> = groups.iter().map(Who::to_string).collect();
                write!(f, "cut {}", sides.join(" | "))
            }
            Self::CutOneWay { from, to } => write!(f, "cut {from} -> {to}"),
            Self::Heal => write!(f, "heal"),
            Self::Drift { who, rate } => write!(f, "drift {who} {rate}"),
        }
    }
}

impl fmt::Display for Scenario {
    /// Writes the format that [`Scenario::from_str`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, verb) in &self.lines {
            writeln!(f, "at {} {verb}", Duration(at.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Scenario;

    #[test]
    fn every_verb_is_written_as_it_is_read() {
        let script = "at 0s start 2\nat 250ms kill 4,5,6\nat 1s restart 4\nat 1s restart best fresh\n\
                      at 2s cut 0,1,2 | 3,4\nat 2s cut 1 -> 3\nat 3s heal\nat 4s pause all\n\
                      at 5s resume all\nat 6s drift 1 1.01\n";
        let scenario: Scenario = script.parse().unwrap();
        assert_eq!(scenario.to_string(), script);
        assert_eq!("at 250ms kill 4-6 # comment\n\n".parse::<Scenario>().unwrap().lines().len(), 1);
    }

    #[test]
    fn invalid_line_is_reported_with_its_number() {
        for (script, complaint) in [
            ("\nkill 4", "line 2: `kill 4` does not begin with `at TIME`"),
            (
                "at 5 kill 4",
                "line 1: `5` is not a duration: write a number and a unit (ns, us, ms, s, m, h), as in 250ms, up to 876000h",
            ),
            (
                "at 1s",
                "line 1: a verb is missing: start, kill, leave, restart, cut, heal, pause, resume or drift",
            ),
            (
                "at 1s slay 4",
                "line 1: unknown verb `slay`: use start, kill, leave, restart, cut, heal, pause, resume or drift",
            ),
            ("at 1s kill x", "line 1: `x` names no members: write 4, or 0,2,5-7, or best, or all"),
            (
                "at 1s kill 5-3",
                "line 1: `5-3` names no members: write 4, or 0,2,5-7, or best, or all",
            ),
            ("at 1s heal 3", "line 1: `heal` ends all cuts and takes nothing, not `3`"),
            (
                "at 1s drift 1 -2",
                "line 1: `drift` takes members and a clock rate from 0.01 to 100, as in `drift 1 1.01`",
            ),
        ] {
            assert_eq!(script.parse::<Scenario>().unwrap_err().to_string(), complaint);
        }
    }

    #[test]
    fn member_on_two_sides_of_a_cut_is_refused() {
        for script in ["at 1s cut 0,1 | 1-4", "at 1s cut 1 | 1", "at 1s cut 1 -> 1"] {
            let error = script.parse::<Scenario>().unwrap_err().to_string();
            assert_eq!(error, "line 1: member 1 is on two sides of the cut", "{script}");
        }
        assert!("at 1s cut all | 1".parse::<Scenario>().is_err());
        assert!("at 1s cut 1,1 | 2 | 3".parse::<Scenario>().is_ok());
    }

    #[test]
    fn unknown_member_is_reported_with_its_line() {
        let scenario: Scenario =
            "at 1s kill 4\n# five members: 0 to 4\nat 2s cut 1 | 5".parse().unwrap();
        assert_eq!(
            scenario.check(5).unwrap_err().to_string(),
            "line 3: there is no member 5: members are 0 to 4"
        );
        assert_eq!(scenario.check(6), Ok(()));
    }
}
