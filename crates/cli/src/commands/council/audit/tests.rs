//! Tests the check against forgers: an honest record passes in any form, and no forged record is a
//! proof.
//!
//! If all hosts hear all calls and all replies arrive, a draw with public coins has one outcome. A
//! record that is a proof (exit code 0) therefore seats exactly that council. The forgers here
//! change a record at random. Or they change the replies to one round and continue by the rules, as
//! a centre does that lies about one host.
//!
//! `FORGERIES=50000 cargo test --bin hustings audit` tries another number of them than
//! [`FORGERIES`].

use std::collections::BTreeSet;

use hustings_agent::identity::member_id;
use hustings_protocol::council::{
    Algorithm, Cause, Coin, Config, Draws, Feedback, Late, Replay, Round, Seats, Voice, WireBits,
    audit, next_call, replay,
};
use hustings_protocol::mix64::mix64;
use hustings_protocol::{Candidate, Duration, MemberId};
use serde_json::{Value, json};

use super::{UNPROVED, Verdict, names, sessions};

const HOSTS: u64 = 40;
/// The number of forgeries to try, unless the environment sets another.
const FORGERIES: u64 = 10_000;
const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::SkipReset, Algorithm::HISTORY, Algorithm::CHOICE, Algorithm::Naive];

/// A pseudo-random generator with the same sequence in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        mix64(self.0) as usize % bound.max(1)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A draw by a centre that does not know the number of hosts.
struct Fixture {
    config: Config,
    hosts: Vec<Candidate>,
}

impl Fixture {
    fn new(seed: u64) -> Self {
        let (seats, round) = (Seats::new(4, 8), Duration::from_millis(250));
        let mut config = Config::field(seats, 100_000, round);
        config.algorithm = ALGORITHMS[seed as usize % ALGORITHMS.len()];
        config.coin = Coin::Public { seed: seed.into() };
        let hosts = (0..HOSTS).map(|it| Candidate::new(member_id(&name(it)).0, 0));
        let hosts = hosts.collect();
        Self { config, hosts }
    }

    /// Continues a record by the rules, with every due reply, until there is a council. Returns
    /// `None` if that is impossible.
    fn complete(&self, mut rounds: Vec<Round>) -> Option<Vec<Round>> {
        loop {
            match replay(&self.config, &rounds) {
                Replay::Elected(_) => return Some(rounds),
                Replay::Open if rounds.len() < 40 => {}
                Replay::Open | Replay::Departs(_) | Replay::Begins(_) => return None,
            }
            let (word, base) = next_call(&self.config, 0, &rounds)?;
            let round = rounds.len() as u32 + 1;
            let feedback =
                Feedback { session: SESSION, class: 0, round, base, seated: 0, word, floor: None };
            let replies = Vec::new();
            let late = Vec::new();
            rounds.push(Round { feedback, replies, late });
            for host in self.who(Cause::Missing, round, &rounds) {
                let voice = self.voice(host, round, &rounds)?;
                rounds.last_mut()?.replies.push(voice);
            }
        }
    }

    fn who(&self, cause: Cause, round: u32, rounds: &[Round]) -> Vec<MemberId> {
        let disputes = audit(&self.config, rounds, &self.hosts).unwrap_or_default();
        let of_round = disputes.iter().filter(|it| it.round == round);
        let of_cause = of_round.filter(|it| it.cause == cause);
        of_cause.map(|it| it.host).collect()
    }

    /// Returns the reply of a host that has to reply to the last round.
    fn voice(&self, host: MemberId, round: u32, rounds: &[Round]) -> Option<Voice> {
        let number = count(&self.config, &rounds.last()?.feedback)?;
        let voices = (1..=3).map(|draws| Voice { host, draws: Draws(draws), number });
        let fits = |voice: &Voice| {
            let mut rounds = rounds.to_vec();
            let last = rounds.last_mut().expect("there is one");
            last.replies = vec![*voice];
            !self.who(Cause::Favoured, round, &rounds).contains(&host)
        };
        voices.into_iter().find(fits)
    }

    /// Returns the council that these rounds elect.
    fn council(&self, rounds: &[Round]) -> BTreeSet<MemberId> {
        let Replay::Elected(elected) = replay(&self.config, rounds) else {
            return BTreeSet::new();
        };
        let (number, draw) = elected.first;
        let round = rounds.iter().find(|it| it.feedback.round == number);
        let replies = round.into_iter().flat_map(|it| &it.replies);
        let yes = replies.filter(|it| it.draws.has(draw));
        yes.map(|it| it.host).collect()
    }

    fn verdict(&self, text: &str) -> Option<Verdict> {
        let hosts: Vec<String> = (0..HOSTS).map(name).collect();
        let (hosts, sessions) = (hosts.join("\n"), sessions(text).ok()?);
        let names = names(&hosts).expect("these are names");
        Some(Verdict::of(&self.config, &sessions, &names))
    }

    #[track_caller]
    fn is_proof(&self, text: &str) {
        let verdict = self.verdict(text).expect("it can be read");
        assert_eq!(verdict.code(), 0, "{:?} {:?}\n{text}", verdict.faults, verdict.notes);
    }
}

const SESSION: u64 = 1 << 60 | 1;

fn name(number: u64) -> String {
    format!("host-{number}")
}

fn count(config: &Config, feedback: &Feedback) -> Option<u32> {
    let continues = feedback.base != 0 && feedback.base + 1 == feedback.round;
    WireBits::decode(feedback.word, config.algorithm, continues).map(|it| it.count)
}

/// Returns the line that the centre prints when these hosts are seated.
fn line(seated: &BTreeSet<MemberId>, rounds: &[Round]) -> Value {
    let name_of = |id: MemberId| {
        let mut names = (0..HOSTS).map(name);
        names.find(|it| member_id(it) == id)
    };
    let seat = |id: &MemberId| {
        let name = name_of(*id).unwrap_or_else(|| format!("#{:016x}", id.0));
        let member = json!({"name": name, "id": id, "address": null});
        json!({"place": 0, "member": member, "since": 0, "heard": 0, "confirmed": true, "lease": null})
    };
    let seats: Vec<Value> = seated.iter().map(seat).collect();
    json!({
        "group": "fleet", "centre": "centre", "session": SESSION.to_string(), "is_settled": true, "rounds": 0, "replies": 0,
        "late": 0, "peak_replies": 0, "changes": 0, "gives_way_to": null, "held_elsewhere": null, "awaits": null,
        "chambers": [{"class": 0, "least": 4, "most": 8, "seats": seats}], "record": rounds,
    })
}

/// Writes every number as a program does that stores numbers in floating point.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, |it| (it as u64).into()),
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, it)| (name.clone(), rounded(it)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Writes identities and sessions as earlier releases did.
fn as_numbers(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(as_numbers).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, it)| {
                let number = it.as_str().and_then(|it| it.parse::<u64>().ok());
                let is_one = ["id", "host", "session"].contains(&name.as_str());
                let it = number.filter(|_| is_one).map_or_else(|| as_numbers(it), Value::from);
                (name.clone(), it)
            });
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn reversed(value: &Value, list: &str) -> Value {
    match value {
        Value::Array(values) => values.iter().map(|it| reversed(it, list)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, it)| {
                let mut it = reversed(it, list);
                if let (true, Value::Array(values)) = (name == list, &mut it) {
                    values.reverse();
                }
                (name.clone(), it)
            });
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Writes the fields of every object in reverse order.
fn backwards(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(backwards).collect();
            format!("[{}]", values.join(","))
        }
        Value::Object(fields) => {
            let fields = fields.iter().rev();
            let fields: Vec<String> =
                fields.map(|(name, it)| format!("{}:{}", json!(name), backwards(it))).collect();
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    }
}

#[test]
fn honest_record_is_a_proof_in_any_form() {
    for seed in 0..12 {
        let fixture = Fixture::new(seed);
        let rounds = fixture.complete(Vec::new()).expect("there is a council");
        let council = fixture.council(&rounds);
        let whole = line(&council, &rounds);
        let mut next = whole.clone();
        next["changes"] = 1.into();
        let text = whole.to_string();
        fixture.is_proof(&text);
        fixture.is_proof(&format!("{whole}\n{next}\n"));
        fixture.is_proof(&format!("{next}\n{whole}\n"));
        fixture.is_proof(&json!([whole, next]).to_string());
        fixture.is_proof(&format!("{whole:#}"));
        fixture.is_proof(&format!("\u{feff}{whole:#}\r\n{next:#}\r\n").replace('\n', "\r\n"));
        fixture.is_proof(&backwards(&whole));
        for list in ["replies", "record", "seats"] {
            fixture.is_proof(&format!("{whole}\n{}", reversed(&next, list)));
        }
        fixture.is_proof(&as_numbers(&whole).to_string());
        fixture.is_proof(&rounded(&whole).to_string());
        let lost = sessions(&rounded(&as_numbers(&whole)).to_string());
        assert!(lost.is_err_and(|it| it.contains("were rounded")));
    }
}

/// The changed reply changes the estimate and thereby all later rounds: 285 is not a step down from
/// 100,000.
#[test]
fn number_off_the_steps_is_a_fault_and_a_higher_one_no_proof() {
    let (mut off, mut above) = (0, 0);
    for seed in 0..60 {
        let fixture = Fixture::new(seed);
        let honest = fixture.complete(Vec::new()).expect("there is a council");
        let replied = honest.iter().position(|it| it.feedback.base == 0 && !it.replies.is_empty());
        let place = replied.expect("somebody was elected");
        for number in [3, 282, 285, 3_162, 3_163, 99_987, 100_000] {
            let mut rounds = honest[..=place].to_vec();
            let reply = &mut rounds[place].replies[0];
            if reply.number >= number {
                continue;
            }
            reply.number = number;
            let Some(rounds) = fixture.complete(rounds) else {
                continue;
            };
            let text = line(&fixture.council(&rounds), &rounds).to_string();
            let verdict = fixture.verdict(&text).expect("it can be read");
            let is_off = [3, 285, 3_163].contains(&number);
            match verdict.code() {
                1 if is_off => {
                    let fault = "drew with a number of hosts that no host can use, as the record \
                                 says";
                    let is_found = |it: &String| it.contains(fault);
                    assert!(verdict.faults.iter().any(is_found), "{:?}", verdict.faults);
                    off += 1;
                }
                1 => {} // its coins say otherwise
                UNPROVED => {
                    assert!(!is_off, "{number}");
                    let note = "drew with the number of hosts of a host that has missed calls, as its \
                         reply says";
                    let is_noted = |it: &String| it.contains(note);
                    assert!(verdict.notes.iter().any(is_noted), "{:?}", verdict.notes);
                    above += 1;
                }
                code => panic!("{number} is proved: {code}"),
            }
        }
    }
    assert!(off > 60 && above > 10, "{off} {above}");
}

/// Lets one host claim a greater number in a round with too few replies, and continues from there.
/// The changed estimate draws other hosts.
fn steer(fixture: &Fixture, honest: &[Round], chance: &mut Chance) -> Option<Vec<Round>> {
    let (_, before) = honest.split_last()?;
    let steers = |it: &&Round| it.feedback.base == 0 && !it.replies.is_empty();
    let places: Vec<u32> = before.iter().filter(steers).map(|it| it.feedback.round).collect();
    if places.is_empty() {
        return None;
    }
    let place = *chance.of(&places) as usize - 1;
    let mut rounds = honest[..=place].to_vec();
    let by = count(&fixture.config, &rounds[place].feedback)?;
    let which = chance.below(rounds[place].replies.len());
    rounds[place].replies[which].number = by + 1 + chance.below(by as usize + 8) as u32;
    fixture.complete(rounds)
}

/// Changes the replies to one round and continues from there.
fn lie(fixture: &Fixture, honest: &[Round], chance: &mut Chance) -> Option<Vec<Round>> {
    let place = chance.below(honest.len());
    let mut rounds = honest[..=place].to_vec();
    let number = rounds[place].feedback.round;
    let by = count(&fixture.config, &rounds[place].feedback)?;
    for _ in 0..=chance.below(2) {
        let other = chance.of(&fixture.hosts).id;
        let steps = [0, 16, 52, 282, 285, 3_162, 99_987, 100_000, 100_001];
        let steps =
            [*chance.of(&steps), by, by + chance.below(9) as u32, chance.below(100_000) as u32];
        let number_now = *chance.of(&steps);
        let voice =
            Voice { host: other, draws: Draws(1 + chance.below(3) as u8), number: number_now };
        let round = &mut rounds[place];
        let which = chance.below(round.replies.len());
        let kind = if round.replies.is_empty() { 0 } else { chance.below(6) };
        match kind {
            0 => round.replies.push(voice),
            1 => round.replies[which].number = number_now,
            2 => round.replies[which].host = other,
            3 => round.replies[which].draws = voice.draws,
            4 => {
                round.replies.remove(which);
            }
            _ => {
                let voice = round.replies.remove(which);
                let in_rest = chance.below(2) == 0;
                round.late.push(Late { to: number, voice, in_rest });
            }
        }
    }
    fixture.complete(rounds)
}

/// Changes any part of a line.
fn scribble(fixture: &Fixture, line: &mut Value, chance: &mut Chance) {
    let other = name(chance.below(HOSTS as usize) as u64);
    let member = json!({"name": other, "id": member_id(&other), "address": null});
    let number = *chance.of(&[0_u64, 1, 2, 3, 5, 16, 33, 52, 282, 3_162, 100_000, 200_001]);
    let council: Vec<MemberId> = fixture.hosts.iter().map(|it| it.id).collect();
    let host = json!(chance.of(&council));
    let seats = line["chambers"][0]["seats"].as_array_mut();
    let seats = seats.expect("a list");
    let seat = chance.below(seats.len());
    match chance.below(9) {
        0 if !seats.is_empty() => seats[seat]["member"] = member,
        1 if !seats.is_empty() => {
            seats.remove(seat);
        }
        2 => {
            let seat = json!({"place": 9, "member": member, "since": 0, "heard": 0, "confirmed": true, "lease": null});
            seats.push(seat);
        }
        kind => {
            let rounds = line["record"].as_array_mut().expect("a list");
            let place = chance.below(rounds.len());
            let Some(round) = rounds.get_mut(place) else {
                return;
            };
            match kind {
                3 => round["feedback"]["word"] = number.into(),
                4 => round["feedback"]["base"] = number.into(),
                5 => round["feedback"]["seated"] = number.into(),
                6 => {
                    rounds.remove(place);
                }
                _ => {
                    let replies = round["replies"].as_array_mut().expect("a list");
                    let which = chance.below(replies.len());
                    match (replies.get_mut(which), chance.below(3)) {
                        (Some(reply), 0) => reply["host"] = host,
                        (Some(reply), 1) => reply["number"] = number.into(),
                        _ => replies.push(json!({"host": host, "draws": 1, "number": number})),
                    }
                }
            }
        }
    }
}

/// Returns true if the lines with the most rounds and replies seat exactly this council. The order
/// in which the check reads lines does not count, because the forger controls it.
fn seat_just(council: &BTreeSet<MemberId>, lines: &[Value]) -> bool {
    let length = |it: &Value| it.as_array().map_or(0, Vec::len);
    let size = |line: &Value| {
        let rounds = line["record"].as_array().into_iter().flatten();
        let replies = rounds.map(|it| length(&it["replies"]) + length(&it["late"]));
        length(&line["record"]) + replies.sum::<usize>()
    };
    let most = lines.iter().map(size).max();
    let council: BTreeSet<String> = council.iter().map(|it| json!(it).to_string()).collect();
    let seated = |line: &Value| -> BTreeSet<String> {
        let seats = line["chambers"][0]["seats"].as_array().into_iter().flatten();
        seats.map(|it| it["member"]["id"].to_string()).collect()
    };
    let mut last = lines.iter().filter(|it| Some(size(it)) == most);
    last.all(|it| seated(it) == council)
}

#[test]
fn no_forgery_that_changes_the_council_is_a_proof() {
    let asked = std::env::var("FORGERIES").ok();
    let asked = asked.map_or(FORGERIES, |it| it.parse().expect("FORGERIES is a number"));
    let (mut changed, mut tried, mut codes) = (0, 0_u64, [0_u64; 5]);
    for seed in 0.. {
        if changed >= asked {
            break;
        }
        let fixture = Fixture::new(seed);
        let Some(honest) = fixture.complete(Vec::new()) else {
            continue;
        };
        let council = fixture.council(&honest);
        let mut whole = line(&council, &honest);
        whole["changes"] = 5.into();
        let mut chance = Chance(seed << 32);
        for _ in 0..100 {
            let rounds = match chance.below(3) {
                0 => Some(honest.clone()),
                1 => steer(&fixture, &honest, &mut chance),
                _ => lie(&fixture, &honest, &mut chance),
            };
            let Some(rounds) = rounds else {
                continue;
            };
            let mut forged = line(&fixture.council(&rounds), &rounds);
            if rounds == honest || chance.below(8) == 0 {
                scribble(&fixture, &mut forged, &mut chance);
            }
            forged["changes"] = (*chance.of(&[0, 5, 9])).into();
            let lines = match chance.below(4) {
                0 => vec![whole.clone(), forged],
                _ => vec![forged],
            };
            let text: Vec<String> = lines.iter().map(Value::to_string).collect();
            let text = text.join("\n");
            tried += 1;
            let verdict = fixture.verdict(&text);
            let code = verdict.as_ref().map_or(2, Verdict::code);
            if let (0, Some(verdict)) = (code, &verdict) {
                let proved: Vec<String> = verdict.summary.council.concat();
                let proved: BTreeSet<MemberId> = proved.iter().map(|it| member_id(it)).collect();
                assert_eq!(proved, council, "seed {seed}: {text}");
            }
            if seat_just(&council, &lines) {
                continue;
            }
            changed += 1;
            codes[usize::from(code)] += 1;
            assert_ne!(code, 0, "seed {seed}: {text}");
        }
    }
    println!("{changed} of {tried} forgeries change the seated hosts; by exit code: {codes:?}");
}
