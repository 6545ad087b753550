//! The clock offsets between hosts, estimated from messages.

use std::collections::BTreeMap;

use hustings_protocol::MemberId;
use hustings_protocol::trace::Kind;

use super::source::{Read, Source};

/// The limit in nanoseconds up to which two hosts count as having one clock. No message of an
/// election takes this long, and no two hosts boot within so short a time of each other. If a
/// message seems to take longer, or to arrive earlier than this before it was sent, the clocks
/// differ.
const MOST_ON_THE_WAY: i64 = 1_000_000_000;

/// The time of a line in nanoseconds.
pub(super) fn nanoseconds(line: &Read) -> i64 {
    (line.time * 1e9).round() as i64
}

/// Returns the offset to add to each source's times to put all on one clock: that of the first
/// source, unless they share one.
pub(super) fn offsets(sources: &[Source]) -> Vec<i64> {
    let shortest = shortest_ways(sources);
    let mut offsets: Vec<Option<i64>> = vec![None; sources.len()];
    for first in 0..sources.len() {
        if offsets[first].is_some() {
            continue;
        }
        // No source before it has a message in common with this one, so its clock stays as it is.
        offsets[first] = Some(0);
        let mut reached = vec![first];
        while let Some(from) = reached.pop() {
            for to in 0..sources.len() {
                if offsets[to].is_none()
                    && let Some(ahead) = ahead(&shortest, from, to)
                {
                    offsets[to] = offsets[from].map(|offset| offset - ahead);
                    reached.push(to);
                }
            }
        }
    }
    offsets.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the lead of the clock of `to` over the clock of `from`, or `None` if no message tells.
fn ahead(shortest: &BTreeMap<(usize, usize), i64>, from: usize, to: usize) -> Option<i64> {
    let there = shortest.get(&(from, to)).copied();
    let back = shortest.get(&(to, from)).copied();
    let is_plausible = |way: i64| (-MOST_ON_THE_WAY..=MOST_ON_THE_WAY).contains(&way);
    if [there, back].into_iter().flatten().all(is_plausible) {
        return there.or(back).map(|_| 0);
    }
    match (there, back) {
        // The way there is assumed to take as long as the way back.
        (Some(there), Some(back)) => Some((there - back) / 2),
        (Some(there), None) => Some(there),
        (None, Some(back)) => Some(-back),
        (None, None) => None,
    }
}

/// Returns the shortest transit time from one source to another by their clocks. Only messages
/// without a duplicate count.
fn shortest_ways(sources: &[Source]) -> BTreeMap<(usize, usize), i64> {
    let mut sent = BTreeMap::new();
    for (source, line) in each_line(sources) {
        if matches!(line.kind, Kind::Send | Kind::Multicast)
            && let Some(letter) = letter(line, line.to)
        {
            let once = Some((source, nanoseconds(line)));
            sent.entry(letter).and_modify(|it| *it = None).or_insert(once);
        }
    }
    let mut shortest = BTreeMap::new();
    for (to, line) in each_line(sources) {
        if line.kind != Kind::Deliver {
            continue;
        }
        let letters = [line.to, None].map(|to| letter(line, to)); // as a unicast and as a multicast
        let known = letters.iter().flatten().find_map(|it| sent.get(it));
        if let Some(&Some((from, at))) = known
            && from != to
        {
            let took = nanoseconds(line) - at;
            let way = shortest.entry((from, to)).or_insert(took);
            *way = took.min(*way);
        }
    }
    shortest
}

fn each_line(sources: &[Source]) -> impl Iterator<Item = (usize, &Read)> {
    let numbered = sources.iter().enumerate();
    numbered.flat_map(|(number, source)| source.lines.iter().map(move |line| (number, line)))
}

/// Returns the key that identifies a message at its sender and at its receiver. The receiver is
/// `None` for a multicast.
fn letter(line: &Read, to: Option<MemberId>) -> Option<(MemberId, Option<MemberId>, String)> {
    // Serialisation cannot fail: the value was read from JSON.
    let message = serde_json::to_string(line.message.as_ref()?).ok()?;
    Some((line.from?, to, message))
}
