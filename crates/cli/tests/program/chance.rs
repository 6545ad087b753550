//! All randomness comes from the seed.

use crate::run::{object, printed};

/// Command lines that use as much randomness as possible.
const CHANCY: [&str; 6] = [
    "sim chang-roberts --members 20 --initiators 5 --crash 0.05 --patience 20s --loss 0.002",
    "sim modified-ring --members 20 --initiators 3 --delay exponential:50ms --duplicate 0.1",
    "sim bully --members 20 --initiator random --loss 0.1 --view 0.9 --reorder 0.2 --until 20s",
    "sim suppress --members 20 --merit priority --loss 0.2",
    "sim suppress --members 6 --rules field --churn leave:9s,die:8s,join:5s --absence 2s --loss 0.2 --until 40s",
    "sim probabilistic --members 100 --view 0.5 --crash 0.02 --loss 0.4 --last-round grown",
];

#[test]
fn the_number_of_threads_changes_no_byte() {
    for arguments in CHANCY {
        let on = |threads: u32| {
            printed(&format!("{arguments} --runs 700 --threads {threads} --format json"))
        };
        let alone = on(1);
        assert_eq!(alone, on(2), "hustings {arguments}");
        assert_eq!(alone, on(3), "hustings {arguments}");
    }
}

#[test]
fn another_seed_gives_another_result() {
    for arguments in CHANCY {
        let messages = |seed: u32| {
            object(&format!("{arguments} --runs 100 --seed {seed}"))["metrics"]["messages"].clone()
        };
        assert_ne!(messages(1), messages(2), "hustings {arguments}");
        assert_eq!(messages(2), messages(2), "hustings {arguments}");
    }
}

#[test]
fn first_runs_do_not_depend_on_the_number_of_runs() {
    for arguments in CHANCY {
        let least = |runs: u32| {
            let least =
                &object(&format!("{arguments} --runs {runs}"))["metrics"]["messages"]["min"];
            least.as_f64().expect("a number")
        };
        assert!(least(50) >= least(300), "hustings {arguments}");
    }
}
