//! The agent's loop: what the sockets hear goes to the groups, what the groups want goes out.

mod lifelines;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use hustings_protocol::{Instant, MemberId};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::exchange::{Datagram, Exchange};
use super::offices::Doors;
use super::{AgentStatus, Control, Ended};
use crate::authority::Word;
use crate::clock;
use crate::config::AgentConfig;
use crate::frame::Frame;
use crate::group::{Group, Outbox, Route};
use crate::lifeline::{Lifeline, Notice};
use crate::links::{Arrival, Links};
use crate::peers::Way;
use crate::resolve;
use crate::seal::{Keyring, Rejected, VERSION};

/// Longer than any datagram of ours: what is cut off here was none.
const BUFFER_BYTES: usize = 2_048;

/// How many datagrams are taken before anything else is looked at again.
const MOST_AT_ONCE: usize = 64;

/// Timers do not count the time that the machine is suspended, the clock does: so it is read again.
const LONGEST_SLEEP: StdDuration = StdDuration::from_secs(1);

/// Something for the loop to do.
enum Event {
    Asked(Control),
    Datagram(Datagram),
    Link(Arrival),
    Lifeline(Notice),
    /// Where members of the group of this number may be found.
    Seeds(usize, Vec<SocketAddr>),
    /// The disk of a voter of the group of this number has done its work, or not.
    Saved(usize, Result<(), String>),
    /// The authority of the group of this number said something.
    Word(usize, Word),
    /// Somebody's work under tenure has stopped.
    WorkStopped,
    Due,
}

struct Loop {
    config: AgentConfig,
    exchange: Exchange,
    links: Links,
    groups: Vec<Group>,
    outbox: Outbox,
    /// To the leaders, by the group's number.
    lifelines: BTreeMap<usize, Lifeline>,
    /// After whom each group inquired last, and when.
    inquiries: BTreeMap<usize, (MemberId, Instant)>,
    notices: mpsc::Sender<Notice>,
}

/// Runs until told to stop.
pub(super) async fn run(
    config: AgentConfig,
    exchange: Exchange,
    listener: TcpListener,
    groups: Vec<Group>,
    mut asked: mpsc::Receiver<Control>,
    mut doors: Doors,
) -> Result<(), Ended> {
    let (heard, mut links_heard) = mpsc::channel(1024);
    let (notices, mut told) = mpsc::channel(64);
    let mut seeds = resolve::seek(config.groups.iter().map(|group| group.join.clone()));
    let mut agent = Loop {
        config,
        exchange,
        links: Links::open(listener, heard),
        groups,
        outbox: Outbox::new(),
        lifelines: BTreeMap::new(),
        inquiries: BTreeMap::new(),
        notices,
    };
    let mut buffer = [0; BUFFER_BYTES];
    agent.exchange.ready().await;
    agent.start();
    loop {
        agent.flush();
        agent.tend_lifelines();
        if let Some(ended) = agent.end_as_a_namesake() {
            return Err(ended);
        }
        let due = agent.due();
        let event = tokio::select! {
            biased;
            control = asked.recv() => Event::Asked(control.unwrap_or(Control::Stop)),
            Some(notice) = told.recv() => Event::Lifeline(notice),
            // Few, and of this host's own making: before what anybody can flood it with.
            Some((group, done)) = doors.saved.recv() => Event::Saved(group, done),
            Some((group, word)) = doors.words.recv() => Event::Word(group, word),
            () = doors.stopped.notified() => Event::WorkStopped,
            datagram = agent.exchange.receive(&mut buffer) => Event::Datagram(datagram),
            Some(arrival) = links_heard.recv() => Event::Link(arrival),
            Some((group, addresses)) = seeds.recv() => Event::Seeds(group, addresses),
            () = sleep_until(due) => Event::Due,
        };
        let now = match &event {
            Event::Datagram(datagram) => datagram.at,
            _ => clock::now(),
        };
        agent.look_for_pause(now, due);
        match event {
            Event::Asked(Control::Stop) => {
                agent.leave(now);
                agent.finish().await;
                return Ok(());
            }
            Event::Asked(control) => agent.obey(now, control),
            Event::Datagram(datagram) => {
                if agent.hear_datagrams(datagram, &mut buffer, &mut links_heard) {
                    // Seeds are looked at after datagrams, too. And the other tasks of this process have their turn.
                    if let Ok((group, addresses)) = seeds.try_recv() {
                        agent.groups[group].join(now, &addresses, &mut agent.outbox);
                    }
                    tokio::task::yield_now().await;
                }
            }
            Event::Link(arrival) => agent.hear_arrival(now, arrival),
            Event::Lifeline(notice) => agent.on_lifeline(now, notice),
            Event::Seeds(group, addresses) => {
                agent.groups[group].join(now, &addresses, &mut agent.outbox);
            }
            Event::Saved(group, done) => {
                agent.groups[group].on_saved(now, done, &mut agent.outbox);
            }
            Event::Word(group, word) => {
                agent.groups[group].on_word(now, &word, &mut agent.outbox);
            }
            Event::WorkStopped => {
                for group in &mut agent.groups {
                    group.leave_tenure(now, &mut agent.outbox);
                }
            }
            Event::Due => {}
        }
        agent.pass(now);
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => {
            let wait = StdDuration::from(due - clock::now());
            tokio::time::sleep(wait.min(LONGEST_SLEEP)).await;
        }
        None => std::future::pending().await,
    }
}

impl Loop {
    fn start(&mut self) {
        let now = clock::now();
        for (group, config) in self.groups.iter_mut().zip(&self.config.groups) {
            if config.multicast.is_some_and(|it| !self.exchange.hears(it)) {
                group.give_up_multicast();
            }
            group.start(now, &mut self.outbox);
        }
    }

    /// A process that did not run for longer than others wait for its word may have lost what it
    /// believes to have. It finds out before it does anything else.
    fn look_for_pause(&mut self, now: Instant, due: Option<Instant>) {
        let Some(due) = due.filter(|due| *due < now) else {
            return;
        };
        for group in &mut self.groups {
            group.note_pause(now, now - due);
            if group
                .longest_pause()
                .is_some_and(|longest| now - due > longest)
            {
                group.wake_from_pause(now, now - due, &mut self.outbox);
            }
        }
    }

    fn pass(&mut self, now: Instant) {
        for group in &mut self.groups {
            if group.due().is_some_and(|due| due <= now) {
                group.pass(now, &mut self.outbox);
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.groups.iter().filter_map(Group::due).min()
    }

    fn hear_datagram(&mut self, datagram: Datagram, buffer: &mut [u8]) {
        let Datagram {
            way,
            length,
            from,
            at,
        } = datagram;
        self.hear(at, way, from, &mut buffer[..length]);
    }

    /// Hears a datagram, and others that are there already. Where more are left, for as long as anybody likes to send them,
    /// what has arrived over links is heard before those. Whatever is due is done after each. Returns whether more are left.
    fn hear_datagrams(
        &mut self,
        first: Datagram,
        buffer: &mut [u8],
        links: &mut mpsc::Receiver<Arrival>,
    ) -> bool {
        self.hear_datagram(first, buffer);
        let are_left = self.hear_the_rest(buffer);
        if are_left {
            self.hear_links(links);
        }
        are_left
    }

    /// Hears what is there already, each at its own time: the process may have been stopped since the one before. Returns
    /// whether there may be more.
    fn hear_the_rest(&mut self, buffer: &mut [u8]) -> bool {
        for _ in 1..MOST_AT_ONCE {
            let due = self.due();
            let Some(datagram) = self.exchange.try_receive(buffer) else {
                return false;
            };
            self.look_for_pause(datagram.at, due);
            self.hear_datagram(datagram, buffer);
            self.pass(datagram.at);
        }
        true
    }

    /// Hears what has arrived over links already.
    fn hear_links(&mut self, heard: &mut mpsc::Receiver<Arrival>) {
        for _ in 0..MOST_AT_ONCE {
            let Ok(arrival) = heard.try_recv() else {
                return;
            };
            let now = clock::now();
            self.hear_arrival(now, arrival);
            self.pass(now);
        }
    }

    fn hear_arrival(&mut self, now: Instant, mut arrival: Arrival) {
        let is_let_in = self.hear(now, Way::Link, arrival.from, &mut arrival.frame);
        arrival.judge(is_let_in);
    }

    /// A sealed frame arrived: to whichever group it is meant for. Returns whether it was let in.
    fn hear(&mut self, now: Instant, way: Way, from: SocketAddr, frame: &mut [u8]) -> bool {
        let position = |is_it: fn(&Keyring, &[u8]) -> bool| {
            let mut groups = self.groups.iter();
            groups.position(|group| is_it(group.keyring(), frame))
        };
        let keeper = position(Keyring::knows).or_else(|| position(Keyring::is_of_group));
        let keeper = keeper.unwrap_or(0); // which will find it another group's, and count it
        let version = frame.first().copied().unwrap_or(VERSION);
        match self.groups[keeper]
            .keyring()
            .open(frame)
            .and_then(Frame::decode)
        {
            Ok(frame) => self.hand_over(now, way, from, keeper, &frame),
            Err(why) => {
                if why == Rejected::Group && way == Way::Multicast {
                    self.groups.iter_mut().for_each(Group::note_other_group);
                }
                self.refuse(now, keeper, (from, version), why);
                false
            }
        }
    }

    /// Counts a frame that is not let in. Warns of frames under another key and of frames with another layout
    /// version, because their senders are cut off from this member. Each warning comes at the 1st, 2nd, 4th, 8th
    /// frame of its kind and so on. Frames of other groups at the same address are only counted.
    fn refuse(
        &mut self,
        now: Instant,
        keeper: usize,
        (from, version): (SocketAddr, u8),
        why: Rejected,
    ) {
        self.groups[keeper].refuse(now, why);
        let counters = &self.groups[keeper].counters;
        let (keys, versions) = (counters.unknown_key, counters.unknown_version);
        if why == Rejected::Key && keys.is_power_of_two() {
            tracing::warn!(
                "group `{}`: a frame from {from} is sealed under another key, and so were {} before: give every member the same key or key-file (`hustings keys` makes one); if it is another group of this name, rename one of the two",
                self.groups[keeper].name(),
                keys - 1
            );
        }
        if why == Rejected::Version && versions.is_power_of_two() {
            // The version comes before the group's tag, so the sender's group is not known.
            tracing::warn!(
                "a frame from {from} has layout version {version}, this agent speaks {VERSION} ({} such frames before): run one version of hustings on every member",
                versions - 1
            );
        }
    }

    fn hand_over(
        &mut self,
        now: Instant,
        way: Way,
        from: SocketAddr,
        keeper: usize,
        frame: &Frame<'_>,
    ) -> bool {
        // Its header says so as well, in four bytes: two names may have the same.
        let group = &mut self.groups[keeper];
        if group.id() != frame.group {
            group.counters.reject(Rejected::Group);
            return false;
        }
        let is_let_in = group.hear(now, from, way, frame, &mut self.outbox);
        if let Some(leader) = group.take_doubted() {
            self.doubt(now, keeper, leader);
        }
        is_let_in
    }

    fn obey(&mut self, now: Instant, control: Control) {
        match control {
            Control::Status(answer) => {
                // Whoever asked may have gone meanwhile.
                let _ = answer.send(self.status());
            }
            Control::StepDown {
                group,
                span,
                heir,
                resignation,
                done,
            } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    match resignation {
                        Some(why) => group.resign(now, span, why, &mut self.outbox),
                        None => group.step_down(now, span, heir, &mut self.outbox),
                    }
                }
                self.flush();
                let _ = done.send(());
            }
            Control::FindHeir { group, name, found } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    group.find_heir(now, name, found, &mut self.outbox);
                }
            }
            Control::Ask { group, request } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    group.ask_authority(now, request, &mut self.outbox);
                }
            }
            Control::Survey { group, answers } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    group.survey(now, answers, &mut self.outbox);
                }
            }
            Control::Stop => {} // the loop sees to it
        }
    }

    fn status(&self) -> AgentStatus {
        let now = clock::now();
        AgentStatus {
            member: self.config.name.clone(),
            address: self.exchange.address(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now,
            groups: self.groups.iter().map(|it| it.status(now)).collect(),
        }
    }

    fn leave(&mut self, now: Instant) {
        for group in &mut self.groups {
            group.leave(now, &mut self.outbox);
        }
        self.flush();
    }

    /// Waits until what is given up is given up at the stores too.
    async fn finish(&mut self) {
        for group in self.groups.drain(..) {
            group.finish().await;
        }
    }

    /// Its end, if somebody else goes by our name wherever we are a member.
    fn end_as_a_namesake(&self) -> Option<Ended> {
        let others: Option<Vec<SocketAddr>> = self.groups.iter().map(Group::namesake).collect();
        let address = *others?.first()?;
        Some(Ended::Namesake {
            member: self.config.name.clone(),
            address,
        })
    }

    /// Sends what is to be sent.
    fn flush(&mut self) {
        for (group, route, frame) in self.outbox.drain(..) {
            let sent = match route {
                Route::To(address) | Route::Multicast(address) => {
                    self.exchange.send(address, &frame)
                }
                Route::Link(address) => {
                    self.links.send(address, frame);
                    Ok(())
                }
            };
            if let Err(error) = sent
                && let Some(group) = self.groups.iter_mut().find(|it| it.id() == group)
            {
                group.counters.unsent += 1;
                tracing::debug!("cannot send to {route:?}: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests;
