//! The measurements of a group, and the K that follows from them.

use hustings_protocol::Duration;

use super::{Field, address, entropy, name};
use crate::authority::Authority;
use crate::authority::in_flight::InFlight;
use crate::config::{GroupConfig, MULTICAST, ProtocolConfig};
use crate::node::{Measured, Node};

const MEMBERS: usize = 20;
const BOUND: Duration = Duration::from_millis(50);

impl Field {
    /// Members that know all others, with a target of 999 successful rounds in 1,000.
    fn of_whole() -> Self {
        let mut field = Self::empty();
        for index in 0..MEMBERS {
            let protocol = ProtocolConfig::probabilistic_field("test", BOUND, 7);
            let config = GroupConfig {
                target: Some(0.999),
                multicast: Some(MULTICAST),
                ..GroupConfig::plain("test", protocol)
            };
            let nobody = (Authority::Nobody, InFlight::default());
            let port = address(index).port();
            let member = Node::new(
                config,
                &name(index),
                port,
                field.now,
                None,
                nobody,
                entropy(field.now, port),
            );
            field.admit_member(member, None, &[], 0);
        }
        field.run(Duration::from_secs(30));
        field
    }

    /// K and the measurements of each member on the first side.
    fn measured(&self) -> Vec<(u32, Measured)> {
        let there = (0..self.members.len()).filter(|it| self.sides[*it] == 0);
        let statuses = there.map(|it| self.members[it].status(self.now));
        let known = statuses.map(|it| Some((it.k?, it.measured?)));
        known.map(|it| it.expect("some relay")).collect()
    }
}

fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let numbers: Vec<f64> = numbers.collect();
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

#[test]
fn k_follows_the_measured_loss_with_full_views() {
    let mut field = Field::of_whole();
    let calm = field.measured();
    assert!(calm.iter().all(|(_, it)| it.loss == Some(0.0) && it.view == Some(1.0)));
    field.lost_percent = 20;
    field.run(Duration::from_secs(30));
    let losing = field.measured();
    let loss = mean(losing.iter().map(|(_, it)| it.loss.expect("there were probes")));
    // From 64 probes for each member, both ways: the standard error of the mean is 0.008.
    assert!((0.16..0.24).contains(&loss), "{loss}");
    let k = |all: &[(u32, Measured)]| mean(all.iter().map(|(k, _)| f64::from(*k)));
    assert!(k(&losing) > k(&calm) + 3.0, "{losing:?}, {calm:?}");
    field.lost_percent = 0;
    field.run(Duration::from_secs(30));
    assert!(k(&field.measured()) < k(&losing) - 3.0, "and back");
}

#[test]
fn departures_are_measured_with_full_views() {
    let mut field = Field::of_whole();
    assert!(field.measured().iter().all(|(_, it)| it.crash == Some(0.0)));
    for index in 10..MEMBERS {
        field.sides[index] = index as u8; // it is cut off from all others
        field.run(Duration::from_secs(3));
    }
    // In 60 s, with 19 members observed for half of the time and then fewer and fewer: ten
    // departures in 900 member seconds. A round with K = 7 takes 0.7 s, and one with a greater K
    // longer, up to 1.2 s.
    for (k, measured) in field.measured() {
        let crash = measured.crash.expect("enough was seen");
        assert!((0.006..0.016).contains(&crash), "K {k}: {measured:?}");
    }
}
