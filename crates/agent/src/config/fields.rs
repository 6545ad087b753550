//! The table of options: one row for each field of the configuration file.
//!
//! The fields of the file, the options of the command line, the environment variables, the example
//! file and the tables of the guide follow from the rows. A new option is a new row, and code in
//! [`partial`](super::partial) that uses its value.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;

use super::values::{self, ListenFor, OrOff, ProtocolName};
use super::written::{Place, Sourced, Written};
use crate::council::CouncilPart;
use crate::seal::Key;

/// One row of the table.
#[derive(Debug)]
pub struct Field {
    /// The name in the file. Its option is `--NAME` and its environment variable `HUSTINGS_NAME`.
    pub name: &'static str,
    /// A sample value as the file has it.
    pub(super) sample: &'static str,
    /// The meaning and the permitted values, without a full stop.
    pub help: &'static str,
    /// The default value in words; empty if there is none. A default without spaces is a value.
    pub default: &'static str,
    /// The option of the command line, if there is one.
    pub option: Option<CliOption>,
    /// True if errors must not show the value.
    pub is_secret: bool,
    pub(super) set: Set,
}

/// The option of the command line that stands for a field.
#[derive(Debug)]
pub struct CliOption {
    /// The position in the help: smaller numbers come first.
    pub position: u16,
    /// The name of the value in the help.
    pub value_name: &'static str,
    /// The number of values.
    pub arity: Arity,
}

/// The number of values of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// One value.
    One,
    /// Several values, with commas or by repeating the option.
    Several,
    /// One value or none, which stands for `true`.
    Switch,
}

/// Stores a written value in the fields of the agent or of one group.
#[derive(Debug)]
pub(super) enum Set {
    Agent(fn(&mut AgentFields, &Written<'_>) -> Result<(), String>),
    Group(fn(&mut GroupFields, &Written<'_>) -> Result<(), String>),
}

impl Field {
    const fn new(name: &'static str, sample: &'static str, help: &'static str, set: Set) -> Self {
        let (default, option, is_secret) = ("", None, false);
        Self { name, sample, help, default, option, is_secret, set }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    const fn option(self, position: u16, value_name: &'static str) -> Self {
        self.with_option(position, value_name, Arity::One)
    }

    const fn options(self, position: u16, value_name: &'static str) -> Self {
        self.with_option(position, value_name, Arity::Several)
    }

    const fn switch(self, position: u16, value_name: &'static str) -> Self {
        self.with_option(position, value_name, Arity::Switch)
    }

    const fn with_option(self, position: u16, value_name: &'static str, arity: Arity) -> Self {
        Self { option: Some(CliOption { position, value_name, arity }), ..self }
    }

    /// Checks one value of the option.
    ///
    /// # Errors
    /// Returns the problem, and what is allowed.
    pub fn check(&self, text: &str) -> Result<(), String> {
        let texts = [text.to_owned()];
        let written = Written::by_option(self, Place::Option(self.name), &texts);
        match self.set {
            Set::Agent(set) => set(&mut AgentFields::default(), &written),
            Set::Group(set) => set(&mut GroupFields::default(), &written),
        }
    }
}

/// Returns the rows of all fields.
pub fn all() -> impl Iterator<Item = &'static Field> {
    AGENT_FIELDS.iter().chain(GROUP_FIELDS)
}

/// Returns the name of the environment variable that stands for an option.
pub fn variable(option: &str) -> String {
    let name = option.trim_start_matches('-').replace('-', "_");
    format!("HUSTINGS_{}", name.to_ascii_uppercase())
}

/// Defines the rows of one table of the file, and the struct of the values that were written.
///
/// Each row has the name and type of the struct's field, the function of [`Written`] that reads the
/// value, and the arguments of [`Field::new`] with further attributes.
macro_rules! fields {
    ($(#[$doc:meta])* $rows:ident, $table:ident($fields:ident):
     $($field:ident: $type:ty = $kind:ident($($parse:expr),*)
        => ($($text:literal),*)$(.$attribute:ident($($argument:literal),*))*;)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        pub struct $fields {
            $(pub(super) $field: Option<Sourced<$type>>,)*
        }

        impl $fields {
            /// Returns the first of the named fields that was written, and its place.
            pub(super) fn first_of(&self, names: &[&'static str]) -> Option<(&'static str, Place)> {
                let place = |name: &str| match name {
                    $(_ if name == [$($text),*][0] => self.$field.as_ref().map(|it| it.place),)*
                    _ => None,
                };
                names.iter().find_map(|name| Some((*name, place(name)?)))
            }
        }

        $(#[$doc])*
        pub const $rows: &[Field] = &[$(
            Field::new($($text,)* Set::$table(|fields, written| {
                let value = written.$kind($($parse),*)?;
                fields.$field = Some(Sourced { value, place: written.place });
                Ok(())
            }))$(.$attribute($($argument),*))*,
        )*];
    };
}

fields! {
    /// The fields above the first `[[group]]`.
    AGENT_FIELDS, Agent(AgentFields):

    name: String = text(values::any_text)
        => ("name", "\"alpha\"", "This member's name, unique in its groups")
        .default("the host's name").option(20, "NAME");
    bind: SocketAddr = text(values::address)
        => ("bind", "\"0.0.0.0:7400\"", "The address for unicasts (UDP) and links (TCP)")
        .default("0.0.0.0:7400, or the next free port if that is in use; with --join, or without \
                  multicast, port 7400 only. Port 0: any free port")
        .option(50, "ADDRESS:PORT");
    interface: IpAddr = text(values::interface)
        => ("interface", "\"10.0.0.1\"", "The address of the network interface for multicasts")
        .default("the address of --bind, or of the first interface that leads to other hosts; for \
                  IPv6, the only one")
        .option(60, "ADDRESS");
    http: OrOff<SocketAddr> = text(values::http)
        => ("http", "\"127.0.0.1:7480\"", "The HTTP address for `hustings status`, `watch` and \
            `step-down`, or off; port 0: any free port")
        .default("127.0.0.1:7480; for `hustings run`, off").option(190, "ADDRESS:PORT|off");
    metrics: OrOff<SocketAddr> = text(values::metrics)
        => ("metrics", "\"0.0.0.0:7481\"", "The address at which Prometheus reads metrics and \
            other hosts read the status, or off; port 0: any free port. Read-only, for every host \
            that can reach it")
        .default("off").option(200, "ADDRESS:PORT|off");
    insecure: bool = flag()
        => ("insecure", "true", "Allow groups without a key beyond this host")
        .switch(220, "true|false");
    state: PathBuf = file()
        => ("state", "\"/var/lib/hustings\"", "The directory, on a disk, in which a voter stores \
            its promises: see `hustings voter init`")
        .option(160, "DIR");
    // In the file: the tables of the groups.
    group: String = text(values::any_text)
        => ("group", "[[group]]", "The group to join; with a file, the only one of its groups to join")
        .option(10, "GROUP");
}

fields! {
    /// The fields below each `[[group]]`.
    GROUP_FIELDS, Group(GroupFields):

    name: String = text(values::any_text)
        => ("name", "\"web\"", "The group's name, the same on every member").default("needed");
    key: Vec<Key> = text(values::only_key)
        => ("key", "\"64 hexadecimal digits\"", "The group's key. Other users of this host can \
            see command lines: prefer --key-file, or the environment")
        .secret().option(30, "KEY");
    keys: Vec<Key> = texts(values::key)
        => ("keys", "[\"64 hexadecimal digits\"]", "Instead of key, to change keys without a \
            pause: the first key seals, all keys open")
        .secret();
    key_file: Vec<Key> = keys_of_file()
        => ("key-file", "\"web.key\"", "A file with the group's keys, one per line, that only its \
            owner can read: the first key seals, all keys open")
        .option(40, "FILE");
    priority: u64 = whole()
        => ("priority", "10", "This member's priority; the greatest leads")
        .default("0").option(110, "N");
    campaign: bool = flag()
        => ("campaign", "false", "False if this member must not lead. It can still vote. For \
            announce, suppress and earliest")
        .default("true");
    protocol: ProtocolName = text(str::parse)
        => ("protocol", "\"suppress\"", "The election protocol: announce, suppress, earliest, \
            bully, chang-roberts, modified-ring or probabilistic; or none, for hosts of a council")
        .default("suppress").option(90, "PROTOCOL");
    announce: Duration = text(values::announce)
        => ("announce", "\"100ms\"", "The interval between a leader's announcements")
        .default("100ms").option(170, "DURATION");
    suppress: Duration = text(values::suppress)
        => ("suppress", "\"5ms\"", "The time within which members announce themselves one after \
            the other; with protocol announce 0s, all at once")
        .default("5ms");
    listen: ListenFor = text(values::listen)
        => ("listen", "\"300ms\"", "The time for which a leader may be silent; auto: by the \
            measured loss")
        .default("auto").option(180, "DURATION|auto");
    listen_miss: f64 = number("more than 0 and less than 1", |it| it > 0.0 && it < 1.0)
        => ("listen-miss", "1e-6", "With listen auto: the probability of missing a leader that runs")
        .default("1e-6");
    loss: f64 = number("0 or more and less than 1", |it| (0.0..1.0).contains(&it))
        => ("loss", "0.1", "The share of lost messages to assume until it is measured")
        .default("0.1");
    takeover: Takeover = text(values::takeover)
        => ("takeover", "\"never\"", "The reaction of a better newcomer to an established leader: \
            never, it follows, or by-the-better, it takes over")
        .default("never");
    election_timeout: Duration = text(values::wait)
        => ("patience", "\"1s\"", "The time to wait for an answer: 5ms for announce, suppress and \
            earliest, 1s for bully and the rings")
        .default("5ms, or 1s");
    bound: Duration = text(values::wait)
        => ("bound", "\"100ms\"", "The delay that most messages stay below: 100ms for bully, 5ms \
            for probabilistic")
        .default("100ms, or 5ms");
    k: u64 = whole()
        => ("k", "7", "With probabilistic: the expected number of members that agree among \
            themselves in a first round")
        .default("7");
    view: u64 = whole()
        => ("view", "30", "With probabilistic: the maximum number of other members in this \
            member's random partial view, 8 to 1000, for groups too large to know whole")
        .default("all members").option(100, "N");
    target: f64 = number("more than 0 and less than 1", |it| it > 0.0 && it < 1.0)
        => ("target", "0.999", "With probabilistic, instead of k: the probability that the first \
            round of an election succeeds")
        .default("0.999 with view");
    voters: Vec<String> = texts(values::voter)
        => ("voters", "[\"alpha\", \"beta\", \"gamma\"]", "The members that grant tenure, an odd \
            number, the same on every member")
        .default("none, and leadership is advisory").options(120, "NAME");
    etcd: Vec<String> = texts(values::endpoint)
        => ("etcd", "[\"http://10.0.0.9:2379\"]", "Instead of --voters: the endpoints of an etcd \
            that grants tenure")
        .options(130, "URL");
    etcd_user: (String, String) = text(values::login)
        => ("etcd-user", "\"hustings:secret\"", "With etcd: the name of a user and its password")
        .secret();
    etcd_ca: PathBuf = file()
        => ("etcd-ca", "\"etcd-ca.pem\"", "With etcd: the file with the certificate of the \
            authority that signed those of https endpoints");
    postgres: String = text(values::postgres)
        => ("postgres", "\"postgresql://hustings@10.0.0.9/hustings\"", "Instead of --voters: a \
            PostgreSQL that grants tenure, as postgresql://user@host/database. Other users of this \
            host can see command lines: keep passwords in the environment, or in the file")
        .secret().option(140, "URL");
    era: u64 = whole()
        => ("era", "1", "With etcd or postgres: the high bits of each fence, to be raised when \
            the store was restored from an older copy")
        .default("0");
    ttl: Duration = text(values::ttl)
        => ("ttl", "\"2s\"", "The duration of one grant of tenure: when a host is lost, no member \
            leads for up to this time")
        .default("2s").option(150, "DURATION");
    council: CouncilPart = text(values::council)
        => ("council", "\"host\"", "Whether this member may be elected into a council of its \
            group: host, or off")
        .default("host");
    class: u64 = whole()
        => ("class", "1", "The class of hosts that this member belongs to, 0 to 255; each class \
            has seats of its own")
        .default("0");
    centre: String = text(values::any_text)
        => ("centre", "\"alpha.centre\"", "The only member that this host accepts as a council's \
            centre")
        .default("any member that calls");
    multicast: OrOff<SocketAddr> = text(values::multicast)
        => ("multicast", "\"239.255.72.85:7401\"", "The multicast address for discovery, or off")
        .default("239.255.72.85:7401, or [ff05::4855]:7401 if --bind is an IPv6 address")
        .option(80, "ADDRESS:PORT|off");
    join: Vec<String> = texts(values::place)
        => ("join", "[\"10.0.0.2:7400\"]", "Addresses or names at which to look for other \
            members")
        .options(70, "HOST:PORT");
    trace: PathBuf = file()
        => ("trace", "\"web.jsonl\"", "Append a record of every action of this member to this \
            file, for `hustings trace`. It grows by some kilobytes per second")
        .option(210, "FILE");
}
