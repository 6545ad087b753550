//! C12 and C13: what hosts and messages are made of, and a council that is kept.

use std::collections::BTreeSet;

use hustings::council::in_theory;
use hustings_agent::council::first_call;
use hustings_protocol::Duration;
use hustings_protocol::council::{
    Algorithm as Drawn, Config, Content, Knowledge, Memory, Refill, Seats,
};
use hustings_sim::Scratch;
use hustings_sim::council::{Stay, Trial, keep, remembered};
use hustings_sim::statistics::Sample;
use hustings_theory::council::optimum::{Best, Goal};
use hustings_theory::council::top_up::recover;
use hustings_theory::council::{Algorithm, Election, Estimate};

use super::super::effort::{ExperimentError, seed_of};
use super::super::evidence::{
    Evidence, all_below, all_of, at_most, average, equal, list, mean, mean_below, number,
};
use super::stage::{FIRST_ESTIMATE, FOUR_TO_EIGHT, Stage, estimated};

/// Table I: the algorithms, their hosts' bits, and the bits of a feedback message beside the count.
const TABLE: [(&str, Drawn, u64, u32); 4] = [
    ("basic", Drawn::Basic, 1, 0),
    ("Skip-Reset", Drawn::SkipReset, 1, 1),
    ("choice", Drawn::CHOICE, 3, 2),
    ("history", Drawn::HISTORY, 2, 1),
];

const MOST_HOSTS: u32 = 100_000;

fn width(word: u64) -> u32 {
    u64::BITS - word.leading_zeros()
}

/// Whether a feedback with this count is understood as it was meant, and is no longer than the table says.
fn is_short(count: u32, algorithm: Drawn, flags: u32) -> bool {
    [(false, 0), (true, 0), (false, 1)]
        .iter()
        .all(|&(reset, draw)| {
            let taken = if algorithm == Drawn::CHOICE { draw } else { 0 };
            let content = Content {
                count,
                fraction: 0,
                reset,
                taken,
            };
            let word = content.encode(algorithm);
            let read = Content::decode(word, algorithm, !reset);
            width(word) <= width(count.into()) + flags && read == Some(content)
        })
}

/// Among so many hosts their memory is looked at: enough that draws leave too few and too many.
const WATCHED_HOSTS: u32 = 200;

/// The longest call that we allow for, as a sealed datagram.
const CALL_BYTES: u64 = 200;

pub(super) fn c12(stage: &Stage<'_>) -> Result<Evidence, ExperimentError> {
    let mut evidence = Evidence::default();
    let (mut memory, mut longest, mut datagrams) = (Vec::new(), Vec::new(), Vec::new());
    for (name, algorithm, bits, flags) in TABLE {
        let conducted = conducted(stage, algorithm);
        let memories = memories(stage, name, conducted)?;
        let held = memories.last().map_or(0, |most| width((*most).into()));
        evidence.stated(
            format!(
                "{name}: bits that a host remembers, of all memories that hosts had in elections"
            ),
            at_most(bits, held.into()),
        );
        evidence.ours(
            format!("{name}: different memories, of those that so many bits can tell apart"),
            at_most(1 << Memory::width(algorithm), memories.len() as u64),
        );
        memory.push(held);
        let short = (1..=MOST_HOSTS).filter(|count| is_short(*count, conducted, flags));
        evidence.stated(
            format!("{name}: counts from 1 to 100,000 whose feedback takes {flags} bits more than the count, and is understood"),
            all_of(MOST_HOSTS as usize, short.count()),
        );
        let rules = Config {
            algorithm: conducted,
            ..Config::field(Seats::new(4, 8), MOST_HOSTS, Duration::from_millis(250))
        };
        let call = first_call(rules).ok_or_else(|| {
            ExperimentError("a centre calls nobody: is there no randomness for a seal?".to_owned())
        })?;
        let takes = width(call.feedback.word);
        evidence.stated(
            format!("{name}: bits of the paper's feedback in the first call of an agent to 100,000 hosts"),
            equal(&(width(MOST_HOSTS.into()) + flags), &takes),
        );
        longest.push(takes);
        evidence.ours(
            format!("{name}: bytes of the sealed datagram that it goes in"),
            at_most(CALL_BYTES, call.datagram as u64),
        );
        datagrams.push(call.datagram);
    }
    Ok(evidence.sum_up(format!(
        "basic, Skip-Reset, choice, history: hosts remember {} bits; feedback among 100,000 takes {}, in datagrams of {} bytes",
        list(&memory),
        list(&longest),
        list(&datagrams)
    )))
}

/// The algorithm that an election is held by where this one is asked for: this one, save in tests.
fn conducted(stage: &Stage<'_>, asked: Drawn) -> Drawn {
    let of_table = TABLE.map(|(_, drawn, ..)| drawn);
    let held = in_theory(asked).map(|algorithm| {
        let election = Election::new(FOUR_TO_EIGHT, MOST_HOSTS.into(), algorithm, 1.0);
        (stage.conduct)(election).algorithm
    });
    let is_held = |drawn: &Drawn| in_theory(*drawn) == held;
    of_table.into_iter().find(is_held).unwrap_or(asked)
}

/// All that hosts had in memory in some elections.
fn memories(
    stage: &Stage<'_>,
    name: &str,
    algorithm: Drawn,
) -> Result<BTreeSet<u8>, ExperimentError> {
    let knowledge = Knowledge::Told(WATCHED_HOSTS);
    let config = Config::once(
        Seats::new(4, 8),
        algorithm,
        knowledge,
        Duration::from_secs(1),
    );
    let trial = Trial {
        reply_loss: 0.1,
        multicast_loss: 0.1,
        ..Trial::new(WATCHED_HOSTS, config)
    };
    let own = stage
        .effort
        .reseeded(seed_of(&format!("memories of {name}")));
    let each = own.each(own.choose(200, 2_000), |_, seeds| remembered(&trial, seeds))?;
    Ok(each.into_iter().flatten().collect())
}

pub(super) fn c13(stage: &Stage<'_>) -> Result<Evidence, ExperimentError> {
    let mut evidence = Evidence::default();
    let (members, seated) = (10_000, 3);
    let council = Election::new(FOUR_TO_EIGHT, members, Algorithm::SkipReset, 1.0);
    let mut gist = Vec::new();
    for (name, council) in [
        ("n known", council),
        (
            "n estimated",
            estimated(council, Estimate::aggressive(FIRST_ESTIMATE)),
        ),
    ] {
        let recovery = recover(&council, seated, council.seats.least, Goal::ROUNDS);
        let others = Election {
            seats: recovery.missing,
            members: members - seated,
            ..council
        };
        let of = |election: Election, best: &Best| stage.held(&election.with_c(best.c));
        let anew = of(council, &recovery.restart)?;
        let filled = of(others, &recovery.top_up)?;
        let case = |what: &str| format!("three of four are left of 10,000, {name}: {what}");
        evidence.stated(
            case("a new election ends, in less than 4 rounds on average"),
            mean_below(4.0, &anew.rounds),
        );
        evidence.ours(
            case("the empty seats are filled in fewer rounds than a council is elected anew"),
            mean_below(average(&anew.rounds), &filled.rounds),
        );
        evidence.ours(
            case("and with fewer replies"),
            mean_below(average(&anew.messages), &filled.messages),
        );
        if name == "n known" {
            let cost = recovery.top_up.cost;
            evidence.ours(
                case("mean rounds to fill them"),
                mean(cost.rounds, &filled.rounds),
            );
            evidence.ours(case("mean replies"), mean(cost.messages, &filled.messages));
        }
        gist.push(format!(
            "{name}: {} rounds and {} replies, anew {} and {}",
            number(average(&filled.rounds)),
            number(average(&filled.messages)),
            number(average(&anew.rounds)),
            number(average(&anew.messages))
        ));
    }
    let [anew, filled] = [kept(stage, Refill::Restart)?, kept(stage, Refill::TopUp)?];
    let case = "200 hosts come and go, host by host, a tenth of all messages lost";
    evidence.stated(
        format!("{case}: part of the time in which a council is too small, elected anew"),
        mean_below(0.1, &anew.short),
    );
    evidence.ours(
        format!("{case}: replies, filled up, below those of new elections"),
        all_below(&[anew.replies], &[filled.replies]),
    );
    evidence.ours(
        format!("{case}: part of the time in which it is too small, the same"),
        all_below(&[anew.short], &[filled.short]),
    );
    Ok(evidence.sum_up(format!(
        "one seat of [4..8] is filled, {}; {}",
        gist[0], gist[1]
    )))
}

/// What it takes to keep a council.
struct Kept {
    replies: Sample,
    /// The part of the time in which it is too small.
    short: Sample,
}

/// Councils of [4..8] where hosts come and go.
fn kept(stage: &Stage<'_>, refill: Refill) -> Result<Kept, ExperimentError> {
    let config = Config::field(Seats::new(4, 8), 10_000, Duration::from_secs(1));
    let stay = Stay::restless(config, refill);
    let own = stage.effort.reseeded(seed_of(&format!("{refill:?}")));
    let runs = own.choose(20, 200);
    let [replies, short] = own.samples(runs, |seeds| {
        let (upkeep, _) = keep(&stay, seeds, Scratch::default());
        [upkeep.messages as f64, upkeep.short]
    })?;
    Ok(Kept { replies, short })
}
