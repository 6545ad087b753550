//! Draws over real sockets of this host, one after the other, all members in one thread: how fast they are, what goes over the
//! links, and what theory has for it. `cargo xtask draws` runs it.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it measures real time"
)]

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hustings::draw::{Account, NoDraw, Part, Ring, Secret, State};
use hustings::protocol::Duration;
use hustings::theory::wagner::Compare;
use hustings::theory::wagner::election::cost;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [members, draws] = &arguments[..] else {
        return Err("usage: draws MEMBERS DRAWS".into());
    };
    let (members, draws) = (members.parse()?, draws.parse()?);
    let home = std::env::temp_dir().join(format!("hustings-draws-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    let measured = measure(members, draws, &home);
    std::fs::remove_dir_all(&home)?;
    measured
}

fn measure(members: u32, draws: u32, home: &Path) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let [mut rounds, mut messages, mut bytes] = [(); 3].map(|()| Values::default());
    let (began, cpu) = (Instant::now(), cpu_seconds());
    for number in 1..=draws {
        let accounts = runtime.block_on(draw(members, number, home))?;
        let all = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>() as f64;
        rounds.0.push(accounts[0].basic_rounds.into());
        messages.0.push(all(|it| it.messages_sent));
        bytes.0.push(all(|it| it.bytes_sent));
    }
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    // The limit on equal stages ends one honest draw in 10^12: it does not show here.
    let theory = cost(members as usize, Compare::NonStrict, None);
    println!("{draws} draws among {members} members, all in one thread, over loopback");
    println!("  draws a second   {:.2}", f64::from(draws) / seconds);
    println!("  CPU seconds      {:.2}", cpu / f64::from(draws));
    println!(
        "  Basic rounds     {rounds}; {:.2} in theory",
        theory.basic_rounds
    );
    println!(
        "  messages         {messages}; {:.0} in theory",
        theory.messages
    );
    println!("  bytes            {bytes}");
    println!("  bytes a message  {:.1}", bytes.mean() / messages.mean());
    Ok(())
}

/// What this process has used.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Holds one draw.
async fn draw(members: u32, number: u32, home: &Path) -> Result<Vec<Account>, Box<dyn Error>> {
    let mut text = format!("draw = \"measured\"\nnumber = {number}\nrespond_within = \"60s\"\n");
    let mut seats = Vec::new();
    for place in 0..members {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let secret = Secret::generate()?;
        let (address, key) = (listener.local_addr()?, secret.public());
        text +=
            &format!("[[member]]\nname = \"m{place}\"\naddress = \"{address}\"\nkey = \"{key}\"\n");
        seats.push((listener, secret));
    }
    let ring: Ring = text.parse()?;
    let mut drawing = JoinSet::new();
    for (place, (listener, secret)) in seats.into_iter().enumerate() {
        let transcript = home.join(format!("{number}-{place}.jsonl"));
        let member = ring.members[place].name.clone();
        let part = Part {
            ring: ring.clone(),
            member,
            secret,
            transcript: transcript.clone(),
            marks: home.join("drawn").join(place.to_string()),
            wait: Duration::from_secs(60),
        };
        drawing.spawn(take_part(part, listener, transcript));
    }
    let mut accounts = Vec::new();
    while let Some(drawn) = drawing.join_next().await {
        let account = drawn??;
        if account.state != State::Elected {
            return Err(format!("a draw among honest members failed: {account:?}").into());
        }
        accounts.push(account);
    }
    Ok(accounts)
}

async fn take_part(
    part: Part,
    listener: TcpListener,
    transcript: PathBuf,
) -> Result<Account, NoDraw> {
    let account = part.account();
    let drawn = part.draw(listener, &account, std::future::pending()).await;
    let _ = std::fs::remove_file(transcript); // hundreds of draws would fill the disk
    drawn
}

/// What was measured, once a draw.
#[derive(Default)]
struct Values(Vec<f64>);

impl Values {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }
}

impl fmt::Display for Values {
    /// The mean, and its interval of 95 %.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, count) = (self.mean(), self.0.len() as f64);
        let squares: f64 = self.0.iter().map(|it| (it - mean).powi(2)).sum();
        let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
        write!(f, "{mean:.1} \u{b1} {:.1}", 1.96 * error)
    }
}
