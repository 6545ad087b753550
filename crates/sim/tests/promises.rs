//! Every sentence under `Promises` in the headers of the three protocols, and the test that checks
//! it. The laws run from many seeds; see `laws/main.rs`.
//!
//! Chang and Roberts' ring
//! - all name the best member, for any callers:
//!   `ring_names_the_best_for_any_callers`
//! - one caller costs 2N to 3N-1 messages and as many delays:
//!   `r1_ring_one_caller_costs_2n_to_3n_minus_1_messages`
//! - all N at once cost N H_N + N expected: `r2_ring_all_callers_cost_n_h_n_plus_n_expected`
//! - an identity whose owner died goes round for ever, or all name the dead member:
//!   `r4_ring_identity_of_a_dead_owner_goes_round_for_ever`,
//!   `r4_ring_all_name_a_winner_that_died`
//! - with `field`, after any faults, within `election_timeout` and 3N delays, and keep doing so:
//!   laws, `agreement_comes_in_time_and_lasts::chang_roberts`
//! - until then they may name different members: `parted_groups_name_different_members`
//!
//! Modified ring
//! - 2N messages for one initiator, N H_k + N expected for k at once, one leader:
//!   `r5_r8_modified_ring_costs_2n_or_n_h_k_plus_n_messages`
//! - if the best dies after it signed, the list comes back without it and a new election follows:
//!   `r6_modified_ring_repeats_if_the_best_dies_after_signing`
//! - if the initiator dies, the member that finds its own signature calls the next one:
//!   `r7_modified_ring_member_that_finds_its_signature_calls_again`
//! - a leader that dies after its second signature is named all the same:
//!   `r9_modified_ring_names_a_leader_dead_after_two_signatures`
//! - a member that dies holding the message ends the election silently:
//!   `modified_ring_death_with_the_message_ends_the_election`
//! - with `field`, after any faults, within `election_timeout` and 4N delays, and keep doing so:
//!   laws, `agreement_comes_in_time_and_lasts::modified_ring`; `election_timeout` must outlast a lap:
//!   `modified_ring_elects_none_if_patience_is_below_a_lap`
//!
//! Bully
//! - all name the best live member, also if the best die meanwhile:
//!   `r12_bully_names_the_best_live_member_despite_deaths`, and laws,
//!   `death_is_survived::bully`
//! - N-1 messages if the second best calls, N-2 if it knows, N^2-N-1 if the worst does:
//!   `r10_r11_bully_costs_the_stated_messages`
//! - once a round trip takes longer, a member names itself, worse members follow, and with
//!   `paper` that may last: `r12_bully_late_answers_leave_a_lasting_disagreement`
//! - with `field`, after any faults, within `election_timeout` + `answer_within` + 2 x `victory_within`:
//!   laws, `agreement_comes_in_time_and_lasts::bully`
//!
//! Chang and Roberts' ring, bully
//! - a newcomer's election does not unseat a healthy leader:
//!   `newcomers_election_does_not_unseat_a_healthy_leader`

mod support;

use hustings_protocol::bully::{self, Bully};
use hustings_protocol::chang_roberts::ChangRoberts;
use hustings_protocol::modified_ring::ModifiedRing;
use hustings_protocol::{Duration, MemberId};
use hustings_sim::{Boot, Detection, Ending, Seeds, Summary, World};

use support::family::Family;
use support::text::Text;
use support::watch::Watch;
use support::{UNIT, group, layouts, ranked, run, run_traced, script, total, units};

/// Units after which a running election is taken to be endless.
const FOR_EVER: u64 = 1_000;

/// Runs a scenario as the source of the protocol assumes.
fn as_on_slides<P: Family>(members: u32, scenario: &str) -> Summary {
    let setup = group(ranked(members), P::DETECTION);
    run::<P>(setup, script(scenario), P::paper(), FOR_EVER)
}

/// Runs all elections of `members` that `callers` call, checks that they elect the best, and
/// returns the mean number of messages.
fn elect<P: Family>(members: u32, callers: u32) -> f64 {
    let (mut messages, mut elections) = (0, 0);
    for layout in layouts(members, callers) {
        let (priorities, scenario) = layout.scenario();
        let setup = group(priorities, P::DETECTION);
        let summary = run::<P>(setup, scenario, P::paper(), FOR_EVER);
        assert_eq!(summary.ending, Ending::Elected(MemberId(0)));
        messages += total(&summary.tally);
        elections += 1;
    }
    messages as f64 / f64::from(elections)
}

fn harmonic(n: u32) -> f64 {
    (1..=n).map(|i| 1.0 / f64::from(i)).sum()
}

#[test]
fn ring_names_the_best_for_any_callers() {
    for members in 1..=5 {
        for callers in 1..=members {
            elect::<ChangRoberts>(members, callers);
        }
    }
}

#[test]
fn r1_ring_one_caller_costs_2n_to_3n_minus_1_messages() {
    for members in 2..=12 {
        let mut costs = Vec::new();
        for caller in 0..members {
            let setup = group(ranked(members), ChangRoberts::DETECTION);
            let make = |_: Boot<ChangRoberts>| ChangRoberts::default();
            let mut world = World::new(setup, ChangRoberts::paper(), Seeds::new(0, 0), make);
            world.start(caller);
            world.run_until(units(FOR_EVER));
            let messages = total(world.tally());
            assert_eq!(world.now(), units(messages), "as many delays");
            costs.push(messages);
        }
        costs.sort_unstable();
        let n = u64::from(members);
        assert_eq!(costs, (2 * n..3 * n).collect::<Vec<_>>());
    }
}

#[test]
fn r2_ring_all_callers_cost_n_h_n_plus_n_expected() {
    for members in 2..=6 {
        let mean = elect::<ChangRoberts>(members, members);
        let expected = f64::from(members) * (harmonic(members) + 1.0);
        assert!((mean - expected).abs() < 1e-9, "{mean}, not {expected}");
    }
}

#[test]
fn r4_ring_identity_of_a_dead_owner_goes_round_for_ever() {
    let summary = as_on_slides::<ChangRoberts>(5, "at 0s start 2\nat 2500ms kill 4");
    assert_eq!(summary.ending, Ending::Livelock);
    assert_eq!(summary.known_at, None, "no member is elected");
}

#[test]
fn r4_ring_all_name_a_winner_that_died() {
    let summary = as_on_slides::<ChangRoberts>(5, "at 0s start 2\nat 7500ms kill 4");
    assert_eq!(summary.ending, Ending::ElectedDead(MemberId(4)));
}

#[test]
fn r5_r8_modified_ring_costs_2n_or_n_h_k_plus_n_messages() {
    for members in 2..=5 {
        for callers in 1..=members {
            let mean = elect::<ModifiedRing>(members, callers);
            let expected = f64::from(members) * (harmonic(callers) + 1.0);
            assert!((mean - expected).abs() < 1e-9, "{mean}, not {expected}");
        }
        let cost = |caller| {
            let summary = as_on_slides::<ModifiedRing>(members, &format!("at 0s start {caller}"));
            total(&summary.tally)
        };
        assert!((0..members).all(|caller| cost(caller) == 2 * u64::from(members)));
    }
}

#[test]
fn r6_modified_ring_repeats_if_the_best_dies_after_signing() {
    let summary = as_on_slides::<ModifiedRing>(5, "at 0s start 2\nat 2500ms kill 4");
    assert_eq!(summary.ending, Ending::Elected(MemberId(3)));
    assert_eq!(summary.tally.rounds, 2, "a new election");
    assert_eq!(total(&summary.tally), 17);
}

#[test]
fn r7_modified_ring_member_that_finds_its_signature_calls_again() {
    for (death, at) in [("500ms", "5.000s"), ("5500ms", "10.000s")] {
        let setup = group(ranked(5), ModifiedRing::DETECTION);
        let scenario = script(&format!("at 0s start 2\nat {death} kill 2"));
        let config = ModifiedRing::paper();
        let text = Text::default();
        let (summary, text) =
            run_traced::<ModifiedRing, _>(setup, scenario, config, FOR_EVER, text);
        let calls: Vec<&str> =
            text.lines().into_iter().filter(|line| line.contains("stands")).collect();
        assert_eq!(calls[0], "0.000s  2 stands, round 1");
        assert_eq!(calls[1..], [format!("{at}  3 stands, round 2")]);
        assert_eq!(summary.ending, Ending::Elected(MemberId(4)));
    }
}

#[test]
fn r9_modified_ring_names_a_leader_dead_after_two_signatures() {
    let summary = as_on_slides::<ModifiedRing>(5, "at 0s start 2\nat 7500ms kill 4");
    assert_eq!(summary.ending, Ending::ElectedDead(MemberId(4)));
}

#[test]
fn modified_ring_death_with_the_message_ends_the_election() {
    let summary = as_on_slides::<ModifiedRing>(5, "at 0s start 2\nat 2500ms kill 0");
    assert_eq!(summary.ending, Ending::SilentDeadlock);
}

#[test]
fn modified_ring_elects_none_if_patience_is_below_a_lap() {
    let ending = |election_timeout: f64| {
        let setup = group(ranked(5), Detection::After(UNIT));
        let config = ModifiedRing::field(UNIT.mul_f64(election_timeout));
        run::<ModifiedRing>(setup, script("at 0s start 2"), config, FOR_EVER).ending
    };
    assert_eq!(ending(4.5), Ending::Livelock);
    assert_eq!(ending(5.5), Ending::Elected(MemberId(4)));
}

#[test]
fn r10_r11_bully_costs_the_stated_messages() {
    for members in 3..=20 {
        let n = u64::from(members);
        let (best, second) = (members - 1, members - 2);
        let messages = |caller: u32, detection| {
            let setup = group(ranked(members), detection);
            let scenario = script(&format!("at 0s kill {best}\nat 0s start {caller}"));
            let summary = run::<Bully>(setup, scenario, Bully::paper(), FOR_EVER);
            assert!(summary.elected_best, "{summary:?}");
            total(&summary.tally)
        };
        assert_eq!(messages(second, Detection::Never), n - 1);
        assert_eq!(messages(second, Detection::Oracle), n - 2, "the caller knows");
        assert_eq!(messages(0, Detection::Never), n * n - n - 1);
    }
}

#[test]
fn r12_bully_names_the_best_live_member_despite_deaths() {
    // Of seven, the best is dead; the next three die one after the other, each before it has won.
    let deaths = "at 0s kill 6\nat 0s start 0\nat 2500ms kill 5\nat 8s kill 4\nat 9500ms kill 3";
    let summary = as_on_slides::<Bully>(7, deaths);
    assert_eq!(summary.ending, Ending::Elected(MemberId(2)));
}

#[test]
fn r12_bully_late_answers_leave_a_lasting_disagreement() {
    let config = bully::Config { answer_within: UNIT.mul_f64(1.5), ..Bully::paper() };
    let setup = group(ranked(3), Detection::Never);
    let scenario = script("at 0s start 1");
    let (_, watch) = run_traced::<Bully, _>(setup, scenario, config, FOR_EVER, Watch::default());
    let last = |member| {
        let names = watch.names.iter().rev();
        names.clone().find(|(_, who, _)| *who == member).and_then(|(_, _, named)| *named)
    };
    assert!(
        watch.names.iter().any(|(_, who, named)| *who == 1 && *named == Some(MemberId(1))),
        "1 should have waited for 2"
    );
    assert_eq!(last(0), Some(MemberId(1)), "worse members follow");
    assert_eq!([last(1), last(2)], [Some(MemberId(2)); 2]);
}

#[test]
fn parted_groups_name_different_members() {
    fn leaders<P: Family>() -> [Option<MemberId>; 4] {
        let setup = group(ranked(4), Detection::After(UNIT));
        let make = |_: Boot<P>| P::default();
        let mut world = World::new(setup, P::field(UNIT * 13), Seeds::new(0, 0), make);
        world.follow(&script("at 0s start all\nat 30s cut 0,1 | 2,3"));
        world.run_until(units(100));
        [0, 1, 2, 3].map(|member| world.nominee(member).map(|(id, _)| id))
    }
    let parted = [1, 1, 3, 3].map(|id| Some(MemberId(id)));
    assert_eq!(leaders::<ChangRoberts>(), parted);
    assert_eq!(leaders::<ModifiedRing>(), parted);
    assert_eq!(leaders::<Bully>(), parted);
}

#[test]
fn newcomers_election_does_not_unseat_a_healthy_leader() {
    fn names_after_the_newcomer<P: Family>() -> Vec<Option<MemberId>> {
        let came = units(50);
        let setup = group(ranked(4), Detection::After(Duration::from_millis(500)));
        let scenario = script("at 0s kill 1\nat 1s start 0,2,3\nat 50s restart 1");
        let config = P::field(UNIT * 13);
        let (summary, watch) =
            run_traced::<P, _>(setup, scenario, config, FOR_EVER, Watch::default());
        assert_eq!(summary.ending, Ending::Elected(MemberId(3)));
        let later = watch.names.into_iter().filter(|(at, _, _)| *at >= came);
        later.map(|(_, _, named)| named).collect()
    }
    for names in [
        names_after_the_newcomer::<ChangRoberts>(),
        names_after_the_newcomer::<ModifiedRing>(),
        names_after_the_newcomer::<Bully>(),
    ] {
        assert!(!names.is_empty(), "the newcomer has a nominee");
        assert!(names.iter().all(|named| *named == Some(MemberId(3))));
    }
}
