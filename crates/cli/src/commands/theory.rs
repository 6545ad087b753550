//! `hustings theory`: evaluates the closed forms at the same parameters.

use clap::Args;

use crate::elections::{Choice, ClosedForm, PROTOCOLS, Settled};
use crate::failure::Failure;
use crate::options::ConditionsExt;
use crate::report::{Findings, Report};

/// Compute the cost of an election by closed forms
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = PROTOCOLS,
          subcommand_help_heading = "Protocols", disable_help_subcommand = true)]
pub(crate) struct Theory {
    #[command(subcommand)]
    protocol: Choice<NoOptions>,
}

const EXAMPLES: &str = "\
Examples:
  hustings theory chang-roberts --members 1000 --initiators all
  hustings theory bully --members 50 --crashed-leader --format json
  hustings theory suppress --members 1000000 --loss 0.4 --listen-interval 3s
  hustings theory probabilistic --members 10000 --target-success 0.999 --view 0.4 --loss 0.1
  hustings theory council --seats 4..8 --algorithm choice --estimate aggressive
  hustings theory wagner --members 25 --compare strict

The options are those of `hustings sim`, so that the same command line serves
both.";

/// Closed forms have no options of their own.
#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub(crate) struct NoOptions {}

const VALUES: &str = "\
Values have the names of the metrics of `hustings sim`, times are in seconds. An
option that the closed forms cannot honour, such as --crash above 0, is an error;
where only some metrics have no closed form they are left out, and named. On rings
and for the bully nothing may be lost. --runs, --seed and --threads change nothing
here.

Of the announce family there are also, with T_L where they depend on it:
  NAME_printed               what the chapter's formula gives, where it is wrong
  inconsistent_false         the fraction of time that one listener misses a
                             leader that is there; `inconsistent`: that any does
  reestablishment_false      how long it then takes to hear of it
  reestablishment_departure  from the leader's crash until the N - 1 others have
                             heard its successor
  join_greater, join_lesser  from the arrival of a late joiner, the last of the N,
                             until all others have heard it; until it has heard
                             the leader
  first_round_messages_without_delay
                             uncorrelated loss, if messages took no time

Of the probabilistic election, of one round with K. As the paper prints them:
  e1                 about K members take part, and about K of them live to tell
  e2                 those are connected, if each knows each other with --view
  e3                 then they choose the same leader
  e4                 then each member crashes or is told
  e5                 the leader does not crash
  success_bound      the product of the five: a round succeeds. Far too low, and
                     it falls again as K grows
  detection_bound_printed
                     what detection_bound is; the exponents are misplaced
  unicasts_bound     half the cube of 3/2 of those who take part: an order, since
                     answers come on top
Corrected:
  success_corrected  a round succeeds, at least, whatever makes a good leader
  detection_bound    a round that names two leaders is noticed, and the next one called.
                     Not one whose leader crashed; and by hash hardly one of which only
                     a few hear nothing: see `detected` of `hustings sim`
With --target-success also:
  k                  the K that is enough, by success_corrected
  relay_members      how many take part, on average
  first_unicasts     how many tell first choices, on average; what is relayed and
                     answered comes on top
  multicasts_bound   the initiation, and one from each of 3/2 of them
With --introduction multicast those who take part know each other but for what is lost of
what they say to all, in place of --view; that is no unicast, and a second multicast each.
There --crash is for the one round, and --multicast-loss for each receiver by itself.
How long messages take does not matter, as long as members wait for them, nor what
follows the first round.

Of the council election, expected:
  rounds             rounds after the poll that tells the centre how many hosts there are, as
                     in the paper; all rounds with --algorithm naive and with an --estimate
  messages           replies sent in them, lost ones included
  success_first_round
                     the probability that the first of them gives a council
  c                  the c that --c auto comes to, or that was given
  rounds_pseudocode, messages_pseudocode
                     with an --estimate the values above are by equations (19) and (20), which
                     let the centre know n once it had too many replies; by the
                     pseudocode of Fig. 16, which is what `hustings sim` does, it never does
  rounds_printed, messages_printed
                     as printed: with loss by equation (21), which is right for the first
                     draw only; of basic by equation (4), which charges an undershoot too little
Of bolot: rounds, messages, success_first_round.

Of Wagner's ring, expected, if all are honest:
  stages             choices of a subset of the active members, until one is left
  flips              coins that all flip together, to decide which subset
  basic_rounds       both: in each every member's flip goes round both ways
  messages, bits     2 N^2 a round, of one bit each; twice the bits if every message
                     has room to say that there is a fault
  delay              seconds, if every message takes --delay and all start at once
  probability_elected
                     of each member: 1/N of the draws that end without false alarm
  false_alarm        the probability that --stall-limit ends an honest draw
  stages_longest     how many stages there can be at most, whoever cheats
  stages_bound_printed
                     ceil(log2 N) + 2, which the paper says bounds the stages
  stages_exceed      the probability of more
  segment_largest    how many neighbours may cheat together without owning the coin
  adjacent_pair      the probability that two neighbours are the last two
  informal_best_cheater
                     how often the best cheater is elected by the informal protocol of
                     the paper's introduction";

impl Theory {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Settled { election, conditions, experiment, own: NoOptions {} } =
            self.protocol.settle()?;
        let ClosedForm { values, missing } = election.closed_form(&conditions)?;
        let report = Report {
            protocol: election.name(),
            sentence: format!("{}; {}", election.sentence_in_theory(), conditions.sentence()),
            parameters: election.parameters().and(conditions.parameters()),
            findings: Findings::Computed { values, missing },
        };
        report.print(experiment.format)
    }
}
