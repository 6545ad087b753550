//! A fair draw among members who do not trust each other, over real links: Wagner's ring.
//!
//! The members of a [`Ring`] link up with their neighbours (`doors`, `callers`, `link`, `gathering`), each drives the very protocol that the
//! simulator runs (`seat`, `sitting`), signs what it says (`said`) and keeps what it heard (`transcript`). Who is elected is a
//! result only when all members have signed it; [`verify`] reads transcripts afterwards, and says whose fault a fault is.

mod account;
mod bytes;
mod callers;
mod doors;
mod gathering;
pub mod http;
mod keys;
mod link;
mod mark;
mod moment;
mod noise;
mod part;
mod presence;
mod ring;
mod said;
mod seat;
mod sitting;
#[cfg(test)]
#[path = "../tests/draw/table.rs"]
mod table;
mod tally;
mod transcript;
pub mod verify;

pub use account::{Account, Evidence, State};
pub use bytes::{Bytes, Digest};
pub use keys::{BadPublicKey, KeyError, PublicKey, Secret};
pub use moment::Moment;
pub use part::{NoDraw, Part};
pub use presence::{Presence, Seating};
pub use ring::{BadRing, Member, Ring};
pub use said::{Conclusion, Said, Signed, Statement, Verdict, Words};
pub use seat::Player;
pub use transcript::{Entry, Header, NoTranscript};
