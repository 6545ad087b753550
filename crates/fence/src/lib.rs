//! The resource's half of fencing. For now: [`slots`], what must never be forgotten, on a disk.

pub mod slots;
