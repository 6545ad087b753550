//! The cost of elections, derived analytically.
//!
//! Closed forms and exact recurrences for the protocols that the simulator measures. Every function
//! is a plain function of its parameters: no randomness, no clock, no state. Its documentation
//! gives the formula and the derivation. Its tests compare it with an enumeration of all cases,
//! made by a message-by-message simulation too simple to share its mistakes.
//!
//! ```
//! use hustings_theory::rings::{Order, chang_roberts};
//!
//! // Ring of ten, one initiator: 2n messages at best, 3n - 1 at worst.
//! assert_eq!(chang_roberts(10, 1, Order::Best).messages, 20.0);
//! assert_eq!(chang_roberts(10, 1, Order::Worst).messages, 29.0);
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | [`harmonic`] | the harmonic numbers, in constant time |
//! | [`rings`] | Chang and Roberts 1979, and the modified ring: messages and delay |
//! | [`bully`] | the bully, with the best member up or down: messages and delay |
//! | [`announce`] | announcing, listening, suppressing over multicast: LE-A, LE-S, LE-M, SUP, AL |
//! | [`epidemic`] | a multicast made of unicasts, forwarded and repaired: its reach |
//! | [`probabilistic`] | a few members drawn by a hash decide: success, messages, choice of `K` |
//! | [`council`] | `L` to `U` representatives out of many hosts: rounds, messages, choice of `c` |
//! | [`bolot`] | the baseline of that: at least one reply, by masks over random keys |
//! | [`wagner`] | a fair draw on a ring: stages, flips, rounds, messages, limits of cheaters |
//!
//! Results are `f64`, because most are means. Counts are exact as long as they stay below 2^53.
//! Parameters that describe no election (an empty group, more initiators than members) are a
//! programming error, and panic.

pub mod announce;
mod binomial;
pub mod bolot;
pub mod bully;
pub mod council;
pub mod epidemic;
pub mod harmonic;
pub mod probabilistic;
pub mod rings;
pub mod wagner;
