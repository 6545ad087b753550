//! `hustings draw`: a fair draw among members who do not trust each other.

mod verify;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hustings_agent::config::values;
use hustings_agent::draw::{Account, KeyError, NoDraw, Part, Ring, Secret, State, http};
use hustings_agent::http::Door;
use hustings_protocol::Duration;
use tokio::net::TcpListener;

use super::agent::client::Printed;
use super::agent::{Signals, listen, log, runtime};
use crate::failure::Failure;

/// Draw a leader among members who do not trust each other, each as likely, or learn that somebody cheats
#[derive(Debug, Args)]
#[command(
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Draw {
    #[command(subcommand)]
    task: Option<Task>,

    #[command(flatten)]
    seat: SeatOptions,
}

#[derive(Debug, Args)]
struct SeatOptions {
    /// Who takes part, in which order, and how: the same file for all
    #[arg(long, value_name = "FILE", required = true)]
    ring: Option<PathBuf>,

    /// Which of them this is
    #[arg(long, value_name = "NAME", required = true)]
    member: Option<String>,

    /// That member's secret key, from `hustings draw keygen`. Beside it, in FILE.drawn, each draw leaves a mark: none is
    /// held twice
    #[arg(long, value_name = "FILE", required = true)]
    key: Option<PathBuf>,

    /// Where the transcript goes [default: DRAW-NUMBER-MEMBER.jsonl]
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// How long to wait for all members to be there
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = values::some_time)]
    wait: Duration,

    /// Listen here instead of at the address that the ring file has for this member
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = values::address)]
    bind: Option<SocketAddr>,

    /// Tell how the draw goes at this address of this host, over HTTP, as GET /v1/draw; and go on to tell the result,
    /// until stopped
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = values::address)]
    http: Option<SocketAddr>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,

    #[command(flatten)]
    log: log::LogOptions,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Make a member's secret key, in a new file, and print its public key
    Keygen {
        /// The new file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    Verify(verify::Verify),
}

const AFTER_HELP: &str = "\
Every member runs this with the same ring file:

  draw = \"rotating chair\"          # what for
  number = 7                       # each is drawn once
  respond_within = \"10s\"           # longer silence is a fault [default: 10s]
  # direction = \"clockwise\"        # for 3 members [default: both-ways, for 4 or more]
  # compare = \"strict\"             # [default: nonstrict]
  # stall_limit = 40               # so many equal stages in a row are a fault
  [[member]]                       # one each, clockwise
  name = \"alpha\"
  address = \"alpha.example.org:7500\"
  key = \"64 digits, as `hustings draw keygen` printed them\"

It begins when all are there. The leader counts when all members have signed the same:
exit code 0. On a fault there is no leader, and this prints what was noticed: exit code 1.
Where signatures are missing the draw is open, exit code 1: whoever has them can show them
later, and then that leader counts. Hold no other draw before those who have not signed
have handed in their transcripts, or all have declared this one void.

Nobody draws again under the same number: a mark in the directory KEY.drawn says that
this member has. A copy of the key elsewhere does not know of these. To agree on a new
number is for people. Keep the transcript: `hustings draw verify` makes of several what
can be said of a fault.";

impl Draw {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.task {
            Some(Task::Keygen { file }) => keygen(&file),
            Some(Task::Verify(verify)) => verify.run(),
            None => self.seat.run(),
        }
    }
}

fn keygen(file: &Path) -> Result<(), Failure> {
    let refuse = |error: KeyError| Failure::Usage(format!("{}: {error}", file.display()));
    let secret = Secret::generate().map_err(refuse)?;
    secret.write(file).map_err(refuse)?;
    let printed = writeln!(std::io::stdout(), "{}", secret.public());
    printed.map_err(|error| Failure::output(&error))
}

/// Reads a ring file.
fn read_ring(path: &Path) -> Result<Ring, Failure> {
    Ring::read(path).map_err(|error| Failure::file("--ring", path, error))
}

impl SeatOptions {
    fn run(self) -> Result<(), Failure> {
        self.log.begin();
        let (Some(ring), Some(member), Some(key)) = (&self.ring, &self.member, &self.key) else {
            // Clap asks for them, unless there is a task.
            return Err(Failure::Usage(
                "--ring, --member and --key are needed".into(),
            ));
        };
        let ring = read_ring(ring)?;
        let secret = Secret::read(key).map_err(|error| Failure::file("--key", key, error))?;
        let transcript = self.transcript.clone().unwrap_or_else(|| {
            let name = format!("{}-{}-{}.jsonl", ring.draw, ring.number, member);
            PathBuf::from(name.replace(' ', "-"))
        });
        // One key has one place for its marks, by whatever way it is reached.
        let place = key.canonicalize();
        let place = place.map_err(|error| Failure::file("--key", key, error))?;
        let mut marks = place.into_os_string();
        marks.push(".drawn");
        let part = Part {
            ring,
            member: member.clone(),
            secret,
            transcript,
            marks: marks.into(),
            wait: self.wait,
        };
        let place = part.check().map_err(|error| refusal(&error))?;
        let account = runtime()?.block_on(self.take(part, place))?;
        match account.state {
            State::Elected => Ok(()),
            State::Gathering
            | State::Drawing
            | State::Confirming
            | State::Fault
            | State::Unconfirmed => Err(Failure::Exit(1)),
        }
    }

    async fn take(&self, part: Part, place: u32) -> Result<Account, Failure> {
        let mut signals = Signals::listen()?;
        let listener = self.listen(&part.ring.member(place).address).await?;
        let account = part.account();
        if let Some(address) = self.http {
            let door = Door::ThisHost;
            let taken =
                "does another program run here? choose another with --http, or leave it out";
            let listener = listen(address, door, taken).await?;
            tokio::spawn(http::serve(listener, account.subscribe(), door));
        }
        let drawn = part.draw(listener, &account, signals.next()).await;
        let account = drawn.map_err(|error| refusal(&error))?;
        self.print(&account)?;
        if self.http.is_some() {
            signals.next().await;
        }
        Ok(account)
    }

    fn print(&self, account: &Account) -> Result<(), Failure> {
        let text = match self.format {
            Printed::Text => in_words(account),
            // Plain data: nothing in it that JSON cannot say.
            Printed::Json => serde_json::to_string(account).unwrap_or_default() + "\n",
        };
        let mut output = std::io::stdout();
        let printed = write!(output, "{text}").and_then(|()| output.flush());
        printed.map_err(|error| Failure::output(&error))
    }

    async fn listen(&self, address: &str) -> Result<TcpListener, Failure> {
        let (listener, shown) = match self.bind {
            Some(bind) => (TcpListener::bind(bind).await, bind.to_string()),
            None => (TcpListener::bind(address).await, address.to_owned()),
        };
        listener.map_err(|error| {
            Failure::Failed(format!(
                "cannot listen on {shown}: {error}: --bind takes another address of this host"
            ))
        })
    }
}

fn refusal(error: &NoDraw) -> Failure {
    match error {
        NoDraw::NoMember { .. } => Failure::Usage(format!("--member: {error}")),
        NoDraw::OtherKey { .. } => Failure::Usage(format!("--key: {error}")),
        _ => Failure::Failed(error.to_string()),
    }
}

/// The result for people.
fn in_words(account: &Account) -> String {
    let Account { draw, number, .. } = account;
    let mut text = format!("draw {number} for {draw}: ");
    match (&account.leader, &account.fault) {
        (Some(leader), _) => {
            text += &format!("{leader} is elected, and all members have signed it\n");
        }
        (None, Some(fault)) => text += &format!("a fault, and no leader\n  {}\n", fault.text),
        (None, None) => {
            let missing = account.unconfirmed_by.join(", ");
            let seen = account.seen.as_deref().unwrap_or("somebody");
            text += &format!(
                "open: this member saw {seen} elected, and has no signature under that of {missing}\n"
            );
        }
    }
    for report in &account.reports {
        text += &format!("  {}\n", report.text);
    }
    text += &format!(
        "  Basic rounds  {}\n  sent          {} messages, {} bytes\n  transcript    {}\n",
        account.basic_rounds,
        account.messages_sent,
        account.bytes_sent,
        account.transcript.display()
    );
    if account.leader.is_none() {
        text += "What to do: collect the transcripts, and see what `hustings draw verify` makes of them.\n";
    }
    if account.state == State::Unconfirmed {
        text += "Signatures of all members count whenever they are shown: hold no other draw before those\n\
                 who have not signed have handed in their transcripts, or all have declared this one void.\n";
    }
    text
}
