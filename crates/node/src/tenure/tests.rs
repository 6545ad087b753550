//! The inside of tenure, for tests of whole nodes.

use hustings_protocol::tenure::{Fence, Message, Refused};
use hustings_protocol::{Duration, Instant, MemberId};

use super::{Refusal, Tenure, TransferGrace};
use crate::authority::Authority;
use crate::node::{Context, Io};

impl Tenure {
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn fence(&self) -> Option<Fence> {
        self.fence
    }

    pub(crate) fn holder(&self) -> Option<(MemberId, Fence)> {
        self.holder.map(|it| (it.id, it.fence))
    }

    pub(crate) fn receives_transfer_until(&mut self) -> &mut Option<Instant> {
        &mut self.receives_transfer_until
    }

    pub(crate) fn transfer_grace(&mut self) -> &mut Option<TransferGrace> {
        &mut self.transfer_grace
    }

    /// Returns the end of the time in which a transferee comes first.
    pub(crate) fn holds_back_until(&self) -> Option<Instant> {
        self.transfer_grace.map(|it| it.until)
    }

    pub(crate) fn refusals(&mut self) -> &mut std::collections::VecDeque<Refusal> {
        &mut self.refusals
    }

    pub(crate) fn describe_refusal(&self, refused: Refused, context: &Context) -> String {
        self.in_words(refused, context)
    }

    pub(crate) fn hear_nominee(&mut self, nominee: MemberId, io: &mut Io<'_>) {
        self.doubt_holder(nominee, io);
    }

    pub(crate) fn hear_granted(&mut self, from: MemberId, question: u64, longest: Duration) {
        self.on_granted(from, question, longest);
    }

    pub(crate) fn hear_answer(
        &mut self,
        from: MemberId,
        message: &[u8],
        context: &Context,
    ) -> bool {
        let message: Message = postcard::from_bytes(message).expect("a message");
        self.answers_query(from, &message, context)
    }

    pub(crate) fn hear_release(&mut self, io: &mut Io<'_>) {
        self.on_released(io);
    }

    pub(crate) fn hear_transferee(&mut self, holder: MemberId, fence: Fence, io: &mut Io<'_>) {
        self.note_transferee(holder, fence, io);
    }

    pub(crate) fn hear_named(&mut self, is_named: bool, io: &mut Io<'_>) {
        self.nominate(is_named, io);
    }

    pub(crate) fn ask_why(&mut self, io: &mut Io<'_>) {
        self.explain_silence(io);
    }
}
