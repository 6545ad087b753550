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

use clap::Parser;

use crate::elections::Choice;
use crate::failure::Failure;
use crate::simulation::SimulationOptions;

/// The command line of `hustings`.
#[derive(Debug, Parser)]
#[command(
    name = "hustings",
    version,
    about = "Leader election: run an agent on each host, or measure the protocols in a simulator",
    after_help = EXIT_CODES,
    arg_required_else_help = true
)]
pub(crate) enum Arguments {
    Demo(demo::Demo),
    Run(Box<run::Run>),
    Agent(Box<agent::AgentCommand>),
    Status(status::Status),
    Watch(watch::Watch),
    StepDown(step_down::StepDown),
    Council(Box<council::CouncilCommand>),
    #[command(subcommand)]
    Voter(voter::Voter),
    Trace(trace::Trace),
    #[command(subcommand)]
    Config(config::Config),
    #[command(subcommand)]
    Keys(keys::Keys),
    Draw(Box<draw::Draw>),
    #[command(subcommand, about = "Simulate an election many times and report its cost",
              after_help = sim::EXAMPLES)]
    Sim(Choice<SimulationOptions>),
    #[command(subcommand, about = "Compute the cost of an election by closed forms",
              after_help = theory::EXAMPLES)]
    Theory(Choice<theory::NoOptions>),
    Reproduce(reproduce::Reproduce),
}

const EXIT_CODES: &str = "Exit codes: 0 success; 1 failed or interrupted; 2 a wrong option, or a \
                          file that cannot be used.";

impl Arguments {
    /// Runs the chosen command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Demo(demo) => demo.run(),
            Self::Run(run) => run.run(),
            Self::Agent(agent) => agent.run(),
            Self::Status(status) => status.run(),
            Self::Watch(watch) => watch.run(),
            Self::StepDown(step_down) => step_down.run(),
            Self::Council(council) => council.run(),
            Self::Voter(voter) => voter.run(),
            Self::Trace(trace) => trace.run(),
            Self::Config(config) => config.run(),
            Self::Keys(keys) => keys.run(),
            Self::Draw(draw) => draw.run(),
            Self::Sim(protocol) => sim::run(protocol),
            Self::Theory(protocol) => theory::run(protocol),
            Self::Reproduce(reproduce) => reproduce.run(),
        }
    }
}
