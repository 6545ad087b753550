//! Draws over real sockets of this host, one after the other, with all members in one thread.
//! Measures their speed and traffic and compares them with theory. `cargo xtask draws` runs it.
//!
//! With the third argument `abort`, the first member is silent whenever it loses (`cargo xtask
//! draws --abort`). The program then reports how these draws end.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it measures real time")]

#[path = "cheating_seat/aborter.rs"]
mod aborter;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hustings::draw::{DrawStatus, NoDraw, Participant, Ring, RingMember, Secret, State};
use hustings::protocol::Duration;
use hustings::protocol::wagner::Wagner;
use hustings::theory::wagner::Compare;
use hustings::theory::wagner::election::cost;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use aborter::Aborter;

/// The member that aborts draws, if one does.
const ABORTER: usize = 0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (members, draws, aborts) = match &arguments[..] {
        [members, draws] => (members, draws, false),
        [members, draws, abort] if abort == "abort" => (members, draws, true),
        _ => return Err("usage: draws MEMBERS DRAWS [abort]".into()),
    };
    let (members, draws) = (members.parse()?, draws.parse()?);
    let home = std::env::temp_dir().join(format!("hustings-draws-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    let measured = match aborts {
        true => abort(members, draws, &home),
        false => measure(members, draws, &home),
    };
    std::fs::remove_dir_all(&home)?;
    measured
}

fn measure(members: u32, draws: u32, home: &Path) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let [mut rounds, mut messages, mut bytes] = [(); 3].map(|()| Values::default());
    let (began, cpu) = (Instant::now(), cpu_seconds());
    for number in 1..=draws {
        let accounts = runtime.block_on(draw((members, number), "60s", None, home))?;
        if let Some(failed) = accounts.iter().find(|it| it.state != State::Elected) {
            return Err(format!("a draw among honest members failed: {failed:?}").into());
        }
        let all = |of: fn(&DrawStatus) -> u64| accounts.iter().map(of).sum::<u64>() as f64;
        rounds.0.push(accounts[0].basic_rounds.into());
        messages.0.push(all(|it| it.messages_sent));
        bytes.0.push(all(|it| it.bytes_sent));
    }
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    // The limit on equal stages ends one honest draw in 10^12, which is not visible here.
    let theory = cost(members as usize, Compare::NonStrict, None);
    println!("{draws} draws among {members} members, all in one thread, over loopback");
    println!("  draws a second   {:.2}", f64::from(draws) / seconds);
    println!("  CPU seconds      {:.2}", cpu / f64::from(draws));
    println!("  Basic rounds     {rounds}; {:.2} in theory", theory.basic_rounds);
    println!("  messages         {messages}; {:.0} in theory", theory.messages);
    println!("  bytes            {bytes}");
    println!("  bytes a message  {:.1}", bytes.mean() / messages.mean());
    Ok(())
}

/// Holds draws in which one member is silent whenever it loses, and reports how the others see
/// them.
fn abort(members: u32, draws: u32, home: &Path) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let name = format!("m{ABORTER}");
    let (mut own, mut completed, mut void, mut named) = (0, 0, 0, 0);
    for number in 1..=draws {
        let draw = draw((members, number), "1s", Some(ABORTER), home);
        let honest = runtime.block_on(draw)?;
        let is_elected = honest.iter().all(|it| it.state == State::Elected);
        let is_its_own = honest.iter().all(|it| it.leader.as_ref() == Some(&name));
        let is_named = honest.iter().all(|it| it.unconfirmed_by == [&*name]);
        completed += u32::from(is_elected);
        own += u32::from(is_elected && is_its_own);
        void += u32::from(!is_elected);
        named += u32::from(!is_elected && is_named);
    }
    println!("{draws} draws among {members} members, of whom {name} is silent whenever it loses");
    println!("  completed   {completed}, of which {name} won {own}");
    println!("  void        {void}, of which {named} name {name} alone, at every other member");
    Ok(())
}

/// The CPU time that this process has used.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Holds one draw. Returns the status of all honest members.
async fn draw(
    (members, number): (u32, u32),
    respond_within: &str,
    aborter: Option<usize>,
    home: &Path,
) -> Result<Vec<DrawStatus>, Box<dyn Error>> {
    let mut text =
        format!("draw = \"measured\"\nnumber = {number}\nrespond_within = \"{respond_within}\"\n");
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
    let (mut drawing, mut silent) = (JoinSet::new(), JoinSet::new());
    for (place, (listener, secret)) in seats.into_iter().enumerate() {
        let transcript = home.join(format!("{number}-{place}.jsonl"));
        let member = ring.members[place].name.clone();
        let part = Participant {
            ring: ring.clone(),
            member,
            secret,
            transcript: transcript.clone(),
            marks: home.join("drawn").join(place.to_string()),
            wait: Duration::from_secs(60),
        };
        match aborter == Some(place) {
            true => drop(silent.spawn(take_part(part, Aborter::default(), listener, transcript))),
            false => drop(drawing.spawn(take_part(part, Wagner::default(), listener, transcript))),
        }
    }
    let mut accounts = Vec::new();
    while let Some(drawn) = drawing.join_next().await {
        accounts.push(drawn??);
    }
    silent.shutdown().await;
    Ok(accounts)
}

async fn take_part(
    part: Participant,
    player: impl RingMember,
    listener: TcpListener,
    transcript: PathBuf,
) -> Result<DrawStatus, NoDraw> {
    let account = part.status();
    let drawn = part.play(player, listener, &account, std::future::pending());
    let drawn = drawn.await;
    let _ = std::fs::remove_file(transcript); // hundreds of draws would fill the disk
    drawn
}

/// Measured values, one for each draw.
#[derive(Default)]
struct Values(Vec<f64>);

impl Values {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }
}

impl fmt::Display for Values {
    /// Writes the mean and its 95 % confidence interval.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, count) = (self.mean(), self.0.len() as f64);
        let squares: f64 = self.0.iter().map(|it| (it - mean).powi(2)).sum();
        let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
        write!(f, "{mean:.1} \u{b1} {:.1}", 1.96 * error)
    }
}
