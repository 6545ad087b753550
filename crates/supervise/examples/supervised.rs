//! A program that runs a command while it leads, for the tests of `hustings_supervise::workload`.
//!
//! `supervised SOCKET MODE AT_END SETTLE_MILLIS GRACE_MILLIS COMMAND...` connects to the abstract
//! SOCKET and reads lines from it: "lead", "lead FENCE" and "follow". It answers "ready", once it
//! handles signals, and "resign: REASON". The MODE is "advisory" or "fenced". In the latter it also
//! reads:
//! - "hold FENCE NANOS", with the end of the tenure on the boot clock, and "lose";
//! - "words ADDRESS TEXT" and "words", for a last will;
//! - "drop", which ends the supervision. The program answers "dropped", then "free" as soon as
//!   tenure may be released, and continues to run.
//!
//! With `SUPERVISED_LOGS` in its environment it logs to standard error, with `SUPERVISED_ADOPTS` it
//! adopts orphans.

use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::ExitCode;
use std::time::Duration;

use hustings_authority::LastWill;
use hustings_authority::{Fence, Held, InFlight};
use hustings_protocol::leadership::{Leadership, Mode, Peer};
use hustings_protocol::{Instant, MemberId};
use hustings_supervise::workload::{self, AtEnd, LeaseBinding, Workload, stage_main, supervise};
use tokio::sync::{mpsc, watch};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = stage_main(std::env::args_os()) {
        return Ok(code);
    }
    if std::env::var_os("SUPERVISED_LOGS").is_some() {
        tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .without_time()
            .init();
    }
    if std::env::var_os("SUPERVISED_ADOPTS").is_some() {
        workload::adopt_orphans()?;
    }
    let mut arguments = std::env::args_os().skip(1);
    let mut next = || arguments.next().ok_or("too few arguments");
    let mut socket =
        UnixStream::connect_addr(&SocketAddr::from_abstract_name(next()?.as_bytes())?)?;
    let is_fenced = next()? == "fenced";
    let at_end = at_end(&next()?)?;
    let settle = next()?.to_string_lossy().parse()?;
    let grace = next()?.to_string_lossy().parse()?;
    let workload = Workload {
        command: arguments.collect(),
        settle: Duration::from_millis(settle),
        grace: Duration::from_millis(grace),
        at_end,
    };

    let nobody = Leadership::unknown("choir", "alto", Mode::Advisory, Instant(0));
    let (tell, leadership) = watch::channel(nobody);
    let (authority, tenure) = watch::channel(None);
    let (sealer, last_will) = watch::channel(LastWill::default());
    let (drop_it, mut dropped) = mpsc::channel(1);
    let lines = BufReader::new(socket.try_clone()?).lines();
    std::thread::spawn(move || {
        for (count, line) in (1..).zip(lines.map_while(Result::ok)) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["hold", fence, until] => drop(authority.send_replace(held(fence, until))),
                ["lose"] => drop(authority.send_replace(None)),
                ["words", ref words @ ..] => drop(sealer.send_replace(last(words))),
                ["drop"] => drop(drop_it.try_send(())),
                _ => drop(tell.send_replace(told(&line, count))),
            }
        }
    });
    let work = InFlight::default();
    let lease_binding = is_fenced.then_some(LeaseBinding { tenure, last_will, work: work.clone() });
    let resign = {
        let mut socket = socket.try_clone()?;
        move |resignation: hustings_protocol::leadership::Resignation| {
            writeln!(socket, "resign: {}", resignation.why).expect("the test listens");
        }
    };
    let (_, step_downs) = mpsc::channel(1); // no request comes here
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let supervised = runtime.block_on(async {
        let ready = async {
            // Polled after the supervision, which handles signals by then.
            writeln!(socket, "ready").expect("the test listens");
            std::future::pending().await
        };
        tokio::select! {
            biased;
            code = supervise(workload, leadership, step_downs, lease_binding, resign) => Some(code),
            never = ready => never,
            Some(()) = dropped.recv() => None,
        }
    });
    match supervised {
        Some(supervised) => Ok(ExitCode::from(code(supervised))),
        None => {
            writeln!(socket, "dropped")?;
            runtime.block_on(async {
                while work.is_occupied() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            });
            writeln!(socket, "free")?;
            loop {
                std::thread::park();
            }
        }
    }
}

fn code(supervised: Result<u8, workload::Error>) -> u8 {
    supervised.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        error.exit_code()
    })
}

fn at_end(word: &OsString) -> Result<AtEnd, String> {
    match word.to_string_lossy().as_ref() {
        "exit" => Ok(AtEnd::Exit),
        "resign" => Ok(AtEnd::Resign),
        "restart" => Ok(AtEnd::Restart),
        other => Err(format!("what is {other} at the end?")),
    }
}

fn held(fence: &str, until: &str) -> Option<Held> {
    Some(Held { fence: Fence(fence.parse().ok()?), until: Instant(until.parse().ok()?) })
}

fn last(words: &[&str]) -> LastWill {
    let pairs = words.chunks_exact(2);
    let words = pairs.filter_map(|pair| Some((pair[0].parse().ok()?, pair[1].into())));
    LastWill(words.collect())
}

/// The leadership from line number `count` on.
fn told(line: &str, count: u64) -> Leadership {
    let mut leadership = Leadership::unknown("choir", "alto", Mode::Advisory, Instant(count));
    leadership.changes = count;
    if let Some(fence) = line.strip_prefix("lead") {
        leadership.leads = true;
        leadership.fence = fence.trim().parse().ok();
        leadership.leader = Some(Peer { name: "alto".to_owned(), id: MemberId(7), address: None });
    }
    leadership
}
