//! How soon voters answer, and whether they do: a ttl that leaves them too little time gets nobody tenure, nor do voters
//! that are not there, and either should be said.

use std::collections::VecDeque;

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, Instant, MemberId};

use super::Group;
use super::health::in_words;
use super::tenancy::{EXPLAIN_EVERY, Voter};
use crate::config::names;
use crate::config::presets::ANSWERS_IN_A_TTL;
use crate::identity::Life;

/// So many answers are looked at together. Of some the question was lost, and asked again: the median does not mind.
const LATEST: usize = 9;

/// What a voter says of itself while a write to its disk does not end.
pub(super) const DISK_IS_SILENT: &str =
    "its own disk does not answer: see to the disk of this member's `state` directory";

/// How soon voters answered of late.
#[derive(Debug, Default)]
pub(super) struct Promptness {
    latest: VecDeque<Duration>,
    is_told: bool,
}

/// A voter that was called by all ways so often without an answer is said to be looked for. A few words may be lost.
const TOLD_AFTER_CALLS: u32 = 10;

/// A question that waits for its answer, if one does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked(Option<Question>);

#[derive(Debug, Clone, Copy)]
struct Question {
    since: Instant,
    /// The life in which the voter was known then; none if it was never heard.
    life: Option<Life>,
    /// How often it was called by all ways since.
    calls: u32,
}

impl Asked {
    /// A question goes out to a voter that is known in this life; of several without an answer the first counts.
    pub(super) fn ask(&mut self, now: Instant, life: Option<Life>) {
        self.0.get_or_insert(Question {
            since: now,
            life,
            calls: 0,
        });
    }

    /// How long it has waited by now.
    pub(super) fn waits(self, now: Instant) -> Duration {
        self.0.map_or(Duration::ZERO, |asked| now - asked.since)
    }

    /// The voter is called by all ways. Returns whether that is to be told: once, until it answers.
    pub(super) fn call(&mut self) -> bool {
        self.0.as_mut().is_some_and(|asked| {
            asked.calls = asked.calls.saturating_add(1);
            asked.calls == TOLD_AFTER_CALLS
        })
    }

    /// How long the answer took that has come, of a voter that is in this life now; none if it had to be found, or came
    /// up anew, meanwhile: that tells nothing of how soon it answers.
    pub(super) fn answered(&mut self, now: Instant, life: Option<Life>) -> Option<Duration> {
        let asked = self.0.take().filter(|it| it.life == life);
        asked.map(|asked| now - asked.since)
    }
}

impl Promptness {
    /// An answer came after `took`. Returns how long they take, if that is more than `allowed` and was not told before.
    pub(super) fn note(&mut self, took: Duration, allowed: Duration) -> Option<Duration> {
        if self.latest.len() >= LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(took);
        let mut sorted: Vec<Duration> = self.latest.iter().copied().collect();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let is_late = sorted.len() == LATEST && median > allowed;
        let is_news = is_late && !self.is_told;
        self.is_told = is_late;
        is_news.then_some(median)
    }
}

impl Group {
    /// Returns whether this member has asked the voters for tenure for so long that each of them has had time to answer:
    /// the election names it, it has none, and neither may an heir take it first, nor have voters told it to wait.
    pub(super) fn asks_voters(&self, now: Instant) -> bool {
        let is_long = |since: Instant| now - since >= EXPLAIN_EVERY;
        let lacks = self.tenancy.fence().is_none() && !self.tenancy.voters.is_empty();
        let lets_an_heir_ask = self.handover.is_some() || self.tenancy.holds_back.is_some();
        lacks
            && self.is_nominee()
            && self.tenancy.lacks_since.is_some_and(is_long)
            && !lets_an_heir_ask
            && !self.is_asked_to_wait(now)
    }

    /// Who is refused is told why. Who hears nothing at all has to find out by itself.
    pub(super) fn explain_silence(&mut self, now: Instant) {
        if !self.is_nominee() || self.tenancy.fence().is_some() || self.tenancy.voters.is_empty() {
            return;
        }
        self.tenancy.explain_at = Some(now + EXPLAIN_EVERY);
        if self.handover.is_some() || self.tenancy.holds_back.is_some() {
            return; // it asks nobody while an heir may take it
        }
        let is_long = |since: Instant| now - since >= Duration(EXPLAIN_EVERY.0 / 2);
        if self.tenancy.authority.saves_since().is_some_and(is_long) {
            self.note_refusal(now, DISK_IS_SILENT); // and what it asks the others waits for that
            return;
        }
        if self.is_asked_to_wait(now) {
            return;
        }
        let silent = self.silent_voters(now, EXPLAIN_EVERY);
        let voters = self.tenancy.voters.len();
        if silent.len() * 2 > voters {
            let remedy = self.misnamed(&silent).unwrap_or_else(|| {
                "do their agents run, with this group's key, and does the network lead there?"
                    .to_owned()
            });
            let why = format!(
                "{} of {voters} voters do not answer ({}): {remedy}",
                silent.len(),
                silent.join(", ")
            );
            self.note_silence(now, &why);
        }
    }

    /// The names of the voters that were not heard within `span`; this member itself always is.
    fn silent_voters(&self, now: Instant, span: Duration) -> Vec<String> {
        let me = self.me.id;
        let is_heard = |at: Instant| now - at < span;
        let answers = |it: &Voter| it.id == me || it.heard.is_some_and(is_heard);
        let silent = self.tenancy.voters.iter().filter(|it| !answers(it));
        silent.map(|it| it.name.clone()).collect()
    }

    /// Voters that do not answer may be members under other names, as where hosts go by their full names: says so, if
    /// such members are known.
    fn misnamed(&self, silent: &[String]) -> Option<String> {
        let me = self.member.as_str();
        let heard = self.peers.iter().map(|(_, it)| it.name.as_str());
        let members: Vec<&str> = heard.chain([me]).collect();
        let (voter, member) = silent.iter().find_map(|voter| {
            let mut members = members.iter().copied();
            Some((voter, members.find(|it| names::same_host(voter, it))?))
        })?;
        let (subject, object) = if member == me {
            (format!("this member is called `{member}`"), "this member")
        } else {
            (format!("a member called `{member}` was heard"), "it")
        };
        Some(format!(
            "{subject}, which is no voter, and voters are known by their whole names: give {object} the name `{voter}` (--name), or put `{member}` in place of `{voter}` into voters, on all members"
        ))
    }

    /// This process did not run for `span`. If that is half a ttl it renewed nothing meanwhile, and heard no answer.
    pub(crate) fn note_pause(&mut self, now: Instant, span: Duration) {
        if self
            .config
            .authority
            .ttl()
            .is_some_and(|ttl| span * 2 >= ttl)
        {
            self.tenancy.paused = Some((now, span));
        }
    }

    /// Tenure that this member held has ended, though it was not given up.
    pub(super) fn warn_of_loss(&self, now: Instant, fence: Fence) {
        // They are asked three times in a ttl.
        let within = Duration(self.config.authority.ttl().unwrap_or_default().0 / 2);
        let silent = self.silent_voters(now, within);
        let (voters, group) = (self.tenancy.voters.len(), &self.config.name);
        let paused = self.tenancy.paused;
        let why = match silent.is_empty() {
            _ if let Some((_, span)) = paused.filter(|(at, _)| now - *at < within) => {
                format!("this process did not run for {}", in_words(span))
            }
            true if voters == 0 => "the store did not renew it in time".to_owned(),
            true => "voters did not renew it in time".to_owned(),
            false => format!(
                "{} of {voters} voters have not answered for {within} ({})",
                silent.len(),
                silent.join(", ")
            ),
        };
        tracing::warn!("group `{group}`: tenure with fence {fence} has ended: {why}");
    }

    /// A voter has been called by all ways for some time, and does not answer. Says nothing of a voter that is probably
    /// this member under another name: no network leads there, and [`explain_silence`](Self::explain_silence) says so.
    pub(super) fn tell_of_search(&self, voter: MemberId) {
        let (group, name) = (&self.config.name, self.name_of(voter));
        if names::same_host(&name, &self.member) {
            return;
        }
        match self.address_of(voter) {
            Some(address) => tracing::info!(
                "group `{group}`: voter `{name}` does not answer where it was heard last, at {address}: it is looked for by all ways; does its agent run?"
            ),
            None => tracing::info!(
                "group `{group}`: voter `{name}` was not found yet: it is looked for by all ways; does its agent run, and does the network lead there?"
            ),
        }
    }

    /// Where voters take longer than the ttl allows nobody gets tenure, or keeps it.
    pub(super) fn look_at_promptness(&mut self, took: Duration) {
        let authority = &self.config.authority;
        let (Some(ttl), Some(allowed)) = (authority.ttl(), authority.answer_within()) else {
            return;
        };
        if let Some(median) = self.tenancy.promptness.note(took, allowed) {
            let least = Duration::from_millis((median * ANSWERS_IN_A_TTL).0 / 1_000_000 + 1);
            tracing::warn!(
                "group `{}`: voters answer after {:.0} ms, and ttl {ttl} allows {:.0} ms: raise ttl to {least} or more, on all members",
                self.config.name,
                median.as_secs_f64() * 1e3,
                allowed.as_secs_f64() * 1e3,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, LATEST, Promptness, TOLD_AFTER_CALLS};
    use crate::identity::Life;
    use hustings_protocol::{Duration, Instant};

    const ALLOWED: Duration = Duration::from_millis(50);

    #[test]
    fn voters_that_are_late_as_a_rule_are_told_of_once() {
        let mut promptness = Promptness::default();
        let mut note = |millis| promptness.note(Duration::from_millis(millis), ALLOWED);
        // Every third question was lost, and its answer counts from the first.
        assert!((0..30).all(|it| note(if it % 3 == 0 { 900 } else { 2 }).is_none()));
        let told: Vec<_> = (0..20).filter_map(|_| note(80)).collect();
        assert_eq!(told, [Duration::from_millis(80)]);
        assert!((0..LATEST).all(|_| note(2).is_none()));
        assert_eq!((0..20).filter_map(|_| note(80)).count(), 1);
    }

    #[test]
    fn the_first_question_counts() {
        let mut asked = Asked::default();
        let life = Some(Life(1));
        assert_eq!(asked.answered(Instant(7), life), None);
        asked.ask(Instant(10), life);
        asked.ask(Instant(20), life);
        assert_eq!(asked.answered(Instant(25), life), Some(Duration(15)));
        assert_eq!(asked.answered(Instant(26), life), None);
    }

    /// It was never heard before, came up anew, or somebody else went by its name.
    #[test]
    fn a_voter_that_had_to_be_found_is_not_late() {
        let [first, later] = [1, 2].map(|life| Some(Life(life)));
        for (asked_in, answers_in, counts) in [
            (None, first, false),
            (first, later, false),
            (first, first, true),
        ] {
            let mut asked = Asked::default();
            asked.ask(Instant(10), asked_in);
            asked.ask(Instant(20), first);
            let took = asked.answered(Instant(25), answers_in);
            assert_eq!(took.is_some(), counts, "{asked_in:?} {answers_in:?}");
        }
    }

    #[test]
    fn that_a_voter_is_looked_for_is_told_once_until_it_answers() {
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
