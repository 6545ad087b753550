//! Debian packages that a task needs: the list, the check for their presence, and their
//! installation. And cargo-deny: the installed one, or one that is built once into the target
//! directory.

use crate::Result;
use crate::shell::{self, Console, cargo};
use NeededBy::{Authorities, Bench, Cost, Field, Test};
use std::path::PathBuf;
use std::process::Command;

/// The task that needs a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeededBy {
    Test,
    Bench,
    Field,
    Authorities,
    Cost,
}

#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: &'static str,
    /// A program of the package. If it is in `PATH`, the package is installed.
    program: &'static str,
    purpose: &'static str,
    needed_by: &'static [NeededBy],
}

/// Every package that a task needs, apart from Rust itself.
const PACKAGES: &[Package] = &[
    package(
        "valgrind",
        "valgrind",
        &[Bench],
        "counts instructions, so that benchmarks do not depend on the machine's mood",
    ),
    package("iproute2", "ip", &[Test, Field], "makes hosts of network namespaces"),
    package("nftables", "nft", &[Test, Field], "loses packets and cuts networks"),
    package(
        "util-linux",
        "setpriv",
        &[Test, Field, Authorities],
        "gives hosts names of their own, and ends with us what we start there",
    ),
    package("etcd-server", "etcd", &[Authorities, Cost], "is a store that grants tenure"),
    package(
        "openssl",
        "openssl",
        &[Authorities],
        "makes the certificates of a store that is tested over TLS",
    ),
    package("postgresql", "pg_ctlcluster", &[Authorities, Cost], "is a store that grants tenure"),
    package(
        "pgbouncer",
        "pgbouncer",
        &[Authorities],
        "stands before PostgreSQL and shares its sessions out",
    ),
    package(
        "etcd-client",
        "etcdctl",
        &[Authorities, Cost],
        "asks etcd what members did there, and is what tenure by etcd is measured against",
    ),
    package(
        "postgresql-client",
        "psql",
        &[Cost],
        "is what tenure by PostgreSQL is measured against",
    ),
    package(
        "strace",
        "strace",
        &[Test, Field, Cost],
        "counts how often servers sync their disks, and holds processes up between two receives",
    ),
    package(
        "keepalived",
        "keepalived",
        &[Field],
        "is what the loss of a leader's host is measured against",
    ),
    package(
        "e2fsprogs",
        "mkfs.ext4",
        &[Test, Field],
        "makes disks that can be told to refuse writes",
    ),
    package("faketime", "faketime", &[Test, Field], "sets the calendar of one process"),
];

const fn package(
    name: &'static str,
    program: &'static str,
    needed_by: &'static [NeededBy],
    purpose: &'static str,
) -> Package {
    Package { name, program, purpose, needed_by }
}

impl Package {
    fn is_there(&self) -> bool {
        shell::find_program(self.program).is_some()
    }
}

/// Makes sure that the packages of a task are installed.
pub(crate) fn provide(chore: NeededBy) -> Result<()> {
    let missing = Missing::of(&[chore]);
    missing.announce();
    match missing.for_chore(chore) {
        Some(reason) => Err(reason.into()),
        None => missing.install(),
    }
}

/// Missing packages.
pub(crate) struct Missing {
    packages: Vec<&'static Package>,
    /// True if they can be installed on this machine. If not, the user is asked to.
    can_install: bool,
}

impl Missing {
    /// Returns the missing packages of some tasks.
    pub(crate) fn of(chores: &[NeededBy]) -> Self {
        let is_needed = |package: &&Package| package.needed_by.iter().any(|it| chores.contains(it));
        let packages = PACKAGES.iter().filter(is_needed).filter(|it| !it.is_there()).collect();
        let user = Command::new("id").arg("-u").output();
        let is_root = user.is_ok_and(|user| user.stdout.trim_ascii() == b"0");
        Self { packages, can_install: is_root && shell::find_program("apt-get").is_some() }
    }

    /// Prints the packages that will be installed or are missing, and their purpose.
    pub(crate) fn announce(&self) {
        let what = match self.can_install {
            true => "going to be installed",
            false => "missing, and installing it needs root",
        };
        for Package { name, purpose, .. } in &self.packages {
            println!("Debian package {name}, {what}: {purpose}");
        }
    }

    /// Installs the packages if this machine allows it.
    pub(crate) fn install(&self) -> Result<()> {
        if self.packages.is_empty() || !self.can_install {
            return Ok(());
        }
        shell::run(apt_get().arg("update"))?;
        shell::run(apt_get().args(INSTALL).args(self.packages.iter().map(|it| it.name)))
    }

    /// Returns the reason why a task cannot run, with the remedy; `None` if it can.
    pub(crate) fn for_chore(&self, chore: NeededBy) -> Option<String> {
        let its = self.packages.iter().filter(|it| it.needed_by.contains(&chore));
        let names: Vec<&str> = its.map(|it| it.name).collect();
        (!names.is_empty() && !self.can_install).then(|| {
            format!(
                "packages are missing: run `sudo apt-get {} {}`, then try again",
                INSTALL.join(" "),
                names.join(" ")
            )
        })
    }
}

const INSTALL: [&str; 3] = ["install", "-y", "--no-install-recommends"];

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// The version that is built if none is installed.
const DENY_VERSION: &str = "0.20.2";

/// Returns a description of the build that is needed; `None` if cargo-deny is there.
pub(crate) fn deny_announcement() -> Option<String> {
    found_deny().is_none().then(|| {
        format!(
            "cargo-deny {DENY_VERSION}, into {}: checks the licences and sources of dependencies",
            tools().display()
        )
    })
}

/// Returns the command that starts cargo-deny. Builds cargo-deny first if there is none.
pub(crate) fn deny_command(console: &mut Console) -> Result<Command> {
    if let Some(command) = found_deny() {
        return Ok(command);
    }
    // An unoptimised build suffices: the program runs once for each build, and takes far longer to
    // build than to run.
    let mut install = cargo(["install", "cargo-deny", "--locked", "--debug"]);
    console.run(install.args(["--version", DENY_VERSION, "--root"]).arg(tools()))?;
    found_deny().ok_or_else(|| "cargo-deny was built, and does not start".into())
}

fn found_deny() -> Option<Command> {
    if version(cargo(["deny"])).is_some() {
        return Some(cargo(["deny"]));
    }
    let own = || {
        let mut command = Command::new(tools().join("bin").join("cargo-deny"));
        command.current_dir(shell::root());
        command
    };
    (version(own())? == format!("cargo-deny {DENY_VERSION}")).then(own)
}

fn tools() -> PathBuf {
    shell::target().join("tools")
}

/// Returns the output of `--version`, if the program is there.
fn version(mut program: Command) -> Option<String> {
    let output = program.arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(said)
}

#[cfg(test)]
mod tests {
    use super::{Missing, NeededBy, Package};

    const CLOCK: Package =
        Package { name: "clock", program: "tick", purpose: "ticks", needed_by: &[NeededBy::Test] };
    const BELL: Package = Package { name: "bell", program: "ring", ..CLOCK };

    fn reason(packages: &[&'static Package], can_install: bool, chore: NeededBy) -> Option<String> {
        Missing { packages: packages.to_vec(), can_install }.for_chore(chore)
    }

    #[test]
    fn nothing_is_installed_if_nothing_is_missing() {
        for can_install in [true, false] {
            let missing = Missing { packages: Vec::new(), can_install };
            assert_eq!(missing.for_chore(NeededBy::Test), None);
            assert!(missing.install().is_ok());
        }
    }

    #[test]
    fn packages_are_detected_by_their_programs() {
        let with = |program| Package { program, ..CLOCK };
        assert!(with("cargo").is_there());
        assert!(!with("no-such-program").is_there());
    }

    #[test]
    fn other_users_are_asked_to_install_all_missing_packages() {
        let reason = reason(&[&CLOCK, &BELL], false, NeededBy::Test);
        assert!(reason.is_some_and(|it| it.ends_with("clock bell`, then try again")));
    }

    #[test]
    fn task_runs_without_packages_that_only_others_need() {
        assert_eq!(reason(&[&BELL], true, NeededBy::Test), None);
        assert_eq!(reason(&[&BELL], false, NeededBy::Authorities), None);
        let reason = reason(&[&BELL], false, NeededBy::Test);
        assert!(reason.is_some_and(|it| it.ends_with("bell`, then try again")));
    }
}
