//! Epidemic multicast: the fraction of members that a message reaches, by forwarding and by repair.
//!
//! Source    Birman, Hayden, Ozkasap, Xiao, Budiu, Minsky, Bimodal multicast (ACM TOCS 1999), with
//!           a fan-out of unicasts as its first phase
//! Assumes   every member knows every other; a unicast is lost with `l`, and arrives with `q = 1 -
//!           l`; messages take much less than a period; no member fails
//!
//! **First phase.** A member that gets the message for the first time forwards it to `f` others. A
//! member without it gets it from one member that has just got it with `fq/(N-1)`. After enough
//! steps a fraction `u = e^(-fq(1-u))` is left out.
//!
//! **Repair.** In each period each member that has the message advertises it to one other, which
//! requests it if it is missing, and gets it. All three unicasts must arrive: of a fraction `m`
//! without it, `q^3 m(1-m)` are repaired in a period, so the odds `m/(1-m)` fall by `e^(-q^3)`.
//!
//! These are the means of many members. Chance matters only at the beginning: the first phase dies
//! out if too many of its first messages are lost ([`dies_out`]).

use crate::binomial::complement_to;

/// A group, and its forwarding parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpidemicModel {
    /// All members, two or more.
    pub members: u64,
    /// `f`: the number of members to which a member forwards a new message.
    pub fan_out: u32,
    /// The maximum number of hops of a message.
    pub hops: u32,
    /// `l`: the probability that a unicast is lost.
    pub loss: f64,
}

/// The fraction of the others that the first phase misses, unless it dies out.
///
/// # Panics
/// If the model is invalid.
pub fn missed_by_fan_out(model: &EpidemicModel) -> f64 {
    model.check();
    let others = (model.members - 1) as f64;
    let told_by_one = f64::from(model.fan_out) * model.arrives() / others;
    let (mut untold, mut telling) = (others, 1.0);
    for _ in 0..model.hops {
        telling = untold * (1.0 - complement_to(told_by_one, telling));
        untold -= telling;
    }
    untold / others
}

/// The probability that the first phase reaches next to no member: the least solution of `x = (l +
/// qx)^f`, as for a family whose members have `f` children each, of which each survives with `q`.
///
/// # Panics
/// If the model is invalid.
pub fn dies_out(model: &EpidemicModel) -> f64 {
    model.check();
    let generation = |x: f64| (model.loss + model.arrives() * x).powf(f64::from(model.fan_out));
    let mut x = 0.0;
    // Rises to the solution: fast, except for `fq` = 1, which is of no practical use.
    for _ in 0..10_000 {
        x = generation(x);
    }
    x
}

/// The fraction that lacks the message `periods` periods after the first phase, unless that died
/// out.
///
/// # Panics
/// If the model is invalid.
fn missed_after(model: &EpidemicModel, periods: f64) -> f64 {
    let missed = missed_by_fan_out(model);
    let odds = missed / (1.0 - missed) * (-model.arrives().powi(3) * periods).exp();
    odds / (1.0 + odds)
}

/// The probability that all have the message by then, unless the first phase died out.
///
/// # Panics
/// If the model is invalid.
pub fn reaches_all(model: &EpidemicModel, periods: f64) -> f64 {
    complement_to(missed_after(model, periods), (model.members - 1) as f64)
}

impl EpidemicModel {
    /// `q`.
    fn arrives(&self) -> f64 {
        1.0 - self.loss
    }

    fn check(&self) {
        let Self { members, loss, .. } = self;
        assert!(*members >= 2, "a multicast among {members}: need two or more");
        assert!((0.0..=1.0).contains(loss), "loss probability {loss}: need from 0 to 1");
    }
}

#[cfg(test)]
mod tests {
    use super::{EpidemicModel, dies_out, missed_after, missed_by_fan_out, reaches_all};

    fn model(fan_out: u32, loss: f64) -> EpidemicModel {
        EpidemicModel { members: 1_000_000, fan_out, hops: 60, loss }
    }

    #[track_caller]
    fn assert_close(one: f64, other: f64, error: f64) {
        assert!((one - other).abs() <= error, "{one}, not {other}");
    }

    #[test]
    fn first_phase_misses_the_fraction_of_its_equation() {
        for (fan_out, loss) in [(2, 0.0), (3, 0.2), (4, 0.4), (6, 0.0), (6, 0.2), (10, 0.5)] {
            let arriving = f64::from(fan_out) * (1.0 - loss);
            let missed = missed_by_fan_out(&model(fan_out, loss));
            assert_close(missed, (-arriving * (1.0 - missed)).exp(), 1e-5);
            let gone = dies_out(&model(fan_out, loss));
            let rest = (loss + (1.0 - loss) * gone).powi(fan_out as i32);
            assert_close(gone, rest, 1e-12);
            assert!(gone < 0.9, "the lesser of two solutions: {gone}");
        }
        assert_eq!(dies_out(&model(3, 0.0)), 0.0);
        assert_eq!(dies_out(&model(3, 1.0)), 1.0);
    }

    /// A group of three, in which each step can be counted by hand.
    #[test]
    fn three_members_are_reached_step_by_step() {
        let three = |hops| EpidemicModel { members: 3, fan_out: 1, hops, loss: 0.0 };
        assert_eq!(missed_by_fan_out(&three(0)), 1.0);
        assert_close(missed_by_fan_out(&three(1)), 0.5, 1e-15);
        assert_close(missed_by_fan_out(&three(2)), 0.25, 1e-15);
    }

    #[test]
    fn repair_is_the_same_in_two_steps_as_in_one() {
        let model = model(4, 0.3);
        let odds = |periods| {
            let missed = missed_after(&model, periods);
            missed / (1.0 - missed)
        };
        let fall = (-0.7_f64.powi(3)).exp();
        assert_close(missed_after(&model, 0.0), missed_by_fan_out(&model), 1e-15);
        assert_close(odds(6.0) / odds(5.0), fall, 1e-12);
        assert!(reaches_all(&model, 5.0) < reaches_all(&model, 60.0));
        assert_close(reaches_all(&model, 200.0), 1.0, 1e-12);
    }
}
