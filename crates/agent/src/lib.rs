//! The real world that drives the election protocols: sockets, clocks, disks.
//!
//! Nothing is here yet. The crate holds the place that the design gives it: `sim` and `agent` each
//! implement `hustings_protocol::Io` once, and know nothing of each other.
