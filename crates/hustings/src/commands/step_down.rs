//! `hustings step-down`: let somebody else lead.

use std::io::Write;

use clap::Args;
use hustings_agent::http::STEP_DOWN_FOR;
use hustings_protocol::Duration;

use super::agent::client::ClientOptions;
use crate::failure::Failure;
use crate::options::values;

/// Make this host's agent give up leadership, and stay out of elections for a while
#[derive(Debug, Args)]
pub(crate) struct StepDown {
    /// Of which group
    #[arg(long, value_name = "GROUP", env = "HUSTINGS_GROUP")]
    group: String,

    /// For how long
    #[arg(long = "for", value_name = "DURATION", default_value_t = STEP_DOWN_FOR,
          value_parser = values::some_time)]
    span: Duration,

    #[command(flatten)]
    agent: ClientOptions,
}

impl StepDown {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self { group, span, agent } = self;
        if group.contains(['/', '?', '#', '%', ' ']) || group.is_empty() {
            return Err(Failure::Usage(format!(
                "--group `{group}` is no group's name: choose one that `hustings status` lists"
            )));
        }
        let client = agent.client();
        let path = format!("/v1/groups/{group}/step-down?for={span}");
        client.post(&path).map_err(|why| client.failure(why))?;
        let printed = writeln!(
            std::io::stdout(),
            "group {group}: stepped down, and out of elections for {span}"
        );
        printed.map_err(|error| Failure::output(&error))
    }
}
