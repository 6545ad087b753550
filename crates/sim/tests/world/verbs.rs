//! The effects of scenario verbs, and their order.

use hustings_protocol::Duration;
use hustings_sim::Detection;

use crate::puppet::{Act, Bell, Cue};
use crate::{only, play};

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn equal_times_order_is_scenario_then_messages_then_timers() {
    let lines =
        play(3, Detection::Never, "at 0s start 0,1\nat 1s start 2", |me, cue| match (me, cue) {
            (0, Cue::Start) => vec![Act::Arm(Bell::Low, secs(1)), Act::Send(2, 7)],
            (1, Cue::Start) => vec![Act::Arm(Bell::High, secs(1)), Act::Send(2, 8)],
            _ => vec![],
        });
    let of_second_one: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("1.000s  ")).collect();
    assert_eq!(
        of_second_one,
        ["2 starts", "2 gets 7 from 0", "2 gets 8 from 1", "0 times out: Low", "1 times out: High"]
    );
}

#[test]
fn dead_members_neither_hear_nor_time_out() {
    let lines =
        play(2, Detection::Never, "at 0s start all\nat 500ms kill 1", |me, cue| match (me, cue) {
            (0, Cue::Start) => vec![Act::Send(1, 7)],
            (1, Cue::Start) => vec![Act::Arm(Bell::Low, secs(2))],
            _ => vec![],
        });
    assert_eq!(lines[2..], ["0.000s  1 starts", "0.500s  * kill 1", "1.000s  lost: 0 -> 1"]);
}

#[test]
fn messages_of_dead_members_still_arrive() {
    let lines = play(2, Detection::Never, "at 0s start 0\nat 500ms kill 0", |_, cue| match cue {
        Cue::Start => vec![Act::Send(1, 7)],
        _ => vec![],
    });
    assert_eq!(lines[3..], ["1.000s  1 gets 7 from 0"]);
}

#[test]
fn restart_finds_the_saved_state_unless_it_is_fresh() {
    let saved_then = |scenario: &str| {
        let lines = play(1, Detection::Never, scenario, |_, cue| match cue {
            Cue::Start => vec![Act::ShowSaved, Act::Save(5), Act::Save(6)],
            _ => vec![],
        });
        only("stands", &lines)
    };
    assert_eq!(
        saved_then("at 0s start 0\nat 1s kill 0\nat 2s restart 0\nat 3s restart 0"),
        ["0.000s  0 stands, round 0", "2.000s  0 stands, round 6", "3.000s  0 stands, round 6"]
    );
    assert_eq!(
        saved_then("at 0s start 0\nat 1s restart 0 fresh\nat 2s restart 0")[1..],
        ["1.000s  0 stands, round 0", "2.000s  0 stands, round 6"]
    );
}

#[test]
fn saved_state_is_found_after_every_restart() {
    let lines = play(
        1,
        Detection::Never,
        "at 0s start 0\nat 1s restart 0\nat 2s restart 0",
        // Only the first incarnation saves: it finds nothing and stands in round 0.
        |_, cue| match cue {
            Cue::Start => vec![Act::ShowSaved, Act::SaveIfNew(5)],
            _ => vec![],
        },
    );
    assert_eq!(
        only("stands", &lines),
        ["0.000s  0 stands, round 0", "1.000s  0 stands, round 5", "2.000s  0 stands, round 5"]
    );
}

#[test]
fn restart_stops_the_timers_of_the_earlier_incarnation() {
    let lines = play(1, Detection::Never, "at 0s start 0\nat 1s restart 0", |_, cue| match cue {
        Cue::Start => vec![Act::Arm(Bell::Low, secs(3))],
        _ => vec![],
    });
    assert_eq!(only("times out", &lines), ["4.000s  0 times out: Low"]);
}

#[test]
fn cut_separates_the_groups_and_the_rest() {
    let lines = play(
        5,
        Detection::Never,
        "at 0s cut 0 | 1,2\nat 0s start 0,1,3\nat 5s heal\nat 5s start 0",
        |_, cue| match cue {
            Cue::Start => vec![Act::SendEach(7)],
            _ => vec![],
        },
    );
    assert_eq!(
        only("gets", &lines),
        [
            "1.000s  2 gets 7 from 1",
            "1.000s  4 gets 7 from 3",
            "6.000s  1 gets 7 from 0",
            "6.000s  2 gets 7 from 0",
            "6.000s  3 gets 7 from 0",
            "6.000s  4 gets 7 from 0"
        ]
    );
}

#[test]
fn message_in_flight_when_its_link_is_cut_is_lost() {
    let lines =
        play(2, Detection::Never, "at 0s start 0\nat 500ms cut 0 | 1\nat 2s heal", |_, cue| {
            match cue {
                Cue::Start => vec![Act::Send(1, 7)],
                _ => vec![],
            }
        });
    assert_eq!(only("0 -> 1", &lines)[1..], ["1.000s  lost: 0 -> 1"]);
}

#[test]
fn message_sent_into_a_cut_is_lost_even_if_it_heals_in_time() {
    for act in [Act::Send(1, 7), Act::Multicast(7)] {
        let sent_into = |scenario| {
            let script: fn(u64, Cue) -> Vec<Act> = match act {
                Act::Multicast(_) => |_, cue| match cue {
                    Cue::Start => vec![Act::Multicast(7)],
                    _ => vec![],
                },
                _ => |_, cue| match cue {
                    Cue::Start => vec![Act::Send(1, 7)],
                    _ => vec![],
                },
            };
            only("1 gets", &play(2, Detection::Never, scenario, script)).len()
        };
        assert_eq!(sent_into("at 1s start 0"), 1, "{act:?}");
        let healed = "at 1s cut 0 | 1\nat 1s start 0\nat 1500ms heal";
        assert_eq!(sent_into(healed), 0, "{act:?}");
    }
}

#[test]
fn one_way_cut_affects_one_direction_only() {
    let lines = play(
        2,
        Detection::Never,
        "at 0s cut 0 -> 1\nat 0s start all\nat 5s heal\nat 5s start all",
        |me, cue| match cue {
            Cue::Start => vec![Act::Send(1 - me, 7)],
            _ => vec![],
        },
    );
    assert_eq!(
        only("gets", &lines),
        ["1.000s  0 gets 7 from 1", "6.000s  1 gets 7 from 0", "6.000s  0 gets 7 from 1"]
    );
}

#[test]
fn resumed_member_handles_messages_then_late_timers() {
    let lines = play(
        2,
        Detection::Never,
        "at 0s start all\nat 500ms pause 1\nat 10s resume 1",
        |me, cue| match (me, cue) {
            (0, Cue::Start) => vec![Act::Send(1, 7), Act::Send(1, 8)],
            (1, Cue::Start) => vec![
                Act::Arm(Bell::High, Duration::from_millis(700)),
                Act::Arm(Bell::Low, secs(20)),
            ],
            _ => vec![],
        },
    );
    assert_eq!(
        lines[4..],
        [
            "0.500s  * pause 1",
            "10.000s  * resume 1",
            "10.000s  1 gets 7 from 0",
            "10.000s  1 gets 8 from 0",
            "10.000s  1 times out: High",
            "20.000s  1 times out: Low"
        ]
    );
}

#[test]
fn late_timer_stopped_by_a_waiting_message_does_not_expire() {
    let lines = play(
        2,
        Detection::Never,
        "at 0s start all\nat 500ms pause 1\nat 10s resume 1",
        |me, cue| match (me, cue) {
            (0, Cue::Start) => vec![Act::Send(1, 7)],
            (1, Cue::Start) => vec![Act::Arm(Bell::High, secs(2)), Act::Arm(Bell::Low, secs(2))],
            (1, Cue::Got(_)) => vec![Act::Disarm(Bell::High), Act::Arm(Bell::Low, secs(3))],
            _ => vec![],
        },
    );
    assert_eq!(only("times out", &lines), ["13.000s  1 times out: Low"]);
}

#[test]
fn resumed_member_handles_view_changes_first() {
    let lines = play(
        3,
        Detection::After(secs(1)),
        "at 0s start 0\nat 500ms pause 1\nat 2s kill 2\nat 3s kill 0\nat 5s restart 0\nat 10s resume 1",
        |me, cue| match (me, cue) {
            (0, Cue::Start) => vec![Act::Send(1, 7)],
            (1, Cue::ViewChanged) => vec![Act::ShowView],
            _ => vec![],
        },
    );
    let at_ten: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("10.000s  ")).collect();
    assert_eq!(
        at_ten,
        ["* resume 1", "1 sees 2 go", "1 stands, round 2", "1 gets 7 from 0", "1 gets 7 from 0"],
        "0 went and came: nothing to tell"
    );
}

#[test]
fn double_clock_rate_halves_durations_and_doubles_time() {
    let lines = play(
        1,
        Detection::Never,
        "at 0s start 0\nat 4s drift 0 2\nat 4s start 0\nat 10s drift 0 0.5\nat 10s start 0",
        |_, cue| match cue {
            Cue::Start => vec![Act::ShowClock, Act::Arm(Bell::Low, secs(4))],
            Cue::Rang(_) => vec![Act::ShowClock],
            _ => vec![],
        },
    );
    let told: Vec<String> = lines.into_iter().filter(|line| line.contains("stands")).collect();
    assert_eq!(
        told,
        [
            "0.000s  0 stands, round 0",
            // The timer armed at 0 is armed anew by the start at 4, whose clock runs twice as fast.
            "4.000s  0 stands, round 4000",
            "6.000s  0 stands, round 8000",
            "10.000s  0 stands, round 16000",
            "18.000s  0 stands, round 20000"
        ]
    );
}

#[test]
fn running_timer_continues_at_the_new_rate() {
    let lines = play(
        1,
        Detection::Never,
        // 10 s on its clock: 4 s at the true rate, 3 s at half of it, the rest at twice.
        "at 0s start 0\nat 4s drift 0 0.5\nat 10s drift 0 2",
        |_, cue| match cue {
            Cue::Start => vec![Act::Arm(Bell::Low, secs(10))],
            Cue::Rang(_) => vec![Act::ShowClock],
            _ => vec![],
        },
    );
    let rang = lines.iter().find(|line| line.contains("stands"));
    assert_eq!(rang.map(String::as_str), Some("11.500s  0 stands, round 10000"));
}

#[test]
fn detection_modes_differ_in_delay_and_inputs() {
    let shown = |detection| {
        let scenario = "at 0s start 0\nat 1s kill 2\nat 1s start 0\nat 3s start 0";
        let lines = play(3, detection, scenario, |_, cue| match cue {
            Cue::Start => vec![Act::ShowView],
            Cue::ViewChanged => vec![Act::Show(100)],
            _ => vec![],
        });
        lines.into_iter().filter(|line| line.contains(" 0 stands")).collect::<Vec<_>>()
    };
    let views = |at_one: u32, at_three: u32| {
        [(0, 3), (1, at_one), (3, at_three)]
            .map(|(at, known)| format!("{at}.000s  0 stands, round {known}"))
    };
    assert_eq!(shown(Detection::Oracle), views(2, 2));
    assert_eq!(shown(Detection::Never), views(3, 3));
    let [first, second, third] = views(3, 2);
    let told = "2.000s  0 stands, round 100".to_owned();
    assert_eq!(shown(Detection::After(secs(1))), [first, second, told, third]);
}
