//! The check that a council was drawn by the rules, from public coins and a record of all calls and
//! replies.

mod record;
mod seating;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use hustings_agent::council::{CentreStatus, ChamberStatus, public_seed};
use hustings_agent::identity::member_id;
use hustings_protocol::council::{
    Algorithm, Cause, Coin, Config, Dispute, Replay, Round, audit_first, audit_later, next_call,
    replay,
};
use hustings_protocol::{Candidate, MemberId, Priority};

use crate::failure::{Failure, print, say};
use record::{Sessions, ambiguities, contradictions, is_full, rounds_of, sessions};
use seating::{Drawn, Found, judge, misnamed, misshapen};

/// The options for a draw that others can check.
#[derive(Debug, Args)]
#[command(next_help_heading = "Proof")]
pub(super) struct Auditing {
    /// Derive the hosts' coins from this text, the round and their names, so that anyone can check
    /// the draw. Publish the text before the draw. It should be one that no participant can choose,
    /// such as tomorrow's lottery numbers. Use one text for one draw only
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    public_coin: Option<String>,

    /// Hold no election; check the output that a centre with the same options printed with --format
    /// json. Keep all of its lines: a single line may not be enough. They may be reformatted and in
    /// any order
    #[arg(long, value_name = "FILE", requires_all = ["public_coin", "hosts"])]
    check: Option<PathBuf>,

    /// With --check: a file with the names of all hosts that were up, one per line; with several
    /// classes, each name is followed by its class: `rack-7 1`
    #[arg(long, value_name = "FILE", requires = "check")]
    hosts: Option<PathBuf>,
}

impl Auditing {
    pub(super) fn coin(&self) -> Coin {
        match &self.public_coin {
            Some(text) => Coin::Public { seed: public_seed(text) },
            None => Coin::Private,
        }
    }

    /// Checks that coins decide the draw, if the draw is to be checkable.
    pub(super) fn require_a_draw(&self, algorithm: Algorithm) -> Result<(), Failure> {
        match algorithm {
            Algorithm::Priority | Algorithm::Bolot if self.public_coin.is_some() => {
                Err(Failure::Usage(
                    "--public-coin is for drawn seats, and --algorithm merit and bolot draw \
                     none: leave it out"
                        .to_owned(),
                ))
            }
            Algorithm::Naive
            | Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::History { .. }
            | Algorithm::Priority
            | Algorithm::Bolot => Ok(()),
        }
    }

    /// Runs the check, or returns `None` if the options ask for none.
    pub(super) fn check(&self, rules: &Config) -> Option<Result<(), Failure>> {
        let (record, hosts) = (self.check.as_ref()?, self.hosts.as_ref()?);
        Some(check(rules, record, hosts))
    }
}

/// The exit code if the record breaks the rules.
const REFUSED: u8 = 1;
/// The exit code if the record breaks no rule and still proves nothing.
const UNPROVED: u8 = 3;

/// The names and classes of the hosts, by identity.
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
            Failure::unless_unread(print(&format!("{}\n", verdict.summary.in_words())))?;
            match code {
                0 => Ok(()),
                _ => Err(Failure::Exit(code)),
            }
        }
    }
}

/// The result of a check.
#[derive(Default)]
struct Verdict {
    /// The violations of the rules. A violation that appears on many lines is listed once.
    faults: BTreeSet<String>,
    /// Notes for the user, in the order in which they were found.
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
            let checked = Session { rules, lines, names, is_last: last == Some(session) };
            let found = checked.check(&mut verdict).into_iter();
            verdict.faults.extend(found.map(|it| of_which.clone() + &it));
        }
        verdict
    }

    /// Returns the exit code.
    fn code(&self) -> u8 {
        match self.faults.is_empty() {
            false => REFUSED,
            true if self.summary.open().is_empty() => 0,
            true => UNPROVED,
        }
    }
}

/// The lines that a centre printed in one session.
struct Session<'a> {
    rules: &'a Config,
    lines: &'a [CentreStatus],
    names: &'a Names<'a>,
    /// True if no session follows.
    is_last: bool,
}

impl Session<'_> {
    /// Returns the faults of this session.
    fn check(&self, verdict: &mut Verdict) -> Vec<String> {
        let shapes = self.lines.iter().flat_map(|it| misshapen(self.rules, it));
        let misnamed = self.lines.iter().flat_map(|it| misnamed(self.names, it));
        let faults = shapes.chain(misnamed).chain(contradictions(self.lines));
        let faults: Vec<String> = faults.collect();
        if !faults.is_empty() {
            return faults; // lines of another council, or with false names
        }
        let ambiguous = ambiguities(self.lines);
        verdict.summary.ambiguous += ambiguous.len();
        let notes = ambiguous.into_iter().map(|it| format!("note: {it}"));
        verdict.notes.extend(notes);
        if self.is_last {
            verdict.summary.council = self.lines.last().map_or(Vec::new(), council);
        }
        let classes = 0..self.rules.chambers.len() as u16;
        classes.flat_map(|class| self.check_class(class, verdict)).collect()
    }

    fn check_class(&self, class: u16, verdict: &mut Verdict) -> Vec<String> {
        let Self { lines, names, .. } = *self;
        let rounds = lines.last().map_or(Vec::new(), |it| rounds_of(it, class));
        if rounds.is_empty() {
            return self.undrawn(
                class,
                "no record of a draw: run the centre with --public-coin",
                verdict,
            );
        }
        let replay = replay(self.rules, &rounds);
        let (first, later) = rounds.split_at(ends(&replay, &rounds));
        let (mut faults, drawn) = match &replay {
            Replay::Begins(round) => {
                return vec![format!(
                    "class {class}: the record begins with round {round}, and a draw begins with \
                     round 1"
                )];
            }
            Replay::Departs(round) => (vec![self.departs(class, *round, &rounds)], None),
            Replay::Open => {
                let open = "no host was elected in the recorded rounds, so there is no draw to \
                            check. If the centre printed more lines, check all of them";
                (self.undrawn(class, open, verdict), None)
            }
            Replay::Elected(elected) => {
                let drawn = Drawn { class, lines, elected, first, later };
                let found = judge(&drawn, names);
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
                    "class {class}: with these options the recorded rounds are not the \
                     consecutive rounds of a draw: check the record with the options of the \
                     centre"
                ));
            }
            return faults;
        };
        of_later.retain(|it| {
            let held = |drawn: &Drawn<'_>| drawn.sat(it.host, it.round);
            it.cause != Cause::Missing || drawn.as_ref().is_some_and(|it| !held(it))
        });
        for (disputes, reserve) in
            [(of_first, ","), (of_later, ", if it had received the earlier calls,")]
        {
            for dispute in disputes {
                let told = told_of(dispute, reserve, class, names);
                match dispute.cause {
                    Cause::Missing => verdict.summary.missing += 1,
                    Cause::Late => verdict.summary.late += 1,
                    Cause::MissedCalls => verdict.summary.missed_calls += 1,
                    Cause::Favoured | Cause::Silent | Cause::Beyond | Cause::Unasked => {}
                }
                if dispute.cause.is_fault() {
                    faults.push(told);
                } else {
                    verdict.notes.push(format!("note: {told}")); // lost and slow messages look the same
                }
            }
        }
        faults
    }

    /// Reports that a class has no draw on record. This is no fault if the session ended earlier
    /// and seated no host of the class. Nor is it a fault if the record is full, because the draw
    /// may have come later.
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

    /// Describes a call of the centre that does not follow from the rounds before it.
    fn departs(&self, class: u16, round: u32, rounds: &[Round]) -> String {
        let place = rounds.partition_point(|it| it.feedback.round < round);
        let said = rounds.get(place).map(|it| it.feedback);
        let due = next_call(self.rules, class, &rounds[..place]);
        let instead = match (said, due) {
            (Some(said), Some((word, base))) => format!(
                ": it has the word {} and the base {}; the rules require {word} and {base}",
                said.word, said.base
            ),
            _ => String::new(),
        };
        format!(
            "round {round} of class {class} does not follow from the earlier replies with these \
             options{instead}"
        )
    }
}

/// Returns the names of the seated hosts on a line, per class.
fn council(line: &CentreStatus) -> Vec<Vec<String>> {
    let names = |it: &ChamberStatus| {
        let names = it.seats.iter().map(|seat| seat.member.name.clone());
        let names: BTreeSet<String> = names.collect();
        names.into_iter().collect()
    };
    line.chambers.iter().map(names).collect()
}

/// Returns the number of rounds that belong to the first election of a class. If the record elects
/// no host, or departs from the rules, these are the rounds before the first with seated hosts.
fn ends(replay: &Replay, rounds: &[Round]) -> usize {
    let of_first = |it: &&Round| match replay {
        Replay::Elected(elected) => it.feedback.round <= elected.first.0,
        Replay::Begins(_) | Replay::Departs(_) | Replay::Open => it.feedback.seated == 0,
    };
    rounds.iter().take_while(of_first).count()
}

/// Describes a dispute.
fn told_of(dispute: Dispute, reserve: &str, class: u16, names: &Names<'_>) -> String {
    let Dispute { round, host, cause } = dispute;
    let name = match names.get(&host) {
        Some((name, its)) if *its == class => (*name).to_owned(),
        Some((name, _)) => format!("{name}, which is of another class,"),
        None => format!("{:016x}, which is no host,", host.0),
    };
    let what = match cause {
        Cause::Favoured => "replied, as the record says, and its coins contradict that".to_owned(),
        Cause::Silent => {
            "replied with a no, as the record says; a host that draws a no does not reply"
                .to_owned()
        }
        Cause::Beyond => {
            "drew with a number of hosts that no host can use, as the record says".to_owned()
        }
        Cause::Unasked => {
            "replied late, as the record says, to a round that had not begun".to_owned()
        }
        Cause::Missing => format!("had to reply{reserve} and did not"),
        Cause::Late => "replied late, as the centre says".to_owned(),
        Cause::MissedCalls => {
            "drew with the number of hosts of a host that has missed calls, as its reply says"
                .to_owned()
        }
    };
    format!("round {round}: {name} {what}")
}

/// The facts that the check established, over all sessions and classes, and the questions that
/// remain open.
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
    /// Replies computed with the number of a host that has missed calls.
    missed_calls: usize,
    /// Hosts that were elected and have no seat on the last line.
    seatless: usize,
    /// Lines with the same rounds as another line but different seats.
    ambiguous: usize,
    /// The names of the hosts seated on the last line, per class.
    council: Vec<Vec<String>>,
    /// Seats that the record no longer covers, and classes whose draw it does not contain.
    untold: usize,
}

impl Summary {
    fn add(&mut self, drawn: &Drawn<'_>, found: &Found) {
        self.rounds += drawn.first.len();
        self.later_rounds += drawn.later.len();
        self.later_seats += found.later.len();
        self.seatless += found.seatless.len();
        self.untold += found.untold.len();
    }

    /// Returns the questions that the record leaves open. If there are none, the record is a proof.
    fn open(&self) -> Vec<String> {
        let open = [
            (self.missing, "required replies that are not on record"),
            (self.late, "replies that came late, as the centre says"),
            (
                self.missed_calls,
                "replies of hosts that have missed calls, as the replies alone \
                                 say",
            ),
            (self.seatless, "hosts that were elected and have no seat"),
            (
                self.later_seats,
                "seats filled after the first election, which only the centre reports as empty \
                 before",
            ),
            (
                self.ambiguous,
                "lines with the same rounds and different seats, in an order that only the \
                 centre gives",
            ),
            (self.untold, "seats and classes that the record does not cover"),
        ];
        let open = open.iter().filter(|(number, _)| *number > 0);
        open.map(|(number, what)| format!("{what}: {number}")).collect()
    }

    /// Describes the proved council. Lines may have been left out or added, so the names identify
    /// the line that is proved.
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
        if open.is_empty() {
            format!(
                "the draw follows the rules: {rounds} rounds{of_which}; {}",
                self.council_in_words()
            )
        } else {
            format!(
                "no rule was broken, but the draw is not proved: {rounds} rounds{of_which}; {}",
                open.join("; ")
            )
        }
    }
}

fn names(text: &str) -> Result<Names<'_>, String> {
    let lines = unmarked(text).lines();
    let lines = lines.filter(|it| !it.trim().is_empty());
    let mut names = Names::new();
    for line in lines {
        let host = host(line)?;
        let before = names.insert(member_id(host.0), host);
        if let Some(before) = before.filter(|it| *it != host) {
            let ((one, its), (other, class)) = (before, host);
            return Err(format!(
                "`{one}` of class {its} and `{other}` of class {class} have the same identity; a \
                 host has one name and one class: remove or rename one of them"
            ));
        }
    }
    Ok(names)
}

/// Parses a host name and, if one follows, the host's class.
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
    of_class.map(|(id, _)| Candidate { priority: Priority(0), id: *id }).collect()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// Removes the byte order mark that some editors write.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
