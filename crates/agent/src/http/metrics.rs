//! The status as metrics, in the text format of OpenMetrics, which Prometheus reads.
//!
//! Nothing is counted here: each scrape shows the agent's present values. A value that the member
//! does not know has no sample, for example the fence while no member holds tenure. A zero would be
//! wrong.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::{Registry, Unit};

use crate::agent::AgentStatus;
use crate::council::{CentreStatus, CouncilStatus, HostStatus};
use crate::counters::Counters;
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
        let status = &self.0;
        let groups = &status.groups;
        let mut sheet = Sheet { encoder, groups };
        sheet.agent(status)?;
        sheet.health()?;
        sheet.leadership()?;
        sheet.tenure()?;
        sheet.many()?;
        sheet.council()?;
        sheet.frames()
    }
}

/// Reads one counter of a group.
type Count = fn(&Counters) -> u64;

/// Reads one counter of a centre.
type CentreCount = fn(&CentreStatus) -> u64;

/// The encoder, and the groups whose metrics it writes.
struct Sheet<'e, 'g> {
    encoder: DescriptorEncoder<'e>,
    groups: &'g [GroupStatus],
}

// The metrics, by subject.
impl Sheet<'_, '_> {
    fn agent(&mut self, status: &AgentStatus) -> fmt::Result {
        let help = "The member that this agent is, and its release.";
        let labels = [("member", &status.member), ("version", &status.version)];
        let info = MetricType::Info;
        let mut metric = self.encoder.encode_descriptor("agent", help, None, info)?;
        metric.encode_info(&labels)
    }

    /// Writes the state of this member in each group, and whether an operator should act.
    fn health(&mut self) -> fmt::Result {
        let help =
            "The state of this member in its group: 1 for the present state, 0 for all others.";
        let gauge = MetricType::Gauge;
        let mut metric = self.encoder.encode_descriptor("health", help, None, gauge)?;
        for group in self.groups {
            for state in HealthState::ALL {
                let labels = [("group", group.name()), ("state", state.name())];
                let is_in_it = u32::from(group.health.state == state);
                metric.encode_family(&labels)?.encode_gauge(&is_in_it)?;
            }
        }
        self.gauge("health_level", "The health of the group: 0 good, 1 warning, 2 bad.", |group| {
            Some(group.health.level as u32)
        })
    }

    fn leadership(&mut self) -> fmt::Result {
        self.gauge(
            "fenced",
            "1 if leadership is fenced, 0 if it is advisory; none if the group elects no leader.",
            |group| elects(group).then(|| u32::from(group.leadership.mode == Mode::Fenced)),
        )?;
        self.gauge(
            "leads",
            "1 if this member leads; none if the group elects no leader.",
            |group| elects(group).then(|| u32::from(group.leadership.leads)),
        )?;
        self.name(
            "leader",
            "The leader that this member knows; none while it knows no leader.",
            |group| group.leadership.leader.as_ref().map(|it| &it.name),
        )?;
        self.counter(
            "leader_changes",
            "Changes of the leader since this member started.",
            |group| group.leadership.changes,
        )
    }

    fn tenure(&mut self) -> fmt::Result {
        self.name(
            "holder",
            "The holder of tenure that this member knows; none while it knows no holder.",
            |group| group.tenure.as_ref()?.holder.as_ref(),
        )?;
        self.gauge("fence", "The fence of the present tenure that this member knows.", |group| {
            group.tenure.as_ref()?.fence
        })?;
        self.gauge_in(
            Some(&Unit::Seconds),
            "tenure_remaining",
            "The remaining time of this member's own tenure unless it is renewed; none while it holds none.",
            |group| Some(group.tenure.as_ref()?.remaining?.as_secs_f64()),
        )?;
        self.gauge("voters", "Members that vote on tenure.", |group| {
            let tenure = group.tenure.as_ref()?;
            (!tenure.voters.is_empty()).then_some(tenure.voters.len())
        })?;
        self.gauge(
            "voters_heard",
            "Voters that answer this member; none unless it holds tenure or requests it.",
            |group| {
                let tenure = group.tenure.as_ref()?;
                tenure.hears_voters().then(|| tenure.reached().len())
            },
        )?;
        self.gauge(
            "store_reachable",
            "1 if the store that grants tenure answered the last request of this member.",
            |group| group.tenure.as_ref()?.reachable.map(u32::from),
        )?;
        self.gauge(
            "store_shuts_out",
            "1 if this member accepts no tenure from its store, and cannot replace a leader that fails: the store was set back, its era is over, or an operator has to remove an obstacle. `hustings status` shows the remedy.",
            |group| group.tenure.as_ref()?.shut_out.map(u32::from),
        )?;
        self.counter("tenure_refusals", "Attempts of this member at tenure that failed.", |group| {
            group.counters.tenure_refusals
        })
    }

    /// Writes what a member knows of a group in which each member knows only a partial view.
    fn many(&mut self) -> fmt::Result {
        self.gauge(
            "relaying",
            "The expected number of relaying members in the first round of a probabilistic election: K.",
            |group| group.k,
        )?;
        self.gauge("known_members", "Members in the partial view of this member.", |group| {
            Some(group.partial_view.as_ref()?.known)
        })?;
        self.gauge(
            "group_size",
            "Members of a group with partial views by the last count; none before the first count has ended.",
            |group| group.partial_view.as_ref()?.size,
        )?;
        self.gauge_in(
            Some(&Unit::Ratios),
            "message_loss",
            "The share of lost messages between two members, if members relay; none before enough were counted.",
            |group| group.measured?.loss,
        )?;
        self.gauge_in(
            Some(&Unit::Ratios),
            "crashes_in_a_round",
            "The probability that a member crashes in a first round of a probabilistic election; none before enough was measured.",
            |group| group.measured?.crash,
        )?;
        self.gauge_in(
            Some(&Unit::Ratios),
            "view",
            "The probability that a relaying member knows another one, at first or from its multicasts.",
            |group| group.measured?.view,
        )
    }

    fn council(&mut self) -> fmt::Result {
        self.gauge(
            "seated",
            "1 if this member holds a seat in the group's council; none if it is no host.",
            |group| Some(u32::from(host(group)?.seat.is_some())),
        )?;
        self.gauge(
            "council_seats",
            "Seats that this centre has filled; none if this member is no centre.",
            |group| Some(centre(group)?.seats().count()),
        )?;
        self.gauge(
            "council_filled",
            "1 if every class of hosts has the required number of seats filled.",
            |group| Some(u32::from(centre(group)?.is_filled())),
        )?;
        self.gauge(
            "council_peak_replies",
            "The largest number of replies in one round.",
            |group| Some(centre(group)?.peak_replies),
        )?;
        let counters: [(&str, &str, CentreCount); 4] = [
            ("council_rounds", "Rounds in which this centre called hosts.", |it| it.rounds),
            ("council_replies", "Replies of hosts to this centre.", |it| it.replies),
            ("council_late_replies", "Replies that came after their round had ended.", |it| {
                it.late
            }),
            ("council_changes", "Changes of this centre's council.", |it| it.changes),
        ];
        for (name, help, count) in counters {
            let counter = MetricType::Counter;
            let mut metric = self.encoder.encode_descriptor(name, help, None, counter)?;
            for (group, centre) in self.groups.iter().filter_map(|it| Some((it, centre(it)?))) {
                let labels = [("group", group.name())];
                ConstCounter::new(count(centre)).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn frames(&mut self) -> fmt::Result {
        let counters: [(&str, &str, Count); 10] = [
            ("frames_sent", "Frames sent; a multicast counts once.", |it| it.sent),
            ("election_frames_sent", "Messages of the election among the frames sent.", |it| {
                it.election_sent
            }),
            (
                "tenure_frames_sent",
                "Requests for tenure and answers to them among the frames sent.",
                |it| it.tenure_sent,
            ),
            ("council_frames_sent", "Messages of a council among the frames sent.", |it| {
                it.council_sent
            }),
            (
                "challenge_frames_sent",
                "Challenges among the frames sent, by which a new process proves that it runs.",
                |it| it.challenges_sent,
            ),
            (
                "frames_unsent",
                "Frames that could not be sent: the network refused them, or the member's address is not known.",
                |it| it.unsent,
            ),
            ("frames_heard", "Frames admitted.", |it| it.heard),
            ("frames_copied", "Multicasts that had arrived before on another channel.", |it| {
                it.copies
            }),
            ("namesakes", "Frames from another process with this member's name.", |it| {
                it.namesakes
            }),
            ("pauses", "Pauses of this member that were longer than others wait.", |it| it.pauses),
        ];
        for (name, help, count) in counters {
            self.counter(name, help, |group| count(&group.counters))?;
        }
        let help = "Frames refused, by reason.";
        let counter = MetricType::Counter;
        let name = "frames_refused";
        let mut metric = self.encoder.encode_descriptor(name, help, None, counter)?;
        for group in self.groups {
            for (reason, count) in group.counters.by_reason() {
                let labels = [("group", group.name()), ("reason", reason)];
                ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

// The encoding: one metric for all groups that have a value.
impl<'g> Sheet<'_, 'g> {
    fn gauge<V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        value: impl Fn(&GroupStatus) -> Option<V>,
    ) -> fmt::Result {
        self.gauge_in(None, name, help, value)
    }

    fn gauge_in<V: EncodeGaugeValue>(
        &mut self,
        unit: Option<&Unit>,
        name: &str,
        help: &str,
        value: impl Fn(&GroupStatus) -> Option<V>,
    ) -> fmt::Result {
        let gauge = MetricType::Gauge;
        let mut metric = self.encoder.encode_descriptor(name, help, unit, gauge)?;
        for group in self.groups {
            if let Some(value) = value(group) {
                let labels = [("group", group.name())];
                metric.encode_family(&labels)?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }

    fn counter(
        &mut self,
        name: &str,
        help: &str,
        count: impl Fn(&GroupStatus) -> u64,
    ) -> fmt::Result {
        let counter = MetricType::Counter;
        let mut metric = self.encoder.encode_descriptor(name, help, None, counter)?;
        for group in self.groups {
            let labels = [("group", group.name())];
            ConstCounter::new(count(group)).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// Writes the name of a member as a label that has the name of the metric.
    fn name(
        &mut self,
        name: &'static str,
        help: &str,
        who: impl Fn(&'g GroupStatus) -> Option<&'g String>,
    ) -> fmt::Result {
        let info = MetricType::Info;
        let mut metric = self.encoder.encode_descriptor(name, help, None, info)?;
        for group in self.groups {
            if let Some(who) = who(group) {
                metric.encode_info(&[("group", group.name()), (name, who.as_str())])?;
            }
        }
        Ok(())
    }
}

/// True if a group elects a leader at all.
fn elects(group: &GroupStatus) -> bool {
    group.health.state != HealthState::NoElection
}

fn host(group: &GroupStatus) -> Option<&HostStatus> {
    match &group.council {
        Some(CouncilStatus::Host(host)) => Some(host),
        Some(CouncilStatus::Centre(_)) | None => None,
    }
}

fn centre(group: &GroupStatus) -> Option<&CentreStatus> {
    match &group.council {
        Some(CouncilStatus::Centre(centre)) => Some(centre),
        Some(CouncilStatus::Host(_)) | None => None,
    }
}

#[cfg(test)]
mod tests;
