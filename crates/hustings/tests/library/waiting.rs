//! Members in the test's own process that wait for tenure.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use hustings::{Group, GroupOptions};

use crate::unique;

/// Counts how often the waker is called.
#[derive(Default)]
struct Bell(AtomicU32);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn waiting_for_tenure_sleeps_until_a_change() {
    // The only voter does not exist, so that no tenure can be granted.
    let joining = GroupOptions::on_this_host(&unique("waits"), "alpha");
    let fenced = joining.fenced_by(&["absent"], Duration::from_secs(2), Path::new("nowhere"));
    let mut alpha = Group::join(fenced).await.expect("it joins");
    let mut leadership = alpha.watch();
    let named = leadership.wait_for(|it| it.leader.is_some()).await;
    named.expect("the election names it");

    let bell = Arc::new(Bell::default());
    let waker = bell.clone().into();
    let waits = pin!(alpha.tenure()).poll(&mut Context::from_waker(&waker));
    assert!(matches!(waits, Poll::Pending), "nobody grants tenure");
    // The runtime forces a future that never yields to pause, and wakes it after other tasks had
    // their turn.
    tokio::task::yield_now().await;
    assert_eq!(bell.0.load(Ordering::SeqCst), 0, "nothing has changed since");
}
