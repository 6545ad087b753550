//! Debian packages that a chore needs: which, how to see that they are there, how to get them.

use crate::{Result, shell};
use std::path::Path;
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

/// What a package brings, by which it is seen to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// A program on the path.
    Program(&'static str),
    /// A file, for packages without programs.
    File(&'static str),
}

/// A Debian package.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: &'static str,
    sign: Sign,
    purpose: &'static str,
    needed_by: &'static [NeededBy],
}

/// Every package that some chore needs, beyond Rust itself.
const PACKAGES: &[Package] = &[
    Package {
        name: "valgrind",
        sign: Sign::Program("valgrind"),
        purpose: "counts instructions, so that benchmarks do not depend on the machine's mood",
        needed_by: &[NeededBy::Bench],
    },
    Package {
        name: "iproute2",
        sign: Sign::Program("ip"),
        purpose: "makes hosts of network namespaces",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
    Package {
        name: "nftables",
        sign: Sign::Program("nft"),
        purpose: "loses packets and cuts networks",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
    Package {
        name: "util-linux",
        sign: Sign::Program("setpriv"),
        purpose: "gives hosts names of their own, and ends with us what we start there",
        needed_by: &[NeededBy::Test, NeededBy::Field, NeededBy::Authorities],
    },
    Package {
        name: "protobuf-compiler",
        sign: Sign::Program("protoc"),
        purpose: "makes code of etcd's interface",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "libprotobuf-dev",
        sign: Sign::File("/usr/include/google/protobuf/descriptor.proto"),
        purpose: "has what the descriptions of etcd's interface refer to",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "etcd-server",
        sign: Sign::Program("etcd"),
        purpose: "is a store that grants tenure",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "postgresql",
        sign: Sign::Program("pg_ctlcluster"),
        purpose: "is a store that grants tenure",
        needed_by: &[NeededBy::Authorities, NeededBy::Cost],
    },
    Package {
        name: "pgbouncer",
        sign: Sign::Program("pgbouncer"),
        purpose: "stands before PostgreSQL and shares its sessions out",
        needed_by: &[NeededBy::Authorities],
    },
    Package {
        name: "etcd-client",
        sign: Sign::Program("etcdctl"),
        purpose: "is what tenure by etcd is measured against",
        needed_by: &[NeededBy::Cost],
    },
    Package {
        name: "postgresql-client",
        sign: Sign::Program("psql"),
        purpose: "is what tenure by PostgreSQL is measured against",
        needed_by: &[NeededBy::Cost],
    },
    Package {
        name: "strace",
        sign: Sign::Program("strace"),
        purpose: "counts how often servers sync their disks, and holds processes up between two receives",
        needed_by: &[NeededBy::Test, NeededBy::Field, NeededBy::Cost],
    },
    Package {
        name: "keepalived",
        sign: Sign::Program("keepalived"),
        purpose: "is what the loss of a leader's host is measured against",
        needed_by: &[NeededBy::Field],
    },
    Package {
        name: "e2fsprogs",
        sign: Sign::Program("mkfs.ext4"),
        purpose: "makes disks that can be told to refuse writes",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
    Package {
        name: "faketime",
        sign: Sign::Program("faketime"),
        purpose: "sets the calendar of one process",
        needed_by: &[NeededBy::Test, NeededBy::Field],
    },
];

impl Sign {
    fn is_there(self) -> bool {
        match self {
            Sign::Program(program) => shell::find_program(program).is_some(),
            Sign::File(file) => Path::new(file).exists(),
        }
    }
}

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
        .filter(|package| !package.sign.is_there())
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
    use super::{Machine, NeededBy, Package, Plan, Sign, plan};

    const CLOCK: Package = Package {
        name: "clock",
        sign: Sign::Program("tick"),
        purpose: "ticks",
        needed_by: &[NeededBy::Test],
    };
    const BELL: Package = Package {
        name: "bell",
        sign: Sign::Program("ring"),
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
    fn packages_without_programs_are_seen_by_their_files() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(Sign::File(here).is_there());
        assert!(!Sign::File("/no/such/file").is_there());
        assert!(Sign::Program("cargo").is_there());
        assert!(!Sign::Program("no-such-program").is_there());
    }

    #[test]
    fn everyone_else_is_told_what_to_run() {
        for machine in [(true, false), (false, true), (false, false)] {
            check(&[&BELL], machine, &Plan::Ask(vec!["bell".to_owned()]));
        }
    }
}
