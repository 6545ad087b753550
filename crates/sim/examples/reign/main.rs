//! A soak test of many probabilistic elections with tenure, in groups of several sizes. It prints
//! their cost and checks that no two members ever hold tenure at once. `cargo xtask reign` runs it.
//!
//! `reign ELECTIONS MEMBERS...` prints a line for each size, and panics if tenure breaks its
//! promise.

mod fenced;
mod lease_soak;

use std::error::Error;
use std::io::{Write, stdout};
use std::ops::ControlFlow;

use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Seeds, monte_carlo};
use lease_soak::{Crashes, FIRST_K, Voters, lease_soak};

/// The number of consecutive elections in one world. Intervals are over the means of worlds, which
/// are independent.
const IN_A_ROW: u64 = 100;
const LOSS: f64 = 0.2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let elections: u64 = arguments.next().ok_or("usage: reign ELECTIONS MEMBERS...")?.parse()?;
    println!("{LOSS} of all messages lost; 95 % intervals of the means\n");
    println!(
        "members   K  elections  tenures  of voters  messages an election  messages about tenure"
    );
    for members in arguments {
        let members: u32 = members.parse()?;
        let worlds = elections.div_ceil(IN_A_ROW);
        let one = |run| {
            let seeds = Seeds::new(u64::from(members), run);
            lease_soak(members, Voters::Spread, IN_A_ROW, LOSS, seeds)
        };
        let (mut tenures, mut of_voters, mut crashes) = (0, 0, Crashes::default());
        let [mut election, mut tenure] = [Sample::new(Kind::Number); 2];
        monte_carlo::run(
            worlds,
            0,
            one,
            || (),
            |it| {
                tenures += it.tenures;
                of_voters += it.tenures_of_voters;
                crashes = crashes.and(it.crashes);
                election.add(it.election_messages);
                tenure.add(it.tenure_messages);
                ControlFlow::Continue(())
            },
        )?;
        println!(
            "{members:7}  {FIRST_K:2}  {:9}  {tenures:7}  {of_voters:9}  {:>20}  {:>21}",
            worlds * IN_A_ROW,
            show(&election),
            show(&tenure)
        );
        let Crashes { members: all, holders, nominees, voters, relaying } = crashes;
        println!(
            "         {all} crashes: {holders} of holders, {nominees} of nominees, {voters} of voters, {relaying} of members that relayed"
        );
        stdout().flush()?;
    }
    println!(
        "\nIn none of them did two members hold at once, and every fence was above those before it."
    );
    Ok(())
}

/// The mean and the half-width of its interval.
fn show(sample: &Sample) -> String {
    match sample.estimate() {
        Some(it) => {
            let reach = it.ci95.map(|[_, high]| high - it.mean);
            let reach = reach.map_or_else(String::new, |it| format!(" +- {it:.1}"));
            format!("{:.1}{reach}", it.mean)
        }
        None => "none".to_owned(),
    }
}
