//! A program with a death witness, for the tests of `hustings_supervise::death_witness`.
//!
//! `kept HOW` prints "up", the worker's process id and that of the death witness. HOW is "entrust"
//! or "follow", and selects the call that deposits the last will. The program carries out the lines
//! that it reads from standard input:
//! - "words ADDRESS TEXT" and "words" deposit a last will, and are answered by "entrusted";
//! - "start SCRIPT" starts a shell;
//! - "arguments" prints the arguments;
//! - "let go" closes the connection to the death witness, and is answered by the same;
//! - "panic", "abort" and "exit CODE" end the program in that way.

use std::error::Error;
use std::io::BufRead;
use std::process::{Command, ExitCode};

use hustings_supervise::death_witness::{LastWill, Split, Worker, split};
use tokio::sync::watch;

/// The call that deposits the last will.
enum Told {
    Entrusted(Option<Worker>),
    Follows(watch::Sender<LastWill>),
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let worker = match split()? {
        Split::DeathWitness(code) => return Ok(code),
        Split::Worker(worker) => worker,
    };
    let mut told = if std::env::args().nth(1).as_deref() == Some("follow") {
        follow(worker)?
    } else {
        Told::Entrusted(Some(worker))
    };
    let death_witness = std::os::unix::process::parent_id();
    println!("up\n{}\n{death_witness}", std::process::id());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "words" => {
                tell(&mut told, last(rest))?;
                println!("entrusted");
            }
            "start" => drop(Command::new("sh").args(["-c", rest]).spawn()?),
            "arguments" => println!("{:?}", std::env::args()),
            "let" => {
                told = Told::Entrusted(None);
                println!("let go");
            }
            "panic" => panic!("as I was told"),
            "abort" => std::process::abort(),
            "exit" => return Ok(ExitCode::from(rest.parse::<u8>()?)),
            other => return Err(format!("what is {other}?").into()),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn follow(worker: Worker) -> Result<Told, Box<dyn Error>> {
    let (tell, last_will) = watch::channel(LastWill::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || runtime.block_on(worker.follow(last_will)));
    Ok(Told::Follows(tell))
}

fn tell(told: &mut Told, words: LastWill) -> std::io::Result<()> {
    match told {
        Told::Entrusted(Some(worker)) => worker.deposit(&words)?,
        Told::Entrusted(None) => {}
        Told::Follows(tell) => drop(tell.send_replace(words)),
    }
    Ok(())
}

fn last(words: &str) -> LastWill {
    let pair = words.split_once(' ');
    let words = pair.and_then(|(address, text)| Some((address.parse().ok()?, text.into())));
    LastWill(words.into_iter().collect())
}
