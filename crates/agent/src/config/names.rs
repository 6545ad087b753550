//! The names of members and of voters. A voter is known by its whole name: a member called `alpha.example.org` is not
//! the voter `alpha`. Where the two look alike a person should be told, since such a group never gets a leader.

use super::{AgentConfig, AuthorityConfig, GroupConfig, QuorumConfig};
use crate::authority::voter_file;

/// Returns whether two different names look like the names of one host. They do if they differ only in case, or if one
/// is the bare first label of the other, as `alpha` of `alpha.example.org`. The names `alpha.eu.example.org` and
/// `alpha.us.example.org` belong to two hosts.
pub fn same_host(one: &str, other: &str) -> bool {
    let (lower_one, lower_other) = (one.to_lowercase(), other.to_lowercase());
    let is_bare_label = |bare: &str, full: &str| {
        let rest = full.strip_prefix(bare);
        !bare.contains('.') && rest.is_some_and(|it| it.starts_with('.'))
    };
    one != other
        && (lower_one == lower_other
            || is_bare_label(&lower_one, &lower_other)
            || is_bare_label(&lower_other, &lower_one))
}

/// The length from which a name may be taken for another one with a typing error. Shorter names are often alike.
const SHORTEST_MISTYPED: usize = 4;

/// Returns whether one name is the other with one typing error: a letter more, less or wrong, or two letters swapped.
fn is_one_typo_away(one: &str, other: &str) -> bool {
    // Hosts that are numbered differ in nothing else.
    let letters = |name: &str| name.replace(|it: char| it.is_ascii_digit(), "");
    one.len().min(other.len()) >= SHORTEST_MISTYPED
        && letters(one) != letters(other)
        && strsim::damerau_levenshtein(one, other) == 1
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
    /// Its name and the name of a voter look like one host's, or it has a voter's file: it was meant to vote.
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
            format!(
                ": {}, or write `{member}` in voters, on all members",
                advice(voter)
            ),
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
            format!(
                ": {}, or write `{member}` in voters, on all members",
                advice(voter)
            ),
        ),
        (None, None) => (Doubt::Slight, String::new()),
    };
    let what = what + &hint;
    NonVoter { what, doubt }
}

/// The advice to a member that may be meant to be `voter`. It is conditional, as the host may be another one, and two
/// processes with the name of one voter are worse than a voter that is missing.
pub fn advice(voter: &str) -> String {
    format!(
        "if this host is meant to be the voter `{voter}`, set name = \"{voter}\" (--name {voter}; no two hosts may have one name)"
    )
}

/// The voter that `member` may be meant to be, and whether the two look like one host. Where voters' own names are one
/// letter apart, as `web-a` and `web-b`, another such name is no typing error.
pub fn meant<'a>(member: &str, quorum: &'a QuorumConfig) -> Option<(&'a str, bool)> {
    let voters = || quorum.voters.iter().map(String::as_str);
    if let Some(voter) = voters().find(|it| same_host(it, member)) {
        return Some((voter, true));
    }
    let is_alone = |voter: &str| !voters().any(|it| is_one_typo_away(it, voter));
    let mut mistyped = voters().filter(|it| is_one_typo_away(it, member) && is_alone(it));
    mistyped.next().map(|voter| (voter, false))
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
    fn only_a_name_that_looks_like_a_voters_gets_advice() {
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
            (
                "web-d",
                ["web-a", "web-b", "web-c"],
                Some((Doubt::Slight, "")),
            ),
            (
                "db1.eu.example.org",
                [
                    "db1.us.example.org",
                    "db2.us.example.org",
                    "db3.us.example.org",
                ],
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
            assert!(what.contains(&format!("this member, `{name}`, is none of the voters")));
            let hint = format!("if this host is meant to be the voter `{voter}`, set name");
            assert_eq!(what.contains(&hint), !voter.is_empty(), "{what}");
            let warning = "no two hosts may have one name";
            assert_eq!(what.contains(warning), !voter.is_empty(), "{what}");
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
