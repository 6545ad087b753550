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

const EXAMPLES: &str = "\
Examples:
  hustings sim chang-roberts --members 1000 --initiators all
  hustings sim bully --members 50 --crashed-leader --loss 0.1 --format json
  hustings sim modified-ring --members 5 --runs 1 --trace run.jsonl
  hustings sim suppress --members 1000 --loss 0.4 --loss-model correlated
  hustings sim suppress --rules field --churn die:30s,join:10s --loss 0.1
  hustings sim probabilistic --members 2000 --view 0.5 --crash 0.001 --loss 0.2
  hustings sim council --members 1000000 --seats 4..8 --estimate aggressive
  hustings sim wagner --members 25 --cheat df@3..6

`hustings sim PROTOCOL --help` lists the options, and what is measured.";

impl Sim {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Settled { election, setup, experiment, own } = self.protocol.settle()?;
        election.simulate(&Simulation { options: own, experiment, setup })
    }
}
