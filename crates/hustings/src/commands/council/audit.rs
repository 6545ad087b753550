//! Whether a council was drawn as it should have been: coins that follow from a text, and a record of what was said.

mod seating;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use hustings_agent::council::{CentreStatus, public_seed};
use hustings_agent::identity::member_id;
use hustings_protocol::council::{
    Algorithm, Cause, Coin, Config, Course, Dispute, Round, audit, audit_later, course,
};
use hustings_protocol::{Candidate, MemberId, Merit};

use crate::failure::{Failure, say};
use seating::{Drawn, judge, misshapen};

/// A draw that others can check.
#[derive(Debug, Args)]
#[command(next_help_heading = "Proof")]
pub(super) struct Auditing {
    /// Let the hosts' coins follow from this text, the round and their names, so that anybody can check the draw. Publish it
    /// before: best one that nobody could choose, such as tomorrow's lottery numbers. One text is one draw
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    public_coin: Option<String>,

    /// Call nobody: check what a centre with the same options printed with --format json, all of it or some lines
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

/// The hosts, by identity: their names and classes.
type Names<'a> = BTreeMap<MemberId, (&'a str, u16)>;

fn check(rules: &Config, record: &Path, hosts: &Path) -> Result<(), Failure> {
    let lines = last_session(record)?;
    let text = read(hosts)?;
    let names =
        names(&text).map_err(|error| Failure::Failed(format!("{}: {error}", hosts.display())))?;
    let told = lines.last().map_or(&[][..], |it| &it.record);
    let mut faults: Vec<String> = lines.iter().flat_map(|it| misshapen(rules, it)).collect();
    let mut summary = Summary::default();
    for class in 0..rules.chambers.len() as u16 {
        if !faults.is_empty() {
            break; // these are not the lines of such a council, or name others than they mean
        }
        let rounds: Vec<Round> = told
            .iter()
            .filter(|it| it.feedback.class == class)
            .cloned()
            .collect();
        if rounds.is_empty() {
            return Err(Failure::Failed(format!(
                "{}: no record of a draw: had the centre a --public-coin?",
                record.display()
            )));
        }
        let course = course(rules, &rounds);
        let (first, later) = rounds.split_at(ends(course, &rounds));
        faults.extend(match course {
            Course::Departs(round) => vec![format!(
                "round {round} of class {class} is not what follows from the replies before it, by these options"
            )],
            Course::Open => vec![format!(
                "class {class}: nobody is elected in the rounds on record: there is no draw to check"
            )],
            Course::Elected(round, draw) => {
                let drawn = Drawn {
                    round,
                    draw,
                    first,
                    later,
                };
                let (unfair, seats) = judge(class, &lines, &drawn, &names);
                summary.add(&drawn, seats);
                unfair
            }
        });
        let hosts = candidates(&names, class);
        let disputes = audit(rules, first, &hosts).zip(audit_later(rules, later, &hosts));
        let (disputes, of_later) = disputes.ok_or_else(|| {
            Failure::Failed(format!(
                "{}: not the rounds of a draw by these options: check it with those of the centre",
                record.display()
            ))
        })?;
        faults.extend(
            disputes
                .into_iter()
                .chain(of_later)
                .filter_map(|it| told_of(it, class, &names)),
        );
    }
    match faults.is_empty() {
        true => {
            println!("{}", summary.in_words());
            Ok(())
        }
        false => {
            let mut said = std::collections::BTreeSet::new();
            faults.retain(|it| said.insert(it.clone())); // of many lines
            Err(Failure::Failed(faults.join("\n")))
        }
    }
}

/// How many of a class's rounds are of its first election. Where nobody was elected in it, those while nobody was seated.
fn ends(course: Course, rounds: &[Round]) -> usize {
    let of_first = |it: &&Round| match course {
        Course::Elected(round, _) => it.feedback.round <= round,
        Course::Departs(_) | Course::Open => it.feedback.seated == 0,
    };
    rounds.iter().take_while(of_first).count()
}

/// A dispute in words, if it proves something; else it is said as a note.
fn told_of(dispute: Dispute, class: u16, names: &Names<'_>) -> Option<String> {
    let Dispute { round, host, cause } = dispute;
    let name = match names.get(&host) {
        Some((name, its)) if *its == class => (*name).to_owned(),
        Some((name, _)) => format!("{name}, which is of another class,"),
        None => format!("{:016x}, which is no host,", host.0),
    };
    match cause {
        Cause::Favoured => Some(format!(
            "round {round}: {name} is said to have replied, and its coins say otherwise"
        )),
        // A message that was lost does that too, so that it proves nothing.
        Cause::Missing => {
            say(&format!(
                "note: round {round}: {name} had to reply, and did not"
            ));
            None
        }
    }
}

/// What was found to be right, of all classes.
#[derive(Default)]
struct Summary {
    rounds: usize,
    later_rounds: usize,
    later_seats: usize,
}

impl Summary {
    fn add(&mut self, drawn: &Drawn<'_>, later_seats: usize) {
        self.rounds += drawn.first.len();
        self.later_rounds += drawn.later.len();
        self.later_seats += later_seats;
    }

    fn in_words(&self) -> String {
        let first = format!("drawn as it had to be: {} rounds", self.rounds);
        match self.later_rounds {
            0 => first,
            rounds => format!(
                "{first}. Rounds after that: {rounds}, seats filled by them: {}. Who replied in them had to; no more is shown of them",
                self.later_seats
            ),
        }
    }
}

/// What a centre printed in its last session.
fn last_session(record: &Path) -> Result<Vec<CentreStatus>, Failure> {
    let path = record.display();
    let text = read(record)?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, it)| !it.trim().is_empty());
    let mut lines = lines
        .map(|(place, line)| {
            serde_json::from_str::<CentreStatus>(line).map_err(|error| {
                let line = place + 1;
                Failure::Failed(format!(
                    "{path}: line {line} is not a line of a centre: {error}"
                ))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let Some(session) = lines.last().map(|it| it.session) else {
        return Err(Failure::Failed(format!(
            "{path}: no line of a centre: keep what it prints with --format json"
        )));
    };
    let all = lines.len();
    lines.retain(|it| it.session == session);
    if lines.len() < all {
        say("note: only the lines of the last session are checked");
    }
    Ok(lines)
}

fn names(text: &str) -> Result<Names<'_>, String> {
    let lines = text.lines().filter(|it| !it.trim().is_empty());
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

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}
