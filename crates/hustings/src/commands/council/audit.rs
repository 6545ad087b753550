//! Whether a council was drawn as it should have been: coins that follow from a text, and a record of what was said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use hustings_agent::Peer;
use hustings_agent::council::{CentreStatus, public_seed};
use hustings_agent::identity::member_id;
use hustings_protocol::council::{
    Algorithm, Cause, Coin, Config, Course, Dispute, Round, audit, course,
};
use hustings_protocol::{Candidate, MemberId, Merit};

use crate::failure::{Failure, say};

/// A draw that others can check.
#[derive(Debug, Args)]
#[command(next_help_heading = "Proof")]
pub(super) struct Auditing {
    /// Let the hosts' coins follow from this text, the round and their names, so that anybody can check the draw. Publish it
    /// before: best one that nobody could choose, such as tomorrow's lottery numbers. One text is one draw
    #[arg(long, value_name = "TEXT")]
    public_coin: Option<String>,

    /// Call nobody: check a line that a centre with the same options printed with --format json
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

fn check(rules: &Config, record: &Path, hosts: &Path) -> Result<(), Failure> {
    let line = read(record)?;
    let line = line.lines().last().unwrap_or_default();
    let status: CentreStatus = serde_json::from_str(line).map_err(|error| {
        Failure::Failed(format!(
            "{}: not a line of a centre: {error}",
            record.display()
        ))
    })?;
    let names = read(hosts)?;
    let lines = names.lines().filter(|it| !it.trim().is_empty());
    let names: BTreeMap<MemberId, (&str, u16)> = lines
        .map(|line| {
            let host = host(line)?;
            Ok((member_id(host.0), host))
        })
        .collect::<Result<_, String>>()
        .map_err(|error| Failure::Failed(format!("{}: {error}", hosts.display())))?;
    let mut faults = Vec::new();
    for class in 0..rules.chambers.len() as u16 {
        let rounds = first_election(&status, class);
        if rounds.is_empty() {
            return Err(Failure::Failed(format!(
                "{}: no record of a draw: had the centre a --public-coin?",
                record.display()
            )));
        }
        let of_class = names.iter().filter(|(_, (_, its))| *its == class);
        let candidates: Vec<Candidate> = of_class
            .map(|(id, _)| Candidate {
                merit: Merit(0),
                id: *id,
            })
            .collect();
        faults.extend(judge(rules, &status, class, &rounds));
        let disputes = audit(rules, &rounds, &candidates).ok_or_else(|| {
            Failure::Failed(format!("{}: not the rounds of a draw", record.display()))
        })?;
        for Dispute { round, host, cause } in disputes {
            let name = match names.get(&host) {
                Some((name, its)) if *its == class => (*name).to_owned(),
                Some((name, _)) => format!("{name}, which is of another class,"),
                None => format!("{:016x}, which is no host,", host.0),
            };
            match cause {
                Cause::Favoured => faults.push(format!(
                    "round {round}: {name} is said to have replied, and its coins say otherwise"
                )),
                // A message that was lost does that too, so that it proves nothing.
                Cause::Missing => say(&format!(
                    "note: round {round}: {name} had to reply, and did not"
                )),
            }
        }
    }
    match faults.is_empty() {
        true => {
            println!("drawn as it had to be: {} rounds", status.record.len());
            Ok(())
        }
        false => Err(Failure::Failed(faults.join("\n"))),
    }
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

/// What is wrong with how a class was called, and with who was seated for it.
fn judge(rules: &Config, status: &CentreStatus, class: u16, rounds: &[Round]) -> Vec<String> {
    let (elected_in, draw) = match course(rules, rounds) {
        Course::Departs(round) => {
            return vec![format!(
                "round {round} of class {class} is not what follows from the replies before it, by these options"
            )];
        }
        Course::Open => {
            return vec![format!(
                "class {class}: nobody is elected in the rounds on record: there is no draw to check"
            )];
        }
        Course::Elected(round, draw) => (round, draw),
    };
    let Some(last) = rounds.last().filter(|it| it.feedback.round == elected_in) else {
        return vec![format!(
            "class {class}: a council was elected in round {elected_in}, and the centre called again: why cannot be told"
        )];
    };
    let is_elected = |id: MemberId| {
        let mut voices = last.replies.iter();
        voices.any(|it| it.host == id && it.draws.has(draw))
    };
    let chambers = status.chambers.iter().filter(|it| it.class == class);
    let seats = chambers.flat_map(|it| &it.seats);
    let members: Vec<&Peer> = seats.map(|it| &it.member).collect();
    for voice in last.replies.iter().filter(|it| it.draws.has(draw)) {
        if members.iter().all(|it| it.id != voice.host) {
            // One that has gone since has none either, so that it proves nothing.
            say(&format!(
                "note: {:016x} was elected in round {elected_in}, and has no seat",
                voice.host.0
            ));
        }
    }
    let mut faults = Vec::new();
    if members.is_empty() {
        faults.push(format!("class {class}: nobody is seated"));
    }
    for seated in members.into_iter().filter(|it| !is_elected(it.id)) {
        faults.push(format!(
            "class {class}: {} has a seat, and was not elected in round {elected_in}",
            seated.name
        ));
    }
    faults
}

/// The rounds of a class before anybody was seated.
fn first_election(status: &CentreStatus, class: u16) -> Vec<Round> {
    let of_class = status.record.iter().filter(|it| it.feedback.class == class);
    of_class
        .take_while(|it| it.feedback.seated == 0)
        .cloned()
        .collect()
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}
