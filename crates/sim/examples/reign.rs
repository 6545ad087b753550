//! Probabilistic elections with tenure, many of them, in groups of several sizes: what they cost, and that no two members
//! ever hold at once. `cargo xtask reign` runs it.
//!
//! `reign ELECTIONS MEMBERS...` prints a line for each size, and panics where tenure breaks its promise.

use std::error::Error;
use std::ops::ControlFlow;

use hustings_sim::fenced::reign;
use hustings_sim::{Seeds, monte_carlo};

/// How many elections follow each other in one world.
const IN_A_ROW: u64 = 100;
const LOSS: f64 = 0.2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let elections: u64 = arguments.next().ok_or("how many elections?")?.parse()?;
    println!("members  elections  tenures  messages an election  messages about tenure");
    for members in arguments {
        let members: u32 = members.parse()?;
        let worlds = elections.div_ceil(IN_A_ROW);
        let one = |run| reign(members, IN_A_ROW, LOSS, Seeds::new(u64::from(members), run));
        let (mut tenures, mut election, mut tenure) = (0, 0.0, 0.0);
        monte_carlo::run(
            worlds,
            0,
            one,
            || (),
            |it| {
                tenures += it.tenures;
                election += it.election_messages / worlds as f64;
                tenure += it.tenure_messages / worlds as f64;
                ControlFlow::Continue(())
            },
        )?;
        let elections = worlds * IN_A_ROW;
        println!("{members:7}  {elections:9}  {tenures:7}  {election:20.1}  {tenure:21.1}");
    }
    Ok(())
}
