//! The verdict for all states that a status can show.

use std::net::{Ipv4Addr, SocketAddr};

use hustings_protocol::{Duration, Instant, MemberId};

use super::{CUT_OFF_AFTER, HealthState, Level, in_words, judge};
use crate::council::{CentreStatus, ChamberStatus, CouncilStatus, Seated};
use crate::counters::Counters;
use crate::leadership::{Leadership, Mode, Peer};
use crate::node::{Aside, GroupStatus, Health, PeerStatus, Refusal, TenureStatus, VoterStatus};

const NOW: Instant = Instant(1_000_000_000_000);
const ME: &str = "alpha";

fn ago(millis: u64) -> Instant {
    Instant(NOW.0 - Duration::from_millis(millis).0)
}

fn peer(name: &str) -> Peer {
    Peer { name: name.to_owned(), id: MemberId(1), address: None }
}

/// A member of an advisory group that knows no other member, and has had no leader for ten seconds.
fn advisory() -> GroupStatus {
    GroupStatus {
        health: Health::default(),
        leadership: Leadership::unknown("web", ME, Mode::Advisory, ago(10_000)),
        tenure: None,
        protocol: "suppress".to_owned(),
        reach: "multicast".to_owned(),
        peers: Vec::new(),
        join: Vec::new(),
        k: None,
        measured: None,
        partial_view: None,
        council: None,
        aside: None,
        vacant_since: Some(ago(10_000)),
        other_key_at: None,
        duplicate_name: None,
        counters: Counters::default(),
    }
}

/// The same in a fenced group with voters alpha, beta and gamma.
fn fenced() -> GroupStatus {
    let voter = |name: &str| VoterStatus { name: name.to_owned(), heard: None, answers: None };
    let mut status = advisory();
    status.leadership.mode = Mode::Fenced;
    status.tenure = Some(TenureStatus {
        authority: "quorum of 3".to_owned(),
        ttl: Some(Duration::from_secs(2)),
        holder: None,
        fence: None,
        remaining: None,
        voters: [ME, "beta", "gamma"].map(voter).into(),
        asking: false,
        reachable: None,
        shut_out: None,
        refusals: Vec::new(),
        disputed: None,
    });
    status
}

/// The same in a fenced group whose tenure a store grants.
fn stored(reachable: bool) -> GroupStatus {
    let mut status = fenced();
    let tenure = status.tenure.as_mut().expect("fenced");
    tenure.authority = "etcd".to_owned();
    tenure.voters.clear();
    tenure.reachable = Some(reachable);
    tenure.shut_out = Some(false);
    status
}

impl GroupStatus {
    fn led_by(mut self, leader: &str) -> Self {
        self.leadership.leader = Some(peer(leader));
        let is_advisory = self.leadership.mode == Mode::Advisory;
        self.leadership.leads = leader == ME && is_advisory;
        self.vacant_since = self.vacant_since.filter(|_| !is_advisory);
        self
    }

    /// `holder` leads and holds tenure.
    fn held_by(mut self, holder: &str) -> Self {
        let is_own = holder == ME;
        self.leadership.leader = Some(peer(holder));
        self.leadership.leads = is_own;
        self.leadership.fence = Some(7);
        self.vacant_since = None;
        let tenure = self.tenure.as_mut().expect("fenced");
        tenure.holder = Some(holder.to_owned());
        tenure.fence = Some(7);
        tenure.remaining = is_own.then_some(Duration::from_millis(1_500));
        self
    }

    /// It asks for tenure, or holds it, and `count` of the three voters answer.
    fn answered_by(mut self, count: usize) -> Self {
        let tenure = self.tenure.as_mut().expect("fenced");
        tenure.asking = tenure.remaining.is_none();
        for (index, voter) in tenure.voters.iter_mut().enumerate() {
            voter.answers = Some(index < count);
        }
        self
    }

    fn refused(mut self, why: &str, at: Instant) -> Self {
        let tenure = self.tenure.as_mut().expect("fenced");
        let (why, times) = (why.to_owned(), 1);
        tenure.refusals.push(Refusal { at, why, times });
        self
    }

    /// It knows two members. The later frame of the two came at `at`.
    fn heard(mut self, at: Instant) -> Self {
        let heard = |name: &str, at| PeerStatus {
            peer: peer(name),
            heard: Some(at),
            unanswered: None,
            silent_for: None,
            up: None,
        };
        self.peers = vec![heard("beta", at), heard("gamma", ago(900_000))];
        self
    }

    fn aside(mut self, why: Option<&str>) -> Self {
        let why = why.map(str::to_owned);
        let remaining = Duration::from_secs(8);
        self.aside = Some(Aside { is_failure: why.is_some(), why, remaining });
        self
    }

    fn since(mut self, at: Instant) -> Self {
        self.leadership.since = at;
        self.vacant_since = self.vacant_since.map(|_| at);
        self
    }
}

#[track_caller]
fn check(status: &GroupStatus, state: HealthState, level: Level, parts: &[&str]) {
    let health = judge(status, NOW);
    assert_eq!((health.state, health.level), (state, level), "{health:?}");
    for part in parts {
        assert!(health.summary.contains(part), "{part}: {health:?}");
    }
    assert!(!health.summary.ends_with('.'), "{health:?}");
}

const LONG_AGO: u64 = 660_000;

#[test]
fn healthy_leaders_and_followers_are_good_despite_silence() {
    use HealthState::{Following, Leading};
    let good = Level::Good;
    check(&advisory().led_by(ME), Leading, good, &["no other member found yet"]);
    check(&advisory().led_by(ME).heard(ago(1_900)), Leading, good, &["leads"]);
    check(&advisory().led_by("beta"), Following, good, &["follows beta"]);
    // Followers are silent, and so may a leader be that announces itself once an hour.
    let silent = advisory().led_by("beta").heard(ago(LONG_AGO));
    check(&silent, Following, good, &[]);
    // Only a member that holds tenure, or asks for it, hears from voters.
    let follower = fenced().held_by("beta").heard(ago(LONG_AGO));
    check(&follower, Following, good, &["follows beta"]);
    let holder = fenced().held_by(ME).answered_by(3).heard(ago(LONG_AGO));
    check(&holder, Leading, good, &["leads, fence 7"]);
    check(&stored(true).held_by(ME), Leading, good, &[]);
    // An old reason for having no tenure is history.
    let past = holder.refused("2 of 3 voters do not answer", ago(60_000));
    check(&past, Leading, good, &[]);
}

#[test]
fn holder_that_loses_voters_is_first_warned_of_and_then_bad() {
    let holds = |answers| fenced().held_by(ME).answered_by(answers);
    check(
        &holds(2),
        HealthState::Leading,
        Level::Warning,
        &["1 of 3 voters do not answer (gamma)", "if one more is lost"],
    );
    check(
        &holds(1),
        HealthState::NoMajority,
        Level::Bad,
        &["leads for 1.5 s more unless renewed", "only 1 of 3 voters answer: beta, gamma do not"],
    );
    // It has only just been granted tenure: voters that were not asked are not silent.
    let just_now = holds(2).since(ago(100));
    check(&just_now, HealthState::Leading, Level::Good, &[]);
}

#[test]
fn nominee_without_tenure_is_never_good() {
    let named = || fenced().led_by(ME).heard(ago(100));
    let asks = |answers| named().answered_by(answers);
    check(&named().since(ago(50)), HealthState::NoTenure, Level::Warning, &["asks for it"]);
    check(
        &asks(3).since(ago(4_000)).refused("`beta` holds it", ago(300)),
        HealthState::NoTenure,
        Level::Warning,
        &["`beta` holds it"],
    );
    check(&asks(1), HealthState::NoMajority, Level::Bad, &["only 1 of 3 voters"]);
    let store = stored(false).led_by(ME);
    check(&store, HealthState::StoreSilent, Level::Bad, &["etcd does not answer"]);
    let holder = stored(false).held_by(ME);
    check(&holder, HealthState::StoreSilent, Level::Bad, &["leads for 1.5 s more"]);
    for (since, level) in [(4_000, Level::Warning), (6_000, Level::Bad)] {
        check(
            &fenced().led_by("beta").since(ago(since)),
            HealthState::NoTenure,
            level,
            &["beta is named, and has no tenure yet"],
        );
        check(&named().since(ago(since)), HealthState::NoTenure, level, &["asks for it"]);
    }
    // The nominee changes, and still no member holds tenure.
    let mut renamed = fenced().led_by("beta");
    renamed.leadership.since = ago(100);
    check(&renamed, HealthState::NoTenure, Level::Bad, &[]);
}

#[test]
fn member_without_frames_of_its_known_group_is_cut_off() {
    let at = ago(CUT_OFF_AFTER.0 / 1_000_000);
    let leads = advisory().led_by(ME);
    check(
        &leads.heard(at),
        HealthState::CutOff,
        Level::Warning,
        &["leads, but", "(2)", "this host is cut off"],
    );
    let nobody = &["has received nothing from the other members that it knows (2) for 5.0 s"];
    check(&advisory().heard(at), HealthState::CutOff, Level::Bad, nobody);
    let mut one_is_dead = advisory().heard(at);
    one_is_dead.peers[1].up = Some(false);
    check(&one_is_dead, HealthState::CutOff, Level::Bad, &["(2, 1 of them known to be down)"]);
    let named = fenced().led_by(ME).answered_by(1).heard(at);
    check(&named, HealthState::CutOff, Level::Bad, nobody);
    let aside = fenced().aside(Some("no answer")).heard(at);
    check(&aside, HealthState::CutOff, Level::Bad, nobody);
}

#[test]
fn member_that_accepts_no_tenure_from_its_store_is_never_good() {
    let why = "etcd counts below fence 9";
    let shut_out = |status: GroupStatus| {
        let mut status = status.refused(why, ago(60_000)).heard(ago(100));
        status.tenure.as_mut().expect("fenced").shut_out = Some(true);
        status
    };
    let follower = shut_out(stored(true).held_by("beta"));
    check(&follower, HealthState::ShutOut, Level::Warning, &["follows beta", why]);
    let vacant = stored(true).aside(Some("no tenure"));
    for status in [stored(true), stored(true).led_by(ME), vacant] {
        check(&shut_out(status), HealthState::ShutOut, Level::Bad, &["takes no tenure", why]);
    }
}

/// A leader by a store needs no other members, so the operator should look at the store.
#[test]
fn failing_store_is_reported_before_silent_members() {
    let silent = stored(false).led_by(ME).heard(ago(60_000));
    check(&silent, HealthState::StoreSilent, Level::Bad, &["etcd does not answer"]);
    let mut shut_out = stored(true).heard(ago(60_000)).refused("set back", ago(100));
    shut_out.tenure.as_mut().expect("fenced").shut_out = Some(true);
    check(&shut_out, HealthState::ShutOut, Level::Bad, &["set back"]);
    let well = stored(true).heard(ago(60_000));
    check(&well, HealthState::CutOff, Level::Bad, &[]);
}

/// After a restart, a host that is cut off knows no other member.
#[test]
fn leader_with_seeds_that_hears_no_member_is_warned_of() {
    let told = |mut status: GroupStatus| {
        status.join = vec!["10.0.0.2:7400".to_owned()];
        status
    };
    for status in [advisory().led_by(ME), stored(true).held_by(ME)] {
        let status = told(status);
        check(
            &status,
            HealthState::Leading,
            Level::Warning,
            &["leads, but no other member answers", "10.0.0.2:7400"],
        );
        let young = status.clone().since(ago(4_900));
        check(&young, HealthState::Leading, Level::Good, &[]);
        let well = status.heard(ago(100));
        check(&well, HealthState::Leading, Level::Good, &[]);
    }
}

#[test]
fn incomplete_council_or_stopped_centre_is_warned_of() {
    let centre = |seats: usize| {
        let election = |place: u8| Seated {
            place,
            member: peer("delta"),
            since: NOW,
            heard: NOW,
            confirmed: true,
            lease: None,
        };
        let chamber = ChamberStatus {
            class: 0,
            least: 2,
            most: 3,
            seats: (0..seats as u8).map(election).collect(),
        };
        CentreStatus {
            group: "web".to_owned(),
            centre: ME.to_owned(),
            session: 1,
            chambers: vec![chamber],
            is_settled: true,
            rounds: 0,
            replies: 0,
            late: 0,
            peak_replies: 0,
            changes: 0,
            gives_way_to: None,
            held_elsewhere: None,
            awaits: None,
            record: Vec::new(),
        }
    };
    let of = |centre: CentreStatus| {
        let mut status = advisory();
        status.protocol = "none".to_owned();
        status.council = Some(CouncilStatus::Centre(centre));
        status
    };
    let state = HealthState::NoElection;
    check(&of(centre(2)), state, Level::Good, &["no leader is elected"]);
    let too_few = &["no leader is elected", "the council has 1 seats filled of 2 to 3"];
    check(&of(centre(1)), state, Level::Warning, too_few);
    let mut stopped = centre(2);
    stopped.gives_way_to = Some(peer("beta"));
    let other = &["stopped, as `beta` is the centre of the council now"];
    check(&of(stopped), state, Level::Warning, other);
    let mut stopped = centre(2);
    stopped.held_elsewhere = Some(peer("gamma"));
    let elsewhere = &["stopped, as `gamma` holds a seat of another centre"];
    check(&of(stopped), state, Level::Warning, elsewhere);
    // Also in a group that elects a leader.
    let mut led = advisory().led_by(ME);
    led.council = Some(CouncilStatus::Centre(centre(1)));
    check(&led, HealthState::Leading, Level::Warning, &["leads", "seats filled"]);
}

#[test]
fn member_that_stands_aside_gives_the_reason() {
    let aside = HealthState::StandsAside;
    let heard = || fenced().heard(ago(100));
    let why = "2 of 3 voters do not answer";
    for (since, level) in [(4_000, Level::Warning), (6_000, Level::Bad)] {
        check(
            &heard().aside(Some(why)).since(ago(since)),
            aside,
            level,
            &[why, "8.0 s", "no leader is known"],
        );
    }
    let named = heard().led_by("beta").aside(Some(why));
    check(&named, aside, Level::Bad, &["beta is named, and has no"]);
    let led = heard().held_by("beta").aside(Some(why));
    check(&led, aside, Level::Warning, &[why, "beta leads"]);
    let asked = heard().held_by("beta").aside(None);
    check(&asked, aside, Level::Good, &["stepped down as asked", "beta leads"]);
    check(&heard().aside(None).since(ago(4_000)), aside, Level::Warning, &["no leader is known"]);
    check(&heard().aside(None), aside, Level::Bad, &[]);
    // Its command ended regularly.
    let mut ended = heard().held_by("beta").aside(Some("this member's command ended"));
    ended.aside.as_mut().expect("it is aside").is_failure = false;
    check(&ended, aside, Level::Good, &["(this member's command ended)"]);
}

#[test]
fn frames_under_another_key_make_a_good_verdict_a_warning() {
    let text = "frames of this group under another key arrive here: give every member the same key";
    for (since, level) in [(9_000, Level::Warning), (11_000, Level::Good)] {
        let mut leader = advisory().led_by(ME);
        leader.other_key_at = Some(ago(since));
        check(&leader, HealthState::Leading, level, &["leads"]);
        let summary = judge(&leader, NOW).summary;
        assert_eq!(summary.contains(text), level == Level::Warning, "{summary}");
    }
    let mut vacant = advisory();
    vacant.other_key_at = Some(ago(100));
    check(&vacant, HealthState::NoLeader, Level::Bad, &[]);
}

#[test]
fn group_without_a_leader_is_bad_unless_it_has_just_lost_it() {
    let vacant = HealthState::NoLeader;
    check(&advisory(), vacant, Level::Bad, &["no leader is known, for 10.0 s"]);
    check(&advisory().since(ago(300)), vacant, Level::Warning, &[]);
}

#[test]
fn duplicate_name_and_dispute_come_before_all_else() {
    let mut twin = fenced().held_by(ME).answered_by(3);
    twin.duplicate_name = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 7400)));
    let what = &["another member called alpha is at 127.0.0.1:7400"];
    check(&twin, HealthState::DuplicateName, Level::Bad, what);
    let mut disputed = fenced().held_by(ME).answered_by(3);
    disputed.tenure.as_mut().expect("fenced").disputed = Some("two may lead".to_owned());
    check(&disputed, HealthState::Disputed, Level::Bad, &["two may lead"]);
    let mut council = advisory();
    council.protocol = "none".to_owned();
    check(&council, HealthState::NoElection, Level::Good, &["no leader is elected"]);
}

/// The name in JSON is the one in the metrics.
#[test]
fn every_state_has_one_name() {
    for state in HealthState::ALL {
        let name = serde_json::to_value(state).expect("plain data");
        assert_eq!(name, state.name());
    }
    for level in [Level::Good, Level::Warning, Level::Bad] {
        let name = serde_json::to_value(level).expect("plain data");
        assert_eq!(name, level.name());
    }
}

#[test]
fn spans_are_short_and_plain() {
    for (seconds, text) in
        [(0, "0.0 s"), (59, "59.0 s"), (60, "1 min 0 s"), (3_725, "1 h 2 min"), (172_800, "2 days")]
    {
        assert_eq!(in_words(Duration::from_secs(seconds)), text);
    }
}
