//! A configuration before defaults are filled in: the values of a file, overridden by options.
//!
//! Every value remembers where it was written. A complaint about two values that contradict each
//! other can therefore name the place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use hustings_protocol::announce::{self, Criterion, Joining, Listen};
use hustings_protocol::{Duration, Priority};

use super::fields::{AgentFields, Field, GroupFields, Set};
use super::presets::{
    ANNOUNCE, BOUND, ELECTION_TIMEOUT, HOP, RELAYING, TARGET, TTL, VIEW_BOUNDS, announce_family,
};
use super::values::{ListenFor, OrOff, ProtocolName};
use super::written::{Complaint, Place, Sourced, Written};
use super::{
    AgentConfig, AgentConfigError, AuthorityConfig, GroupConfig, GroupConfigError, HTTP, PORT,
    ProtocolConfig, QuorumConfig, StoreConfig, StoreKind, default_interface, default_multicast,
};
use crate::authority::era;
use crate::council::{CouncilPart, MOST_CLASSES};
use crate::seal::Key;

/// An agent's configuration before defaults are filled in.
#[derive(Debug, Clone, Default)]
pub struct PartialConfig {
    /// The file from which it was read.
    pub(super) file: Option<PathBuf>,
    /// The fields above the first group.
    pub(super) agent: AgentFields,
    /// The fields of each group.
    pub(super) groups: Vec<GroupFields>,
    /// Warnings about values that work but should be changed.
    pub warnings: Vec<String>,
}

/// True if members of a group find each other by multicast, on any port. Members that are named as
/// seeds need a port that is known beforehand.
fn is_found(group: &GroupConfig) -> bool {
    group.multicast.is_some() && group.join.is_empty()
}

impl PartialConfig {
    /// Overrides a field of the agent, or the same field of each group, by an option.
    ///
    /// # Errors
    /// Returns the problem with the value, and what is allowed.
    pub fn override_by(
        &mut self,
        field: &Field,
        place: Place,
        texts: &[String],
    ) -> Result<(), String> {
        self.set(field, &Written::by_option(field, place, texts))
    }

    pub(super) fn set(&mut self, field: &Field, written: &Written<'_>) -> Result<(), String> {
        match field.set {
            Set::Agent(set) => set(&mut self.agent, written),
            Set::Group(set) => self.groups.iter_mut().try_for_each(|group| set(group, written)),
        }
    }

    /// Overrides the keys of each group.
    pub fn set_keys(&mut self, place: Place, keys: &[Key]) {
        for group in &mut self.groups {
            group.key = Some(Sourced { value: keys.to_vec(), place });
        }
    }

    /// Keeps only the group that the option `group` names, or adds this group if there is none.
    ///
    /// # Errors
    /// If there is no group then.
    pub fn choose_group(&mut self) -> Result<(), String> {
        let file = self.file.as_ref().map(|file| file.display());
        match (&self.agent.group, &self.groups[..]) {
            (None, [_, ..]) => {}
            (None, []) => {
                return Err(file.map_or_else(
                    || "no group to be a member of: add --group GROUP or --config FILE".to_owned(),
                    |file| format!("{file}: no [[group]]: add one, with a name, or --group GROUP"),
                ));
            }
            (name, []) => {
                self.groups.push(GroupFields { name: name.clone(), ..GroupFields::default() });
            }
            (Some(Sourced { value: name, place }), groups) => {
                let known: Vec<String> = groups.iter().map(GroupFields::name).collect();
                if !known.contains(name) {
                    let file = file.map_or_else(String::new, |file| file.to_string());
                    let known = known.join(", ");
                    return Err(format!("{place} {name}: no such group in {file}: choose {known}"));
                }
                let name = name.clone();
                self.groups.retain(|group| group.name() == name);
            }
        }
        Ok(())
    }

    /// Sets the protocol of the groups for which no protocol was written.
    pub fn set_default_protocol(&mut self, protocol: ProtocolName) {
        for group in &mut self.groups {
            let place = Place::Option("protocol");
            group.protocol.get_or_insert(Sourced { value: protocol, place });
        }
    }

    /// Returns the configuration, with defaults for missing values.
    ///
    /// # Errors
    /// Returns the first value that cannot be used, and its place.
    pub fn settle(&self) -> Result<AgentConfig, Complaint> {
        let any = self.any();
        let groups = self.groups.iter().map(|group| self.settle_group(group, any));
        let groups = groups.collect::<Result<Vec<_>, _>>()?;
        let bind = value(&self.agent.bind).unwrap_or(SocketAddr::new(any, PORT));
        let config = AgentConfig {
            name: value(&self.agent.name).unwrap_or_else(host_name),
            bind,
            next_free_port: value(&self.agent.bind).is_none() && groups.iter().all(is_found),
            interface: self.interface(bind.ip(), &groups)?,
            http: value(&self.agent.http).unwrap_or(OrOff::On(HTTP)).on(),
            metrics: value(&self.agent.metrics).and_then(OrOff::on),
            insecure: value(&self.agent.insecure).unwrap_or(false),
            groups,
        };
        config.check().map_err(|unfit| self.complain_of(&unfit))?;
        Ok(config)
    }

    /// Returns the unspecified address of the IP version of the configured addresses.
    fn any(&self) -> IpAddr {
        let multicasts = self.groups.iter().map(|group| value(&group.multicast));
        let multicast = multicasts.flatten().find_map(OrOff::on);
        let written = value(&self.agent.bind).map(|it| it.ip());
        let written = written.or(value(&self.agent.interface));
        match written.or(multicast.map(|it| it.ip())) {
            Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            Some(IpAddr::V4(_)) | None => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    fn interface(&self, bind: IpAddr, groups: &[GroupConfig]) -> Result<IpAddr, Complaint> {
        let has_multicasts = groups.iter().any(|group| group.multicast.is_some());
        match value(&self.agent.interface) {
            Some(interface) => Ok(interface),
            None if has_multicasts => {
                default_interface(bind).map_err(|unfit| self.complain_of(&unfit))
            }
            None => Ok(bind),
        }
    }

    fn settle_group(&self, group: &GroupFields, any: IpAddr) -> Result<GroupConfig, Complaint> {
        let complain = |misfit: Misfit| {
            let what = format!("group `{}`: {}", group.name(), misfit.what);
            self.complaint(Some(misfit.place), what)
        };
        Ok(GroupConfig {
            name: group.name(),
            keys: group.all_keys(),
            priority: Priority(value(&group.priority).unwrap_or(0)),
            campaigns: value(&group.campaign).unwrap_or(true),
            protocol: group.protocol().map_err(complain)?,
            view: within("view", &group.view, VIEW_BOUNDS).map_err(complain)?,
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

    fn complain_of(&self, error: &AgentConfigError) -> Complaint {
        let agents = |field| self.agent.first_of(&[field]);
        let groups = |name: &str, field| {
            let group = self.groups.iter().rfind(|group| group.name() == name);
            group.and_then(|group| group.first_of(&[field]))
        };
        let written = match error {
            AgentConfigError::Name { what: "name", .. } => agents("name"),
            AgentConfigError::Name { name, .. }
            | AgentConfigError::SameGroupTwice(name)
            | AgentConfigError::NoKey { group: name, .. } => groups(name, "name"),
            AgentConfigError::Group { group, why } => match why {
                GroupConfigError::Voters(_) => groups(group, "voters"),
                GroupConfigError::View(_) => groups(group, "view"),
                _ => groups(group, "name"),
            },
            AgentConfigError::SameTraceTwice { groups: [_, second], .. } => groups(second, "trace"),
            AgentConfigError::HttpBeyondHost(_) => agents("http"),
            AgentConfigError::TwoVersions { .. } | AgentConfigError::WhichInterface(_) => {
                agents("bind")
            }
            AgentConfigError::NoGroup
            | AgentConfigError::NotMulticast(_)
            | AgentConfigError::MulticastNeedsZone(_)
            | AgentConfigError::MulticastWithoutPort(_) => None,
        };
        let place = written.map(|(_, place)| place);
        // The message itself names the options.
        let place = place.filter(|place| !matches!(place, Place::Option(_)));
        self.complaint(place, error.to_string())
    }
}

fn value<T: Clone>(written: &Option<Sourced<T>>) -> Option<T> {
    written.as_ref().map(|it| it.value.clone())
}

/// Returns the name of the host.
pub(super) fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Two values that contradict each other, or a value that has no meaning here.
struct Misfit {
    place: Place,
    what: String,
}

impl<T> Sourced<T> {
    fn misfit(&self, what: String) -> Misfit {
        Misfit { place: self.place, what }
    }
}

/// Returns a number, which must lie in `range`.
fn within(
    field: &str,
    written: &Option<Sourced<u64>>,
    range: RangeInclusive<u16>,
) -> Result<Option<u16>, Misfit> {
    let Some(written) = written else {
        return Ok(None);
    };
    let number = u16::try_from(written.value).ok().filter(|it| range.contains(it));
    number.map(Some).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        written.misfit(format!("{field} {}: choose from {least} to {most}", written.value))
    })
}

impl GroupFields {
    pub(super) fn name(&self) -> String {
        value(&self.name).unwrap_or_default()
    }

    /// Returns the keys, of which a file has one kind. A key of the command line is a `key`.
    pub(super) fn all_keys(&self) -> Vec<Key> {
        let keys = [&self.key, &self.keys, &self.key_file].into_iter();
        keys.flatten().next().map_or_else(Vec::new, |keys| keys.value.clone())
    }

    /// Refuses each of the named fields, with the reason.
    fn refuse(&self, names: &[&'static str], reason: &str) -> Result<(), Misfit> {
        self.first_of(names).map_or(Ok(()), |(field, place)| {
            Err(Misfit { place, what: format!("{field} has no effect {reason}") })
        })
    }

    /// Returns the part in the council: a host by default.
    fn council(&self) -> Result<CouncilPart, Misfit> {
        if let Some(CouncilPart::Off) = value(&self.council) {
            self.refuse(&["class", "centre"], "with council off: it is for hosts")?;
            return Ok(CouncilPart::Off);
        }
        let class = within("class", &self.class, 0..=MOST_CLASSES - 1)?.unwrap_or(0);
        Ok(CouncilPart::Host { class, centre: value(&self.centre) })
    }
}

// The authority.
impl PartialConfig {
    fn authority(&self, group: &GroupFields) -> Result<AuthorityConfig, Misfit> {
        const AUTHORITIES: [&str; 3] = ["voters", "etcd", "postgres"];
        let Some((authority, _)) = group.first_of(&AUTHORITIES) else {
            // The fields that describe tenure mean nothing without an authority.
            let reason = "without an authority: name voters, etcd or postgres too";
            group.refuse(&["ttl", "era", "etcd-user", "etcd-ca"], reason)?;
            return Ok(AuthorityConfig::Nobody);
        };
        let others = AUTHORITIES.map(|it| if it == authority { "" } else { it });
        if let Some((other, place)) = group.first_of(&others) {
            let what = format!(
                "{other} beside {authority}: one authority grants tenure; choose one of them"
            );
            return Err(Misfit { place, what });
        }
        let (ttl, state) = (value(&group.ttl).unwrap_or(TTL), value(&self.agent.state));
        if let Some(voters) = value(&group.voters) {
            if let Some(era) = &group.era {
                let what = "era is for etcd and postgres: voters begin a new era with `hustings voter init --era`";
                return Err(era.misfit(what.to_owned()));
            }
            return Ok(AuthorityConfig::Quorum(QuorumConfig { voters, ttl, state }));
        }
        let store = match (value(&group.etcd), value(&group.postgres)) {
            (Some(endpoints), _) => StoreKind::Etcd {
                endpoints,
                login: value(&group.etcd_user),
                ca: value(&group.etcd_ca),
            },
            (None, url) => StoreKind::Postgres { url: url.unwrap_or_default() },
        };
        let era = match &group.era {
            Some(written) => {
                let era = u16::try_from(written.value).ok().filter(|era| *era <= era::LAST);
                era.ok_or_else(|| {
                    let (era, last) = (written.value, era::LAST);
                    written.misfit(format!("era {era} is beyond the last: choose at most {last}"))
                })?
            }
            None => 0,
        };
        Ok(AuthorityConfig::Store(StoreConfig { store, ttl, era, state }))
    }
}

// The protocol and its intervals.
impl GroupFields {
    fn protocol(&self) -> Result<ProtocolConfig, Misfit> {
        let name = value(&self.protocol).unwrap_or(ProtocolName::Suppress);
        self.refuse_strangers(name)?;
        let election_timeout = value(&self.election_timeout).unwrap_or(ELECTION_TIMEOUT);
        match name {
            ProtocolName::Announce | ProtocolName::Suppress | ProtocolName::Earliest => {
                self.announce_family(name).map(ProtocolConfig::Announce)
            }
            ProtocolName::Bully => {
                let bound = value(&self.bound).unwrap_or(BOUND);
                Ok(ProtocolConfig::bully_field(bound, election_timeout))
            }
            ProtocolName::ChangRoberts => Ok(ProtocolConfig::chang_roberts_field(election_timeout)),
            ProtocolName::ModifiedRing => Ok(ProtocolConfig::modified_ring_field(election_timeout)),
            ProtocolName::NoElection => Ok(ProtocolConfig::NoElection),
            ProtocolName::Probabilistic => {
                let k = value(&self.k).map_or(RELAYING, |k| u32::try_from(k).unwrap_or(u32::MAX));
                let bound = value(&self.bound).unwrap_or(HOP);
                let whole = ProtocolConfig::probabilistic_field(&self.name(), bound, k);
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
            (Some(k), Some(target), _) => Err(target.misfit(format!(
                "target {} beside k {}: one follows from the other; choose one of them",
                target.value, k.value
            ))),
            (None, Some(target), _) => Ok(Some(target.value)),
            (None, None, Some(_)) => Ok(Some(TARGET)),
            (Some(_), None, _) | (None, None, None) => Ok(None),
        }
    }

    /// Refuses fields that mean nothing to the protocol. The author of the file would otherwise
    /// expect an effect.
    fn refuse_strangers(&self, protocol: ProtocolName) -> Result<(), Misfit> {
        let is_family = matches!(
            protocol,
            ProtocolName::Announce | ProtocolName::Suppress | ProtocolName::Earliest
        );
        let is_none = protocol == ProtocolName::NoElection;
        let is_probabilistic = protocol == ProtocolName::Probabilistic;
        let has_bound = is_probabilistic || protocol == ProtocolName::Bully;
        let rules: [(&[&str], bool, &str); 6] = [
            (&["k", "target"], is_probabilistic, "it is for probabilistic"),
            (&["view"], is_probabilistic || is_none, "it is for probabilistic"),
            (&["patience"], !is_probabilistic && !is_none, "its time-outs follow from bound and k"),
            (&["bound"], has_bound, "it is for bully and probabilistic"),
            (
                &["announce", "suppress", "listen", "listen-miss", "loss", "takeover"],
                is_family,
                "it is for announce, suppress and earliest",
            ),
            (
                &["priority"],
                protocol != ProtocolName::Earliest,
                "the first member to wake up leads",
            ),
        ];
        for (fields, _, reason) in rules.into_iter().filter(|(_, has_meaning, _)| !has_meaning) {
            let reason = if is_none { "it elects no leader" } else { reason };
            self.refuse(fields, &format!("with protocol {protocol}: {reason}"))?;
        }
        Ok(())
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
                Err(written.misfit(format!(
                    "suppress 0s leaves protocol {name} no time: choose 5ms, or protocol announce"
                )))
            }
            (Some(written), _) => Ok(written.value),
        }
    }

    fn listen(&self, announce: Duration, usual: Listen) -> Result<Listen, Misfit> {
        let miss = self.listen_miss.as_ref();
        match &self.listen {
            Some(written @ Sourced { value: ListenFor::Span(span), .. }) => match miss {
                _ if *span <= announce => Err(written.misfit(format!(
                    "listen {span} is not above announce {announce}, so members would miss every leader: choose {} or more, or auto",
                    announce * 2
                ))),
                Some(miss) => Err(miss.misfit(format!(
                    "listen-miss has no effect with listen {span}: it is for listen auto"
                ))),
                None => Ok(Listen::For(*span)),
            },
            Some(Sourced { value: ListenFor::Auto, .. }) | None => {
                Ok(miss.map_or(usual, |miss| Listen::Measured { miss: miss.value }))
            }
        }
    }
}
