//! `hustings step-down`: makes this host's agent give up leadership.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration as StdDuration;

use clap::Args;
use hustings_agent::http::STEP_DOWN_FOR;
use hustings_agent::identity::is_name;
use hustings_protocol::Duration;

use super::agent::client::Client;
use crate::failure::{Failure, print, say};
use crate::options::{SignedArg, environment, values};

/// Make this host's agent give up leadership and stay out of elections for a while
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct StepDown {
    /// The group
    #[arg(long, value_name = "GROUP", env = "HUSTINGS_GROUP")]
    group: String,

    /// The time to stay out of elections
    #[arg(long = "for", value_name = "DURATION", default_value_t = STEP_DOWN_FOR,
          signed = values::some_time)]
    span: Duration,

    /// Transfer tenure to this member; only if voters grant it. Default: the member that the
    /// election names
    #[arg(long, value_name = "NAME")]
    to: Option<String>,

    #[command(flatten)]
    agent: Client,
}

const AFTER_HELP: &str = include_str!("step_down_help.txt").trim_ascii_end();

/// The time after which the command explains what it waits for.
const TELL_AFTER: StdDuration = StdDuration::from_secs(1);

impl StepDown {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self { group, span, to, agent: client } = self;
        if !is_name(&group) {
            return Err(Failure::Usage(format!(
                "{} `{group}` is not the name of a group: choose one that `hustings status` lists",
                environment::given_by("--group")
            )));
        }
        if let Some(name) = to.as_ref().filter(|name| !is_name(name)) {
            return Err(Failure::Usage(format!(
                "--to `{name}` cannot be the name of a member: a name has 1 to 64 letters, \
                 digits, dots, hyphens or underscores; `hustings status` lists the voters and \
                 the members that this one knows"
            )));
        }
        let answered = tell_if_slow(awaited(&group, to.as_deref()));
        let transferee = to.map_or_else(String::new, |name| format!("&to={name}"));
        let path = format!("/v1/groups/{group}/step-down?for={span}{transferee}");
        let answer = client.post(&path);
        drop(answered);
        let answer = answer.map_err(|why| client.failure(why))?;
        let mut done = match answer["was_aside_for"].as_str() {
            Some(left) => format!(
                "group {group}: was already out of elections, for {left} more; now out of \
                 elections for {span}"
            ),
            None => format!("group {group}: stepped down; out of elections for {span}"),
        };
        if let Some(transferee) = answer["to"].as_str() {
            if answer["taken"] != true {
                let why = match answer["within"].as_str() {
                    Some(within) => format!(
                        "`{transferee}` did not confirm within {within} that it has tenure: if it \
                         has none,"
                    ),
                    None => format!("no tenure was left to transfer to `{transferee}`:"),
                };
                return Err(Failure::Failed(format!(
                    "{done}, but {why} the member that the election names gets the next tenure; \
                     see `hustings status`"
                )));
            }
            done += &format!("; `{transferee}` has tenure");
        }
        print(&format!("{done}\n"))
    }
}

/// Describes what the command waits for. Only the agent knows whether work runs under its
/// leadership.
fn awaited(group: &str, transferee: Option<&str>) -> String {
    let transferee = transferee.map_or_else(String::new, |name| {
        format!(", and then for `{name}` to confirm that it has tenure")
    });
    format!(
        "group {group}: waiting for the agent: a command that it runs, if any, must end \
         first{transferee}"
    )
}

/// Prints what the command waits for, unless the caller drops the returned sender first.
fn tell_if_slow(what: String) -> mpsc::Sender<()> {
    let (answered, wait) = mpsc::channel();
    thread::spawn(move || {
        if wait.recv_timeout(TELL_AFTER) == Err(RecvTimeoutError::Timeout) {
            say(&what);
        }
    });
    answered
}

#[cfg(test)]
mod tests {
    use super::awaited;

    #[test]
    fn waiting_message_says_that_a_command_may_run_and_names_transferee() {
        let first =
            "group g: waiting for the agent: a command that it runs, if any, must end first";
        assert_eq!(awaited("g", None), first);
        let then = format!("{first}, and then for `b` to confirm that it has tenure");
        assert_eq!(awaited("g", Some("b")), then);
    }
}
