//! Temporary directories for tests.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty directory that no other test uses, and that is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    is_kept: bool,
}

impl Scratch {
    /// Creates a directory whose name begins with `name`.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{name}-{}-{count}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match fs::create_dir(&path) {
                // An earlier process with this id has left it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => {
                    created.expect("directories can be made");
                    return Self { path, is_kept: false };
                }
            }
        }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the directory when this is dropped, for an investigation.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// A path in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_kept {
            // A file that cannot be removed stays.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn directory_is_empty_at_first_and_removed_at_the_end() {
        let [one, two] = ["testkit"; 2].map(Scratch::new);
        assert_ne!(one.path(), two.path());
        let file = one.join("file");
        std::fs::write(&file, "text").expect("there is room");
        drop(one);
        assert!(!file.exists());
        let path = two.path().to_owned();
        let mut two = two;
        two.keep();
        drop(two);
        assert!(path.is_dir());
        std::fs::remove_dir(path).expect("it is empty");
    }
}
