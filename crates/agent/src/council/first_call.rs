//! The first call of a centre, as it goes over the wire: for whoever measures how long calls are.

use hustings_protocol::Instant;
use hustings_protocol::council::{Config, Feedback, Message};

use super::CouncilPart;
use crate::authority::Authority;
use crate::authority::occupancy::Occupancy;
use crate::config::{GroupConfig, MULTICAST, ProtocolConfig};
use crate::entropy::Entropy;
use crate::frame::{Body, Frame};
use crate::group::{Group, Outbox};
use crate::seal::Keyring;

/// It calls after some waits, or not at all.
const MOST_WAITS: u32 = 64;

/// A call, and the datagram that it came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstCall {
    /// What it says, opened and read as a host does.
    pub feedback: Feedback,
    /// How many bytes of the datagram are terms: the rules by which a host is to understand any word of the centre.
    pub terms: usize,
    /// How many bytes the whole datagram has, sealed.
    pub datagram: usize,
}

/// What a centre multicasts first that goes by `rules`, in a group `fleet`, by the name of `centre`. None: it calls nobody, or the
/// operating system has no randomness to give.
pub fn first_call(rules: Config) -> Option<FirstCall> {
    let config = GroupConfig {
        council: CouncilPart::Centre(Box::new(rules)),
        multicast: Some(MULTICAST),
        ..GroupConfig::plain("fleet", ProtocolConfig::NoElection)
    };
    let nobody = (Authority::Nobody, Occupancy::default());
    let now = Instant::START;
    let mut centre = Group::new(
        config,
        "centre",
        MULTICAST.port(),
        now,
        None,
        nobody,
        Entropy::system(),
    );
    let mut out = Outbox::new();
    centre.start(now, &mut out);
    // It says that it is up, and listens, before it calls.
    for _ in 0..MOST_WAITS {
        let mut said = out.drain(..);
        let call = said.find_map(|(_, _, sealed)| read(centre.keyring(), sealed));
        drop(said);
        if call.is_some() {
            return call;
        }
        centre.pass(centre.due()?, &mut out);
    }
    None
}

/// A datagram, if it is a call.
fn read(keyring: &Keyring, mut sealed: Vec<u8>) -> Option<FirstCall> {
    let datagram = sealed.len();
    let content = keyring.open(&mut sealed).ok()?;
    let Body::FromCentre { terms, message, .. } = Frame::decode(content).ok()?.body else {
        return None;
    };
    match postcard::from_bytes(message).ok()? {
        Message::Feedback(feedback) => Some(FirstCall {
            feedback,
            terms: terms.len(),
            datagram,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::Duration;
    use hustings_protocol::council::{Config, Seats};

    use super::first_call;

    #[test]
    fn the_first_call_is_to_as_many_as_there_may_be() {
        let rules = |hosts| Config::field(Seats::new(4, 8), hosts, Duration::from_millis(250));
        let call = first_call(rules(100_000)).expect("it calls");
        assert_eq!((call.feedback.round, call.feedback.base), (1, 0));
        // A bit for the reset.
        assert_eq!(call.feedback.word, 100_000 << 1 | 1);
        // The number takes three bytes on the wire, and a number below 64 one; the terms have the first estimate too.
        let short = first_call(rules(60)).expect("it calls");
        assert_eq!(call.terms - short.terms, 2);
        assert_eq!(call.datagram - short.datagram, 4);
    }
}
