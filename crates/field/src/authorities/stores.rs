//! One etcd and one PostgreSQL server on a host of their own, with their default disk settings.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::hosts::{Hosts, address, run};
use crate::measure::now_ns;
use crate::programs::find_program;

const ETCD_PORT: u16 = 2379;
const POSTGRES_PORT: u16 = 5432;

/// PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;
const AS_NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

const READY_WITHIN: Duration = Duration::from_secs(30);

/// A store that can grant tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Etcd,
    Postgres,
}

impl Store {
    pub(super) fn port(self) -> u16 {
        match self {
            Self::Etcd => ETCD_PORT,
            Self::Postgres => POSTGRES_PORT,
        }
    }
}

pub(super) struct Stores<'a> {
    hosts: &'a Hosts,
    /// The host that runs both servers.
    pub(super) host: usize,
    servers: Vec<Child>,
    home: PathBuf,
}

impl<'a> Stores<'a> {
    /// Returns a value without servers.
    pub(super) fn none(hosts: &'a Hosts) -> Self {
        Self {
            hosts,
            host: 0,
            servers: Vec::new(),
            home: std::env::temp_dir().join(format!("stores-{}", now_ns())),
        }
    }

    /// Starts both servers and waits until they answer.
    pub(super) fn open(hosts: &'a Hosts, host: usize) -> Result<Self> {
        let home = std::env::temp_dir().join(format!("stores-{}", now_ns()));
        fs::create_dir(&home)?;
        let mut stores = Self { hosts, host, servers: Vec::new(), home };
        stores.start_etcd()?;
        stores.start_postgres()?;
        stores.wait_for("etcdctl", &["--endpoints", &stores.etcd(), "get", "ready"])?;
        stores.wait_for("psql", &["-X", "-q", "-d", &stores.postgres(), "-c", "SELECT 1"])?;
        Ok(stores)
    }

    pub(super) fn etcd(&self) -> String {
        format!("http://{}:{ETCD_PORT}", address(self.host))
    }

    pub(super) fn postgres(&self) -> String {
        format!("postgresql://hustings@{}:{POSTGRES_PORT}/postgres", address(self.host))
    }

    /// Returns the process ids of a store and of its children.
    pub(super) fn processes(&self, store: Store) -> Vec<u32> {
        let server = match store {
            Store::Etcd => &self.servers[0],
            Store::Postgres => &self.servers[1],
        };
        let server = server.id();
        let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_whitespace().filter_map(|it| it.parse().ok());
        [server].into_iter().chain(children).collect()
    }

    /// Returns the number of lease renewals that etcd has counted.
    pub(super) fn etcd_renewals(&self) -> Result<u64> {
        let place = format!("/dev/tcp/{}/{ETCD_PORT}", address(self.host));
        let script =
            format!("exec 3<>{place}; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3");
        let mut command = self.hosts.command(self.host, "bash");
        let output = command.args(["-c", &script]).output()?;
        let metrics = String::from_utf8_lossy(&output.stdout).into_owned();
        renewals(&metrics).ok_or_else(|| "etcd does not tell its renewals".into())
    }

    fn start_etcd(&mut self) -> Result<()> {
        let (clients, peers) = (self.etcd(), "http://127.0.0.1:2380");
        let mut command = self.hosts.tied_command(self.host);
        command.args(["etcd", "--data-dir"]).arg(self.home.join("etcd"));
        command.args(["--listen-client-urls", &clients]);
        command.args(["--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers]);
        command.args(["--initial-cluster", &format!("default={peers}")]);
        self.serve(command, "etcd.log")
    }

    fn start_postgres(&mut self) -> Result<()> {
        let data = self.home.join("postgres");
        fs::create_dir(&data)?;
        chown(&data, Some(NOBODY), Some(NOBODY))?;
        let mut make = self.hosts.tied_command(self.host);
        make.args(AS_NOBODY);
        make.arg(postgres_program("initdb")?).arg("-D").arg(&data);
        make.args(["-U", "hustings", "-A", "trust", "-N", "-E", "UTF8"]);
        run(&mut make)?;
        let mut doors = OpenOptions::new().append(true).open(data.join("pg_hba.conf"))?;
        doors.write_all(b"host all all 10.72.0.0/16 trust\n")?;
        let mut command = self.hosts.tied_command(self.host);
        command.args(AS_NOBODY).arg(postgres_program("postgres")?);
        command.arg("-D").arg(&data).arg("-k").arg(&data);
        command.args(["-h", &address(self.host), "-p", &POSTGRES_PORT.to_string()]);
        self.serve(command, "postgres.log")
    }

    fn serve(&mut self, mut command: Command, log: &str) -> Result<()> {
        let log = File::create(self.home.join(log))?;
        command.stdout(log.try_clone()?).stderr(log);
        self.servers.push(command.spawn()?);
        Ok(())
    }

    fn wait_for(&self, program: &str, arguments: &[&str]) -> Result<()> {
        let until = Instant::now() + READY_WITHIN;
        loop {
            let mut ask = self.hosts.command(self.host, program);
            match run(ask.args(arguments).stdin(Stdio::null())) {
                Err(error) if Instant::now() >= until => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(50)),
                Ok(()) => return Ok(()),
            }
        }
    }
}

impl Drop for Stores<'_> {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // A failure to kill means that the server has ended. PostgreSQL's children end when
            // they notice that their parent is gone.
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn renewals(metrics: &str) -> Option<u64> {
    let name = "etcd_debugging_lease_renewed_total ";
    metrics.lines().find_map(|line| line.strip_prefix(name))?.parse().ok()
}

/// Finds a program of the PostgreSQL server. Debian keeps them in one directory for each version,
/// outside `PATH`.
fn postgres_program(name: &str) -> Result<PathBuf> {
    if let Some(found) = find_program(name) {
        return Ok(found);
    }
    let versions = fs::read_dir(Path::new("/usr/lib/postgresql"))?;
    let programs = versions.flatten().map(|it| it.path().join("bin").join(name));
    let mut found: Vec<PathBuf> = programs.filter(|it| it.is_file()).collect();
    found.sort();
    let found = found.pop();
    found.ok_or_else(|| format!("{name} is missing: apt-get install postgresql").into())
}

#[cfg(test)]
mod tests {
    use super::renewals;

    #[test]
    fn etcd_renewals_are_found_among_other_metrics() {
        let metrics = "\
# TYPE etcd_debugging_lease_renewed_total counter
etcd_debugging_lease_renewed_total 17
etcd_debugging_lease_revoked_total 3
";
        assert_eq!(renewals(metrics), Some(17));
        assert_eq!(renewals(""), None);
    }
}
