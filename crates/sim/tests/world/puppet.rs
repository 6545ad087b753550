//! A protocol that does what the test says.

use hustings_protocol::{
    Duration, ElectionOutcome, Input, Io, MemberId, Message, NoRequest, Protocol, Simulated, Timer,
    View, ViewChange,
};

use crate::support::text::Says;

/// An input of a member, as the script of a test reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cue {
    Start,
    Got(u32),
    Rang(Bell),
    ViewChanged,
    Leave,
}

/// An action of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Send(u64, u32),
    /// Sends to each other member of its view.
    SendEach(u32),
    Multicast(u32),
    Arm(Bell, Duration),
    Disarm(Bell),
    Save(u32),
    /// Saves if it had saved nothing before it came up.
    SaveIfNew(u32),
    /// Stands in the round of this number.
    Show(u32),
    /// Stands in the round that its clock shows, in milliseconds.
    ShowClock,
    /// Stands in the round that is the number of members in its view.
    ShowView,
    /// Stands in the round that it had saved before it came up, or 0.
    ShowSaved,
}

/// The script: the actions of a member on each cue.
pub(crate) type Script = fn(u64, Cue) -> Vec<Act>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u32);

impl Message for Number {
    const KINDS: &'static [&'static str] = &["number"];

    fn kind(&self) -> usize {
        0
    }
}

impl Says for Number {
    fn says(&self) -> String {
        self.0.to_string()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bell {
    High,
    Low,
}

impl Timer for Bell {
    const ALL: &'static [Self] = &[Self::High, Self::Low];

    fn index(self) -> usize {
        match self {
            Self::High => 0,
            Self::Low => 1,
        }
    }
}

/// A member, with its saved state.
#[derive(Debug, Default)]
pub(crate) struct Puppet(pub(crate) Option<u32>);

impl Protocol for Puppet {
    type Config = Script;
    type Message = Number;
    type Timer = Bell;
    type Durable = u32;
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        let cue = match input {
            Input::Start => Cue::Start,
            Input::Message { message, .. } => Cue::Got(message.0),
            Input::Timer(bell) => Cue::Rang(bell),
            Input::ViewChanged(ViewChange::Joined(_) | ViewChange::Left(_)) => Cue::ViewChanged,
            Input::Leave => Cue::Leave,
        };
        for act in io.config()(io.me().id.0, cue) {
            self.act(act, io);
        }
    }
}

impl Simulated for Puppet {}

impl Puppet {
    fn act(&self, act: Act, io: &mut impl Io<Self>) {
        let show = |round| ElectionOutcome::Standing { round };
        match act {
            Act::Send(to, number) => io.unicast(MemberId(to), Number(number)),
            Act::SendEach(number) => {
                io.unicast_each(&Number(number), |_| true);
            }
            Act::Multicast(number) => io.multicast(Number(number)),
            Act::Arm(bell, after) => io.arm(bell, after),
            Act::Disarm(bell) => io.disarm(bell),
            Act::Save(number) => io.save(number),
            Act::SaveIfNew(number) => {
                if self.0.is_none() {
                    io.save(number);
                }
            }
            Act::Show(number) => io.report(show(number)),
            Act::ShowClock => {
                let millis = io.now().0 / 1_000_000;
                io.report(show(millis as u32));
            }
            Act::ShowView => {
                let known = io.view().len();
                io.report(show(known as u32));
            }
            Act::ShowSaved => io.report(show(self.0.unwrap_or(0))),
        }
    }
}
