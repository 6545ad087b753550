//! Random numbers in the model.

use std::convert::Infallible;

use rand_core::TryRng;

/// A generator that always returns the number of a member's starts. Incarnations then differ, as
/// they should. Back-off has no effect, because timers expire at any time.
pub(crate) struct Starts(pub(crate) u8);

impl TryRng for Starts {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.into())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.into())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(self.0);
        Ok(())
    }
}
