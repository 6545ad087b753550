//! A discrete-event world that drives election protocols, from one seed.
//!
//! The protocols are those of [`hustings_protocol`], unchanged: here a [`World`] feeds them
//! messages, timers and view changes in virtual time, through a [`Network`] that delays, loses,
//! doubles and reorders, while a [`Scenario`] kills, pauses and cuts off members. The same seed
//! gives the same run, bit for bit; [`monte_carlo`] spreads runs over all cores without changing
//! any result.
//!
//! # The nouns
//! - [`World`]: members, messages in flight, timers, the clock. One world is one run.
//! - [`Setup`], [`Network`], [`Detection`]: what the world is like.
//! - [`Scenario`]: what befalls it, and when.
//! - [`Trace`]: the record of all that happened; costs nothing when off.
//! - [`Seeds`]: where all chance comes from.
//! - [`Summary`]: what is known at the end of a run; [`statistics`]: what many runs say.

mod agenda;
pub mod announcing;
mod attention;
pub mod classics;
pub mod council;
pub mod council_tally;
mod echoes;
mod experiment;
mod fan_out;
pub mod faults;
pub mod fenced;
mod met;
pub mod monte_carlo;
mod network;
mod population;
mod post;
pub mod probabilistic;
mod scenario;
mod scene;
mod seeds;
pub mod statistics;
mod summary;
mod timers;
mod trace;
pub mod wagner;
pub mod watch;
pub mod wheel;
mod world;

pub use experiment::Experiment;
pub use network::{Delay, LossModel, Network, NetworkError, Reordering};
pub use population::Detection;
pub use scenario::{Scenario, ScenarioError, Verb, Who};
pub use seeds::{Seeds, Stream};
pub use summary::{Ending, Summary};
pub use trace::{Event, JsonLines, Silent, Trace};
pub use world::{Boot, Halt, Scratch, Setup, Tally, World};
