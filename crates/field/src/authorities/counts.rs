//! Counts the messages and disk syncs that it takes to acquire tenure and to renew it.

use std::time::Duration;
use std::{array, thread};

use serde_json::Value;

use super::LockMethod;
use super::contest::{Contest, Role, Setup, VOTERS};
use super::packets_and_syncs::{PacketMeter, SyncMeter};
use super::stores::Store;
use crate::Result;
use crate::measure::{milliseconds, now_ns};
use crate::table::{Report, Spread, Verdict};

pub(super) const HEADINGS: [&str; 8] =
    ["acquire:", "packets", "syncs", "renew:", "packets", "syncs", "every ms", "wire"];

/// The only member that wants tenure. It does not vote, so every message crosses the network.
const CANDIDATE: usize = VOTERS;

/// The number of acquisitions, each in a new contest.
const TIMES: usize = 5;

/// A ttl so long that no renewal happens while an acquisition is counted.
const LONG_TTL: Duration = Duration::from_secs(600);

/// The time after which voters know each other and servers are idle.
const SETTLES_IN: Duration = Duration::from_millis(1_500);

/// The time after which the last answer has arrived and the last sync is done. etcd writes part of
/// its work to disk a tenth of a second later.
const ENDS_WITHIN: Duration = Duration::from_millis(700);

/// The cost of an acquisition or of a renewal: messages, packets, syncs, and all datagrams between
/// members, of any kind.
type TenureCost = [f64; 4];

/// Counts for one method and prints its row.
pub(super) fn run(setup: Setup<'_>, method: LockMethod, report: &mut Report) -> Result<()> {
    // Renewals come first, because leases that acquisitions leave behind expire later and would be
    // counted.
    let (renew, every_ms) = renewal(setup, method)?;
    let acquisitions = (0..TIMES).map(|_| acquisition(setup, method));
    let acquisitions: Vec<TenureCost> = acquisitions.collect::<Result<_>>()?;
    let acquire: TenureCost = array::from_fn(|part| {
        let spread: Spread = acquisitions.iter().map(|cost| cost[part]).collect();
        spread.median().unwrap_or_default()
    });
    let number = |value: f64| {
        if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
    };
    let ([.., acquire_wire], [.., renew_wire]) = (acquire, renew);
    let wire = match method {
        LockMethod::Quorum => format!("{}/{renew_wire:.1}", number(acquire_wire)),
        _ => "-".to_owned(),
    };
    let mut cells: Vec<String> =
        [&acquire[..3], &renew[..3]].concat().into_iter().map(number).collect();
    cells.extend([every_ms.map_or("-".to_owned(), |it| format!("{it:.0}")), wire]);
    report.row(method.profile().name, &cells, &verdict(method, acquire, renew));
    Ok(())
}

/// The limit: two round trips and one sync for each voter to acquire; one round trip and no sync to
/// renew.
fn verdict(method: LockMethod, acquire: TenureCost, renew: TenureCost) -> Verdict {
    let voters = VOTERS as f64;
    let ([messages, _, syncs, _], [renewal, _, renewal_syncs, _]) = (acquire, renew);
    let is_met = messages <= 4.0 * voters
        && syncs <= voters
        && renewal <= 2.0 * voters * TOLERANCE
        && renewal_syncs == 0.0;
    match method {
        LockMethod::Quorum => Verdict::new("12, 3 syncs; 6, 0 syncs", is_met),
        _ => Verdict::none(),
    }
}

/// The window ends between two renewals, so it may contain one more than its length says.
const TOLERANCE: f64 = 1.02;

fn acquisition(setup: Setup<'_>, method: LockMethod) -> Result<TenureCost> {
    let ttl = method.profile().ttl.map(|_| LONG_TTL);
    let mut contest = voters_of(setup, method, ttl)?;
    let counting = Counting::begin(setup, method, &contest)?;
    contest.start(CANDIDATE, Role::Candidate)?;
    contest.next()?;
    thread::sleep(ENDS_WITHIN);
    counting.read()
}

/// Returns the average cost of a renewal, and the milliseconds between two renewals.
fn renewal(setup: Setup<'_>, method: LockMethod) -> Result<(TenureCost, Option<f64>)> {
    let mut contest = voters_of(setup, method, method.profile().ttl)?;
    contest.start(CANDIDATE, Role::Candidate)?;
    contest.next()?;
    thread::sleep(SETTLES_IN);
    let counting = Counting::begin(setup, method, &contest)?;
    let (began, before) = (now_ns(), counting.read()?);
    let renewed = setup.stores.etcd_renewals()?;
    // The window contains at least twenty renewals, but only two of the method that renews every
    // twenty seconds.
    let window = method.profile().ttl.map_or(SETTLES_IN, |ttl| ttl * 7);
    thread::sleep(window.clamp(Duration::from_secs(6), Duration::from_secs(45)));
    let after = counting.read()?;
    let took_ms = milliseconds(began, now_ns());
    let cost: TenureCost = array::from_fn(|part| after[part] - before[part]);
    let renewals = match (method.profile().store, method.profile().ttl) {
        (_, None) => return Ok((cost, None)),
        (Some(Store::Etcd), _) => (setup.stores.etcd_renewals()? - renewed) as f64,
        // A member begins a renewal when a third of the ttl is over.
        (_, Some(ttl)) => took_ms / (ttl.as_secs_f64() * 1e3 / 3.0),
    };
    Ok((cost.map(|it| it / renewals), Some(took_ms / renewals)))
}

/// Returns a contest in which the voters run, if the method has voters.
fn voters_of<'a>(
    setup: Setup<'a>,
    method: LockMethod,
    ttl: Option<Duration>,
) -> Result<Contest<'a>> {
    let mut contest = Contest::new(setup, method, ttl)?;
    if method == LockMethod::Quorum {
        for voter in 0..VOTERS {
            contest.start(voter, Role::VoterOnly)?;
        }
    }
    thread::sleep(SETTLES_IN);
    Ok(contest)
}

/// The meters that run during a measurement.
struct Counting<'a> {
    setup: Setup<'a>,
    method: LockMethod,
    wire: PacketMeter<'a>,
    syncs: SyncMeter,
}

impl<'a> Counting<'a> {
    fn begin(setup: Setup<'a>, method: LockMethod, contest: &Contest<'_>) -> Result<Self> {
        let (wire, processes) = match method.profile().store {
            None => {
                let voters: Vec<usize> = (0..VOTERS).collect();
                (PacketMeter::at_members(setup)?, contest.processes(&voters))
            }
            Some(store) => (PacketMeter::at_store(setup, store)?, setup.stores.processes(store)),
        };
        let syncs = SyncMeter::begin(&processes, contest.home.path())?;
        Ok(Self { setup, method, wire, syncs })
    }

    fn read(&self) -> Result<TenureCost> {
        let (syncs, [passed, with_payload]) = (self.syncs.read()?, self.wire.read()?);
        let [messages, packets, on_the_wire] = match self.method.profile().store {
            None => {
                // Each frame is a datagram of its own, and so one packet.
                let frames = self.frames_of_tenure()?;
                [frames, frames, passed]
            }
            Some(_) => [with_payload, passed, 0],
        };
        Ok([messages, packets, syncs, on_the_wire].map(|count| count as f64))
    }

    /// Returns the number of tenure requests and answers that the members report as sent.
    fn frames_of_tenure(&self) -> Result<u64> {
        let mut sum = 0;
        for host in 0..=CANDIDATE {
            let mut command = self.setup.testbed.command(host);
            let output = command.args(["status", "--format", "json"]).output()?;
            // The candidate may not be up yet.
            if let Ok(status) = serde_json::from_slice::<Value>(&output.stdout) {
                let sent = &status["groups"][0]["counters"]["tenure_sent"];
                sum += sent.as_u64().ok_or("a status without tenure_sent")?;
            }
        }
        Ok(sum)
    }
}
