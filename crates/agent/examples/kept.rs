//! A program that has a keeper. The tests of `hustings_agent::keeper` are what it is for.
//!
//! `kept HOW` prints "up", the worker's process id and the keeper's, and does what it reads from standard input:
//! "words ADDRESS TEXT" and "words" entrust the keeper with last words, and are answered by "entrusted"; "start
//! SCRIPT" starts a shell; "arguments" prints them; "let go" closes the connection to the keeper, and is answered by
//! the same; "panic", "abort" and "exit CODE" are what they say. HOW is "entrust" or "follow": by which call the
//! keeper is told.

use std::error::Error;
use std::io::BufRead;
use std::process::{Command, ExitCode};

use hustings_agent::keeper::{LastWords, Split, Worker, split};
use tokio::sync::watch;

/// How the keeper is told.
enum Told {
    Entrusted(Option<Worker>),
    Follows(watch::Sender<LastWords>),
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let worker = match split()? {
        Split::Keeper(code) => return Ok(code),
        Split::Worker(worker) => worker,
    };
    let mut told = if std::env::args().nth(1).as_deref() == Some("follow") {
        follow(worker)?
    } else {
        Told::Entrusted(Some(worker))
    };
    let keeper = std::os::unix::process::parent_id();
    println!("up\n{}\n{keeper}", std::process::id());
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
    let (tell, last_words) = watch::channel(LastWords::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::spawn(move || runtime.block_on(worker.follow(last_words)));
    Ok(Told::Follows(tell))
}

fn tell(told: &mut Told, words: LastWords) -> std::io::Result<()> {
    match told {
        Told::Entrusted(Some(worker)) => worker.entrust(&words)?,
        Told::Entrusted(None) => {}
        Told::Follows(tell) => drop(tell.send_replace(words)),
    }
    Ok(())
}

fn last(words: &str) -> LastWords {
    let pair = words.split_once(' ');
    let words = pair.and_then(|(address, text)| Some((address.parse().ok()?, text.into())));
    LastWords(words.into_iter().collect())
}
