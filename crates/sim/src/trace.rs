//! The record of a run: every message, timer, view change, fault and outcome, in order.

use std::io::{self, Write};

use hustings_protocol::trace::Line;
use hustings_protocol::{Instant, MemberId, Protocol, ViewChange};
use serde::Serialize;

use crate::Verb;

/// An event of a run.
pub enum Event<'a, P: Protocol> {
    /// A member sent a message to one other member.
    Sent {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u64,
        /// The message.
        message: &'a P::Message,
    },
    /// A member sent a message to all others.
    Multicast {
        /// The sender.
        from: u32,
        /// The message.
        message: &'a P::Message,
    },
    /// A message, or one receiver's copy of a multicast, was lost.
    Lost {
        /// The sender.
        from: u32,
        /// The receiver; `None` if a multicast was lost to all receivers.
        to: Option<u64>,
    },
    /// A message arrived and its receiver handled it.
    Delivered {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
        /// The message.
        message: &'a P::Message,
    },
    /// A member got the input to start.
    Started {
        /// The member.
        member: u32,
    },
    /// A timer expired.
    Expired {
        /// The timer's owner.
        member: u32,
        /// The timer.
        timer: P::Timer,
    },
    /// A member's view changed.
    ViewChanged {
        /// The view's owner.
        member: u32,
        /// The change.
        change: ViewChange,
    },
    /// A member reported an outcome.
    Reported {
        /// The member.
        member: u32,
        /// The outcome.
        outcome: P::Outcome,
    },
    /// A verb of the scenario took effect.
    Struck {
        /// The verb.
        verb: &'a Verb,
        /// The members that it applies to. Empty for cuts.
        members: &'a [u32],
    },
}

/// A receiver of the events of a world.
pub trait Trace<P: Protocol> {
    /// True if events are recorded. If it is `false` the compiler removes all tracing code.
    const ON: bool;

    /// Records `event`, which happens at `at`.
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

/// Writes one JSON object per line: `time` in seconds, `kind`, then members and content.
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

    /// Flushes the output and returns the writer.
    ///
    /// # Errors
    /// The first error of any write, for example a full disk or a closed pipe.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn write(&mut self, line: &Line<impl Serialize, impl Serialize>) {
        if self.failed.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, line).map_err(io::Error::from);
        self.failed = written.and_then(|()| writeln!(self.out)).err();
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
        let id = |member| MemberId(u64::from(member));
        let line = match event {
            Event::Sent { from, to, message } => Line::send(at, id(from), MemberId(to), message),
            Event::Multicast { from, message } => Line::multicast(at, id(from), message),
            Event::Lost { from, to } => Line::lost(at, id(from), to.map(MemberId)),
            Event::Delivered { from, to, message } => Line::deliver(at, id(from), id(to), message),
            Event::Started { member } => Line::start(at, id(member)),
            Event::Expired { member, timer } => Line::timer(at, id(member), timer),
            Event::ViewChanged { member, change } => Line::view(at, id(member), change),
            Event::Reported { member, outcome } => Line::outcome(at, id(member), outcome),
            Event::Struck { verb, .. } => Line::scenario(at, verb.to_string()),
        };
        self.write(&line);
    }
}
