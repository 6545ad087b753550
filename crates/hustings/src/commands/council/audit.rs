//! Whether a council was drawn as it should have been: coins that follow from a text, and a record of what was said.

#[cfg(test)]
mod forgeries;
mod record;
mod seating;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use hustings_agent::council::{CentreStatus, ChamberStatus, public_seed};
use hustings_agent::identity::member_id;
use hustings_protocol::council::{
    Algorithm, Cause, Coin, Config, Course, Dispute, Round, audit_first, audit_later, course,
    next_call,
};
use hustings_protocol::{Candidate, MemberId, Merit};

use crate::failure::{Failure, say};
use record::{Sessions, ambiguities, contradictions, is_full, rounds_of, sessions};
use seating::{Drawn, Found, judge, misshapen};

/// A draw that others can check.
#[derive(Debug, Args)]
#[command(next_help_heading = "Proof")]
pub(super) struct Auditing {
    /// Let the hosts' coins follow from this text, the round and their names, so that anybody can check the draw. Publish it
    /// before: best one that nobody could choose, such as tomorrow's lottery numbers. One text is one draw
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    public_coin: Option<String>,

    /// Call nobody: check what a centre with the same options printed with --format json. Keep all of it: one line alone may not do. It
    /// may be formatted anew, and its lines may be in any order
    #[arg(long, value_name = "FILE", requires_all = ["public_coin", "hosts"])]
    check: Option<PathBuf>,

    /// Of --check: the names of all hosts that were up, one a line; where there are classes, each with its class: `rack-7 1`
    #[arg(long, value_name = "FILE", requires = "check")]
    hosts: Option<PathBuf>,
}

impl Auditing {
    pub(super) fn coin(&self) -> Coin {
        match &self.public_coin {
            Some(text) => Coin::Public {
                seed: public_seed(text),
            },
            None => Coin::Private,
        }
    }

    /// Makes sure that coins decide, if anybody is to check them.
    pub(super) fn require_a_draw(&self, algorithm: Algorithm) -> Result<(), Failure> {
        match algorithm {
            Algorithm::Merit | Algorithm::Bolot if self.public_coin.is_some() => {
                Err(Failure::Usage(
                    "--public-coin is for draws: seats by --algorithm merit and bolot are none"
                        .to_owned(),
                ))
            }
            Algorithm::Naive
            | Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::History { .. }
            | Algorithm::Merit
            | Algorithm::Bolot => Ok(()),
        }
    }

    /// None: there is nothing to check.
    pub(super) fn check(&self, rules: &Config) -> Option<Result<(), Failure>> {
        let (record, hosts) = (self.check.as_ref()?, self.hosts.as_ref()?);
        Some(check(rules, record, hosts))
    }
}

/// The exit code where something is against the rules.
const REFUSED: u8 = 1;
/// The exit code where nothing is against the rules, and yet nothing is proved.
const UNPROVED: u8 = 3;

/// The hosts, by identity: their names and classes.
type Names<'a> = BTreeMap<MemberId, (&'a str, u16)>;

fn check(rules: &Config, record: &Path, hosts: &Path) -> Result<(), Failure> {
    let unfit = |error| Failure::file("--check", record, error);
    let sessions = read(record).and_then(|it| sessions(&it)).map_err(unfit)?;
    let unfit = |error| Failure::file("--hosts", hosts, error);
    let text = read(hosts).map_err(unfit)?;
    let names = names(&text).map_err(unfit)?;
    let verdict = Verdict::of(rules, &sessions, &names);
    verdict.notes.iter().for_each(|it| say(it));
    match verdict.code() {
        REFUSED => {
            let faults: Vec<String> = verdict.faults.into_iter().collect();
            Err(Failure::Failed(faults.join("\n")))
        }
        code => {
            println!("{}", verdict.summary.in_words());
            match code {
                0 => Ok(()),
                _ => Err(Failure::Exit(code)),
            }
        }
    }
}

/// What comes of a check.
#[derive(Default)]
struct Verdict {
    /// What is against the rules; each once, though it be on many lines.
    faults: BTreeSet<String>,
    /// For people, in the order in which it was found.
    notes: Vec<String>,
    summary: Summary,
}

impl Verdict {
    fn of(rules: &Config, sessions: &Sessions, names: &Names<'_>) -> Self {
        let mut verdict = Self::default();
        verdict.summary.sessions = sessions.len();
        let last = sessions.keys().next_back();
        for (session, lines) in sessions {
            let mut of_which = String::new();
            if sessions.len() > 1 {
                let note = format!("note: session {session}, lines: {}", lines.len());
                verdict.notes.push(note);
                of_which = format!("session {session}: ");
            }
            let checked = Session {
                rules,
                lines,
                names,
                is_last: last == Some(session),
            };
            let found = checked.check(&mut verdict).into_iter();
            verdict
                .faults
                .extend(found.map(|it| of_which.clone() + &it));
        }
        verdict
    }

    /// The exit code.
    fn code(&self) -> u8 {
        match self.faults.is_empty() {
            false => REFUSED,
            true if self.summary.open().is_empty() => 0,
            true => UNPROVED,
        }
    }
}

/// What a centre printed in one session.
struct Session<'a> {
    rules: &'a Config,
    lines: &'a [CentreStatus],
    names: &'a Names<'a>,
    /// Whether none follows it.
    is_last: bool,
}

impl Session<'_> {
    /// What is wrong with it.
    fn check(&self, verdict: &mut Verdict) -> Vec<String> {
        let shapes = self.lines.iter().flat_map(|it| misshapen(self.rules, it));
        let faults: Vec<String> = shapes.chain(contradictions(self.lines)).collect();
        if !faults.is_empty() {
            return faults; // these are not the lines of such a council, or name others than they mean
        }
        let ambiguous = ambiguities(self.lines);
        verdict.summary.ambiguous += ambiguous.len();
        let notes = ambiguous.into_iter().map(|it| format!("note: {it}"));
        verdict.notes.extend(notes);
        if self.is_last {
            verdict.summary.council = self.lines.last().map_or(Vec::new(), council);
        }
        let classes = 0..self.rules.chambers.len() as u16;
        classes
            .flat_map(|class| self.check_class(class, verdict))
            .collect()
    }

    fn check_class(&self, class: u16, verdict: &mut Verdict) -> Vec<String> {
        let Self { lines, names, .. } = *self;
        let rounds = lines.last().map_or(Vec::new(), |it| rounds_of(it, class));
        if rounds.is_empty() {
            return self.undrawn(
                class,
                "no record of a draw: had the centre a --public-coin?",
                verdict,
            );
        }
        let course = course(self.rules, &rounds);
        let (first, later) = rounds.split_at(ends(&course, &rounds));
        let (mut faults, drawn) = match &course {
            Course::Begins(round) => {
                return vec![format!(
                    "class {class}: the record begins with round {round}, and a draw with round 1"
                )];
            }
            Course::Departs(round) => (vec![self.departs(class, *round, &rounds)], None),
            Course::Open => {
                let open = "nobody is elected in the rounds on record: there is no draw to check. If the centre printed more, check all of it";
                (self.undrawn(class, open, verdict), None)
            }
            Course::Elected(elected) => {
                let drawn = Drawn {
                    elected,
                    first,
                    later,
                };
                let found = judge(class, lines, &drawn, names);
                verdict.notes.extend(found.notes.iter().cloned());
                verdict.summary.add(&drawn, &found);
                (found.faults, Some(drawn))
            }
        };
        let last = first.last().map_or(0, |it| it.feedback.round);
        let hosts = candidates(names, class);
        let of_first = audit_first(self.rules, (last, &rounds), &hosts);
        let of_later = audit_later(self.rules, (last, &rounds), &hosts);
        let Some((of_first, mut of_later)) = of_first.zip(of_later) else {
            if faults.is_empty() {
                faults.push(format!(
                    "class {class}: not the rounds of a draw by these options, one after the other: check it with those of the centre"
                ));
            }
            return faults;
        };
        of_later.retain(|it| {
            let held = |drawn: &Drawn<'_>| drawn.sat(class, (it.host, it.round), lines);
            it.cause != Cause::Missing || drawn.as_ref().is_some_and(|it| !held(it))
        });
        for (disputes, reserve) in [
            (of_first, ","),
            (of_later, ", if it had heard what was said before,"),
        ] {
            for dispute in disputes {
                let told = told_of(dispute, reserve, class, names);
                match dispute.cause {
                    Cause::Missing => verdict.summary.missing += 1,
                    Cause::Late => verdict.summary.late += 1,
                    Cause::MissedCalls => verdict.summary.missed_calls += 1,
                    Cause::Favoured | Cause::Silent | Cause::Beyond | Cause::Unasked => {}
                }
                match dispute.cause.is_fault() {
                    true => faults.push(told),
                    false => verdict.notes.push(format!("note: {told}")), // what was lost or slow does that too
                }
            }
        }
        faults
    }

    /// There is no draw of this class. That is no fault of a session which ended before: nobody came in by it. Nor of one whose record
    /// is full: it may have been later.
    fn undrawn(&self, class: u16, why: &str, verdict: &mut Verdict) -> Vec<String> {
        let why = format!("class {class}: {why}");
        let mut chambers = self.lines.iter().flat_map(|it| &it.chambers);
        let is_empty = chambers.all(|it| it.class != class || it.seats.is_empty());
        let is_ended = !self.is_last && is_empty;
        let is_untold = self.lines.last().is_some_and(is_full);
        if !is_ended && !is_untold {
            return vec![why];
        }
        verdict.summary.untold += usize::from(!is_ended);
        verdict.notes.push(format!("note: {why}"));
        Vec::new()
    }

    /// The centre said in this round what it could not say after those before it.
    fn departs(&self, class: u16, round: u32, rounds: &[Round]) -> String {
        let place = rounds.partition_point(|it| it.feedback.round < round);
        let said = rounds.get(place).map(|it| it.feedback);
        let due = next_call(self.rules, class, &rounds[..place]);
        let instead = match (said, due) {
            (Some(said), Some((word, base))) => format!(
                ": it has the word {} and the base {}, and had to have {word} and {base}",
                said.word, said.base
            ),
            _ => String::new(),
        };
        format!(
            "round {round} of class {class} is not what follows from the replies before it, by these options{instead}"
        )
    }
}

/// The names of those who hold seats by a line, of each class.
fn council(line: &CentreStatus) -> Vec<Vec<String>> {
    let names = |it: &ChamberStatus| {
        let names = it.seats.iter().map(|seat| seat.member.name.clone());
        let names: BTreeSet<String> = names.collect();
        names.into_iter().collect()
    };
    line.chambers.iter().map(names).collect()
}

/// How many of a class's rounds are of its first election. Where nobody was elected in it, those while nobody was seated.
fn ends(course: &Course, rounds: &[Round]) -> usize {
    let of_first = |it: &&Round| match course {
        Course::Elected(elected) => it.feedback.round <= elected.first.0,
        Course::Begins(_) | Course::Departs(_) | Course::Open => it.feedback.seated == 0,
    };
    rounds.iter().take_while(of_first).count()
}

/// A dispute in words.
fn told_of(dispute: Dispute, reserve: &str, class: u16, names: &Names<'_>) -> String {
    let Dispute { round, host, cause } = dispute;
    let name = match names.get(&host) {
        Some((name, its)) if *its == class => (*name).to_owned(),
        Some((name, _)) => format!("{name}, which is of another class,"),
        None => format!("{:016x}, which is no host,", host.0),
    };
    let what = match cause {
        Cause::Favoured => "is said to have replied, and its coins say otherwise".to_owned(),
        Cause::Silent => {
            "is said to have replied with a no, and who draws a no does not reply".to_owned()
        }
        Cause::Beyond => "is said to have drawn by a number that no host can draw by".to_owned(),
        Cause::Unasked => {
            "is said to have replied late to a round that had not been yet".to_owned()
        }
        Cause::Missing => format!("had to reply{reserve} and did not"),
        Cause::Late => "replied late, as the centre says".to_owned(),
        Cause::MissedCalls => {
            "drew by the number of a host that has missed calls, as its reply says".to_owned()
        }
    };
    format!("round {round}: {name} {what}")
}

/// What was found to be right, of all sessions and classes; and what that leaves open.
#[derive(Default)]
struct Summary {
    sessions: usize,
    rounds: usize,
    later_rounds: usize,
    later_seats: usize,
    /// Replies that had to come and are not on record.
    missing: usize,
    /// Replies that are on record as late.
    late: usize,
    /// Replies by the number of a host that has missed calls.
    missed_calls: usize,
    /// Hosts that were elected, and have no seat in the last line.
    seatless: usize,
    /// Lines that tell of the same rounds as another, and of other seats.
    ambiguous: usize,
    /// The names of those who are seated at last, of each class.
    council: Vec<Vec<String>>,
    /// Seats of which the record does not tell any more, and classes whose draw it does not tell of.
    untold: usize,
}

impl Summary {
    fn add(&mut self, drawn: &Drawn<'_>, found: &Found) {
        self.rounds += drawn.first.len();
        self.later_rounds += drawn.later.len();
        self.later_seats += found.later_seats;
        self.seatless += found.seatless;
        self.untold += found.untold;
    }

    /// What nobody can tell from the record. Nothing: it is a proof.
    fn open(&self) -> Vec<String> {
        let open = [
            (
                self.missing,
                "replies that had to come and are not on record",
            ),
            (self.late, "replies that came late, as the centre says"),
            (
                self.missed_calls,
                "replies of hosts that have missed calls, as only the replies say",
            ),
            (self.seatless, "hosts that were elected and have no seat"),
            (
                self.later_seats,
                "seats filled after the first election, of which only the centre says that they were empty",
            ),
            (
                self.ambiguous,
                "lines with the same rounds and other seats, of which only the centre says which came later",
            ),
            (
                self.untold,
                "seats and classes of which the record does not tell enough",
            ),
        ];
        let open = open.iter().filter(|(number, _)| *number > 0);
        open.map(|(number, what)| format!("{what}: {number}"))
            .collect()
    }

    /// The council that is proved. A line may be left out or added, so the names say which of the lines they are of.
    fn council_in_words(&self) -> String {
        match &self.council[..] {
            [names] => format!("seated: {}", names.join(" ")),
            classes => {
                let classes = classes.iter().enumerate();
                let classes = classes.map(|(class, it)| format!("class {class}: {}", it.join(" ")));
                format!("seated: {}", classes.collect::<Vec<_>>().join("; "))
            }
        }
    }

    fn in_words(&self) -> String {
        let of_which = match self.sessions {
            0 | 1 => String::new(),
            sessions => format!(" of {sessions} sessions"),
        };
        let rounds = self.rounds + self.later_rounds;
        let open = self.open();
        match open.is_empty() {
            true => format!(
                "drawn as it had to be: {rounds} rounds{of_which}; {}",
                self.council_in_words()
            ),
            false => format!(
                "nothing is against the rules, but that is no proof: {rounds} rounds{of_which}; {}",
                open.join("; ")
            ),
        }
    }
}

fn names(text: &str) -> Result<Names<'_>, String> {
    let lines = unmarked(text).lines();
    let lines = lines.filter(|it| !it.trim().is_empty());
    lines
        .map(|line| {
            let host = host(line)?;
            Ok((member_id(host.0), host))
        })
        .collect()
}

/// A name, and the class of that host if one follows.
fn host(line: &str) -> Result<(&str, u16), String> {
    let mut words = line.split_whitespace();
    let (name, class) = (words.next().unwrap_or_default(), words.next());
    let class = class.map_or(Ok(0), str::parse);
    match (class, words.next()) {
        (Ok(class), None) => Ok((name, class)),
        _ => Err(format!("`{line}` is not a name, or a name and its class")),
    }
}

fn candidates(names: &Names<'_>, class: u16) -> Vec<Candidate> {
    let of_class = names.iter().filter(|(_, (_, its))| *its == class);
    of_class
        .map(|(id, _)| Candidate {
            merit: Merit(0),
            id: *id,
        })
        .collect()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// A text without its byte order mark, which some editors write.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
