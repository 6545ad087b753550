//! The client of a running agent's HTTP interface and control socket.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_agent::config::values;
use hustings_agent::http::STEERING_HEADER;
use hustings_agent::{Leadership, Mode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::BodyReader;
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

use crate::failure::{Failure, print};

/// The time within which a live agent answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The time after which a watched agent counts as gone. A live agent sends a sign of life every 15
/// s; this is three times that.
const SILENCE: Duration = Duration::from_secs(45);

/// A client of one running agent, which the options select.
#[derive(Debug, Args)]
pub(crate) struct Client {
    /// The address at which the agent listens for HTTP
    #[arg(long, value_name = "ADDRESS:PORT", env = "HUSTINGS_HTTP", default_value = "127.0.0.1:7480",
          value_parser = listening)]
    pub(crate) http: SocketAddr,
}

/// Parses the address of an agent's HTTP interface and refuses `off`.
fn listening(text: &str) -> Result<SocketAddr, String> {
    let refusal = "an agent that does not listen for HTTP cannot answer: start it with an address, as \
                   in --http 127.0.0.1:7480, and give the same address here";
    values::http(text)?.ok_or_else(|| refusal.to_owned())
}

/// The output formats of the commands that talk to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Printed {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// The reasons for a missing answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// No process answers at the address, or the connection fell silent.
    Nobody,
    /// The agent refused; the text is its reason.
    Refused(String),
    /// A program other than an agent answers at the address.
    Stranger,
}

impl Printed {
    /// Prints a value: its description for people, or its JSON on one line.
    pub(crate) fn print<T: Serialize>(
        self,
        value: &T,
        in_words: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        print(&match self {
            Self::Text => in_words(value),
            // Serialisation cannot fail: the value is plain data.
            Self::Json => serde_json::to_string(value).unwrap_or_default() + "\n",
        })
    }
}

/// Returns the settings of all requests. The agent is on this host.
fn requests() -> ConfigBuilder<AgentScope> {
    ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None)
}

type Answer = ureq::http::Response<ureq::Body>;

impl Client {
    /// Sends a GET request and returns the parsed answer.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, NoAnswer> {
        let agent = requests().timeout_global(Some(ANSWER_WITHIN)).build().new_agent();
        let answer = agent.get(self.url(path)).call();
        object(accepted(answer)?)
    }

    /// Sends a command and returns its answer, without a time limit. Commands go to the agent's
    /// Unix socket; the HTTP interface tells its path.
    pub(crate) fn post(&self, path: &str) -> Result<Value, NoAnswer> {
        let health: Value = self.get("/healthz")?;
        let none = "it has no Unix socket for commands: its log says why it could not create one";
        let socket = health["steering"].as_str();
        let socket = socket.ok_or_else(|| NoAnswer::Refused(none.to_owned()))?;
        let (code, answer) = order(Path::new(socket), path)
            .map_err(|error| NoAnswer::Refused(unreachable(socket, &error)))?;
        let answer = read(&answer)?;
        if (200..300).contains(&code) { Ok(answer) } else { Err(refused(&answer)) }
    }

    /// Opens a stream that the agent never ends by itself.
    pub(crate) fn follow(&self, path: &str) -> Result<BodyReader<'static>, NoAnswer> {
        let patient = requests()
            .timeout_connect(Some(ANSWER_WITHIN))
            .timeout_recv_response(Some(ANSWER_WITHIN))
            .timeout_per_read(Some(SILENCE));
        let answer = patient.build().new_agent().get(self.url(path)).call();
        Ok(accepted(answer)?.into_body().into_reader())
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http)
    }

    /// Turns a missing answer into an error for the user.
    pub(crate) fn failure(&self, why: NoAnswer) -> Failure {
        let http = self.http;
        Failure::Failed(match why {
            NoAnswer::Nobody => {
                format!("no agent answers at {http}: is `hustings agent` running? (--http ADDR)")
            }
            NoAnswer::Refused(reason) => format!("the agent at {http} refuses: {reason}"),
            NoAnswer::Stranger => format!(
                "the program that answers at {http} is not a hustings agent: choose another \
                 address (--http ADDR)"
            ),
        })
    }
}

/// Returns the answer, or the reason if the agent refused.
fn accepted(answer: Result<Answer, ureq::Error>) -> Result<Answer, NoAnswer> {
    let answer = answer.map_err(|error| match error {
        ureq::Error::Protocol(_) | ureq::Error::Http(_) => NoAnswer::Stranger,
        _ => NoAnswer::Nobody, // every other error means that no agent answers
    })?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    Err(refused(&object(answer)?))
}

/// Reads the reason from a refusal.
fn refused(answer: &Value) -> NoAnswer {
    let reason = answer["error"].as_str();
    reason.map_or(NoAnswer::Stranger, |it| NoAnswer::Refused(it.to_owned()))
}

fn object<T: DeserializeOwned>(mut answer: Answer) -> Result<T, NoAnswer> {
    let text = answer.body_mut().read_to_string().map_err(|_| NoAnswer::Nobody)?;
    read(&text)
}

/// Parses an answer. Its strings may come from other hosts and are about to be printed, so control
/// characters in them are escaped.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, NoAnswer> {
    let mut value: Value = serde_json::from_str(text).map_err(|_| NoAnswer::Stranger)?;
    escape(&mut value);
    serde_json::from_value(value).map_err(|_| NoAnswer::Stranger)
}

/// Escapes control characters in every string of an answer.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) => {
            let escaped = text.chars().map(|letter| match letter {
                _ if letter.is_control() => letter.escape_default().to_string(),
                _ => letter.to_string(),
            });
            *text = escaped.collect();
        }
        Value::Array(values) => values.iter_mut().for_each(escape),
        Value::Object(fields) => fields.values_mut().for_each(escape),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The upper limit for the size of an answer to a command.
const MOST_ANSWER_BYTES: u64 = 64 * 1024;

/// Sends a command to the Unix socket at `socket` and returns the status code and body of the
/// answer.
fn order(socket: &Path, path: &str) -> io::Result<(u16, String)> {
    let mut stream = UnixStream::connect(socket)?;
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{STEERING_HEADER}: 1\r\n");
    write!(stream, "{head}Connection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(MOST_ANSWER_BYTES).read_to_string(&mut answer)?;
    let read = || {
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let code = head.strip_prefix("HTTP/1.1 ")?.get(..3)?;
        Some((code.parse().ok()?, body.to_owned()))
    };
    let closed = "the agent closed the connection before its answer was complete";
    read().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, closed))
}

/// Explains why an agent's Unix socket cannot be used, and the remedy.
fn unreachable(socket: &str, error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "only root and the user who runs the agent may give it commands: try again with sudo"
        }
        io::ErrorKind::NotFound => {
            "there is no such file here: run this command in the agent's container; if systemd \
             gives the agent a private /tmp, set RuntimeDirectory=hustings in its unit"
        }
        _ => "check that the agent still runs",
    };
    format!("its Unix socket {socket} cannot be used: {error}: {remedy}")
}

/// Describes the leadership of a group in one sentence.
pub(crate) fn in_words(leadership: &Leadership) -> String {
    let Leadership { group, elects, leader, leads, member, mode, fence, .. } = leadership;
    // A member that the election names but that holds no tenure may not act yet.
    let (verb, tenure) = match (mode, fence) {
        (Mode::Fenced, Some(fence)) => ("leads", format!(", fence {fence}")),
        (Mode::Fenced, None) => ("is named, and has no tenure yet", String::new()),
        (Mode::Advisory, _) => ("leads", String::new()),
    };
    match (leader, leads) {
        (None, _) if !elects => format!("group {group}: elects no leader"),
        (None, _) => format!("group {group}: no leader"),
        (Some(_), true) => format!("group {group}: {member} leads (this member){tenure}"),
        (Some(leader), false) => {
            let at = leader.address.map_or_else(String::new, |it| format!(", at {it}"));
            format!("group {group}: {} {verb}{at}{tenure}", leader.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use hustings_agent::{Leadership, Mode};
    use hustings_protocol::Instant;

    use super::{in_words, read};

    #[test]
    fn group_without_election_is_not_described_as_leaderless() {
        let mut leadership = Leadership::unknown("web", "alpha", Mode::Advisory, Instant(0));
        assert_eq!(in_words(&leadership), "group web: no leader");
        leadership.elects = false;
        assert_eq!(in_words(&leadership), "group web: elects no leader");
    }

    #[test]
    fn answers_of_an_agent_cannot_control_a_terminal_or_forge_a_line() {
        let said = json!({ "a": ["x\u{1b}[2Jy\n", { "b": "\u{9b}1m" }], "n": u64::MAX, "ok": "é" });
        let read: Value = read(&said.to_string()).expect("JSON");
        let expected = json!({
            "a": ["x\\u{1b}[2Jy\\n", { "b": "\\u{9b}1m" }], "n": u64::MAX, "ok": "é"
        });
        assert_eq!(read, expected);
    }
}
