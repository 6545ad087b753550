//! Debian packages that a task needs: the list, the check for their presence, and their
//! installation.

use crate::{Result, shell};
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
    Package {
        name: "valgrind",
        program: "valgrind",
        purpose: "counts instructions, so that benchmarks do not depend on the machine's mood",
        needed_by: &[NeededBy::Bench],
    },
    Package {
        name: "iproute2",
        program: "ip",
        purpose: "makes hosts of network namespaces",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
    Package {
        name: "nftables",
        program: "nft",
        purpose: "loses packets and cuts networks",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
    Package {
        name: "util-linux",
        program: "setpriv",
        purpose: "gives hosts names of their own, and ends with us what we start there",
        needed_by: &[NeededBy::Test, NeededBy::Field, NeededBy::Authorities],
    },
    Package {
        name: "etcd-server",
        program: "etcd",
        purpose: "is a store that grants tenure",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "openssl",
        program: "openssl",
        purpose: "makes the certificates of a store that is tested over TLS",
        needed_by: &[NeededBy::Authorities],
    },
    Package {
        name: "postgresql",
        program: "pg_ctlcluster",
        purpose: "is a store that grants tenure",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "pgbouncer",
        program: "pgbouncer",
        purpose: "stands before PostgreSQL and shares its sessions out",
        needed_by: &[NeededBy::Authorities],
    },
    Package {
        name: "etcd-client",
        program: "etcdctl",
        purpose: "asks etcd what members did there, and is what tenure by etcd is measured against",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "postgresql-client",
        program: "psql",
        purpose: "is what tenure by PostgreSQL is measured against",
        needed_by: &[NeededBy::Cost],
    },
    Package {
        name: "strace",
        program: "strace",
        purpose: "counts how often servers sync their disks, and holds processes up between two receives",
        needed_by: &[NeededBy::Test, NeededBy::Field, NeededBy::Cost],
    },
    Package {
        name: "keepalived",
        program: "keepalived",
        purpose: "is what the loss of a leader's host is measured against",
        needed_by: &[NeededBy::Field],
    },
    Package {
        name: "e2fsprogs",
        program: "mkfs.ext4",
        purpose: "makes disks that can be told to refuse writes",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
    Package {
        name: "faketime",
        program: "faketime",
        purpose: "sets the calendar of one process",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
];

impl Package {
    fn is_there(&self) -> bool {
        shell::find_program(self.program).is_some()
    }
}

/// The means of installing packages on this machine.
#[derive(Clone, Copy)]
struct Machine {
    is_root: bool,
    has_apt: bool,
}

/// The action for missing packages: install them, or ask the user to.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install(Vec<String>),
    Ask(Vec<String>),
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

/// Missing packages, and the means of installing them.
pub(crate) struct Missing {
    packages: Vec<&'static Package>,
    machine: Machine,
}

impl Missing {
    /// Returns the missing packages of some tasks.
    pub(crate) fn of(chores: &[NeededBy]) -> Self {
        let is_needed = |package: &&Package| {
            let mut needed_by = package.needed_by.iter();
            needed_by.any(|chore| chores.contains(chore))
        };
        let packages = PACKAGES.iter().filter(is_needed);
        Self { packages: packages.filter(|it| !it.is_there()).collect(), machine: Machine::this() }
    }

    /// Prints the packages that will be installed or are missing, and their purpose.
    pub(crate) fn announce(&self) {
        let what = match plan(&self.packages, self.machine) {
            Plan::Nothing => return,
            Plan::Install(_) => "going to be installed",
            Plan::Ask(_) => "missing, and installing it needs root",
        };
        for Package { name, purpose, .. } in &self.packages {
            println!("Debian package {name}, {what}: {purpose}");
        }
    }

    /// Installs the packages if this machine allows it.
    pub(crate) fn install(&self) -> Result<()> {
        match plan(&self.packages, self.machine) {
            Plan::Nothing | Plan::Ask(_) => Ok(()),
            Plan::Install(packages) => {
                shell::run(apt_get().arg("update"))?;
                shell::run(apt_get().args(INSTALL).args(packages))
            }
        }
    }

    /// Returns the reason why a task cannot run, with the remedy; `None` if it can.
    pub(crate) fn for_chore(&self, chore: NeededBy) -> Option<String> {
        let packages = self.packages.iter().copied();
        let its: Vec<&Package> = packages.filter(|it| it.needed_by.contains(&chore)).collect();
        match plan(&its, self.machine) {
            Plan::Nothing | Plan::Install(_) => None,
            Plan::Ask(packages) => Some(format!(
                "packages are missing: run `sudo apt-get {} {}`, then try again",
                INSTALL.join(" "),
                packages.join(" ")
            )),
        }
    }
}

const INSTALL: [&str; 3] = ["install", "-y", "--no-install-recommends"];

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn plan(missing: &[&Package], machine: Machine) -> Plan {
    let names = missing.iter().map(|package| package.name.to_owned());
    match machine {
        _ if missing.is_empty() => Plan::Nothing,
        Machine { is_root: true, has_apt: true } => Plan::Install(names.collect()),
        Machine { is_root: _, has_apt: _ } => Plan::Ask(names.collect()),
    }
}

impl Machine {
    fn this() -> Machine {
        let user = Command::new("id").arg("-u").output();
        Machine {
            is_root: user.is_ok_and(|user| user.stdout.trim_ascii() == b"0"),
            has_apt: shell::find_program("apt-get").is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Missing, NeededBy, Package, Plan, plan};

    const CLOCK: Package =
        Package { name: "clock", program: "tick", purpose: "ticks", needed_by: &[NeededBy::Test] };
    const BELL: Package = Package { name: "bell", program: "ring", ..CLOCK };

    fn check(missing: &[&Package], (is_root, has_apt): (bool, bool), expected: &Plan) {
        assert_eq!(&plan(missing, Machine { is_root, has_apt }), expected);
    }

    #[test]
    fn nothing_is_installed_if_nothing_is_missing() {
        for machine in [(true, true), (true, false), (false, true), (false, false)] {
            check(&[], machine, &Plan::Nothing);
        }
    }

    #[test]
    fn root_with_apt_installs_all_missing_packages() {
        let both = Plan::Install(vec!["clock".to_owned(), "bell".to_owned()]);
        check(&[&CLOCK, &BELL], (true, true), &both);
    }

    #[test]
    fn packages_are_detected_by_their_programs() {
        let with = |program| Package { program, ..CLOCK };
        assert!(with("cargo").is_there());
        assert!(!with("no-such-program").is_there());
    }

    #[test]
    fn other_users_are_asked_to_install() {
        for machine in [(true, false), (false, true), (false, false)] {
            check(&[&BELL], machine, &Plan::Ask(vec!["bell".to_owned()]));
        }
    }

    #[test]
    fn task_runs_without_packages_that_only_others_need() {
        let missing = |is_root| Missing {
            packages: vec![&BELL],
            machine: Machine { is_root, has_apt: true },
        };
        assert_eq!(missing(true).for_chore(NeededBy::Test), None);
        assert_eq!(missing(false).for_chore(NeededBy::Authorities), None);
        let reason = missing(false).for_chore(NeededBy::Test);
        assert!(reason.is_some_and(|it| it.ends_with("bell`, then try again")));
    }
}
