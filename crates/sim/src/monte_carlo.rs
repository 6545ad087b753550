//! Many runs over all cores, with the same result on any number of cores.
//!
//! Runs execute in blocks. Within a block they spread over the cores. After each block their
//! results are collected by run number. Therefore neither scheduling nor the number of threads
//! changes a bit of the outcome, and memory stays bounded.

use std::ops::ControlFlow;

use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Number of runs per block.
const BLOCK: u64 = 256;

/// The threads could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {threads} threads: {reason}")]
pub struct ThreadsError {
    threads: usize,
    reason: String,
}

/// Executes runs `0..runs` on `threads` threads (0: one per core) and passes their results to
/// `take` by run number. `take` may stop the experiment early; later results are dropped. `done` is
/// called as each run finishes, in no particular order. Returns the number of results taken.
///
/// # Errors
/// If the threads cannot be started.
pub fn run<R: Send>(
    runs: u64,
    threads: usize,
    one: impl Fn(u64) -> R + Sync,
    done: impl Fn() + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()> + Send,
) -> Result<u64, ThreadsError> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| ThreadsError { threads, reason: error.to_string() })?;
    let mut taken = 0;
    let mut first = 0;
    while first < runs {
        let block = first..runs.min(first + BLOCK);
        first = block.end;
        let results: Vec<R> = pool.install(|| {
            block
                .into_par_iter()
                .map(|number| {
                    let result = one(number);
                    done();
                    result
                })
                .collect()
        });
        for result in results {
            taken += 1;
            if take(result).is_break() {
                return Ok(taken);
            }
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn results_come_by_run_number_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let mut order = Vec::new();
            let finished = AtomicU64::new(0);
            let taken = super::run(
                1_000,
                threads,
                |number| number * 3,
                || {
                    finished.fetch_add(1, Ordering::Relaxed);
                },
                |result| {
                    order.push(result);
                    ControlFlow::Continue(())
                },
            );
            assert_eq!((taken.unwrap(), finished.into_inner()), (1_000, 1_000));
            assert!(order.into_iter().eq((0..1_000).map(|number| number * 3)));
        }
    }

    #[test]
    fn an_experiment_can_be_stopped() {
        let mut left = 10;
        let taken = super::run(
            1_000_000,
            2,
            |number| number,
            || {},
            |_| {
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        assert_eq!(taken.unwrap(), 10);
    }
}
