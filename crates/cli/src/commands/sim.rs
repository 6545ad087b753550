//! `hustings sim`: Monte Carlo experiments in the simulator.

use clap::Args;

use crate::elections::{Choice, PROTOCOLS, Settled};
use crate::failure::Failure;
use crate::simulation::{Simulation, SimulationOptions};

/// Simulate an election many times and report its cost
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = PROTOCOLS,
          subcommand_help_heading = "Protocols", disable_help_subcommand = true)]
pub(crate) struct Sim {
    #[command(subcommand)]
    protocol: Choice<SimulationOptions>,
}

const EXAMPLES: &str = include_str!("sim_help.txt").trim_ascii_end();

impl Sim {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Settled { election, setup, experiment, own } = self.protocol.settle()?;
        election.simulate(&Simulation { options: own, experiment, setup })
    }
}
