//! The cost of sealing a frame: with a nonce from the operating system, as agents do, and with a
//! counted nonce.

use std::hint::black_box;

use hustings_agent::seal::{Key, Keyring, Nonce};
use hustings_protocol::MemberId;

use crate::cpu_nanos;

/// Nanoseconds per frame of each operation.
pub(crate) struct SealingCost {
    pub(crate) sealed_counted: f64,
    pub(crate) sealed_drawn: f64,
    pub(crate) opened: f64,
}

/// Seals and opens `frames` frames with contents of `bytes` bytes. Returns the best of five times
/// each, or `None` if the operating system provides no random numbers.
pub(crate) fn measure(frames: u32, bytes: usize) -> Option<SealingCost> {
    let keyring = Keyring::new("bench", MemberId(1), &Key::generate().ok()?, &[]);
    let (content, mut sealed) = (vec![7; bytes], Vec::new());
    let mut best = [f64::INFINITY; 3];
    for _ in 0..5 {
        let counted = time(frames, |number| {
            let mut nonce = Nonce::default();
            nonce[..4].copy_from_slice(&number.to_le_bytes());
            keyring.seal(&nonce, None, &content, &mut sealed);
            true
        })?;
        let drawn = time(frames, |_| {
            let mut nonce = Nonce::default();
            let is_drawn = getrandom::fill(&mut nonce).is_ok();
            keyring.seal(&nonce, None, &content, &mut sealed);
            is_drawn
        })?;
        let mut frame = sealed.clone();
        let opened = time(frames, |_| {
            frame.clone_from(&sealed);
            keyring.open(black_box(&mut frame)).is_ok()
        })?;
        for (best, taken) in best.iter_mut().zip([counted, drawn, opened]) {
            *best = best.min(taken);
        }
    }
    let [sealed_counted, sealed_drawn, opened] = best;
    Some(SealingCost { sealed_counted, sealed_drawn, opened })
}

/// The CPU time of `run` per frame, or `None` if it fails.
fn time(frames: u32, mut run: impl FnMut(u32) -> bool) -> Option<f64> {
    let begin = cpu_nanos();
    let all_done = (0..frames).all(|number| black_box(run(number)));
    all_done.then(|| (cpu_nanos() - begin) / f64::from(frames))
}
