//! An agent as its file says, until it is killed. The tests of `hustings_agent::authority` are what it is for: they kill and
//! pause voters, which takes processes.
//!
//! `configured FILE` says nothing.

use std::error::Error;
use std::path::PathBuf;

use hustings_agent::Agent;
use hustings_agent::config::file;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("which file?")?;
    let config = file::read(&PathBuf::from(path))?.settle()?;
    Agent::start(config).await?.ended().await?;
    Ok(())
}
