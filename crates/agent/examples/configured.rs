//! Runs an agent as its file configures it, until it is killed. The tests of
//! `hustings_agent::authority` use it, because they kill and pause voters and need processes for
//! that.
//!
//! Usage: `configured FILE`. It prints nothing.

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
