//! `hustings sim`: Monte Carlo experiments in the simulator.

use crate::elections::{Choice, Settled};
use crate::failure::Failure;
use crate::simulation::{Simulation, SimulationOptions};

pub(super) const EXAMPLES: &str = include_str!("sim_help.txt").trim_ascii_end();

/// Simulates an election many times and reports its cost.
pub(super) fn run(protocol: Choice<SimulationOptions>) -> Result<(), Failure> {
    let Settled { election, setup, experiment, own } = protocol.settle()?;
    election.simulate(&Simulation { options: own, experiment, setup })
}
