//! The names of members and of voters. A voter is known by its whole name: a member called `alpha.example.org` is not
//! the voter `alpha`. Where the two look alike a person should be told, since such a group never gets a leader.

use super::values::nearest;
use super::{AgentConfig, AuthorityConfig, GroupConfig, QuorumConfig};
use crate::authority::voter_file;

/// Returns whether two different names look like one host's: the same first label, as of `alpha` and
/// `alpha.example.org`.
pub fn same_host(one: &str, other: &str) -> bool {
    let label = |name: &'_ str| name.split('.').next().unwrap_or_default().to_lowercase();
    one != other && label(one) == label(other)
}

/// A member that is none of its group's voters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NonVoter {
    /// What to tell people: group, name, voters, and what may be meant.
    pub what: String,
    /// How likely it is a mistake.
    pub doubt: Doubt,
}

/// How likely it is a mistake that a member does not vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// A member need not vote.
    Slight,
    /// A voter has nearly the same name.
    Some,
    /// It has the first label of a voter's name, or the file of a voter: it was meant to vote.
    Strong,
}

impl AgentConfig {
    /// The groups in which this member does not vote, though others do.
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
        "group {}: this member, `{member}`, is none of the voters ({voters}), and does not vote",
        group.name
    );
    let file = quorum.state.as_ref();
    let file = file.map(|it| voter_file::path(it, &group.name));
    let file = file.filter(|it| it.exists());
    let (doubt, hint) = match (meant(member, quorum), file) {
        (Some((voter, true)), _) => (
            Doubt::Strong,
            format!(": did you mean `{voter}`? {}", remedy(member, voter)),
        ),
        (_, Some(path)) => (
            Doubt::Strong,
            format!(
                ", though it has a voter's file, {}: was it renamed? Set the name that it had (--name), or write the new one in voters, on all members",
                path.display()
            ),
        ),
        (Some((voter, false)), None) => (
            Doubt::Some,
            format!(": did you mean `{voter}`? {}", remedy(member, voter)),
        ),
        (None, None) => (Doubt::Slight, String::new()),
    };
    let what = what + &hint;
    NonVoter { what, doubt }
}

fn remedy(member: &str, voter: &str) -> String {
    format!(
        "Names must match as a whole: set name = \"{voter}\" (--name {voter}), or write `{member}` in voters, on all members"
    )
}

/// The voter that `member` may be meant to be, and whether it looks like the same host.
pub fn meant<'a>(member: &str, quorum: &'a QuorumConfig) -> Option<(&'a str, bool)> {
    let voters = || quorum.voters.iter().map(String::as_str);
    if let Some(voter) = voters().find(|it| same_host(it, member)) {
        return Some((voter, true));
    }
    // Hosts that are numbered are told apart by nothing else.
    let letters = |name: &str| name.replace(|it: char| it.is_ascii_digit(), "");
    let alike = voters().filter(|it| letters(it) != letters(member));
    nearest(member, alike).map(|voter| (voter, false))
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
    fn a_member_that_is_no_voter_is_told_whom_it_may_be_meant_to_be() {
        let short = ["alpha", "beta", "gamma"];
        let long = ["alpha.example.org", "beta.example.org", "gamma.example.org"];
        for (name, voters, meant) in [
            ("alpha", short, None),
            ("alpha.example.org", long, None),
            ("alpha.example.org", short, Some((Doubt::Strong, "alpha"))),
            ("ALPHA", short, Some((Doubt::Strong, "alpha"))),
            ("beta", long, Some((Doubt::Strong, "beta.example.org"))),
            (
                "beta.example.com",
                long,
                Some((Doubt::Strong, "beta.example.org")),
            ),
            ("aplha", short, Some((Doubt::Some, "alpha"))),
            ("witness", short, Some((Doubt::Slight, ""))),
            ("db4", ["db1", "db2", "db3"], Some((Doubt::Slight, ""))),
        ] {
            let found = config(name, voters).non_voter_in();
            let Some((doubt, voter)) = meant else {
                assert_eq!(found, [], "{name}");
                continue;
            };
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].doubt, doubt, "{name}");
            let what = &found[0].what;
            assert!(what.contains(&format!("this member, `{name}`, is none of the voters")));
            let hint = format!("did you mean `{voter}`?");
            assert_eq!(what.contains(&hint), !voter.is_empty(), "{what}");
        }
    }

    #[test]
    fn a_member_with_a_voters_file_was_meant_to_vote() {
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
