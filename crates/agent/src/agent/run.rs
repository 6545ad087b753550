//! The agent's event loop: passes received frames to the groups and sends what the groups emit.

mod lifelines;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration as StdDuration;

use hustings_protocol::{Instant, MemberId};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::lease_backends::BackendEvents;
use super::udp_transport::{Datagram, UdpTransport};
use super::{AgentStatus, AgentStoppedError, Control};
use crate::authority::LeaseEvent;
use crate::clock;
use crate::config::AgentConfig;
use crate::frame::Frame;
use crate::group::{Node, Outbox, Route};
use crate::lifeline::{Lifeline, Notice};
use crate::links::{Arrival, Links};
use crate::resolve;
use crate::seal::{Keyring, Rejected, VERSION};
use hustings_node::once_each::OnceEach;
use hustings_node::peer_table::Channel;

/// The size of the receive buffer. It is longer than any valid datagram, so a truncated one was not
/// valid.
const BUFFER_BYTES: usize = 2_048;

/// The number of datagrams to handle before other events are handled.
const MOST_AT_ONCE: usize = 64;

/// The longest sleep. Timers do not count the time for which the machine is suspended, but the
/// clock does, so the clock is read again.
const LONGEST_SLEEP: StdDuration = StdDuration::from_secs(1);

/// An event of the loop.
enum Event {
    Asked(Control),
    Datagram(Datagram),
    Link(Arrival),
    Lifeline(Notice),
    /// New seed addresses of the group with this index.
    Seeds(usize, Vec<SocketAddr>),
    /// The result of writing the voter's file of the group with this index.
    Saved(usize, Result<(), String>),
    /// An event of the authority of the group with this index.
    Lease(usize, LeaseEvent),
    /// Work under tenure has stopped.
    WorkStopped,
    Due,
}

struct Loop {
    config: AgentConfig,
    udp_transport: UdpTransport,
    links: Links,
    groups: Vec<Node>,
    outbox: Outbox,
    /// The lifelines to the leaders, by the index of the group.
    lifelines: BTreeMap<usize, Lifeline>,
    /// The leader that each group probed last, and the time of the probe.
    inquiries: BTreeMap<usize, (MemberId, Instant)>,
    notices: mpsc::Sender<Notice>,
    /// Hosts whose frames of another layout version were logged.
    other_versions: OnceEach<IpAddr>,
}

/// Runs the loop until a request to stop arrives or the agent ends by itself.
pub(super) async fn run(
    config: AgentConfig,
    udp_transport: UdpTransport,
    listener: TcpListener,
    groups: Vec<Node>,
    mut asked: mpsc::Receiver<Control>,
    mut backend_events: BackendEvents,
) -> Result<(), AgentStoppedError> {
    let (heard, mut links_heard) = mpsc::channel(1024);
    let (notices, mut told) = mpsc::channel(64);
    let mut seeds = resolve::seek(config.groups.iter().map(|group| group.join.clone()));
    let mut agent = Loop {
        config,
        udp_transport,
        links: Links::open(listener, heard),
        groups,
        outbox: Outbox::new(),
        lifelines: BTreeMap::new(),
        inquiries: BTreeMap::new(),
        notices,
        other_versions: OnceEach::default(),
    };
    let mut buffer = [0; BUFFER_BYTES];
    agent.udp_transport.ready().await;
    agent.start();
    loop {
        agent.flush();
        agent.tend_lifelines();
        if let Some(ended) = agent.end_as_duplicate() {
            return Err(ended);
        }
        let due = agent.due();
        let event = tokio::select! {
            biased;
            control = asked.recv() => Event::Asked(control.unwrap_or(Control::Stop)),
            Some(notice) = told.recv() => Event::Lifeline(notice),
            // These events are few and come from this host. They precede datagrams, which anyone
            // can send in floods.
            Some((group, done)) = backend_events.saved.recv() => Event::Saved(group, done),
            Some((group, word)) = backend_events.words.recv() => Event::Lease(group, word),
            () = backend_events.stopped.notified() => Event::WorkStopped,
            datagram = agent.udp_transport.receive(&mut buffer) => Event::Datagram(datagram),
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
            Event::Asked(control) => agent.on_control(now, control),
            Event::Datagram(datagram) => {
                if agent.hear_datagrams(datagram, &mut buffer, &mut links_heard) {
                    // Seeds have a lower priority than datagrams, so they are checked here. The
                    // other tasks of this process get their turn too.
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
                agent.groups[group].on_saved(now, &done, &mut agent.outbox);
            }
            Event::Lease(group, word) => {
                agent.groups[group].on_lease_event(now, &word, &mut agent.outbox);
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
            if config.multicast.is_some_and(|it| !self.udp_transport.hears(it)) {
                group.give_up_multicast();
            }
            group.start(now, &mut self.outbox);
        }
    }

    /// Handles a pause of this process. After a pause longer than others wait for its messages, a
    /// member may have lost tenure or leadership, so each group checks this first.
    fn look_for_pause(&mut self, now: Instant, due: Option<Instant>) {
        let Some(due) = due.filter(|due| *due < now) else {
            return;
        };
        for group in &mut self.groups {
            group.note_pause(now, now - due);
            if group.longest_pause().is_some_and(|longest| now - due > longest) {
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
        self.groups.iter().filter_map(Node::due).min()
    }

    fn hear_datagram(&mut self, datagram: Datagram, buffer: &mut [u8]) {
        let Datagram { way, length, from, at } = datagram;
        self.on_frame(at, way, from, &mut buffer[..length]);
    }

    /// Handles `first` and further datagrams that have already arrived. If more remain, handles
    /// frames from links next, so that a flood of datagrams does not starve them. Handles due
    /// timeouts after each frame. Returns true if datagrams remain.
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

    /// Handles datagrams that have already arrived, each at its own time, because the process may
    /// have been stopped in between. Returns true if there may be more.
    fn hear_the_rest(&mut self, buffer: &mut [u8]) -> bool {
        for _ in 1..MOST_AT_ONCE {
            let due = self.due();
            let Some(datagram) = self.udp_transport.try_receive(buffer) else {
                return false;
            };
            self.look_for_pause(datagram.at, due);
            self.hear_datagram(datagram, buffer);
            self.pass(datagram.at);
        }
        true
    }

    /// Handles frames that have already arrived over links.
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
        let is_let_in = self.on_frame(now, Channel::Link, arrival.from, &mut arrival.frame);
        arrival.judge(is_let_in);
    }

    /// Passes a sealed frame to the group that it belongs to. Returns true if the group admitted
    /// it.
    fn on_frame(&mut self, now: Instant, way: Channel, from: SocketAddr, frame: &mut [u8]) -> bool {
        let position = |is_it: fn(&Keyring, &[u8]) -> bool| {
            let mut groups = self.groups.iter();
            groups.position(|group| is_it(group.keyring(), frame))
        };
        let group_index = position(Keyring::knows).or_else(|| position(Keyring::is_of_group));
        let group_index = group_index.unwrap_or(0); // the first group then counts it as another group's
        let version = frame.first().copied().unwrap_or(VERSION);
        match self.groups[group_index].keyring().open(frame).and_then(Frame::decode) {
            Ok(frame) => self.dispatch(now, way, from, group_index, &frame),
            Err(why) => {
                if why == Rejected::Group && way == Channel::Multicast {
                    self.groups.iter_mut().for_each(Node::note_other_group);
                }
                self.refuse(now, group_index, (from, version), why);
                false
            }
        }
    }

    /// Counts a rejected frame. Warns about frames under another key and about frames with another
    /// layout version, because their senders are cut off from this member. The warning about a key
    /// comes at the 1st, 2nd, 4th, 8th such frame and so on, the warning about a version once per
    /// host. Frames of other groups are only counted.
    fn refuse(
        &mut self,
        now: Instant,
        group_index: usize,
        (from, version): (SocketAddr, u8),
        why: Rejected,
    ) {
        self.groups[group_index].refuse(now, why);
        let keys = self.groups[group_index].counters().unknown_key;
        if why == Rejected::Key && keys.is_power_of_two() {
            tracing::warn!(
                "group `{}`: a frame from {from} is sealed under another key, and so were {} frames before: give every member the same key or key-file (`hustings keys` makes one); if it is another group with this name, rename one of the two",
                self.groups[group_index].name(),
                keys - 1
            );
        }
        if why == Rejected::Version && self.other_versions.insert(from.ip()) {
            // The version comes before the group's tag, so the sender's group is not known.
            tracing::warn!(
                "a frame from {from} has layout version {version}, and this agent uses {VERSION}: run one version of hustings on every member"
            );
        }
    }

    fn dispatch(
        &mut self,
        now: Instant,
        way: Channel,
        from: SocketAddr,
        group_index: usize,
        frame: &Frame<'_>,
    ) -> bool {
        // The header has only four bytes of the group's identity, which two groups may share.
        let group = &mut self.groups[group_index];
        if group.id() != frame.group {
            group.refuse(now, Rejected::Group);
            return false;
        }
        let is_let_in = group.hear(now, from, way, frame, &mut self.outbox);
        if let Some(leader) = group.take_doubted() {
            self.doubt(now, group_index, leader);
        }
        is_let_in
    }

    fn on_control(&mut self, now: Instant, control: Control) {
        match control {
            Control::Status(answer) => {
                // The caller may have stopped waiting.
                let _ = answer.send(self.status());
            }
            Control::StepDown { group, span, transferee, resignation, done } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    match resignation {
                        Some(why) => group.resign(now, span, why, &mut self.outbox),
                        None => group.step_down(now, span, transferee, &mut self.outbox),
                    }
                }
                self.flush();
                let _ = done.send(());
            }
            Control::FindTransferee { group, name, found } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    group.find_transferee(now, name, found, &mut self.outbox);
                }
            }
            Control::Ask { group, request } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    group.ask_authority(now, request, &mut self.outbox);
                }
            }
            Control::VoterQueryRound { group, answers } => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == group) {
                    group.voter_query(now, answers, &mut self.outbox);
                }
            }
            Control::Stop => {} // handled in the loop
        }
    }

    fn status(&self) -> AgentStatus {
        let now = clock::now();
        AgentStatus {
            member: self.config.name.clone(),
            address: self.udp_transport.address(),
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

    /// Waits until the stores have recorded the release of every lease.
    async fn finish(&mut self) {
        for group in self.groups.drain(..) {
            group.finish().await;
        }
    }

    /// Returns the end of this agent if another process has its name in all of its groups.
    fn end_as_duplicate(&self) -> Option<AgentStoppedError> {
        let others: Option<Vec<SocketAddr>> =
            self.groups.iter().map(Node::duplicate_name).collect();
        let address = *others?.first()?;
        Some(AgentStoppedError::DuplicateName { member: self.config.name.clone(), address })
    }

    /// Sends every frame in the outbox.
    fn flush(&mut self) {
        for (group, route, frame) in self.outbox.drain(..) {
            let sent = match route {
                Route::To(address) | Route::Multicast(address) => {
                    self.udp_transport.send(address, &frame)
                }
                Route::Link(address) => {
                    self.links.send(address, frame);
                    Ok(())
                }
            };
            if let Err(error) = sent
                && let Some(group) = self.groups.iter_mut().find(|it| it.id() == group)
            {
                group.note_unsent();
                tracing::debug!("cannot send to {route:?}: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests;
