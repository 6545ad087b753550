//! Names of members that resemble a voter's name. A voter is known by its whole name: a member
//! called `alpha.example.org` is not the voter `alpha`. If names are alike the caller warns the
//! operator, because such a group may never get a leader.

use super::QuorumConfig;

/// Returns true if two different names look like the names of one host. They do if they differ only
/// in case, or if one is the bare first label of the other, as `alpha` of `alpha.example.org`. The
/// names `alpha.eu.example.org` and `alpha.us.example.org` belong to two hosts.
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

/// The length from which a name may be another one with a typing error. Shorter names are often
/// alike.
const SHORTEST_MISTYPED: usize = 4;

/// Returns true if one name is the other with one typing error: a letter more, less or wrong, or
/// two letters swapped.
fn is_one_typo_away(one: &str, other: &str) -> bool {
    // Numbered hosts differ in their digits only.
    let letters = |name: &str| name.replace(|it: char| it.is_ascii_digit(), "");
    one.len().min(other.len()) >= SHORTEST_MISTYPED
        && letters(one) != letters(other)
        && strsim::damerau_levenshtein(one, other) == 1
}

/// The advice for a member that may be meant to be `voter`. It is conditional because the host may
/// be another one, and two processes with the name of one voter are worse than a missing voter.
pub fn suggestion(voter: &str) -> String {
    format!(
        "if this host is meant to be the voter `{voter}`, set name = \"{voter}\" (--name {voter}; no two hosts may have the same name)"
    )
}

/// The voter that `member` may be meant to be, and true if the two look like one host. If the
/// voters' own names are one letter apart, as `web-a` and `web-b`, another such name is no typing
/// error.
pub fn meant<'a>(member: &str, quorum: &'a QuorumConfig) -> Option<(&'a str, bool)> {
    let voters = || quorum.voters.iter().map(String::as_str);
    if let Some(voter) = voters().find(|it| same_host(it, member)) {
        return Some((voter, true));
    }
    let is_alone = |voter: &str| !voters().any(|it| is_one_typo_away(it, voter));
    let mut mistyped = voters().filter(|it| is_one_typo_away(it, member) && is_alone(it));
    mistyped.next().map(|voter| (voter, false))
}
