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

impl Reading {
    /// Reads a transcript.
    ///
    /// # Errors
    /// The reason for which it does not count.
    pub(super) fn read(content: &[u8], ring: &Ring, digest: Digest) -> Result<Self, String> {
        let (lines, entries) = read_entries(content)?;
        let (place, session) = check_beginning(ring, digest, &lines, &entries)?;
        let mut chain = Chain::default();
        let heads: Vec<Digest> = entries.iter().map(|entry| chain.take(entry).1).collect();
        let last_heard = Sides::default();
        let mut reader =
            Reader { ring, session, place, lines: &lines, heads: &heads, last_heard, signed: None };
        for (at, entry) in entries.iter().enumerate().skip(2) {
            reader.check(at, entry)?;
        }
        let holder = ring.name(place);
        match reader.signed {
            Some((at, verdict)) if at + 1 == entries.len() => {
                Ok(Self { place, entries, lines, heads, session, verdict })
            }
            Some((at, _)) => Err(format!(
                "{holder} has not signed it beyond line {}: the file was cut off after that line, \
                 or lines were added",
                lines[at]
            )),
            None => Err(format!(
                "{holder} has not signed it: it ends before the draw did, or was cut off"
            )),
        }
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

/// The entries of a file, each with its line.
fn read_entries(content: &[u8]) -> Result<(Vec<usize>, Vec<Entry>), String> {
    // Line ends carry no meaning, and mail programs change them.
    let lines = content.split(|it| *it == b'\n');
    let lines = lines.map(|text| text.strip_suffix(b"\r").unwrap_or(text));
    let lines = (1..).zip(lines).filter(|(_, text)| !text.trim_ascii().is_empty());
    let mut lines = lines.peekable();
    let Some((_, first)) = lines.peek() else {
        return Err("it is empty".to_owned());
    };
    check_version(first)?;
    lines.map(|(line, text)| Ok((line, read_entry(line, text)?))).collect()
}

/// Checks the first two entries. Returns the place of the holder and the id of the session.
fn check_beginning(
    ring: &Ring,
    digest: Digest,
    lines: &[usize],
    entries: &[Entry],
) -> Result<(u32, Digest), String> {
    let Some(Entry::Transcript(Header { draw, number, ring: theirs, member, .. })) =
        entries.first()
    else {
        let what = "the transcript does not begin with the entry that names its draw";
        return Err(misplaced(lines[0], what));
    };
    if *theirs != digest {
        return Err(format!(
            "it belongs to draw {number} for {draw} on another ring, or with other rules: the \
             digest of its ring is {theirs}"
        ));
    }
    let place = ring.place_of(member);
    let place = place
        .ok_or_else(|| format!("it belongs to {member}, which is not a member of this ring"))?;
    let second = lines.get(1).copied().unwrap_or(lines[0] + 1);
    let Some(Entry::Met(seated)) = entries.get(1) else {
        return Err(misplaced(second, "the second entry does not list the members present"));
    };
    if let Some(session) = attestation::session(ring, digest, seated) {
        return Ok((place, session));
    }
    let mut places = ring.members.iter().zip(seated);
    Err(match places.find(|(member, it)| !it.is_by(&member.key, &digest)) {
        Some((member, _)) => wrong_signature(second, &member.name),
        None => misplaced(second, "a member was not there, or not linked to the next"),
    })
}

/// The checks of all further entries.
struct Reader<'r> {
    ring: &'r Ring,
    session: Digest,
    place: u32,
    lines: &'r [usize],
    heads: &'r [Digest],
    last_heard: Sides<LastHeard>,
    /// The last entry in which the holder signs everything before it, and its verdict there.
    signed: Option<(usize, Verdict)>,
}

impl Reader<'_> {
    /// Checks the signatures and the position of one entry.
    fn check(&mut self, at: usize, entry: &Entry) -> Result<(), String> {
        let line = self.lines[at];
        match entry {
            Entry::Transcript(_) => Err(misplaced(line, "a transcript begins a second time")),
            Entry::Met(_) => Err(misplaced(line, "all gather a second time")),
            Entry::Heard { side, signed } => self.check_message(line, *side, signed),
            Entry::Statement(statement) => self.check_statement(at, statement),
            Entry::Began
            | Entry::Drew { .. }
            | Entry::Sent { .. }
            | Entry::Broken { .. }
            | Entry::Silence
            | Entry::Withdrew
            | Entry::Clock(_) => Ok(()),
        }
    }

    fn check_message(
        &mut self,
        line: usize,
        side: Side,
        signed: &SignedMessage,
    ) -> Result<(), String> {
        let (session, to) = (self.session, self.place);
        let from = self.ring.neighbour(to, side);
        let sender = self.ring.member(from);
        if !self.last_heard[side].is_before(signed) {
            return Err(misplaced(line, "a message is missing, or was received twice"));
        }
        self.last_heard[side].advance(signed);
        match signed.is_by(&sender.key, &LinkDirection { session, from, to }) {
            true => Ok(()),
            false => Err(wrong_signature(line, &sender.name)),
        }
    }

    fn check_statement(&mut self, at: usize, statement: &Statement) -> Result<(), String> {
        let line = self.lines[at];
        if !statement.counts(self.ring, self.session) {
            let member = self.ring.members.get(statement.place as usize);
            return Err(wrong_signature(line, member.map_or("no member", |it| &it.name)));
        }
        if statement.place != self.place {
            return Ok(());
        }
        let before = (at as u64, self.heads[at - 1]); // there is a first entry
        if (statement.entry, statement.head) != before {
            let holder = self.ring.name(self.place);
            let what = format!("{holder} did not sign the lines before this one");
            return Err(misplaced(line, &what));
        }
        self.signed = Some((at, statement.verdict));
        Ok(())
    }
}

fn misplaced(line: usize, what: &str) -> String {
    format!("line {line}: {what}: the file was edited")
}

fn wrong_signature(line: usize, of: &str) -> String {
    format!(
        "line {line}: the signature of {of} does not fit: the file was edited, or the ring file \
         has another key for {of}"
    )
}

/// Checks that the first line is of a version that can be read. Nothing is known about the lines of
/// other versions.
fn check_version(first: &[u8]) -> Result<(), String> {
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
            Err(format!(
                "it has layout {version}, and this program reads {OLDEST_VERSION} to {VERSION}"
            ))
        }
        // A first line without a version is not a header, which the caller finds out.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Reads the entry in one line. Hashes and signatures cover the entry, so the line must contain
/// nothing else.
fn read_entry(line: usize, text: &[u8]) -> Result<Entry, String> {
    let entry: Entry = serde_json::from_slice(text).map_err(|error| {
        let why = error.to_string();
        // The line number in serde's message is always 1.
        let why = why.rsplit_once(" at line").map_or(&*why, |(why, _)| why);
        format!("line {line}: this is not an entry of a transcript: {why}")
    })?;
    match entry.line() == text {
        true => Ok(entry),
        false => Err(misplaced(line, "the program writes this entry in another way")),
    }
}
