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
use super::values::ProtocolName;
use super::written::{Complaint, Place, Sourced, Written};
use super::{
    AgentConfig, AgentConfigError, AuthorityConfig, GroupConfig, HTTP, PORT, ProtocolConfig,
    QuorumConfig, StoreConfig, StoreKind, default_interface, default_multicast,
};
use crate::authority::config::EtcdConfig;
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
        let Some(Sourced { value: name, place }) = &self.agent.group else {
            if !self.groups.is_empty() {
                return Ok(());
            }
            return Err(file.map_or_else(
                || "no group to be a member of: add --group GROUP or --config FILE".to_owned(),
                |file| format!("{file}: no [[group]]: add one, with a name, or --group GROUP"),
            ));
        };
        if self.groups.is_empty() {
            let name = self.agent.group.clone();
            self.groups.push(GroupFields { name, ..GroupFields::default() });
        }
        let known: Vec<String> = self.groups.iter().map(GroupFields::name).collect();
        if !known.contains(name) {
            let file = file.map(|file| file.to_string()).unwrap_or_default();
            let known = known.join(", ");
            return Err(format!("{place} {name}: no such group in {file}: choose {known}"));
        }
        self.groups.retain(|group| group.name() == *name);
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
        let settled = self.groups.iter().map(|group| self.settle_group(group, any));
        let groups = settled.collect::<Result<Vec<_>, _>>()?;
        let bind = value(&self.agent.bind).unwrap_or(SocketAddr::new(any, PORT));
        let config = AgentConfig {
            name: value(&self.agent.name).unwrap_or_else(host_name),
            bind,
            next_free_port: value(&self.agent.bind).is_none() && groups.iter().all(is_found),
            interface: self.interface(bind.ip(), &groups)?,
            http: value(&self.agent.http).unwrap_or(Some(HTTP)),
            metrics: value(&self.agent.metrics).flatten(),
            insecure: value(&self.agent.insecure).unwrap_or(false),
            groups,
        };
        config.check().map_err(|unfit| self.complain_of(&unfit))?;
        Ok(config)
    }

    /// Returns the unspecified address of the IP version of the configured addresses.
    fn any(&self) -> IpAddr {
        let mut multicasts = self.groups.iter().filter_map(|it| value(&it.multicast).flatten());
        let bind = value(&self.agent.bind).map(|it| it.ip());
        let interface = bind.or(value(&self.agent.interface));
        match interface.or_else(|| multicasts.next().map(|it| it.ip())) {
            Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            Some(IpAddr::V4(_)) | None => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    fn interface(&self, bind: IpAddr, groups: &[GroupConfig]) -> Result<IpAddr, Complaint> {
        if let Some(interface) = value(&self.agent.interface) {
            return Ok(interface);
        }
        if groups.iter().all(|group| group.multicast.is_none()) {
            return Ok(bind);
        }
        default_interface(bind).map_err(|unfit| self.complain_of(&unfit))
    }

    fn settle_group(&self, group: &GroupFields, any: IpAddr) -> Result<GroupConfig, Complaint> {
        let settled = group.settle(any, value(&self.agent.state));
        settled.map_err(|misfit| {
            let what = format!("group `{}`: {}", group.name(), misfit.what);
            Complaint { what, file: self.file.clone(), ..misfit }
        })
    }

    fn complain_of(&self, error: &AgentConfigError) -> Complaint {
        let field = [error.field];
        let name = error.group.as_ref();
        let group = self.groups.iter().rfind(|group| Some(&group.name()) == name);
        let written = group.and_then(|group| group.first_of(&field));
        let place = written.or_else(|| self.agent.first_of(&field)).map(|(_, place)| place);
        // The message itself names the options.
        let place = place.filter(|place| !matches!(place, Place::Option(_)));
        Complaint { place, what: error.to_string(), file: self.file.clone() }
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

impl<T> Sourced<T> {
    /// Complains about this value: it contradicts another one, or has no meaning here.
    fn misfit(&self, what: String) -> Complaint {
        Complaint { place: Some(self.place), what, file: None }
    }
}

/// Returns a number, which must lie in `range`.
fn within(
    field: &str,
    written: &Option<Sourced<u64>>,
    range: RangeInclusive<u16>,
) -> Result<Option<u16>, Complaint> {
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

    /// Returns the configuration of the group. `any` is the unspecified address, and a voter keeps
    /// its promises in the directory `state`.
    fn settle(&self, any: IpAddr, state: Option<PathBuf>) -> Result<GroupConfig, Complaint> {
        Ok(GroupConfig {
            name: self.name(),
            keys: self.all_keys(),
            priority: Priority(value(&self.priority).unwrap_or(0)),
            campaigns: value(&self.campaign).unwrap_or(true),
            protocol: self.protocol()?,
            view: within("view", &self.view, VIEW_BOUNDS)?,
            target: self.target()?,
            authority: self.authority(state)?,
            council: self.council()?,
            multicast: value(&self.multicast).unwrap_or(Some(default_multicast(any))),
            join: value(&self.join).unwrap_or_default(),
            trace: value(&self.trace),
        })
    }

    /// Returns the keys, of which a file has one kind. A key of the command line is a `key`.
    pub(super) fn all_keys(&self) -> Vec<Key> {
        let keys = [&self.key, &self.keys, &self.key_file].into_iter();
        keys.flatten().next().map_or_else(Vec::new, |keys| keys.value.clone())
    }

    /// Refuses each of the named fields, with the reason.
    fn refuse(&self, names: &[&'static str], reason: &str) -> Result<(), Complaint> {
        let Some((field, place)) = self.first_of(names) else {
            return Ok(());
        };
        let what = format!("{field} has no effect {reason}");
        Err(Complaint { place: Some(place), what, file: None })
    }

    /// Returns the part in the council: a host by default.
    fn council(&self) -> Result<CouncilPart, Complaint> {
        if let Some(CouncilPart::Off) = value(&self.council) {
            self.refuse(&["class", "centre"], "with council off: it is for hosts")?;
            return Ok(CouncilPart::Off);
        }
        let class = within("class", &self.class, 0..=MOST_CLASSES - 1)?.unwrap_or(0);
        Ok(CouncilPart::Host { class, centre: value(&self.centre) })
    }
}

// The authority.
impl GroupFields {
    fn authority(&self, state: Option<PathBuf>) -> Result<AuthorityConfig, Complaint> {
        const AUTHORITIES: [&str; 3] = ["voters", "etcd", "postgres"];
        let Some((authority, _)) = self.first_of(&AUTHORITIES) else {
            // The fields that describe tenure mean nothing without an authority.
            let reason = "without an authority: name voters, etcd or postgres too";
            self.refuse(&["ttl", "era", "etcd-user", "etcd-ca"], reason)?;
            return Ok(AuthorityConfig::Nobody);
        };
        let others = AUTHORITIES.map(|it| if it == authority { "" } else { it });
        if let Some((other, place)) = self.first_of(&others) {
            let what = format!(
                "{other} beside {authority}: one authority grants tenure; choose one of them"
            );
            return Err(Complaint { place: Some(place), what, file: None });
        }
        let ttl = value(&self.ttl).unwrap_or(TTL);
        let store = if let Some(voters) = value(&self.voters) {
            if let Some(era) = &self.era {
                let what = "era is for etcd and postgres: voters begin a new era with `hustings voter init --era`";
                return Err(era.misfit(what.to_owned()));
            }
            return Ok(AuthorityConfig::Quorum(QuorumConfig { voters, ttl, state }));
        } else if let Some(endpoints) = value(&self.etcd) {
            let (login, ca) = (value(&self.etcd_user), value(&self.etcd_ca));
            StoreKind::Etcd(EtcdConfig { endpoints, login, ca })
        } else {
            StoreKind::Postgres { url: value(&self.postgres).unwrap_or_default() }
        };
        let era = match &self.era {
            Some(written) if written.value > era::LAST.into() => {
                let (era, last) = (written.value, era::LAST);
                let what = format!("era {era} is beyond the last: choose at most {last}");
                return Err(written.misfit(what));
            }
            era => era.as_ref().map_or(0, |era| era.value as u16),
        };
        Ok(AuthorityConfig::Store(StoreConfig { store, ttl, era, state }))
    }
}

// The protocol and its intervals.
impl GroupFields {
    fn protocol(&self) -> Result<ProtocolConfig, Complaint> {
        let name = value(&self.protocol).unwrap_or(ProtocolName::Suppress);
        self.refuse_strangers(name)?;
        let election_timeout = value(&self.election_timeout).unwrap_or(ELECTION_TIMEOUT);
        let bound = value(&self.bound);
        Ok(match name {
            ProtocolName::Announce | ProtocolName::Suppress | ProtocolName::Earliest => {
                ProtocolConfig::Announce(self.announce_family(name)?)
            }
            ProtocolName::Bully => {
                ProtocolConfig::bully_field(bound.unwrap_or(BOUND), election_timeout)
            }
            ProtocolName::ChangRoberts => ProtocolConfig::chang_roberts_field(election_timeout),
            ProtocolName::ModifiedRing => ProtocolConfig::modified_ring_field(election_timeout),
            ProtocolName::NoElection => ProtocolConfig::NoElection,
            ProtocolName::Probabilistic => {
                let k = value(&self.k).map_or(RELAYING, |k| u32::try_from(k).unwrap_or(u32::MAX));
                let bound = bound.unwrap_or(HOP);
                let whole = ProtocolConfig::probabilistic_field(&self.name(), bound, k);
                if self.view.is_some() { whole.knowing_few() } else { whole }
            }
        })
    }

    /// Returns the target, from which K follows unless K itself is configured.
    fn target(&self) -> Result<Option<f64>, Complaint> {
        match (&self.k, &self.target) {
            (Some(k), Some(target)) => Err(target.misfit(format!(
                "target {} beside k {}: one follows from the other; choose one of them",
                target.value, k.value
            ))),
            (Some(_), None) => Ok(None),
            (None, target) => Ok(value(target).or(self.view.as_ref().map(|_| TARGET))),
        }
    }

    /// Refuses fields that mean nothing to the protocol. The author of the file would otherwise
    /// expect an effect.
    fn refuse_strangers(&self, protocol: ProtocolName) -> Result<(), Complaint> {
        use ProtocolName::{Announce, Bully, Earliest, NoElection, Probabilistic, Suppress};
        let is = |names: &[ProtocolName]| names.contains(&protocol);
        let is_probabilistic = is(&[Probabilistic]);
        let family = ["announce", "suppress", "listen", "listen-miss", "loss", "takeover"];
        let for_family = "it is for announce, suppress and earliest";
        let follow = "its time-outs follow from bound and k";
        let rules: [(&[&str], bool, &str); 6] = [
            (&["k", "target"], is_probabilistic, "it is for probabilistic"),
            (&["view"], is(&[Probabilistic, NoElection]), "it is for probabilistic"),
            (&["patience"], !is(&[Probabilistic, NoElection]), follow),
            (&["bound"], is(&[Probabilistic, Bully]), "it is for bully and probabilistic"),
            (&family, is(&[Announce, Suppress, Earliest]), for_family),
            (&["priority"], !is(&[Earliest]), "the first member to wake up leads"),
        ];
        for (fields, _, reason) in rules.into_iter().filter(|(_, has_meaning, _)| !has_meaning) {
            let reason = if is(&[NoElection]) { "it elects no leader" } else { reason };
            self.refuse(fields, &format!("with protocol {protocol}: {reason}"))?;
        }
        Ok(())
    }

    fn announce_family(&self, name: ProtocolName) -> Result<announce::Config, Complaint> {
        let announce = value(&self.announce).unwrap_or(ANNOUNCE);
        let preset = announce_family(announce);
        let is_earliest = name == ProtocolName::Earliest;
        let criterion = if is_earliest { Criterion::EarliestWake } else { Criterion::Priority };
        let patience = value(&self.election_timeout);
        let joining =
            patience.map(|election_timeout| Joining::SuppressThenQuery { election_timeout });
        Ok(announce::Config {
            suppress: self.suppress(name, preset.suppress)?,
            listen: self.listen(announce, preset.listen)?,
            criterion,
            joining: joining.unwrap_or(preset.joining),
            takeover: value(&self.takeover).unwrap_or(preset.takeover),
            assumed_loss: value(&self.loss).unwrap_or(preset.assumed_loss),
            ..preset
        })
    }

    fn suppress(&self, name: ProtocolName, usual: Duration) -> Result<Duration, Complaint> {
        let is_announce = name == ProtocolName::Announce;
        match &self.suppress {
            None => Ok(if is_announce { Duration::ZERO } else { usual }),
            Some(written) if written.value == Duration::ZERO && !is_announce => Err(written
                .misfit(format!(
                    "suppress 0s leaves protocol {name} no time: choose 5ms, or protocol announce"
                ))),
            Some(written) => Ok(written.value),
        }
    }

    fn listen(&self, announce: Duration, usual: Listen) -> Result<Listen, Complaint> {
        let (miss, listen) = (&self.listen_miss, &self.listen);
        let Some((written, span)) = listen.as_ref().and_then(|it| Some((it, it.value?))) else {
            return Ok(value(miss).map_or(usual, |miss| Listen::Measured { miss }));
        };
        if span <= announce {
            return Err(written.misfit(format!(
                "listen {span} is not above announce {announce}, so members would miss every leader: choose {} or more, or auto",
                announce * 2
            )));
        }
        match miss {
            Some(miss) => Err(miss.misfit(format!(
                "listen-miss has no effect with listen {span}: it is for listen auto"
            ))),
            None => Ok(Listen::For(span)),
        }
    }
}
