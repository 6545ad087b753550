//! The record of a run: every message, timer, view change, fault and outcome, in order.

use std::io::{self, Write};

use hustings_protocol::{Instant, Message, Outcome, Protocol, Timer, ViewChange};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Verb;

/// Something that happened.
pub enum Event<'a, P: Protocol> {
    /// A member sent a message to one other.
    Sent {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u64,
        /// What it says.
        message: &'a P::Message,
    },
    /// A member sent a message to all others.
    Multicast {
        /// The sender.
        from: u32,
        /// What it says.
        message: &'a P::Message,
    },
    /// A message, or a receiver's copy of one, did not get through.
    Lost {
        /// The sender.
        from: u32,
        /// The receiver; none if a multicast was lost to all.
        to: Option<u64>,
    },
    /// A message arrived and was handled.
    Delivered {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
        /// What it says.
        message: &'a P::Message,
    },
    /// A member was told to start.
    Started {
        /// Which.
        member: u32,
    },
    /// A timer ran out.
    Expired {
        /// Whose.
        member: u32,
        /// Which.
        timer: P::Timer,
    },
    /// A member's view changed.
    ViewChanged {
        /// Whose.
        member: u32,
        /// How.
        change: ViewChange,
    },
    /// A member concluded something.
    Reported {
        /// Which.
        member: u32,
        /// What.
        outcome: Outcome,
    },
    /// The scenario struck.
    Struck {
        /// How.
        verb: &'a Verb,
    },
}

/// Who wants to know what happens in a world.
pub trait Trace<P: Protocol> {
    /// Whether anything is recorded. Where this is `false` the compiler drops every trace of tracing.
    const ON: bool;

    /// Takes note of `event`, which happens at `at`.
    fn record(&mut self, at: Instant, event: Event<'_, P>);
}

/// Records nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl<P: Protocol> Trace<P> for Silent {
    const ON: bool = false;

    #[inline]
    fn record(&mut self, _: Instant, _: Event<'_, P>) {}
}

/// Writes one JSON object a line: `time` in seconds, `kind`, then who and what.
#[derive(Debug)]
pub struct JsonLines<W: Write> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, failed: None }
    }

    /// Flushes what was written and returns the writer.
    ///
    /// # Errors
    /// The first error that writing met, if any: a full disk, a closed pipe.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn write(&mut self, line: &Value) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{line}").err();
        }
    }
}

impl<P, W> Trace<P> for JsonLines<W>
where
    P: Protocol,
    P::Message: Serialize,
    P::Timer: std::fmt::Debug,
    W: Write,
{
    const ON: bool = true;

    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        let name = |message: &P::Message| P::Message::KINDS[message.kind()];
        let time = at.as_secs_f64();
        let line = match event {
            Event::Sent { from, to, message } => json!({
                "time": time, "kind": "send", "from": from, "to": to,
                "name": name(message), "message": message,
            }),
            Event::Multicast { from, message } => json!({
                "time": time, "kind": "multicast", "from": from,
                "name": name(message), "message": message,
            }),
            Event::Lost { from, to } => json!({
                "time": time, "kind": "lost", "from": from, "to": to,
            }),
            Event::Delivered { from, to, message } => json!({
                "time": time, "kind": "deliver", "from": from, "to": to,
                "name": name(message), "message": message,
            }),
            Event::Started { member } => json!({
                "time": time, "kind": "start", "member": member,
            }),
            Event::Expired { member, timer } => json!({
                "time": time, "kind": "timer", "member": member,
                "timer": format!("{:?}", P::Timer::ALL[timer.index()]),
            }),
            Event::ViewChanged { member, change } => {
                let (what, other) = match change {
                    ViewChange::Joined(candidate) => ("joined", candidate.id),
                    ViewChange::Left(id) => ("left", id),
                };
                json!({ "time": time, "kind": "view", "member": member, what: other })
            }
            Event::Reported { member, outcome } => json!({
                "time": time, "kind": "outcome", "member": member, "outcome": outcome,
            }),
            Event::Struck { verb } => json!({
                "time": time, "kind": "scenario", "verb": verb.to_string(),
            }),
        };
        self.write(&line);
    }
}
