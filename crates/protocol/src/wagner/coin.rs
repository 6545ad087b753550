//! Coin Flip (F): all members agree on a single flip.

use super::flips::{Flip, Places};

/// Step 2: heads if an odd number of all members flipped heads. One flip that is not known to whoever chooses the others is
/// enough to make it fair.
pub fn coin(heads: &Places) -> Flip {
    Flip::heads_if(heads.count() % 2 == 1)
}
