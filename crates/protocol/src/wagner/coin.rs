//! Coin Flip (F): all members agree on a single flip.

use super::flips::{Flip, Places};

/// Step 2: heads if an odd number of all members flipped heads. The result is fair if at least one
/// flip is unknown to the members that choose the others.
pub fn coin(heads: &Places) -> Flip {
    Flip::heads_if(heads.count() % 2 == 1)
}
