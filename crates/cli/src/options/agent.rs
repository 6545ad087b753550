//! The configuration of an agent: a file, and options that override it.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use hustings_agent::AgentConfig;
use hustings_agent::config::draft::{PartialConfig, PartialGroupConfig, Sourced};
use hustings_agent::config::file;
use hustings_agent::config::values::{self as agent_values, ListenFor, OrOff, ProtocolName};
use hustings_agent::seal::Key;
use hustings_protocol::Duration;

use super::{environment, values};
use crate::failure::{Failure, say};

/// The options that configure an agent.
#[derive(Debug, Args)]
pub(crate) struct AgentOptions {
    /// The configuration file: see `hustings config example`. Options override it
    #[arg(long, value_name = "FILE", env = "HUSTINGS_CONFIG")]
    config: Option<PathBuf>,

    #[command(flatten)]
    overrides: Overrides,
}

/// Options that override the configuration file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct Overrides {
    /// The group to join; with a file, the only one of its groups to join
    #[arg(long, value_name = "GROUP", env = "HUSTINGS_GROUP")]
    group: Option<String>,

    /// This member's name, unique in its groups. Default: the host's name
    #[arg(long, value_name = "NAME", env = "HUSTINGS_NAME")]
    name: Option<String>,

    /// The group's key. Other users of this host can see command lines: prefer --key-file, or the
    /// environment [env: HUSTINGS_KEY]
    #[arg(long, value_name = "KEY", conflicts_with = "key_file")]
    key: Option<String>,

    /// A file with the group's keys, one per line, that only its owner can read: the first key
    /// seals, all keys open [env: HUSTINGS_KEY_FILE]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// The address for unicasts (UDP) and links (TCP). Default: 0.0.0.0:7400, or the next free port
    /// if that is in use; with --join, or without multicast, port 7400 only. Port 0: any free port
    #[arg(long, value_name = "ADDRESS:PORT", env = "HUSTINGS_BIND", value_parser = agent_values::address)]
    bind: Option<SocketAddr>,

    /// The address of the network interface for multicasts. Default: the address of --bind, or of
    /// the first interface that leads to other hosts; for IPv6, the only one
    #[arg(long, value_name = "ADDRESS", env = "HUSTINGS_INTERFACE", value_parser = agent_values::interface)]
    interface: Option<IpAddr>,

    /// Addresses or names at which to look for other members; several with commas, or by repeating
    /// the option
    #[arg(long, value_name = "HOST:PORT", env = "HUSTINGS_JOIN", value_delimiter = ',',
          value_parser = agent_values::place)]
    join: Vec<String>,

    /// The multicast address for discovery, or off. Default: 239.255.72.85:7401, or
    /// [ff05::4855]:7401 if --bind is an IPv6 address
    #[arg(long, value_name = "ADDRESS:PORT|off", env = "HUSTINGS_MULTICAST",
          value_parser = agent_values::multicast)]
    multicast: Option<OrOff<SocketAddr>>,

    /// The election protocol: announce, suppress, earliest, bully, chang-roberts, modified-ring or
    /// probabilistic; or none, for hosts of a council. Default: suppress
    #[arg(long, value_name = "PROTOCOL", env = "HUSTINGS_PROTOCOL")]
    protocol: Option<ProtocolName>,

    /// With probabilistic: the maximum number of other members in this member's random partial
    /// view, 8 to 1000, for groups too large to know whole. Default: all members
    #[arg(long, value_name = "N", env = "HUSTINGS_VIEW", value_parser = values::whole(0..=i64::MAX as u64))]
    view: Option<u64>,

    /// This member's priority; the greatest leads. Default: 0
    #[arg(long, value_name = "N", env = "HUSTINGS_PRIORITY", allow_negative_numbers = true,
          value_parser = values::whole(0..=i64::MAX as u64))]
    priority: Option<u64>,

    /// The members that grant tenure, an odd number, the same on every member; several with commas,
    /// or by repeating the option. Default: none, and leadership is advisory
    #[arg(long, value_name = "NAME", env = "HUSTINGS_VOTERS", value_delimiter = ',',
          value_parser = agent_values::voter)]
    voters: Vec<String>,

    /// Instead of --voters: the endpoints of an etcd that grants tenure; several with commas, or by
    /// repeating the option
    #[arg(long, value_name = "URL", env = "HUSTINGS_ETCD", value_delimiter = ',',
          value_parser = agent_values::endpoint)]
    etcd: Vec<String>,

    /// Instead of --voters: a PostgreSQL that grants tenure, as postgresql://user@host/database.
    /// Other users of this host can see command lines: keep passwords in the environment, or in the
    /// file
    #[arg(long, value_name = "URL", env = "HUSTINGS_POSTGRES", hide_env_values = true,
          value_parser = agent_values::postgres)]
    postgres: Option<String>,

    /// The duration of one grant of tenure: when a host is lost, no member leads for up to this
    /// time. Default: 2s
    #[arg(long, value_name = "DURATION", env = "HUSTINGS_TTL", value_parser = agent_values::ttl,
          allow_hyphen_values = true)]
    ttl: Option<Duration>,

    /// The directory, on a disk, in which a voter stores its promises: see `hustings voter init`
    #[arg(long, value_name = "DIR", env = "HUSTINGS_STATE", value_parser = agent_values::file)]
    state: Option<PathBuf>,

    /// The interval between a leader's announcements. Default: 100ms
    #[arg(long, value_name = "DURATION", env = "HUSTINGS_ANNOUNCE", value_parser = agent_values::announce)]
    announce: Option<Duration>,

    /// The time for which a leader may be silent; auto: by the measured loss. Default: auto
    #[arg(long, value_name = "DURATION|auto", env = "HUSTINGS_LISTEN", value_parser = agent_values::listen)]
    listen: Option<ListenFor>,

    /// The HTTP address for `hustings status`, `watch` and `step-down`, or off; port 0: any free
    /// port. Default: 127.0.0.1:7480; for `hustings run`, off
    #[arg(long, value_name = "ADDRESS:PORT|off", env = "HUSTINGS_HTTP", value_parser = agent_values::http)]
    http: Option<OrOff<SocketAddr>>,

    /// The address at which Prometheus reads metrics and other hosts read the status, or off; port
    /// 0: any free port. Read-only, for every host that can reach it. Default: off
    #[arg(long, value_name = "ADDRESS:PORT|off", env = "HUSTINGS_METRICS", value_parser = agent_values::metrics)]
    metrics: Option<OrOff<SocketAddr>>,

    /// Append a record of every action of this member to this file, for `hustings trace`. It grows
    /// by some kilobytes per second
    #[arg(long, value_name = "FILE", env = "HUSTINGS_TRACE", value_parser = agent_values::file)]
    trace: Option<PathBuf>,

    /// Allow groups without a key beyond this host
    #[arg(long, env = "HUSTINGS_INSECURE", num_args = 0..=1, require_equals = true,
          value_name = "true|false", default_missing_value = "true", value_parser = agent_values::switch)]
    insecure: Option<bool>,
}

impl AgentOptions {
    /// Returns true if the command line or the environment sets the HTTP address.
    pub(crate) fn names_http(&self) -> bool {
        self.overrides.http.is_some()
    }

    /// Returns true if the command line or the environment sets the metrics address.
    pub(crate) fn names_metrics(&self) -> bool {
        self.overrides.metrics.is_some()
    }

    /// Returns true if the command line or the environment sets the member's name.
    pub(crate) fn names_member(&self) -> bool {
        self.overrides.name.is_some()
    }

    /// Returns true if the command line or the environment sets the bind address.
    pub(crate) fn names_bind(&self) -> bool {
        self.overrides.bind.is_some()
    }

    /// Returns the options about the election and tenure that the command line or the environment
    /// sets.
    pub(crate) fn names_election(&self) -> Vec<&'static str> {
        let Overrides {
            protocol,
            voters,
            etcd,
            postgres,
            ttl,
            state,
            announce,
            listen,
            priority,
            ..
        } = &self.overrides;
        let elects = protocol.is_some_and(|it| it != ProtocolName::NoElection);
        let named = [
            ("--protocol", elects),
            ("--priority", priority.is_some()),
            ("--voters", !voters.is_empty()),
            ("--etcd", !etcd.is_empty()),
            ("--postgres", postgres.is_some()),
            ("--ttl", ttl.is_some()),
            ("--state", state.is_some()),
            ("--announce", announce.is_some()),
            ("--listen", listen.is_some()),
        ];
        let named = named.into_iter().filter(|(_, is_named)| *is_named);
        named.map(|(option, _)| option).collect()
    }

    /// Builds the configuration. Options override the environment, the environment overrides the
    /// file, and the file overrides defaults. Prints warnings about unknown variables and the file.
    pub(crate) fn config(&self) -> Result<AgentConfig, Failure> {
        for warning in environment::warnings() {
            say(&format!("warning: {warning}"));
        }
        self.overrides.config(self.config.as_deref(), None)
    }

    /// Builds the configuration of an agent that takes part in no election. If no setting names a
    /// protocol for the group, the protocol is none.
    pub(crate) fn config_of_bystander(&self) -> Result<AgentConfig, Failure> {
        for warning in environment::warnings() {
            say(&format!("warning: {warning}"));
        }
        let file = self.config.as_deref();
        self.overrides.config(file, Some(ProtocolName::NoElection))
    }
}

impl Overrides {
    /// Builds the configuration from `file`. Groups elect by `otherwise` if no setting names a
    /// protocol.
    pub(crate) fn config(
        &self,
        file: Option<&Path>,
        otherwise: Option<ProtocolName>,
    ) -> Result<AgentConfig, Failure> {
        let draft = match file {
            Some(path) => file::read(path).map_err(|it| Failure::Usage(it.to_string()))?,
            None => PartialConfig::default(),
        };
        let mut draft = self.over(draft)?;
        if draft.groups.is_empty() {
            let remedy = match file {
                Some(path) => format!(
                    "{}: no [[group]]: add one, with a name, or --group GROUP",
                    path.display()
                ),
                None => "no group to be a member of: add --group GROUP or --config FILE".to_owned(),
            };
            return Err(Failure::Usage(remedy));
        }
        for group in draft.groups.iter_mut().filter(|it| it.protocol.is_none()) {
            lay("--protocol", &otherwise, &mut group.protocol);
        }
        for warning in &draft.warnings {
            say(&format!("warning: {warning}"));
        }
        draft.settle().map_err(|it| Failure::Usage(it.to_string()))
    }

    /// Applies the options to the contents of a file.
    fn over(&self, mut draft: PartialConfig) -> Result<PartialConfig, Failure> {
        lay("--name", &self.name, &mut draft.name);
        lay("--bind", &self.bind, &mut draft.bind);
        lay("--interface", &self.interface, &mut draft.interface);
        lay("--http", &self.http, &mut draft.http);
        lay("--metrics", &self.metrics, &mut draft.metrics);
        lay("--insecure", &self.insecure, &mut draft.insecure);
        lay("--state", &self.state, &mut draft.state);
        self.choose_group(&mut draft)?;
        let keys = self.keys()?;
        let join = (!self.join.is_empty()).then(|| self.join.clone());
        let etcd = (!self.etcd.is_empty()).then(|| self.etcd.clone());
        let voters = (!self.voters.is_empty()).then(|| self.voters.clone());
        for group in &mut draft.groups {
            lay("--key", &keys, &mut group.keys);
            lay("--priority", &self.priority, &mut group.priority);
            lay("--protocol", &self.protocol, &mut group.protocol);
            lay("--view", &self.view, &mut group.view);
            lay("--announce", &self.announce, &mut group.announce);
            lay("--listen", &self.listen, &mut group.listen);
            lay("--multicast", &self.multicast, &mut group.multicast);
            lay("--join", &join, &mut group.join);
            lay("--voters", &voters, &mut group.voters);
            lay("--etcd", &etcd, &mut group.etcd);
            lay("--postgres", &self.postgres, &mut group.postgres);
            lay("--ttl", &self.ttl, &mut group.ttl);
            lay("--trace", &self.trace, &mut group.trace);
        }
        Ok(draft)
    }

    fn choose_group(&self, draft: &mut PartialConfig) -> Result<(), Failure> {
        let Some(name) = &self.group else {
            return Ok(());
        };
        if draft.groups.is_empty() {
            let source = environment::given_by("--group");
            let name = Sourced::by_option(source, name.clone());
            draft.groups.push(PartialGroupConfig::new(name));
            return Ok(());
        }
        let known: Vec<String> = draft.groups.iter().map(|it| it.name.value.clone()).collect();
        draft.groups.retain(|it| it.name.value == *name);
        match (draft.groups.is_empty(), &draft.file) {
            (true, Some(file)) => Err(Failure::Usage(format!(
                "{} {name}: no such group in {}: choose {}",
                environment::given_by("--group"),
                file.display(),
                known.join(", ")
            ))),
            (true, None) | (false, _) => Ok(()),
        }
    }

    /// Returns the key from the option, otherwise from the environment.
    fn keys(&self) -> Result<Option<Vec<Key>>, Failure> {
        let from_environment = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(key) = &self.key {
            return to_key("--key", key).map(Some);
        }
        if let Some(path) = &self.key_file {
            return read_keys("--key-file", path).map(Some);
        }
        if let Some(key) = from_environment("HUSTINGS_KEY") {
            return to_key("HUSTINGS_KEY", &key.to_string_lossy()).map(Some);
        }
        match from_environment("HUSTINGS_KEY_FILE") {
            Some(path) => read_keys("HUSTINGS_KEY_FILE", Path::new(&path)).map(Some),
            None => Ok(None),
        }
    }
}

/// Replaces a setting if the option was given.
fn lay<T: Clone>(option: &'static str, given: &Option<T>, written: &mut Option<Sourced<T>>) {
    if let Some(value) = given {
        let source = environment::given_by(option);
        *written = Some(Sourced::by_option(source, value.clone()));
    }
}

/// Parses a key. No error message shows the key.
fn to_key(source: &str, text: &str) -> Result<Vec<Key>, Failure> {
    let key = Key::try_from(text.to_owned());
    key.map(|key| vec![key]).map_err(|error| Failure::Usage(format!("{source}: {error}")))
}

fn read_keys(source: &str, path: &Path) -> Result<Vec<Key>, Failure> {
    file::read_keys(path).map_err(|error| Failure::Usage(format!("{source}: {error}")))
}
