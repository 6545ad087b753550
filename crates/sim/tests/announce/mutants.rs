//! Defective members, and the law that catches each. A law is as good as the mutants it kills.

use std::collections::BTreeSet;

use hustings_protocol::announce::{
    Announce, Claim, Config, Correction, Heartbeat, Listen, Message, Repeat, Takeover, Timer,
};
use hustings_protocol::{Candidate, Input, MemberId, Priority, ViewChange};

use crate::kin::{Defect, Wrong};
use crate::support::wrapper::Effect;
use crate::{
    doubt, farewell, identity, incarnations, joining, listening, reunion, rival, settle, sticky,
    totality, vacancy,
};

/// The number of seeds in which a law has to catch a mutant.
const SEEDS: u64 = 400;

/// Defines one test for each mutant: its defect, and the law that catches it.
macro_rules! mutants {
    ($($name:ident: $defect:ident, $file:ident::$law:ident;)*) => {$(
        #[test]
        fn $name() {
            let law = $file::$law::<Wrong<$defect>>;
            let caught = (0..SEEDS).any(|seed| law(seed).is_err());
            assert!(caught, "{} lets it pass", stringify!($file::$law));
        }
    )*};
}

mutants! {
    one_that_ignores_heartbeats: IgnoresHeartbeats, listening::healthy_leader_is_never_missed;
    one_that_never_times_out: NeverTimesOut, settle::all_settle_in_time_and_permanently;
    one_that_waits_for_its_leader_without_end: NoListenTimer, farewell::lost_goodbye_costs_one_listen_interval;
    one_that_never_corrects: NeverCorrects, reunion::stray_member_is_corrected_at_once;
    one_that_takes_the_best_for_the_best_backed: UnimpressedByNumbers, reunion::larger_side_keeps_its_leader;
    one_that_never_corrects_and_two_sides: NeverCorrects, reunion::sides_unite;
    one_that_forgets_incarnations: ForgetsIncarnations, incarnations::stale_messages_change_nothing;
    one_that_forgets_the_order_of_announcements: ForgetsBeats, incarnations::stale_messages_change_nothing;
    one_that_believes_after_a_goodbye: BelievesAfterBye, incarnations::goodbye_is_final;
    one_that_remembers_incarnations_for_ever: RemembersForEver, incarnations::leader_without_its_disk_is_followed_again;
    one_that_leaves_without_a_goodbye: SaysNoBye, farewell::goodbye_saves_the_listen_interval;
    one_that_is_deaf_to_goodbyes: DeafToByes, farewell::goodbye_saves_the_listen_interval;
    one_that_never_complains: NeverComplains, farewell::leader_learns_its_loss;
    one_that_is_deaf_to_complaints: DeafToComplaints, farewell::leader_learns_its_loss;
    one_that_overdoes_its_goodbyes: Overdoes, farewell::leader_learns_its_loss;
    one_that_complains_of_what_it_assumes: ComplainsOnSuspicion, farewell::leader_learns_its_loss;
    one_that_complains_though_others_did: RepeatsComplaints, farewell::few_members_complain;
    one_that_complains_at_once: ComplainsAtOnce, farewell::few_members_complain;
    one_that_is_deaf_to_complaints_and_many_who_make_them: DeafToComplaints, farewell::few_members_complain;
    one_that_measures_where_it_should_not: Measures, farewell::fixed_number_of_goodbyes_is_not_disputed;
    one_that_heeds_the_complaints_of_others: HeedsAll, farewell::complaints_count_for_their_subject_only;
    one_that_does_not_answer: DoesNotAnswer, joining::question_is_answered_at_once;
    one_that_answers_without_limit: AnswersWithoutLimit, totality::answers_are_limited;
    one_that_asks_again_and_again: Asks, joining::few_ask_after_suppression;
    one_that_takes_a_goodbye_for_silence: TakesByesForSilence, vacancy::no_member_asks_after_a_goodbye;
    one_that_takes_a_goodbye_for_silence_and_asks_at_once: TakesByesForSilence, vacancy::no_member_asks_at_once_after_a_goodbye;
    one_that_takes_silence_for_a_goodbye: TakesSilenceForByes, vacancy::members_ask_after_missing_the_leader;
    one_that_asks_only_those_it_misses: AsksTooLate, doubt::silent_leader_is_asked_for_and_kept;
    one_that_asks_too_late_and_oversleeps: AsksTooLate, doubt::paused_member_asks_first;
    one_that_takes_no_answer: IgnoresHeartbeats, doubt::answer_ends_the_suspicion;
    one_that_asks_though_others_did: DoesNotAnswer, doubt::few_ask_for_a_silent_leader;
    one_that_is_deaf_to_rivals: DeafToRivals, rival::restarted_follower_is_as_quick_as_the_others;
    one_that_does_not_count_what_others_ask: DoesNotAnswer, rival::restarted_follower_is_as_quick_as_the_others;
    one_that_believes_a_rival_unasked: AsksTooLate, rival::overdue_leader_is_asked_for_beside_a_rival;
    one_that_follows_the_last_announcer: FollowsTheLatest, rival::leader_that_is_heard_is_kept_beside_rivals;
    one_that_is_deaf_to_its_failure_detector: DeafToItsDetector, vacancy::failure_detector_saves_the_listen_interval;
    one_that_takes_every_death_for_its_leaders: MournsAnyone, vacancy::detected_death_of_a_follower_changes_nothing;
    one_that_breaks_ties_otherwise: BreaksTiesOtherwise, sticky::best_of_simultaneous_starters_leads;
    one_that_breaks_ties_otherwise_in_a_storm: BreaksTiesOtherwise, settle::all_settle_in_time_and_permanently;
    one_that_unseats: Unseats, sticky::better_newcomer_takes_over_only_if_permitted;
    one_that_unseats_again_and_again: Unseats, incarnations::flapping_is_bounded;
    one_that_never_gives_way: NeverGivesWay, sticky::better_newcomer_takes_over_only_if_permitted;
    one_that_ignores_its_own_name: IgnoresNamesakes, identity::duplicate_name_silences_a_member;
    one_that_fears_its_past: FearsItsPast, identity::duplicate_name_silences_a_member;
    one_that_speaks_before_it_starts: SpeaksUnasked, totality::arbitrary_input_does_not_panic;
}

/// The claim in an announcement, with its number.
fn claim(input: &mut Input<Announce>) -> Option<(&mut Claim, &mut u32)> {
    match input {
        Input::Message { message: Message::Announcement { claim, beat, .. }, .. } => {
            Some((claim, beat))
        }
        Input::Message { .. } | Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// The sender of a goodbye, and its incarnation.
fn bye(input: &Input<Announce>) -> Option<(MemberId, u32)> {
    match input {
        Input::Message { from, message: Message::Bye { incarnation } } => {
            Some((*from, *incarnation))
        }
        Input::Message { .. } | Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// The subject of a complaint, and the number of goodbyes that it asks for.
fn complaint(input: &mut Input<Announce>) -> Option<(&mut MemberId, &mut u8)> {
    match input {
        Input::Message { message: Message::Complaint { about, byes }, .. } => Some((about, byes)),
        Input::Message { .. } | Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// Mutants by configuration alone.
macro_rules! misled {
    ($($name:ident: $field:ident $value:expr;)*) => {$(
        #[derive(Default)]
        struct $name;

        impl Defect for $name {
            fn config(config: Config) -> Config {
                Config { $field: $value, ..config }
            }
        }
    )*};
}

misled! {
    IgnoresHeartbeats: heartbeat Heartbeat::Ignored;
    NeverTimesOut: listen Listen::Never;
    NeverCorrects: correction Correction::AtNextAnnouncement;
    SaysNoBye: farewell Repeat::Times(0);
    Measures: farewell Repeat::Measured { miss: 1e-3 };
    Unseats: takeover Takeover::ByTheBetter;
    NeverGivesWay: takeover Takeover::Never;
    AsksTooLate: asks 0;
}

/// Its listen timer never expires.
#[derive(Default)]
struct NoListenTimer;

impl Defect for NoListenTimer {
    fn does(&mut self, effect: &Effect<Announce>) -> bool {
        !matches!(effect, Effect::Arm { timer: Timer::Listen })
    }
}

/// Treats all incarnations as the same.
#[derive(Default)]
struct ForgetsIncarnations;

impl Defect for ForgetsIncarnations {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Some((claim, _)) = claim(input) {
            claim.incarnation = 1;
        }
        true
    }
}

/// Treats every announcement of an incarnation as the latest.
#[derive(Default)]
struct ForgetsBeats;

impl Defect for ForgetsBeats {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Some((_, beat)) = claim(input) {
            *beat = 1;
        }
        true
    }
}

/// Treats announcements after a goodbye as a new incarnation.
#[derive(Default)]
struct BelievesAfterBye {
    gone: BTreeSet<MemberId>,
}

impl Defect for BelievesAfterBye {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        self.gone.extend(bye(input).map(|(id, _)| id));
        if let Some((claim, _)) = claim(input)
            && self.gone.contains(&claim.candidate.id)
        {
            claim.incarnation += 10;
        }
        true
    }
}

/// Never forgets the last incarnation that it knew of any member.
#[derive(Default)]
struct RemembersForEver {
    incarnations: std::collections::BTreeMap<MemberId, u32>,
}

impl Defect for RemembersForEver {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        let Some((claim, _)) = claim(input) else {
            return true;
        };
        let incarnation = self.incarnations.entry(claim.candidate.id).or_default();
        *incarnation = (*incarnation).max(claim.incarnation);
        claim.incarnation == *incarnation
    }
}

/// Does not hear goodbyes.
#[derive(Default)]
struct DeafToByes;

impl Defect for DeafToByes {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        bye(input).is_none()
    }
}

/// Treats a leader that says goodbye as one that it misses.
#[derive(Default)]
struct TakesByesForSilence;

impl Defect for TakesByesForSilence {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if bye(input).is_some() {
            *input = Input::Timer(Timer::Listen);
        }
        true
    }
}

/// Treats a leader that it misses as one that is certainly gone.
#[derive(Default)]
struct TakesSilenceForByes {
    heard: Option<MemberId>,
}

impl Defect for TakesSilenceForByes {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Some((claim, _)) = claim(input) {
            self.heard = Some(claim.candidate.id);
        }
        if *input == Input::Timer(Timer::Listen)
            && let Some(leader) = self.heard
        {
            *input = Input::ViewChanged(ViewChange::Left(leader));
        }
        true
    }
}

/// Ignores departures that the failure detector reports.
#[derive(Default)]
struct DeafToItsDetector;

impl Defect for DeafToItsDetector {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        !matches!(input, Input::ViewChanged(ViewChange::Left(_)))
    }
}

/// Treats any departed member as the leader that it heard last.
#[derive(Default)]
struct MournsAnyone {
    heard: Option<MemberId>,
}

impl Defect for MournsAnyone {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Some((claim, _)) = claim(input) {
            self.heard = Some(claim.candidate.id);
        }
        if let (Input::ViewChanged(ViewChange::Left(id)), Some(leader)) = (input, self.heard) {
            *id = leader;
        }
        true
    }
}

/// Never reports that it hears its leader badly.
#[derive(Default)]
struct NeverComplains;

impl Defect for NeverComplains {
    fn does(&mut self, effect: &Effect<Announce>) -> bool {
        !matches!(effect, Effect::Arm { timer: Timer::Complain })
    }
}

/// Ignores complaints, about any member.
#[derive(Default)]
struct DeafToComplaints;

impl Defect for DeafToComplaints {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        complaint(input).is_none()
    }
}

/// Sends many more goodbyes than asked for.
#[derive(Default)]
struct Overdoes;

impl Defect for Overdoes {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Some((_, byes)) = complaint(input) {
            *byes = byes.saturating_mul(2);
        }
        true
    }
}

/// A complaint about a leader whose announcement promises fewer goodbyes than `byes`.
fn disputed(input: &Input<Announce>, byes: u8) -> Option<Message> {
    match input {
        Input::Message { from: about, message: Message::Announcement { byes: promised, .. } }
            if *promised < byes =>
        {
            Some(Message::Complaint { about: *about, byes })
        }
        Input::Message { .. } | Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// Complains of a loss that it has not measured.
#[derive(Default)]
struct ComplainsOnSuspicion;

impl Defect for ComplainsOnSuspicion {
    fn adds(&mut self, input: &Input<Announce>, _: &Announce, _: Candidate) -> Option<Message> {
        disputed(input, 3)
    }
}

/// Does not wait for others to complain.
#[derive(Default)]
struct ComplainsAtOnce;

impl Defect for ComplainsAtOnce {
    fn adds(&mut self, input: &Input<Announce>, _: &Announce, _: Candidate) -> Option<Message> {
        disputed(input, 8)
    }
}

/// Ignores the complaints of others.
#[derive(Default)]
struct RepeatsComplaints;

impl Defect for RepeatsComplaints {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        complaint(input).is_none_or(|(about, _)| *about == me.id)
    }
}

/// Treats every complaint as one about itself.
#[derive(Default)]
struct HeedsAll;

impl Defect for HeedsAll {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        if let Some((about, _)) = complaint(input) {
            *about = me.id;
        }
        true
    }
}

fn is_query(input: &Input<Announce>) -> bool {
    matches!(input, Input::Message { message, .. } if *message == Message::Query)
}

/// Ignores questions.
#[derive(Default)]
struct DoesNotAnswer;

impl Defect for DoesNotAnswer {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        !is_query(input)
    }
}

/// Answers every question, without a limit.
#[derive(Default)]
struct AnswersWithoutLimit {
    beat: u32,
}

impl Defect for AnswersWithoutLimit {
    fn adds(&mut self, input: &Input<Announce>, it: &Announce, me: Candidate) -> Option<Message> {
        if !is_query(input) || !it.leads() {
            return None;
        }
        self.beat += 1;
        let claim =
            Claim { candidate: me, incarnation: 1, established: true, follower_count: u16::MAX };
        Some(Message::Announcement { claim, beat: self.beat, byes: 3 })
    }
}

/// Treats every leader as one with the maximum number of followers.
#[derive(Default)]
struct UnimpressedByNumbers;

impl Defect for UnimpressedByNumbers {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Input::Message { message: Message::Announcement { claim, .. }, .. } = input {
            claim.follower_count = u16::MAX;
        }
        true
    }
}

/// Asks when it starts, in any configuration.
#[derive(Default)]
struct Asks;

impl Defect for Asks {
    fn adds(&mut self, input: &Input<Announce>, _: &Announce, _: Candidate) -> Option<Message> {
        (*input == Input::Start).then_some(Message::Query)
    }
}

/// Ignores announcements of other members before it begins to ask for its leader.
#[derive(Default)]
struct DeafToRivals {
    leader: Option<MemberId>,
}

impl Defect for DeafToRivals {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if *input == Input::Timer(Timer::Listen) {
            self.leader = None;
        }
        let leader = self.leader;
        claim(input).is_none_or(|(claim, _)| leader.is_none_or(|it| it == claim.candidate.id))
    }

    fn adds(&mut self, input: &Input<Announce>, it: &Announce, _: Candidate) -> Option<Message> {
        if matches!(input, Input::Message { .. }) {
            self.leader = it.follows().next().map(|it| it.id);
        }
        None
    }
}

/// Treats an announcer as gone as soon as another announces itself.
#[derive(Default)]
struct FollowsTheLatest {
    latest: Option<MemberId>,
}

impl Defect for FollowsTheLatest {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Some((claim, _)) = claim(input)
            && let Some(before) = self.latest.replace(claim.candidate.id)
            && before != claim.candidate.id
        {
            *input = Input::ViewChanged(ViewChange::Left(before));
        }
        true
    }
}

/// Treats a lower identity of its own priority as worse.
#[derive(Default)]
struct BreaksTiesOtherwise;

impl Defect for BreaksTiesOtherwise {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        if let Some((claim, _)) = claim(input) {
            let it = &mut claim.candidate;
            if it.priority == me.priority && it.id < me.id {
                match it.priority.0.checked_sub(1) {
                    Some(less) => it.priority = Priority(less),
                    None => return false,
                }
            }
        }
        true
    }
}

/// Ignores its own name.
#[derive(Default)]
struct IgnoresNamesakes;

impl Defect for IgnoresNamesakes {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        claim(input).is_none_or(|(claim, _)| claim.candidate.id != me.id)
    }
}

/// Treats an earlier incarnation of its own as another member.
#[derive(Default)]
struct FearsItsPast;

impl Defect for FearsItsPast {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        if let Some((claim, _)) = claim(input)
            && claim.candidate.id == me.id
        {
            claim.incarnation += 9;
        }
        true
    }
}

/// Sends whenever it receives anything.
#[derive(Default)]
struct SpeaksUnasked;

impl Defect for SpeaksUnasked {
    fn adds(&mut self, input: &Input<Announce>, _: &Announce, _: Candidate) -> Option<Message> {
        matches!(input, Input::Message { .. }).then_some(Message::Query)
    }
}
