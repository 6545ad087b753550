//! Groups of the announce family in the simulator, and the log of their messages. T_A is one
//! second.

use std::collections::BTreeSet;

use hustings_protocol::announce::{Config, Message};
use hustings_protocol::{Duration, ElectionOutcome, Instant, MemberId, Priority, Protocol};
use hustings_sim::{
    Boot, Delay, Detection, Event, LossModel, Network, Scenario, Seeds, Setup, Trace, World,
};

use crate::kin::Kin;

/// T_A.
pub(crate) const ANNOUNCE: Duration = Duration::from_secs(1);
/// The delay of a message, if delays are constant.
pub(crate) const DELAY: Duration = Duration::from_millis(10);

/// The field's preset for T_A.
pub(crate) fn field() -> Config {
    Config::field(ANNOUNCE)
}

/// The time `millis` after the beginning.
pub(crate) fn at(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

/// A network in which every message takes [`DELAY`], and none is lost.
pub(crate) fn calm() -> Network {
    Network::perfect(Delay::Constant(DELAY))
}

/// The same network with this loss.
pub(crate) fn lossy(loss: f64, loss_model: LossModel) -> Network {
    Network { multicast_loss: loss, loss_model, ..calm() }
}

/// A world that will execute `scenario`.
pub(crate) fn world<P: Kin>(
    priorities: &[Priority],
    network: Network,
    config: Config,
    seed: u64,
    scenario: &Scenario,
) -> World<P, Log> {
    detecting_world(priorities, network, Detection::Never, config, seed, scenario)
}

/// The same, with a failure detector.
pub(crate) fn detecting_world<P: Kin>(
    priorities: &[Priority],
    network: Network,
    detection: Detection,
    config: Config,
    seed: u64,
    scenario: &Scenario,
) -> World<P, Log> {
    assert_eq!(config.check(), Ok(()));
    let setup = Setup { priorities: priorities.to_vec(), network, detection, view: 1.0 };
    let make = |boot: Boot<P>| P::make(boot.saved);
    let config = P::configure(config);
    let mut world = World::traced(setup, config, Seeds::new(seed, 0), Log::default(), make);
    world.follow(scenario);
    world
}

/// The messages sent, and the nominees.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) said: Vec<(Instant, u32, Message)>,
    /// Changes only.
    pub(crate) names: Vec<(Instant, u32, Option<MemberId>)>,
    pub(crate) refused: Vec<u32>,
    named: Vec<Option<MemberId>>,
}

impl<P: Protocol<Message = Message, Outcome = ElectionOutcome>> Trace<P> for Log {
    const ON: bool = true;

    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        match event {
            Event::Multicast { from, message } => self.said.push((at, from, *message)),
            Event::Reported { member, outcome } => match outcome {
                ElectionOutcome::Standing { .. } => {}
                ElectionOutcome::Nominee(it) => self.name(at, member, Some(it.id)),
                ElectionOutcome::Vacant => self.name(at, member, None),
                ElectionOutcome::DuplicateIdentity => {
                    self.refused.push(member);
                    self.name(at, member, None);
                }
            },
            Event::Sent { .. } | Event::Lost { .. } | Event::Delivered { .. } => {}
            Event::Started { .. } | Event::Expired { .. } => {}
            Event::ViewChanged { .. } | Event::Struck { .. } => {}
        }
    }
}

impl Log {
    fn name(&mut self, at: Instant, member: u32, whom: Option<MemberId>) {
        let place = member as usize;
        if self.named.len() <= place {
            self.named.resize(place + 1, None);
        }
        if self.named[place] != whom {
            self.named[place] = whom;
            self.names.push((at, member, whom));
        }
    }

    /// The time of `member`'s first announcement after `since`.
    pub(crate) fn announced(&self, member: u32, since: Instant) -> Option<Instant> {
        let mut said = self.said.iter();
        said.find(|(at, from, message)| {
            let announces = matches!(message, Message::Announcement { .. });
            *at > since && *from == member && announces
        })
        .map(|(at, _, _)| *at)
    }

    /// The number of messages from `since` on for which `which` holds.
    pub(crate) fn count(&self, since: Instant, which: fn(&Message) -> bool) -> usize {
        let said = self.said.iter();
        said.filter(|(at, _, message)| *at >= since && which(message)).count()
    }

    /// The time, at `since` or later, at which `member` began to name `whom`.
    pub(crate) fn named(&self, member: u32, whom: u32, since: Instant) -> Option<Instant> {
        let whom = Some(MemberId(u64::from(whom)));
        let mut names = self.names.iter();
        names
            .find(|(at, who, named)| *at >= since && *who == member && *named == whom)
            .map(|(at, _, _)| *at)
    }

    /// The nominees of `member` after `since`, each change.
    pub(crate) fn changes(&self, member: u32, since: Instant) -> Vec<Option<MemberId>> {
        let names = self.names.iter();
        names
            .filter(|(at, who, _)| *at > since && *who == member)
            .map(|(_, _, named)| *named)
            .collect()
    }
}

pub(crate) fn is_announcement(message: &Message) -> bool {
    matches!(message, Message::Announcement { .. })
}

pub(crate) fn is_query(message: &Message) -> bool {
    matches!(message, Message::Query)
}

pub(crate) fn is_bye(message: &Message) -> bool {
    matches!(message, Message::Bye { .. })
}

pub(crate) fn is_complaint(message: &Message) -> bool {
    matches!(message, Message::Complaint { .. })
}

/// The live members.
pub(crate) fn up<P: Kin>(world: &World<P, Log>) -> Vec<u32> {
    (0..world.len()).filter(|&it| world.is_up(it)).collect()
}

/// The live members, the best first.
pub(crate) fn ranking<P: Kin>(world: &World<P, Log>) -> Vec<u32> {
    let mut up = up(world);
    up.sort_by_key(|&it| std::cmp::Reverse(world.candidate(it)));
    up
}

/// The longest T_L of all members, according to their measurements.
pub(crate) fn listen_interval<P: Kin>(world: &World<P, Log>, config: &Config) -> Duration {
    let members = world.members().iter();
    let intervals = members.map(|it| it.honest().listen_interval(config));
    let longest = intervals.map(|it| it.unwrap_or(Duration(u64::MAX))).max();
    longest.unwrap_or(Duration::ZERO)
}

/// The leaders, if their number is as configured, all others follow exactly them, and all name the
/// same.
pub(crate) fn agreed<P: Kin>(world: &World<P, Log>, config: &Config) -> Result<Vec<u32>, String> {
    let ranking = ranking(world);
    let leads = |it: u32| world.members()[it as usize].honest().leads();
    let leaders: Vec<u32> = ranking.iter().copied().filter(|&it| leads(it)).collect();
    let wanted = ranking.len().min(config.leaders as usize);
    if leaders.len() != wanted {
        return Err(format!("{leaders:?} lead, of {ranking:?}"));
    }
    let named = world.nominee(ranking[0]).map(|(id, _)| id);
    let by_id: BTreeSet<u64> = leaders.iter().map(|&it| u64::from(it)).collect();
    if !named.is_some_and(|id| by_id.contains(&id.0)) {
        return Err(format!("{leaders:?} lead, but {named:?} is named"));
    }
    for &member in &ranking {
        let names = world.nominee(member).map(|(id, _)| id);
        if names != named {
            return Err(format!("{member} names {names:?}, not {named:?}"));
        }
        let follows = world.members()[member as usize].honest().follows();
        let mut knows: BTreeSet<u64> = follows.map(|it| it.id.0).collect();
        if leads(member) {
            knows.insert(u64::from(member));
        }
        if knows != by_id {
            return Err(format!("{member} knows {knows:?}, but {leaders:?} lead"));
        }
    }
    Ok(leaders)
}
