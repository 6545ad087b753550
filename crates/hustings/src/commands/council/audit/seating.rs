//! Whether those are seated who were drawn, and nobody twice or under another's name.

use std::collections::BTreeSet;

use hustings_agent::Peer;
use hustings_agent::council::{CentreStatus, ChamberStatus, MOST_RECORDED};
use hustings_agent::identity::member_id;
use hustings_protocol::MemberId;
use hustings_protocol::council::{Config, Round};

use super::Names;
use super::record::rounds_of;
use crate::failure::say;

/// The draws of one class.
pub(super) struct Drawn<'a> {
    /// The round in which the first council was elected.
    pub(super) round: u32,
    /// By which of its draws.
    pub(super) draw: u8,
    /// The rounds up to that one.
    pub(super) first: &'a [Round],
    /// Those after it, which fill seats that fell empty.
    pub(super) later: &'a [Round],
}

impl<'a> Drawn<'a> {
    /// By all rounds of a class, of which a council was first elected in this one, by this draw.
    pub(super) fn new(rounds: &'a [Round], (round, draw): (u32, u8)) -> Self {
        let of_first = rounds.iter().take_while(|it| it.feedback.round <= round);
        let (first, later) = rounds.split_at(of_first.count());
        Self {
            round,
            draw,
            first,
            later,
        }
    }

    /// Whether this host may have held a seat of the class in a later round, by the last line before that round.
    pub(super) fn sat(
        &self,
        class: u16,
        (host, round): (MemberId, u32),
        lines: &[CentreStatus],
    ) -> bool {
        let last_of = |line: &CentreStatus| {
            let of_class = line.record.iter().filter(|it| it.feedback.class == class);
            of_class.map(|it| it.feedback.round).max().unwrap_or(0)
        };
        let is_seated = |line: &CentreStatus| {
            let chamber = line.chambers.get(usize::from(class));
            chamber.is_some_and(|it| it.seats.iter().any(|it| it.member.id == host))
        };
        let place = lines.partition_point(|it| last_of(it) < round);
        let before = lines[..place].last();
        match before.filter(|it| last_of(it) >= self.round) {
            Some(line) => is_seated(line),
            // That line is not there: of those who were elected first any may sit yet, and who sits next may have sat before.
            None => self.elected().contains(&host) || lines.get(place).is_some_and(is_seated),
        }
    }

    /// Who was elected first.
    fn elected(&self) -> BTreeSet<MemberId> {
        let last = self
            .first
            .iter()
            .filter(|it| it.feedback.round == self.round);
        let voices = last.flat_map(|it| &it.replies);
        voices
            .filter(|it| it.draws.has(self.draw))
            .map(|it| it.host)
            .collect()
    }

    /// In which later round this host may have been elected: it replied, with no more than there are seats.
    fn later_round(&self, host: MemberId, most: u32) -> Option<u32> {
        let may_elect = |round: &&Round| {
            let yes = |draw: u8| round.replies.iter().filter(move |it| it.draws.has(draw));
            let mut draws = (0..2).filter(|draw| yes(*draw).count() as u32 <= most);
            draws.any(|draw| yes(draw).any(|it| it.host == host))
        };
        let round = self.later.iter().find(may_elect);
        round.map(|it| it.feedback.round)
    }
}

/// In what a line cannot be that of a centre with these rules, whatever was drawn.
pub(super) fn misshapen(rules: &Config, line: &CentreStatus) -> Vec<String> {
    let in_words =
        |(class, least, most): (u16, u32, u32)| format!("class {class}: {least}..{most}");
    let told = line.chambers.iter().map(|it| (it.class, it.least, it.most));
    let told: Vec<String> = told.map(in_words).collect();
    let ruled = (0..).zip(&rules.chambers);
    let ruled = ruled.map(|(class, it)| (class, it.seats.least, it.seats.most));
    let ruled: Vec<String> = ruled.map(in_words).collect();
    if told != ruled {
        return vec![format!(
            "the line tells of seats of {}, and --seats of {}: check it with the options of its centre",
            told.join(", "),
            ruled.join(", ")
        )];
    }
    let mut faults = Vec::new();
    if line
        .record
        .iter()
        .any(|it| it.feedback.session != line.session)
    {
        faults.push(format!(
            "the record has rounds of another session than {}, the line's",
            line.session
        ));
    }
    for chamber in &line.chambers {
        let (class, taken) = (chamber.class, chamber.seats.len());
        if taken > chamber.most as usize {
            faults.push(format!(
                "class {class}: {taken} hold seats, and there are {}",
                chamber.most
            ));
        }
    }
    let mut known = BTreeSet::new();
    for Peer { name, id, .. } in line.seats().map(|it| &it.member) {
        // Whose name the centre does not know it calls by its identity.
        if member_id(name) != *id && *name != format!("#{:016x}", id.0) {
            faults.push(format!(
                "the seat of {name} is that of {:016x}, which is not the identity of that name",
                id.0
            ));
        }
        if !known.insert(*id) {
            faults.push(format!("{name} has two seats"));
        }
    }
    faults
}

/// What is wrong with who was seated for a class, by lines that are not misshapen; and how many of the last line were seated later.
pub(super) fn judge(
    class: u16,
    lines: &[CentreStatus],
    drawn: &Drawn<'_>,
    names: &Names<'_>,
) -> (Vec<String>, usize) {
    let (elected, elected_in) = (drawn.elected(), drawn.round);
    let of_class = lines
        .iter()
        .filter_map(|it| it.chambers.get(usize::from(class)));
    let chambers: Vec<&ChamberStatus> = of_class.collect();
    let seats = chambers.iter().flat_map(|it| &it.seats);
    let seated: BTreeSet<MemberId> = seats.map(|it| it.member.id).collect();
    for host in elected.difference(&seated) {
        // One that has gone since has none either, so that it proves nothing.
        let name = names.get(host);
        let name = name.map_or_else(|| format!("{:016x}", host.0), |it| it.0.to_owned());
        say(&format!(
            "note: {name} was elected in round {elected_in}, and has no seat"
        ));
    }
    let mut faults = Vec::new();
    if seated.is_empty() {
        faults.push(format!("class {class}: nobody is seated"));
    }
    let begins_anew = drawn
        .later
        .first()
        .is_some_and(|it| it.feedback.seated == 0);
    if begins_anew && seated.is_disjoint(&elected) {
        faults.push(format!(
            "class {class}: a council was elected in round {elected_in}, and the centre called again. If that council was seated, check the \
             line that says so too"
        ));
    }
    let mut notes = BTreeSet::new();
    for line in lines {
        // By what it tells itself: nobody is seated by what is yet to come.
        let rounds = rounds_of(line, class);
        let own = Drawn::new(&rounds, (drawn.round, drawn.draw));
        let (winners, is_full) = (own.elected(), line.record.len() >= MOST_RECORDED);
        let chamber = line.chambers.get(usize::from(class));
        let most = chamber.map_or(0, |it| it.most);
        let members = chamber.into_iter().flat_map(|it| &it.seats);
        let others = members.map(|it| &it.member);
        for Peer { name, id, .. } in others.filter(|it| !winners.contains(&it.id)) {
            match own.later_round(*id, most) {
                Some(round) => {
                    notes.insert(format!(
                        "note: {name} was seated after the first election, in round {round} or later"
                    ));
                }
                None if is_full => faults.push(format!(
                    "class {class}: {name} has a seat, and was not elected in round {elected_in}. Whether it was later cannot be told: the \
                     record is full. Check what the centre printed before"
                )),
                None => faults.push(format!(
                    "class {class}: {name} has a seat, and was not elected in round {elected_in}"
                )),
            }
        }
    }
    notes.iter().for_each(|it| say(it));
    let last = chambers.last().map_or(&[][..], |it| &it.seats);
    let later = last.iter().filter(|it| !elected.contains(&it.member.id));
    (faults, later.count())
}

#[cfg(test)]
mod tests {
    use super::{Drawn, Names, judge};
    use hustings_agent::council::CentreStatus;
    use hustings_protocol::MemberId;
    use hustings_protocol::council::Round;
    use serde_json::{Value, json};

    /// Of a centre that seats one, where only this one is seated after these rounds.
    fn line(host: u64, rounds: &[Round]) -> CentreStatus {
        let member = json!({"name": format!("#{host:016x}"), "id": host, "address": null});
        let seat = json!({"place": 0, "member": member, "since": 0, "heard": 0, "confirmed": true, "lease": null});
        let line = json!({
            "group": "fleet", "centre": "centre", "session": 7, "is_settled": true, "rounds": 0, "replies": 0, "late": 0,
            "peak_replies": 0, "changes": 0, "gives_way_to": null, "held_elsewhere": null, "awaits": null,
            "chambers": [{"class": 0, "least": 1, "most": 1, "seats": [seat]}], "record": rounds,
        });
        serde_json::from_value(line).expect("a line")
    }

    fn round(number: u32, seated: u16, host: u64) -> Round {
        let feedback: Value = json!({
            "session": 7, "class": 0, "round": number, "base": 0, "seated": seated, "word": 1, "floor": null,
        });
        let replies = json!([{"host": host, "draws": 1, "number": 5}]);
        let round = json!({"feedback": feedback, "replies": replies});
        serde_json::from_value(round).expect("a round")
    }

    #[test]
    fn a_council_that_was_lost_as_a_whole_is_told_from_one_that_was_never_seated() {
        let rounds = [round(1, 0, 5), round(2, 0, 6)];
        let drawn = Drawn::new(&rounds, (1, 0));
        let judge = |lines: &[CentreStatus]| judge(0, lines, &drawn, &Names::new());
        let (before, after) = (line(5, &rounds[..1]), line(6, &rounds));
        assert_eq!(judge(&[before.clone(), after.clone()]), (Vec::new(), 1));
        let (faults, _) = judge(std::slice::from_ref(&after));
        assert!(
            matches!(&faults[..], [it] if it.contains("and the centre called again")),
            "{faults:?}"
        );
        // Nor does a later reply help one that was seated before it.
        let (faults, _) = judge(&[before, line(6, &rounds[..1]), after]);
        assert!(
            matches!(&faults[..], [it] if it.ends_with("has a seat, and was not elected in round 1")),
            "{faults:?}"
        );
    }

    #[test]
    fn who_sat_in_a_later_round_is_told_by_the_line_before_it() {
        let rounds = [round(1, 0, 5), round(2, 0, 6), round(3, 0, 8)];
        let drawn = Drawn::new(&rounds, (1, 0));
        let whole = [
            line(5, &rounds[..1]),
            line(6, &rounds[..2]),
            line(8, &rounds),
        ];
        let sat = |lines: &[CentreStatus], round| {
            let hosts = [5, 6, 8].map(MemberId).into_iter();
            let sat = hosts.filter(|it| drawn.sat(0, (*it, round), lines));
            sat.map(|it| it.0).collect::<Vec<u64>>()
        };
        assert_eq!((sat(&whole, 2), sat(&whole, 3)), (vec![5], vec![6]));
        assert_eq!(sat(&whole[2..], 2), [5, 8]);
    }
}
