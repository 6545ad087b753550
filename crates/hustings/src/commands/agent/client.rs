//! Talking to a running agent.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
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
        Client {
            http: self.http,
            quick: quick.into(),
            patient: patient.into(),
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

    /// The answer to an order, however long it takes to carry that out. Orders go to the agent's Unix socket, of which it
    /// tells where it is.
    pub(in crate::commands) fn post(&self, path: &str) -> Result<Value, NoAnswer> {
        let health: Value = self.get("/healthz")?;
        let socket = health["steering"].as_str().ok_or_else(|| {
            let why =
                "it has no Unix socket to be steered by: its log says why it could not make one";
            NoAnswer::Refused(why.to_owned())
        })?;
        let (code, answer) = order(Path::new(socket), path)
            .map_err(|error| NoAnswer::Refused(unreachable(socket, &error)))?;
        let answer = read(&answer)?;
        if (200..300).contains(&code) {
            Ok(answer)
        } else {
            Err(refused(&answer))
        }
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
    Err(refused(&object(answer)?))
}

/// The reason that a refusal tells.
fn refused(answer: &Value) -> NoAnswer {
    let reason = answer["error"].as_str();
    reason.map_or(NoAnswer::Stranger, |it| NoAnswer::Refused(it.to_owned()))
}

fn object<T: DeserializeOwned>(mut answer: Answer) -> Result<T, NoAnswer> {
    let text = answer
        .body_mut()
        .read_to_string()
        .map_err(|_| NoAnswer::Nobody)?;
    read(&text)
}

/// Reads an answer. What an agent says may hold texts that others chose, and is about to be printed: control characters
/// in them are escaped.
pub(in crate::commands) fn read<T: DeserializeOwned>(text: &str) -> Result<T, NoAnswer> {
    let mut value: Value = serde_json::from_str(text).map_err(|_| NoAnswer::Stranger)?;
    escape(&mut value);
    serde_json::from_value(value).map_err(|_| NoAnswer::Stranger)
}

/// Escapes control characters in all texts of an answer.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            let mut escaped = String::new();
            for letter in text.chars() {
                if letter.is_control() {
                    escaped.extend(letter.escape_default());
                } else {
                    escaped.push(letter);
                }
            }
            *text = escaped;
        }
        Value::Array(values) => values.iter_mut().for_each(escape),
        Value::Object(fields) => fields.values_mut().for_each(escape),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// More than any answer to an order has.
const MOST_ANSWER_BYTES: u64 = 64 * 1024;

/// Sends an order to the Unix socket at `socket`, and returns the code and the body of the answer.
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
    read().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the agent broke off"))
}

/// Says why an agent's Unix socket cannot be used, and what to do.
fn unreachable(socket: &str, error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "only root and the user who runs the agent may steer it: try again with sudo"
        }
        io::ErrorKind::NotFound => {
            "it is not to be seen from here: run this in the agent's container, or, where systemd gives the agent a /tmp of its own, set RuntimeDirectory=hustings in its unit"
        }
        _ => "see whether the agent still runs",
    };
    format!("its Unix socket {socket} cannot be used: {error}: {remedy}")
}

/// Who leads, in a sentence.
pub(in crate::commands) fn in_words(leadership: &Leadership) -> String {
    let Leadership {
        group,
        elects,
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
        (None, _) if !elects => format!("group {group}: elects no leader"),
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use hustings_agent::{Leadership, Mode};
    use hustings_protocol::Instant;

    use super::{in_words, read};

    #[test]
    fn a_group_that_elects_no_leader_is_not_said_to_lack_one() {
        let mut leadership = Leadership::unknown("web", "alpha", Mode::Advisory, Instant(0));
        assert_eq!(in_words(&leadership), "group web: nobody leads");
        leadership.elects = false;
        assert_eq!(in_words(&leadership), "group web: elects no leader");
    }

    #[test]
    fn what_an_agent_says_cannot_steer_a_terminal_nor_forge_a_line() {
        let said = json!({ "a": ["x\u{1b}[2Jy\n", { "b": "\u{9b}1m" }], "n": u64::MAX, "ok": "é" });
        let read: Value = read(&said.to_string()).expect("JSON");
        let expected = json!({
            "a": ["x\\u{1b}[2Jy\\n", { "b": "\\u{9b}1m" }], "n": u64::MAX, "ok": "é"
        });
        assert_eq!(read, expected);
    }
}
