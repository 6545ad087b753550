//! The records of the writers: accepted writes, refused writes, and the times at which they
//! believed that they held tenure.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Result;

/// The records of one group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// Sorted by beginning.
    pub(super) beliefs: Vec<Belief>,
    /// In the order of the file.
    pub(super) writes: Vec<LogLine>,
    pub(super) refused: Vec<LogLine>,
}

/// The time during which one process believed that it held one tenure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Belief {
    /// The member's name.
    pub(super) member: String,
    /// The process id. A restarted member is a different holder.
    pub(super) process: u32,
    pub(super) fence: u64,
    /// The start of the time in which the process certainly believed: when it first received a
    /// positive answer. The time ends when it last asked.
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    pub(super) fence: u64,
    pub(super) at_ns: u64,
    pub(super) member: String,
}

impl Evidence {
    /// Reads the directory that the writers wrote to.
    pub(super) fn read(home: &Path) -> Result<Self> {
        let mut evidence = Self {
            beliefs: Vec::new(),
            writes: log_lines(&read(&home.join("log"))?)?,
            refused: log_lines(&read(&home.join("refused"))?)?,
        };
        for entry in fs::read_dir(home)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some((member, process)) = whose(&name) {
                let lines = read(&path)?;
                evidence.beliefs.extend(beliefs(member, process, &lines)?);
            }
        }
        evidence.beliefs.sort_by_key(|it| it.first_ns);
        Ok(evidence)
    }

    /// Returns the spans between `from` and `to` in which no process believed that it held tenure,
    /// in order.
    pub(super) fn gaps(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut covered = from;
        for belief in &self.beliefs {
            if belief.first_ns > covered && covered < to {
                gaps.push((covered, belief.first_ns.min(to)));
            }
            covered = covered.max(belief.last_ns);
        }
        if covered < to {
            gaps.push((covered, to));
        }
        gaps
    }
}

/// Parses the file name `belief.MEMBER.PID`.
fn whose(name: &str) -> Option<(&str, u32)> {
    let (member, process) = name.strip_prefix("belief.")?.rsplit_once('.')?;
    Some((member, process.parse().ok()?))
}

/// Returns the complete lines of a file, or nothing if there is no file. A killed process may have
/// left half a line at the end.
fn read(path: &Path) -> Result<String> {
    let mut text = match path.exists() {
        true => fs::read_to_string(path)?,
        false => String::new(),
    };
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    Ok(text)
}

fn log_lines(lines: &str) -> Result<Vec<LogLine>> {
    let parse = |line: &str| {
        let mut words = line.split(' ');
        Some(LogLine {
            fence: words.next()?.parse().ok()?,
            at_ns: words.next()?.parse().ok()?,
            member: words.next()?.to_owned(),
        })
    };
    let parsed = lines.lines().map(|line| parse(line).ok_or(line));
    let parsed: std::result::Result<Vec<LogLine>, &str> = parsed.collect();
    parsed.map_err(|line| format!("not a line of the log: {line:?}").into())
}

fn beliefs(member: &str, process: u32, lines: &str) -> Result<Vec<Belief>> {
    let mut by_fence: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for line in lines.lines() {
        let [fence, asked, told] =
            numbers(line).ok_or_else(|| format!("not a belief: {line:?}"))?;
        let (first, last) = by_fence.entry(fence).or_insert((told, asked));
        // Two threads write the lines, so they are not quite in order.
        *first = told.min(*first);
        *last = asked.max(*last);
    }
    let belief = |(fence, (first_ns, last_ns))| Belief {
        member: member.to_owned(),
        process,
        fence,
        first_ns,
        last_ns,
    };
    Ok(by_fence.into_iter().map(belief).collect())
}

/// Returns the numbers of a line if there are exactly `N`.
pub(super) fn numbers<const N: usize>(line: &str) -> Option<[u64; N]> {
    let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{Belief, Evidence, beliefs, log_lines, whose};

    #[test]
    fn lines_are_parsed() {
        let found = beliefs("h1", 42, "3 10 11\n3 20 22\n5 30 31\n3 15 16\n").unwrap();
        let belief = |fence, first_ns, last_ns| Belief {
            member: "h1".to_owned(),
            process: 42,
            fence,
            first_ns,
            last_ns,
        };
        assert_eq!(found, [belief(3, 11, 20), belief(5, 31, 30)]);
        assert!(beliefs("h1", 42, "3 10\n").is_err());
        assert_eq!(log_lines("3 12 h1\n").unwrap()[0].at_ns, 12);
        assert!(log_lines("3 h1\n").is_err());
        assert_eq!(whose("belief.h1.42"), Some(("h1", 42)));
        assert_eq!(whose("log"), None);
    }

    #[test]
    fn gaps_are_the_times_without_a_believed_holder() {
        let mut evidence = Evidence::default();
        assert_eq!(evidence.gaps(5, 9), [(5, 9)]);
        evidence.beliefs = beliefs("h1", 1, "1 10 10\n1 20 20\n2 30 30\n2 40 40\n").unwrap();
        assert_eq!(evidence.gaps(0, 50), [(0, 10), (20, 30), (40, 50)]);
        assert_eq!(evidence.gaps(12, 25), [(20, 25)]);
        assert_eq!(evidence.gaps(31, 39), []);
    }
}
