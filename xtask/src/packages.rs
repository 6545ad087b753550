//! Debian packages that a chore needs: which, how to see that they are there, how to get them.

use crate::{Result, shell};
use std::process::Command;

/// Who needs a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeededBy {
    Test,
    Bench,
    Field,
    Authorities,
    Cost,
}

/// A Debian package, seen to be there by a program that it brings.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: &'static str,
    program: &'static str,
    purpose: &'static str,
    needed_by: &'static [NeededBy],
}

/// Every package that some chore needs, beyond Rust itself.
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
        name: "protobuf-compiler",
        program: "protoc",
        purpose: "makes code of etcd's interface",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "etcd-server",
        program: "etcd",
        purpose: "is a store that grants tenure",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
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
        purpose: "is what tenure by etcd is measured against",
        needed_by: &[NeededBy::Cost],
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

/// What can be done about packages on this machine.
#[derive(Clone, Copy)]
struct Machine {
    is_root: bool,
    has_apt: bool,
}

/// What to do about missing packages: commands to run, or one to ask the user for.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install(Vec<String>),
    Ask(Vec<String>),
}

/// Sees to it that the packages of a chore are there.
pub(crate) fn provide(chore: NeededBy) -> Result<()> {
    let missing: Vec<&Package> = PACKAGES
        .iter()
        .filter(|package| package.needed_by.contains(&chore))
        .filter(|package| shell::find_program(package.program).is_none())
        .collect();
    for Package { name, purpose, .. } in &missing {
        println!("missing Debian package {name}: {purpose}");
    }
    match plan(&missing, Machine::this()) {
        Plan::Nothing => Ok(()),
        Plan::Install(packages) => {
            shell::run(apt_get().arg("update"))?;
            shell::run(apt_get().args(INSTALL).args(packages))
        }
        Plan::Ask(packages) => Err(format!(
            "packages are missing: run `sudo apt-get {} {}`, then try again",
            INSTALL.join(" "),
            packages.join(" ")
        )
        .into()),
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
        Machine {
            is_root: true,
            has_apt: true,
        } => Plan::Install(names.collect()),
        Machine {
            is_root: _,
            has_apt: _,
        } => Plan::Ask(names.collect()),
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
    use super::{Machine, NeededBy, Package, Plan, plan};

    const CLOCK: Package = Package {
        name: "clock",
        program: "tick",
        purpose: "ticks",
        needed_by: &[NeededBy::Test],
    };
    const BELL: Package = Package {
        name: "bell",
        program: "ring",
        ..CLOCK
    };

    fn check(missing: &[&Package], (is_root, has_apt): (bool, bool), expected: &Plan) {
        assert_eq!(&plan(missing, Machine { is_root, has_apt }), expected);
    }

    #[test]
    fn nothing_is_done_when_nothing_is_missing() {
        for machine in [(true, true), (true, false), (false, true), (false, false)] {
            check(&[], machine, &Plan::Nothing);
        }
    }

    #[test]
    fn root_with_apt_installs_all_that_is_missing() {
        let both = Plan::Install(vec!["clock".to_owned(), "bell".to_owned()]);
        check(&[&CLOCK, &BELL], (true, true), &both);
    }

    #[test]
    fn everyone_else_is_told_what_to_run() {
        for machine in [(true, false), (false, true), (false, false)] {
            check(&[&BELL], machine, &Plan::Ask(vec!["bell".to_owned()]));
        }
    }
}
