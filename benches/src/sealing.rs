//! The cost of sealing a frame: with a nonce from the operating system, as agents do, and with a
//! counted nonce.

use std::hint::black_box;

use hustings_node::seal::{Key, Keyring, Nonce};
use hustings_protocol::MemberId;

use crate::timed;

/// The number of frames that are sealed each time.
const FRAMES: u32 = 100_000;

/// Seals and opens frames with contents of `bytes` bytes. Returns the nanoseconds per frame, the
/// best of five times each: to seal it with a counted nonce, to seal it with a drawn nonce, to open
/// it. `None` if the operating system provides no random numbers.
pub(crate) fn measure(bytes: usize) -> Option<[f64; 3]> {
    let keyring = Keyring::new("bench", MemberId(1), &Key::generate().ok()?, &[]);
    let (content, mut sealed) = (vec![7; bytes], Vec::new());
    let mut best = [f64::INFINITY; 3];
    for _ in 0..5 {
        let counted = time(|number| {
            let mut nonce = Nonce::default();
            nonce[..4].copy_from_slice(&number.to_le_bytes());
            keyring.seal(&nonce, None, &content, &mut sealed);
            true
        })?;
        let drawn = time(|_| {
            let mut nonce = Nonce::default();
            let is_drawn = getrandom::fill(&mut nonce).is_ok();
            keyring.seal(&nonce, None, &content, &mut sealed);
            is_drawn
        })?;
        let mut frame = sealed.clone();
        let opened = time(|_| {
            frame.clone_from(&sealed);
            keyring.open(black_box(&mut frame)).is_ok()
        })?;
        for (best, taken) in best.iter_mut().zip([counted, drawn, opened]) {
            *best = best.min(taken);
        }
    }
    Some(best)
}

/// The CPU time of `run` per frame, or `None` if it fails.
fn time(mut run: impl FnMut(u32) -> bool) -> Option<f64> {
    let (all_done, nanos) = timed(|| (0..FRAMES).all(|number| black_box(run(number))));
    all_done.then(|| nanos / f64::from(FRAMES))
}
