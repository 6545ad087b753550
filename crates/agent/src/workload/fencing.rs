//! A tenure that has an end, and how its moves reach the guardian.

use std::future::pending;
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;

use super::deadline::Deadline;
use crate::authority::last_words::LastWords;
use crate::authority::{Cell, Fence, Held, Occupancy, Occupation};
use crate::clock;

/// What makes leadership more than advice: a command runs under a tenure alone, and is gone when that ends.
#[derive(Debug, Clone)]
pub struct Fencing {
    /// What this member holds, and until when.
    pub tenure: Cell,
    /// What gives it up when the member is dead. Empty: nothing is held that a death would leave behind, or it has
    /// been given up.
    pub last_words: watch::Receiver<LastWords>,
    /// Counts the commands that run: while one does, tenure is not given up.
    pub work: Occupancy,
}

/// The tenures of this member, as they come and go.
#[derive(Debug)]
pub(super) struct Tenures {
    fencing: Fencing,
    /// The one that was looked at last.
    latest: Option<Term>,
}

/// The tenure that a command runs under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    pub(super) fence: Fence,
    /// How it ends, as it was told last.
    pub(super) deadline: Deadline,
}

/// What has happened to the tenure of a command that runs.
#[derive(Debug)]
pub(super) enum Change {
    /// It ends at another time.
    Until(Deadline),
    /// It is not held any more.
    Over,
    LastWords(LastWords),
}

impl Tenures {
    pub(super) fn new(fencing: Fencing) -> Self {
        Self {
            fencing,
            latest: None,
        }
    }

    /// Waits for `settle`, and until tenure is held, with `fence` if that is known, and leaves time for a command that
    /// may take `grace` to stop. It is not given up before what comes with it is dropped. If its member no longer leads, by
    /// `leads`, it may be given up at any moment, and nothing is granted. May be dropped unfinished.
    pub(super) async fn granted(
        &mut self,
        settle: StdDuration,
        fence: Option<u64>,
        grace: Duration,
        leads: impl Fn() -> bool,
    ) -> (Term, Occupation) {
        if !settle.is_zero() {
            tokio::select! {
                () = sleep(settle) => {}
                () = self.follow() => {}
            }
        }
        loop {
            // Before the look: what is seen then is not given up until the command has ended.
            let work = self.fencing.work.begin();
            let now = clock::now();
            if let Some(term) = self.look(now)
                && fence.is_none_or(|fence| fence == term.fence.0)
                && now < term.deadline.stop_at(grace)
                && leads()
            {
                // The guardian of the next command has heard none of them.
                self.fencing.last_words.mark_changed();
                return (term, work);
            }
            drop(work);
            if self.fencing.tenure.changed().await.is_err() {
                // Nothing will be granted. Word of who leads will end too, and the wait with it.
                return pending().await;
            }
        }
    }

    /// Looks at each tenure when word of it comes, for ever: what it is worth can be told only then.
    async fn follow(&mut self) {
        loop {
            self.look(clock::now());
            if self.fencing.tenure.changed().await.is_err() {
                return pending().await;
            }
        }
    }

    /// What happens next to the tenure with this fence. May be dropped unfinished.
    ///
    /// A guardian sees only its own command end. Where an earlier one of this process may live, as nobody has seen it
    /// end, no guardian can say that nothing is left, and none is entrusted with last words.
    pub(super) async fn changed(&mut self, fence: Fence) -> Change {
        let Fencing {
            tenure,
            last_words,
            work,
        } = &mut self.fencing;
        tokio::select! {
            Ok(()) = tenure.changed() => {}
            Ok(()) = last_words.changed() => {
                let words = last_words.borrow_and_update().clone();
                return Change::LastWords(if work.is_shared() { LastWords::default() } else { words });
            }
            else => return pending().await,
        }
        match self.look(clock::now()) {
            Some(term) if term.fence == fence => Change::Until(term.deadline),
            Some(_) | None => Change::Over,
        }
    }

    /// What is held, and how it ends.
    fn look(&mut self, now: Instant) -> Option<Term> {
        let Held { fence, until } = (*self.fencing.tenure.borrow_and_update())?;
        let before = self.latest.filter(|latest| latest.fence == fence);
        let deadline = Deadline::told(before.map(|it| it.deadline), until, now);
        self.latest = Some(Term { fence, deadline });
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;
    use crate::workload::lines::Order;

    const GRACE: Duration = Duration::from_secs(1);
    const NOW: StdDuration = StdDuration::ZERO;

    fn member() -> (watch::Sender<Option<Held>>, Tenures) {
        let (authority, tenure) = watch::channel(None);
        let (_, last_words) = watch::channel(LastWords::default());
        let work = Occupancy::default();
        let fencing = Fencing {
            tenure,
            last_words,
            work,
        };
        (authority, Tenures::new(fencing))
    }

    fn held(fence: u64, left: Duration) -> Option<Held> {
        Some(Held {
            fence: Fence(fence),
            until: clock::now() + left,
        })
    }

    /// Whether a command may be started now.
    async fn may_start(tenures: &mut Tenures, fence: Option<u64>) -> bool {
        tokio::select! {
            biased;
            _ = tenures.granted(NOW, fence, GRACE, || true) => true,
            () = std::future::ready(()) => false,
        }
    }

    /// An agent on another thread says that its member no longer leads, and gives tenure up if no work goes on: what is
    /// granted meanwhile has either been seen by it, or is not granted.
    #[test]
    fn what_is_granted_while_a_member_stops_leading_is_not_given_up() {
        for attempt in 0..2_000 {
            let (authority, mut tenures) = member();
            authority.send_replace(held(7, Duration::from_secs(600)));
            let work = tenures.fencing.work.clone();
            let (election, leads) = watch::channel(true);
            let both = std::sync::Barrier::new(2);
            let (is_given_up, is_granted) = std::thread::scope(|threads| {
                let agent = threads.spawn(|| {
                    both.wait();
                    election.send_replace(false);
                    !work.is_occupied()
                });
                both.wait();
                let grant = std::pin::pin!(tenures.granted(NOW, None, GRACE, || *leads.borrow()));
                let waker = std::task::Waker::noop();
                let granted = grant.poll(&mut std::task::Context::from_waker(waker));
                // Whatever was granted lives on until the agent has looked.
                (agent.join().expect("it ends"), granted.is_ready())
            });
            assert!(!(is_given_up && is_granted), "attempt {attempt}");
        }
    }

    #[tokio::test]
    async fn a_member_that_no_longer_leads_is_granted_nothing_and_does_no_work() {
        let (authority, mut tenures) = member();
        authority.send_replace(held(7, Duration::from_secs(600)));
        let work = tenures.fencing.work.clone();
        let leads = || {
            assert!(work.is_occupied(), "it is asked after the work was noted");
            false
        };
        let is_granted = tokio::select! {
            biased;
            _ = tenures.granted(NOW, Some(7), GRACE, leads) => true,
            () = std::future::ready(()) => false,
        };
        assert!(!is_granted && !work.is_occupied());
    }

    /// A tenure of ten minutes is not renewed while the member settles: then a little more than a second is left, in
    /// which a command with a grace of a second, and the margin of ten minutes, could not stop.
    #[tokio::test]
    async fn what_a_tenure_was_worth_is_known_though_the_member_settled_first() {
        let (authority, mut tenures) = member();
        authority.send_replace(held(7, Duration::from_secs(600)));
        let settle = StdDuration::from_millis(30);
        let granted = tenures.granted(settle, Some(7), GRACE, || true);
        let meanwhile = async {
            sleep(settle / 3).await;
            authority.send_replace(held(7, Duration::from_millis(1_300)));
            sleep(settle * 2).await;
        };
        let is_granted = tokio::select! {
            _ = granted => true,
            () = meanwhile => false,
        };
        assert!(!is_granted);
    }

    #[tokio::test]
    async fn a_command_needs_time_to_stop_and_the_right_fence() {
        let (authority, mut tenures) = member();
        assert!(!may_start(&mut tenures, None).await);
        authority.send_replace(held(7, Duration::from_secs(600)));
        assert!(may_start(&mut tenures, None).await);
        assert!(may_start(&mut tenures, Some(7)).await);
        assert!(!may_start(&mut tenures, Some(6)).await);
        // Of a tenure of ten minutes half a second is left: too little for a grace of a second.
        authority.send_replace(held(7, Duration::from_millis(500)));
        assert!(!may_start(&mut tenures, Some(7)).await);
        authority.send_replace(held(7, Duration::from_secs(600)));
        assert!(may_start(&mut tenures, Some(7)).await);
        authority.send_replace(held(8, Duration::ZERO));
        assert!(!may_start(&mut tenures, None).await);
    }

    /// The margin before the end is a part of the whole tenure, for a guardian too that comes up late in it.
    #[tokio::test]
    async fn a_command_that_is_started_late_in_a_tenure_has_the_margin_of_all_of_it() {
        let (authority, mut tenures) = member();
        authority.send_replace(held(7, Duration::from_secs(3)));
        assert!(may_start(&mut tenures, None).await);
        // No renewal has come.
        let late = held(7, Duration::from_millis(320));
        authority.send_replace(late);
        let (term, _work) = tenures.granted(NOW, Some(7), Duration::ZERO, || true).await;
        let told = Order::Until(term.deadline).to_string().parse();
        let Ok(Order::Until(deadline)) = told else {
            panic!("{told:?}")
        };
        let until = late.map_or(Instant::START, |late| late.until);
        let margin = until - deadline.kill_at();
        assert!(margin >= Duration::from_millis(299), "{margin}");
    }

    /// What nobody has seen the end of goes on for ever.
    #[tokio::test]
    async fn who_cannot_see_an_earlier_command_end_is_not_entrusted_with_last_words() {
        for an_earlier_one_may_live in [false, true] {
            let (authority, mut tenures) = member();
            authority.send_replace(held(7, Duration::from_secs(600)));
            let words = LastWords(vec![(([127, 0, 0, 1], 9).into(), vec![1])]);
            let (_sealer, last_words) = watch::channel(words.clone());
            tenures.fencing.last_words = last_words;
            if an_earlier_one_may_live {
                std::mem::forget(tenures.fencing.work.begin());
            }
            let (term, _work) = tenures.granted(NOW, None, GRACE, || true).await;
            let expected = match an_earlier_one_may_live {
                true => LastWords::default(),
                false => words,
            };
            let change = tenures.changed(term.fence).await;
            assert!(matches!(change, Change::LastWords(words) if words == expected));
        }
    }

    #[tokio::test]
    async fn only_its_own_tenure_lets_a_command_run_on() {
        let (authority, mut tenures) = member();
        let renewed = held(7, GRACE);
        authority.send_replace(renewed);
        let change = tenures.changed(Fence(7)).await;
        let until = renewed.map(|held| held.until);
        assert!(matches!(change, Change::Until(deadline) if Some(deadline.until()) == until));
        for other in [held(8, GRACE), None] {
            authority.send_replace(other);
            assert!(matches!(tenures.changed(Fence(7)).await, Change::Over));
        }
    }
}
