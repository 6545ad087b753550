//! A fleet in one process, each host a task with sockets of its own, and a centre that does not know how many they are: what
//! its elections cost beside what they should, and what it does when those who are seated die.
//!
//! ```console
//! $ cargo run --release --example fleet                          2,000 hosts on this host's loopback
//! $ cargo run --release --example fleet -- hosts 20 h1 10.0.0.1  some hosts, killed by their names on standard input
//! $ cargo run --release --example fleet -- centre 2000 10.0.0.9 0.1
//! ```
//!
//! `cargo xtask field --only council` runs the last two on network namespaces that lose a tenth.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the real world"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use hustings::agent::seal::Key;
use hustings::protocol::council as protocol;
use hustings::theory::council::optimum::Goal;
use hustings::theory::council::top_up::recover;
use hustings::theory::council::{
    Algorithm, Cost, Election, Estimate, Knowledge, Loss, Seats, by_evidence,
};
use hustings::{Council, Group, Joining};

type Outcome<T> = Result<T, Box<dyn Error>>;

const GROUP: &str = "fleet";
const LEAST: u32 = 4;
const MOST: u32 = 8;
/// There might be so many, for all that the centre knows.
const MAX_GUESS: u32 = 100_000;
const HOSTS: u64 = 2_000;
const ELECTIONS: usize = 100;
const KILLINGS: usize = 10;
/// Far more than a round trip between thousands of tasks on two processors.
const ROUND_MS: u64 = 250;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    match arguments[..] {
        [] => {
            let mut fleet = Fleet::start(HOSTS, "host", loopback).await?;
            println!("{HOSTS} hosts are up, in {:.1} s", fleet.took.as_secs_f64());
            measure(HOSTS, loopback, 0.0, &mut Killer::Here(&mut fleet)).await
        }
        ["hosts", count, prefix, address] => {
            let fleet = Fleet::start(count.parse()?, prefix, address.parse()?).await?;
            println!("up");
            fleet.obey().await
        }
        ["centre", hosts, address, loss] => {
            measure(
                hosts.parse()?,
                address.parse()?,
                loss.parse()?,
                &mut Killer::Elsewhere,
            )
            .await
        }
        _ => Err(
            "usage: fleet | fleet hosts COUNT PREFIX ADDRESS | fleet centre HOSTS ADDRESS LOSS"
                .into(),
        ),
    }
}

/// How hosts and centre join: with a key that is no secret, as nothing here leads out of this machine.
fn joining(member: &str, address: IpAddr) -> Outcome<Joining> {
    let key = Key::try_from("7".repeat(64))?;
    let joining = Joining::on_the_lan(GROUP, member, key).without_election();
    Ok(Joining {
        bind: SocketAddr::new(address, 0),
        ..joining
    })
}

/// Some hosts, by name.
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
            let host = Group::join(joining(&name, address)?).await?;
            hosts.insert(name, host);
        }
        let took = began.elapsed();
        Ok(Self { hosts, took })
    }

    /// Ends one without a word, as a crash would.
    async fn kill(&mut self, name: &str) -> bool {
        match self.hosts.remove(name) {
            Some(host) => {
                host.vanish().await;
                true
            }
            None => false,
        }
    }

    /// Kills those whose names come on standard input, until that ends.
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

/// Who kills hosts.
enum Killer<'f> {
    /// They are in this process.
    Here(&'f mut Fleet),
    /// Whoever reads what is printed.
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
    // The centre goes by the replies of all draws together.
    let expected = by_evidence(&theory).ok_or("one draw a round")?;
    elect(address, expected).await?;
    keep(address, &theory, killer).await
}

/// The same election on paper.
fn in_theory(hosts: u64, loss: f64) -> Election {
    let seats = Seats {
        least: LEAST.into(),
        most: MOST.into(),
    };
    let c = rules().chambers[0].c[0];
    Election {
        loss: Loss {
            reply: loss,
            multicast: loss,
        },
        knowledge: Knowledge::Estimated(Estimate::aggressive(MAX_GUESS.into())),
        ..Election::new(seats, hosts, Algorithm::SkipReset, c)
    }
}

/// Many elections, one after the other, each by a centre that knows nothing.
async fn elect(address: IpAddr, expected: Cost) -> Outcome<()> {
    let (mut rounds, mut replies, mut times, mut seats) = (vec![], vec![], vec![], vec![]);
    let (mut peak, mut late) = (0, 0);
    for number in 0..ELECTIONS {
        let once = protocol::Config {
            lease: None,
            ..rules()
        };
        let began = Instant::now();
        let mut council =
            Council::call(joining(&format!("centre-{number}"), address)?, once).await?;
        let elected = council.filled().await?;
        times.push(began.elapsed().as_secs_f64());
        rounds.push(elected.rounds as f64);
        replies.push(elected.replies as f64);
        seats.push(elected.seats().count() as f64);
        peak = peak.max(elected.peak_replies);
        late += elected.late;
        council.dissolve().await?;
    }
    println!(
        "{ELECTIONS} elections of {LEAST}..{MOST}, estimate aggressive from {MAX_GUESS}, rounds of {ROUND_MS} ms:"
    );
    tell("rounds", &rounds, Some(expected.rounds));
    tell("replies", &replies, Some(expected.messages));
    tell("seats", &seats, None);
    tell(
        "seconds",
        &times,
        Some(expected.rounds * ROUND_MS as f64 / 1e3),
    );
    println!("peak_replies {peak} late {late}");
    Ok(())
}

/// A council that loses all but two of its seats again and again.
async fn keep(address: IpAddr, theory: &Election, killer: &mut Killer<'_>) -> Outcome<()> {
    const KEPT: usize = 2;
    let rules = rules();
    let wanted = u64::from(rules.chambers[0].keep);
    let mut council = Council::call(joining("keeper", address)?, rules).await?;
    let mut before = council.filled().await?;
    let (mut rounds, mut replies, mut times) = (vec![], vec![], vec![]);
    for _ in 0..KILLINGS {
        let seated: Vec<String> = before.seats().map(|it| it.member.name.clone()).collect();
        let began = Instant::now();
        for name in &seated[KEPT..] {
            killer.kill(name).await;
        }
        let is_lost = |name: &String| !seated[KEPT..].contains(name);
        let mut now = council.changed().await?;
        while !(now.is_filled() && now.is_settled && now.seats().all(|it| is_lost(&it.member.name)))
        {
            now = council.changed().await?;
        }
        times.push(began.elapsed().as_secs_f64());
        rounds.push((now.rounds - before.rounds) as f64);
        replies.push((now.replies - before.replies) as f64);
        before = now;
    }
    // Theory's centre knows how many there are; this one begins with what it found before.
    let known = Election {
        knowledge: Knowledge::Known,
        ..*theory
    };
    let recovery = recover(&known, KEPT as u64, wanted, Goal::ROUNDS);
    println!(
        "{KILLINGS} times all but {KEPT} of those who are seated die at once, and the seats are filled again:"
    );
    println!("(theory: of a centre that knows how many there are)");
    tell("rounds", &rounds, Some(recovery.top_up.cost.rounds));
    tell("replies", &replies, Some(recovery.top_up.cost.messages));
    tell("seconds", &times, None);
    println!("peak_replies {} late {}", before.peak_replies, before.late);
    council.dissolve().await?;
    Ok(())
}

/// Prints a mean with its interval of 95 %, and what it should be.
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
