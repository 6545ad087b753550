//! The resource's half of fencing: the highest fence seen, kept durably, and lower ones refused.
//!
//! A tenure has a *fence*, a number that is higher for each later one. A holder may have lost its tenure without
//! knowing it yet: it was paused, its clock ran slow, or what it sent was on the way for long. So whoever holds
//! tenure sends its fence along with each write, and the resource that is written to refuses those that are below
//! one it has seen. A lease bounds for how long two may believe that they hold; this check is what keeps the
//! earlier one's writes out.
//!
//! [`FenceGuard`] is that check for resources that are written to by processes of one host: a server with a
//! data directory, say. It needs no agent, and nothing of Hustings but the number.
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
//! // The next holder is here. Whatever the former one still sends comes too late.
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
//! # What holds
//! - Once a fence has been let in no lower one is, whatever crashes: it is on the disk before the write begins.
//! - Check and write are one: turns do not overlap, between threads or processes of this host.
//! - What cannot be read or kept (a damaged file, a full disk) lets nobody in.
//!
//! It takes a local disk that keeps what was synced to it, and writes a sector of 512 bytes wholly or not at all. A
//! database has a better place for the number: a column, compared in the transaction that writes.
//!
//! # In async programs
//! A guard waits for its turn and for the disk, so call it by `spawn_blocking`:
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
pub mod slots;

pub use guard::{FenceGuard, GuardError, Turn, WriteError};
pub use hustings_protocol::tenure::Fence;
