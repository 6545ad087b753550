//! The authority of a group, from the fields of a partial configuration.

use super::{Misfit, PartialConfig, PartialGroupConfig, Sourced, place, value};
use crate::authority::era;
use crate::config::presets::TTL;
use crate::config::{AuthorityConfig, QuorumConfig, StoreConfig, StoreKind};

impl PartialConfig {
    pub(super) fn authority(&self, group: &PartialGroupConfig) -> Result<AuthorityConfig, Misfit> {
        let written = [
            ("voters", place(&group.voters)),
            ("etcd", place(&group.etcd)),
            ("postgres", place(&group.postgres)),
        ];
        let mut written = written.into_iter().filter_map(|(field, place)| Some((field, place?)));
        let Some((authority, _)) = written.next() else {
            return group.refuse_terms();
        };
        if let Some((other, place)) = written.next() {
            let what = format!(
                "{other} beside {authority}: one authority grants tenure; choose one of them"
            );
            return Err(Misfit { place, what });
        }
        let (ttl, state) = (value(&group.ttl).unwrap_or(TTL), value(&self.state));
        if let Some(voters) = value(&group.voters) {
            if let Some(place) = place(&group.era) {
                let what = "era is for etcd and postgres: of voters it is begun by `hustings voter init --era`";
                let what = what.to_owned();
                return Err(Misfit { place, what });
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
            Some(Sourced { value, place }) => {
                let era = u16::try_from(*value).ok().filter(|era| *era <= era::LAST);
                era.ok_or_else(|| Misfit {
                    place: *place,
                    what: format!("era {value} is beyond the last: choose at most {}", era::LAST),
                })?
            }
            None => 0,
        };
        Ok(AuthorityConfig::Store(StoreConfig { store, ttl, era, state }))
    }
}

impl PartialGroupConfig {
    /// Refuses the fields that describe tenure in a group without an authority, where they mean
    /// nothing.
    fn refuse_terms(&self) -> Result<AuthorityConfig, Misfit> {
        let terms = [
            ("ttl", place(&self.ttl)),
            ("era", place(&self.era)),
            ("etcd-user", place(&self.etcd_user)),
            ("etcd-ca", place(&self.etcd_ca)),
        ];
        let mut written = terms.into_iter().filter_map(|(field, place)| Some((field, place?)));
        written.next().map_or(Ok(AuthorityConfig::Nobody), |(field, place)| {
            let what = format!(
                "{field} means nothing where nobody grants tenure: name voters, etcd or postgres too"
            );
            Err(Misfit { place, what })
        })
    }
}
