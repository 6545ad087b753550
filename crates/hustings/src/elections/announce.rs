//! The announce family: LE-A, LE-S and LE-M, and the baselines SUP and AL.

mod baselines;
mod churn;
mod onlooker;
mod options;
mod paper;

use clap::Args;
use hustings_protocol::announce::{Announce, Config, Criterion};
use hustings_protocol::{Candidate, Duration, Instant, Merit};
use hustings_sim::watch::Expected;
use hustings_sim::{Boot, Detection, Scenario, Seeds, Stream, Verb, Who, announcing};

use super::{ClosedForm, Election};
use crate::failure::Failure;
use crate::measure::Metric;
use crate::options::Conditions;
use crate::report::Parameters;
use crate::trial::{Churn, Course};
pub(crate) use baselines::{AnnounceListenOptions, SuppressionOptions};
use onlooker::{Close, Onlooker, Story};
use options::{BEST_PRIORITY, MeritKind, Options, Settled};

/// The most announcements that may be under way at once.
const MOST_UNDER_WAY: f64 = 1e8;
/// More copies of multicasts than this are not kept: they would take some five gigabytes.
const MOST_COPIES: f64 = 1e8;
/// How many announce intervals a run with comings and goings lasts at least.
const INTERVALS_OF_CHURN: u64 = 60;
/// How many goings of the rarest kind it is to see.
const GOINGS_TO_SEE: u64 = 10;

/// The options of `announce`.
#[derive(Debug, Args)]
pub(crate) struct LeAOptions {
    #[command(flatten)]
    options: Options,
}

/// The options of `suppress`.
#[derive(Debug, Args)]
pub(crate) struct LeSOptions {
    #[command(flatten)]
    options: Options,
}

/// The options of `earliest`.
#[derive(Debug, Args)]
pub(crate) struct LeMOptions {
    #[command(flatten)]
    options: Options,
}

impl LeAOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Announcing, Failure> {
        let at_once = Some(Duration::ZERO);
        Announcing::new(
            "announce",
            &self.options,
            at_once,
            MeritKind::Id,
            conditions,
        )
    }
}

impl LeSOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Announcing, Failure> {
        Announcing::new("suppress", &self.options, None, MeritKind::Id, conditions)
    }
}

impl LeMOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Announcing, Failure> {
        match self.options.merit {
            None | Some(MeritKind::Wake) => {
                Announcing::new("earliest", &self.options, None, MeritKind::Wake, conditions)
            }
            Some(MeritKind::Id | MeritKind::Priority) => Err(Failure::Usage(
                "earliest is the election by --merit wake: for another merit choose suppress"
                    .to_owned(),
            )),
        }
    }
}

/// An election by LE-A, LE-S or LE-M.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announcing {
    name: &'static str,
    settled: Settled,
    schedule: Schedule,
}

impl Announcing {
    fn new(
        name: &'static str,
        options: &Options,
        suppress: Option<Duration>,
        usual_merit: MeritKind,
        conditions: &Conditions,
    ) -> Result<Self, Failure> {
        conditions.require_multicast_alone(name)?;
        let merit = options.merit.unwrap_or(usual_merit);
        let settled = options.settle(suppress, merit, conditions)?;
        let Config {
            suppress, announce, ..
        } = settled.config;
        let schedule = Schedule::new(settled.members, suppress, announce, conditions)?;
        Ok(Self {
            name,
            settled,
            schedule,
        })
    }
}

impl Election for Announcing {
    type Protocol = Announce;
    type Observer = Onlooker;
    const DETECTION: Detection = Detection::Never;

    fn name(&self) -> &'static str {
        self.name
    }

    fn members(&self) -> u32 {
        self.settled.members
    }

    fn round(&self) -> Duration {
        self.settled.config.announce
    }

    fn long_enough(&self) -> Duration {
        self.schedule.long_enough(self.settled.churn)
    }

    fn pace(&self) -> Duration {
        self.schedule.pace
    }

    fn flood(&self) -> u64 {
        self.schedule.flood
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Merit>, Scenario) {
        let merits = match self.settled.merit {
            MeritKind::Id | MeritKind::Wake => announcing::merits(self.settled.members),
            MeritKind::Priority => priorities(self.settled.members, seeds),
        };
        (merits, all_start())
    }

    fn config(&self) -> Config {
        self.settled.config
    }

    fn member(&self, boot: Boot<Announce>) -> Announce {
        Announce::new(boot.saved)
    }

    fn churn(&self) -> Churn {
        self.settled.churn
    }

    fn observer(&self, merits: &[Merit], course: Course) -> Onlooker {
        let expected = match self.settled.config.criterion {
            Criterion::Merit => Expected::Member(best(merits)),
            Criterion::EarliestWake => Expected::FirstAnnouncer,
        };
        Onlooker::new(merits, expected, Close::Heard, course)
    }

    fn metrics(&self, course: Course) -> Vec<Metric<Story>> {
        onlooker::metrics::<Announce>(Close::Heard, course)
    }

    fn parameters(&self) -> Parameters {
        self.settled.parameters()
    }

    fn sentence(&self) -> String {
        self.settled.sentence()
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        paper::election(&self.settled, conditions)
    }
}

/// How time goes by in an election by announcement.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    announce: Duration,
    /// By when it is over, almost surely.
    over: Duration,
    pace: Duration,
    flood: u64,
}

impl Schedule {
    fn new(
        members: u32,
        suppress: Duration,
        announce: Duration,
        conditions: &Conditions,
    ) -> Result<Self, Failure> {
        let delay = conditions.mean_delay().as_secs_f64();
        let in_a_delay = delay / announce.as_secs_f64();
        let under_way = f64::from(members) * in_a_delay;
        if under_way > MOST_UNDER_WAY {
            let enough = Duration::from_secs_f64(f64::from(members) * delay / MOST_UNDER_WAY);
            return Err(Failure::Usage(format!(
                "--announce-interval {announce} would have {under_way:.0} announcements under way at once: choose {enough} or more"
            )));
        }
        require_room(members, suppress, conditions)?;
        let announcements = announcements_needed(members, conditions.network.multicast_loss);
        Ok(Self {
            announce,
            over: suppress + announce * announcements + conditions.delay_bound() * 10,
            pace: announce.mul_f64(0.25),
            // Within four delays everybody may announce itself and, asked or corrected, ten times more.
            flood: 100_000 + (f64::from(members) * (10.0 + 50.0 * in_a_delay)) as u64,
        })
    }

    fn long_enough(&self, churn: Churn) -> Duration {
        let goings = churn.means().max().map(|mean| mean * GOINGS_TO_SEE);
        match goings {
            Some(goings) => self
                .over
                .max(goings)
                .max(self.announce * INTERVALS_OF_CHURN),
            None => self.over,
        }
    }
}

/// Where each receiver's copy takes its own time each is kept by itself: makes sure that memory has room for
/// all that may be under way before members that wake up within `suppress` have heard the first.
fn require_room(members: u32, suppress: Duration, conditions: &Conditions) -> Result<(), Failure> {
    if !conditions.copies_part() {
        return Ok(());
    }
    let delay = conditions.mean_delay().as_secs_f64();
    let share = match suppress {
        Duration::ZERO => 1.0,
        suppress => (delay / suppress.as_secs_f64()).min(1.0),
    };
    let copies = f64::from(members).powi(2) * share;
    if copies <= MOST_COPIES {
        return Ok(());
    }
    let few_enough = (MOST_COPIES / share).sqrt();
    Err(Failure::Usage(format!(
        "where messages take each its own time --members {members} may have {copies:.0} copies under way at once, more than memory has room for: choose {few_enough:.0} or fewer, or a constant --delay without --reorder"
    )))
}

/// So many that somebody hears none of them in one of a billion runs, if there is any hope.
fn announcements_needed(members: u32, loss: f64) -> u64 {
    const FEWEST: f64 = 10.0;
    const MOST: f64 = 100_000.0;
    if loss >= 1.0 {
        return FEWEST as u64;
    }
    let needed = (f64::from(members).ln() + 1e9_f64.ln()) / -loss.ln();
    needed.ceil().clamp(FEWEST, MOST) as u64
}

fn all_start() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.push(Instant::START, Verb::Start(Who::All));
    scenario
}

/// The best of members with these merits.
fn best(merits: &[Merit]) -> u32 {
    let candidates = (0..)
        .zip(merits)
        .map(|(id, merit)| Candidate::new(id, merit.0));
    candidates.max().map_or(0, |best| best.id.0 as u32)
}

/// Random merits; there are fewer of them than of members, mostly.
fn priorities(members: u32, seeds: Seeds) -> Vec<Merit> {
    let seed = seeds.number(Stream::Layout);
    (0..u64::from(members))
        .map(|member| Seeds::new(seed, member).number(Stream::Layout))
        .map(|number| Merit(number % (BEST_PRIORITY + 1)))
        .collect()
}
