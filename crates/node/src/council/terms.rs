//! The terms of a council, and the status that the centre and the hosts report.
//!
//! Purpose     the rules that a centre sends with each message, and the types of the status
//! Inputs      the centre's configuration; the terms in a received message
//! Outputs     [`Terms`] to send; the configuration that a host uses for one message
//! Owns        nothing
//! Invariants  terms that no centre can have give no configuration, however large their numbers
//!
//! A host is configured with its group alone. The centre says how many hosts are elected, by which
//! algorithm and for how long. An operator can therefore want another council without touching the
//! fleet.

use hustings_protocol::council::{
    Algorithm, Chamber, Coin, Config, Estimate, Knowledge, Lease, MOST_SEATS, Message, Pick,
    Refill, Reset, Round, Search, Seats,
};
use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::leadership::Peer;

/// A member's part in the council of its group.
#[derive(Debug, Clone, PartialEq)]
pub enum CouncilPart {
    /// No part: the member answers no centre.
    Off,
    /// The member may be elected.
    Host {
        /// The class of the host, below [`MOST_CLASSES`]. Each class has seats of its own.
        class: u16,
        /// The name of the only member that the host accepts as a centre. With `None` it accepts
        /// any centre, the one with the latest session.
        centre: Option<String>,
    },
    /// The member calls the hosts, and holds no seat itself. A centre with an earlier session gives
    /// way to it. A centre that yields gives way to any other, and sends nothing before it has
    /// listened for a lease.
    Centre(Box<Config>),
}

impl CouncilPart {
    /// A host in a group with one class.
    pub const HOST: Self = Self::Host { class: 0, centre: None };

    /// A short description for people.
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

/// The seed of public coins that follows from a text: the first half of its SHA-256 digest.
pub fn public_seed(text: &str) -> u128 {
    let digest: [u8; 32] = sha2::Sha256::digest(text).into();
    u128::from_be_bytes(std::array::from_fn(|place| digest[place]))
}

/// The number of rounds of a session that a centre records for checks: more than a first election
/// ever takes.
pub const MOST_RECORDED: usize = 256;

/// The number of classes of hosts.
pub const MOST_CLASSES: u16 = 256;

/// The rules that a host must know to understand its centre.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    algorithm: (u8, u8),
    least: u32,
    most: u32,
    keep: u32,
    /// The constant c for the number of seats that are filled.
    c: f64,
    coin: Option<u128>,
    lasts_ns: Option<u64>,
    /// The first estimate, alpha and beta, from which a host that has missed calls computes its
    /// threshold.
    steps: Option<(u32, f64, f64)>,
    /// True if the centre gives way to any other.
    pub(super) yields: bool,
}

impl Terms {
    /// The terms for `message` from a centre with `config`. None if only hosts send such a message,
    /// or if the class does not exist.
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

    /// The configuration with which a host handles `message` under these terms. None if no centre
    /// sends such a message.
    pub(super) fn config(&self, message: &Message) -> Option<Config> {
        let (class, seated) = addressed(message)?;
        let is_fit = self.most <= MOST_SEATS && u32::from(seated) <= MOST_SEATS;
        if !is_fit || class >= MOST_CLASSES {
            return None;
        }
        // The host needs no other constants: any valid ones will do.
        let mut c = vec![1.0; usize::from(seated)];
        c.push(self.c);
        let chamber = Chamber { seats: Seats::new(self.least, self.most), keep: self.keep, c };
        // The check refuses feedback while the council is full. Heartbeats carry no number of
        // seats.
        let config = Config {
            chambers: vec![chamber; usize::from(class) + 1],
            algorithm: algorithm(self.algorithm)?,
            knowledge: match self.steps {
                None => Knowledge::Polled,
                Some((first, alpha, beta)) => Knowledge::Estimated(Estimate { alpha, beta, first }),
            },
            search: Search::Guarded,
            coin: self.coin.map_or(Coin::Private, |seed| Coin::Public { seed }),
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

/// A placeholder: the length of rounds and heartbeats matters to the centre alone.
const A_MOMENT: Duration = Duration(1);

/// The class that a centre's message addresses, and the number of seats that are filled there. None
/// if no centre sends such a message.
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
        Algorithm::Priority => (5, 0),
        Algorithm::Bolot => (6, 0),
    }
}

/// The algorithm with this [`code`].
fn algorithm(known: (u8, u8)) -> Option<Algorithm> {
    let picks = [Pick::SmallestOvershoot, Pick::First];
    let choices = picks.into_iter().flat_map(|pick| {
        [Reset::Skipped, Reset::Polled].map(|reset| Algorithm::Choice(pick, reset))
    });
    let history = Algorithm::History { depth: known.1 };
    [Algorithm::Naive, Algorithm::Basic, Algorithm::SkipReset, history]
        .into_iter()
        .chain([Algorithm::Priority, Algorithm::Bolot])
        .chain(choices)
        .find(|it| code(*it) == known)
}

/// The status of a council, as one member reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CouncilStatus {
    /// The status of a host.
    Host(HostStatus),
    /// The status of the centre.
    Centre(CentreStatus),
}

/// The status of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStatus {
    /// The group's name.
    pub group: String,
    /// The host's class.
    pub class: u16,
    /// The seat that the host holds, if any.
    pub seat: Option<SeatStatus>,
    /// The number of times that the seat has changed since the host started.
    pub changes: u64,
}

/// A seat, as its holder knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatStatus {
    /// The number of the seat.
    pub place: u8,
    /// The centre that gave the seat.
    pub centre: Peer,
    /// The time at which it was given, in nanoseconds on this host's boot clock.
    pub since: Instant,
    /// The time for which the seat still lasts if no message of the centre arrives; none: for ever.
    pub lease: Option<Duration>,
}

/// A council, as its centre knows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CentreStatus {
    /// The group's name.
    pub group: String,
    /// The centre's name.
    pub centre: String,
    /// The number of its session. Later sessions have greater numbers.
    #[serde(with = "hustings_protocol::exact")]
    pub session: u64,
    /// The chambers, one for each class of hosts.
    pub chambers: Vec<ChamberStatus>,
    /// True if all seats are filled and no election is under way.
    pub is_settled: bool,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of replies.
    pub replies: u64,
    /// The number of replies that came after the end of their round.
    pub late: u64,
    /// The greatest number of replies that came during one round, to any round.
    pub peak_replies: u64,
    /// The number of changes of the council.
    pub changes: u64,
    /// The other centre for which this one has stopped: it has a later session, or this one yields.
    pub gives_way_to: Option<Peer>,
    /// A host that holds a seat of another centre. This centre yields, and has stopped.
    pub held_elsewhere: Option<Peer>,
    /// The time for which elected hosts still wait, until the seats of another centre have ended.
    pub awaits: Option<Duration>,
    /// The rounds of the session, for checks; with public coins only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub record: Vec<Round>,
}

/// The council of one class of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChamberStatus {
    /// The class.
    pub class: u16,
    /// The least number of seats to fill.
    pub least: u32,
    /// The greatest number of seats to fill.
    pub most: u32,
    /// The hosts that hold a seat.
    pub seats: Vec<Seated>,
}

/// The holder of a seat, as the centre knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seated {
    /// The number of the seat.
    pub place: u8,
    /// The host.
    pub member: Peer,
    /// The time at which the seat was given, in nanoseconds on the centre's boot clock.
    pub since: Instant,
    /// The time of its last message, or of its election.
    pub heard: Instant,
    /// True if the host has confirmed the seat, and its lease is not about to end.
    pub confirmed: bool,
    /// The time for which the centre still counts on it if no message of it arrives; none: for
    /// ever.
    pub lease: Option<Duration>,
}

impl ChamberStatus {
    /// True if the number of seats is within the limits.
    pub fn is_filled(&self) -> bool {
        (self.least as usize..=self.most as usize).contains(&self.seats.len())
    }
}

impl CentreStatus {
    /// The holders of seats, of all classes.
    pub fn seats(&self) -> impl Iterator<Item = &Seated> {
        self.chambers.iter().flat_map(|chamber| &chamber.seats)
    }

    /// True if this centre has stopped because there is another.
    pub fn has_stopped(&self) -> bool {
        self.gives_way_to.is_some() || self.held_elsewhere.is_some()
    }

    /// True if all holders have confirmed their seats, and their leases are not about to end.
    pub fn is_confirmed(&self) -> bool {
        self.seats().all(|it| it.confirmed)
    }

    /// True if every class has its council.
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
    use hustings_protocol::{Duration, MemberId, Priority};

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
    fn host_uses_the_terms_of_its_centre() {
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
    fn public_seed_and_identity_match_the_guide() {
        let seed = 0x4426_1f11_2c05_0a14_1f9d_1ab5_59cd_8c87;
        assert_eq!(super::public_seed("kept coin"), seed);
        let id = crate::identity::member_id("host-13");
        assert_eq!(id, MemberId(3_213_406_652_245_522_983));
    }

    #[test]
    fn every_algorithm_survives_encoding() {
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
            Algorithm::Priority,
            Algorithm::Bolot,
        ] {
            assert_eq!(algorithm(code(it)), Some(it));
        }
        assert_eq!(algorithm((7, 0)), None);
        assert_eq!(algorithm((3, 4)), None);
    }

    #[test]
    fn impossible_terms_are_refused_however_large() {
        let message = feedback(0, 0);
        let good = Terms::of(&message, &config()).unwrap();
        assert!(good.config(&message).is_some());
        let huge = u32::MAX;
        for bad in [
            Terms { least: 0, ..good },
            Terms { least: 9, ..good },
            Terms { most: huge, ..good },
            Terms { least: huge, most: huge, keep: huge, ..good },
            Terms { keep: huge, ..good },
            Terms { c: f64::NAN, ..good },
            Terms { c: -1.0, ..good },
            Terms { c: 9.0, ..good },
            Terms { c: f64::INFINITY, ..good },
            Terms { algorithm: (9, 9), ..good },
            Terms { algorithm: (4, 200), ..good },
            Terms { lasts_ns: Some(0), ..good },
            Terms { steps: Some((8, 0.7, 1.0)), ..good },
            Terms { steps: Some((100, f64::NAN, 1.0)), ..good },
        ] {
            assert_eq!(bad.config(&message), None, "{bad:?}");
        }
        for (class, seated) in [(u16::MAX, 0), (0, u16::MAX), (0, 5), (0, 9)] {
            let message = feedback(class, seated);
            assert_eq!(good.config(&message), None, "{class} {seated}");
        }
    }

    #[test]
    fn only_messages_of_the_centre_have_terms() {
        let standing = Message::Standing(Standing { session: 1, class: 0, beat: 1, places: 3 });
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
            priority: Priority(0),
            former: Duration::ZERO,
        });
        assert_eq!(Terms::of(&reply, &config()), None);
    }
}
