//! `hustings watch`: prints the leaders, now and at every change.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use clap::Args;
use hustings_agent::Leadership;
use ureq::BodyReader;

use super::agent::client::{self, Client, NoAnswer, Printed, in_words};
use crate::failure::{Failure, print, say};

/// The path of the event stream.
const EVENTS: &str = "/v1/watch";

/// The time between two attempts to reach an agent that went away.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Print the leaders, as the agent of this host sees them, now and at every change
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Watch {
    #[command(flatten)]
    agent: Client,

    /// The output format
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,
}

const AFTER_HELP: &str = "\
If the agent stops answering, watch reports it, waits for the agent and continues. Press Ctrl-C to
end it.";

impl Watch {
    pub(super) fn run(self) -> Result<(), Failure> {
        let client = &self.agent;
        let mut stream = client.follow(EVENTS).map_err(|why| client.failure(why))?;
        loop {
            self.print(stream)?;
            let address = client.http;
            say(&format!("the agent at {address} has ended the stream: waiting for another"));
            stream = wait(client)?;
            say(&format!("the agent at {address} answers again"));
        }
    }

    /// Prints every change until the stream ends.
    fn print(&self, stream: impl Read) -> Result<(), Failure> {
        let client = &self.agent;
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else {
                return Ok(()); // a broken stream has ended
            };
            let Some(event) = line.strip_prefix("data:").map(str::trim) else {
                continue; // the event's name, a sign of life, or the blank line between two
            };
            let line = match self.format {
                // JSON contains no control characters, so the sender is not an agent.
                Printed::Json if event.contains(char::is_control) => {
                    return Err(client.failure(NoAnswer::Stranger));
                }
                Printed::Json => event.to_owned(),
                Printed::Text => {
                    let leadership = client::read::<Leadership>(event);
                    in_words(&leadership.map_err(|why| client.failure(why))?)
                }
            };
            print(&format!("{line}\n"))?;
        }
        Ok(())
    }
}

/// Waits until the agent answers again. It refuses a stream for a while if many programs watch it.
#[expect(clippy::disallowed_methods, reason = "an agent on a real host is awaited")]
fn wait(client: &Client) -> Result<BodyReader<'static>, Failure> {
    let mut reported = String::new();
    loop {
        match client.follow(EVENTS) {
            Ok(stream) => return Ok(stream),
            Err(NoAnswer::Nobody) => {}
            Err(NoAnswer::Refused(why)) if why == reported => {}
            Err(NoAnswer::Refused(why)) => {
                say(&format!("the agent at {} refuses: {why}", client.http));
                reported = why;
            }
            Err(why @ NoAnswer::Stranger) => return Err(client.failure(why)),
        }
        std::thread::sleep(AGAIN_AFTER);
    }
}
