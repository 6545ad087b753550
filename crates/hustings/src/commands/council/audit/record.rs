//! What a centre printed: the lines of each session, and whether they tell one story.

use std::collections::BTreeMap;

use hustings_agent::council::{CentreStatus, MOST_RECORDED};
use hustings_protocol::council::Round;

/// The lines of each session, by its number: one at least, each as they were printed.
pub(super) fn sessions(text: &str) -> Result<BTreeMap<u64, Vec<CentreStatus>>, String> {
    let lines = text.lines().enumerate();
    let mut sessions: BTreeMap<u64, Vec<CentreStatus>> = BTreeMap::new();
    for (place, line) in lines.filter(|(_, it)| !it.trim().is_empty()) {
        let line = serde_json::from_str::<CentreStatus>(line).map_err(|error| {
            let line = place + 1;
            format!("line {line} is not a line of a centre: {error}")
        })?;
        sessions.entry(line.session).or_default().push(line);
    }
    match sessions.is_empty() {
        true => Err("no line of a centre: keep what it prints with --format json".to_owned()),
        false => Ok(sessions),
    }
}

/// Whether a line tells of as many rounds as a centre writes down: there may have been more.
pub(super) fn is_full(line: &CentreStatus) -> bool {
    line.record.len() >= MOST_RECORDED
}

/// The rounds of one class that a line tells of.
pub(super) fn rounds_of(line: &CentreStatus, class: u16) -> Vec<Round> {
    let of_class = line.record.iter().filter(|it| it.feedback.class == class);
    of_class.cloned().collect()
}

/// Which lines tell another story than the line after them, if any do.
pub(super) fn contradictions(lines: &[CentreStatus]) -> Vec<String> {
    let pairs = (1..).zip(lines.windows(2));
    let torn = pairs.filter(|(_, pair)| !grows_into(&pair[0].record, &pair[1].record));
    torn.map(|(place, _)| {
        let next = place + 1;
        format!(
            "lines {place} and {next} of the session tell of its rounds in two ways: a record only grows"
        )
    })
    .collect()
}

/// Whether a record can have become another: rounds have followed, and replies to the last one of each class.
fn grows_into(one: &[Round], other: &[Round]) -> bool {
    let is_kept = |place: usize, it: &Round, now: &Round| {
        let class = it.feedback.class;
        let mut after = one[place + 1..].iter();
        let is_last = after.all(|it| it.feedback.class != class);
        let has_grown = it.feedback == now.feedback
            && now.replies.starts_with(&it.replies)
            && now.late.starts_with(&it.late);
        it == now || is_last && has_grown
    };
    let pairs = one.iter().zip(other).enumerate();
    let mut kept = pairs.map(|(place, (it, now))| is_kept(place, it, now));
    one.len() <= other.len() && kept.all(|it| it)
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
    fn a_record_grows_at_the_end_of_each_class_and_is_never_told_anew() {
        let line = [round(0, 1, &[5]), round(1, 1, &[6]), round(0, 2, &[])];
        let grown = [
            round(0, 1, &[5]),
            round(1, 1, &[6, 8]),
            round(0, 2, &[7]),
            round(1, 2, &[]),
        ];
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
