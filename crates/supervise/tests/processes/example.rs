//! Programs that tests run.

pub(crate) use hustings_testkit::observe::example;
