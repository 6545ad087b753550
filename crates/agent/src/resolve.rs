//! Where members may be found: addresses and names, resolved again and again.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::mpsc;

/// Names may come to mean something else.
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// Names that mean nothing yet may soon.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Resolves what each group joins at, and goes on doing so. Tells each group's addresses, with its
/// number, at first and whenever they change.
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
    let mut known = Vec::new();
    let mut complained = false;
    loop {
        let (mut addresses, unresolved) = resolve(&names).await;
        addresses.sort_unstable();
        addresses.dedup();
        if !complained {
            for (name, why) in &unresolved {
                tracing::warn!("cannot resolve `{name}` to join at: {why}: will try again");
            }
            complained = !unresolved.is_empty();
        }
        if addresses != known {
            if found.send((number, addresses.clone())).await.is_err() {
                return; // the agent is gone
            }
            known = addresses;
        }
        let pause = match unresolved.is_empty() {
            true => AGAIN_AFTER,
            false => RETRY_AFTER,
        };
        tokio::time::sleep(pause).await;
        if found.is_closed() {
            return;
        }
    }
}

async fn resolve(names: &[String]) -> (Vec<SocketAddr>, Vec<(&String, std::io::Error)>) {
    let mut addresses = Vec::new();
    let mut unresolved = Vec::new();
    for name in names {
        match tokio::net::lookup_host(name).await {
            Ok(found) => addresses.extend(found),
            Err(why) => unresolved.push((name, why)),
        }
    }
    (addresses, unresolved)
}
