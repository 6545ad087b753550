//! A fleet in one process, with a centre that does not know the number of hosts. Each host is a
//! task with its own sockets. Measures the cost of elections and compares it with theory, then
//! measures the recovery when seated hosts die.
//!
//! ```console
//! $ cargo run --release -p hustings --example fleet
//! $ cargo run --release -p hustings --example fleet -- 500
//! $ cargo run --release -p hustings --example fleet -- hosts 20 h1 10.0.0.1
//! $ cargo run --release -p hustings --example fleet -- centre 2000 10.0.0.9 0.1
//! ```
//!
//! - The first command runs 2,000 hosts on this host's loopback, the second 500.
//! - The third runs 20 hosts. Each name that arrives on standard input kills that host.
//! - The fourth runs a centre for 2,000 hosts on a network with a loss of 0.1.
//!
//! `cargo xtask field --council` runs the last two in network namespaces, first without loss and
//! then with a loss of one tenth. Progress goes to standard error. If an election does not end, the
//! program gives up and reports what it saw.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is the real world")]

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use hustings::agent::CentreStatus;
use hustings::agent::seal::Key;
use hustings::protocol::council as protocol;
use hustings::theory::council::optimum::Goal;
use hustings::theory::council::optimum::recover;
use hustings::theory::council::{
    Algorithm, Cost, Election, Estimate, Knowledge, Loss, Seats, by_evidence,
};
use hustings::{Council, CouncilEndedError, Group, GroupOptions};
use tokio::sync::watch;

type Outcome<T> = Result<T, Box<dyn Error>>;

const GROUP: &str = "fleet";
const LEAST: u32 = 4;
const MOST: u32 = 8;
/// The centre's upper bound for the number of hosts.
const MAX_GUESS: u32 = 100_000;
const HOSTS: u64 = 2_000;
const ELECTIONS: usize = 100;
const KILLINGS: usize = 10;
/// The number of elections between two progress reports.
const PROGRESS_EVERY: usize = 10;
/// The time after which an election has failed. An election takes a second, and filling seats again
/// takes ten.
const PATIENCE: Duration = Duration::from_secs(60);
/// Far more than a round trip between thousands of tasks on two processors.
const ROUND_MS: u64 = 250;

// The runtime has as many threads as there are processors. On a single thread the centre would wait
// until thousands of hosts have handled its message.
#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    match arguments[..] {
        [] => alone(HOSTS, loopback).await,
        [hosts] => alone(hosts.parse().map_err(|_| USAGE)?, loopback).await,
        ["hosts", count, prefix, address] => {
            let fleet = Fleet::start(count.parse()?, prefix, address.parse()?).await?;
            println!("up");
            fleet.obey().await
        }
        ["centre", hosts, address, loss] => {
            measure(hosts.parse()?, address.parse()?, loss.parse()?, &mut Killer::Elsewhere).await
        }
        _ => Err(USAGE.into()),
    }
}

const USAGE: &str =
    "usage: fleet [HOSTS] | fleet hosts COUNT PREFIX ADDRESS | fleet centre HOSTS ADDRESS LOSS";

/// Runs hosts and centre in this process.
async fn alone(hosts: u64, address: IpAddr) -> Outcome<()> {
    let mut fleet = Fleet::start(hosts, "host", address).await?;
    println!("{hosts} hosts are up, in {:.1} s", fleet.took.as_secs_f64());
    measure(hosts, address, 0.0, &mut Killer::Here(&mut fleet)).await
}

/// Options for hosts and centre. The key is no secret, because no traffic leaves this machine.
fn joining(member: &str, address: IpAddr) -> Outcome<GroupOptions> {
    let key = Key::try_from("7".repeat(64))?;
    let joining = GroupOptions::on_the_lan(GROUP, member, key).without_election();
    Ok(GroupOptions { bind: SocketAddr::new(address, 0), ..joining })
}

/// Hosts by name.
struct Fleet {
    hosts: BTreeMap<String, Group>,
    took: Duration,
}

impl Fleet {
    async fn start(count: u64, prefix: &str, address: IpAddr) -> Outcome<Self> {
        let began = Instant::now();
        let mut hosts = BTreeMap::new();
        for number in 0..count {
            let name = format!("{prefix}-{number}");
            let host = Group::join(joining(&name, address)?).await;
            let host = host.map_err(|error| {
                format!("{name}: {error} (each host has three sockets: see `ulimit -n`)")
            })?;
            hosts.insert(name, host);
        }
        let took = began.elapsed();
        Ok(Self { hosts, took })
    }

    /// Ends a host without notice, as a crash would.
    async fn kill(&mut self, name: &str) -> bool {
        match self.hosts.remove(name) {
            Some(host) => {
                host.abort().await;
                true
            }
            None => false,
        }
    }

    /// Kills the hosts whose names arrive on standard input, until the input ends.
    async fn obey(mut self) -> Outcome<()> {
        let (told, mut names) = tokio::sync::mpsc::channel(16);
        std::thread::spawn(move || {
            for name in std::io::stdin().lines().map_while(Result::ok) {
                if told.blocking_send(name).is_err() {
                    return;
                }
            }
        });
        while let Some(name) = names.recv().await {
            if self.kill(&name).await {
                println!("killed {name}");
            }
        }
        Ok(())
    }
}

/// The way to kill a host.
enum Killer<'f> {
    /// The hosts are in this process.
    Here(&'f mut Fleet),
    /// The reader of standard output kills the host.
    Elsewhere,
}

impl Killer<'_> {
    async fn kill(&mut self, name: &str) {
        match self {
            Self::Here(fleet) => {
                fleet.kill(name).await;
            }
            Self::Elsewhere => println!("kill {name}"),
        }
    }
}

fn rules() -> protocol::Config {
    let mut rules = Council::rules(LEAST..=MOST, MAX_GUESS);
    rules.round = hustings::protocol::Duration::from_millis(ROUND_MS);
    rules
}

async fn measure(hosts: u64, address: IpAddr, loss: f64, killer: &mut Killer<'_>) -> Outcome<()> {
    let theory = in_theory(hosts, loss);
    // The centre uses the replies of all draws together.
    let expected = by_evidence(&theory).ok_or("one draw a round")?;
    // The centre counts the replies that reach it.
    let heard = 1.0 - loss;
    elect(address, expected, heard).await?;
    keep(address, &theory, heard, killer).await
}

/// The same election in theory.
fn in_theory(hosts: u64, loss: f64) -> Election {
    let seats = Seats { least: LEAST.into(), most: MOST.into() };
    let c = rules().chambers[0].c[0];
    Election {
        loss: Loss { reply: loss, multicast: loss },
        knowledge: Knowledge::Estimated(Estimate::aggressive(MAX_GUESS.into())),
        ..Election::new(seats, hosts, Algorithm::SkipReset, c)
    }
}

/// Runs many elections in sequence, each by a centre without prior knowledge.
async fn elect(address: IpAddr, expected: Cost, heard: f64) -> Outcome<()> {
    let (mut rounds, mut replies, mut times, mut seats) = (vec![], vec![], vec![], vec![]);
    let (mut peak, mut late) = (0, 0);
    for number in 0..ELECTIONS {
        let once = protocol::Config { lease: None, ..rules() };
        let began = Instant::now();
        let mut council =
            Council::call(joining(&format!("centre-{number}"), address)?, once).await?;
        let elected = in_time(&council.changes(), council.filled()).await?;
        times.push(began.elapsed().as_secs_f64());
        rounds.push(elected.rounds as f64);
        replies.push(elected.replies as f64);
        seats.push(elected.seats().count() as f64);
        peak = peak.max(elected.peak_replies);
        late += elected.late;
        council.dissolve().await?;
        if (number + 1) % PROGRESS_EVERY == 0 {
            eprintln!("{} of {ELECTIONS} elections", number + 1);
        }
    }
    println!(
        "{ELECTIONS} elections of {LEAST}..{MOST}, estimate aggressive from {MAX_GUESS}, rounds of {ROUND_MS} ms:"
    );
    tell("rounds", &rounds, Some(expected.rounds));
    tell("replies", &replies, Some(expected.messages * heard));
    tell("seats", &seats, None);
    tell("seconds", &times, Some(expected.rounds * ROUND_MS as f64 / 1e3));
    println!("peak_replies {peak} late {late}");
    Ok(())
}

/// Runs a council that repeatedly loses all but two of its seats.
async fn keep(
    address: IpAddr,
    theory: &Election,
    heard: f64,
    killer: &mut Killer<'_>,
) -> Outcome<()> {
    const KEPT: usize = 2;
    let rules = rules();
    let wanted = u64::from(rules.chambers[0].keep);
    let mut council = Council::call(joining("keeper", address)?, rules).await?;
    let told = council.changes();
    let mut before = in_time(&told, council.filled()).await?;
    let (mut rounds, mut replies, mut times) = (vec![], vec![], vec![]);
    for number in 0..KILLINGS {
        let seated: Vec<String> = before.seats().map(|it| it.member.name.clone()).collect();
        let began = Instant::now();
        for name in &seated[KEPT..] {
            killer.kill(name).await;
        }
        let is_alive = |name: &String| !seated[KEPT..].contains(name);
        let is_whole = |now: &CentreStatus| {
            let mut names = now.seats().map(|it| &it.member.name);
            now.is_filled() && now.is_settled && names.all(is_alive)
        };
        let whole = async {
            loop {
                let now = council.changed().await?;
                if is_whole(&now) {
                    return Ok(now);
                }
            }
        };
        let now = in_time(&told, whole).await?;
        eprintln!("{} of {KILLINGS} times filled again", number + 1);
        times.push(began.elapsed().as_secs_f64());
        rounds.push((now.rounds - before.rounds) as f64);
        replies.push((now.replies - before.replies) as f64);
        before = now;
    }
    // The centre of theory knows the number of hosts. This centre begins with its last estimate.
    let known = Election { knowledge: Knowledge::Known, ..*theory };
    let recovery = recover(&known, KEPT as u64, wanted, Goal::ROUNDS);
    println!(
        "{KILLINGS} times all but {KEPT} of those who are seated die at once, and the seats are filled again:"
    );
    println!("(theory: of a centre that knows how many there are)");
    tell("rounds", &rounds, Some(recovery.top_up.cost.rounds));
    let sent = recovery.top_up.cost.messages;
    tell("replies", &replies, Some(sent * heard));
    tell("seconds", &times, None);
    println!("peak_replies {} late {}", before.peak_replies, before.late);
    council.dissolve().await?;
    Ok(())
}

/// Waits for a council with a timeout. The error reports what the centre has seen.
async fn in_time(
    told: &watch::Receiver<CentreStatus>,
    council: impl Future<Output = Result<CentreStatus, CouncilEndedError>>,
) -> Outcome<CentreStatus> {
    match tokio::time::timeout(PATIENCE, council).await {
        Ok(council) => Ok(council?),
        Err(_) => {
            let seen = told.borrow();
            Err(format!(
                "no council within {} s: {} rounds, {} replies, {} of them late, {} in one round, {} seats. Is this machine too busy \
                 for rounds of {ROUND_MS} ms?",
                PATIENCE.as_secs(),
                seen.rounds,
                seen.replies,
                seen.late,
                seen.peak_replies,
                seen.seats().count()
            )
            .into())
        }
    }
}

/// Prints a mean with its 95 % confidence interval, and the expected value.
fn tell(what: &str, values: &[f64], expected: Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
    let off = 1.96 * (square / (count - 1.0) / count).sqrt();
    let most = values.iter().copied().fold(0.0, f64::max);
    let theory = expected.map_or_else(String::new, |it| format!(" theory {it:.3}"));
    println!(
        "{what} mean {mean:.3} from {:.3} to {:.3} most {most:.3}{theory}",
        mean - off,
        mean + off
    );
}
