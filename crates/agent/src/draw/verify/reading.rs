//! A transcript, read and found to be whole and its holder's own.

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::Side;
use serde::{Deserialize, Serialize};

use super::super::bytes::Digest;
use super::super::moment::Moment;
use super::super::presence::{self, Presence};
use super::super::ring::Ring;
use super::super::said::{Said, Statement, Verdict, Way};
use super::super::transcript::{Chain, Entry, Header, OLDEST_VERSION, VERSION};

/// A transcript that counts.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) place: u32,
    pub(super) entries: Vec<Entry>,
    /// The line of the file, from 1 on, that each entry is in.
    pub(super) lines: Vec<usize>,
    /// The hash up to and with each entry.
    pub(super) heads: Vec<Digest>,
    /// What tells its sitting from all others.
    pub(super) sitting: Digest,
    /// What its holder came to, last.
    pub(super) verdict: Verdict,
}

/// When a member's draw was, by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Times {
    /// It began.
    pub began: Moment,
    /// The last message of a neighbour came, before the member had come to what it signed.
    pub last_message: Option<Moment>,
    /// The member first signed what it came to in the end.
    pub concluded: Moment,
}

/// Why a transcript does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// A line that is no entry.
    #[error("line {line}: not an entry of a transcript: {why}")]
    Line {
        /// Which, from 1 on.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// An entry that has no place where it stands.
    #[error("line {line}: {what}: it was edited")]
    Misplaced {
        /// Which line.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A layout that this program does not know.
    #[error("it has layout {0}, and this program reads {OLDEST_VERSION} to {VERSION}")]
    Version(u32),
    /// Another draw's.
    #[error(
        "it is of draw {number} for {draw} on another ring, or with other rules: its ring's digest is {ring}"
    )]
    OtherDraw {
        /// Which one.
        draw: String,
        /// Its number.
        number: u64,
        /// Its ring.
        ring: Digest,
    },
    /// Of nobody on the ring.
    #[error("it is of {0}, who is no member of this ring")]
    NoMember(String),
    /// A signature that does not fit.
    #[error(
        "line {line}: the signature of {of} does not fit: it was edited, or the ring file has another key for {of}"
    )]
    Signature {
        /// Which line.
        line: usize,
        /// Whose signature it should be.
        of: String,
    },
    /// The holder signed something else.
    #[error("line {line}: what {of} signed is not what stands before it: it was edited")]
    Edited {
        /// The line of the signature.
        line: usize,
        /// Whose transcript it is.
        of: String,
    },
    /// Its holder has not signed all of it.
    #[error("{member} has not signed it{}", beyond(*.line))]
    Unsigned {
        /// Whose it is.
        member: String,
        /// The line of what it signed last.
        line: Option<usize>,
    },
}

fn beyond(line: Option<usize>) -> String {
    line.map_or_else(
        || ": it ends before the draw did, or was cut off".to_owned(),
        |line| format!(" beyond line {line}: it was cut off after that, or something was added"),
    )
}

impl Reading {
    pub(super) fn read(content: &[u8], ring: &Ring, digest: Digest) -> Result<Self, Unusable> {
        let mut reader = Reader::begin(content, ring, digest)?;
        for at in 2..reader.entries.len() {
            reader.check(at)?;
        }
        let name = &ring.member(reader.place).name;
        let unsigned = || Unusable::Unsigned {
            member: name.clone(),
            line: reader.signed.map(|at| reader.line(at)),
        };
        let verdict = reader.verdict.ok_or_else(unsigned)?;
        if reader.signed.map(|at| at + 1) != Some(reader.entries.len()) {
            return Err(unsigned());
        }
        Ok(Self {
            place: reader.place,
            entries: reader.entries,
            lines: reader.lines,
            heads: reader.heads,
            sitting: reader.sitting,
            verdict,
        })
    }

    /// Who was there, by everybody's word.
    pub(super) fn seated(&self) -> &[Presence] {
        match self.entries.get(1) {
            Some(Entry::Gathered(seated)) => seated,
            _ => &[], // never: it was read
        }
    }

    /// The statements in it, of all members.
    pub(super) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Statement(statement) => Some(statement),
            _ => None,
        })
    }

    /// Whether its holder listened on until all had spoken, or nobody did any more: then it signs once more what it came to. A
    /// transcript that ends before, as its holder was stopped or killed or somebody cut it, does not show who was silent to the
    /// end.
    pub(super) fn is_whole(&self) -> bool {
        let own = self
            .statements()
            .filter(|it| it.place == self.place && it.verdict == self.verdict);
        own.count() > 1 && !self.entries.contains(&Entry::Withdrew)
    }

    /// When it was, by the holder's clock; none of a layout without times.
    pub(super) fn times(&self) -> Option<Times> {
        let mut clock = None;
        let mut times: Option<Times> = None;
        for entry in &self.entries {
            match (entry, &mut times) {
                (Entry::Clock(now), _) => clock = Some(*now),
                (Entry::Began, times) => {
                    *times = clock.map(|now| Times {
                        began: now,
                        last_message: None,
                        concluded: now,
                    });
                }
                (Entry::Heard { .. }, Some(times)) => times.last_message = clock,
                (Entry::Statement(own), Some(times))
                    if own.place == self.place && own.verdict == self.verdict =>
                {
                    times.concluded = clock?;
                    break;
                }
                _ => {}
            }
        }
        times
    }

    /// What was heard from one side, in order.
    pub(super) fn heard(&self, from: Side) -> impl Iterator<Item = &Said> {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Heard { side, said } if *side == from => Some(said),
            _ => None,
        })
    }

    /// How many flips had come from one side, or words that withhold one, when the holder complained of silence.
    pub(super) fn flips_before_silence(&self, from: Side) -> usize {
        self.flips_before(from, |it| *it == Entry::Silence)
    }

    /// How many had when it first signed what it had come to.
    pub(super) fn flips_before_verdict(&self, from: Side) -> usize {
        self.flips_before(
            from,
            |it| matches!(it, Entry::Statement(own) if own.place == self.place),
        )
    }

    fn flips_before(&self, from: Side, is_end: impl Fn(&Entry) -> bool) -> usize {
        let before = self.entries.iter().take_while(|it| !is_end(it));
        let flips = before.filter(|it| {
            matches!(it, Entry::Heard { side, said } if *side == from && said.message != Message::Fault)
        });
        flips.count()
    }

    /// Why the link to one side was no more, if it was.
    pub(super) fn broken(&self, to: Side) -> Option<&str> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Broken { side, why } if *side == to => Some(why.as_str()),
            _ => None,
        })
    }

    /// What was sent to one side, in order.
    pub(super) fn sent(&self, to: Side) -> impl Iterator<Item = Message> {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Sent { side, message } if *side == to => Some(*message),
            _ => None,
        })
    }
}

struct Reader<'r> {
    ring: &'r Ring,
    sitting: Digest,
    place: u32,
    entries: Vec<Entry>,
    lines: Vec<usize>,
    heads: Vec<Digest>,
    left: Port,
    right: Port,
    verdict: Option<Verdict>,
    /// The last entry so far in which the holder signs all before it.
    signed: Option<usize>,
}

/// One side, as far as it has been read.
#[derive(Default)]
struct Port {
    heard: u64,
    entry: Option<u64>,
}

impl<'r> Reader<'r> {
    /// Reads all lines, and checks the first.
    fn begin(content: &[u8], ring: &'r Ring, digest: Digest) -> Result<Self, Unusable> {
        // The ends of lines say nothing: mail changes them.
        let lines = content.split(|it| *it == b'\n');
        let lines = lines.map(|text| text.strip_suffix(b"\r").unwrap_or(text));
        let lines = (1..)
            .zip(lines)
            .filter(|(_, text)| !text.trim_ascii().is_empty());
        let mut lines = lines.peekable();
        if let Some((_, first)) = lines.peek() {
            check_version(first)?;
        }
        let read = lines.map(|(line, text)| Ok((line, read_entry(line, text)?)));
        let (lines, entries): (Vec<usize>, Vec<Entry>) = read.collect::<Result<_, _>>()?;
        let misplaced = |at, what| Unusable::Misplaced {
            line: line_of(&lines, at),
            what,
        };
        let header = match entries.first() {
            Some(Entry::Transcript(header)) => header.clone(),
            Some(_) => return Err(misplaced(0, "a transcript begins by saying of what")),
            None => return Err(Unusable::Empty),
        };
        let Header {
            version: _, // it was looked at first
            draw,
            number,
            ring: theirs,
            member,
        } = header;
        if theirs != digest {
            return Err(Unusable::OtherDraw {
                draw,
                number,
                ring: theirs,
            });
        }
        let place = ring.place_of(&member).ok_or(Unusable::NoMember(member))?;
        let Some(Entry::Gathered(seated)) = entries.get(1) else {
            return Err(misplaced(1, "it does not go on to say who was there"));
        };
        let sitting = presence::sitting(ring, digest, seated);
        let sitting = sitting.ok_or_else(|| {
            let places = ring.members.iter().zip(seated);
            let mut forged = places.filter(|(member, it)| !it.is_by(&member.key, &digest));
            match forged.next() {
                Some((member, _)) => Unusable::Signature {
                    line: line_of(&lines, 1),
                    of: member.name.clone(),
                },
                None => misplaced(1, "not everybody was there, or linked to the next"),
            }
        })?;
        let mut chain = Chain::new();
        let heads = entries.iter().map(|entry| chain.take(entry).1).collect();
        Ok(Self {
            ring,
            sitting,
            place,
            entries,
            lines,
            heads,
            left: Port::default(),
            right: Port::default(),
            verdict: None,
            signed: None,
        })
    }

    /// Checks one entry, as far as signatures go.
    fn check(&mut self, at: usize) -> Result<(), Unusable> {
        match self.entries[at].clone() {
            Entry::Transcript(_) => {
                return Err(self.misplaced(at, "a transcript begins a second time"));
            }
            Entry::Gathered(_) => return Err(self.misplaced(at, "all gather a second time")),
            Entry::Heard { side, said } => self.check_said(at, side, &said)?,
            Entry::Statement(statement) => return self.check_statement(at, &statement),
            Entry::Began
            | Entry::Drew { .. }
            | Entry::Sent { .. }
            | Entry::Broken { .. }
            | Entry::Silence
            | Entry::Withdrew
            | Entry::Clock(_) => {}
        }
        Ok(())
    }

    fn check_said(&mut self, at: usize, side: Side, said: &Said) -> Result<(), Unusable> {
        let (sitting, to) = (self.sitting, self.place);
        let from = self.ring.neighbour(to, side);
        let speaker = self.ring.member(from);
        let port = self.port(side);
        if said.number != port.heard + 1 || port.entry.is_some_and(|it| it >= said.entry) {
            return Err(self.misplaced(at, "a message is missing, or heard twice"));
        }
        port.heard = said.number;
        port.entry = Some(said.entry);
        let way = Way { sitting, from, to };
        match said.is_by(&speaker.key, &way) {
            true => Ok(()),
            false => Err(Unusable::Signature {
                line: self.line(at),
                of: speaker.name.clone(),
            }),
        }
    }

    fn check_statement(&mut self, at: usize, statement: &Statement) -> Result<(), Unusable> {
        if !statement.counts(self.ring, self.sitting) {
            let member = self.ring.members.get(statement.place as usize);
            return Err(Unusable::Signature {
                line: self.line(at),
                of: member.map_or_else(|| "nobody".to_owned(), |it| it.name.clone()),
            });
        }
        if statement.place != self.place {
            return Ok(());
        }
        let before = (at as u64, self.heads[at - 1]); // there is a first entry
        if (statement.entry, statement.head) != before {
            return Err(Unusable::Edited {
                line: self.line(at),
                of: self.ring.member(self.place).name.clone(),
            });
        }
        self.verdict = Some(statement.verdict);
        self.signed = Some(at);
        Ok(())
    }

    fn line(&self, at: usize) -> usize {
        line_of(&self.lines, at)
    }

    fn misplaced(&self, at: usize, what: &'static str) -> Unusable {
        let line = self.line(at);
        Unusable::Misplaced { line, what }
    }

    fn port(&mut self, side: Side) -> &mut Port {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }
}

/// Whether a transcript that begins so is of a layout that can be read. What other layouts have in other lines, or in this one,
/// is not known.
fn check_version(first: &[u8]) -> Result<(), Unusable> {
    #[derive(Deserialize)]
    struct Beginning {
        transcript: Layout,
    }
    #[derive(Deserialize)]
    struct Layout {
        version: u32,
    }
    match serde_json::from_slice(first) {
        Ok(Beginning {
            transcript: Layout { version },
        }) if !(OLDEST_VERSION..=VERSION).contains(&version) => Err(Unusable::Version(version)),
        // Where it says nothing of a layout, it is no beginning of a transcript: as will be found.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The entry in one line. What is hashed and signed is the entry: so the line must have nothing in it that the entry has not.
fn read_entry(line: usize, text: &[u8]) -> Result<Entry, Unusable> {
    let entry: Entry = serde_json::from_slice(text).map_err(|error| {
        let why = error.to_string();
        // The line that it speaks of is the one that it was given.
        let why = why.rsplit_once(" at line").map_or(&*why, |(why, _)| why);
        Unusable::Line {
            line,
            why: why.to_owned(),
        }
    })?;
    match entry.line() == text {
        true => Ok(entry),
        false => Err(Unusable::Misplaced {
            line,
            what: "this is not how the program writes that entry",
        }),
    }
}

/// The line of the entry at `at`; of one that is not there, the line after all others.
fn line_of(lines: &[usize], at: usize) -> usize {
    let next = lines.last().map_or(1, |it| it + 1);
    lines.get(at).copied().unwrap_or(next)
}
