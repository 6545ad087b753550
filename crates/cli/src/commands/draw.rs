//! `hustings draw`: a fair draw among members that do not trust each other.

mod verify;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hustings_agent::config::values;
use hustings_agent::http::{Door, serve_value};
use hustings_draw::{DrawStatus, KeyError, NoDraw, Participant, Ring, Secret, State};
use hustings_protocol::Duration;
use tokio::net::TcpListener;

use super::agent::client::Printed;
use super::agent::{Signals, listen, log, runtime};
use crate::failure::{Failure, print};

/// Draw a leader fairly among members that do not trust each other, or detect a cheater
#[derive(Debug, Args)]
#[command(
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Draw {
    #[command(subcommand)]
    command: Option<DrawCommand>,

    #[command(flatten)]
    participant: ParticipantOptions,
}

#[derive(Debug, Args)]
struct ParticipantOptions {
    /// The ring file, the same for all members: the members, their order and the rules
    #[arg(long, value_name = "FILE", required = true)]
    ring: Option<PathBuf>,

    /// The name of this member
    #[arg(long, value_name = "NAME", required = true)]
    member: Option<String>,

    /// This member's secret key, from `hustings draw keygen`. Each draw leaves a mark beside it in
    /// FILE.drawn, so that no draw is held twice
    #[arg(long, value_name = "FILE", required = true)]
    key: Option<PathBuf>,

    /// The file for the transcript [default: DRAW-NUMBER-MEMBER.jsonl]
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// The time to wait for all members to connect
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = values::some_time)]
    wait: Duration,

    /// Listen here instead of at this member's address in the ring file
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = values::address)]
    bind: Option<SocketAddr>,

    /// Serve the progress of the draw at this address of this host, over HTTP, as GET /v1/draw, and
    /// then the result until stopped
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = values::address)]
    http: Option<SocketAddr>,

    /// The output format of the result
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,

    #[command(flatten)]
    log: log::LogOptions,
}

#[derive(Debug, Subcommand)]
enum DrawCommand {
    /// Create a member's secret key in a new file and print its public key
    Keygen {
        /// The new file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    Verify(verify::Verify),
}

const AFTER_HELP: &str = include_str!("draw_help.txt").trim_ascii_end();

impl Draw {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.command {
            Some(DrawCommand::Keygen { file }) => keygen(&file),
            Some(DrawCommand::Verify(verify)) => verify.run(),
            None => self.participant.run(),
        }
    }
}

fn keygen(file: &Path) -> Result<(), Failure> {
    let refuse = |error: KeyError| Failure::Usage(format!("{}: {error}", file.display()));
    let secret = Secret::generate().map_err(refuse)?;
    secret.write(file).map_err(refuse)?;
    print(&format!("{}\n", secret.public()))
}

/// Reads a ring file.
fn read_ring(path: &Path) -> Result<Ring, Failure> {
    Ring::read(path).map_err(|error| Failure::file("--ring", path, error))
}

impl ParticipantOptions {
    fn run(self) -> Result<(), Failure> {
        self.log.begin();
        let (Some(ring), Some(member), Some(key)) = (&self.ring, &self.member, &self.key) else {
            // Clap requires these options unless there is a subcommand.
            return Err(Failure::usage("--ring, --member and --key are needed"));
        };
        let ring = read_ring(ring)?;
        let secret = Secret::read(key).map_err(|error| Failure::file("--key", key, error))?;
        let transcript = self.transcript.clone().unwrap_or_else(|| {
            let name = format!("{}-{}-{}.jsonl", ring.draw, ring.number, member);
            PathBuf::from(name.replace(' ', "-"))
        });
        // One key has one place for its marks, whatever path leads to it.
        let place = key.canonicalize();
        let mut marks = place.map_err(|error| Failure::file("--key", key, error))?.into_os_string();
        marks.push(".drawn");
        let (member, marks, wait) = (member.clone(), marks.into(), self.wait);
        let participant = Participant { ring, member, secret, transcript, marks, wait };
        let place = participant.check().map_err(|error| refusal(&error))?;
        let status = runtime()?.block_on(self.take(participant, place))?;
        if status.state == State::Elected { Ok(()) } else { Err(Failure::Exit(1)) }
    }

    async fn take(&self, participant: Participant, place: u32) -> Result<DrawStatus, Failure> {
        let mut signals = Signals::listen()?;
        let address = &participant.ring.member(place).address;
        let address = self.bind.map_or_else(|| address.to_owned(), |bind| bind.to_string());
        let listener = TcpListener::bind(&address).await.map_err(|error| {
            Failure::Failed(format!(
                "cannot listen on {address}: {error}: choose another address of this host with --bind"
            ))
        })?;
        let status = participant.status();
        if let Some(address) = self.http {
            let door = Door::ThisHost;
            let taken = "another program may use it: choose another address with --http, or leave \
                         --http out";
            let listener = listen(address, door, taken).await?;
            let status = status.subscribe();
            tokio::spawn(serve_value(listener, "/v1/draw", status, door));
        }
        let drawn = participant.draw(listener, &status, signals.next()).await;
        let status = drawn.map_err(|error| refusal(&error))?;
        Failure::unless_unread(self.format.print(&status, in_words))?;
        if self.http.is_some() {
            signals.next().await;
        }
        Ok(status)
    }
}

fn refusal(error: &NoDraw) -> Failure {
    match error {
        NoDraw::NoMember { .. } => Failure::Usage(format!("--member: {error}")),
        NoDraw::OtherKey { .. } => Failure::Usage(format!("--key: {error}")),
        _ => Failure::Failed(error.to_string()),
    }
}

/// Describes the result for people.
fn in_words(status: &DrawStatus) -> String {
    let DrawStatus { draw, number, .. } = status;
    let mut text = format!("draw {number} for {draw}: ");
    match (&status.leader, &status.fault) {
        (Some(leader), _) => {
            text += &format!("{leader} is elected, and all members have signed it\n");
        }
        (None, Some(fault)) => {
            text += &format!("no leader, because of a fault\n  {}\n", fault.text);
        }
        (None, None) => {
            let missing = status.unconfirmed_by.join(", ");
            let seen = status.seen.as_deref().unwrap_or("a leader");
            text += &format!(
                "open: this member saw {seen} elected, but has no signature on that from \
                 {missing}\n"
            );
        }
    }
    for report in &status.reports {
        text += &format!("  {}\n", report.text);
    }
    text += &format!(
        "  Basic rounds  {}\n  sent          {} messages, {} bytes\n  transcript    {}\n",
        status.basic_rounds,
        status.messages_sent,
        status.bytes_sent,
        status.transcript.display()
    );
    if status.leader.is_none() {
        text += "What to do: collect the transcripts and run `hustings draw verify` on them.\n";
    }
    if status.state == State::Unconfirmed {
        text += "A signature counts whenever it is shown. Hold no other draw before every member \
                 that has not\nsigned has handed in its transcript, or all members have declared \
                 this draw void.\n";
    }
    text
}
