//! The promises of tenure, except safety in every case, which the model checks: its cost, the
//! reasons for refusal, and the effects of time, disks and health.

mod cost;
mod ending;
mod hall;
mod query;
mod reach;
mod refusal;
mod restart;
mod storm;

use hall::millis;
use hustings_protocol::MemberId;
use hustings_protocol::tenure::{Config, Durable, Saved};

const FOUNDING: Saved = Saved::Initialised(Durable::FOUNDING);

/// Three voters, ttl 300 ms, answers within 10 ms.
fn config() -> Config {
    let voters = (1..=3).map(MemberId).collect();
    let config = Config::field(voters, millis(300), millis(10));
    config.check().expect("it can work");
    config
}
