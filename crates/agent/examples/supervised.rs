//! A program that runs a command while it is told that it leads. The tests of `hustings_agent::workload` are
//! what it is for.
//!
//! `supervised SOCKET AT_END SETTLE_MILLIS GRACE_MILLIS COMMAND...` connects to the abstract SOCKET and reads lines
//! from it: "lead", "lead FENCE" and "follow". It answers "ready", once it handles signals, and "resign".

use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::ExitCode;
use std::time::Duration;

use hustings_agent::workload::{self, AtEnd, Workload, stage_main, supervise};
use hustings_agent::{Leadership, Peer};
use hustings_protocol::{Instant, MemberId};
use tokio::sync::{mpsc, watch};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = stage_main(std::env::args_os()) {
        return Ok(code);
    }
    let mut arguments = std::env::args_os().skip(1);
    let mut next = || arguments.next().ok_or("too few arguments");
    let mut socket =
        UnixStream::connect_addr(&SocketAddr::from_abstract_name(next()?.as_bytes())?)?;
    let at_end = at_end(&next()?)?;
    let settle = next()?.to_string_lossy().parse()?;
    let grace = next()?.to_string_lossy().parse()?;
    let workload = Workload {
        command: arguments.collect(),
        settle: Duration::from_millis(settle),
        grace: Duration::from_millis(grace),
        at_end,
    };

    let (tell, leadership) = watch::channel(Leadership::unknown("choir", "alto", Instant(0)));
    let lines = BufReader::new(socket.try_clone()?).lines();
    std::thread::spawn(move || {
        for (count, line) in (1..).zip(lines.map_while(Result::ok)) {
            tell.send_replace(told(&line, count));
        }
    });
    let resign = {
        let mut socket = socket.try_clone()?;
        move || writeln!(socket, "resign").expect("the test listens")
    };
    let (_, step_downs) = mpsc::channel(1); // nobody asks for it here
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let supervised = runtime.block_on(async {
        let ready = async {
            // Polled after the supervision, which listens for signals by then.
            writeln!(socket, "ready").expect("the test listens");
            std::future::pending().await
        };
        tokio::select! {
            biased;
            code = supervise(workload, leadership, step_downs, None, resign) => code,
            never = ready => never,
        }
    });
    Ok(ExitCode::from(code(supervised)))
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

/// What the leadership is from line number `count` on.
fn told(line: &str, count: u64) -> Leadership {
    let mut leadership = Leadership::unknown("choir", "alto", Instant(count));
    leadership.changes = count;
    if let Some(fence) = line.strip_prefix("lead") {
        leadership.leads = true;
        leadership.fence = fence.trim().parse().ok();
        leadership.leader = Some(Peer {
            name: "alto".to_owned(),
            id: MemberId(7),
            address: None,
        });
    }
    leadership
}
