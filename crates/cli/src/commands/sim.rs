//! `hustings sim`: Monte Carlo experiments in the simulator.

use clap::Args;

use crate::elections::{Choice, PROTOCOLS, Settled};
use crate::failure::Failure;
use crate::simulation::{Simulation, SimulationOptions};

/// Simulate an election many times and report its cost
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = PROTOCOLS,
          subcommand_help_heading = "Protocols", disable_help_subcommand = true)]
pub(crate) struct Sim {
    #[command(subcommand)]
    protocol: Choice<SimOptions>,
}

const EXAMPLES: &str = "\
Examples:
  hustings sim chang-roberts --members 1000 --initiators all
  hustings sim bully --members 50 --crashed-leader --loss 0.1 --format json
  hustings sim modified-ring --members 5 --runs 1 --trace run.jsonl
  hustings sim suppress --members 1000 --loss 0.4 --loss-model correlated
  hustings sim suppress --rules field --churn die:30s,join:10s --loss 0.1
  hustings sim probabilistic --members 2000 --view 0.5 --crash 0.001 --loss 0.2
  hustings sim council --members 1000000 --seats 4..8 --estimate aggressive
  hustings sim wagner --members 25 --cheat df@3..6

`hustings sim PROTOCOL --help` lists the options, and what is measured.";

/// The options that only the simulator has.
#[derive(Debug, Args)]
#[command(after_long_help = METRICS)]
pub(crate) struct SimOptions {
    #[command(flatten)]
    simulation: SimulationOptions,
}

const METRICS: &str = "\
Metrics, each with its mean, the 95 % confidence interval of the mean, minimum
and maximum. On rings and of the bully:
  messages        sent, lost ones included; a multicast counts as one
  unicasts        of these, to one member
  multicasts      of these, to all
  messages_KIND   of these, of each kind
  rounds          the most attempts that one member made in a row
  delay           seconds until the last member that is up came to its leader;
                  of those runs in which all that are up have one
  strong_success  all members that are up name the same leader, which is up
  weak_success    the largest fraction of them that does
  elected_best    strong success, and the leader is the best that is up
  finished        the run came to rest: neither --until nor a flood of messages ended it

Of the announce family; the first eight of those runs in which all members heard
the leader, which is the best, or, where the wake-up decides, the first to
announce itself:
  messages        sent until the last member heard the leader
  tmax            seconds until that announcement was sent
  delay           seconds until it was heard
  rounds          how many announcements the leader had made by then
  avg_rounds      how many of them a member needed on average
  first_round_messages
                  how many announced themselves at their wake-up
  first_round_tmax
                  seconds until the last of them did
  messages_by_tmax
                  sent until tmax
  converged       all members heard the leader
of suppression, the first three only, until everyone has spoken who will. And with
--until, --churn or --scenario:
  inconsistent    the fraction of the time after they first agreed in which not
                  all that are up name the same leader, which is up
  reestablishment seconds that such a disagreement lasts on average, in runs with any
  changes         how often a member named another leader than before, or none
  sent_KIND       messages of each kind sent in the whole run

Of the probabilistic election, which a client calls that is no member; the lowest
identity is the best:
  strong_success  all members that are up name the same leader, which is up
  weak_success    the largest fraction of them that names the same
  rounds          until nobody called another one
  unicasts, multicasts, messages
                  sent; messages: of both kinds
  messages_rounds_1_to_4
                  of these, before the fifth round: there all N may take part, which
                  is rare and takes about N^2 of them
  relay_members   how many took part in the first round, of about K
  detected        whether anybody called another round, or would have if there were
                  one; of those runs whose first round failed
  delay           seconds from the call to the end of the last round
  delay_in_rounds of these, without those for which members hesitated between rounds
                  (--hesitation), of which the paper says nothing
  estimate        with --group-size estimate: how large members took the group to be,
                  on average over those who came to a size; nobody else is drawn
  estimate_spread the standard deviation of that between them

Of council and bolot:
  rounds          until there is a council; where the centre knows the number of hosts, without
                  the poll that told it, except for --algorithm naive
  messages        replies sent in them, lost ones included
  feedbacks       multicasts of the centre in them
  seats           representatives that it has heard, in runs that were not given up
  success_first_round
                  the first round gave a council
  peak_replies    the most replies sent in one round: a storm, if they are many
Hosts are drawn by their number, with the same law, unless --engine says per-host.
With --churn, of the time that the council is kept: messages, feedbacks and
peak_replies as above, and
  others          heartbeats and their answers, seats, farewells
  changes         how often the council changed
  short           the part of the time in which it was too small
  most_seats      the most seats that the centre told of
  most_seated     the most hosts that took themselves for seated at one time

Of Wagner's ring; honest members are those that --cheat does not name:
  stages          choices of a subset of the active members
  flips           coins that all flip together, to choose
  basic_rounds    both, as far as the furthest honest member got
  messages        sent on the ring; bits: one each, and two to say that there is a fault
  delay           seconds until the last honest member came to its leader, or knew of
                  the fault
  elected         all honest members name the same leader, and none knows of a fault
  fault_detected  an honest member knows of a fault; by chance too: --stall-limit
  honest_informed of those draws, the fraction of the honest members that do
  fault_round     of those draws, the round in which it was first noticed
  leader_is_cheater
                  one of those that cheat is elected
  stalled         neither a leader nor a fault within --max-rounds

Lines of a scenario; members are numbered from 0, in ring order; elsewhere
the last is the best:
  at 0s     start 2        # calls an election
  at 250ms  kill 4         # crashes; 4,7 and 0-3 and best and all work too
  at 250ms  leave 4        # is stopped in good order, and may say goodbye
  at 1s     restart 4      # comes up again and starts, with what it had saved;
                           # `restart 4 fresh`: with nothing
  at 2s     cut 0-2 | 3,4  # nothing passes between the two; members not named
                           # are a third side
  at 2s     cut 1 -> 3     # nothing passes from 1 to 3
  at 3s     heal           # all cuts end
  at 4s     pause 1        # stands still
  at 5s     resume 1
  at 6s     drift 1 1.01   # its clock runs one hundredth fast

Ctrl-C stops the experiment: the runs done so far are reported, and the exit
code is 1. A second Ctrl-C ends the program at once.";

impl Sim {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Settled { election, conditions, experiment, own } = self.protocol.settle()?;
        let simulation = Simulation::new(&own.simulation, &experiment, &conditions);
        election.simulate(&simulation)
    }
}
