//! Three whole agents, for any authority: voters or a store.

use std::path::Path;
use std::time::Duration as StdDuration;

use hustings_agent::agent::{TransferError, TransferOutcome};
use hustings_agent::authority::{Fence, Held, LeaseWatch, holds};
use hustings_agent::config::file;
use hustings_agent::group::Aside;
use hustings_agent::{Agent, AgentConfig, Handle, clock};
use hustings_protocol::Instant;

use crate::house::House;
use crate::member::TTL;
use crate::watcher::Watcher;
use hustings_testkit::Scratch;

/// Far longer than anything here takes. A test that takes longer has failed. Voters that were away
/// stay silent for a ttl. Members that could not acquire tenure in that time stand aside for ten
/// seconds.
const PATIENCE: StdDuration = StdDuration::from_secs(60);

/// The interval between two checks.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(2);

/// The time for which a member that steps down takes no part.
const STEPS_DOWN_FOR: StdDuration = StdDuration::from_secs(2);

pub(crate) const NAMES: [&str; 3] = ["anna", "ben", "carla"];

/// An authority, and what an administrator can do to it.
pub(crate) trait Ground: Sized {
    /// True if tenure can be transferred to a chosen member.
    const HANDS_OVER: bool;

    /// Starts an authority that grants tenure of `group`.
    async fn set_up(group: &str) -> Self;

    /// Returns the lines of a member's file that name the authority, in the table of the group.
    fn setting(&self) -> String;

    fn kill(&mut self);
    async fn bring_back(&mut self);
    fn pause(&mut self);
    fn resume(&mut self);
}

/// Every store is an authority.
impl<H: House> Ground for H {
    const HANDS_OVER: bool = false;

    async fn set_up(_: &str) -> Self {
        <H as House>::open().await
    }

    fn setting(&self) -> String {
        House::setting(self)
    }

    fn kill(&mut self) {
        self.server().kill();
    }

    async fn bring_back(&mut self) {
        self.restart().await;
    }

    fn pause(&mut self) {
        self.server().pause();
    }

    fn resume(&mut self) {
        self.server().resume();
    }
}

/// Returns the configuration of an agent called `name` on this host.
pub(crate) fn configured(name: &str, group: &str, own: &str, setting: &str) -> String {
    format!(
        "name = \"{name}\"\nbind = \"127.0.0.1:0\"\nhttp = \"off\"\n{own}\n[[group]]\nname = \"{group}\"\n\
         announce = \"50ms\"\nttl = \"{TTL}\"\n{setting}\n"
    )
}

pub(crate) fn parsed(text: &str) -> AgentConfig {
    let draft = file::parse(Path::new("test.toml"), text).unwrap();
    draft.settle().unwrap()
}

/// Three agents, none of which votes, and the watcher of their leases.
pub(crate) struct Agents {
    group: String,
    agents: Vec<Option<Agent>>,
    cells: Vec<LeaseWatch>,
    watcher: Watcher,
}

impl Agents {
    pub(crate) async fn start(ground: &impl Ground, group: &str) -> Self {
        Self::start_as(ground, group, |_| String::new()).await
    }

    /// Starts agents with settings for the group that depend on the name.
    pub(crate) async fn start_as(
        ground: &impl Ground,
        group: &str,
        own: impl Fn(&str) -> String,
    ) -> Self {
        Self::start_with(ground, group, own, |_| String::new()).await
    }

    /// Starts agents, each with its own state directory in `home`.
    pub(crate) async fn start_in(ground: &impl Ground, group: &str, home: &Scratch) -> Self {
        let state = |name: &str| format!("state = \"{}\"", home.join(name).display());
        Self::start_with(ground, group, |_| String::new(), state).await
    }

    async fn start_with(
        ground: &impl Ground,
        group: &str,
        own: impl Fn(&str) -> String,
        above: impl Fn(&str) -> String,
    ) -> Self {
        let mut agents = Self {
            group: group.to_owned(),
            agents: Vec::new(),
            cells: Vec::new(),
            watcher: Watcher::new(),
        };
        for name in NAMES {
            let setting = format!("{}\n{}", ground.setting(), own(name));
            let config = parsed(&configured(name, group, &above(name), &setting));
            let agent = Agent::start(config).await.unwrap();
            let fencing = agent.handle().fencing(group).expect("it is fenced");
            agents.watcher.add(fencing.tenure.clone());
            agents.cells.push(fencing.tenure);
            agents.agents.push(Some(agent));
        }
        agents
    }

    /// Returns the present holders. The watcher checks that there is at most one.
    fn holding(&self) -> impl Iterator<Item = (usize, Held)> {
        let cells = self.cells.iter().enumerate();
        cells.filter_map(|(index, lease_watch)| Some((index, holds(lease_watch)?)))
    }

    pub(crate) fn holder(&self) -> Option<(usize, Held)> {
        self.holding().next()
    }

    /// Waits until a member holds tenure with a fence above `above`.
    pub(crate) async fn next(&self, above: Option<Fence>) -> (usize, Held) {
        let what = format!("somebody holds with a fence above {above:?}");
        let is_above = |(_, held): &(usize, Held)| Some(held.fence) > above;
        let look = async || self.holding().find(is_above);
        self.until(&what, look).await
    }

    /// Waits until `held`, which cannot be renewed, ends in time, and checks that no member holds
    /// tenure for a ttl after that.
    pub(crate) async fn runs_out(&self, held: Held) {
        let ended = self.ends().await;
        assert!(ended - held.until < TTL, "not in time");
        self.stays_vacant(ended).await;
    }

    /// Waits until every tenure has ended, including those of dead members, and checks that no
    /// member holds tenure for a ttl after that.
    pub(crate) async fn ends_for_good(&self) {
        let ended = self.ends().await;
        self.stays_vacant(ended).await;
    }

    /// Waits until no member holds tenure, and returns the time since when.
    async fn ends(&self) -> Instant {
        let nobody = async || self.holder().is_none().then_some(());
        self.until("nobody holds any more", nobody).await;
        clock::now()
    }

    async fn stays_vacant(&self, since: Instant) {
        while clock::now() < since + TTL {
            assert_eq!(self.holder(), None, "nobody can have granted that");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until a member was refused because `holder` holds tenure.
    pub(crate) async fn refusal_that_names(&self, holder: usize) {
        let why = format!("`{}` holds", NAMES[holder]);
        let look = async || {
            let refusals = self.refusals().await;
            refusals.iter().any(|it| it.contains(&why)).then_some(())
        };
        self.until(&format!("a refusal says that {why}"), look).await;
    }

    /// Waits until each running member knows of a holder with this fence.
    pub(crate) async fn all_know(&self, fence: Fence) {
        let look = async || {
            for agent in self.agents.iter().flatten() {
                let status = agent.handle().status().await.expect("it runs");
                let tenure = status.groups[0].tenure.as_ref().expect("it is fenced");
                if tenure.fence != Some(fence.0) {
                    return None;
                }
            }
            Some(())
        };
        self.until(&format!("all know of fence {fence}"), look).await;
    }

    /// Waits until each running member was refused for the reason `what`.
    pub(crate) async fn all_refuse(&self, what: &str) {
        let there = self.agents.iter().zip(NAMES);
        let there: Vec<&str> = there.filter_map(|(it, name)| it.as_ref().map(|_| name)).collect();
        let look = async || {
            let refusals = self.refusals().await;
            let says = |name: &&str| {
                let mut own = refusals.iter().filter(|it| it.starts_with(*name));
                own.any(|it| it.contains(what))
            };
            there.iter().all(says).then_some(())
        };
        self.until(&format!("all say: {what}"), look).await;
    }

    /// Waits until the status of a member shows that it takes no tenure from its store, because of
    /// `why`. Returns false if a member holds a fence above `above` instead.
    pub(crate) async fn one_is_shut_out(&self, why: &str, above: Fence) -> bool {
        let look = async || {
            for agent in self.agents.iter().flatten() {
                let status = agent.handle().status().await.expect("it runs");
                let tenure = status.groups[0].tenure.as_ref().expect("it is fenced");
                let last = tenure.refusals.last();
                if tenure.shut_out == Some(true) && last.is_some_and(|it| it.why.contains(why)) {
                    return Some(true);
                }
            }
            self.holding().any(|(_, held)| held.fence > above).then_some(false)
        };
        self.until(&format!("one is shut out: {why}"), look).await
    }

    /// Waits until a member stands aside for less than a ttl, because of `why`.
    pub(crate) async fn one_makes_room(&self, why: &str) {
        let look = async || {
            for agent in self.agents.iter().flatten() {
                let status = agent.handle().status().await.expect("it runs");
                let aside = status.groups[0].aside.as_ref();
                let is_short = |it: &&Aside| it.remaining < TTL;
                let said = aside.filter(is_short).and_then(|it| it.why.as_deref());
                if said.is_some_and(|it| it.contains(why)) {
                    return Some(());
                }
            }
            None
        };
        self.until(&format!("one makes room: {why}"), look).await;
    }

    async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let found = async {
            loop {
                match look().await {
                    Some(found) => return found,
                    None => tokio::time::sleep(LOOK_EVERY).await,
                }
            }
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(found) => found,
            Err(_) => panic!(
                "waited {PATIENCE:?} in vain until {what}; the members say:\n{}\n{}",
                self.refusals().await.join("\n"),
                self.accounts().await.join("\n")
            ),
        }
    }

    /// Returns the latest refusals of all running members.
    async fn refusals(&self) -> Vec<String> {
        let mut refusals = Vec::new();
        for (agent, name) in self.agents.iter().zip(NAMES) {
            let Some(agent) = agent else { continue };
            let status = agent.handle().status().await.expect("it runs");
            let tenure = status.groups[0].tenure.as_ref().expect("it is fenced");
            let whys = tenure.refusals.iter();
            refusals.extend(whys.map(|it| format!("{name}: {}", it.why)));
        }
        refusals
    }

    /// Returns the state of the group as each running member sees it.
    async fn accounts(&self) -> Vec<String> {
        let mut accounts = Vec::new();
        for (agent, name) in self.agents.iter().zip(NAMES) {
            let Some(agent) = agent else { continue };
            let status = agent.handle().status().await.expect("it runs");
            accounts.push(format!("{name}: {:?}", status.groups[0]));
        }
        accounts
    }

    fn handle(&self, member: usize) -> &Handle {
        let agent = self.agents[member].as_ref();
        agent.expect("it was not killed").handle()
    }

    pub(crate) async fn step_down(&self, member: usize) {
        let done = self.handle(member).step_down(&self.group, STEPS_DOWN_FOR);
        done.await.unwrap();
    }

    pub(crate) async fn hand_over(
        &self,
        member: usize,
        transferee: usize,
    ) -> Result<TransferOutcome, TransferError> {
        let (handle, transferee) = (self.handle(member), NAMES[transferee]);
        let done = handle.transfer(&self.group, STEPS_DOWN_FOR, transferee);
        let done = tokio::time::timeout(PATIENCE, done).await;
        done.expect("who hands over is told what has come of it")
    }

    /// Ends a member without any message, as a crash would.
    pub(crate) async fn die(&mut self, member: usize) {
        let agent = self.agents[member].take();
        agent.expect("it was not killed").abort().await;
    }

    /// Ignores the lease of a member after its death. A store that was restored does not know of
    /// that lease.
    pub(crate) fn forget_lease(&self, member: usize) {
        self.watcher.forget(member);
    }

    /// Stops all members, and judges what they held.
    pub(crate) async fn leave(self) {
        for agent in self.agents.into_iter().flatten() {
            let gone = tokio::time::timeout(PATIENCE, agent.stop()).await;
            gone.expect("an agent that is told to stop ends").unwrap();
        }
        self.watcher.judge();
    }
}
