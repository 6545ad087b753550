//! Parser of a transcript. It checks that the transcript is complete and its holder's own.

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::Side;
use serde::{Deserialize, Serialize};

use crate::attestation::{self, Attestation};
use crate::bytes::Digest;
use crate::ring::{Ring, Sides};
use crate::signed::{LastHeard, LinkDirection, SignedMessage, Statement, Verdict};
use crate::timestamp::Timestamp;
use crate::transcript::{Chain, Entry, Header, OLDEST_VERSION, VERSION};

/// A transcript that counts.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) place: u32,
    pub(super) entries: Vec<Entry>,
    /// The line of each entry in the file, counted from 1.
    pub(super) lines: Vec<usize>,
    /// The hash up to and including each entry.
    pub(super) heads: Vec<Digest>,
    /// The id of the session.
    pub(super) session: Digest,
    /// The holder's last verdict.
    pub(super) verdict: Verdict,
}

/// The times of a member's draw by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Times {
    /// The time at which the draw began.
    pub began: Timestamp,
    /// The time of the last message from a neighbour before the verdict was signed.
    pub last_message: Option<Timestamp>,
    /// The time at which the member first signed its final verdict.
    pub concluded: Timestamp,
}

/// The reason for which a transcript does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// A line is not an entry.
    #[error("line {line}: this is not an entry of a transcript: {why}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The problem.
        why: String,
    },
    /// An entry is in the wrong position.
    #[error("line {line}: {what}: the file was edited")]
    Misplaced {
        /// The line.
        line: usize,
        /// The problem.
        what: &'static str,
    },
    /// The version of the layout is unknown.
    #[error("it has layout {0}, and this program reads {OLDEST_VERSION} to {VERSION}")]
    Version(u32),
    /// The transcript belongs to another draw.
    #[error(
        "it belongs to draw {number} for {draw} on another ring, or with other rules: the digest \
         of its ring is {ring}"
    )]
    OtherDraw {
        /// The name of that draw.
        draw: String,
        /// The number of that draw.
        number: u64,
        /// The digest of its ring.
        ring: Digest,
    },
    /// The holder is not on the ring.
    #[error("it belongs to {0}, which is not a member of this ring")]
    NoMember(String),
    /// A signature is invalid.
    #[error(
        "line {line}: the signature of {of} does not fit: the file was edited, or the ring file \
         has another key for {of}"
    )]
    Signature {
        /// The line.
        line: usize,
        /// The member that should have signed.
        of: String,
    },
    /// The holder signed other entries.
    #[error("line {line}: {of} did not sign the lines before this one: the file was edited")]
    Edited {
        /// The line of the signature.
        line: usize,
        /// The holder.
        of: String,
    },
    /// The holder has not signed all of it.
    #[error("{member} has not signed it{}", beyond(*.line))]
    Unsigned {
        /// The holder.
        member: String,
        /// The line of its last signature.
        line: Option<usize>,
    },
}

fn beyond(line: Option<usize>) -> String {
    line.map_or_else(
        || ": it ends before the draw did, or was cut off".to_owned(),
        |line| {
            format!(
                " beyond line {line}: the file was cut off after that line, or lines were \
                        added"
            )
        },
    )
}

impl Reading {
    pub(super) fn read(content: &[u8], ring: &Ring, digest: Digest) -> Result<Self, Unusable> {
        let mut reader = Reader::begin(content, ring, digest)?;
        for at in 2..reader.entries.len() {
            reader.check(at)?;
        }
        let unsigned = || Unusable::Unsigned {
            member: ring.name(reader.place).to_owned(),
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
            session: reader.session,
            verdict,
        })
    }

    /// The attestations of all members.
    pub(super) fn seated(&self) -> &[Attestation] {
        match self.entries.get(1) {
            Some(Entry::Met(seated)) => seated,
            _ => &[], // unreachable: `read` checked it
        }
    }

    /// The statements of all members in it.
    pub(super) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Statement(statement) => Some(statement),
            _ => None,
        })
    }

    /// True if the holder listened until all members had made a statement, or until none came any
    /// more. It then signs its verdict a second time.
    ///
    /// A transcript that ends before that does not show which members were silent to the end. Its
    /// holder was stopped or killed, or the file was cut.
    pub(super) fn is_whole(&self) -> bool {
        let own =
            self.statements().filter(|it| it.place == self.place && it.verdict == self.verdict);
        own.count() > 1 && !self.entries.contains(&Entry::Withdrew)
    }

    /// The times by the holder's clock. `None` for a layout without times.
    pub(super) fn times(&self) -> Option<Times> {
        let mut clock = None;
        let mut times: Option<Times> = None;
        for entry in &self.entries {
            match (entry, &mut times) {
                (Entry::Clock(now), _) => clock = Some(*now),
                (Entry::Began, times) => {
                    *times =
                        clock.map(|now| Times { began: now, last_message: None, concluded: now });
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

    /// The messages received from one side, in order.
    pub(super) fn heard(&self, from: Side) -> impl Iterator<Item = &SignedMessage> {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Heard { side, signed } if *side == from => Some(signed),
            _ => None,
        })
    }

    /// The number of flips and `Withheld` messages received from one side before the holder
    /// complained of silence.
    pub(super) fn flips_before_silence(&self, from: Side) -> usize {
        self.flips_before(from, |it| *it == Entry::Silence)
    }

    /// The number of flips and `Withheld` messages received from one side before the holder first
    /// signed a verdict.
    pub(super) fn flips_before_verdict(&self, from: Side) -> usize {
        self.flips_before(from, |it| matches!(it, Entry::Statement(own) if own.place == self.place))
    }

    fn flips_before(&self, from: Side, is_end: impl Fn(&Entry) -> bool) -> usize {
        let before = self.entries.iter().take_while(|it| !is_end(it));
        let flips = before.filter(|it| {
            matches!(it, Entry::Heard { side, signed } if *side == from && signed.message != Message::Fault)
        });
        flips.count()
    }

    /// The reason for which the link to one side ended, if it did.
    pub(super) fn broken(&self, to: Side) -> Option<&str> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Broken { side, why } if *side == to => Some(why.as_str()),
            _ => None,
        })
    }

    /// The messages sent to one side, in order.
    pub(super) fn sent(&self, to: Side) -> impl Iterator<Item = Message> {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Sent { side, message } if *side == to => Some(*message),
            _ => None,
        })
    }
}

struct Reader<'r> {
    ring: &'r Ring,
    session: Digest,
    place: u32,
    entries: Vec<Entry>,
    lines: Vec<usize>,
    heads: Vec<Digest>,
    last_heard: Sides<LastHeard>,
    verdict: Option<Verdict>,
    /// The last entry read in which the holder signs everything before it.
    signed: Option<usize>,
}

impl<'r> Reader<'r> {
    /// Reads all lines and checks the first two entries.
    fn begin(content: &[u8], ring: &'r Ring, digest: Digest) -> Result<Self, Unusable> {
        // Line ends carry no meaning, and mail programs change them.
        let lines = content.split(|it| *it == b'\n');
        let lines = lines.map(|text| text.strip_suffix(b"\r").unwrap_or(text));
        let lines = (1..).zip(lines).filter(|(_, text)| !text.trim_ascii().is_empty());
        let mut lines = lines.peekable();
        if let Some((_, first)) = lines.peek() {
            check_version(first)?;
        }
        let read = lines.map(|(line, text)| Ok((line, read_entry(line, text)?)));
        let (lines, entries): (Vec<usize>, Vec<Entry>) = read.collect::<Result<_, _>>()?;
        let misplaced = |at, what| Unusable::Misplaced { line: line_of(&lines, at), what };
        let header = match entries.first() {
            Some(Entry::Transcript(header)) => header.clone(),
            Some(_) => {
                return Err(misplaced(
                    0,
                    "the transcript does not begin with the entry \
                that names its draw",
                ));
            }
            None => return Err(Unusable::Empty),
        };
        let Header {
            version: _, // checked by `check_version`
            draw,
            number,
            ring: theirs,
            member,
        } = header;
        if theirs != digest {
            return Err(Unusable::OtherDraw { draw, number, ring: theirs });
        }
        let place = ring.place_of(&member).ok_or(Unusable::NoMember(member))?;
        let Some(Entry::Met(seated)) = entries.get(1) else {
            return Err(misplaced(1, "the second entry does not list the members present"));
        };
        let session = attestation::session(ring, digest, seated);
        let session = session.ok_or_else(|| {
            let places = ring.members.iter().zip(seated);
            let mut forged = places.filter(|(member, it)| !it.is_by(&member.key, &digest));
            match forged.next() {
                Some((member, _)) => {
                    Unusable::Signature { line: line_of(&lines, 1), of: member.name.clone() }
                }
                None => misplaced(1, "a member was not there, or not linked to the next"),
            }
        })?;
        let mut chain = Chain::new();
        let heads = entries.iter().map(|entry| chain.take(entry).1).collect();
        Ok(Self {
            ring,
            session,
            place,
            entries,
            lines,
            heads,
            last_heard: Sides::default(),
            verdict: None,
            signed: None,
        })
    }

    /// Checks the signatures and the position of one entry.
    fn check(&mut self, at: usize) -> Result<(), Unusable> {
        match self.entries[at].clone() {
            Entry::Transcript(_) => {
                return Err(self.misplaced(at, "a transcript begins a second time"));
            }
            Entry::Met(_) => return Err(self.misplaced(at, "all gather a second time")),
            Entry::Heard { side, signed } => self.check_message(at, side, &signed)?,
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

    fn check_message(
        &mut self,
        at: usize,
        side: Side,
        signed: &SignedMessage,
    ) -> Result<(), Unusable> {
        let (session, to) = (self.session, self.place);
        let from = self.ring.neighbour(to, side);
        let sender = self.ring.member(from);
        if !self.last_heard[side].is_before(signed) {
            return Err(self.misplaced(at, "a message is missing, or was received twice"));
        }
        self.last_heard[side].advance(signed);
        match signed.is_by(&sender.key, &LinkDirection { session, from, to }) {
            true => Ok(()),
            false => Err(Unusable::Signature { line: self.line(at), of: sender.name.clone() }),
        }
    }

    fn check_statement(&mut self, at: usize, statement: &Statement) -> Result<(), Unusable> {
        if !statement.counts(self.ring, self.session) {
            let member = self.ring.members.get(statement.place as usize);
            return Err(Unusable::Signature {
                line: self.line(at),
                of: member.map_or_else(|| "no member".to_owned(), |it| it.name.clone()),
            });
        }
        if statement.place != self.place {
            return Ok(());
        }
        let before = (at as u64, self.heads[at - 1]); // there is a first entry
        if (statement.entry, statement.head) != before {
            return Err(Unusable::Edited {
                line: self.line(at),
                of: self.ring.name(self.place).to_owned(),
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
}

/// Checks that the first line is of a version that can be read. Nothing is known about the lines of
/// other versions.
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
        Ok(Beginning { transcript: Layout { version } })
            if !(OLDEST_VERSION..=VERSION).contains(&version) =>
        {
            Err(Unusable::Version(version))
        }
        // A first line without a version is not a header, which the caller finds out.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Reads the entry in one line. Hashes and signatures cover the entry, so the line must contain
/// nothing else.
fn read_entry(line: usize, text: &[u8]) -> Result<Entry, Unusable> {
    let entry: Entry = serde_json::from_slice(text).map_err(|error| {
        let why = error.to_string();
        // The line number in serde's message is always 1.
        let why = why.rsplit_once(" at line").map_or(&*why, |(why, _)| why);
        Unusable::Line { line, why: why.to_owned() }
    })?;
    match entry.line() == text {
        true => Ok(entry),
        false => {
            Err(Unusable::Misplaced { line, what: "the program writes this entry in another way" })
        }
    }
}

/// The line of the entry at `at`. For an entry beyond the end, the line after the last.
fn line_of(lines: &[usize], at: usize) -> usize {
    let next = lines.last().map_or(1, |it| it + 1);
    lines.get(at).copied().unwrap_or(next)
}
