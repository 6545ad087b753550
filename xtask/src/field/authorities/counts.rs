//! How many messages and syncs it takes to get tenure, and to keep it.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::contender::Contender;
use super::contest::{Contest, Part, Ring, VOTERS};
use super::stores::Store;
use super::syncs::Syncs;
use super::wire::{MemberMeter, StoreMeter};
use crate::Result;
use crate::field::measure::{milliseconds, now_ns};
use crate::field::spread::Spread;
use crate::field::table::{Table, Verdict};

pub(super) const HEADINGS: [&str; 8] = [
    "acquire:", "packets", "syncs", "renew:", "packets", "syncs", "every ms", "wire",
];

/// Who wants tenure, alone. It does not vote: of the messages none stays at home.
const CANDIDATE: usize = VOTERS;

/// Acquired so often, each time for the first time.
const TIMES: usize = 5;

/// So long that nobody renews while an acquisition is counted.
const LONG_TTL: Duration = Duration::from_secs(600);

/// Until voters know each other, and servers have nothing left to do.
const SETTLES_IN: Duration = Duration::from_millis(1_500);

/// Until the last answer has come and the last sync is done: etcd writes some of what it did a tenth of a second later.
const ENDS_WITHIN: Duration = Duration::from_millis(700);

/// What something took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cost {
    messages: f64,
    packets: f64,
    syncs: f64,
    /// Datagrams between members, of whatever kind.
    on_the_wire: f64,
}

/// Counts for a contender, and prints its row.
pub(super) fn run(ring: Ring<'_>, contender: Contender, table: &mut Table<'_>) -> Result<()> {
    // First: what acquisitions leave behind ends later.
    let (renew, every_ms) = renewal(ring, contender)?;
    let mut acquisitions = Vec::new();
    for _ in 0..TIMES {
        acquisitions.push(acquisition(ring, contender)?);
    }
    let acquire = median(&acquisitions);
    let number = |value: f64| match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.2}"),
    };
    let wire = match contender {
        Contender::Quorum => format!("{}/{:.1}", number(acquire.on_the_wire), renew.on_the_wire),
        _ => "-".to_owned(),
    };
    let cells = [
        number(acquire.messages),
        number(acquire.packets),
        number(acquire.syncs),
        number(renew.messages),
        number(renew.packets),
        number(renew.syncs),
        every_ms.map_or("-".to_owned(), |it| format!("{it:.0}")),
        wire,
    ];
    table.row(
        contender.name(),
        &cells,
        &verdict(contender, acquire, renew),
    );
    Ok(())
}

/// Two round trips and one sync a voter; one round trip and none.
fn verdict(contender: Contender, acquire: Cost, renew: Cost) -> Verdict {
    let voters = VOTERS as f64;
    match contender {
        Contender::Quorum => Verdict::new(
            "12, 3 syncs; 6, 0 syncs",
            acquire.messages <= 4.0 * voters
                && acquire.syncs <= voters
                && renew.messages <= 2.0 * voters * TOLERANCE
                && renew.syncs == 0.0,
        ),
        _ => Verdict::none(),
    }
}

/// The window ends between two renewals, and there may be one more in it than its length says.
const TOLERANCE: f64 = 1.02;

fn acquisition(ring: Ring<'_>, contender: Contender) -> Result<Cost> {
    let ttl = contender.ttl().map(|_| LONG_TTL);
    let mut contest = voters_of(ring, contender, ttl)?;
    let counting = Counting::begin(ring, contender, &contest)?;
    contest.start(CANDIDATE, Part::Stands)?;
    contest.next()?;
    thread::sleep(ENDS_WITHIN);
    counting.read()
}

/// What a renewal takes, on average, and how often there is one, in milliseconds.
fn renewal(ring: Ring<'_>, contender: Contender) -> Result<(Cost, Option<f64>)> {
    let mut contest = voters_of(ring, contender, contender.ttl())?;
    contest.start(CANDIDATE, Part::Stands)?;
    contest.next()?;
    thread::sleep(SETTLES_IN);
    let counting = Counting::begin(ring, contender, &contest)?;
    let (began, before) = (now_ns(), counting.read()?);
    let renewed = ring.stores.etcd_renewals()?;
    // Some renewals of each: twenty and more, but two of the one that renews every twenty seconds.
    let window = contender.ttl().map_or(SETTLES_IN, |ttl| ttl * 7);
    thread::sleep(window.clamp(Duration::from_secs(6), Duration::from_secs(45)));
    let after = counting.read()?;
    let took_ms = milliseconds(began, now_ns());
    let cost = after.less(before);
    let renewals = match (contender.store(), contender.ttl()) {
        (_, None) => return Ok((cost, None)),
        (Some(Store::Etcd), _) => (ring.stores.etcd_renewals()? - renewed) as f64,
        // Ours begin a renewal when a third is over.
        (_, Some(ttl)) => took_ms / (ttl.as_secs_f64() * 1e3 / 3.0),
    };
    Ok((cost.divided_by(renewals), Some(took_ms / renewals)))
}

/// A contest with all who vote in it, if anybody does.
fn voters_of<'a>(
    ring: Ring<'a>,
    contender: Contender,
    ttl: Option<Duration>,
) -> Result<Contest<'a>> {
    let mut contest = Contest::new(ring, contender, ttl)?;
    if contender == Contender::Quorum {
        for voter in 0..VOTERS {
            contest.start(voter, Part::VotesAlone)?;
        }
    }
    thread::sleep(SETTLES_IN);
    Ok(contest)
}

/// What counts while something goes on.
struct Counting<'a> {
    ring: Ring<'a>,
    wire: Wire<'a>,
    syncs: Syncs,
}

enum Wire<'a> {
    Members(MemberMeter<'a>),
    Store(StoreMeter<'a>),
}

impl<'a> Counting<'a> {
    fn begin(ring: Ring<'a>, contender: Contender, contest: &Contest<'_>) -> Result<Self> {
        let (wire, processes) = match contender.store() {
            None => {
                let voters: Vec<usize> = (0..VOTERS).collect();
                let processes = contest.processes(&voters);
                (Wire::Members(MemberMeter::begin(ring)?), processes)
            }
            Some(store) => {
                let processes = ring.stores.processes(store);
                (Wire::Store(StoreMeter::begin(ring, store)?), processes)
            }
        };
        let syncs = Syncs::begin(&processes, contest.home())?;
        Ok(Self { ring, wire, syncs })
    }

    fn read(&self) -> Result<Cost> {
        let syncs = self.syncs.read()? as f64;
        Ok(match &self.wire {
            Wire::Members(meter) => {
                // Each is a datagram of its own, and a packet.
                let frames = self.frames_of_tenure()? as f64;
                Cost {
                    messages: frames,
                    packets: frames,
                    syncs,
                    on_the_wire: meter.read()? as f64,
                }
            }
            Wire::Store(meter) => {
                let passed = meter.read()?;
                Cost {
                    messages: passed.messages as f64,
                    packets: passed.packets as f64,
                    syncs,
                    on_the_wire: 0.0,
                }
            }
        })
    }

    /// What members say they have sent of questions about tenure and answers.
    fn frames_of_tenure(&self) -> Result<u64> {
        let mut sum = 0;
        for host in 0..=CANDIDATE {
            let program = self.ring.program.to_string_lossy();
            let mut command = self.ring.hosts.command(host, &program);
            let output = command.args(["status", "--format", "json"]).output()?;
            // The candidate may not be there yet.
            if let Ok(status) = serde_json::from_slice::<Value>(&output.stdout) {
                let sent = &status["groups"][0]["counters"]["tenure_sent"];
                sum += sent.as_u64().ok_or("a status without tenure_sent")?;
            }
        }
        Ok(sum)
    }
}

impl Cost {
    fn less(self, before: Self) -> Self {
        Self {
            messages: self.messages - before.messages,
            packets: self.packets - before.packets,
            syncs: self.syncs - before.syncs,
            on_the_wire: self.on_the_wire - before.on_the_wire,
        }
    }

    fn divided_by(self, count: f64) -> Self {
        Self {
            messages: self.messages / count,
            packets: self.packets / count,
            syncs: self.syncs / count,
            on_the_wire: self.on_the_wire / count,
        }
    }
}

/// In each respect, the median.
fn median(costs: &[Cost]) -> Cost {
    let of = |part: fn(&Cost) -> f64| {
        let mut spread = Spread::default();
        costs.iter().for_each(|cost| spread.add(part(cost)));
        spread.median().unwrap_or_default()
    };
    Cost {
        messages: of(|it| it.messages),
        packets: of(|it| it.packets),
        syncs: of(|it| it.syncs),
        on_the_wire: of(|it| it.on_the_wire),
    }
}
