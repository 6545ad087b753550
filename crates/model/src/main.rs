//! Searches tenure within all bounds, and prints the size of each search: `cargo xtask model`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the output reports the search time"
)]

use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use hustings_model::{Bounds, Coverage, Search, suites};
use hustings_protocol::tenure::Tenure;

/// A search stops after this number of steps, and reports that it did.
const MOST_STEPS: usize = 60_000_000;

fn main() -> ExitCode {
    let threads = available_parallelism().map_or(1, usize::from);
    let name = std::env::args().nth(1).unwrap_or_default();
    println!("{:<30} {:>12} {:>6} {:>11} {:>8}", "bounds", "states", "depth", "", "seconds");
    let all = suites::quick().into_iter().chain(suites::thorough());
    for bounds in all.filter(|bounds| bounds.name.contains(&name)) {
        if !is_safe(&bounds, threads) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn is_safe(bounds: &Bounds, threads: usize) -> bool {
    let began = Instant::now();
    let search = Search::of::<Tenure>(bounds, threads, MOST_STEPS);
    println!(
        "{:<30} {:>12} {:>6} {:>11} {:>8.1}",
        bounds.name,
        search.states,
        search.depth,
        if search.is_exhaustive { "exhausted" } else { "not ended" },
        began.elapsed().as_secs_f64(),
    );
    let seen = Coverage::ALL.iter().filter(|event| search.covers(**event));
    println!("    seen: {:?}", seen.collect::<Vec<_>>());
    if let Some(found) = &search.found {
        println!("broken: {}", found.property);
        for step in &found.steps {
            println!("  {step}");
        }
    }
    search.found.is_none()
}
