//! Liveness: whether the leader, and any other member, is still there.
//!
//! Purpose     one place that answers "is the leader dead?"
//! Inputs      refused connections, answers to challenges, reports of other members, the failure
//!             detector, nominations, time
//! Outputs     challenges and reports; events about proofs, deaths, peers that are asked or lost,
//!             and a new incarnation that refutes a report about this member
//! Owns        the ping of a leader whose host refuses connections, the probe of a leader that no
//!             failure detector watches, the check for isolation, the last report to be checked
//! Invariants  a leader is dead only if it said goodbye, did not answer this member, did not refute
//!             a report, or the failure detector reports it
//!
//! The evidence, the fastest first: a closed lifeline, whose host then refuses a connection and
//! whose process does not answer a ping ([`leader_ping`]); a report of another member, which the
//! agent checks in the same way; probes in turn, where no member knows all ([`leader_probe`]); the
//! failure detector, by [`Event::MemberDown`]. The announce family also counts silence, in the
//! protocol itself.

mod isolation;
mod leader_ping;
mod leader_probe;

use hustings_protocol::{Instant, MemberId};

use crate::config::ProtocolConfig;
use crate::frame::Body;
use crate::identity::Incarnation;
use crate::node::{Admitted, Component, Context, Event, Io};
use isolation::Isolation;
use leader_ping::LeaderPing;
use leader_probe::LeaderProbe;

/// The average number of members that report a leader's death, if each member receives from each.
/// Members that have not seen the death themselves check when they receive the report.
const TELLERS: u64 = 16;

/// What a member does to find out whether others are there.
#[derive(Default)]
pub(crate) struct Liveness {
    /// The open ping to the leader.
    ping: Option<LeaderPing>,
    /// `None` if a failure detector probes all members.
    probe: Option<LeaderProbe>,
    isolation: Isolation,
    /// The member that another member reports dead. The agent takes it and checks.
    down_report: Option<MemberId>,
}

impl Liveness {
    pub(crate) fn new(context: &Context) -> Self {
        let probe = match context.config.protocol {
            ProtocolConfig::Probabilistic(protocol) if context.probes_leader() => {
                let rng = crate::node::chance(Incarnation(!context.incarnation.0), context.me.id);
                Some(LeaderProbe::new(&protocol, rng))
            }
            _ => None,
        };
        Self { probe, ..Self::default() }
    }

    /// Takes the member that another member reports dead, if it has not been checked yet.
    pub(crate) fn take_down_report(&mut self) -> Option<MemberId> {
        self.down_report.take()
    }

    fn heard(&mut self, heard: &Admitted<'_>, io: &mut Io<'_>) {
        let sender = &heard.frame.sender;
        match heard.frame.body {
            Body::Obituary { of } => self.down_report = Some(of),
            Body::Pong { challenge, .. } => {
                let ends_ping = self.ends_ping(sender.id, challenge, io);
                let probe = self.probe.as_mut();
                let ends_probe = probe.is_some_and(|it| it.ends(sender.id, challenge, io));
                if ends_ping || ends_probe {
                    io.raise(Event::Proven {
                        id: sender.id,
                        incarnation: sender.incarnation,
                        process: sender.process_incarnation,
                        place: heard.address,
                    });
                }
            }
            Body::Dead { of, incarnation } => {
                self.on_dead(heard, of, Incarnation(incarnation), io);
            }
            _ => {
                if let Some(probe) = &mut self.probe {
                    probe.heard(heard, io);
                }
            }
        }
    }

    /// Handles the report that `of` is dead in this incarnation.
    fn on_dead(
        &mut self,
        heard: &Admitted<'_>,
        of: MemberId,
        incarnation: Incarnation,
        io: &mut Io<'_>,
    ) {
        let sender = &heard.frame.sender;
        if of == io.me.id {
            let has_left = io.stepped_down_until.is_some();
            if incarnation >= io.incarnation && !has_left {
                tracing::warn!(
                    "group `{}`: `{}` reports this member dead: going on in a new incarnation",
                    io.config.name,
                    sender.name
                );
                io.raise(Event::BeginIncarnation(Some(incarnation)));
                io.raise(Event::AnnounceAlive);
            }
        } else if of == sender.id {
            io.raise(Event::MarkDead { id: of, incarnation }); // goodbye
        } else if let Some(probe) = &mut self.probe {
            probe.mourn(of, incarnation, io);
        }
    }

    /// Marks the leader dead, and reports it to the others. They check for themselves, unless the
    /// group has partial views. All members with a connection to the leader notice its death at
    /// once, so only a few of them report it.
    fn leader_is_dead(&mut self, id: MemberId, io: &mut Io<'_>) {
        let (group, name) = (&io.config.name, io.describe(id).name);
        tracing::info!(
            "group `{group}`: the process of `{name}`, which the election named, is dead"
        );
        if let Some(probe) = &mut self.probe {
            probe.declare_dead(id, io);
        } else if io.is_drawn(TELLERS, id.0 ^ io.number()) {
            io.broadcast(&Body::Obituary { of: id });
        }
        io.raise(Event::LeaderDead(id));
    }
}

impl Component for Liveness {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        match event {
            Event::Heard(heard) => return self.heard(heard, io),
            Event::LeaderRefuses { id, round_trip } => {
                self.begin_ping(*id, *round_trip, io);
            }
            Event::Timeout => {
                let is_over = |it: &mut LeaderPing| it.until <= io.now;
                if let Some(ping) = self.ping.take_if(is_over)
                    && io.follows(ping.of)
                {
                    self.leader_is_dead(ping.of, io);
                }
                self.isolation.on_timeout(io);
            }
            Event::TakePart | Event::NomineeChanged { .. } => self.isolation.watch(io),
            Event::TakenForDead | Event::AnnounceAlive if self.probe.is_none() => {
                io.broadcast(&Body::Alive { priority: io.me.priority });
            }
            _ => {}
        }
        if let Some(probe) = &mut self.probe {
            probe.on(event, io);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let ping = self.ping.as_ref().map(|it| it.until);
        let probe = self.probe.as_ref().and_then(LeaderProbe::due);
        [ping, probe, self.isolation.due()].into_iter().flatten().min()
    }
}

#[cfg(test)]
impl Liveness {
    /// Returns the number that the answer to the open ping must contain.
    pub(crate) fn challenge(&self) -> Option<u64> {
        self.ping.as_ref().map(|it| it.challenge)
    }

    /// Reports the leader dead to all.
    pub(crate) fn declare_dead(&mut self, of: MemberId, io: &mut Io<'_>) {
        self.probe.as_mut().expect("many members").declare_dead(of, io);
    }
}
