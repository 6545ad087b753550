//! Wrong members, and the law that catches each. A law is as good as the mutants it kills.

use std::collections::BTreeSet;

use hustings_protocol::announce::{
    Announce, Claim, Config, Correction, Heartbeat, Listen, Message, Repeat, Takeover, Timer,
};
use hustings_protocol::{Candidate, Input, MemberId, Merit, ViewChange};

use crate::kin::{Defect, Wrong};
use crate::support::wrapper::Effect;
use crate::{
    doubt, farewell, identity, joining, listening, lives, reunion, rival, settle, sticky, totality,
    vacancy,
};

/// How many seeds a law has to catch a mutant.
const SEEDS: u64 = 400;

/// One test for each mutant: its defect, and the law that catches it.
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
    one_that_ignores_heartbeats: IgnoresHeartbeats, listening::a_healthy_leader_is_never_missed;
    one_that_never_times_out: NeverTimesOut, settle::all_settle_in_time_and_for_good;
    one_that_waits_for_its_leader_without_end: NoListenTimer, farewell::a_lost_goodbye_is_healed_by_listening;
    one_that_never_corrects: NeverCorrects, reunion::a_stray_is_corrected_at_once;
    one_that_takes_the_best_for_the_best_backed: UnimpressedByNumbers, reunion::the_larger_side_keeps_its_leader;
    one_that_never_corrects_and_two_sides: NeverCorrects, reunion::sides_unite;
    one_that_forgets_incarnations: ForgetsIncarnations, lives::what_is_past_changes_nothing;
    one_that_forgets_the_order_of_announcements: ForgetsBeats, lives::what_is_past_changes_nothing;
    one_that_believes_after_a_goodbye: BelievesAfterBye, lives::a_goodbye_is_final;
    one_that_remembers_lives_for_ever: RemembersForEver, lives::a_leader_without_its_disk_is_believed_in_the_end;
    one_that_leaves_without_a_goodbye: SaysNoBye, farewell::a_goodbye_spares_the_listen_interval;
    one_that_is_deaf_to_goodbyes: DeafToByes, farewell::a_goodbye_spares_the_listen_interval;
    one_that_never_complains: NeverComplains, farewell::a_leader_learns_how_it_is_heard;
    one_that_is_deaf_to_complaints: DeafToComplaints, farewell::a_leader_learns_how_it_is_heard;
    one_that_overdoes_its_goodbyes: Overdoes, farewell::a_leader_learns_how_it_is_heard;
    one_that_complains_of_what_it_assumes: ComplainsOnSuspicion, farewell::a_leader_learns_how_it_is_heard;
    one_that_complains_though_others_did: RepeatsComplaints, farewell::few_complain;
    one_that_complains_at_once: ComplainsAtOnce, farewell::few_complain;
    one_that_is_deaf_to_complaints_and_many_who_make_them: DeafToComplaints, farewell::few_complain;
    one_that_measures_where_it_should_not: Measures, farewell::a_fixed_number_is_not_disputed;
    one_that_heeds_the_complaints_of_others: HeedsAll, farewell::complaints_are_personal;
    one_that_does_not_answer: DoesNotAnswer, joining::a_question_is_answered_at_once;
    one_that_answers_without_limit: AnswersWithoutLimit, totality::answers_are_limited;
    one_that_asks_again_and_again: Asks, joining::few_ask_after_suppression;
    one_that_takes_a_goodbye_for_silence: TakesByesForSilence, vacancy::after_a_goodbye_nobody_asks;
    one_that_takes_a_goodbye_for_silence_and_asks_at_once: TakesByesForSilence, vacancy::after_a_goodbye_nobody_asks_at_once;
    one_that_takes_silence_for_a_goodbye: TakesSilenceForByes, vacancy::after_a_miss_members_ask;
    one_that_asks_only_those_it_misses: AsksTooLate, doubt::a_silent_leader_is_asked_for_and_named;
    one_that_asks_too_late_and_oversleeps: AsksTooLate, doubt::one_that_overslept_asks_first;
    one_that_takes_no_answer: IgnoresHeartbeats, doubt::an_answer_ends_the_doubt;
    one_that_asks_though_others_did: DoesNotAnswer, doubt::few_ask_for_a_silent_leader;
    one_that_is_deaf_to_rivals: DeafToRivals, rival::a_restarted_follower_is_as_quick_as_the_others;
    one_that_does_not_count_what_others_ask: DoesNotAnswer, rival::a_restarted_follower_is_as_quick_as_the_others;
    one_that_believes_a_rival_unasked: AsksTooLate, rival::an_overdue_leader_is_asked_for_beside_a_rival;
    one_that_follows_whoever_spoke_last: FollowsTheLatest, rival::a_leader_that_is_heard_is_kept_beside_rivals;
    one_that_is_deaf_to_its_failure_detector: DeafToItsDetector, vacancy::a_detector_spares_the_listen_interval;
    one_that_takes_every_death_for_its_leaders: MournsAnyone, vacancy::a_detector_that_tells_of_no_leader_changes_nothing;
    one_that_breaks_ties_otherwise: BreaksTiesOtherwise, sticky::the_best_of_those_who_come_together_leads;
    one_that_breaks_ties_otherwise_in_a_storm: BreaksTiesOtherwise, settle::all_settle_in_time_and_for_good;
    one_that_unseats: Unseats, sticky::a_better_newcomer_takes_over_only_if_it_may;
    one_that_unseats_again_and_again: Unseats, lives::flapping_is_bounded;
    one_that_never_gives_way: NeverGivesWay, sticky::a_better_newcomer_takes_over_only_if_it_may;
    one_that_does_not_know_its_namesake: IgnoresNamesakes, identity::a_namesake_silences;
    one_that_fears_its_past: FearsItsPast, identity::a_namesake_silences;
    one_that_speaks_before_it_starts: SpeaksUnasked, totality::nonsense_is_survived;
}

/// The claim in an announcement, with its number.
fn claim(input: &mut Input<Announce>) -> Option<(&mut Claim, &mut u32)> {
    match input {
        Input::Message {
            message: Message::Announcement { claim, beat, .. },
            ..
        } => Some((claim, beat)),
        Input::Message { .. } | Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// Who says goodbye, and for which life.
fn bye(input: &Input<Announce>) -> Option<(MemberId, u32)> {
    match input {
        Input::Message {
            from,
            message: Message::Bye { incarnation },
        } => Some((*from, *incarnation)),
        Input::Message { .. } | Input::Start | Input::Timer(_) => None,
        Input::ViewChanged(_) | Input::Leave | Input::Request(_) => None,
    }
}

/// About whom a complaint is, and how many goodbyes it calls for.
fn complaint(input: &mut Input<Announce>) -> Option<(&mut MemberId, &mut u8)> {
    match input {
        Input::Message {
            message: Message::Complaint { about, byes },
            ..
        } => Some((about, byes)),
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

/// Never learns that time is up.
#[derive(Default)]
struct NoListenTimer;

impl Defect for NoListenTimer {
    fn does(&mut self, effect: &Effect<Announce>) -> bool {
        !matches!(
            effect,
            Effect::Arm {
                timer: Timer::Listen
            }
        )
    }
}

/// Takes every life for the same.
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

/// Takes every announcement of a life for the latest.
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

/// Takes what it hears after a goodbye for a new life.
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

/// Never forgets the last life that it knew of anyone.
#[derive(Default)]
struct RemembersForEver {
    lives: std::collections::BTreeMap<MemberId, u32>,
}

impl Defect for RemembersForEver {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        let Some((claim, _)) = claim(input) else {
            return true;
        };
        let life = self.lives.entry(claim.candidate.id).or_default();
        *life = (*life).max(claim.incarnation);
        claim.incarnation == *life
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

/// Takes a leader that says goodbye for one that it misses.
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

/// Takes a leader that it misses for one that is gone for certain.
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

/// Does not hear who is gone.
#[derive(Default)]
struct DeafToItsDetector;

impl Defect for DeafToItsDetector {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        !matches!(input, Input::ViewChanged(ViewChange::Left(_)))
    }
}

/// Takes whoever is gone for the leader that it heard last.
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

/// Keeps to itself how it hears its leader.
#[derive(Default)]
struct NeverComplains;

impl Defect for NeverComplains {
    fn does(&mut self, effect: &Effect<Announce>) -> bool {
        !matches!(
            effect,
            Effect::Arm {
                timer: Timer::Complain
            }
        )
    }
}

/// Does not hear complaints, whomever they are about.
#[derive(Default)]
struct DeafToComplaints;

impl Defect for DeafToComplaints {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        complaint(input).is_none()
    }
}

/// Says many more goodbyes than were called for.
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

/// What a member says of a leader whose announcement promises fewer goodbyes than `byes`.
fn disputed(input: &Input<Announce>, byes: u8) -> Option<Message> {
    match input {
        Input::Message {
            from: about,
            message: Message::Announcement { byes: promised, .. },
        } if *promised < byes => Some(Message::Complaint {
            about: *about,
            byes,
        }),
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

/// Does not care whether others have complained.
#[derive(Default)]
struct RepeatsComplaints;

impl Defect for RepeatsComplaints {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        complaint(input).is_none_or(|(about, _)| *about == me.id)
    }
}

/// Takes every complaint for one about itself.
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

/// Does not hear questions.
#[derive(Default)]
struct DoesNotAnswer;

impl Defect for DoesNotAnswer {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        !is_query(input)
    }
}

/// Answers every question, however many there are.
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
        let claim = Claim {
            candidate: me,
            incarnation: 1,
            established: true,
            backing: u16::MAX,
        };
        Some(Message::Announcement {
            claim,
            beat: self.beat,
            byes: 3,
        })
    }
}

/// Whoever leads is backed by as many as anybody.
#[derive(Default)]
struct UnimpressedByNumbers;

impl Defect for UnimpressedByNumbers {
    fn hears(&mut self, input: &mut Input<Announce>, _: Candidate) -> bool {
        if let Input::Message {
            message: Message::Announcement { claim, .. },
            ..
        } = input
        {
            claim.backing = u16::MAX;
        }
        true
    }
}

/// Asks when it starts, whatever it should do.
#[derive(Default)]
struct Asks;

impl Defect for Asks {
    fn adds(&mut self, input: &Input<Announce>, _: &Announce, _: Candidate) -> Option<Message> {
        (*input == Input::Start).then_some(Message::Query)
    }
}

/// Hears no other member announce itself before it begins to ask for its leader.
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

/// Takes whoever announces itself for gone as soon as another does.
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

/// Takes a lower identity of its own merit for worse.
#[derive(Default)]
struct BreaksTiesOtherwise;

impl Defect for BreaksTiesOtherwise {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        if let Some((claim, _)) = claim(input) {
            let it = &mut claim.candidate;
            if it.merit == me.merit && it.id < me.id {
                match it.merit.0.checked_sub(1) {
                    Some(less) => it.merit = Merit(less),
                    None => return false,
                }
            }
        }
        true
    }
}

/// Does not hear its own name.
#[derive(Default)]
struct IgnoresNamesakes;

impl Defect for IgnoresNamesakes {
    fn hears(&mut self, input: &mut Input<Announce>, me: Candidate) -> bool {
        claim(input).is_none_or(|(claim, _)| claim.candidate.id != me.id)
    }
}

/// Takes an earlier life of its own for somebody else.
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

/// Speaks whenever it hears anything.
#[derive(Default)]
struct SpeaksUnasked;

impl Defect for SpeaksUnasked {
    fn adds(&mut self, input: &Input<Announce>, _: &Announce, _: Candidate) -> Option<Message> {
        matches!(input, Input::Message { .. }).then_some(Message::Query)
    }
}
