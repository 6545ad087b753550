//! Binds a command to a tenure that ends, and passes changes of the tenure to the guardian.

use std::future::pending;
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;

use super::deadline::Deadline;
use hustings_authority::{Fence, Held, InFlight, LastWill, LeaseWatch, WorkGuard};
use hustings_system::clock;

/// Makes leadership more than advisory: a command runs only under a tenure, and is gone when that
/// ends.
#[derive(Debug, Clone)]
pub struct LeaseBinding {
    /// The tenure that this member holds, with its end.
    pub tenure: LeaseWatch,
    /// The releases to send when the member is dead. Empty if nothing is held that a death would
    /// leave behind, or it has been released.
    pub last_will: watch::Receiver<LastWill>,
    /// Counts the commands that run. While one runs, tenure is not released.
    pub work: InFlight,
}

/// The successive tenures of this member.
#[derive(Debug)]
pub(super) struct Tenures {
    lease_binding: LeaseBinding,
    /// The tenure that was read last.
    latest: Option<Term>,
}

/// The tenure that a command runs under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    pub(super) fence: Fence,
    /// The deadline by the last notice.
    pub(super) deadline: Deadline,
}

/// A change of the tenure of a running command.
#[derive(Debug)]
pub(super) enum Change {
    /// Its end has changed.
    Until(Deadline),
    /// It is not held any more.
    Over,
    LastWill(LastWill),
}

impl Tenures {
    pub(super) fn new(lease_binding: LeaseBinding) -> Self {
        Self { lease_binding, latest: None }
    }

    /// Waits for `settle`, and then until tenure is held, with `fence` if that is given, and leaves
    /// time for a command that may take `grace` to stop. The tenure is not released before the
    /// returned guard is dropped. If `leads` returns false, tenure may be released at any moment,
    /// and nothing is granted. Cancel-safe.
    pub(super) async fn granted(
        &mut self,
        settle: StdDuration,
        fence: Option<u64>,
        grace: Duration,
        leads: impl Fn() -> bool,
    ) -> (Term, WorkGuard) {
        if !settle.is_zero() {
            tokio::select! {
                () = sleep(settle) => {}
                () = self.follow() => {}
            }
        }
        loop {
            // Counted before the tenure is read: a tenure that is read after this is not released
            // until the command has ended.
            let work = self.lease_binding.work.begin();
            let now = clock::now();
            if let Some(term) = self.look(now)
                && fence.is_none_or(|fence| fence == term.fence.0)
                && now < term.deadline.stop_at(grace)
                && leads()
            {
                // The guardian of the next command has not received any last will.
                self.lease_binding.last_will.mark_changed();
                return (term, work);
            }
            drop(work);
            if self.lease_binding.tenure.changed().await.is_err() {
                // Nothing more will be granted. The source of leadership will end too, and with it
                // this wait.
                return pending().await;
            }
        }
    }

    /// Reads each tenure when it changes, for ever: only then is its full span known.
    async fn follow(&mut self) {
        loop {
            self.look(clock::now());
            if self.lease_binding.tenure.changed().await.is_err() {
                return pending().await;
            }
        }
    }

    /// Returns the next change of the tenure with this fence. Cancel-safe.
    ///
    /// A guardian sees only the end of its own command. An earlier command of this process may
    /// still run if no process has seen its end. Then no guardian can verify that nothing is left,
    /// so none receives a last will.
    pub(super) async fn changed(&mut self, fence: Fence) -> Change {
        let LeaseBinding { tenure, last_will, work } = &mut self.lease_binding;
        tokio::select! {
            Ok(()) = tenure.changed() => {}
            Ok(()) = last_will.changed() => {
                let latest = last_will.borrow_and_update().clone();
                let is_sole = !work.is_shared();
                return Change::LastWill(if is_sole { latest } else { LastWill::default() });
            }
            else => return pending().await,
        }
        match self.look(clock::now()) {
            Some(term) if term.fence == fence => Change::Until(term.deadline),
            Some(_) | None => Change::Over,
        }
    }

    /// Reads the tenure that is held, and computes its deadline.
    fn look(&mut self, now: Instant) -> Option<Term> {
        let Held { fence, until } = (*self.lease_binding.tenure.borrow_and_update())?;
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
    use crate::workload::ipc::Order;

    const GRACE: Duration = Duration::from_secs(1);
    const NOW: StdDuration = StdDuration::ZERO;

    fn member() -> (watch::Sender<Option<Held>>, Tenures) {
        let (authority, tenure) = watch::channel(None);
        let (_, last_will) = watch::channel(LastWill::default());
        let work = InFlight::default();
        let lease_binding = LeaseBinding { tenure, last_will, work };
        (authority, Tenures::new(lease_binding))
    }

    fn held(fence: u64, left: Duration) -> Option<Held> {
        Some(Held { fence: Fence(fence), until: clock::now() + left })
    }

    /// True if a command may be started now.
    async fn may_start(tenures: &mut Tenures, fence: Option<u64>) -> bool {
        tokio::select! {
            biased;
            _ = tenures.granted(NOW, fence, GRACE, || true) => true,
            () = std::future::ready(()) => false,
        }
    }

    /// On another thread an agent publishes that its member no longer leads, and releases tenure if
    /// no work runs. A tenure granted meanwhile must have been counted as work, or must not be
    /// granted.
    #[test]
    fn tenure_granted_while_leadership_ends_is_not_released() {
        for attempt in 0..2_000 {
            let (authority, mut tenures) = member();
            authority.send_replace(held(7, Duration::from_secs(600)));
            let work = tenures.lease_binding.work.clone();
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
                // The grant lives until the agent has read the work count.
                (agent.join().expect("it ends"), granted.is_ready())
            });
            assert!(!(is_given_up && is_granted), "attempt {attempt}");
        }
    }

    #[tokio::test]
    async fn member_that_no_longer_leads_is_granted_nothing() {
        let (authority, mut tenures) = member();
        authority.send_replace(held(7, Duration::from_secs(600)));
        let work = tenures.lease_binding.work.clone();
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

    /// A tenure of ten minutes is not renewed while the member settles. Little more than a second
    /// is left, in which a command with a grace of one second and the margin of ten minutes could
    /// not stop.
    #[tokio::test]
    async fn span_of_a_tenure_is_known_after_settling() {
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
    async fn command_needs_time_to_stop_and_the_right_fence() {
        let (authority, mut tenures) = member();
        assert!(!may_start(&mut tenures, None).await);
        authority.send_replace(held(7, Duration::from_secs(600)));
        assert!(may_start(&mut tenures, None).await);
        assert!(may_start(&mut tenures, Some(7)).await);
        assert!(!may_start(&mut tenures, Some(6)).await);
        // Half a second is left of a tenure of ten minutes: too little for a grace of one second.
        authority.send_replace(held(7, Duration::from_millis(500)));
        assert!(!may_start(&mut tenures, Some(7)).await);
        authority.send_replace(held(7, Duration::from_secs(600)));
        assert!(may_start(&mut tenures, Some(7)).await);
        authority.send_replace(held(8, Duration::ZERO));
        assert!(!may_start(&mut tenures, None).await);
    }

    /// The margin before the end is a fraction of the whole tenure, also for a guardian that starts
    /// late in it.
    #[tokio::test]
    async fn command_started_late_in_a_tenure_has_the_full_margin() {
        let (authority, mut tenures) = member();
        authority.send_replace(held(7, Duration::from_secs(3)));
        assert!(may_start(&mut tenures, None).await);
        // No renewal has come.
        let late = held(7, Duration::from_millis(320));
        authority.send_replace(late);
        let (term, _work) = tenures.granted(NOW, Some(7), Duration::ZERO, || true).await;
        let told = Order::Until(term.deadline).to_string().parse();
        let Ok(Order::Until(deadline)) = told else { panic!("{told:?}") };
        let until = late.map_or(Instant::START, |late| late.until);
        let margin = until - deadline.kill_at();
        assert!(margin >= Duration::from_millis(299), "{margin}");
    }

    /// A command whose end no process has seen counts as running for ever.
    #[tokio::test]
    async fn guardian_gets_no_last_will_if_an_earlier_command_may_run() {
        for an_earlier_one_may_live in [false, true] {
            let (authority, mut tenures) = member();
            authority.send_replace(held(7, Duration::from_secs(600)));
            let deposited = LastWill(vec![(([127, 0, 0, 1], 9).into(), vec![1])]);
            let (_sealer, last_will) = watch::channel(deposited.clone());
            tenures.lease_binding.last_will = last_will;
            if an_earlier_one_may_live {
                std::mem::forget(tenures.lease_binding.work.begin());
            }
            let (term, _work) = tenures.granted(NOW, None, GRACE, || true).await;
            let expected = match an_earlier_one_may_live {
                true => LastWill::default(),
                false => deposited,
            };
            let change = tenures.changed(term.fence).await;
            assert!(matches!(change, Change::LastWill(last_will) if last_will == expected));
        }
    }

    #[tokio::test]
    async fn command_continues_only_under_its_own_tenure() {
        let (authority, mut tenures) = member();
        let renewed = held(7, GRACE);
        authority.send_replace(renewed);
        let change = tenures.changed(Fence(7)).await;
        let until = renewed.map(|held| held.until);
        assert!(matches!(change, Change::Until(deadline) if Some(deadline.until) == until));
        for other in [held(8, GRACE), None] {
            authority.send_replace(other);
            assert!(matches!(tenures.changed(Fence(7)).await, Change::Over));
        }
    }
}
