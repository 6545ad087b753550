//! The resource's half of fencing: keeps the highest fence seen, durably, and refuses lower ones.
//!
//! Each tenure has a *fence*, a number that is higher than that of every earlier tenure. A holder
//! may have lost its tenure without knowing it: it was paused, its clock ran slow, or its message
//! was delayed. So a holder sends its fence along with each write, and the resource refuses fences
//! below the highest one seen. A lease bounds the time for which two members may believe that they
//! hold tenure. This check keeps the writes of the earlier one out.
//!
//! [`FenceGuard`] is this check for resources that processes of one host write to, such as a server
//! with a data directory. It needs no agent, and nothing of Hustings but the number.
//!
//! ```
//! use hustings_fence::{Fence, FenceGuard, GuardError, WriteError};
//! use std::fs;
//! # let home = std::env::temp_dir().join(format!("hustings-fence-doc-{}", std::process::id()));
//! # let _ = fs::remove_dir_all(&home);
//! # fs::create_dir_all(&home)?;
//!
//! let guard = FenceGuard::open(home.join("fence"))?;
//! let stock = home.join("stock");
//! guard.write(Fence(7), || fs::write(&stock, "12"))?;
//!
//! // The next holder writes. Later writes of the former holder are refused.
//! guard.write(Fence(8), || fs::write(&stock, "11"))?;
//! let late = guard.write(Fence(7), || fs::write(&stock, "13"));
//! assert!(matches!(
//!     late,
//!     Err(WriteError::Guard(GuardError::Refused { offered: Fence(7), highest: Fence(8), .. }))
//! ));
//! assert_eq!(fs::read_to_string(&stock)?, "11");
//! # fs::remove_dir_all(&home)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//! - After a fence has been admitted no lower one is, in spite of crashes: the fence is on the disk
//!   before the write begins.
//! - Check and write are one: turns of threads or processes of this host do not overlap.
//! - If the fence cannot be read or stored (a damaged file, a full disk), no write is admitted.
//!
//! The guard needs a local disk that keeps synced data and writes a sector of 512 bytes wholly or
//! not at all. In a database the better place for the number is a column, compared in the
//! transaction that writes.
//!
//! # Over HTTP
//! The feature `http` adds `FenceLayer`, a layer for axum and other tower services. It checks the
//! header `Hustings-Fence`, and serves requests in turns.
//!
//! # In async programs
//! A guard waits for its turn and for the disk, so call it in `spawn_blocking`:
//!
//! ```
//! # use hustings_fence::{Fence, FenceGuard};
//! # use std::sync::Arc;
//! # async fn example(guard: Arc<FenceGuard>) -> Result<(), Box<dyn std::error::Error>> {
//! let write = move || guard.write(Fence(7), || std::fs::write("stock", "12"));
//! tokio::task::spawn_blocking(write).await??;
//! # Ok(())
//! # }
//! ```

pub mod guard;
#[cfg(feature = "http")]
pub mod layer;
pub mod slots;

pub use guard::{FenceGuard, GuardError, Turn, WriteError};
pub use hustings_protocol::tenure::Fence;
#[cfg(feature = "http")]
pub use layer::FenceLayer;
