//! The status as metrics, in the text format of OpenMetrics, which Prometheus reads.
//!
//! Nothing is counted here: each scrape shows the agent's present values. A value that the member
//! does not know has no sample, for example the fence while no member holds tenure. A zero would be
//! wrong.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use crate::agent::AgentStatus;
use crate::council::{CentreStatus, CouncilStatus, HostStatus};
use crate::group::{GroupStatus, HealthState};
use crate::leadership::Mode;

/// The content type of the text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the status as text.
pub(super) fn text(status: AgentStatus) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("hustings");
    registry.register_collector(Box::new(Scrape(status)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// A scrape of this status.
#[derive(Debug)]
struct Scrape(AgentStatus);

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut sheet = Sheet { encoder, groups: &self.0.groups };
        sheet.agent(&self.0)?;
        sheet.health()?;
        sheet.leadership()?;
        sheet.tenure()?;
        sheet.many()?;
        sheet.council()?;
        sheet.frames()?;
        sheet.refusals()
    }
}

/// The encoder, and the groups whose metrics it writes.
struct Sheet<'e, 'g> {
    encoder: DescriptorEncoder<'e>,
    groups: &'g [GroupStatus],
}

/// Reads a value of a group.
type Value<V> = fn(&GroupStatus) -> Option<V>;

/// Reads the name of a member.
type Name = fn(&GroupStatus) -> Option<&String>;

/// Writes metrics one after the other. A row has the help text as a documentation comment, the kind
/// (a method of [`Sheet`]), the name, and the value of a group. A group without a value has no
/// sample.
macro_rules! metrics {
    ($sheet:ident, $group:ident:
     $($(#[doc = $help:literal])+ $kind:ident $name:literal = $value:expr;)*) => {{
        $($sheet.$kind($name, concat!($($help),+).trim_ascii_start(), |$group| $value)?;)*
        Ok(())
    }};
}

// The metrics, by subject.
impl Sheet<'_, '_> {
    fn agent(&mut self, status: &AgentStatus) -> fmt::Result {
        let help = "The member that this agent is, and its release.";
        let labels = [("member", &status.member), ("version", &status.version)];
        let info = MetricType::Info;
        self.encoder.encode_descriptor("agent", help, None, info)?.encode_info(&labels)
    }

    /// Writes the state of this member in each group, and whether an operator should act.
    fn health(&mut self) -> fmt::Result {
        let help =
            "The state of this member in its group: 1 for the present state, 0 for all others.";
        self.labelled(("health", "state"), help, |group| {
            let is_in_it = |state| ConstGauge::new(u32::from(group.health.state == state));
            HealthState::ALL.map(|state| (state.name(), is_in_it(state)))
        })?;
        metrics! { self, group:
            /// The health of the group: 0 good, 1 warning, 2 bad.
            gauge "health_level" = Some(group.health.level as u32);
        }
    }

    fn leadership(&mut self) -> fmt::Result {
        metrics! { self, group:
            /// 1 if leadership is fenced, 0 if it is advisory; none if the group elects no leader.
            gauge "fenced" =
                elects(group).then(|| u32::from(group.leadership.mode == Mode::Fenced));
            /// 1 if this member leads; none if the group elects no leader.
            gauge "leads" = elects(group).then(|| u32::from(group.leadership.leads));
            /// The leader that this member knows; none while it knows no leader.
            name "leader" = group.leadership.leader.as_ref().map(|it| &it.name);
            /// Changes of the leader since this member started.
            counter "leader_changes" = Some(group.leadership.changes);
        }
    }

    fn tenure(&mut self) -> fmt::Result {
        metrics! { self, group:
            /// The holder of tenure that this member knows; none while it knows no holder.
            name "holder" = group.tenure.as_ref()?.holder.as_ref();
            /// The fence of the present tenure that this member knows.
            gauge "fence" = group.tenure.as_ref()?.fence;
            /// The remaining time of this member's own tenure unless it is renewed; none while it
            /// holds none.
            seconds "tenure_remaining" = Some(group.tenure.as_ref()?.remaining?.as_secs_f64());
            /// Members that vote on tenure.
            gauge "voters" = Some(group.tenure.as_ref()?.voters.len()).filter(|it| *it > 0);
            /// Voters that answer this member; none unless it holds tenure or requests it.
            gauge "voters_heard" =
                group.tenure.as_ref().filter(|it| it.hears_voters()).map(|it| it.reached().len());
            /// 1 if the store that grants tenure answered the last request of this member.
            gauge "store_reachable" = group.tenure.as_ref()?.reachable.map(u32::from);
            /// 1 if this member accepts no tenure from its store, and cannot replace a leader that
            /// fails: the store was set back, its era is over, or an operator has to remove an
            /// obstacle. `hustings status` shows the remedy.
            gauge "store_shuts_out" = group.tenure.as_ref()?.shut_out.map(u32::from);
            /// Attempts of this member at tenure that failed.
            counter "tenure_refusals" = Some(group.counters.tenure_refusals);
        }
    }

    /// Writes what a member knows of a group in which each member knows only a partial view.
    fn many(&mut self) -> fmt::Result {
        metrics! { self, group:
            /// The expected number of relaying members in the first round of a probabilistic
            /// election: K.
            gauge "relaying" = group.k;
            /// Members in the partial view of this member.
            gauge "known_members" = Some(group.partial_view.as_ref()?.known);
            /// Members of a group with partial views by the last count; none before the first count
            /// has ended.
            gauge "group_size" = group.partial_view.as_ref()?.size;
            /// The share of lost messages between two members, if members relay; none before enough
            /// were counted.
            share "message_loss" = group.measured?.loss;
            /// The probability that a member crashes in a first round of a probabilistic election;
            /// none before enough was measured.
            share "crashes_in_a_round" = group.measured?.crash;
            /// The probability that a relaying member knows another one, at first or from its
            /// multicasts.
            share "view" = group.measured?.view;
        }
    }

    fn council(&mut self) -> fmt::Result {
        metrics! { self, group:
            /// 1 if this member holds a seat in the group's council; none if it is no host.
            gauge "seated" = Some(u32::from(host(group)?.seat.is_some()));
            /// Seats that this centre has filled; none if this member is no centre.
            gauge "council_seats" = Some(centre(group)?.seats().count());
            /// 1 if every class of hosts has the required number of seats filled.
            gauge "council_filled" = Some(u32::from(centre(group)?.is_filled()));
            /// The largest number of replies in one round.
            gauge "council_peak_replies" = Some(centre(group)?.peak_replies);
            /// Rounds in which this centre called hosts.
            counter "council_rounds" = Some(centre(group)?.rounds);
            /// Replies of hosts to this centre.
            counter "council_replies" = Some(centre(group)?.replies);
            /// Replies that came after their round had ended.
            counter "council_late_replies" = Some(centre(group)?.late);
            /// Changes of this centre's council.
            counter "council_changes" = Some(centre(group)?.changes);
        }
    }

    fn refusals(&mut self) -> fmt::Result {
        self.labelled(("frames_refused", "reason"), "Frames refused, by reason.", |group| {
            group.counters.by_reason().map(|(reason, count)| (reason, ConstCounter::new(count)))
        })
    }

    fn frames(&mut self) -> fmt::Result {
        metrics! { self, group:
            /// Frames sent; a multicast counts once.
            counter "frames_sent" = Some(group.counters.sent);
            /// Messages of the election among the frames sent.
            counter "election_frames_sent" = Some(group.counters.election_sent);
            /// Requests for tenure and answers to them among the frames sent.
            counter "tenure_frames_sent" = Some(group.counters.tenure_sent);
            /// Messages of a council among the frames sent.
            counter "council_frames_sent" = Some(group.counters.council_sent);
            /// Challenges among the frames sent, by which a new process proves that it runs.
            counter "challenge_frames_sent" = Some(group.counters.challenges_sent);
            /// Frames that could not be sent: the network refused them, or the member's address is
            /// not known.
            counter "frames_unsent" = Some(group.counters.unsent);
            /// Frames admitted.
            counter "frames_heard" = Some(group.counters.heard);
            /// Multicasts that had arrived before on another channel.
            counter "frames_copied" = Some(group.counters.copies);
            /// Frames from another process with this member's name.
            counter "namesakes" = Some(group.counters.namesakes);
            /// Pauses of this member that were longer than others wait.
            counter "pauses" = Some(group.counters.pauses);
        }
    }
}

// The encoding: one metric for all groups that have a value.
impl Sheet<'_, '_> {
    fn gauge<V>(&mut self, name: &str, help: &str, value: Value<V>) -> fmt::Result
    where
        V: EncodeGaugeValue,
    {
        self.samples(name, help, None, |group| value(group).map(ConstGauge::new))
    }

    fn seconds(&mut self, name: &str, help: &str, value: Value<f64>) -> fmt::Result {
        self.samples(name, help, Some(&Unit::Seconds), |group| value(group).map(ConstGauge::new))
    }

    fn share(&mut self, name: &str, help: &str, value: Value<f64>) -> fmt::Result {
        self.samples(name, help, Some(&Unit::Ratios), |group| value(group).map(ConstGauge::new))
    }

    fn counter(&mut self, name: &str, help: &str, count: Value<u64>) -> fmt::Result {
        self.samples(name, help, None, |group| count(group).map(ConstCounter::new))
    }

    fn samples<M: EncodeMetric + TypedMetric>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        sample: impl Fn(&GroupStatus) -> Option<M>,
    ) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, unit, M::TYPE)?;
        for (group, sample) in self.groups.iter().filter_map(|it| Some((it, sample(it)?))) {
            sample.encode(metric.encode_family(&[("group", group.name())])?)?;
        }
        Ok(())
    }

    /// Writes a metric with several samples per group, which differ in another label.
    fn labelled<M: EncodeMetric + TypedMetric, const N: usize>(
        &mut self,
        (name, label): (&str, &str),
        help: &str,
        samples: fn(&GroupStatus) -> [(&'static str, M); N],
    ) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, M::TYPE)?;
        for group in self.groups {
            for (value, sample) in samples(group) {
                let labels = [("group", group.name()), (label, value)];
                sample.encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    /// Writes the name of a member as a label that has the name of the metric.
    fn name(&mut self, name: &str, help: &str, who: Name) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Info)?;
        for (group, who) in self.groups.iter().filter_map(|it| Some((it, who(it)?))) {
            metric.encode_info(&[("group", group.name()), (name, who.as_str())])?;
        }
        Ok(())
    }
}

/// True if a group elects a leader at all.
fn elects(group: &GroupStatus) -> bool {
    group.health.state != HealthState::NoElection
}

fn host(group: &GroupStatus) -> Option<&HostStatus> {
    match group.council.as_ref()? {
        CouncilStatus::Host(host) => Some(host),
        CouncilStatus::Centre(_) => None,
    }
}

fn centre(group: &GroupStatus) -> Option<&CentreStatus> {
    match group.council.as_ref()? {
        CouncilStatus::Centre(centre) => Some(centre),
        CouncilStatus::Host(_) => None,
    }
}

#[cfg(test)]
mod tests;
