//! Members of a group with voters that do not vote themselves, and how likely that is a mistake.
//!
//! The whole name identifies a voter: a member called `alpha.example.org` is not the voter `alpha`.
//! A similar name, or a voter's file on the disk, deserves a warning, because such a group may never
//! get a leader.

use super::{AgentConfig, AuthorityConfig, GroupConfig, QuorumConfig};
use hustings_authority::voter_file;
pub use hustings_node::config::similar_names::{meant, suggestion};

/// A member that is not a voter of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NonVoter {
    /// The message for the user: group, name, voters, and the name that was probably meant.
    pub what: String,
    /// The likelihood of a mistake.
    pub doubt: Doubt,
}

/// The likelihood that it is a mistake that a member does not vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// No sign of a mistake: a member need not vote.
    Slight,
    /// A voter has nearly the same name.
    Some,
    /// The member was meant to vote: its name and that of a voter look like names of one host, or
    /// it has a voter's file.
    Strong,
}

impl AgentConfig {
    /// Returns the groups that have voters but in which this member does not vote.
    pub fn non_voter_in(&self) -> Vec<NonVoter> {
        let groups = self.groups.iter();
        let groups = groups.filter_map(|group| match &group.authority {
            AuthorityConfig::Quorum(quorum) if !quorum.is_voter(&self.name) => {
                Some(non_voter(&self.name, group, quorum))
            }
            _ => None,
        });
        groups.collect()
    }
}

fn non_voter(member: &str, group: &GroupConfig, quorum: &QuorumConfig) -> NonVoter {
    let voters = quorum.voters.join(", ");
    let what = format!(
        "group {}: this member, `{member}`, is not one of the voters ({voters}), and does not vote",
        group.name
    );
    let file = quorum.state.as_ref().map(|state| voter_file::path(state, &group.name));
    let file = file.filter(|file| file.exists());
    let rename =
        |voter| format!(": {}, or write `{member}` in voters, on all members", suggestion(voter));
    let (doubt, hint) = match (meant(member, quorum), file) {
        (Some((voter, true)), _) => (Doubt::Strong, rename(voter)),
        (_, Some(path)) => (
            Doubt::Strong,
            format!(
                ", although it has a voter's file, {}: was it renamed? Set its former name (--name), or write the new name in voters, on all members",
                path.display()
            ),
        ),
        (Some((voter, false)), None) => (Doubt::Some, rename(voter)),
        (None, None) => (Doubt::Slight, String::new()),
    };
    NonVoter { what: what + &hint, doubt }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::{Duration, bully};

    use super::*;
    use crate::config::ProtocolConfig;

    fn config(name: &str, voters: [&str; 3]) -> AgentConfig {
        let quorum = QuorumConfig {
            voters: voters.map(str::to_owned).into(),
            ttl: Duration::from_secs(2),
            state: None,
        };
        let bully = bully::Config::field(Duration::from_millis(10), Duration::from_secs(1));
        let group = GroupConfig {
            authority: AuthorityConfig::Quorum(quorum),
            ..GroupConfig::plain("web", ProtocolConfig::Bully(bully))
        };
        let home = std::net::Ipv4Addr::LOCALHOST.into();
        AgentConfig {
            name: name.to_owned(),
            bind: (home, 0).into(),
            interface: home,
            next_free_port: false,
            http: None,
            metrics: None,
            insecure: false,
            groups: vec![group],
        }
    }

    #[test]
    fn only_a_name_similar_to_a_voters_causes_a_hint() {
        let short = ["alpha", "beta", "gamma"];
        let long = ["alpha.example.org", "beta.example.org", "gamma.example.org"];
        for (name, voters, meant) in [
            ("alpha", short, None),
            ("alpha.example.org", long, None),
            ("alpha.example.org", short, Some((Doubt::Strong, "alpha"))),
            ("ALPHA", short, Some((Doubt::Strong, "alpha"))),
            ("beta", long, Some((Doubt::Strong, "beta.example.org"))),
            ("beta.example.com", long, Some((Doubt::Slight, ""))),
            ("aplha", short, Some((Doubt::Some, "alpha"))),
            ("alpa", short, Some((Doubt::Some, "alpha"))),
            ("delta", short, Some((Doubt::Slight, ""))),
            ("witness", short, Some((Doubt::Slight, ""))),
            ("d", ["a", "b", "c"], Some((Doubt::Slight, ""))),
            ("db4", ["db1", "db2", "db3"], Some((Doubt::Slight, ""))),
            ("web-d", ["web-a", "web-b", "web-c"], Some((Doubt::Slight, ""))),
            (
                "db1.eu.example.org",
                ["db1.us.example.org", "db2.us.example.org", "db3.us.example.org"],
                Some((Doubt::Slight, "")),
            ),
        ] {
            let found = config(name, voters).non_voter_in();
            let Some((doubt, voter)) = meant else {
                assert_eq!(found, [], "{name}");
                continue;
            };
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].doubt, doubt, "{name}");
            let what = &found[0].what;
            assert!(what.contains(&format!("this member, `{name}`, is not one of the voters")));
            let hint = format!("if this host is meant to be the voter `{voter}`, set name");
            assert_eq!(what.contains(&hint), !voter.is_empty(), "{what}");
            let warning = "no two hosts may have the same name";
            assert_eq!(what.contains(warning), !voter.is_empty(), "{what}");
        }
    }

    #[test]
    fn member_with_a_voter_file_was_meant_to_vote() {
        let state = std::env::temp_dir().join(format!("hustings-names-{}", std::process::id()));
        std::fs::create_dir(&state).expect("a new directory");
        let mut config = config("witness", ["alpha", "beta", "gamma"]);
        let AuthorityConfig::Quorum(quorum) = &mut config.groups[0].authority else {
            panic!("it has voters");
        };
        quorum.state = Some(state.clone());
        assert_eq!(config.non_voter_in()[0].doubt, Doubt::Slight);
        std::fs::write(voter_file::path(&state, "web"), "").expect("a new file");
        let found = config.non_voter_in();
        assert_eq!(found[0].doubt, Doubt::Strong);
        assert!(found[0].what.contains("web.voter"), "{}", found[0].what);
        std::fs::remove_dir_all(state).expect("it is removed");
    }
}
