//! The commands of the program, one per module.

mod agent;
mod config;
mod council;
mod demo;
mod draw;
mod keys;
mod reproduce;
mod run;
mod sim;
mod status;
mod step_down;
mod theory;
mod trace;
mod voter;
mod watch;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// The command line of `hustings`.
#[derive(Debug, Parser)]
#[command(
    name = "hustings",
    version,
    about = "Leader election: run an agent on each host, or measure the protocols in a simulator",
    after_help = EXIT_CODES,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Run(Box<run::Run>),
    Agent(Box<agent::AgentCommand>),
    Status(status::Status),
    Watch(watch::Watch),
    StepDown(step_down::StepDown),
    Council(Box<council::CouncilCommand>),
    Voter(voter::Voter),
    Trace(trace::Trace),
    Config(config::Config),
    Keys(keys::Keys),
    Draw(Box<draw::Draw>),
    Sim(sim::Sim),
    Theory(theory::Theory),
    Reproduce(reproduce::Reproduce),
}

const EXIT_CODES: &str = "Exit codes: 0 success; 1 failed or interrupted; 2 a wrong option, or a \
                          file that cannot be used.";

impl Arguments {
    /// Runs the chosen command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Demo(demo) => demo.run(),
            Command::Run(run) => run.run(),
            Command::Agent(agent) => agent.run(),
            Command::Status(status) => status.run(),
            Command::Watch(watch) => watch.run(),
            Command::StepDown(step_down) => step_down.run(),
            Command::Council(council) => council.run(),
            Command::Voter(voter) => voter.run(),
            Command::Trace(trace) => trace.run(),
            Command::Config(config) => config.run(),
            Command::Keys(keys) => keys.run(),
            Command::Draw(draw) => draw.run(),
            Command::Sim(sim) => sim.run(),
            Command::Theory(theory) => theory.run(),
            Command::Reproduce(reproduce) => reproduce.run(),
        }
    }
}
