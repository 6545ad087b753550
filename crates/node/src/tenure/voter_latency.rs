//! Measures how fast voters answer, and reports voters that do not answer.
//!
//! Purpose     explains why a nominee gets no tenure: the ttl is too short for the round trip, or
//!             voters are down, misnamed or out of reach
//! Inputs      questions to voters and their answers, pauses of this process, the state of the disk
//! Outputs     log lines and refusals in the status
//! Owns        the latest answer times ([`VoterLatency`]) and the open question to each voter
//!             ([`Asked`])
//! Invariants  measures only; it never changes what a member may do. Each fact is logged once until
//!             it changes

use std::collections::VecDeque;

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, Instant, MemberId};

use super::{EXPLAIN_EVERY, Tenure, Voter};
use crate::config::presets::ANSWERS_IN_A_TTL;
use crate::config::similar_names;
use crate::identity::Incarnation;
use crate::node::health::in_words;
use crate::node::{Context, Io};

/// The number of answers of which the median is taken. Some answers are late because the question
/// was lost and asked again; the median tolerates those.
const LATEST: usize = 9;

/// The reason that a voter gives while a write to its disk does not return.
pub(super) const DISK_IS_SILENT: &str =
    "its own disk does not answer: check the disk of this member's `state` directory";

/// The latest answer times of all voters.
#[derive(Debug, Default)]
pub(super) struct VoterLatency {
    latest: VecDeque<Duration>,
    is_logged: bool,
}

/// The number of calls by all channels without an answer after which the log says that the voter is
/// being looked for. A few calls may be lost.
const TOLD_AFTER_CALLS: u32 = 10;

/// The question that awaits a voter's answer, if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked(Option<Question>);

#[derive(Debug, Clone, Copy)]
struct Question {
    since: Instant,
    /// The voter's incarnation when it was asked; `None` if no frame of it had arrived.
    incarnation: Option<Incarnation>,
    /// The number of calls by all channels since.
    calls: u32,
}

impl Asked {
    /// Notes that a question is sent to a voter known in this incarnation. Of several unanswered
    /// questions, the first counts.
    pub(super) fn ask(&mut self, now: Instant, incarnation: Option<Incarnation>) {
        self.0.get_or_insert(Question { since: now, incarnation, calls: 0 });
    }

    /// Returns the time since the question; zero if none is open.
    pub(super) fn waits(self, now: Instant) -> Duration {
        self.0.map_or(Duration::ZERO, |asked| now - asked.since)
    }

    /// Notes that the voter is called by all channels. Returns true if this should be logged: once,
    /// until the voter answers.
    pub(super) fn call(&mut self) -> bool {
        self.0.as_mut().is_some_and(|asked| {
            asked.calls = asked.calls.saturating_add(1);
            asked.calls == TOLD_AFTER_CALLS
        })
    }

    /// Notes an answer, and returns the time that it took. Returns `None` if the voter had to be
    /// found or restarted meanwhile: then the time does not measure its latency.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        incarnation: Option<Incarnation>,
    ) -> Option<Duration> {
        let asked = self.0.take().filter(|it| it.incarnation == incarnation);
        asked.map(|asked| now - asked.since)
    }
}

impl VoterLatency {
    /// Notes that an answer took `took`. Returns the median if it exceeds `allowed` and was not
    /// reported yet.
    pub(super) fn note(&mut self, took: Duration, allowed: Duration) -> Option<Duration> {
        if self.latest.len() >= LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(took);
        let mut sorted: Vec<Duration> = self.latest.iter().copied().collect();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let is_late = sorted.len() == LATEST && median > allowed;
        let is_news = is_late && !self.is_logged;
        self.is_logged = is_late;
        is_news.then_some(median)
    }
}

impl Tenure {
    /// True if this member has asked the voters for tenure for [`EXPLAIN_EVERY`], so each of them
    /// has had time to answer; or if it has lost tenure because they did not. It must be the
    /// nominee, without tenure. No transferee may come first, and no voter may have asked it to
    /// wait.
    pub(super) fn asks_voters(&self, context: &Context, now: Instant) -> bool {
        let is_long = |since: Instant| now - since >= EXPLAIN_EVERY;
        let lacks = self.fence.is_none() && !self.voters.is_empty();
        let lets_an_heir_ask = self.transfer.is_some() || self.transfer_grace.is_some();
        lacks
            && context.is_nominee()
            && (self.lost_majority || self.lacks_since.is_some_and(is_long))
            && !lets_an_heir_ask
            && !self.is_asked_to_wait(now)
    }

    /// Reports why the nominee has no tenure, if voters do not answer. A voter that refuses gives
    /// its reason itself; silence has to be explained here.
    pub(super) fn explain_silence(&mut self, io: &mut Io<'_>) {
        if !io.is_nominee() || self.fence.is_some() || self.voters.is_empty() {
            return;
        }
        self.explain_at = Some(io.now + EXPLAIN_EVERY);
        if self.transfer.is_some() || self.transfer_grace.is_some() {
            return; // asks no voter while a transferee may take tenure
        }
        let is_long = |since: Instant| io.now - since >= Duration(EXPLAIN_EVERY.0 / 2);
        if self.authority.saves_since().is_some_and(is_long) {
            // its questions to the other voters wait for the disk
            self.note_refusal(DISK_IS_SILENT, io);
            return;
        }
        if self.is_asked_to_wait(io.now) {
            return;
        }
        let silent = self.silent_voters(EXPLAIN_EVERY, io);
        let voters = self.voters.len();
        if silent.len() * 2 > voters {
            let remedy = self.misnamed(&silent, io).unwrap_or_else(|| {
                "check that their agents run with this group's key, and that the network reaches them"
                    .to_owned()
            });
            let why = format!(
                "{} of {voters} voters do not answer ({}): {remedy}",
                silent.len(),
                silent.join(", ")
            );
            self.note_silence(&why, io);
        }
    }

    /// Returns the names of the voters without an answer within `span`. This member itself always
    /// answers.
    fn silent_voters(&self, span: Duration, context: &Context) -> Vec<String> {
        let me = context.me.id;
        let is_heard = |at: Instant| context.now - at < span;
        let answers = |it: &Voter| it.id == me || it.heard.is_some_and(is_heard);
        let silent = self.voters.iter().filter(|it| !answers(it));
        silent.map(|it| it.name.clone()).collect()
    }

    /// Returns a hint if a silent voter is probably a known member under another name, as when
    /// hosts use their full names.
    fn misnamed(&self, silent: &[String], context: &Context) -> Option<String> {
        let me = context.member.as_str();
        let heard = context.peers.iter().map(|(_, it)| it.name.as_str());
        let members: Vec<&str> = heard.chain([me]).collect();
        let (voter, member) = silent.iter().find_map(|voter| {
            let mut members = members.iter().copied();
            Some((voter, members.find(|it| similar_names::same_host(voter, it))?))
        })?;
        let (subject, object) = if member == me {
            (format!("this member is called `{member}`"), "this member")
        } else {
            (format!("a member called `{member}` is here"), "it")
        };
        Some(format!(
            "{subject}, which is no voter, and voters are identified by their whole names: give {object} the name `{voter}` (--name), or put `{member}` in place of `{voter}` into voters, on all members"
        ))
    }

    /// Notes that this process did not run for `span`. A pause of half a ttl or more means that
    /// nothing was renewed and no answer received.
    pub(super) fn note_pause(&mut self, span: Duration, context: &Context) {
        if context.config.authority.ttl().is_some_and(|ttl| span * 2 >= ttl) {
            self.paused = Some((context.now, span));
        }
    }

    /// Warns that this member's tenure has ended, although the member did not release it.
    pub(super) fn warn_of_loss(&self, fence: Fence, context: &Context) {
        // The voters are asked three times in a ttl.
        let within = Duration(context.config.authority.ttl().unwrap_or_default().0 / 2);
        let silent = self.silent_voters(within, context);
        let (voters, group) = (self.voters.len(), &context.config.name);
        let paused = self.paused;
        let why = match silent.is_empty() {
            _ if let Some((_, span)) = paused.filter(|(at, _)| context.now - *at < within) => {
                format!("this process did not run for {}", in_words(span))
            }
            true if voters == 0 => match self.refusals.back() {
                Some(refusal) if context.now - refusal.at < within => refusal.why.clone(),
                _ => "the store did not renew it".to_owned(),
            },
            true => "voters did not renew it in time".to_owned(),
            false => format!(
                "{} of {voters} voters have not answered for {within} ({})",
                silent.len(),
                silent.join(", ")
            ),
        };
        tracing::warn!("group `{group}`: tenure with fence {fence} has ended: {why}");
    }

    /// Logs that a voter does not answer although it has been called by all channels for some time.
    /// A voter that is probably this member under another name is skipped: no network path leads to
    /// it, and [`explain_silence`](Self::explain_silence) reports it.
    pub(super) fn log_voter_search(&self, voter: MemberId, context: &Context) {
        let (group, name) = (&context.config.name, self.name_of(voter, context));
        if similar_names::same_host(&name, &context.member) {
            return;
        }
        match context.address_of(voter) {
            Some(address) => tracing::info!(
                "group `{group}`: voter `{name}` does not answer at its last known address, {address}: calling it by multicast, unicast and links; check that its agent runs"
            ),
            None => tracing::info!(
                "group `{group}`: voter `{name}` is not found yet: calling it by multicast, unicast and links; check that its agent runs and that the network reaches it"
            ),
        }
    }

    /// Warns if voters take longer than the ttl allows. Then no member gets tenure, or keeps it.
    pub(super) fn check_voter_latency(&mut self, took: Duration, context: &Context) {
        let authority = &context.config.authority;
        let (Some(ttl), Some(allowed)) = (authority.ttl(), authority.answer_within()) else {
            return;
        };
        if let Some(median) = self.voter_latency.note(took, allowed) {
            let least = Duration::from_millis((median * ANSWERS_IN_A_TTL).0 / 1_000_000 + 1);
            tracing::warn!(
                "group `{}`: voters answer after {:.0} ms, but ttl {ttl} allows {:.0} ms: raise ttl to {least} or more, on all members",
                context.config.name,
                median.as_secs_f64() * 1e3,
                allowed.as_secs_f64() * 1e3,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, LATEST, TOLD_AFTER_CALLS, VoterLatency};
    use crate::identity::Incarnation;
    use hustings_protocol::{Duration, Instant};

    const ALLOWED: Duration = Duration::from_millis(50);

    #[test]
    fn late_voters_are_reported_once() {
        let mut voter_latency = VoterLatency::default();
        let mut note = |millis| voter_latency.note(Duration::from_millis(millis), ALLOWED);
        // Every third question was lost, so its answer is counted from the first attempt.
        assert!((0..30).all(|it| note(if it % 3 == 0 { 900 } else { 2 }).is_none()));
        let told: Vec<_> = (0..20).filter_map(|_| note(80)).collect();
        assert_eq!(told, [Duration::from_millis(80)]);
        assert!((0..LATEST).all(|_| note(2).is_none()));
        assert_eq!((0..20).filter_map(|_| note(80)).count(), 1);
    }

    #[test]
    fn latency_counts_from_the_first_question() {
        let mut asked = Asked::default();
        let incarnation = Some(Incarnation(1));
        assert_eq!(asked.answered(Instant(7), incarnation), None);
        asked.ask(Instant(10), incarnation);
        asked.ask(Instant(20), incarnation);
        assert_eq!(asked.answered(Instant(25), incarnation), Some(Duration(15)));
        assert_eq!(asked.answered(Instant(26), incarnation), None);
    }

    /// The voter was unknown, has restarted, or another process used its name.
    #[test]
    fn lookup_or_restart_of_a_voter_does_not_count_as_latency() {
        let [first, later] = [1, 2].map(|incarnation| Some(Incarnation(incarnation)));
        for (asked_in, answers_in, counts) in
            [(None, first, false), (first, later, false), (first, first, true)]
        {
            let mut asked = Asked::default();
            asked.ask(Instant(10), asked_in);
            asked.ask(Instant(20), first);
            let took = asked.answered(Instant(25), answers_in);
            assert_eq!(took.is_some(), counts, "{asked_in:?} {answers_in:?}");
        }
    }

    #[test]
    fn search_for_a_voter_is_logged_once_until_it_answers() {
        let mut asked = Asked::default();
        for silence in 0..2 {
            asked.ask(Instant(silence), None);
            let told: Vec<u32> = (1..100).filter(|_| asked.call()).collect();
            assert_eq!(told, [TOLD_AFTER_CALLS]);
            asked.answered(Instant(silence), None);
            assert!(!asked.call(), "nothing was asked");
        }
    }
}
