//! The authority of a group, from the fields of a partial configuration.

use super::{GroupFields, Misfit, PartialConfig, value};
use crate::authority::era;
use crate::config::presets::TTL;
use crate::config::{AuthorityConfig, QuorumConfig, StoreConfig, StoreKind};

impl PartialConfig {
    pub(super) fn authority(&self, group: &GroupFields) -> Result<AuthorityConfig, Misfit> {
        const AUTHORITIES: [&str; 3] = ["voters", "etcd", "postgres"];
        let Some((authority, _)) = group.first_of(&AUTHORITIES) else {
            // The fields that describe tenure mean nothing without an authority.
            let reason = "where nobody grants tenure: name voters, etcd or postgres too";
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
                let what = "era is for etcd and postgres: of voters it is begun by `hustings voter init --era`";
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
