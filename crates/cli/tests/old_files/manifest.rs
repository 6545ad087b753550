//! The samples are what the earlier version wrote, byte by byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The checksums of all files in `samples/`, by path, as `samples.txt` has them.
fn listed() -> BTreeMap<String, String> {
    let text = fs::read_to_string(home().join("samples.txt")).expect("samples.txt is readable");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.map(|(checksum, path)| (path.to_owned(), checksum.to_owned())).collect()
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_files")
}

/// The 64-bit FNV-1a checksum of some bytes.
fn checksum(bytes: &[u8]) -> String {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{sum:016x}")
}

fn collect(directory: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).expect("samples are readable") {
        let path = entry.expect("entries are readable").path();
        if path.is_dir() {
            collect(&path, found);
            continue;
        }
        let bytes = fs::read(&path).expect("a sample is readable");
        let name = path.strip_prefix(home().join("samples"));
        let name = name.expect("a sample lies below samples/").display();
        found.insert(name.to_string(), checksum(&bytes));
    }
}

#[test]
fn samples_are_unchanged() {
    let (listed, mut found) = (listed(), BTreeMap::new());
    collect(&home().join("samples"), &mut found);
    for (path, checksum) in &found {
        assert_eq!(
            listed.get(path),
            Some(checksum),
            "samples/{path} is not the file that samples.txt lists: restore it; list a new one as `{checksum} {path}`"
        );
    }
    let gone: Vec<&String> = listed.keys().filter(|it| !found.contains_key(*it)).collect();
    assert!(gone.is_empty(), "samples.txt lists what is not there: {gone:?}");
}
