//! A model checker for tenure: it explores every run within given bounds.
//!
//! It checks [`hustings_protocol::tenure`] itself, not a copy of its rules. This crate implements
//! `Io` once more, and `stateright` searches. For given [`Bounds`] the search either
//! exhausts the state space and no run breaks a property, or it shows a run that does.
//!
//! # The world
//! - The network is the set of all messages ever sent. Any of them may arrive at any time, any
//!   number of times, in any order, or never.
//! - An armed timer expires at any time, early or late: safety must not depend on timers.
//! - Clocks advance together, each at its own rate, fixed for a run. Rules compare durations on one
//!   clock with durations on another, so constant rates at the ends of the allowed range are the
//!   worst case.
//! - Members restart between any two steps, with the contents of their disks. A member that never
//!   takes another step has crashed. A member that takes none for a while was paused, and believes
//!   that it holds tenure for as long as its clock says.
//! - Small bounds keep the space finite: counters, proposals, ticks, faults.
//!
//! # Storms
//! The search is exhaustive for short runs. [`storm`] has long ones: random faults from many seeds,
//! with clocks that run in real time.
//!
//! # Wrong versions
//! A checker that finds nothing proves nothing until it has found something. [`wrong`] has versions
//! of tenure that differ from the original by a line or two. Each is a test that fails if the
//! checker accepts it. The original code has no trace of them: the build generates them from its
//! text (`wrong/*.diff`), and fails if a line that they replace no longer exists.

mod bounds;
mod interner;
mod member;
mod network;
mod search;
mod sut;
mod world;

pub mod storm;
pub mod suites;

/// Wrong versions of tenure, each with a line or two of the original text replaced: see
/// `wrong/*.diff`.
pub mod wrong {
    #![allow(warnings, reason = "replaced lines leave items unused, and this text is generated")]

    include!(concat!(env!("OUT_DIR"), "/wrong.rs"));
}

pub use bounds::{Answers, Bounds, Clocks, Faults, Others, Rate};

pub use search::{Coverage, Found, Search};
pub use sut::{Answer, Sut};
pub use world::{Action, State, World};
