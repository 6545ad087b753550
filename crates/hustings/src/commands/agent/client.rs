//! Talking to a running agent.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_agent::config::values::{self, OrOff};
use hustings_agent::http::STEERING_HEADER;
use hustings_agent::{Leadership, Mode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::BodyReader;

use crate::failure::Failure;

/// An agent that answers at all answers within this time.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// An agent that is there says so every 15 s while it is watched; three times that is silence.
const SILENCE: Duration = Duration::from_secs(45);

/// Which agent.
#[derive(Debug, Args)]
pub(in crate::commands) struct ClientOptions {
    /// Where the agent listens for HTTP
    #[arg(long, value_name = "ADDRESS:PORT", env = "HUSTINGS_HTTP", default_value = "127.0.0.1:7480",
          value_parser = listening)]
    http: SocketAddr,
}

/// Where an agent listens, if it does.
fn listening(text: &str) -> Result<SocketAddr, String> {
    match values::http(text)? {
        OrOff::On(address) => Ok(address),
        OrOff::Off => Err(
            "an agent that does not listen for HTTP cannot be asked: start it with an address, as in \
             --http 127.0.0.1:7480, and ask there"
                .to_owned(),
        ),
    }
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::commands) enum Printed {
    /// For people
    Text,
    /// One object a line
    Json,
}

/// A running agent, from outside.
pub(in crate::commands) struct Client {
    http: SocketAddr,
    quick: ureq::Agent,
    patient: ureq::Agent,
    tireless: ureq::Agent,
}

/// Why there is no answer.
#[derive(Debug)]
pub(in crate::commands) enum NoAnswer {
    /// Nobody is there, or it fell silent.
    Nobody,
    /// The agent's own reason.
    Refused(String),
    /// Somebody else is there.
    Stranger,
}

impl ClientOptions {
    pub(in crate::commands) fn client(&self) -> Client {
        let common = || {
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .proxy(None) // it is on this host
        };
        let quick = common().timeout_global(Some(ANSWER_WITHIN)).build();
        let patient = common()
            .timeout_connect(Some(ANSWER_WITHIN))
            .timeout_recv_response(Some(ANSWER_WITHIN))
            .timeout_per_read(Some(SILENCE))
            .build();
        let tireless = common().timeout_connect(Some(ANSWER_WITHIN)).build();
        Client {
            http: self.http,
            quick: quick.into(),
            patient: patient.into(),
            tireless: tireless.into(),
        }
    }
}

type Answer = ureq::http::Response<ureq::Body>;

impl Client {
    /// Where the agent should be.
    pub(in crate::commands) fn address(&self) -> SocketAddr {
        self.http
    }

    /// The answer to a question.
    pub(in crate::commands) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, NoAnswer> {
        let answer = self.quick.get(self.url(path)).call();
        object(accepted(answer)?)
    }

    /// The answer to an order, however long it takes to carry that out.
    pub(in crate::commands) fn post(&self, path: &str) -> Result<Value, NoAnswer> {
        // Nobody waits for ever for an agent that does not run.
        let _: Value = self.get("/healthz")?;
        let order = self.tireless.post(self.url(path));
        object(accepted(order.header(STEERING_HEADER, "1").send_empty())?)
    }

    /// An answer without an end.
    pub(in crate::commands) fn follow(&self, path: &str) -> Result<BodyReader<'static>, NoAnswer> {
        let answer = self.patient.get(self.url(path)).call();
        Ok(accepted(answer)?.into_body().into_reader())
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http)
    }

    /// What to tell the user.
    pub(in crate::commands) fn failure(&self, why: NoAnswer) -> Failure {
        let http = self.http;
        Failure::Failed(match why {
            NoAnswer::Nobody => {
                format!("no agent answers at {http}: is `hustings agent` running? (--http ADDR)")
            }
            NoAnswer::Refused(reason) => format!("the agent at {http} refuses: {reason}"),
            NoAnswer::Stranger => {
                format!("what answers at {http} is no hustings agent: choose another (--http ADDR)")
            }
        })
    }
}

/// An answer that is not a refusal.
fn accepted(answer: Result<Answer, ureq::Error>) -> Result<Answer, NoAnswer> {
    let answer = answer.map_err(|error| match error {
        ureq::Error::Protocol(_) | ureq::Error::Http(_) => NoAnswer::Stranger,
        _ => NoAnswer::Nobody, // each is a way of not being there
    })?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    let refusal: Value = object(answer)?;
    let reason = refusal["error"].as_str().ok_or(NoAnswer::Stranger)?;
    Err(NoAnswer::Refused(reason.to_owned()))
}

fn object<T: DeserializeOwned>(mut answer: Answer) -> Result<T, NoAnswer> {
    let text = answer
        .body_mut()
        .read_to_string()
        .map_err(|_| NoAnswer::Nobody)?;
    serde_json::from_str(&text).map_err(|_| NoAnswer::Stranger)
}

/// Who leads, in a sentence.
pub(in crate::commands) fn in_words(leadership: &Leadership) -> String {
    let Leadership {
        group,
        leader,
        leads,
        member,
        mode,
        fence,
        ..
    } = leadership;
    let tenure = match (mode, fence) {
        (Mode::Fenced, Some(fence)) => format!(", fence {fence}"),
        (Mode::Fenced, None) | (Mode::Advisory, _) => String::new(),
    };
    // Whom the election names without tenure may not act yet.
    let verb = match (mode, fence) {
        (Mode::Fenced, None) => "is named, and has no tenure yet",
        (Mode::Fenced, Some(_)) | (Mode::Advisory, _) => "leads",
    };
    match (leader, leads) {
        (None, _) => format!("group {group}: nobody leads"),
        (Some(_), true) => format!("group {group}: {member} leads (this member){tenure}"),
        (Some(leader), false) => match leader.address {
            Some(address) => format!(
                "group {group}: {} {verb}, at {address}{tenure}",
                leader.name
            ),
            None => format!("group {group}: {} {verb}{tenure}", leader.name),
        },
    }
}

/// What being the leader is worth, in a word.
pub(in crate::commands) fn mode_in_words(mode: Mode) -> &'static str {
    match mode {
        Mode::Advisory => {
            "advisory: for a while two members may both take themselves for the leader"
        }
        Mode::Fenced => "fenced: at most one member leads, and each tenure has a higher fence",
    }
}
