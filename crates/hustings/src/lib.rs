//! Leader election: the protocols, a world to try them in, and what they should cost.
//!
//! A protocol here is a pure state machine, so that what is measured in the simulator is the very
//! code that a member runs. What it arrives at is a *nomination*: with a probability that can be
//! computed and measured, every member that is up names the same leader, and two members may
//! disagree for a while. A nomination is a claim. What makes it a licence to act is a [`Tenure`]: a lease
//! with a fence, granted by a majority of voters or by a store.
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//! use hustings::{Group, Joining};
//!
//! # async fn work(_: hustings::protocol::Fence) {}
//! # async fn example(key: hustings::agent::seal::Key) -> Result<(), Box<dyn std::error::Error>> {
//! let joining = Joining::on_the_lan("backup", "alpha", key);
//! let voters = ["alpha", "beta", "gamma"];
//! let joining = joining.fenced_by(&voters, Duration::from_secs(2), Path::new("/var/lib/backup"));
//! if std::env::args().any(|it| it == "--new-group") {
//!     joining.found_voter()?; // once on each of the three, before the group has its first leader
//! }
//! // Refuses a voter that was never initialised, or whose file is lost: the error says what to do.
//! let mut group = Group::join(joining).await?;
//! loop {
//!     let mut tenure = group.tenure().await?;
//!     let fence = tenure.fence(); // hand it to whatever is written to
//!     // Ends 200 ms before the tenure does, if it is not renewed.
//!     let _done = tenure.scope(Duration::from_millis(200), work(fence)).await;
//! }
//! # }
//! ```
//!
//! | Module | What it holds |
//! |---|---|
//! | [`Group`] | a member of a group: join, campaign, get [`Tenure`], resign |
//! | [`Council`] | the centre of a group's council: from L to U of its members, kept seated |
//! | [`protocol`] | the elections: Chang and Roberts' ring, the modified ring, the bully |
//! | [`sim`] | a world in virtual time that drives them from one seed, through loss, delay and crashes |
//! | [`theory`] | closed forms of what they cost |
//! | [`fence`] | for resources: refuses whoever writes with a fence below one that it has seen |
//! | [`draw`] | a fair draw among members who do not trust each other: [`draw::Part`] takes part, [`draw::verify`] settles disputes |
//! | [`keeper`] | a tiny parent for a program, which knows when it is dead and gives up for it what it held |
//!
//! The program `hustings` does the same from the command line: `hustings sim bully --members 5
//! --crashed-leader`, `hustings theory bully --members 5 --crashed-leader`.
//!
//! # Example
//! Five members, of which the best has crashed; the worst notices, and calls a bully election:
//! ```
//! use hustings::protocol::bully::{Bully, Config};
//! use hustings::protocol::{Duration, Instant, MemberId};
//! use hustings::sim::classics::{self, Best, BullyInitiator};
//! use hustings::sim::{Delay, Detection, Ending, Experiment, Network, Seeds, Setup};
//! use hustings::theory;
//!
//! let delay = Duration::from_millis(100);
//! let seeds = Seeds::new(1, 0);
//! let (merits, scenario) = classics::bully(5, BullyInitiator::Lowest, Best::Down, seeds);
//! let experiment = Experiment {
//!     setup: Setup {
//!         merits,
//!         network: Network::perfect(Delay::Constant(delay)),
//!         detection: Detection::Never,
//!         view: 1.0,
//!     },
//!     scenario,
//!     limit: Instant::START + Duration::from_secs(60),
//! };
//! let summary = experiment.run(Config::slides(delay), seeds, |_| Bully::new());
//!
//! assert_eq!(summary.ending, Ending::Elected(MemberId(3)));
//! let sent: u64 = summary.tally.unicasts.iter().sum();
//! let on_paper = theory::bully::bully(5, theory::bully::Initiator::Lowest, theory::bully::Best::Down);
//! assert_eq!(sent as f64, on_paper.messages);
//! ```

pub mod council;
mod group;
mod tenure;

pub use council::{Council, Dissolved};
pub use group::{FoundError, Group, Joining, Nomination};
pub use hustings_agent as agent;
pub use hustings_agent::draw;
pub use hustings_agent::keeper;
pub use hustings_fence as fence;
pub use hustings_protocol as protocol;
pub use hustings_sim as sim;
pub use hustings_theory as theory;
pub use tenure::{Lost, NoTenure, Tenure};
