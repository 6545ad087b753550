//! The first call of a council centre as it appears on the wire, for measurements of its length.

use hustings_protocol::Instant;
use hustings_protocol::council::{Config, Feedback, Message};

use crate::authority::in_flight::InFlight;
use crate::config::{GroupConfig, MULTICAST, ProtocolConfig};
use crate::council::CouncilPart;
use crate::entropy;
use crate::frame::{Body, Frame};
use crate::group::{Node, Outbox};
use crate::seal::Keyring;
use hustings_node::authority::Authority;

/// The number of timeouts to handle before giving up: a centre calls within them or not at all.
const MOST_WAITS: u32 = 64;

/// A call and the size of the datagram that carried it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstCall {
    /// The content of the call, opened and decoded as a host does it.
    pub feedback: Feedback,
    /// The number of bytes of the datagram that are terms: the rules by which a host interprets
    /// every message of the centre.
    pub terms: usize,
    /// The number of bytes of the whole sealed datagram.
    pub datagram: usize,
}

/// Returns the first multicast of a centre called `centre` in the group `fleet`, under `rules`.
/// Returns `None` if the centre makes no call, or if the operating system provides no randomness.
pub fn first_call(rules: Config) -> Option<FirstCall> {
    let config = GroupConfig {
        council: CouncilPart::Centre(Box::new(rules)),
        multicast: Some(MULTICAST),
        ..GroupConfig::plain("fleet", ProtocolConfig::NoElection)
    };
    let nobody = (Authority::Nobody, InFlight::default());
    let now = Instant::START;
    let mut centre =
        Node::new(config, "centre", MULTICAST.port(), now, None, nobody, entropy::system());
    let mut out = Outbox::new();
    centre.start(now, &mut out);
    // The centre first says hello and listens. It calls after that.
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

/// Returns the call in a datagram, if the datagram carries one.
fn read(keyring: &Keyring, mut sealed: Vec<u8>) -> Option<FirstCall> {
    let datagram = sealed.len();
    let content = keyring.open(&mut sealed).ok()?;
    let Body::CentreMessage { terms, message, .. } = Frame::decode(content).ok()?.body else {
        return None;
    };
    match postcard::from_bytes(message).ok()? {
        Message::Feedback(feedback) => Some(FirstCall { feedback, terms: terms.len(), datagram }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::Duration;
    use hustings_protocol::council::{Config, Seats};

    use super::first_call;

    #[test]
    fn first_call_addresses_the_largest_expected_number_of_hosts() {
        let rules = |hosts| Config::field(Seats::new(4, 8), hosts, Duration::from_millis(250));
        let call = first_call(rules(100_000)).expect("it calls");
        assert_eq!((call.feedback.round, call.feedback.base), (1, 0));
        // The lowest bit is the reset flag.
        assert_eq!(call.feedback.word, 100_000 << 1 | 1);
        // The number takes three bytes on the wire, a number below 64 takes one. The terms carry
        // the first estimate too.
        let short = first_call(rules(60)).expect("it calls");
        assert_eq!(call.terms - short.terms, 2);
        assert_eq!(call.datagram - short.datagram, 4);
    }
}
