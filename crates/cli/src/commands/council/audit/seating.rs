//! The check that exactly the drawn hosts are seated, each once and under its own name.

use std::collections::BTreeSet;

use hustings_agent::Peer;
use hustings_agent::council::CentreStatus;
use hustings_agent::identity::member_id;
use hustings_protocol::MemberId;
use hustings_protocol::council::{Config, Elected, Round, Voice};

use super::Names;
use super::record::{is_full, rounds_of};

/// The draws of one class.
pub(super) struct Drawn<'a> {
    pub(super) class: u16,
    /// The lines of the session. They must have passed [`misshapen`].
    pub(super) lines: &'a [CentreStatus],
    /// The rounds and draws that elected hosts.
    pub(super) elected: &'a Elected,
    /// The rounds up to the one that elected the first council.
    pub(super) first: &'a [Round],
    /// The rounds after it, which fill seats that fell empty.
    pub(super) later: &'a [Round],
}

impl Drawn<'_> {
    /// Returns true if this host may have held a seat of the class in a later round, by the last
    /// line before that round.
    pub(super) fn sat(&self, host: MemberId, round: u32) -> bool {
        let Self { class, lines, .. } = *self;
        let last_of = |line: &CentreStatus| {
            let of_class = line.record.iter().filter(|it| it.feedback.class == class);
            of_class.map(|it| it.feedback.round).max().unwrap_or(0)
        };
        let is_seated = |line: &CentreStatus| seats(line, class).any(|it| it.id == host);
        let place = lines.partition_point(|it| last_of(it) < round);
        let before = lines[..place].last();
        match before.filter(|it| last_of(it) >= self.elected.first.0) {
            Some(line) => is_seated(line),
            // That line is missing. Any host of the first council may still be seated, and a host
            // that is seated next may have been seated before.
            None => self.elected_first().contains(&host) || lines.get(place).is_some_and(is_seated),
        }
    }

    /// Returns the hosts of the first council.
    fn elected_first(&self) -> BTreeSet<MemberId> {
        let voices = voices(self.first, self.elected.first);
        voices.map(|it| it.host).collect()
    }

    /// Returns the hosts that were or may have been elected, with the rounds.
    fn elected(&self) -> impl Iterator<Item = (MemberId, u32)> {
        let of_draw = |draw: &(u32, u8)| {
            let (draw, rounds) = (*draw, [self.first, self.later]);
            let voices = rounds.into_iter().flat_map(move |it| voices(it, draw));
            voices.map(move |it| (it.host, draw.0))
        };
        self.elected.all.iter().flat_map(of_draw)
    }
}

/// Returns the replies with a yes in this round and draw.
fn voices(rounds: &[Round], (round, draw): (u32, u8)) -> impl Iterator<Item = &Voice> {
    let of_round = rounds.iter().filter(move |it| it.feedback.round == round);
    let voices = of_round.flat_map(|it| &it.replies);
    voices.filter(move |it| it.draws.has(draw))
}

/// Describes why no centre with these rules can have printed a line, whatever was drawn.
pub(super) fn misshapen(rules: &Config, line: &CentreStatus) -> Vec<String> {
    let in_words =
        |(class, least, most): (u16, u32, u32)| format!("class {class}: {least}..{most}");
    let told = line.chambers.iter().map(|it| in_words((it.class, it.least, it.most)));
    let told: Vec<String> = told.collect();
    let ruled = (0..).zip(&rules.chambers);
    let ruled = ruled.map(|(class, it)| in_words((class, it.seats.least, it.seats.most)));
    let ruled: Vec<String> = ruled.collect();
    if told != ruled {
        return vec![format!(
            "the line has seats of {}, and --seats has {}: check the line with the options of \
             its centre",
            told.join(", "),
            ruled.join(", ")
        )];
    }
    let mut faults = Vec::new();
    if line.record.iter().any(|it| it.feedback.session != line.session) {
        faults.push(format!(
            "the record has rounds of a session other than {}, the session of the line",
            line.session
        ));
    }
    for chamber in &line.chambers {
        let (class, taken) = (chamber.class, chamber.seats.len());
        if taken > chamber.most as usize {
            faults.push(format!(
                "class {class}: {taken} hosts hold seats, and there are {} seats",
                chamber.most
            ));
        }
    }
    let mut known = BTreeSet::new();
    for Peer { name, id, .. } in line.seats().map(|it| &it.member) {
        if member_id(name) != *id && *name != unnamed(*id) {
            faults.push(format!(
                "the seat of {name} has the identity {:016x}, which does not belong to that name",
                id.0
            ));
        }
        if !known.insert(*id) {
            faults.push(format!("{name} has two seats"));
        }
    }
    faults
}

/// Describes seats whose name differs from the host list's name for the same identity. An attacker
/// can compute such a name within seconds: an identity is a hash of the name, and that hash is not
/// a secure one.
pub(super) fn misnamed(names: &Names<'_>, line: &CentreStatus) -> Vec<String> {
    let mut faults = Vec::new();
    for Peer { name, id, .. } in line.seats().map(|it| &it.member) {
        let listed = names.get(id).map(|it| it.0);
        if let Some(listed) = listed.filter(|it| it != name && *name != unnamed(*id)) {
            faults.push(format!(
                "the seat of {name} belongs to {listed}: both names have the identity {:016x}, \
                 and only {listed} is on the list of hosts",
                id.0
            ));
        }
    }
    faults
}

/// The name that a centre writes for a host whose name it does not know.
fn unnamed(id: MemberId) -> String {
    format!("#{:016x}", id.0)
}

/// The findings about the seats of one class.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) faults: Vec<String>,
    /// Notes for the user.
    pub(super) notes: BTreeSet<String>,
    /// The hosts seated after the first election, on any line.
    pub(super) later: BTreeSet<MemberId>,
    /// The hosts that were elected and have no seat on the last line.
    pub(super) seatless: BTreeSet<MemberId>,
    /// The holders of seats that the record no longer covers.
    pub(super) untold: BTreeSet<MemberId>,
}

/// Checks the seats of a class.
pub(super) fn judge(drawn: &Drawn<'_>, names: &Names<'_>) -> Found {
    let mut found = Found::default();
    found.check_elected(drawn, names);
    drawn.lines.iter().for_each(|line| found.check_seated(drawn.class, line, drawn.elected));
    found
}

impl Found {
    /// Checks that the elected hosts are seated.
    fn check_elected(&mut self, drawn: &Drawn<'_>, names: &Names<'_>) {
        let Drawn { class, lines, .. } = *drawn;
        let (elected, elected_in) = (drawn.elected_first(), drawn.elected.first.0);
        let holders = |line| seats(line, class).map(|it| it.id);
        let seated: BTreeSet<MemberId> = lines.iter().flat_map(holders).collect();
        let at_last: BTreeSet<MemberId> = lines.last().into_iter().flat_map(holders).collect();
        for (host, round) in drawn.elected() {
            let name = names.get(&host);
            let name = name.map_or_else(|| format!("{:016x}", host.0), |it| it.0.to_owned());
            if !seated.contains(&host) {
                // A host that has left since has no seat either, so this proves nothing.
                self.seatless.insert(host);
                self.note(&format!("{name} was elected in round {round}, and has no seat"));
            } else if round != elected_in && elected.contains(&host) {
                self.later.insert(host);
                self.note(&format!(
                    "{name} was elected again after the first election, in round {round}"
                ));
            } else if !at_last.contains(&host) {
                // Only the centre says that the seat fell empty.
                self.seatless.insert(host);
                self.note(&format!(
                    "{name} was elected in round {round}, and has no seat any more"
                ));
            }
        }
        if seated.is_empty() {
            self.faults.push(format!("class {class}: no host is seated"));
        }
        let begins_anew = drawn.later.first().is_some_and(|it| it.feedback.seated == 0);
        if begins_anew && seated.is_disjoint(&elected) {
            self.faults.push(format!(
                "class {class}: a council was elected in round {elected_in}, and the centre \
                 called again. If that council was seated, also check the line that shows it"
            ));
        }
    }

    /// Checks that the hosts that are seated on a line were elected.
    fn check_seated(&mut self, class: u16, line: &CentreStatus, elected: &Elected) {
        let elected_in = elected.first.0;
        // The rounds on the line itself count: later replies cannot have seated a host.
        let rounds = rounds_of(line, class);
        let round_of = |host: MemberId| {
            let mut draws = elected.all.iter();
            let draw = draws.find(|it| voices(&rounds, **it).any(|it| it.host == host));
            draw.map(|it| it.0)
        };
        let last = rounds.last().map_or(0, |it| it.feedback.round);
        let is_lost = elected.lost_from.is_some_and(|it| it <= last);
        for Peer { name, id, .. } in seats(line, class) {
            match round_of(*id) {
                Some(round) if round == elected_in => {}
                Some(round) => {
                    self.later.insert(*id);
                    self.note(&format!(
                        "{name} was seated after the first election, in round {round} or later"
                    ));
                }
                None if is_lost || is_full(line) => {
                    let why = if is_lost {
                        "there are too many ways in which seats may have fallen empty"
                    } else {
                        "the record is full"
                    };
                    self.untold.insert(*id);
                    self.note(&format!(
                        "class {class}: {name} has a seat, and was not elected in round \
                         {elected_in}. These lines do not show whether it was elected later: \
                         {why}. Check the earlier lines of the centre too"
                    ));
                }
                None => self.faults.push(format!(
                    "class {class}: {name} has a seat, and was not elected in round {elected_in} \
                     or later"
                )),
            }
        }
    }

    fn note(&mut self, what: &str) {
        self.notes.insert(format!("note: {what}"));
    }
}

/// Returns the holders of the seats of a class on a line.
fn seats(line: &CentreStatus, class: u16) -> impl Iterator<Item = &Peer> {
    let chamber = line.chambers.get(usize::from(class));
    chamber.into_iter().flat_map(|it| &it.seats).map(|it| &it.member)
}

#[cfg(test)]
mod tests {
    use super::{Drawn, Found, Names, judge};
    use hustings_agent::council::CentreStatus;
    use hustings_protocol::MemberId;
    use hustings_protocol::council::{Elected, Round};
    use serde_json::{Value, json};

    /// A line of a centre with one seat, held by this host after these rounds.
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

    /// An election result with these rounds.
    fn elected(rounds: &[u32]) -> Elected {
        Elected { first: (1, 0), all: rounds.iter().map(|it| (*it, 0)).collect(), lost_from: None }
    }

    fn drawn<'a>(
        lines: &'a [CentreStatus],
        rounds: &'a [Round],
        elected: &'a Elected,
    ) -> Drawn<'a> {
        let (first, later) = rounds.split_at(1);
        Drawn { class: 0, lines, elected, first, later }
    }

    #[test]
    fn lost_council_is_distinguished_from_one_that_was_never_seated() {
        let rounds = [round(1, 0, 5), round(2, 0, 6)];
        let elected = elected(&[1, 2]);
        let judge = |lines: &[CentreStatus]| judge(&drawn(lines, &rounds, &elected), &Names::new());
        let (before, after) = (line(5, &rounds[..1]), line(6, &rounds));
        let found = judge(&[before.clone(), after.clone()]);
        assert_eq!(found.faults, [""; 0]);
        assert_eq!((found.later.len(), found.seatless.len()), (1, 1));
        let Found { faults, .. } = judge(std::slice::from_ref(&after));
        assert!(
            matches!(&faults[..], [it] if it.contains("and the centre called again")),
            "{faults:?}"
        );
        // A later reply does not justify an earlier seat.
        let Found { faults, .. } = judge(&[before, line(6, &rounds[..1]), after]);
        assert!(
            matches!(&faults[..], [it] if it.ends_with("has a seat, and was not elected in round 1 or later")),
            "{faults:?}"
        );
    }

    #[test]
    fn seats_in_a_later_round_follow_from_the_line_before_it() {
        let rounds = [round(1, 0, 5), round(2, 0, 6), round(3, 0, 8)];
        let elected = elected(&[1, 2, 3]);
        let whole = [line(5, &rounds[..1]), line(6, &rounds[..2]), line(8, &rounds)];
        let sat = |lines: &[CentreStatus], round| {
            let hosts = [5, 6, 8].map(MemberId).into_iter();
            let sat = hosts.filter(|it| drawn(lines, &rounds, &elected).sat(*it, round));
            sat.map(|it| it.0).collect::<Vec<u64>>()
        };
        assert_eq!((sat(&whole, 2), sat(&whole, 3)), (vec![5], vec![6]));
        assert_eq!(sat(&whole[2..], 2), [5, 8]);
    }
}
