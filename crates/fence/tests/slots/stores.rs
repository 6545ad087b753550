//! What was stored is what is read, at every instant.

use std::{fs, io};

use hustings_fence::slots::{MOST_PAYLOAD_BYTES, SlotFile};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{TAG, path_for, read};

const SLOTS: [std::ops::Range<usize>; 2] = [0..512, 4096..4608];

#[test]
fn after_a_crash_at_any_instant_the_file_says_the_old_value_or_the_new_one() {
    let path = path_for("instants");
    let mut file = SlotFile::create(&path, TAG, b"0").unwrap();
    let crashed = path.with_file_name("crashed");
    for number in 1..20_u8 {
        let before = fs::read(&path).unwrap();
        file.store(&[number]).unwrap();
        let after = fs::read(&path).unwrap();

        let changed: Vec<_> = SLOTS
            .into_iter()
            .filter(|slot| before[slot.clone()] != after[slot.clone()])
            .collect();
        let [slot] = &changed[..] else {
            panic!("a store writes one sector: {changed:?}");
        };
        // A sector is written wholly or not at all, so these are all that a crash can leave.
        let mut images = [before.clone(), before];
        images[1][slot.clone()].copy_from_slice(&after[slot.clone()]);
        assert_eq!(images[1], after, "nothing beyond the sector");
        let old = if number == 1 { b'0' } else { number - 1 };
        for (image, said) in images.iter().zip([old, number]) {
            fs::write(&crashed, image).unwrap();
            assert_eq!(read(&crashed).unwrap(), [said]);
        }
    }
}

#[test]
fn random_stores_and_reopenings_keep_the_last_payload() {
    for seed in 0..20 {
        let path = path_for(&format!("random-{seed}"));
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut last = b"first".to_vec();
        let mut file = SlotFile::create(&path, TAG, &last).unwrap();
        for step in 0..50 {
            if chance.next_u32().is_multiple_of(4) {
                drop(file);
                let (opened, payload) = SlotFile::open(&path, TAG).unwrap();
                assert_eq!(payload, last, "seed {seed}, step {step}");
                file = opened;
            } else {
                let length = chance.next_u32() as usize % (MOST_PAYLOAD_BYTES + 1);
                last = vec![0; length];
                chance.fill_bytes(&mut last);
                file.store(&last).unwrap();
            }
        }
    }
}

/// What is written to a file without a name is gone when it is closed.
#[test]
fn nothing_is_stored_in_a_file_that_was_deleted_or_replaced() {
    let path = path_for("deleted");
    let mut file = SlotFile::create(&path, TAG, b"0").unwrap();
    file.store(b"1").unwrap();
    let elsewhere = path.with_file_name("elsewhere");

    fs::rename(&path, &elsewhere).unwrap();
    let error = file.store(b"2").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let what = "was deleted, or replaced by another file, while it was in use";
    assert_eq!(error.to_string(), format!("{}: {what}", path.display()));

    fs::copy(&elsewhere, &path).unwrap();
    let error = file.store(b"3").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);

    fs::rename(&elsewhere, &path).unwrap();
    file.store(b"4").unwrap();
    drop(file);
    assert_eq!(read(&path).unwrap(), b"4");
}

#[test]
#[should_panic(expected = "a payload of 401 bytes: 400 at most")]
fn a_payload_that_does_not_fit_is_a_mistake_of_the_program() {
    let path = path_for("too-long");
    let mut file = SlotFile::create(&path, TAG, b"").unwrap();
    let _ = file.store(&[0; MOST_PAYLOAD_BYTES + 1]);
}

#[test]
#[should_panic(expected = "a tag of 85 bytes: 84 at most")]
fn a_tag_that_does_not_fit_is_a_mistake_of_the_program() {
    let path = path_for("long-tag");
    let _ = SlotFile::create(&path, &[b't'; 85], b"");
}
