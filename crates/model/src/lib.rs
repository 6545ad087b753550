//! The model checker's world: it takes tenure through every run that fits in it.
//!
//! What is checked is [`hustings_protocol::tenure`] itself, not a copy of its rules: this crate
//! implements `Io` once more, and `stateright` does the searching. In a [`Setting`] the space is
//! searched to its end, and no run of it breaks a property; or one does, and is shown.
//!
//! # The world
//! - The network is the set of all that was ever said. Any of it may arrive at any time, any number of
//!   times, in any order, or never.
//! - Timers ring whenever they are armed, early or late: nothing that is safe depends on them.
//! - Clocks advance together, each at its own rate, fixed for a run. Rules compare spans on one clock
//!   with spans on another, so constant rates at the ends of what the bound allows are the worst.
//! - Members restart between any two steps, with what is on their disks. One that never takes another step
//!   has crashed, and one that takes none for a while was paused: yet it believes that it holds for
//!   as long as its clock tells it so.
//! - What must be small for the space to have an end: counters, proposals, ticks, faults.
//!
//! # Storms
//! The search is thorough where runs are short. [`storm`] has long ones: random faults from many seeds,
//! with clocks that run in real time.
//!
//! # Wrong versions
//! A checker that finds nothing proves nothing until it has found something. [`wrong`] has versions of
//! tenure that differ from the honest one by a line or two; each is a test that fails if the checker
//! lets it pass. The honest code knows nothing of them: they are made from its text (`wrong/*.diff`)
//! when this crate is built, and the build fails if a line that they change is not there any more.

mod mail;
mod memory;
mod registry;
mod search;
mod seat;
mod setting;
mod sight;
mod starts;
mod subject;
mod world;

pub mod settings;
pub mod storm;
pub mod wrong;

pub use search::{Found, Search};
pub use setting::{Answers, Clocks, Faults, Others, Rate, Setting};
pub use sight::Sight;
pub use subject::{Answer, Subject};
pub use world::{Action, State, World};
