//! Leader election with tenure: election protocols, a simulator to measure them, and the theory of
//! their cost.
//!
//! A protocol is a pure state machine, so that the simulator measures the same code that a member
//! runs. A protocol produces a *nomination*: every running member names the same leader, with a
//! probability that can be computed and measured. Two members may disagree for a while. A
//! nomination is therefore only a claim. The right to act comes from a [`Tenure`]: a lease with a
//! fence, granted by a majority of voters or by a store.
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//! use hustings::{Group, GroupOptions};
//!
//! # async fn work(_: hustings::protocol::Fence) {}
//! # async fn example(key: hustings::agent::seal::Key) -> Result<(), Box<dyn std::error::Error>> {
//! let options = GroupOptions::on_the_lan("backup", "alpha", key);
//! let voters = ["alpha", "beta", "gamma"];
//! let options = options.fenced_by(&voters, Duration::from_secs(2), Path::new("/var/lib/backup"));
//! if std::env::args().any(|it| it == "--new-group") {
//!     options.found_voter()?; // once on each of the three, before the group has its first leader
//! }
//! // Refuses a voter that was never initialised or whose file is lost. The error names the remedy.
//! let mut group = Group::join(options).await?;
//! loop {
//!     let mut tenure = group.tenure().await?;
//!     let fence = tenure.fence(); // send it with every write to the protected resource
//!     // Stops the work 200 ms before the tenure ends, if it is not renewed.
//!     let _done = tenure.scope(Duration::from_millis(200), work(fence)).await;
//! }
//! # }
//! ```
//!
//! | Module | Contents |
//! |---|---|
//! | [`Group`] | a member of a group: join, wait for election, get [`Tenure`], resign |
//! | [`Council`] | the centre of a council, which keeps from L to U members of a group seated |
//! | [`protocol`] | the election protocols, for example Chang and Roberts' ring and the bully |
//! | `sim` | feature `sim`: simulates protocols from one seed, with loss, delay and crashes |
//! | [`theory`] | closed forms of the protocols' cost |
//! | [`fence`] | for resources: refuses writes with a fence below the highest one seen |
//! | `draw` | feature `draw`: a fair draw among members that do not trust each other |
//! | [`death_witness`] | a small parent process that releases a program's tenure when it dies |
//!
//! The program `hustings` does the same from the command line: `hustings sim bully --members 5
//! --crashed-leader`, `hustings theory bully --members 5 --crashed-leader`.

pub mod council;
mod group;
mod tenure;

pub use council::{Council, CouncilEndedError};
pub use group::{FoundError, Group, GroupOptions, Nomination};
pub use hustings_agent as agent;
pub use hustings_agent::death_witness;
#[cfg(feature = "draw")]
pub use hustings_draw as draw;
pub use hustings_fence as fence;
pub use hustings_protocol as protocol;
#[cfg(feature = "sim")]
pub use hustings_sim as sim;
pub use hustings_theory as theory;
pub use tenure::{Tenure, TenureError, TenureLostError};
