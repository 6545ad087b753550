//! The table of options: one row for each field of the configuration file.
//!
//! The fields of the file, the options of the command line, the environment variables, the example
//! file and the tables of the guide follow from the rows. A new option is a new row, and code in
//! [`partial`](super::partial) that uses its value.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;

use self::Arity::{One, Several, Switch};
use super::presets::{ANNOUNCE_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS, WAIT_BOUNDS};
use super::values::{self, ProtocolName};
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
    /// The attributes that a row may leave out.
    const PLAIN: Self = Self {
        name: "",
        sample: "",
        help: "",
        default: "",
        option: None,
        is_secret: false,
        set: Set::Agent(|_, _| Ok(())),
    };

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

/// Returns the attribute `option` of a row.
const fn option(position: u16, value_name: &'static str, arity: Arity) -> Option<CliOption> {
    Some(CliOption { position, value_name, arity })
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
/// A row has the help as a documentation comment, the name in the file, the name and type of the
/// struct's field, the function of [`Written`] that reads the value, and the attributes of its
/// [`Field`].
macro_rules! fields {
    ($(#[$doc:meta])* $rows:ident, $table:ident($fields:ident):
     $($(#[doc = $help:literal])+
       $name:literal => $field:ident: $type:ty = $kind:ident($($parse:expr),*),
       $($attribute:ident: $value:expr),+;)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        pub struct $fields {
            $(pub(super) $field: Option<Sourced<$type>>,)*
        }

        impl $fields {
            /// Returns the first of the named fields that was written, and its place.
            pub(super) fn first_of(&self, names: &[&'static str]) -> Option<(&'static str, Place)> {
                let place = |name: &str| match name {
                    $($name => self.$field.as_ref().map(|it| it.place),)*
                    _ => None,
                };
                names.iter().find_map(|name| Some((*name, place(name)?)))
            }
        }

        $(#[$doc])*
        pub const $rows: &[Field] = &[$(Field {
            name: $name,
            help: concat!($($help),+).trim_ascii_start(),
            set: Set::$table(|fields, written| {
                let value = written.$kind($($parse),*)?;
                fields.$field = Some(Sourced { value, place: written.place });
                Ok(())
            }),
            $($attribute: $value,)+
            ..Field::PLAIN
        },)*];
    };
}

fields! {
    /// The fields above the first `[[group]]`.
    AGENT_FIELDS, Agent(AgentFields):

    /// This member's name, unique in its groups
    "name" => name: String = text(values::any_text),
        sample: "\"alpha\"",
        default: "the host's name",
        option: option(20, "NAME", One);
    /// The address for unicasts (UDP) and links (TCP)
    "bind" => bind: SocketAddr = text(values::address),
        sample: "\"0.0.0.0:7400\"",
        default: "0.0.0.0:7400, or the next free port if that is in use; with --join, or without \
                  multicast, port 7400 only. Port 0: any free port",
        option: option(50, "ADDRESS:PORT", One);
    /// The address of the network interface for multicasts
    "interface" => interface: IpAddr = text(values::interface),
        sample: "\"10.0.0.1\"",
        default: "the address of --bind, or of the first interface that leads to other hosts; for \
                  IPv6, the only one",
        option: option(60, "ADDRESS", One);
    /// The HTTP address for `hustings status`, `watch` and `step-down`, or off; port 0: any free
    /// port
    "http" => http: Option<SocketAddr> = text(values::http),
        sample: "\"127.0.0.1:7480\"",
        default: "127.0.0.1:7480; for `hustings run`, off",
        option: option(190, "ADDRESS:PORT|off", One);
    /// The address at which Prometheus reads metrics and other hosts read the status, or off; port
    /// 0: any free port. Read-only, for every host that can reach it
    "metrics" => metrics: Option<SocketAddr> = text(values::metrics),
        sample: "\"0.0.0.0:7481\"",
        default: "off",
        option: option(200, "ADDRESS:PORT|off", One);
    /// Allow groups without a key beyond this host
    "insecure" => insecure: bool = flag(),
        sample: "true",
        option: option(220, "true|false", Switch);
    /// The directory, on a disk, in which a voter stores its promises: see `hustings voter init`
    "state" => state: PathBuf = file(),
        sample: "\"/var/lib/hustings\"",
        option: option(160, "DIR", One);
    // In the file: the tables of the groups.
    /// The group to join; with a file, the only one of its groups to join
    "group" => group: String = text(values::any_text),
        sample: "[[group]]",
        option: option(10, "GROUP", One);
}

fields! {
    /// The fields below each `[[group]]`.
    GROUP_FIELDS, Group(GroupFields):

    /// The group's name, the same on every member
    "name" => name: String = text(values::any_text),
        sample: "\"web\"",
        default: "needed";
    /// The group's key. Other users of this host can see command lines: prefer --key-file, or the
    /// environment
    "key" => key: Vec<Key> = text(values::only_key),
        sample: "\"64 hexadecimal digits\"",
        option: option(30, "KEY", One), is_secret: true;
    /// Instead of key, to change keys without a pause: the first key seals, all keys open
    "keys" => keys: Vec<Key> = texts(values::key),
        sample: "[\"64 hexadecimal digits\"]",
        is_secret: true;
    /// A file with the group's keys, one per line, that only its owner can read: the first key
    /// seals, all keys open
    "key-file" => key_file: Vec<Key> = keys_of_file(),
        sample: "\"web.key\"",
        option: option(40, "FILE", One);
    /// This member's priority; the greatest leads
    "priority" => priority: u64 = whole(),
        sample: "10",
        default: "0",
        option: option(110, "N", One);
    /// False if this member must not lead. It can still vote. For announce, suppress and earliest
    "campaign" => campaign: bool = flag(),
        sample: "false",
        default: "true";
    /// The election protocol: announce, suppress, earliest, bully, chang-roberts, modified-ring or
    /// probabilistic; or none, for hosts of a council
    "protocol" => protocol: ProtocolName = text(str::parse),
        sample: "\"suppress\"",
        default: "suppress",
        option: option(90, "PROTOCOL", One);
    /// The interval between a leader's announcements
    "announce" => announce: Duration = duration(ANNOUNCE_BOUNDS),
        sample: "\"100ms\"",
        default: "100ms",
        option: option(170, "DURATION", One);
    /// The time within which members announce themselves one after the other; with protocol
    /// announce 0s, all at once
    "suppress" => suppress: Duration = duration(SUPPRESS_BOUNDS),
        sample: "\"5ms\"",
        default: "5ms";
    /// The time for which a leader may be silent; auto: by the measured loss
    "listen" => listen: Option<Duration> = text(values::listen),
        sample: "\"300ms\"",
        default: "auto",
        option: option(180, "DURATION|auto", One);
    /// With listen auto: the probability of missing a leader that runs
    "listen-miss" => listen_miss: f64 = number("more than 0 and less than 1", |it| *it > 0.0 && *it < 1.0),
        sample: "1e-6",
        default: "1e-6";
    /// The share of lost messages to assume until it is measured
    "loss" => loss: f64 = number("0 or more and less than 1", |it| (0.0..1.0).contains(it)),
        sample: "0.1",
        default: "0.1";
    /// The reaction of a better newcomer to an established leader: never, it follows, or
    /// by-the-better, it takes over
    "takeover" => takeover: Takeover = text(values::takeover),
        sample: "\"never\"",
        default: "never";
    /// The time to wait for an answer: 5ms for announce, suppress and earliest, 1s for bully and
    /// the rings
    "patience" => election_timeout: Duration = duration(WAIT_BOUNDS),
        sample: "\"1s\"",
        default: "5ms, or 1s";
    /// The delay that most messages stay below: 100ms for bully, 5ms for probabilistic
    "bound" => bound: Duration = duration(WAIT_BOUNDS),
        sample: "\"100ms\"",
        default: "100ms, or 5ms";
    /// With probabilistic: the expected number of members that agree among themselves in a first
    /// round
    "k" => k: u64 = whole(),
        sample: "7",
        default: "7";
    /// With probabilistic: the maximum number of other members in this member's random partial
    /// view, 8 to 1000, for groups too large to know whole
    "view" => view: u64 = whole(),
        sample: "30",
        default: "all members",
        option: option(100, "N", One);
    /// With probabilistic, instead of k: the probability that the first round of an election
    /// succeeds
    "target" => target: f64 = number("more than 0 and less than 1", |it| *it > 0.0 && *it < 1.0),
        sample: "0.999",
        default: "0.999 with view";
    /// The members that grant tenure, an odd number, the same on every member
    "voters" => voters: Vec<String> = texts(values::voter),
        sample: "[\"alpha\", \"beta\", \"gamma\"]",
        default: "none, and leadership is advisory",
        option: option(120, "NAME", Several);
    /// Instead of --voters: the endpoints of an etcd that grants tenure
    "etcd" => etcd: Vec<String> = texts(values::endpoint),
        sample: "[\"http://10.0.0.9:2379\"]",
        option: option(130, "URL", Several);
    /// With etcd: the name of a user and its password
    "etcd-user" => etcd_user: (String, String) = text(values::login),
        sample: "\"hustings:secret\"",
        is_secret: true;
    /// With etcd: the file with the certificate of the authority that signed those of https
    /// endpoints
    "etcd-ca" => etcd_ca: PathBuf = file(),
        sample: "\"etcd-ca.pem\"";
    /// Instead of --voters: a PostgreSQL that grants tenure, as postgresql://user@host/database.
    /// Other users of this host can see command lines: keep passwords in the environment, or in the
    /// file
    "postgres" => postgres: String = text(values::postgres),
        sample: "\"postgresql://hustings@10.0.0.9/hustings\"",
        option: option(140, "URL", One), is_secret: true;
    /// With etcd or postgres: the high bits of each fence, to be raised when the store was restored
    /// from an older copy
    "era" => era: u64 = whole(),
        sample: "1",
        default: "0";
    /// The duration of one grant of tenure: when a host is lost, no member leads for up to this
    /// time
    "ttl" => ttl: Duration = duration(TTL_BOUNDS),
        sample: "\"2s\"",
        default: "2s",
        option: option(150, "DURATION", One);
    /// Whether this member may be elected into a council of its group: host, or off
    "council" => council: CouncilPart = text(values::council),
        sample: "\"host\"",
        default: "host";
    /// The class of hosts that this member belongs to, 0 to 255; each class has seats of its own
    "class" => class: u64 = whole(),
        sample: "1",
        default: "0";
    /// The only member that this host accepts as a council's centre
    "centre" => centre: String = text(values::any_text),
        sample: "\"alpha.centre\"",
        default: "any member that calls";
    /// The multicast address for discovery, or off
    "multicast" => multicast: Option<SocketAddr> = text(values::multicast),
        sample: "\"239.255.72.85:7401\"",
        default: "239.255.72.85:7401, or [ff05::4855]:7401 if --bind is an IPv6 address",
        option: option(80, "ADDRESS:PORT|off", One);
    /// Addresses or names at which to look for other members
    "join" => join: Vec<String> = texts(values::place),
        sample: "[\"10.0.0.2:7400\"]",
        option: option(70, "HOST:PORT", Several);
    /// Append a record of every action of this member to this file, for `hustings trace`. It grows
    /// by some kilobytes per second
    "trace" => trace: PathBuf = file(),
        sample: "\"web.jsonl\"",
        option: option(210, "FILE", One);
}
