//! Resolves the seed addresses and names of each group again and again.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::mpsc;

/// The pause after every name was resolved: a name may later resolve to other addresses.
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// The pause after a name could not be resolved: it may resolve soon.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Resolves the seeds of each group until the agent ends. Sends a group's number and addresses at
/// first and whenever the addresses change.
pub(crate) fn seek(
    groups: impl Iterator<Item = Vec<String>>,
) -> mpsc::Receiver<(usize, Vec<SocketAddr>)> {
    let (found, seeds) = mpsc::channel(4);
    for (number, names) in groups.enumerate().filter(|(_, names)| !names.is_empty()) {
        tokio::spawn(seek_for(number, names, found.clone()));
    }
    seeds
}

async fn seek_for(
    number: usize,
    names: Vec<String>,
    found: mpsc::Sender<(usize, Vec<SocketAddr>)>,
) {
    let (mut known, mut has_complained) = (BTreeSet::new(), false);
    loop {
        let (mut addresses, mut pause) = (BTreeSet::new(), AGAIN_AFTER);
        for name in &names {
            match tokio::net::lookup_host(name).await {
                Ok(resolved) => addresses.extend(resolved),
                Err(why) => {
                    pause = RETRY_AFTER;
                    if !has_complained {
                        tracing::warn!(
                            "cannot resolve the join address `{name}`: {why}: trying again"
                        );
                    }
                }
            }
        }
        has_complained |= pause == RETRY_AFTER;
        if addresses != known {
            if found.send((number, addresses.iter().copied().collect())).await.is_err() {
                return; // the agent is gone
            }
            known = addresses;
        }
        tokio::time::sleep(pause).await;
        if found.is_closed() {
            return;
        }
    }
}
