//! A discrete-event world that drives election protocols from one seed.
//!
//! The protocols are those of [`hustings_protocol`], unchanged. A [`World`] feeds them messages,
//! timers and view changes in virtual time. Its [`Network`] delays, loses, duplicates and reorders
//! messages, and a [`Scenario`] kills, pauses and partitions members. The same seed gives the same
//! run, bit for bit. [`monte_carlo`] spreads runs over all cores without changing any result.
//!
//! # The nouns
//! - [`World`]: members, messages in flight, timers, the clock. One world is one run.
//! - [`Setup`], [`Network`], [`Detection`]: the properties of the world.
//! - [`Scenario`]: a script of faults and starts.
//! - [`Trace`]: the record of a run; costs nothing when off.
//! - [`Seeds`]: the source of all randomness.
//! - [`trial::Trial`]: an election of [`elections`] under its [`Conditions`]; [`measure`]: many runs
//!   of it.
//! - [`Summary`]: the state at the end of a run; [`statistics`]: estimates from many runs.
//!
//! # Example
//! Five members, of which the best has crashed; the worst notices, and calls a bully election:
//! ```
//! use hustings_protocol::bully::{Bully, Config};
//! use hustings_protocol::{Duration, Instant, MemberId};
//! use hustings_sim::classics::{self, Best, BullyInitiator};
//! use hustings_sim::{Delay, Detection, Ending, Network, Seeds, Setup, Summary, World};
//! use hustings_theory as theory;
//!
//! let delay = Duration::from_millis(100);
//! let seeds = Seeds::new(1, 0);
//! let (priorities, scenario) = classics::bully(5, BullyInitiator::Lowest, Best::Down, seeds);
//! let setup = Setup {
//!     priorities,
//!     network: Network::perfect(Delay::Constant(delay)),
//!     detection: Detection::Never,
//!     view: 1.0,
//! };
//! let mut world = World::new(setup, Config::paper(delay), seeds, |_| Bully::default());
//! world.follow(&scenario);
//! let halt = world.run_until(Instant::START + Duration::from_secs(60));
//! let summary = Summary::of(&world, halt);
//!
//! assert_eq!(summary.ending, Ending::Elected(MemberId(3)));
//! let sent: u64 = summary.tally.unicasts.iter().sum();
//! let on_paper = theory::bully::bully(5, theory::bully::Initiator::Lowest, theory::bully::Best::Down);
//! assert_eq!(sent as f64, on_paper.messages);
//! ```

pub mod announcing;
pub mod classics;
mod conditions;
mod contacts;
pub mod convergence;
pub mod council;
pub mod council_aggregate;
pub mod elections;
mod fan_out;
mod in_flight;
mod interest;
pub mod measure;
pub mod monte_carlo;
mod network;
mod population;
pub mod probabilistic;
mod scenario;
mod script;
mod seeds;
mod seen;
pub mod statistics;
mod summary;
mod timers;
mod trace;
pub mod trial;
pub mod wagner;
pub mod wheel;
mod world;
mod world_state;

pub use conditions::Conditions;
pub use network::{Delay, LossModel, Network, NetworkError, Reordering};
pub use population::Detection;
pub use scenario::{Scenario, ScenarioError, Verb, Who};
pub use seeds::{Seeds, Stream};
pub use summary::{Ending, Summary};
pub use trace::{Event, JsonLines, Silent, Trace};
pub use world::{Boot, Halt, Memory, Scratch, Setup, Tally, World};
