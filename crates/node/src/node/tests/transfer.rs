//! Transfer of tenure to a named member, in the simulated network.

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Fence, Request, Saved};
use hustings_protocol::{Duration, MemberId};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Receiver};

use super::tenure::TTL;
use super::{ALL, DELAY, Field, Flight, address, id, name};
use crate::authority::in_flight::WorkGuard;
use crate::config::AuthorityConfig;
use crate::control::{TransferError, TransferOutcome};
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Incarnation, group_id};
use crate::node::{Node, Outbox, Transferee};
use crate::peer_table::Channel;

/// A span in which a reachable transferee takes tenure, and a reachable member is found.
pub(super) const WHILE: Duration = Duration::from_millis(100);
/// A span after which the time of a transferee is over.
pub(super) const TOO_LONG: Duration = Duration::from_millis(400);

impl Field {
    /// One member holds tenure, a voter that the election names waits for it, and a third may be
    /// the transferee.
    pub(super) fn with_a_voter_that_waits() -> (Self, [usize; 3]) {
        let fields = std::iter::repeat_with(|| Self::fenced(Takeover::Never));
        let waits = |field: Self| {
            let (holder, _) = field.settled_on(&ALL);
            let is_named = |it: &usize| field.members[*it].context.is_nominee() && *it != holder;
            let named = [0, 1, 2].into_iter().find(is_named)?; // these vote
            let transferee = (0..5).find(|it| ![holder, named].contains(it))?;
            Some((field, [holder, named, transferee]))
        };
        let found = fields.take(500).find_map(waits);
        found.expect("one of so many is named while another holds")
    }

    /// A group in which tenure was transferred to `transferee` a while ago. None unless the
    /// election happens to name `named`.
    fn with_an_heir_that_leads(named: usize, transferee: usize) -> Option<Self> {
        let mut field = Self::empty();
        for priority in [9, 0, 0, 8, 0] {
            let founding = Saved::Initialised(Durable::FOUNDING);
            field.admit_fenced(Takeover::Never, priority, founding);
        }
        field.run(Duration::from_secs(1));
        let (former, fence) = field.settled_on(&ALL);
        if former == transferee {
            return None;
        }
        let outcome = field.hand_over(former, transferee);
        field.assert_taken_by(transferee, fence, outcome);
        field.run(TTL * 3);
        assert_eq!(field.settled_on(&ALL).0, transferee, "it keeps what it has");
        field.members[named].context.is_nominee().then_some(field)
    }

    /// A member that holds tenure, the member that is to be its transferee, and the fence.
    pub(super) fn with_an_heir(takeover: Takeover) -> (Self, [usize; 2], u64) {
        let field = Self::fenced(takeover);
        let (former, fence) = field.settled_on(&ALL);
        (field, [former, (former + 1) % 5], fence)
    }

    /// Calls `act` with each of up to 20 groups in which tenure was transferred to `transferee` and
    /// the election names `named`, which happens by chance.
    pub(super) fn each_with_an_heir_that_leads(
        named: usize,
        transferee: usize,
        mut act: impl FnMut(Self),
    ) {
        let fields = (0..20).filter_map(|_| Self::with_an_heir_that_leads(named, transferee));
        let times = fields.map(&mut act).count();
        assert!(times > 0, "it did not happen that this one was named");
    }

    pub(super) fn hand_over(
        &mut self,
        index: usize,
        transferee: usize,
    ) -> Receiver<TransferOutcome> {
        let (outcome, is_over) = oneshot::channel();
        let transferee = Transferee { id: id(transferee), outcome };
        self.act(index, |it, now, out| {
            it.step_down(now, Duration::from_secs(5), Some(transferee), out);
        });
        is_over
    }

    /// Ends the work of `index`, so that it can release its tenure.
    pub(super) fn stop_work(&mut self, index: usize, work: WorkGuard) {
        drop(work);
        self.act(index, Node::leave_tenure);
    }

    /// Asserts that after a while `transferee` has taken tenure, with a higher fence.
    #[track_caller]
    pub(super) fn assert_taken_by(
        &mut self,
        transferee: usize,
        fence: u64,
        mut outcome: Receiver<TransferOutcome>,
    ) {
        self.run(WHILE);
        assert_eq!(outcome.try_recv(), Ok(TransferOutcome::Taken));
        let (next, higher) = self.settled_on(&ALL);
        assert!(next == transferee && higher > fence);
    }

    /// The result of asking `index`, after `span`, if it could transfer tenure to the member
    /// `name`.
    pub(super) fn find_transferee(
        &mut self,
        index: usize,
        name: &str,
        span: Duration,
    ) -> Result<MemberId, TransferError> {
        let (found, mut is_found) = oneshot::channel();
        self.act(index, |it, now, out| {
            it.find_transferee(now, name.to_owned(), found, out);
        });
        self.run(span);
        is_found.try_recv().expect("it has said so")
    }
}

#[test]
fn tenure_is_transferred_whichever_member_the_election_names() {
    for nth in [1, 2, 3, 4].repeat(10) {
        let mut field = Field::fenced(Takeover::Never);
        let (former, fence) = field.settled_on(&ALL);
        let transferee = (former + nth) % 5;
        let outcome = field.hand_over(former, transferee);
        field.assert_taken_by(transferee, fence, outcome);
        let (next, higher) = field.settled_on(&ALL);
        field.run(TTL * 5);
        assert_eq!(field.settled_on(&ALL), (next, higher), "nobody unseats it");
        field.step_down(transferee);
        field.run(WHILE);
        let (third, highest) = field.settled_on(&ALL);
        assert!(third != transferee && highest > higher, "it gives up what it was handed");
    }
}

/// Every other member but one is better than the transferee. If better members take over, they
/// would do so at once, and so would the former holder when it is back.
#[test]
fn transfer_holds_although_better_members_take_over() {
    for transferee in [1, 2, 3, 4].repeat(10) {
        let mut field = Field::fenced(Takeover::ByTheBetter);
        let (former, fence) = field.settled_on(&ALL);
        assert_eq!(former, 0);
        let outcome = field.hand_over(former, transferee);
        field.assert_taken_by(transferee, fence, outcome);
        let taken = field.settled_on(&ALL);
        for _ in 0..100 {
            field.run(Duration::from_millis(100)); // the former holder is back after half of them
            assert_eq!(field.settled_on(&ALL), taken, "nobody takes it back");
        }
        field.step_down(transferee);
        field.run(Duration::from_secs(1));
        assert_eq!(field.settled_on(&ALL).0, former, "the better lead again");
        field.run(Duration::from_secs(6));
        field.step_down(former);
        field.run(Duration::from_secs(1));
        assert_eq!(field.settled_on(&ALL).0, 1);
        field.run(Duration::from_secs(6));
        assert_eq!(field.settled_on(&ALL).0, former, "what was handed over once is forgotten");
    }
}

/// The transfer says how long that is: the waiting member's own voters may be faster. It waits for
/// a ttl at most.
#[test]
fn waiting_member_lets_the_transferee_go_first_for_its_time() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let [transferee, other] = [1, 2].map(|it| (former + it) % 5);
    let waits = |field: &Field, who: usize| {
        let until = field.members[who].tenure.holds_back_until();
        until.map(|until| until - field.now)
    };
    let AuthorityConfig::Quorum(quorum) = &mut field.members[other].context.config.authority else {
        panic!("voters grant it");
    };
    quorum.ttl = Duration(TTL.0 / 10 * 9);
    let ttl = quorum.ttl;
    let _outcome = field.hand_over(former, transferee);
    field.run(DELAY);
    assert_eq!(waits(&field, other), Some(Duration(TTL.0 / 2)));
    assert_eq!(waits(&field, transferee), None);
    let for_ever = Duration(u64::MAX);
    let mut out = Outbox::new();
    field.members[other].on_transfer(field.now, (id(transferee), for_ever), Fence(9), &mut out);
    assert_eq!(waits(&field, other), Some(ttl));
}

/// Each voter gets its own release. The transfer itself is a multicast, which may come later: two
/// sockets have no order.
#[test]
fn waiting_voter_holds_back_although_multicasts_are_late() {
    let (mut field, [former, named, transferee]) = Field::with_a_voter_that_waits();
    let (_, fence) = field.settled_on(&ALL);
    let outcome = field.hand_over(former, transferee);
    let multicasts = |it: &&mut Flight| it.channel == Channel::Multicast && it.to == named;
    for flight in field.flights.iter_mut().filter(multicasts) {
        flight.at = flight.at + WHILE;
    }
    field.assert_taken_by(transferee, fence, outcome);
}

/// No voter was asked.
#[test]
fn member_that_holds_back_does_not_report_silent_voters() {
    let (mut field, [_, named, transferee]) = Field::with_a_voter_that_waits();
    let mut out = Outbox::new();
    let member = &mut field.members[named];
    member.tenure.refusals().clear();
    member.on_transfer(field.now, (id(transferee), Duration::from_secs(60)), Fence(9), &mut out);
    let later = field.now + Duration::from_secs(600);
    member.explain_silence(later);
    assert!(member.tenure.refusals().is_empty());
    *member.tenure.transfer_grace() = None;
    member.explain_silence(later);
    assert!(!member.tenure.refusals().is_empty(), "else it says so");
}

/// The transfer comes when the member asks already; or the member knows of it, and then the
/// election names it.
#[test]
fn nominee_lets_a_transferee_go_first() {
    for is_asking in [true, false] {
        let (mut field, [former, named, transferee]) = Field::with_a_voter_that_waits();
        let transferee = id(transferee);
        let mut out = Outbox::new();
        if is_asking {
            field.step_down(former);
            field.run(DELAY * 2);
            field.members[named].on_transfer(field.now, (transferee, WHILE), Fence(9), &mut out);
        } else {
            field.members[named].on_transfer(field.now, (transferee, WHILE), Fence(9), &mut out);
            field.step_down(former);
            field.run(DELAY * 2);
            field.members[named].nominate_it(field.now, true, &mut out);
        }
        field.post(named, out);
        field.run(DELAY * 20);
        assert!(field.members[named].context.is_nominee());
        assert!(field.holders().is_empty(), "it does not go on");
        field.run(WHILE);
        assert_eq!(field.holders(), [named], "the heir did not come");
    }
}

/// A member that starts anew may be named again. It has promised tenure to another member.
#[test]
fn pause_while_work_stops_does_not_stop_a_transfer() {
    // The best member is named in any case, any other by chance.
    for takeover in [Takeover::ByTheBetter].into_iter().chain([Takeover::Never; 10]) {
        let (mut field, [former, transferee], fence) = Field::with_an_heir(takeover);
        let work = field.members[former].in_flight().begin();
        let mut outcome = field.hand_over(former, transferee);
        field.act(former, |it, now, out| {
            it.wake_from_pause(now, TOO_LONG, out);
        });
        field.run(Duration::from_secs(2));
        assert!(outcome.try_recv().is_err(), "nothing was decided yet");
        field.stop_work(former, work);
        field.assert_taken_by(transferee, fence, outcome);
    }
}

/// The election names it still, and the voters report that tenure is free.
#[test]
fn former_holder_does_not_ask_while_its_transferee_may() {
    let (mut field, [former, transferee], _) = Field::with_an_heir(Takeover::ByTheBetter);
    let mut outcome = field.hand_over(former, transferee);
    field.hold_up(transferee, WHILE);
    field.run(WHILE);
    assert!(field.members[former].context.is_nominee());
    let mut out = Outbox::new();
    field.members[former].on_released(field.now, &mut out);
    assert!(out.is_empty());
    field.run(WHILE);
    assert_eq!(outcome.try_recv(), Ok(TransferOutcome::Taken));
}

#[test]
fn stopped_member_releases_nothing_and_closes_its_transfer() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let work = field.members[former].in_flight().begin();
    let mut outcome = field.hand_over(former, (former + 1) % 5);
    // Another process with its name started long before.
    let (name, first) = (name(former), Incarnation(1));
    let claim = Frame {
        group: group_id("test"),
        sender: Sender::new(&name, id(former), first, 9).with_process_incarnation(first),
        number: 0,
        to_all: false,
        body: Body::DuplicateName {
            process_incarnation: field.members[former].context.process_incarnation.0,
            age_ns: u64::MAX,
        },
    };
    let mut out = Outbox::new();
    field.members[former].hear(field.now, address(9), Channel::Unicast, &claim, &mut out);
    assert!(field.members[former].duplicate_name().is_some());
    assert_eq!(outcome.try_recv(), Err(TryRecvError::Closed));
    drop(work);
    let mut out = Outbox::new();
    field.members[former].leave_tenure(field.now, &mut out);
    assert!(out.is_empty(), "it says nothing more");
}

#[test]
fn transfer_to_unknown_member_or_oneself_is_refused() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let before = field.settled_on(&ALL);
    let (leader, _) = before;
    let known = ["m1", "m2", "m3", "m4"].map(str::to_owned).into();
    assert_eq!(leader, 0);
    let refused = field.find_transferee(leader, "nobody", TOO_LONG);
    let unknown =
        TransferError::Unknown { group: "test".to_owned(), transferee: "nobody".to_owned(), known };
    assert_eq!(refused, Err(unknown));
    let refused = field.find_transferee(leader, &name(leader), Duration::ZERO);
    assert!(matches!(refused, Err(TransferError::Itself { .. })));
    let refused = field.find_transferee(1, &name(2), Duration::ZERO);
    let holder = Some(name(leader));
    assert!(matches!(refused, Err(TransferError::NoTenure { holder: it, .. }) if it == holder));
    assert_eq!(field.settled_on(&ALL), before);
}

#[test]
fn transfer_without_voters_is_refused() {
    let mut field = Field::settled(Takeover::Never, &[1, 2, 3]);
    let refused = field.find_transferee(0, &name(1), Duration::ZERO);
    assert!(matches!(refused, Err(TransferError::NoVoters { .. })));
}

/// It does not vote, so that it receives no release itself. The holder has renewed since the
/// refusal.
#[test]
fn refused_member_learns_of_the_release() {
    let [named, transferee] = [3, 4]; // neither votes
    Field::each_with_an_heir_that_leads(named, transferee, |mut field| {
        field.step_down(transferee);
        field.run(DELAY * 20);
        assert_eq!(field.holders(), [named]);
    });
}

/// It cannot work and need not, but the election must not name another member before the transferee
/// has tenure.
#[test]
fn former_holder_does_not_stand_aside_during_a_transfer() {
    // A holder that is not the nominee keeps tenure from no other member.
    let fields = std::iter::repeat_with(|| Field::fenced(Takeover::Never));
    let is_named = |field: &Field| field.members[field.settled_on(&ALL).0].context.is_nominee();
    let mut field = fields.take(100).find(is_named).expect("one is named");
    let (former, fence) = field.settled_on(&ALL);
    let transferee = (former + 1) % 5;
    let outcome = field.hand_over(former, transferee);
    field.hold_up(transferee, WHILE);
    field.act(former, |it, now, out| {
        it.ask_authority(now, Request::Healthy(false), out);
    });
    assert!(field.members[former].context.is_nominee());
    field.run(WHILE);
    assert!(field.members[former].context.is_nominee() && field.holders().is_empty());
    field.assert_taken_by(transferee, fence, outcome);
}

/// It is the only voter, so that no other voter can report the release.
#[test]
fn holder_that_is_the_only_voter_announces_its_release() {
    let mut times = 0;
    for _ in 0..20 {
        let mut field = Field::empty();
        for priority in [0, 9, 8] {
            let founding = Saved::Initialised(Durable::FOUNDING);
            field.admit_fenced_by(&[0], Takeover::Never, priority, founding);
        }
        field.run(Duration::from_secs(1));
        let all = [0, 1, 2];
        let (former, _) = field.settled_on(&all);
        if former != 0 {
            let _outcome = field.hand_over(former, 0);
            field.run(TTL * 3);
        }
        assert_eq!(field.settled_on(&all).0, 0);
        let is_named = |it: &usize| field.members[*it].context.is_nominee();
        let Some(named) = [1, 2].into_iter().find(is_named) else {
            continue;
        };
        times += 1;
        field.step_down(0);
        field.run(DELAY * 20);
        assert_eq!(field.holders(), [named]);
    }
    assert!(times > 0, "it did not happen that another one was named");
}

/// The messages about a transfer and about a holder may come twice, and late.
#[test]
fn late_transfer_messages_have_no_effect() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let [transferee, other] = [1, 2].map(|it| (former + it) % 5);
    let (now, mut out) = (field.now, Outbox::new());
    let member = &mut field.members[other];
    member.on_holds(now, id(transferee), 9, Duration::from_secs(1), &mut out);
    member.on_transfer(now, (id(transferee), WHILE), Fence(8), &mut out);
    assert!(member.tenure.transfer_grace().is_none(), "the heir has it");
    member.on_transfer(now, (id(transferee), WHILE), Fence(9), &mut out);
    member.on_holds(now, id(transferee), 9, Duration::from_secs(1), &mut out);
    assert!(member.tenure.transfer_grace().is_some(), "that is of before");
    member.on_holds(now, id(transferee), 10, Duration::from_secs(1), &mut out);
    assert!(member.tenure.transfer_grace().is_none());
}
