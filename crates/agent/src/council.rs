//! A council's terms, as its centre tells them with each word, and what centre and hosts tell of it.
//!
//! A host is configured with nothing but its group: how many are elected, in what way and for how long the centre says. So a
//! fleet need not be touched when somebody wants another council of it.

mod first_call;

use hustings_protocol::council::{
    Algorithm, Chamber, Coin, Config, Estimate, Knowledge, Lease, MOST_SEATS, Message, Pick,
    Refill, Reset, Round, Search, Seats,
};
use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::leadership::Peer;
pub use first_call::{FirstCall, first_call};

/// A member's part in the council of its group.
#[derive(Debug, Clone, PartialEq)]
pub enum CouncilPart {
    /// None: it answers no centre.
    Off,
    /// It may be elected.
    Host {
        /// Of which class of hosts, where each class has seats of its own: below [`MOST_CLASSES`].
        class: u16,
        /// The name of the only member that it heeds as a centre; none: whoever calls, the latest of them.
        centre: Option<String>,
    },
    /// It calls the hosts, and holds no seat itself. A centre that began earlier gives way to it; but one that yields gives way to
    /// any other, and says nothing before it has listened for a lease.
    Centre(Box<Config>),
}

impl CouncilPart {
    /// A host where all are alike.
    pub const HOST: Self = Self::Host {
        class: 0,
        centre: None,
    };
}

impl CouncilPart {
    /// In a few words.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Off => "no council".to_owned(),
            Self::Host { class, centre } => {
                let centre = centre.as_ref();
                let centre = centre.map_or_else(String::new, |it| format!(", centre {it}"));
                format!("host of a council, class {class}{centre}")
            }
            Self::Centre(config) => {
                let seats = config.chambers.iter().map(|chamber| {
                    let Seats { least, most } = chamber.seats;
                    let c = chamber.c.first().map_or(0.0, |c| *c);
                    format!("{least}..{most} with c {c:.2}")
                });
                let seats: Vec<String> = seats.collect();
                format!("centre of a council of {}", seats.join(", "))
            }
        }
    }
}

/// The seed of public coins that follows from a text: half of its SHA-256.
pub fn public_seed(text: &str) -> u128 {
    let digest: [u8; 32] = sha2::Sha256::digest(text).into();
    u128::from_be_bytes(std::array::from_fn(|place| digest[place]))
}

/// So many rounds of a session a centre writes down for those who want to check them: more than a first election ever takes.
pub const MOST_RECORDED: usize = 256;

/// So many classes of hosts there may be.
pub const MOST_CLASSES: u16 = 256;

/// What a host must know to understand its centre.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    algorithm: (u8, u8),
    least: u32,
    most: u32,
    keep: u32,
    /// For as many seats as are filled.
    c: f64,
    coin: Option<u128>,
    lasts_ns: Option<u64>,
    /// By what a host goes down that has missed calls: the first estimate, alpha and beta.
    steps: Option<(u32, f64, f64)>,
    /// Whether it gives way to any other.
    pub(crate) yields: bool,
}

impl Terms {
    /// Those of `message`, by a centre that goes by `config`. None: hosts say that, or there is no such class.
    pub fn of(message: &Message, config: &Config) -> Option<Self> {
        let (class, seated) = addressed(message)?;
        let chamber = config.chambers.get(usize::from(class))?;
        let coin = match config.coin {
            Coin::Private => None,
            Coin::Public { seed } => Some(seed),
        };
        Some(Self {
            algorithm: code(config.algorithm),
            least: chamber.seats.least,
            most: chamber.seats.most,
            keep: chamber.keep,
            c: chamber.c(seated.into()),
            coin,
            lasts_ns: config.lease.map(|lease| lease.lasts.0),
            steps: config.steps().map(|it| (it.first, it.alpha, it.beta)),
            yields: config.yields,
        })
    }

    /// What a host goes by that hears `message` under these. None: no centre says so.
    pub(crate) fn config(&self, message: &Message) -> Option<Config> {
        let (class, seated) = addressed(message)?;
        let is_fit = self.most <= MOST_SEATS && u32::from(seated) <= MOST_SEATS;
        if !is_fit || class >= MOST_CLASSES {
            return None;
        }
        // Of the others there is no need here: any that can work.
        let mut c = vec![1.0; usize::from(seated)];
        c.push(self.c);
        let chamber = Chamber {
            seats: Seats::new(self.least, self.most),
            keep: self.keep,
            c,
        };
        // A feedback while the council is full makes no sense; heartbeats have no number of seats.
        let config = Config {
            chambers: vec![chamber; usize::from(class) + 1],
            algorithm: algorithm(self.algorithm)?,
            knowledge: match self.steps {
                None => Knowledge::Polled,
                Some((first, alpha, beta)) => Knowledge::Estimated(Estimate { alpha, beta, first }),
            },
            search: Search::Guarded,
            coin: self
                .coin
                .map_or(Coin::Private, |seed| Coin::Public { seed }),
            centre: None,
            yields: self.yields,
            round: A_MOMENT,
            lease: self.lasts_ns.map(|lasts| Lease {
                beat: A_MOMENT,
                lasts: Duration(lasts),
                refill: Refill::TopUp,
            }),
        };
        config.check().is_ok().then_some(config)
    }
}

/// How long rounds and heartbeats take matters to the centre alone.
const A_MOMENT: Duration = Duration(1);

/// To which class the centre speaks, and how many seats are filled there. None: no centre says so.
pub(crate) fn addressed(message: &Message) -> Option<(u16, u16)> {
    match message {
        Message::Feedback(it) => Some((it.class, it.seated)),
        Message::Seat(it) => Some((it.class, 0)),
        Message::Standing(it) => Some((it.class, 0)),
        Message::Reply(_) | Message::Present(_) | Message::Farewell(_) => None,
    }
}

fn code(algorithm: Algorithm) -> (u8, u8) {
    match algorithm {
        Algorithm::Naive => (0, 0),
        Algorithm::Basic => (1, 0),
        Algorithm::SkipReset => (2, 0),
        Algorithm::Choice(pick, reset) => {
            let pick = u8::from(pick == Pick::First);
            let reset = u8::from(reset == Reset::Polled);
            (3, pick << 1 | reset)
        }
        Algorithm::History { depth } => (4, depth),
        Algorithm::Merit => (5, 0),
        Algorithm::Bolot => (6, 0),
    }
}

fn algorithm(code: (u8, u8)) -> Option<Algorithm> {
    Some(match code {
        (0, 0) => Algorithm::Naive,
        (1, 0) => Algorithm::Basic,
        (2, 0) => Algorithm::SkipReset,
        (3, flags @ 0..=3) => {
            let pick = match flags >> 1 {
                0 => Pick::SmallestOvershoot,
                _ => Pick::First,
            };
            let reset = match flags & 1 {
                0 => Reset::Skipped,
                _ => Reset::Polled,
            };
            Algorithm::Choice(pick, reset)
        }
        (4, depth) => Algorithm::History { depth },
        (5, 0) => Algorithm::Merit,
        (6, 0) => Algorithm::Bolot,
        _ => return None,
    })
}

/// What a member tells of the council of its group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CouncilStatus {
    /// As one that may be elected.
    Host(HostStatus),
    /// As the one that calls.
    Centre(CentreStatus),
}

/// Whether a host holds a seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStatus {
    /// The group's name.
    pub group: String,
    /// Of which class of hosts it is.
    pub class: u16,
    /// The seat that it holds, if it does.
    pub seat: Option<SeatStatus>,
    /// How often that has changed since it came up.
    pub changes: u64,
}

/// A seat, as its holder knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatStatus {
    /// Which one.
    pub place: u8,
    /// Who gave it.
    pub centre: Peer,
    /// Since when, in nanoseconds on this host's boot clock.
    pub since: Instant,
    /// How long it lasts yet unless the centre is heard; none: for ever.
    pub lease: Option<Duration>,
}

/// A council, as its centre knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CentreStatus {
    /// The group's name.
    pub group: String,
    /// The centre's name.
    pub centre: String,
    /// The number of its session: later ones have greater.
    #[serde(with = "hustings_protocol::exact")]
    pub session: u64,
    /// One for each class of hosts.
    pub chambers: Vec<ChamberStatus>,
    /// Whether all that are to be filled are, and no election is under way.
    pub is_settled: bool,
    /// How many rounds there were.
    pub rounds: u64,
    /// How many replies came.
    pub replies: u64,
    /// How many of them after their round was over.
    pub late: u64,
    /// The most that came in one round, to whichever they were.
    pub peak_replies: u64,
    /// How often the council has changed.
    pub changes: u64,
    /// Another centre, which began later, or stands while this one yields: this one has stopped.
    pub gives_way_to: Option<Peer>,
    /// A host that holds a seat of another centre: this one, which yields, has stopped.
    pub held_elsewhere: Option<Peer>,
    /// For how long those who are elected wait yet, until seats that another centre gave are over.
    pub awaits: Option<Duration>,
    /// With public coins: the rounds of its session, for whoever wants to check them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub record: Vec<Round>,
}

/// The council of one class of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChamberStatus {
    /// The class.
    pub class: u16,
    /// At least so many seats are to be filled.
    pub least: u32,
    /// At most so many are.
    pub most: u32,
    /// Who holds one.
    pub seats: Vec<Seated>,
}

/// Who is seated, as the centre knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seated {
    /// In which place.
    pub place: u8,
    /// Who.
    pub member: Peer,
    /// Since when, in nanoseconds on the centre's boot clock.
    pub since: Instant,
    /// When it was last heard, or seated.
    pub heard: Instant,
    /// Whether it has said that it holds the seat, and its lease is not about to end.
    pub confirmed: bool,
    /// How long the centre counts on it yet unless it is heard; none: for ever.
    pub lease: Option<Duration>,
}

impl ChamberStatus {
    /// Whether it is a council: neither too few nor too many.
    pub fn is_filled(&self) -> bool {
        (self.least as usize..=self.most as usize).contains(&self.seats.len())
    }
}

impl CentreStatus {
    /// Who is seated, of all classes.
    pub fn seats(&self) -> impl Iterator<Item = &Seated> {
        self.chambers.iter().flat_map(|chamber| &chamber.seats)
    }

    /// Whether this centre calls nobody any more, as there is another.
    pub fn has_stopped(&self) -> bool {
        self.gives_way_to.is_some() || self.held_elsewhere.is_some()
    }

    /// Whether all who are seated have said that they know, and know it still.
    pub fn is_confirmed(&self) -> bool {
        self.seats().all(|it| it.confirmed)
    }

    /// Whether every class has its council.
    pub fn is_filled(&self) -> bool {
        self.chambers.iter().all(ChamberStatus::is_filled)
    }
}

#[cfg(test)]
mod tests {
    use super::{Terms, algorithm, code};
    use hustings_protocol::council::{
        Algorithm, Config, Feedback, Message, Pick, Reset, Seat, Seats, Standing,
    };
    use hustings_protocol::{Duration, MemberId, Merit};

    fn feedback(class: u16, seated: u16) -> Message {
        Message::Feedback(Feedback {
            session: 1,
            class,
            round: 1,
            base: 0,
            seated,
            word: 9,
            floor: None,
        })
    }

    fn config() -> Config {
        let mut config = Config::field(Seats::new(4, 8), 100_000, Duration::from_secs(1));
        config.chambers[0].c = vec![6.1, 5.5, 4.5, 3.5, 2.5];
        config
    }

    #[test]
    fn a_host_goes_by_what_its_centre_goes_by() {
        for seated in 0..5 {
            let message = feedback(0, seated);
            let terms = Terms::of(&message, &config()).unwrap();
            let bytes = postcard::to_allocvec(&terms).unwrap();
            let told: Terms = postcard::from_bytes(&bytes).unwrap();
            let heard = told.config(&message).unwrap();
            let (chamber, own) = (&heard.chambers[0], &config().chambers[0]);
            let seated = usize::from(seated);
            assert_eq!(chamber.c[seated].to_bits(), own.c[seated].to_bits());
            assert_eq!((chamber.seats, chamber.keep), (own.seats, own.keep));
            assert_eq!(heard.lease.unwrap().lasts, config().lease.unwrap().lasts);
            assert_eq!(heard.steps(), config().steps());
            assert!(heard.steps().is_some());
        }
    }

    #[test]
    fn seed_and_identity_of_a_public_coin_are_what_the_guide_says() {
        let seed = 0x4426_1f11_2c05_0a14_1f9d_1ab5_59cd_8c87;
        assert_eq!(super::public_seed("kept coin"), seed);
        let id = crate::identity::member_id("host-13");
        assert_eq!(id, MemberId(3_213_406_652_245_522_983));
    }

    #[test]
    fn every_algorithm_is_told() {
        let choice = |pick, reset| Algorithm::Choice(pick, reset);
        for it in [
            Algorithm::Naive,
            Algorithm::Basic,
            Algorithm::SkipReset,
            choice(Pick::SmallestOvershoot, Reset::Skipped),
            choice(Pick::SmallestOvershoot, Reset::Polled),
            choice(Pick::First, Reset::Skipped),
            choice(Pick::First, Reset::Polled),
            Algorithm::History { depth: 3 },
            Algorithm::Merit,
            Algorithm::Bolot,
        ] {
            assert_eq!(algorithm(code(it)), Some(it));
        }
        assert_eq!(algorithm((7, 0)), None);
        assert_eq!(algorithm((3, 4)), None);
    }

    #[test]
    fn terms_that_no_centre_has_are_refused_however_large() {
        let message = feedback(0, 0);
        let good = Terms::of(&message, &config()).unwrap();
        assert!(good.config(&message).is_some());
        let huge = u32::MAX;
        for bad in [
            Terms { least: 0, ..good },
            Terms { least: 9, ..good },
            Terms { most: huge, ..good },
            Terms {
                least: huge,
                most: huge,
                keep: huge,
                ..good
            },
            Terms { keep: huge, ..good },
            Terms {
                c: f64::NAN,
                ..good
            },
            Terms { c: -1.0, ..good },
            Terms { c: 9.0, ..good },
            Terms {
                c: f64::INFINITY,
                ..good
            },
            Terms {
                algorithm: (9, 9),
                ..good
            },
            Terms {
                algorithm: (4, 200),
                ..good
            },
            Terms {
                lasts_ns: Some(0),
                ..good
            },
            Terms {
                steps: Some((8, 0.7, 1.0)),
                ..good
            },
            Terms {
                steps: Some((100, f64::NAN, 1.0)),
                ..good
            },
        ] {
            assert_eq!(bad.config(&message), None, "{bad:?}");
        }
        for (class, seated) in [(u16::MAX, 0), (0, u16::MAX), (0, 5), (0, 9)] {
            let message = feedback(class, seated);
            assert_eq!(good.config(&message), None, "{class} {seated}");
        }
    }

    #[test]
    fn heartbeats_and_seats_have_terms_and_replies_have_none() {
        let standing = Message::Standing(Standing {
            session: 1,
            class: 0,
            beat: 1,
            places: 3,
        });
        let seat = Message::Seat(Seat {
            session: 1,
            class: 0,
            host: MemberId(1),
            round: 1,
            place: 1,
            beat: 1,
        });
        for message in [standing, seat] {
            let terms = Terms::of(&message, &config()).unwrap();
            assert!(terms.config(&message).is_some());
        }
        let reply = Message::Reply(hustings_protocol::council::Reply {
            session: 1,
            class: 0,
            round: 1,
            draws: hustings_protocol::council::Draws(1),
            number: 9,
            merit: Merit(0),
            former: Duration::ZERO,
        });
        assert_eq!(Terms::of(&reply, &config()), None);
    }
}
