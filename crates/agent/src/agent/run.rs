//! The agent's event loop: passes received frames to the groups and sends what the groups emit.

mod lifelines;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration as StdDuration;

use hustings_protocol::{Instant, MemberId};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::lease_backends::BackendEvents;
use super::udp_transport::{Datagram, Origin, UdpTransport};
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
use hustings_node::log_once::LogOnce;
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
    Control(Control),
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
    probes: BTreeMap<usize, (MemberId, Instant)>,
    /// Receives the notices of lifelines and probes.
    on_notice: mpsc::Sender<Notice>,
    /// Hosts whose frames of another layout version were logged.
    other_versions: LogOnce<IpAddr>,
}

/// The receiving ends of everything that the loop waits for, besides datagrams.
struct Sources {
    controls: mpsc::Receiver<Control>,
    notices: mpsc::Receiver<Notice>,
    backend_events: BackendEvents,
    arrivals: mpsc::Receiver<Arrival>,
    seeds: mpsc::Receiver<(usize, Vec<SocketAddr>)>,
    /// The bytes of the last datagram.
    buffer: [u8; BUFFER_BYTES],
}

impl Sources {
    /// Waits for the next event, until `due`. Datagrams, which anyone can send in floods, come
    /// after the events of this host, which are few.
    async fn next(&mut self, udp_transport: &UdpTransport, due: Option<Instant>) -> Event {
        tokio::select! {
            biased;
            control = self.controls.recv() => Event::Control(control.unwrap_or(Control::Stop)),
            Some(notice) = self.notices.recv() => Event::Lifeline(notice),
            Some((group, done)) = self.backend_events.saved.recv() => Event::Saved(group, done),
            Some((group, event)) = self.backend_events.leases.recv() => Event::Lease(group, event),
            () = self.backend_events.stopped.notified() => Event::WorkStopped,
            datagram = udp_transport.receive(&mut self.buffer) => Event::Datagram(datagram),
            Some(arrival) = self.arrivals.recv() => Event::Link(arrival),
            Some((group, addresses)) = self.seeds.recv() => Event::Seeds(group, addresses),
            () = sleep_until(due) => Event::Due,
        }
    }
}

/// Runs the loop until a request to stop arrives or the agent ends by itself.
pub(super) async fn run(
    config: AgentConfig,
    udp_transport: UdpTransport,
    listener: TcpListener,
    groups: Vec<Node>,
    controls: mpsc::Receiver<Control>,
    backend_events: BackendEvents,
) -> Result<(), AgentStoppedError> {
    let (on_arrival, arrivals) = mpsc::channel(1024);
    let (on_notice, notices) = mpsc::channel(64);
    let seeds = resolve::seek(config.groups.iter().map(|group| group.join.clone()));
    let buffer = [0; BUFFER_BYTES];
    let mut sources = Sources { controls, notices, backend_events, arrivals, seeds, buffer };
    let mut agent = Loop {
        config,
        udp_transport,
        links: Links::open(listener, on_arrival),
        groups,
        outbox: Outbox::new(),
        lifelines: BTreeMap::new(),
        probes: BTreeMap::new(),
        on_notice,
        other_versions: LogOnce::default(),
    };
    agent.udp_transport.ready().await;
    agent.start();
    loop {
        agent.flush();
        agent.tend_lifelines();
        if let Some(ended) = agent.end_as_duplicate() {
            return Err(ended);
        }
        let due = agent.due();
        let event = sources.next(&agent.udp_transport, due).await;
        let now = match &event {
            Event::Datagram(datagram) => datagram.origin.at,
            _ => clock::now(),
        };
        agent.look_for_pause(now, due);
        if matches!(event, Event::Control(Control::Stop)) {
            agent.leave(now).await;
            return Ok(());
        }
        agent.on_event(now, event, &mut sources).await;
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

    async fn on_event(&mut self, now: Instant, event: Event, sources: &mut Sources) {
        let (groups, out) = (&mut self.groups, &mut self.outbox);
        match event {
            Event::Control(control) => self.on_control(now, control),
            Event::Datagram(datagram) => {
                let Sources { buffer, arrivals, seeds, .. } = sources;
                if self.on_datagrams(datagram, buffer, arrivals) {
                    // Seeds have a lower priority than datagrams, so they are checked here. The
                    // other tasks of this process get their turn too.
                    if let Ok((group, addresses)) = seeds.try_recv() {
                        self.groups[group].join(now, &addresses, &mut self.outbox);
                    }
                    tokio::task::yield_now().await;
                }
            }
            Event::Link(arrival) => self.on_arrival(now, arrival),
            Event::Lifeline(notice) => self.on_lifeline(now, notice),
            Event::Seeds(group, addresses) => groups[group].join(now, &addresses, out),
            Event::Saved(group, done) => groups[group].on_saved(now, &done, out),
            Event::Lease(group, event) => groups[group].on_lease_event(now, &event, out),
            Event::WorkStopped => groups.iter_mut().for_each(|it| it.leave_tenure(now, out)),
            Event::Due => {}
        }
    }

    /// Handles `first` and further datagrams that have already arrived, each at its own time,
    /// because the process may have been stopped in between. If more may remain, returns true, and
    /// handles frames from links next, so that a flood of datagrams does not starve them. Handles
    /// due timeouts after each frame.
    fn on_datagrams(
        &mut self,
        first: Datagram,
        buffer: &mut [u8],
        arrivals: &mut mpsc::Receiver<Arrival>,
    ) -> bool {
        self.on_frame(first.origin, &mut buffer[..first.length]);
        for _ in 1..MOST_AT_ONCE {
            let due = self.due();
            let Some(Datagram { origin, length }) = self.udp_transport.try_receive(buffer) else {
                return false;
            };
            self.look_for_pause(origin.at, due);
            self.on_frame(origin, &mut buffer[..length]);
            self.pass(origin.at);
        }
        for arrival in std::iter::from_fn(|| arrivals.try_recv().ok()).take(MOST_AT_ONCE) {
            let now = clock::now();
            self.on_arrival(now, arrival);
            self.pass(now);
        }
        true
    }

    fn on_arrival(&mut self, now: Instant, mut arrival: Arrival) {
        let origin = Origin { channel: Channel::Link, from: arrival.from, at: now };
        let is_admitted = self.on_frame(origin, &mut arrival.frame);
        arrival.judge(is_admitted);
    }

    /// Passes a sealed frame to the group that it belongs to. Returns true if the group admitted
    /// it.
    fn on_frame(&mut self, origin: Origin, frame: &mut [u8]) -> bool {
        let position = |is_it: fn(&Keyring, &[u8]) -> bool| {
            let mut groups = self.groups.iter();
            groups.position(|group| is_it(group.keyring(), frame))
        };
        let group_index = position(Keyring::knows).or_else(|| position(Keyring::is_of_group));
        let group_index = group_index.unwrap_or(0); // the first group then counts it as another group's
        let version = frame.first().copied().unwrap_or(VERSION);
        match self.groups[group_index].keyring().open(frame).and_then(Frame::decode) {
            Ok(frame) => self.dispatch(origin, group_index, &frame),
            Err(why) => {
                if why == Rejected::Group && origin.channel == Channel::Multicast {
                    self.groups.iter_mut().for_each(Node::note_other_group);
                }
                self.refuse(origin, group_index, version, why);
                false
            }
        }
    }

    /// Counts a rejected frame. Warns about frames under another key and about frames with another
    /// layout version, because their senders are cut off from this member. The warning about a key
    /// comes at the 1st, 2nd, 4th, 8th such frame and so on, the warning about a version once per
    /// host. Frames of other groups are only counted.
    fn refuse(&mut self, origin: Origin, group_index: usize, version: u8, why: Rejected) {
        let Origin { from, at, .. } = origin;
        self.groups[group_index].refuse(at, why);
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

    fn dispatch(&mut self, origin: Origin, group_index: usize, frame: &Frame<'_>) -> bool {
        let Origin { channel, from, at } = origin;
        // The header has only four bytes of the group's identity, which two groups may share.
        let group = &mut self.groups[group_index];
        if group.id() != frame.group {
            group.refuse(at, Rejected::Group);
            return false;
        }
        let is_admitted = group.hear(at, from, channel, frame, &mut self.outbox);
        if let Some(leader) = group.take_down_report() {
            self.probe_leader(at, group_index, leader);
        }
        is_admitted
    }

    fn on_control(&mut self, now: Instant, control: Control) {
        match control {
            Control::Status(answer) => {
                // The caller may have stopped waiting.
                let _ = answer.send(self.status());
            }
            Control::Group(name, act, done) => {
                if let Some(group) = self.groups.iter_mut().find(|it| it.name() == name) {
                    act(group, now, &mut self.outbox);
                }
                self.flush();
                let _ = done.send(());
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

    /// Leaves all groups, and waits until the stores have recorded the release of every lease.
    async fn leave(&mut self, now: Instant) {
        for group in &mut self.groups {
            group.leave(now, &mut self.outbox);
        }
        self.flush();
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
