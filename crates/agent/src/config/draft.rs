//! A configuration before defaults are filled in: what a file says, and options over it.
//!
//! Every value remembers where it was written, so that a complaint about two that do not go together
//! can say where to look.

mod authority;
mod council;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::announce::{self, Criterion, Joining, Listen, Takeover};
use hustings_protocol::{Duration, Merit};

use super::presets::{
    ANNOUNCE, BOUND, HOP, PATIENCE, RELAYING, TARGET, VIEW_BOUNDS, announce_family,
};
use super::values::{ListenFor, OrOff, ProtocolName};
use super::{
    AgentConfig, GroupConfig, HTTP, PORT, ProtocolConfig, Unfit, default_interface,
    default_multicast,
};
use crate::council::CouncilPart;
use crate::seal::Key;

/// Where a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In this line of the file.
    Line(usize),
    /// With this option of the command line, or the variable that stands for it.
    Option(&'static str),
}

/// A value, and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub place: Place,
}

impl<T> Written<T> {
    /// Given with an option of the command line, or its variable.
    pub fn by_option(option: &'static str, value: T) -> Self {
        let place = Place::Option(option);
        Self { value, place }
    }
}

/// A value that may not have been written.
type Maybe<T> = Option<Written<T>>;

/// An agent's configuration before defaults are filled in.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The file that it was read from.
    pub file: Option<PathBuf>,
    /// [`AgentConfig::name`]
    pub name: Maybe<String>,
    /// [`AgentConfig::bind`]
    pub bind: Maybe<SocketAddr>,
    /// [`AgentConfig::interface`]
    pub interface: Maybe<IpAddr>,
    /// [`AgentConfig::http`]
    pub http: Maybe<OrOff<SocketAddr>>,
    /// [`AgentConfig::metrics`]
    pub metrics: Maybe<OrOff<SocketAddr>>,
    /// [`AgentConfig::insecure`]
    pub insecure: Maybe<bool>,
    /// [`super::QuorumConfig::state`], of all groups.
    pub state: Maybe<PathBuf>,
    /// [`AgentConfig::groups`]
    pub groups: Vec<GroupDraft>,
    /// What could be used, but should not be left so.
    pub warnings: Vec<String>,
}

/// A group's part of it.
#[derive(Debug, Clone)]
pub struct GroupDraft {
    /// [`GroupConfig::name`]
    pub name: Written<String>,
    /// [`GroupConfig::keys`]
    pub keys: Maybe<Vec<Key>>,
    /// [`GroupConfig::merit`]
    pub priority: Maybe<u64>,
    /// [`GroupConfig::campaigns`]
    pub campaign: Maybe<bool>,
    /// Which protocol.
    pub protocol: Maybe<ProtocolName>,
    /// [`announce::Config::announce`]
    pub announce: Maybe<Duration>,
    /// [`announce::Config::suppress`]
    pub suppress: Maybe<Duration>,
    /// [`announce::Config::listen`]
    pub listen: Maybe<ListenFor>,
    /// [`Listen::Measured`]
    pub listen_miss: Maybe<f64>,
    /// [`announce::Config::assumed_loss`]
    pub loss: Maybe<f64>,
    /// [`announce::Config::takeover`]
    pub takeover: Maybe<Takeover>,
    /// How long who waits for an answer waits.
    pub patience: Maybe<Duration>,
    /// [`hustings_protocol::bully::Config::field`], [`hustings_protocol::probabilistic::Config::field`]
    pub bound: Maybe<Duration>,
    /// [`hustings_protocol::probabilistic::Strategy::first`]
    pub k: Maybe<u64>,
    /// [`GroupConfig::view`]
    pub view: Maybe<u64>,
    /// [`GroupConfig::target`]
    pub target: Maybe<f64>,
    /// [`super::QuorumConfig::voters`]
    pub voters: Maybe<Vec<String>>,
    /// Of [`super::StoreKind::Etcd`]: its endpoints.
    pub etcd: Maybe<Vec<String>>,
    /// Of [`super::StoreKind::Etcd`]: as whom.
    pub etcd_user: Maybe<(String, String)>,
    /// Of [`super::StoreKind::Etcd`]: who signed.
    pub etcd_ca: Maybe<PathBuf>,
    /// Of [`super::StoreKind::Postgres`]: where.
    pub postgres: Maybe<String>,
    /// [`super::StoreConfig::era`]
    pub era: Maybe<u64>,
    /// [`super::QuorumConfig::ttl`]
    pub ttl: Maybe<Duration>,
    /// [`GroupConfig::council`]
    pub council: Maybe<CouncilPart>,
    /// The class of [`CouncilPart::Host`]
    pub class: Maybe<u64>,
    /// The centre of [`CouncilPart::Host`]
    pub centre: Maybe<String>,
    /// [`GroupConfig::multicast`]
    pub multicast: Maybe<OrOff<SocketAddr>>,
    /// [`GroupConfig::join`]
    pub join: Maybe<Vec<String>>,
    /// [`GroupConfig::trace`]
    pub trace: Maybe<PathBuf>,
}

/// Something that cannot be used, and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Complaint {
    /// Where, if it was written at all.
    pub place: Option<Place>,
    /// What, and what is allowed.
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

impl GroupDraft {
    /// A group of which nothing is said but its name.
    pub fn new(name: Written<String>) -> Self {
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
            patience: None,
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

/// Whether members of a group find each other by multicast, whatever their ports are. Those that are named with their
/// ports need one that is known beforehand.
fn is_found(group: &GroupConfig) -> bool {
    group.multicast.is_some() && group.join.is_empty()
}

impl Draft {
    /// The configuration, with defaults wherever nothing was said.
    ///
    /// # Errors
    /// Tells the first thing that cannot work, and where it was written.
    pub fn settle(&self) -> Result<AgentConfig, Complaint> {
        let any = self.any();
        let groups = self
            .groups
            .iter()
            .map(|group| self.settle_group(group, any));
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

    /// Any address, of the IP version that what was written is of.
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

    fn settle_group(&self, group: &GroupDraft, any: IpAddr) -> Result<GroupConfig, Complaint> {
        let complain = |misfit: Misfit| {
            let what = format!("group `{}`: {}", group.name.value, misfit.what);
            self.complaint(Some(misfit.place), what)
        };
        Ok(GroupConfig {
            name: group.name.value.clone(),
            keys: value(&group.keys).unwrap_or_default(),
            merit: Merit(value(&group.priority).unwrap_or(0)),
            campaigns: value(&group.campaign).unwrap_or(true),
            protocol: group.protocol().map_err(complain)?,
            view: group.view().map_err(complain)?,
            target: group.target().map_err(complain)?,
            authority: self.authority(group).map_err(complain)?,
            council: group.council().map_err(complain)?,
            multicast: value(&group.multicast)
                .unwrap_or(OrOff::On(default_multicast(any)))
                .on(),
            join: value(&group.join).unwrap_or_default(),
            trace: value(&group.trace),
        })
    }

    fn complaint(&self, place: Option<Place>, what: String) -> Complaint {
        let file = self.file.clone();
        Complaint { place, what, file }
    }

    fn complain_of(&self, unfit: &Unfit) -> Complaint {
        let named = |name: &str| self.groups.iter().rfind(|group| group.name.value == name);
        let place = match unfit {
            Unfit::Name { what: "name", .. } => self.name.as_ref().map(|it| it.place),
            Unfit::Name { name: group, .. }
            | Unfit::SameGroupTwice(group)
            | Unfit::NoKey { group, .. }
            | Unfit::Protocol { group, .. }
            | Unfit::VoterWithoutState { group, .. }
            | Unfit::CannotListen { group, .. }
            | Unfit::CannotKnowFew { group, .. }
            | Unfit::NotBuilt { group, .. }
            | Unfit::Class { group }
            | Unfit::Place { group, .. }
            | Unfit::Interval { group, .. } => named(group).map(|group| group.name.place),
            Unfit::Voters { group, .. } => named(group).and_then(|group| place(&group.voters)),
            Unfit::View { group, .. } => named(group).and_then(|group| place(&group.view)),
            Unfit::SameTraceTwice { groups, .. } => {
                named(&groups[1]).and_then(|group| place(&group.trace))
            }
            Unfit::HttpBeyondHost(_) => self.http.as_ref().map(|it| it.place),
            Unfit::TwoVersions { .. } | Unfit::WhichInterface(_) => place(&self.bind),
            Unfit::NoGroup
            | Unfit::NotMulticast(_)
            | Unfit::MulticastNeedsZone(_)
            | Unfit::MulticastWithoutPort(_) => None,
        };
        // The complaint names options by itself.
        let place =
            place.filter(|place| !matches!(place, Place::Option(it) if it.starts_with("--")));
        self.complaint(place, unfit.to_string())
    }
}

fn value<T: Clone>(written: &Maybe<T>) -> Option<T> {
    written.as_ref().map(|it| it.value.clone())
}

fn place<T>(written: &Maybe<T>) -> Option<Place> {
    written.as_ref().map(|it| it.place)
}

/// What the host calls itself.
pub fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Two values that do not go together, or one that makes no sense here.
struct Misfit {
    place: Place,
    what: String,
}

// Which protocol, with which intervals.
impl GroupDraft {
    fn protocol(&self) -> Result<ProtocolConfig, Misfit> {
        let name = value(&self.protocol).unwrap_or(ProtocolName::Suppress);
        self.refuse_strangers(name)?;
        let patience = value(&self.patience);
        match name {
            ProtocolName::Announce | ProtocolName::Suppress | ProtocolName::Earliest => {
                self.announce_family(name).map(ProtocolConfig::Announce)
            }
            ProtocolName::Bully => {
                let bound = value(&self.bound).unwrap_or(BOUND);
                Ok(ProtocolConfig::bully_field(
                    bound,
                    patience.unwrap_or(PATIENCE),
                ))
            }
            ProtocolName::ChangRoberts => Ok(ProtocolConfig::chang_roberts_field(
                patience.unwrap_or(PATIENCE),
            )),
            ProtocolName::ModifiedRing => Ok(ProtocolConfig::modified_ring_field(
                patience.unwrap_or(PATIENCE),
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

    /// K is what was written, or follows from the target.
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
        let Some(Written { value, place }) = &self.view else {
            return Ok(None);
        };
        let view = u16::try_from(*value).ok();
        let view = view.filter(|view| VIEW_BOUNDS.contains(view));
        view.map(Some).ok_or_else(|| {
            let (least, most) = (VIEW_BOUNDS.start(), VIEW_BOUNDS.end());
            let what = format!("view {value}: choose from {least} to {most}");
            Misfit {
                place: *place,
                what,
            }
        })
    }

    /// Fields that mean nothing to the protocol would be ignored: whoever wrote them expects otherwise.
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
        let few = [
            ("k", place(&self.k)),
            ("view", place(&self.view)),
            ("target", place(&self.target)),
        ];
        let patience = [("patience", place(&self.patience))];
        let priority = [("priority", place(&self.priority))];
        let (strangers, reason): (Vec<_>, _) = match protocol {
            ProtocolName::NoElection => {
                let few = few.into_iter().filter(|(field, _)| *field != "view");
                let others = bound.into_iter().chain(patience).chain(few);
                (
                    families.into_iter().chain(others).collect(),
                    "it elects nobody",
                )
            }
            ProtocolName::Probabilistic => match place(&self.patience) {
                Some(_) => (patience.to_vec(), "its time-outs follow from bound and k"),
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
        let written = strangers
            .into_iter()
            .find_map(|(field, place)| Some((field, place?)));
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
            false => Criterion::Merit,
        };
        let joining = match value(&self.patience) {
            Some(patience) => Joining::SuppressThenQuery { patience },
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
            (
                Some(Written {
                    value: ListenFor::Span(span),
                    place,
                }),
                _,
            ) if *span <= announce => Err(Misfit {
                place: *place,
                what: format!(
                    "listen {span} is not more than announce {announce}: every leader would be missed; choose {} or more, or auto",
                    announce * 2
                ),
            }),
            (
                Some(Written {
                    value: ListenFor::Span(span),
                    ..
                }),
                Some(miss),
            ) => Err(Misfit {
                place: miss.place,
                what: format!(
                    "listen-miss means nothing with listen {span}: it is for listen auto"
                ),
            }),
            (
                Some(Written {
                    value: ListenFor::Span(span),
                    ..
                }),
                None,
            ) => Ok(Listen::For(*span)),
            (
                Some(Written {
                    value: ListenFor::Auto,
                    ..
                })
                | None,
                miss,
            ) => Ok(value(miss).map_or(usual, |miss| Listen::Measured { miss })),
        }
    }
}

const FOR_THE_FAMILY: &str = "it is for announce, suppress and earliest";
const FOR_BOUND: &str = "it is for bully and probabilistic";
