//! The record of a centre: the lines of each session, and the check that they are consistent.

use std::collections::{BTreeMap, BTreeSet};

use hustings_agent::council::{CentreStatus, MOST_RECORDED};
use hustings_agent::identity::member_id;
use hustings_protocol::MemberId;
use hustings_protocol::council::Round;

use super::unmarked;

/// The lines of each session, by its number: at least one, in the order of printing.
pub(super) type Sessions = BTreeMap<u64, Vec<CentreStatus>>;

/// Parses the output of centres: a sequence or a list of JSON objects in any formatting. The order
/// of lines, of the rounds in a record and of the replies in a round carries no information and may
/// have changed.
pub(super) fn sessions(text: &str) -> Result<Sessions, String> {
    let text = unmarked(text);
    let lines: Result<Vec<CentreStatus>, serde_json::Error> = if text.trim_start().starts_with('[')
    {
        serde_json::from_str(text)
    } else {
        serde_json::Deserializer::from_str(text).into_iter().collect()
    };
    let lines = lines
        .map_err(|error| format!("line {} was not printed by a centre: {error}", error.line()))?;
    if lines.iter().any(has_rounded_identities) {
        return Err(
            "identities in the file were rounded, by a program that keeps numbers as floating \
             point (jq does): check the centre's own output"
                .to_owned(),
        );
    }
    let mut sessions = Sessions::new();
    for mut line in lines {
        line.record.sort_by_key(|it| (it.feedback.class, it.feedback.round));
        sessions.entry(line.session).or_default().push(line);
    }
    for lines in sessions.values_mut() {
        // A record only grows. The number of changes orders lines with the same rounds, and proves
        // nothing.
        let replies = |it: &Round| it.replies.len() + it.late.len();
        let size =
            |it: &CentreStatus| it.record.len() + it.record.iter().map(replies).sum::<usize>();
        lines.sort_by_key(|it| (size(it), it.changes));
    }
    if sessions.is_empty() {
        Err("no line in it was printed by a centre: keep the output of the centre with --format \
             json"
            .to_owned())
    } else {
        Ok(sessions)
    }
}

/// Returns true if the line comes from an earlier release, which wrote identities as numbers, and a
/// program has rounded them.
fn has_rounded_identities(line: &CentreStatus) -> bool {
    line.seats().any(|it| {
        let (id, of_name) = (it.member.id.0, member_id(&it.member.name).0);
        id != of_name && id == of_name as f64 as u64
    })
}

/// Returns true if the line holds as many rounds as a centre records. There may have been more.
pub(super) fn is_full(line: &CentreStatus) -> bool {
    line.record.len() >= MOST_RECORDED
}

/// Returns the rounds of one class on a line.
pub(super) fn rounds_of(line: &CentreStatus, class: u16) -> Vec<Round> {
    of_class(&line.record, class)
}

fn of_class(rounds: &[Round], class: u16) -> Vec<Round> {
    let of_class = rounds.iter().filter(|it| it.feedback.class == class);
    of_class.cloned().collect()
}

/// Describes the lines that contradict the next line.
pub(super) fn contradictions(lines: &[CentreStatus]) -> Vec<String> {
    let is_torn = |one: &CentreStatus, next: &CentreStatus| !grows_into(&one.record, &next.record);
    describe_pairs(lines, is_torn, "contradict each other about its rounds: a record only grows")
}

/// Describes the lines with the same rounds as the next line but different seats. Only the centre
/// says which of the two came later, and so which hosts are seated.
pub(super) fn ambiguities(lines: &[CentreStatus]) -> Vec<String> {
    let is_ambiguous = |one: &CentreStatus, next: &CentreStatus| {
        let is_equal =
            grows_into(&one.record, &next.record) && grows_into(&next.record, &one.record);
        is_equal && seated(one) != seated(next)
    };
    describe_pairs(lines, is_ambiguous, "have the same rounds and different seats")
}

/// Describes the neighbouring lines that are `found`.
fn describe_pairs(
    lines: &[CentreStatus],
    found: impl Fn(&CentreStatus, &CentreStatus) -> bool,
    what: &str,
) -> Vec<String> {
    let pairs = (1..).zip(lines.windows(2)).filter(|(_, pair)| found(&pair[0], &pair[1]));
    let places = pairs.map(|(place, _): (usize, _)| (place, place + 1));
    places.map(|(one, next)| format!("lines {one} and {next} of the session {what}")).collect()
}

/// Returns the seated hosts with their classes.
fn seated(line: &CentreStatus) -> BTreeSet<(u16, MemberId)> {
    let chambers = line.chambers.iter();
    let seats = chambers.flat_map(|it| it.seats.iter().map(|seat| (it.class, seat.member.id)));
    seats.collect()
}

/// Returns true if one record can have grown into the other: by further rounds, and by further
/// replies to the last round of each class.
fn grows_into(one: &[Round], other: &[Round]) -> bool {
    let classes: BTreeSet<u16> = one.iter().map(|it| it.feedback.class).collect();
    classes.into_iter().all(|class| {
        let (one, other) = (of_class(one, class), of_class(other, class));
        let is_kept = |(place, (it, now)): (usize, (&Round, &Round))| {
            let has_grown = place + 1 == one.len();
            is_same(it, now) && (has_grown || is_same(now, it))
        };
        one.len() <= other.len() && one.iter().zip(&other).enumerate().all(is_kept)
    })
}

/// Returns true if `now` has the call and all replies of `it`, in any order.
fn is_same(it: &Round, now: &Round) -> bool {
    it.feedback == now.feedback
        && it.replies.iter().all(|it| now.replies.contains(it))
        && it.late.iter().all(|it| now.late.contains(it))
}

#[cfg(test)]
mod tests {
    use super::grows_into;
    use hustings_protocol::council::Round;
    use serde_json::json;

    fn round(class: u16, number: u32, hosts: &[u64]) -> Round {
        let feedback = json!({
            "session": 7, "class": class, "round": number, "base": 0, "seated": 0, "word": 1, "floor": null,
        });
        let voice = |host: &u64| json!({"host": host, "draws": 1, "number": 5});
        let replies: Vec<_> = hosts.iter().map(voice).collect();
        let round = json!({"feedback": feedback, "replies": replies});
        serde_json::from_value(round).expect("a round")
    }

    #[test]
    fn record_grows_at_the_end_of_each_class_and_never_changes() {
        let line = [round(0, 1, &[5]), round(1, 1, &[6]), round(0, 2, &[])];
        let grown = [round(0, 1, &[5]), round(1, 1, &[6, 8]), round(0, 2, &[7]), round(1, 2, &[])];
        assert!(grows_into(&line, &line));
        assert!(grows_into(&line, &grown));
        assert!(!grows_into(&grown, &line));
        let mut anew = grown.clone();
        anew[0] = round(0, 1, &[5, 9]);
        assert!(!grows_into(&line, &anew), "that round was over");
        let mut anew = grown;
        anew[1] = round(1, 1, &[8]);
        assert!(!grows_into(&line, &anew), "one that replied is gone");
    }
}
