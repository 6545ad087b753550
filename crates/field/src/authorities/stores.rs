//! One etcd and one PostgreSQL server on a host of their own, with their default disk settings.

use std::process::Stdio;
use std::time::Duration;

use hustings_testkit::{Scratch, Server, etcd_server, poll, postgres_server, run};

use crate::Result;
use crate::hosts::{Hosts, address};

const ETCD_PORT: u16 = 2379;
const POSTGRES_PORT: u16 = 5432;

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
    /// etcd, then PostgreSQL.
    servers: Vec<Server>,
    home: Scratch,
}

impl<'a> Stores<'a> {
    /// Returns a value without servers.
    pub(super) fn none(hosts: &'a Hosts) -> Self {
        Self { hosts, host: 0, servers: Vec::new(), home: Scratch::new("hustings-stores") }
    }

    /// Starts both servers and waits until they answer.
    pub(super) fn open(hosts: &'a Hosts, host: usize) -> Result<Self> {
        let mut stores = Self { host, ..Self::none(hosts) };
        let (data, peers) = (stores.home.join("etcd"), "http://127.0.0.1:2380");
        let cluster = format!("default={peers}");
        let etcd = etcd_server("default", &data, &stores.etcd(), peers, &cluster);
        stores.serve(etcd, "etcd.log");
        let clients = "10.72.0.0/16";
        let postgres = postgres_server(stores.home.path(), &address(host), POSTGRES_PORT, clients);
        stores.serve(postgres, "postgres.log");
        stores.wait_for("etcdctl", &["--endpoints", &stores.etcd(), "get", "ready"])?;
        stores.wait_for("psql", &["-X", "-q", "-d", &stores.postgres(), "-c", "SELECT 1"])?;
        Ok(stores)
    }

    fn serve(&mut self, command: Vec<String>, log: &str) {
        let namespace = self.hosts.namespace(self.host);
        let on_host = ["ip", "netns", "exec", &namespace].map(str::to_owned);
        let line = on_host.into_iter().chain(command).collect();
        self.servers.push(Server::start(line, self.home.join(log)));
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
        server.processes().iter().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Returns the number of lease renewals that etcd has counted.
    pub(super) fn etcd_renewals(&self) -> Result<u64> {
        let place = format!("/dev/tcp/{}/{ETCD_PORT}", address(self.host));
        let script =
            format!("exec 3<>{place}; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3");
        let mut command = self.hosts.command(self.host, "bash");
        let metrics = run(command.args(["-c", &script]))?;
        renewals(&metrics).ok_or_else(|| "etcd does not count its renewals".into())
    }

    fn wait_for(&self, program: &str, arguments: &[&str]) -> Result<()> {
        let mut ask = self.hosts.command(self.host, program);
        ask.args(arguments).stdin(Stdio::null());
        let answer = poll(READY_WITHIN, || run(&mut ask).ok());
        ensure!(answer.is_some(), "{ask:?} gets no answer within {READY_WITHIN:?}");
        Ok(())
    }
}

fn renewals(metrics: &str) -> Option<u64> {
    let name = "etcd_debugging_lease_renewed_total ";
    metrics.lines().find_map(|line| line.strip_prefix(name))?.parse().ok()
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
