//! Seats under faults of the centre and loss of its messages.

use hustings_protocol::council::{
    Config, Council, Draws, Holder, Knowledge, Message, Reply, SeatClaim, Seats,
};
use hustings_protocol::{Duration, MemberId, Priority};
use hustings_sim::{Boot, Delay, Detection, Network, Seeds, Setup, Silent, Verb, Who, World};

use crate::{ROUND, at};

/// Hosts that are all down: the test delivers messages to the centre.
struct Stage {
    world: World<Council, Silent>,
}

impl Stage {
    fn new(config: Config) -> Self {
        let setup = Setup {
            priorities: vec![Priority(0); 21],
            network: Network::perfect(Delay::Constant(ROUND)),
            detection: Detection::Never,
            view: 1.0,
        };
        let make = |Boot { me, saved }: Boot<Council>| match me.id {
            MemberId(0) => Council::centre(1, saved),
            MemberId(_) => Council::host(0),
        };
        let mut world = World::traced(setup, config, Seeds::new(21, 0), Silent, make);
        let hosts = Who::Members((1..=20).collect());
        world.schedule(at(0), Verb::Kill(hosts));
        world.start(0);
        Self { world }
    }

    /// These hosts reply to the present round, the `round`-th, shortly after a second.
    fn reply(&mut self, round: u32, second: u64, hosts: std::ops::Range<u32>) {
        self.world.run_until(at(second));
        for host in hosts {
            let reply = Message::Reply(Reply {
                session: 1,
                class: 0,
                round,
                draws: Draws(1),
                number: 20,
                priority: Priority(0),
                former: Duration::ZERO,
            });
            self.world.hand(host, 0, reply);
        }
    }

    /// The first `count` seated hosts send a heartbeat.
    fn present(&mut self, second: u64, count: usize) {
        self.world.run_until(at(second));
        let centre = self.world.members()[0].as_centre().expect("the centre");
        let holders: Vec<_> = centre.holders().take(count).collect();
        for Holder { member, place, .. } in holders {
            let held = SeatClaim { session: 1, class: 0, place };
            self.world.hand(member.0 as u32, 0, Message::Present(held));
        }
    }

    fn centre(&self) -> (usize, u64, bool) {
        let centre = self.world.members()[0].as_centre().expect("the centre");
        (centre.seats().count(), centre.rounds(), centre.is_settled())
    }
}

/// Seats fall empty during an election, and their places are not free yet when it ends. The
/// remaining ones are too few, and the centre must not report a council.
#[test]
fn election_without_enough_free_places_is_repeated() {
    let mut config = Config::field(Seats::new(4, 7), 100, ROUND);
    config.knowledge = Knowledge::Told(20);
    config.chambers[0].keep = 4;
    config.chambers[0].c.truncate(4);
    let mut stage = Stage::new(config);
    stage.reply(1, 0, 1..5);
    // Of four seated hosts two are heard again, and lost ten seconds after the others.
    stage.present(12, 2);
    stage.world.run_until(at(19));
    assert_eq!(stage.centre(), (4, 1, true));
    stage.world.run_until(at(30));
    let (seated, rounds, is_settled) = stage.centre();
    assert_eq!((seated, is_settled), (0, false));
    // Four of seven places are kept free for hosts that may still believe that they hold them.
    stage.reply(rounds as u32, 30, 5..10);
    stage.world.run_until(at(32));
    let (seated, called, is_settled) = stage.centre();
    assert_eq!((seated, is_settled), (3, false));
    // By then they must have noticed.
    stage.world.run_until(at(45));
    let (_, then, _) = stage.centre();
    stage.world.run_until(at(49));
    let (_, now, _) = stage.centre();
    assert!(called <= then && then < now, "{called} {then} {now}");
}
