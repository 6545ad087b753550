//! The operating system's random numbers and the host's calendar, which groups receive as values.

use hustings_node::entropy::Entropy;
use hustings_system::clock::calendar;

/// The operating system's random source. Each number is drawn anew, so a machine that is started
/// twice from one snapshot does not repeat them.
pub(crate) fn system() -> Entropy {
    Entropy::new(|bytes| getrandom::fill(bytes).is_ok(), calendar)
}

#[cfg(test)]
mod tests {
    use super::system;
    use std::collections::BTreeSet;

    #[test]
    fn system_numbers_differ() {
        let (mut one, mut two) = (system(), system());
        assert_ne!(one.draw::<8>(), two.draw::<8>());
        assert_ne!(one.draw::<8>(), one.draw::<8>());
    }

    /// Both sources stand for processes that were started from one snapshot: they remember the
    /// same.
    #[test]
    fn two_system_sources_never_draw_the_same_nonce() {
        let mut sources = [system(), system()];
        let mut nonces = BTreeSet::new();
        let mut values = [const { BTreeSet::new() }; 24];
        for _ in 0..1_000 {
            for source in &mut sources {
                let nonce = source.draw::<24>().expect("the system has some");
                values.iter_mut().zip(nonce).for_each(|(it, byte)| _ = it.insert(byte));
                assert!(nonces.insert(nonce));
            }
        }
        // No byte belongs to a prefix or to a counter.
        assert!(values.iter().all(|it| it.len() > 200), "{values:?}");
    }
}
