//! C12 and C13: the memory of hosts, the size of messages, and the upkeep of a council.

use std::collections::BTreeSet;

use hustings_agent::first_call;
use hustings_protocol::Duration;
use hustings_protocol::council::{
    Algorithm as Drawn, Config, Knowledge, Memory, Refill, Seats, WireBits,
};
use hustings_sim::Scratch;
use hustings_sim::council::{CouncilTrial as Trial, Stay, keep, remembered};
use hustings_sim::statistics::Sample;
use hustings_theory::council::optimum::{Goal, Optimum, recover};
use hustings_theory::council::rules::in_theory;
use hustings_theory::council::{Algorithm, Election, Estimate};

use super::super::budget::{ExperimentError, Result, seed_of};
use super::super::evidence::{Evidence, average, list, shown};
use super::council_fixture::{CouncilFixture, FIRST_ESTIMATE, FOUR_TO_EIGHT, estimated};

/// Table I: the algorithms, the bits of a host's memory, and the bits of a feedback message beside
/// the count.
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

/// True if a feedback message with this count decodes to itself and is no longer than the table
/// says.
fn is_short(count: u32, algorithm: Drawn, flags: u32) -> bool {
    [(false, 0), (true, 0), (false, 1)].iter().all(|&(reset, draw)| {
        let taken = if algorithm == Drawn::CHOICE { draw } else { 0 };
        let content = WireBits { count, fraction: 0, reset, taken };
        let word = content.encode(algorithm);
        let read = WireBits::decode(word, algorithm, !reset);
        width(word) <= width(count.into()) + flags && read == Some(content)
    })
}

/// The number of hosts whose memory is observed. Draws among them leave both too few and too many.
const WATCHED_HOSTS: u32 = 200;

/// The greatest length of a call that we allow, as a sealed datagram.
const CALL_BYTES: u64 = 200;

pub(super) fn c12(fixture: &CouncilFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let (mut memory, mut longest, mut datagrams) = (Vec::new(), Vec::new(), Vec::new());
    for (name, algorithm, bits, flags) in TABLE {
        let conducted = conducted(fixture, algorithm);
        let memories = memories(fixture, name, conducted)?;
        let held = memories.last().map_or(0, |most| width((*most).into()));
        evidence
            .stated(format!(
                "{name}: bits that a host remembers, of all memories that hosts had in elections"
            ))
            .at_most(bits, held.into())
            .ours(format!(
                "{name}: different memories, of those that this number of bits can distinguish"
            ))
            .at_most(1 << Memory::width(algorithm), memories.len() as u64);
        memory.push(held);
        let short = (1..=MOST_HOSTS).map(|count| is_short(count, conducted, flags));
        evidence
            .stated(format!(
                "{name}: counts from 1 to 100,000 whose feedback takes {flags} bits more than the \
                 count, and is understood"
            ))
            .all_true(short);
        let rules = Config {
            algorithm: conducted,
            ..Config::field(Seats::new(4, 8), MOST_HOSTS, Duration::from_millis(250))
        };
        let no_call =
            "a centre sends no call: the operating system may have no randomness for a seal";
        let call = first_call(rules).ok_or_else(|| ExperimentError(no_call.to_owned()))?;
        let takes = width(call.feedback.word);
        evidence
            .stated(format!(
                "{name}: bits of the paper's feedback in the first call of an agent to 100,000 \
                 hosts"
            ))
            .equal(width(MOST_HOSTS.into()) + flags, takes);
        longest.push(takes);
        evidence
            .ours(format!("{name}: bytes of the sealed datagram that carries it"))
            .at_most(CALL_BYTES, call.datagram as u64);
        datagrams.push(call.datagram);
    }
    Ok(format!(
        "basic, Skip-Reset, choice, history: hosts remember {} bits; feedback among 100,000 takes \
         {}, in datagrams of {} bytes",
        list(&memory),
        list(&longest),
        list(&datagrams)
    ))
}

/// Returns the algorithm that the fixture runs in place of `asked`. Only mutants change it.
fn conducted(fixture: &CouncilFixture<'_>, asked: Drawn) -> Drawn {
    let of_table = TABLE.map(|(_, drawn, ..)| drawn);
    let held = in_theory(asked).map(|algorithm| {
        let election = Election::new(FOUR_TO_EIGHT, MOST_HOSTS.into(), algorithm, 1.0);
        (fixture.conduct)(election).algorithm
    });
    let is_held = |drawn: &Drawn| in_theory(*drawn) == held;
    of_table.into_iter().find(is_held).unwrap_or(asked)
}

/// Returns all memory contents of hosts in some elections.
fn memories(fixture: &CouncilFixture<'_>, name: &str, algorithm: Drawn) -> Result<BTreeSet<u8>> {
    let knowledge = Knowledge::Told(WATCHED_HOSTS);
    let config = Config::once(Seats::new(4, 8), algorithm, knowledge, Duration::from_secs(1));
    let trial = Trial { reply_loss: 0.1, multicast_loss: 0.1, ..Trial::new(WATCHED_HOSTS, config) };
    let own = fixture.budget.reseeded(seed_of(&format!("memories of {name}")));
    let each = own.each(own.choose(200, 2_000), |_, seeds| remembered(&trial, seeds))?;
    Ok(each.into_iter().flatten().collect())
}

pub(super) fn c13(fixture: &CouncilFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let (members, seated) = (10_000, 3);
    let council = Election::new(FOUR_TO_EIGHT, members, Algorithm::SkipReset, 1.0);
    let mut gist = Vec::new();
    for (name, council) in [
        ("n known", council),
        ("n estimated", estimated(council, Estimate::aggressive(FIRST_ESTIMATE))),
    ] {
        let recovery = recover(&council, seated, council.seats.least, Goal::ROUNDS);
        let others = Election { seats: recovery.missing, members: members - seated, ..council };
        let of = |election: Election, best: &Optimum| fixture.held(&election.with_c(best.c));
        let anew = of(council, &recovery.restart)?;
        let filled = of(others, &recovery.top_up)?;
        let case = |what: &str| format!("three of four are left of 10,000, {name}: {what}");
        evidence
            .stated(case("a new election ends, in less than 4 rounds on average"))
            .mean_below(4.0, &anew.rounds)
            .ours(case("the empty seats are filled in fewer rounds than a council is elected anew"))
            .mean_below(average(&anew.rounds), &filled.rounds)
            .ours(case("and with fewer replies"))
            .mean_below(average(&anew.messages), &filled.messages);
        if name == "n known" {
            let cost = recovery.top_up.cost;
            evidence.ours(case("mean rounds to fill them")).mean(cost.rounds, &filled.rounds);
            evidence.ours(case("mean replies")).mean(cost.messages, &filled.messages);
        }
        let [rounds, replies] = [&filled.rounds, &filled.messages].map(shown);
        let [all_rounds, all_replies] = [&anew.rounds, &anew.messages].map(shown);
        gist.push(format!(
            "{name}: {rounds} rounds and {replies} replies, anew {all_rounds} and {all_replies}"
        ));
    }
    let [anew, short_anew] = kept(fixture, Refill::Restart)?;
    let [filled, short_filled] = kept(fixture, Refill::TopUp)?;
    let case = "200 hosts come and go, host by host, a tenth of all messages lost";
    evidence
        .stated(format!("{case}: part of the time in which a council is too small, elected anew"))
        .mean_below(0.1, &short_anew)
        .ours(format!("{case}: replies, filled up, below those of new elections"))
        .below(&anew, &filled)
        .ours(format!("{case}: part of the time in which the council is too small, the same"))
        .below(&short_anew, &short_filled);
    Ok(format!("one seat of [4..8] is filled, {}; {}", gist[0], gist[1]))
}

/// Measures councils of [4..8] under churn: the replies, and the fraction of time in which the
/// council is too small.
fn kept(fixture: &CouncilFixture<'_>, refill: Refill) -> Result<[Sample; 2]> {
    let config = Config::field(Seats::new(4, 8), 10_000, Duration::from_secs(1));
    let stay = Stay::restless(config, refill);
    let own = fixture.budget.reseeded(seed_of(&format!("{refill:?}")));
    let runs = own.choose(20, 200);
    own.samples(runs, |seeds| {
        let (upkeep, _) = keep(&stay, seeds, Scratch::default());
        [upkeep.messages as f64, upkeep.short]
    })
}
