//! A configuration before defaults are filled in: the values of a file, overridden by options.
//!
//! Every value remembers where it was written. A complaint about two values that contradict each
//! other can therefore name the place.

mod authority;
mod council;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::announce::{self, Criterion, Joining, Listen, Takeover};
use hustings_protocol::{Duration, Priority};

use super::presets::{
    ANNOUNCE, BOUND, ELECTION_TIMEOUT, HOP, RELAYING, TARGET, VIEW_BOUNDS, announce_family,
};
use super::values::{ListenFor, OrOff, ProtocolName};
use super::{
    AgentConfig, AgentConfigError, GroupConfig, HTTP, PORT, ProtocolConfig, default_interface,
    default_multicast,
};
use crate::council::CouncilPart;
use crate::seal::Key;

/// The place where a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of the file.
    Line(usize),
    /// An option of the command line, or the environment variable that stands for it.
    Option(&'static str),
}

/// A value and the place where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub place: Place,
}

impl<T> Sourced<T> {
    /// Creates a value from an option of the command line or its environment variable.
    pub fn by_option(option: &'static str, value: T) -> Self {
        let place = Place::Option(option);
        Self { value, place }
    }
}

/// A value that may be missing.
type MaybeSourced<T> = Option<Sourced<T>>;

/// An agent's configuration before defaults are filled in.
#[derive(Debug, Clone, Default)]
pub struct PartialConfig {
    /// The file from which it was read.
    pub file: Option<PathBuf>,
    /// [`AgentConfig::name`]
    pub name: MaybeSourced<String>,
    /// [`AgentConfig::bind`]
    pub bind: MaybeSourced<SocketAddr>,
    /// [`AgentConfig::interface`]
    pub interface: MaybeSourced<IpAddr>,
    /// [`AgentConfig::http`]
    pub http: MaybeSourced<OrOff<SocketAddr>>,
    /// [`AgentConfig::metrics`]
    pub metrics: MaybeSourced<OrOff<SocketAddr>>,
    /// [`AgentConfig::insecure`]
    pub insecure: MaybeSourced<bool>,
    /// [`super::QuorumConfig::state`], of all groups.
    pub state: MaybeSourced<PathBuf>,
    /// [`AgentConfig::groups`]
    pub groups: Vec<PartialGroupConfig>,
    /// Warnings about values that work but should be changed.
    pub warnings: Vec<String>,
}

/// A group's configuration before defaults are filled in.
#[derive(Debug, Clone)]
pub struct PartialGroupConfig {
    /// [`GroupConfig::name`]
    pub name: Sourced<String>,
    /// [`GroupConfig::keys`]
    pub keys: MaybeSourced<Vec<Key>>,
    /// [`GroupConfig::priority`]
    pub priority: MaybeSourced<u64>,
    /// [`GroupConfig::campaigns`]
    pub campaign: MaybeSourced<bool>,
    /// The protocol.
    pub protocol: MaybeSourced<ProtocolName>,
    /// [`announce::Config::announce`]
    pub announce: MaybeSourced<Duration>,
    /// [`announce::Config::suppress`]
    pub suppress: MaybeSourced<Duration>,
    /// [`announce::Config::listen`]
    pub listen: MaybeSourced<ListenFor>,
    /// [`Listen::Measured`]
    pub listen_miss: MaybeSourced<f64>,
    /// [`announce::Config::assumed_loss`]
    pub loss: MaybeSourced<f64>,
    /// [`announce::Config::takeover`]
    pub takeover: MaybeSourced<Takeover>,
    /// The time to wait for an answer.
    pub election_timeout: MaybeSourced<Duration>,
    /// The delay bound of [`hustings_protocol::bully::Config::field`] or
    /// [`hustings_protocol::probabilistic::Config::field`].
    pub bound: MaybeSourced<Duration>,
    /// [`hustings_protocol::probabilistic::Strategy::first`]
    pub k: MaybeSourced<u64>,
    /// [`GroupConfig::view`]
    pub view: MaybeSourced<u64>,
    /// [`GroupConfig::target`]
    pub target: MaybeSourced<f64>,
    /// [`super::QuorumConfig::voters`]
    pub voters: MaybeSourced<Vec<String>>,
    /// The endpoints of [`super::StoreKind::Etcd`].
    pub etcd: MaybeSourced<Vec<String>>,
    /// The user and password of [`super::StoreKind::Etcd`].
    pub etcd_user: MaybeSourced<(String, String)>,
    /// The certificate authority of [`super::StoreKind::Etcd`].
    pub etcd_ca: MaybeSourced<PathBuf>,
    /// The address of [`super::StoreKind::Postgres`].
    pub postgres: MaybeSourced<String>,
    /// [`super::StoreConfig::era`]
    pub era: MaybeSourced<u64>,
    /// [`super::QuorumConfig::ttl`]
    pub ttl: MaybeSourced<Duration>,
    /// [`GroupConfig::council`]
    pub council: MaybeSourced<CouncilPart>,
    /// The class of [`CouncilPart::Host`]
    pub class: MaybeSourced<u64>,
    /// The centre of [`CouncilPart::Host`]
    pub centre: MaybeSourced<String>,
    /// [`GroupConfig::multicast`]
    pub multicast: MaybeSourced<OrOff<SocketAddr>>,
    /// [`GroupConfig::join`]
    pub join: MaybeSourced<Vec<String>>,
    /// [`GroupConfig::trace`]
    pub trace: MaybeSourced<PathBuf>,
}

/// A value that cannot be used, and the place where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Complaint {
    /// The place, if the value was written at all.
    pub place: Option<Place>,
    /// The problem, and what is allowed.
    pub what: String,
    pub(super) file: Option<PathBuf>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.place, &self.file) {
            (Some(Place::Line(line)), Some(file)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(Place::Option(option)), _) => write!(f, "{option}: ")?,
            (None, Some(file)) => write!(f, "{}: ", file.display())?,
            (Some(Place::Line(_)) | None, None) => {}
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Complaint {}

impl PartialGroupConfig {
    /// Creates a group of which only the name is known.
    pub fn new(name: Sourced<String>) -> Self {
        Self {
            name,
            keys: None,
            priority: None,
            campaign: None,
            protocol: None,
            announce: None,
            suppress: None,
            listen: None,
            listen_miss: None,
            loss: None,
            takeover: None,
            election_timeout: None,
            bound: None,
            k: None,
            view: None,
            target: None,
            voters: None,
            etcd: None,
            etcd_user: None,
            etcd_ca: None,
            postgres: None,
            era: None,
            ttl: None,
            council: None,
            class: None,
            centre: None,
            multicast: None,
            join: None,
            trace: None,
        }
    }
}

/// True if members of a group find each other by multicast, on any port. Members that are named as
/// seeds need a port that is known beforehand.
fn is_found(group: &GroupConfig) -> bool {
    group.multicast.is_some() && group.join.is_empty()
}

impl PartialConfig {
    /// Returns the configuration, with defaults for missing values.
    ///
    /// # Errors
    /// Returns the first value that cannot be used, and its place.
    pub fn settle(&self) -> Result<AgentConfig, Complaint> {
        let any = self.any();
        let groups = self.groups.iter().map(|group| self.settle_group(group, any));
        let groups = groups.collect::<Result<Vec<_>, _>>()?;
        let bind = value(&self.bind).unwrap_or(SocketAddr::new(any, PORT));
        let config = AgentConfig {
            name: value(&self.name).unwrap_or_else(host_name),
            bind,
            next_free_port: value(&self.bind).is_none() && groups.iter().all(is_found),
            interface: self.interface(bind.ip(), &groups)?,
            http: value(&self.http).unwrap_or(OrOff::On(HTTP)).on(),
            metrics: value(&self.metrics).and_then(OrOff::on),
            insecure: value(&self.insecure).unwrap_or(false),
            groups,
        };
        config.check().map_err(|unfit| self.complain_of(&unfit))?;
        Ok(config)
    }

    /// Returns the unspecified address of the IP version of the configured addresses.
    fn any(&self) -> IpAddr {
        let multicasts = self.groups.iter().map(|group| value(&group.multicast));
        let multicast = multicasts.flatten().find_map(OrOff::on);
        let written = value(&self.bind).map(|it| it.ip());
        let written = written.or(value(&self.interface));
        match written.or(multicast.map(|it| it.ip())) {
            Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            Some(IpAddr::V4(_)) | None => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    fn interface(&self, bind: IpAddr, groups: &[GroupConfig]) -> Result<IpAddr, Complaint> {
        let has_multicasts = groups.iter().any(|group| group.multicast.is_some());
        match value(&self.interface) {
            Some(interface) => Ok(interface),
            None if has_multicasts => {
                default_interface(bind).map_err(|unfit| self.complain_of(&unfit))
            }
            None => Ok(bind),
        }
    }

    fn settle_group(
        &self,
        group: &PartialGroupConfig,
        any: IpAddr,
    ) -> Result<GroupConfig, Complaint> {
        let complain = |misfit: Misfit| {
            let what = format!("group `{}`: {}", group.name.value, misfit.what);
            self.complaint(Some(misfit.place), what)
        };
        Ok(GroupConfig {
            name: group.name.value.clone(),
            keys: value(&group.keys).unwrap_or_default(),
            priority: Priority(value(&group.priority).unwrap_or(0)),
            campaigns: value(&group.campaign).unwrap_or(true),
            protocol: group.protocol().map_err(complain)?,
            view: group.view().map_err(complain)?,
            target: group.target().map_err(complain)?,
            authority: self.authority(group).map_err(complain)?,
            council: group.council().map_err(complain)?,
            multicast: value(&group.multicast).unwrap_or(OrOff::On(default_multicast(any))).on(),
            join: value(&group.join).unwrap_or_default(),
            trace: value(&group.trace),
        })
    }

    fn complaint(&self, place: Option<Place>, what: String) -> Complaint {
        let file = self.file.clone();
        Complaint { place, what, file }
    }

    fn complain_of(&self, unfit: &AgentConfigError) -> Complaint {
        let named = |name: &str| self.groups.iter().rfind(|group| group.name.value == name);
        let place = match unfit {
            AgentConfigError::Name { what: "name", .. } => self.name.as_ref().map(|it| it.place),
            AgentConfigError::Name { name: group, .. }
            | AgentConfigError::SameGroupTwice(group)
            | AgentConfigError::NoKey { group, .. }
            | AgentConfigError::Protocol { group, .. }
            | AgentConfigError::VoterWithoutState { group, .. }
            | AgentConfigError::CannotListen { group, .. }
            | AgentConfigError::CannotKnowFew { group, .. }
            | AgentConfigError::NotBuilt { group, .. }
            | AgentConfigError::Class { group }
            | AgentConfigError::Place { group, .. }
            | AgentConfigError::Interval { group, .. } => {
                named(group).map(|group| group.name.place)
            }
            AgentConfigError::Voters { group, .. } => {
                named(group).and_then(|group| place(&group.voters))
            }
            AgentConfigError::View { group, .. } => {
                named(group).and_then(|group| place(&group.view))
            }
            AgentConfigError::SameTraceTwice { groups, .. } => {
                named(&groups[1]).and_then(|group| place(&group.trace))
            }
            AgentConfigError::HttpBeyondHost(_) => self.http.as_ref().map(|it| it.place),
            AgentConfigError::TwoVersions { .. } | AgentConfigError::WhichInterface(_) => {
                place(&self.bind)
            }
            AgentConfigError::NoGroup
            | AgentConfigError::NotMulticast(_)
            | AgentConfigError::MulticastNeedsZone(_)
            | AgentConfigError::MulticastWithoutPort(_) => None,
        };
        // The message itself names the options.
        let place =
            place.filter(|place| !matches!(place, Place::Option(it) if it.starts_with("--")));
        self.complaint(place, unfit.to_string())
    }
}

fn value<T: Clone>(written: &MaybeSourced<T>) -> Option<T> {
    written.as_ref().map(|it| it.value.clone())
}

fn place<T>(written: &MaybeSourced<T>) -> Option<Place> {
    written.as_ref().map(|it| it.place)
}

/// Returns the name of the host.
pub fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Two values that contradict each other, or a value that has no meaning here.
struct Misfit {
    place: Place,
    what: String,
}

// The protocol and its intervals.
impl PartialGroupConfig {
    fn protocol(&self) -> Result<ProtocolConfig, Misfit> {
        let name = value(&self.protocol).unwrap_or(ProtocolName::Suppress);
        self.refuse_strangers(name)?;
        let election_timeout = value(&self.election_timeout);
        match name {
            ProtocolName::Announce | ProtocolName::Suppress | ProtocolName::Earliest => {
                self.announce_family(name).map(ProtocolConfig::Announce)
            }
            ProtocolName::Bully => {
                let bound = value(&self.bound).unwrap_or(BOUND);
                Ok(ProtocolConfig::bully_field(bound, election_timeout.unwrap_or(ELECTION_TIMEOUT)))
            }
            ProtocolName::ChangRoberts => Ok(ProtocolConfig::chang_roberts_field(
                election_timeout.unwrap_or(ELECTION_TIMEOUT),
            )),
            ProtocolName::ModifiedRing => Ok(ProtocolConfig::modified_ring_field(
                election_timeout.unwrap_or(ELECTION_TIMEOUT),
            )),
            ProtocolName::NoElection => Ok(ProtocolConfig::NoElection),
            ProtocolName::Probabilistic => {
                let k = value(&self.k).map_or(RELAYING, |k| u32::try_from(k).unwrap_or(u32::MAX));
                let bound = value(&self.bound).unwrap_or(HOP);
                let whole = ProtocolConfig::probabilistic_field(&self.name.value, bound, k);
                Ok(match self.view {
                    Some(_) => whole.knowing_few(),
                    None => whole,
                })
            }
        }
    }

    /// Returns the target, from which K follows unless K itself is configured.
    fn target(&self) -> Result<Option<f64>, Misfit> {
        match (&self.k, &self.target, &self.view) {
            (Some(k), Some(target), _) => Err(Misfit {
                place: target.place,
                what: format!(
                    "target {} beside k {}: one follows from the other; choose one of them",
                    target.value, k.value
                ),
            }),
            (None, Some(target), _) => Ok(Some(target.value)),
            (None, None, Some(_)) => Ok(Some(TARGET)),
            (Some(_), None, _) | (None, None, None) => Ok(None),
        }
    }

    fn view(&self) -> Result<Option<u16>, Misfit> {
        let Some(Sourced { value, place }) = &self.view else {
            return Ok(None);
        };
        let view = u16::try_from(*value).ok();
        let view = view.filter(|view| VIEW_BOUNDS.contains(view));
        view.map(Some).ok_or_else(|| {
            let (least, most) = (VIEW_BOUNDS.start(), VIEW_BOUNDS.end());
            let what = format!("view {value}: choose from {least} to {most}");
            Misfit { place: *place, what }
        })
    }

    /// Refuses fields that mean nothing to the protocol. The author of the file would otherwise
    /// expect an effect.
    fn refuse_strangers(&self, protocol: ProtocolName) -> Result<(), Misfit> {
        let families = [
            ("announce", place(&self.announce)),
            ("suppress", place(&self.suppress)),
            ("listen", place(&self.listen)),
            ("listen-miss", place(&self.listen_miss)),
            ("loss", place(&self.loss)),
            ("takeover", place(&self.takeover)),
        ];
        let bound = [("bound", place(&self.bound))];
        let few =
            [("k", place(&self.k)), ("view", place(&self.view)), ("target", place(&self.target))];
        let election_timeout = [("patience", place(&self.election_timeout))];
        let priority = [("priority", place(&self.priority))];
        let (strangers, reason): (Vec<_>, _) = match protocol {
            ProtocolName::NoElection => {
                let few = few.into_iter().filter(|(field, _)| *field != "view");
                let others = bound.into_iter().chain(election_timeout).chain(few);
                (families.into_iter().chain(others).collect(), "it elects nobody")
            }
            ProtocolName::Probabilistic => match place(&self.election_timeout) {
                Some(_) => (election_timeout.to_vec(), "its time-outs follow from bound and k"),
                None => (families.to_vec(), FOR_THE_FAMILY),
            },
            _ if few.iter().any(|(_, place)| place.is_some()) => {
                (few.to_vec(), "it is for probabilistic")
            }
            ProtocolName::Announce | ProtocolName::Suppress => (bound.to_vec(), FOR_BOUND),
            ProtocolName::Earliest if place(&self.bound).is_some() => (bound.to_vec(), FOR_BOUND),
            ProtocolName::Earliest => (priority.to_vec(), "who wakes up first leads"),
            ProtocolName::Bully => (families.to_vec(), FOR_THE_FAMILY),
            ProtocolName::ChangRoberts | ProtocolName::ModifiedRing => match place(&self.bound) {
                Some(_) => (bound.to_vec(), FOR_BOUND),
                None => (families.to_vec(), FOR_THE_FAMILY),
            },
        };
        let written = strangers.into_iter().find_map(|(field, place)| Some((field, place?)));
        written.map_or(Ok(()), |(field, place)| {
            let what = format!("{field} means nothing to protocol {protocol}: {reason}");
            Err(Misfit { place, what })
        })
    }

    fn announce_family(&self, name: ProtocolName) -> Result<announce::Config, Misfit> {
        let announce = value(&self.announce).unwrap_or(ANNOUNCE);
        let preset = announce_family(announce);
        let criterion = match name == ProtocolName::Earliest {
            true => Criterion::EarliestWake,
            false => Criterion::Priority,
        };
        let joining = match value(&self.election_timeout) {
            Some(election_timeout) => Joining::SuppressThenQuery { election_timeout },
            None => preset.joining,
        };
        Ok(announce::Config {
            suppress: self.suppress(name, preset.suppress)?,
            listen: self.listen(announce, preset.listen)?,
            criterion,
            joining,
            takeover: value(&self.takeover).unwrap_or(preset.takeover),
            assumed_loss: value(&self.loss).unwrap_or(preset.assumed_loss),
            ..preset
        })
    }

    fn suppress(&self, name: ProtocolName, usual: Duration) -> Result<Duration, Misfit> {
        match (&self.suppress, name) {
            (None, ProtocolName::Announce) => Ok(Duration::ZERO),
            (None, _) => Ok(usual),
            (Some(written), ProtocolName::Suppress | ProtocolName::Earliest)
                if written.value == Duration::ZERO =>
            {
                Err(Misfit {
                    place: written.place,
                    what: format!(
                        "suppress 0s leaves protocol {name} no time: choose 5ms, or protocol announce"
                    ),
                })
            }
            (Some(written), _) => Ok(written.value),
        }
    }

    fn listen(&self, announce: Duration, usual: Listen) -> Result<Listen, Misfit> {
        match (&self.listen, &self.listen_miss) {
            (Some(Sourced { value: ListenFor::Span(span), place }), _) if *span <= announce => {
                Err(Misfit {
                    place: *place,
                    what: format!(
                        "listen {span} is not more than announce {announce}: every leader would be missed; choose {} or more, or auto",
                        announce * 2
                    ),
                })
            }
            (Some(Sourced { value: ListenFor::Span(span), .. }), Some(miss)) => Err(Misfit {
                place: miss.place,
                what: format!(
                    "listen-miss means nothing with listen {span}: it is for listen auto"
                ),
            }),
            (Some(Sourced { value: ListenFor::Span(span), .. }), None) => Ok(Listen::For(*span)),
            (Some(Sourced { value: ListenFor::Auto, .. }) | None, miss) => {
                Ok(value(miss).map_or(usual, |miss| Listen::Measured { miss }))
            }
        }
    }
}

const FOR_THE_FAMILY: &str = "it is for announce, suppress and earliest";
const FOR_BOUND: &str = "it is for bully and probabilistic";
