//! Tenure is handed to a named member, in the network that is only told of.

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Fence, Request, Saved};
use hustings_protocol::{Duration, MemberId};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Receiver};

use super::tenancy::TTL;
use super::{ALL, DELAY, Field, Flight, address, id, name};
use crate::agent::{HandedOver, NotHandedOver};
use crate::authority::occupancy::Occupation;
use crate::config::AuthorityConfig;
use crate::frame::{Body, Frame, Sender};
use crate::group::{Group, Heir, Outbox};
use crate::identity::{Life, group_id};
use crate::peers::Way;

/// A while in which an heir that is there takes tenure, and a member that is there is found.
pub(super) const WHILE: Duration = Duration::from_millis(100);
/// After this an heir that has not taken it has had its time.
pub(super) const TOO_LONG: Duration = Duration::from_millis(400);

impl Field {
    /// One member holds, a voter that the election names waits until it does not, and a third may be an heir.
    pub(super) fn with_a_voter_that_waits() -> (Self, [usize; 3]) {
        let fields = std::iter::repeat_with(|| Self::fenced(Takeover::Never));
        let waits = |field: Self| {
            let (holder, _) = field.settled_on(&ALL);
            let is_named = |it: &usize| field.members[*it].is_nominee() && *it != holder;
            let named = [0, 1, 2].into_iter().find(is_named)?; // these vote
            let heir = (0..5).find(|it| ![holder, named].contains(it))?;
            Some((field, [holder, named, heir]))
        };
        let found = fields.take(500).find_map(waits);
        found.expect("one of so many is named while another holds")
    }

    /// Tenure was handed to `heir` a while ago, and the election names `named`: if it happens to.
    fn with_an_heir_that_leads(named: usize, heir: usize) -> Option<Self> {
        let mut field = Self::empty();
        for merit in [9, 0, 0, 8, 0] {
            let founding = Saved::Initialised(Durable::FOUNDING);
            field.admit_fenced(Takeover::Never, merit, founding);
        }
        field.run(Duration::from_secs(1));
        let (former, fence) = field.settled_on(&ALL);
        if former == heir {
            return None;
        }
        let outcome = field.hand_over(former, heir);
        field.assert_taken_by(heir, fence, outcome);
        field.run(TTL * 3);
        assert_eq!(field.settled_on(&ALL).0, heir, "it keeps what it has");
        field.members[named].is_nominee().then_some(field)
    }

    /// One member holds with a fence, and another is to be its heir.
    pub(super) fn with_an_heir(takeover: Takeover) -> (Self, [usize; 2], u64) {
        let field = Self::fenced(takeover);
        let (former, fence) = field.settled_on(&ALL);
        (field, [former, (former + 1) % 5], fence)
    }

    /// Does something to as many groups as one has in which tenure was handed to `heir`, and the election names `named`: that
    /// is by chance.
    pub(super) fn each_with_an_heir_that_leads(
        named: usize,
        heir: usize,
        mut act: impl FnMut(Self),
    ) {
        let fields = (0..20).filter_map(|_| Self::with_an_heir_that_leads(named, heir));
        let times = fields.map(&mut act).count();
        assert!(times > 0, "it did not happen that this one was named");
    }

    pub(super) fn hand_over(&mut self, index: usize, heir: usize) -> Receiver<HandedOver> {
        let (told, outcome) = oneshot::channel();
        let heir = Heir { id: id(heir), told };
        self.act(index, |it, now, out| {
            it.step_down(now, Duration::from_secs(5), Some(heir), out);
        });
        outcome
    }

    /// The work of `index` has stopped, and what it holds can be given up.
    pub(super) fn stop_work(&mut self, index: usize, work: Occupation) {
        drop(work);
        self.act(index, Group::leave_tenure);
    }

    /// After a while `heir` has taken tenure, with a higher fence.
    #[track_caller]
    pub(super) fn assert_taken_by(
        &mut self,
        heir: usize,
        fence: u64,
        mut outcome: Receiver<HandedOver>,
    ) {
        self.run(WHILE);
        assert_eq!(outcome.try_recv(), Ok(HandedOver::Taken));
        let (next, higher) = self.settled_on(&ALL);
        assert!(next == heir && higher > fence);
    }

    /// What `index` says when it is asked whether it could hand tenure to the member called `name`, after `span`.
    pub(super) fn find_heir(
        &mut self,
        index: usize,
        name: &str,
        span: Duration,
    ) -> Result<MemberId, NotHandedOver> {
        let (found, mut is_found) = oneshot::channel();
        self.act(index, |it, now, out| {
            it.find_heir(now, name.to_owned(), found, out);
        });
        self.run(span);
        is_found.try_recv().expect("it has said so")
    }
}

#[test]
fn tenure_is_handed_to_a_named_member_whomever_the_election_names() {
    for nth in [1, 2, 3, 4].repeat(10) {
        let mut field = Field::fenced(Takeover::Never);
        let (former, fence) = field.settled_on(&ALL);
        let heir = (former + nth) % 5;
        let outcome = field.hand_over(former, heir);
        field.assert_taken_by(heir, fence, outcome);
        let (next, higher) = field.settled_on(&ALL);
        field.run(TTL * 5);
        assert_eq!(field.settled_on(&ALL), (next, higher), "nobody unseats it");
        field.step_down(heir);
        field.run(WHILE);
        let (third, highest) = field.settled_on(&ALL);
        assert!(
            third != heir && highest > higher,
            "it gives up what it was handed"
        );
    }
}

/// Each of the others but one is better than the heir, and wherever the better take over, they would at once: the one
/// that handed over as well, when it is back.
#[test]
fn a_handover_stands_where_the_better_take_over_until_the_heir_gives_it_up() {
    for heir in [1, 2, 3, 4].repeat(10) {
        let mut field = Field::fenced(Takeover::ByTheBetter);
        let (former, fence) = field.settled_on(&ALL);
        assert_eq!(former, 0);
        let outcome = field.hand_over(former, heir);
        field.assert_taken_by(heir, fence, outcome);
        let taken = field.settled_on(&ALL);
        for _ in 0..100 {
            field.run(Duration::from_millis(100)); // the former one is back after half of them
            assert_eq!(field.settled_on(&ALL), taken, "nobody takes it back");
        }
        field.step_down(heir);
        field.run(Duration::from_secs(1));
        assert_eq!(field.settled_on(&ALL).0, former, "the better lead again");
        field.run(Duration::from_secs(6));
        field.step_down(former);
        field.run(Duration::from_secs(1));
        assert_eq!(field.settled_on(&ALL).0, 1);
        field.run(Duration::from_secs(6));
        assert_eq!(
            field.settled_on(&ALL).0,
            former,
            "what was handed over once is forgotten"
        );
    }
}

/// It is told how long that is: its own voters may be more prompt. But a tenure is the longest that it waits.
#[test]
fn who_waits_lets_an_heir_be_first_for_as_long_as_that_one_has() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let [heir, other] = [1, 2].map(|it| (former + it) % 5);
    let waits = |field: &Field, who: usize| {
        let holds_back = field.members[who].tenancy.holds_back;
        holds_back.map(|it| it.until - field.now)
    };
    let AuthorityConfig::Quorum(quorum) = &mut field.members[other].config.authority else {
        panic!("voters grant it");
    };
    quorum.ttl = Duration(TTL.0 / 10 * 9);
    let ttl = quorum.ttl;
    let _outcome = field.hand_over(former, heir);
    field.run(DELAY);
    assert_eq!(waits(&field, other), Some(Duration(TTL.0 / 2)));
    assert_eq!(waits(&field, heir), None);
    let for_ever = Duration(u64::MAX);
    let mut out = Outbox::new();
    field.members[other].on_hands_over(field.now, (id(heir), for_ever), Fence(9), &mut out);
    assert_eq!(waits(&field, other), Some(ttl));
}

/// Each voter is told by itself that tenure is given up. That it is for an heir is multicast, which may come later: two
/// sockets have no order.
#[test]
fn a_voter_that_waits_for_tenure_does_not_take_what_is_an_heirs_though_multicasts_are_late() {
    let (mut field, [former, named, heir]) = Field::with_a_voter_that_waits();
    let (_, fence) = field.settled_on(&ALL);
    let outcome = field.hand_over(former, heir);
    let multicasts = |it: &&mut Flight| it.way == Way::Multicast && it.to == named;
    for flight in field.flights.iter_mut().filter(multicasts) {
        flight.at = flight.at + WHILE;
    }
    field.assert_taken_by(heir, fence, outcome);
}

/// Nobody was asked.
#[test]
fn who_lets_an_heir_be_first_does_not_say_that_voters_are_silent() {
    let (mut field, [_, named, heir]) = Field::with_a_voter_that_waits();
    let mut out = Outbox::new();
    let member = &mut field.members[named];
    member.tenancy.refusals.clear();
    member.on_hands_over(
        field.now,
        (id(heir), Duration::from_secs(60)),
        Fence(9),
        &mut out,
    );
    let later = field.now + Duration::from_secs(600);
    member.explain_silence(later);
    assert!(member.tenancy.refusals.is_empty());
    member.tenancy.holds_back = None;
    member.explain_silence(later);
    assert!(!member.tenancy.refusals.is_empty(), "else it says so");
}

/// That tenure is an heir's comes when it asks already; or it knows, and then the election names it.
#[test]
fn who_is_about_to_get_tenure_or_is_named_lets_an_heir_be_first() {
    for is_asking in [true, false] {
        let (mut field, [former, named, heir]) = Field::with_a_voter_that_waits();
        let heir = id(heir);
        let mut out = Outbox::new();
        if is_asking {
            field.step_down(former);
            field.run(DELAY * 2);
            field.members[named].on_hands_over(field.now, (heir, WHILE), Fence(9), &mut out);
        } else {
            field.members[named].on_hands_over(field.now, (heir, WHILE), Fence(9), &mut out);
            field.step_down(former);
            field.run(DELAY * 2);
            field.members[named].nominate(field.now, true, &mut out);
        }
        field.post(named, out);
        field.run(DELAY * 20);
        assert!(field.members[named].is_nominee());
        assert!(field.holders().is_empty(), "it does not go on");
        field.run(WHILE);
        assert_eq!(field.holders(), [named], "the heir did not come");
    }
}

/// Whoever comes up anew may be named again. It has promised tenure to another.
#[test]
fn a_pause_while_the_work_stops_does_not_keep_tenure_from_the_heir() {
    // The best is named in any case, any other by chance.
    for takeover in [Takeover::ByTheBetter]
        .into_iter()
        .chain([Takeover::Never; 10])
    {
        let (mut field, [former, heir], fence) = Field::with_an_heir(takeover);
        let work = field.members[former].occupancy().begin();
        let mut outcome = field.hand_over(former, heir);
        field.act(former, |it, now, out| {
            it.wake_from_pause(now, TOO_LONG, out);
        });
        field.run(Duration::from_secs(2));
        assert!(outcome.try_recv().is_err(), "nothing was decided yet");
        field.stop_work(former, work);
        field.assert_taken_by(heir, fence, outcome);
    }
}

/// The election names it still, and the voters say that tenure is free.
#[test]
fn who_has_handed_over_does_not_ask_for_it_while_its_heir_may_take_it() {
    let (mut field, [former, heir], _) = Field::with_an_heir(Takeover::ByTheBetter);
    let mut outcome = field.hand_over(former, heir);
    field.hold_up(heir, WHILE);
    field.run(WHILE);
    assert!(field.members[former].is_nominee());
    let mut out = Outbox::new();
    field.members[former].on_freed(field.now, &mut out);
    assert!(out.is_empty());
    field.run(WHILE);
    assert_eq!(outcome.try_recv(), Ok(HandedOver::Taken));
}

#[test]
fn who_takes_no_part_any_more_hands_nothing_over_and_whoever_asked_knows() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let work = field.members[former].occupancy().begin();
    let mut outcome = field.hand_over(former, (former + 1) % 5);
    // Somebody of its name was here long before.
    let (name, first) = (name(former), Life(1));
    let claim = Frame {
        group: group_id("test"),
        sender: Sender::new(&name, id(former), first, 9).born_in(first),
        number: 0,
        to_all: false,
        body: Body::Namesake {
            born: field.members[former].born.0,
            age_ns: u64::MAX,
        },
    };
    let mut out = Outbox::new();
    field.members[former].hear(field.now, address(9), Way::Unicast, &claim, &mut out);
    assert!(field.members[former].namesake().is_some());
    assert_eq!(outcome.try_recv(), Err(TryRecvError::Closed));
    drop(work);
    let mut out = Outbox::new();
    field.members[former].leave_tenure(field.now, &mut out);
    assert!(out.is_empty(), "it says nothing more");
}

#[test]
fn nothing_is_given_up_for_nobody_or_for_oneself() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let before = field.settled_on(&ALL);
    let (leader, _) = before;
    let known = ["m1", "m2", "m3", "m4"].map(str::to_owned).into();
    assert_eq!(leader, 0);
    let refused = field.find_heir(leader, "nobody", TOO_LONG);
    let unknown = NotHandedOver::Unknown {
        group: "test".to_owned(),
        heir: "nobody".to_owned(),
        known,
    };
    assert_eq!(refused, Err(unknown));
    let refused = field.find_heir(leader, &name(leader), Duration::ZERO);
    assert!(matches!(refused, Err(NotHandedOver::Itself { .. })));
    let refused = field.find_heir(1, &name(2), Duration::ZERO);
    let holder = Some(name(leader));
    assert!(matches!(refused, Err(NotHandedOver::NoTenure { holder: it, .. }) if it == holder));
    assert_eq!(field.settled_on(&ALL), before);
}

#[test]
fn where_nobody_votes_there_is_nothing_to_hand_over() {
    let mut field = Field::settled(Takeover::Never, &[1, 2, 3]);
    let refused = field.find_heir(0, &name(1), Duration::ZERO);
    assert!(matches!(refused, Err(NotHandedOver::NoVoters { .. })));
}

/// It does not vote, and so hears of no release by itself. The holder has renewed since it was refused.
#[test]
fn who_was_refused_is_told_when_tenure_is_given_up() {
    let [named, heir] = [3, 4]; // neither votes
    Field::each_with_an_heir_that_leads(named, heir, |mut field| {
        field.step_down(heir);
        field.run(DELAY * 20);
        assert_eq!(field.holders(), [named]);
    });
}

/// It cannot work, and is not to: but the election must not name another one before its heir has tenure.
#[test]
fn who_has_handed_over_and_falls_ill_does_not_stand_aside_while_its_heir_may_take_it() {
    // Who holds while another is named has nobody to keep from it.
    let fields = std::iter::repeat_with(|| Field::fenced(Takeover::Never));
    let is_named = |field: &Field| field.members[field.settled_on(&ALL).0].is_nominee();
    let mut field = fields.take(100).find(is_named).expect("one is named");
    let (former, fence) = field.settled_on(&ALL);
    let heir = (former + 1) % 5;
    let outcome = field.hand_over(former, heir);
    field.hold_up(heir, WHILE);
    field.act(former, |it, now, out| {
        it.ask_authority(now, Request::Healthy(false), out);
    });
    assert!(field.members[former].is_nominee());
    field.run(WHILE);
    assert!(field.members[former].is_nominee() && field.holders().is_empty());
    field.assert_taken_by(heir, fence, outcome);
}

/// Where it is the only voter no other says so.
#[test]
fn a_holder_that_votes_alone_tells_who_waits_that_it_gives_tenure_up() {
    let mut times = 0;
    for _ in 0..20 {
        let mut field = Field::empty();
        for merit in [0, 9, 8] {
            let founding = Saved::Initialised(Durable::FOUNDING);
            field.admit_fenced_by(&[0], Takeover::Never, merit, founding);
        }
        field.run(Duration::from_secs(1));
        let all = [0, 1, 2];
        let (former, _) = field.settled_on(&all);
        if former != 0 {
            let _outcome = field.hand_over(former, 0);
            field.run(TTL * 3);
        }
        assert_eq!(field.settled_on(&all).0, 0);
        let is_named = |it: &usize| field.members[*it].is_nominee();
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

/// What says that tenure is handed over, or held, may come twice, and late.
#[test]
fn what_is_late_of_a_handover_makes_nobody_hold_back_and_ends_no_later_one() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let [heir, other] = [1, 2].map(|it| (former + it) % 5);
    let (now, mut out) = (field.now, Outbox::new());
    let member = &mut field.members[other];
    member.on_holds(now, id(heir), 9, Duration::from_secs(1));
    member.on_hands_over(now, (id(heir), WHILE), Fence(8), &mut out);
    assert!(member.tenancy.holds_back.is_none(), "the heir has it");
    member.on_hands_over(now, (id(heir), WHILE), Fence(9), &mut out);
    member.on_inherited(now, id(heir), Fence(9), &mut out);
    assert!(member.tenancy.holds_back.is_some(), "that is of before");
    member.on_inherited(now, id(heir), Fence(10), &mut out);
    assert!(member.tenancy.holds_back.is_none());
}
