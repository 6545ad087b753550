//! Every stored payload is read back, after a crash at any instant.

use std::{fs, io};

use hustings_fence::slots::{MOST_PAYLOAD_BYTES, SlotFile};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{TAG, path_for, read};

const SLOTS: [std::ops::Range<usize>; 2] = [0..512, 4096..4608];

#[test]
fn crash_at_any_instant_leaves_the_old_value_or_the_new_one() {
    let path = path_for("instants");
    let mut file = SlotFile::create(&path, TAG, b"0").unwrap();
    let crashed = path.with_file_name("crashed");
    for number in 1..20_u8 {
        let before = fs::read(&path).unwrap();
        file.store(&[number]).unwrap();
        let after = fs::read(&path).unwrap();

        let changed: Vec<_> =
            SLOTS.into_iter().filter(|slot| before[slot.clone()] != after[slot.clone()]).collect();
        let [slot] = &changed[..] else {
            panic!("a store writes one sector: {changed:?}");
        };
        // A sector is written wholly or not at all, so a crash can leave only these images.
        let mut images = [before.clone(), before];
        images[1][slot.clone()].copy_from_slice(&after[slot.clone()]);
        assert_eq!(images[1], after, "the store changes only the sector");
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

/// A write to a file without a name is gone when the file is closed.
#[test]
fn store_to_a_deleted_or_replaced_file_fails() {
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
fn too_long_payload_panics() {
    let path = path_for("too-long");
    let mut file = SlotFile::create(&path, TAG, b"").unwrap();
    let _ = file.store(&[0; MOST_PAYLOAD_BYTES + 1]);
}

#[test]
#[should_panic(expected = "a tag of 85 bytes: 84 at most")]
fn too_long_tag_panics() {
    let path = path_for("long-tag");
    let _ = SlotFile::create(&path, &[b't'; 85], b"");
}
