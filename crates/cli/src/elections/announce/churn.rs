//! The options for members that come and go.

use clap::{Args, ValueEnum};
use hustings_protocol::Duration;
use hustings_protocol::announce::Repeat;
use hustings_sim::trial::Churn;

use crate::failure::Failure;
use crate::options::{SignedArg, name_of, values};
use crate::report::Parameters;

/// The default absence of a member that went away, in announce intervals.
const ABSENCE_INTERVALS: u64 = 10;

/// The options for members that come and go.
#[derive(Debug, Args)]
pub(super) struct ChurnOptions {
    /// The kinds of churn, at random times with these mean intervals: the leader leaves
    /// (leave:30s), the leader crashes (die:30s), another member goes and comes late (join:10s);
    /// several as in leave:1m,join:10s. Every member that went comes back. Members notice a
    /// departure only with a T_L, or with goodbyes
    #[arg(long, value_name = "KIND:MEAN,..", value_delimiter = ',', value_parser = turn,
          allow_hyphen_values = true)]
    churn: Vec<Turn>,

    /// The absence of a member that went by --churn. Then it comes back as a late joiner, so that
    /// the group keeps its size. Default: 10 announce intervals
    #[arg(long, value_name = "DURATION", signed = values::duration, requires = "churn")]
    absence: Option<Duration>,
}

/// One kind of churn and its mean interval.
type Turn = (TurnKind, Duration);

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TurnKind {
    Leave,
    Die,
    Join,
}

fn turn(text: &str) -> Result<Turn, String> {
    const USAGE: &str = "choose leave, die or join, and a mean time, as in leave:30s";
    let (kind, mean) = text.split_once(':').ok_or(USAGE)?;
    let kind = TurnKind::from_str(kind, false).map_err(|_| USAGE)?;
    Ok((kind, values::some_time(mean)?))
}

impl ChurnOptions {
    pub(super) fn settle(&self, announce: Duration) -> Result<Churn, Failure> {
        let absence = self.absence.unwrap_or(announce * ABSENCE_INTERVALS);
        let mut churn = Churn { absence, ..Churn::default() };
        let least = announce.mul_f64(0.01);
        for (kind, mean) in &self.churn {
            let name = name_of(kind);
            if *mean < least {
                return Err(Failure::Usage(format!(
                    "--churn {name}:{mean} is too often: choose {least} or more, a hundredth of the announce interval"
                )));
            }
            let place = match kind {
                TurnKind::Leave => &mut churn.leave,
                TurnKind::Die => &mut churn.die,
                TurnKind::Join => &mut churn.join,
            };
            if place.replace(*mean).is_some() {
                return Err(Failure::Usage(format!("--churn has {name} twice: give {name} once")));
            }
        }
        Ok(churn)
    }
}

/// Formats churn as [`ChurnOptions`] reads it.
fn show(churn: Churn) -> Option<String> {
    let show = |kind, mean: Option<Duration>| mean.map(|mean| format!("{kind}:{mean}"));
    let turns = [show("leave", churn.leave), show("die", churn.die), show("join", churn.join)];
    let shown: Vec<String> = turns.into_iter().flatten().collect();
    (!shown.is_empty()).then(|| shown.join(","))
}

/// Checks that a member notices when a leader goes.
pub(super) fn require_notice(
    churn: Churn,
    leaders_are_missed: bool,
    farewell: Repeat,
) -> Result<(), Failure> {
    let says_goodbye = farewell != Repeat::Times(0);
    let unnoticed = match churn {
        Churn { die: Some(_), .. } if !leaders_are_missed => "die",
        Churn { leave: Some(_), .. } if !leaders_are_missed && !says_goodbye => "leave",
        Churn { .. } => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "--churn {unnoticed} with --listen-interval none: no member would ever miss the leader; \
         choose --listen-interval 3s"
    )))
}

pub(super) fn parameters(churn: Churn) -> Parameters {
    let absence = (!churn.is_none()).then(|| churn.absence.to_string());
    Parameters::default().with("churn", show(churn)).with("absence", absence)
}

pub(super) fn sentence(churn: Churn) -> String {
    show(churn)
        .map(|shown| format!(", churn {shown}, back after {}", churn.absence))
        .unwrap_or_default()
}
