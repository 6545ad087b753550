//! `hustings step-down`: makes this host's agent give up leadership.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration as StdDuration;

use clap::Args;
use hustings_agent::http::STEP_DOWN_FOR;
use hustings_agent::identity::is_name;
use hustings_protocol::Duration;

use super::agent::client::ClientOptions;
use crate::failure::{Failure, print, say};
use crate::options::{environment, values};

/// Make this host's agent give up leadership and stay out of elections for a while
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct StepDown {
    /// The group
    #[arg(long, value_name = "GROUP", env = "HUSTINGS_GROUP")]
    group: String,

    /// The time to stay out of elections
    #[arg(long = "for", value_name = "DURATION", default_value_t = STEP_DOWN_FOR,
          value_parser = values::some_time, allow_hyphen_values = true)]
    span: Duration,

    /// Transfer tenure to this member; only if voters grant it. Default: the member that the
    /// election names
    #[arg(long, value_name = "NAME")]
    to: Option<String>,

    #[command(flatten)]
    agent: ClientOptions,
}

const AFTER_HELP: &str = "\
Only root and the user who runs the agent may do this: it goes to the agent's Unix socket, of which
the agent tells where it is. A member that does not lead refuses, and says which one does.
A member that is out of elections already does not refuse: the new time replaces the old one,
and the answer tells how much of that was left.

Ends when the agent has stepped down. If it is that of `hustings run`, its command is stopped
first, which takes as long as the command does, and at most its --grace.

With --to it ends when that member has tenure. If nobody goes by that name, or this member has no
tenure of voters to hand over, it is refused, and nothing is given up. A member that is known but
does not say within half the ttl (and 250 ms at least) that it has it, since it is down, leaves it
to whomever the election names.

Exit codes: 0, it is done; 1, it was refused, no agent answered, or with --to that member has not
said in time that it has tenure; 2, wrong usage.";

/// The time after which the command explains what it waits for.
const TELL_AFTER: StdDuration = StdDuration::from_secs(1);

impl StepDown {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self { group, span, to, agent } = self;
        if !is_name(&group) {
            return Err(Failure::Usage(format!(
                "{} `{group}` is no group's name: choose one that `hustings status` lists",
                environment::given_by("--group")
            )));
        }
        if let Some(name) = to.as_ref().filter(|name| !is_name(name)) {
            return Err(Failure::Usage(format!(
                "--to `{name}` is no member's name: those have 1 to 64 letters, digits, dots, hyphens or underscores; \
                 `hustings status` lists voters and whom this member knows"
            )));
        }
        let awaited = awaited(&group, to.as_deref());
        let transferee = to.map_or_else(String::new, |name| format!("&to={name}"));
        let client = agent.client();
        let path = format!("/v1/groups/{group}/step-down?for={span}{transferee}");
        let answered = tell_if_slow(awaited);
        let answer = client.post(&path);
        drop(answered);
        let answer = answer.map_err(|why| client.failure(why))?;
        let mut done = match answer["was_aside_for"].as_str() {
            Some(left) => format!(
                "group {group}: was out of elections already, for {left} more; from now on for {span}"
            ),
            None => format!("group {group}: stepped down, and out of elections for {span}"),
        };
        match (answer["to"].as_str(), answer["taken"] == true) {
            (Some(transferee), true) => done += &format!("; `{transferee}` has tenure"),
            (Some(transferee), false) => {
                let why = match answer["within"].as_str() {
                    Some(within) => {
                        format!(
                            "`{transferee}` has not said within {within} that it has tenure: unless it has, whom"
                        )
                    }
                    None => format!("there was no tenure left to hand to `{transferee}`: whom"),
                };
                return Err(Failure::Failed(format!(
                    "{done}, but {why} the election names gets the next; see `hustings status`"
                )));
            }
            (None, _) => {}
        }
        print(&format!("{done}\n"))
    }
}

/// Describes what the command waits for. Only the agent knows whether work runs under its
/// leadership.
fn awaited(group: &str, transferee: Option<&str>) -> String {
    let transferee = transferee.map_or_else(String::new, |name| {
        format!(", and then `{name}` has to say that it has tenure")
    });
    format!(
        "group {group}: waiting for the agent: a command that it runs, if any, has to end first{transferee}"
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
            "group g: waiting for the agent: a command that it runs, if any, has to end first";
        assert_eq!(awaited("g", None), first);
        let then = format!("{first}, and then `b` has to say that it has tenure");
        assert_eq!(awaited("g", Some("b")), then);
    }
}
