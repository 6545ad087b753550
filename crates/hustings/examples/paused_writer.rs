//! Two writers, of which the first is stopped just before it writes, for longer than its tenure
//! lasts. When it continues it still tries to write, because its check whether it holds tenure
//! succeeded before. The guard of the resource refuses the write.
//!
//! Without arguments, this program starts itself once as each of the members.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use hustings::fence::FenceGuard;
use hustings::{Group, GroupOptions};
use rustix::process::{Pid, Signal, getpid, kill_process, set_parent_process_death_signal};

/// Two writers, and a third voter for a majority while one of the writers is silent.
const VOTERS: [&str; 3] = ["red", "blue", "third"];

const TTL: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [group, name] => take_part(group, name),
        _ => set_the_scene(),
    }
}

fn set_the_scene() -> Result<(), Box<dyn Error>> {
    // Each run has its own group and directory, so that two runs at once do not interfere.
    let group = format!("paused-{}", std::process::id());
    let home = std::env::temp_dir().join(&group);
    for voter in VOTERS {
        joining(&group, voter, &home).found_voter()?;
    }
    let _third = Actor::enter(&group, "third")?;
    let mut red = Actor::enter(&group, "red")?;
    red.until("is stopped")?;
    let mut blue = Actor::enter(&group, "blue")?;
    blue.until("wrote")?;
    println!("red goes on");
    red.go_on()?;
    red.until("was refused")?;
    println!("written: {}", fs::read_to_string(home.join("log"))?.trim());
    drop((red, blue));
    fs::remove_dir_all(&home)?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn take_part(group: &str, name: &str) -> Result<(), Box<dyn Error>> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let home = std::env::temp_dir().join(group);
    let mut member = Group::join(joining(group, name, &home)).await?;
    if name == "third" {
        member.resign(Duration::from_secs(3600)).await; // it only votes
    } else {
        let guard = FenceGuard::open(home.join("guard"))?;
        let tenure = member.tenure().await?;
        if tenure.holds() {
            let fence = tenure.fence();
            println!("{name} holds tenure with fence {fence}");
            if name == "red" {
                println!("{name} is stopped between asking whether it holds and writing");
                kill_process(getpid(), Signal::STOP)?;
            }
            match guard.write(fence, || write(&home, name)) {
                Ok(()) => println!("{name} wrote under fence {fence}"),
                Err(_) => println!("{name} was refused: its fence {fence} is too old"),
            }
        }
    }
    std::future::pending().await // the parent process ends it
}

fn write(home: &Path, name: &str) -> std::io::Result<()> {
    let mut log = File::options().create(true).append(true).open(home.join("log"))?;
    writeln!(log, "{name}")
}

/// A member in its own process.
struct Actor {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Actor {
    fn enter(group: &str, name: &str) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([group, name]).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let output = process.stdout.take().ok_or("its output is not there")?;
        let lines = BufReader::new(output);
        Ok(Self { process, lines })
    }

    /// Prints the member's output until a line contains `what`.
    fn until(&mut self, what: &str) -> Result<(), Box<dyn Error>> {
        let mut line = String::new();
        while !line.contains(what) {
            line.clear();
            if self.lines.read_line(&mut line)? == 0 {
                return Err(format!("it ended before it said: {what}").into());
            }
            print!("{line}");
        }
        Ok(())
    }

    fn go_on(&self) -> rustix::io::Result<()> {
        kill_process(Pid::from_child(&self.process), Signal::CONT)
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Killing a process that has ended may fail, which does no harm.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn joining(group: &str, name: &str, home: &Path) -> GroupOptions {
    GroupOptions::on_this_host(group, name).fenced_by(&VOTERS, TTL, &home.join(name))
}
