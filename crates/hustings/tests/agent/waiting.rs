//! Members within the test's own process that wait for tenure.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use hustings::{Group, Joining};

use crate::process;

/// Counts how often it is told to look again.
#[derive(Default)]
struct Bell(AtomicU32);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn who_waits_for_tenure_sleeps_until_something_changes() {
    // Nobody can grant it: the one who votes does not exist.
    let joining = Joining::on_this_host(&process::group("waits"), "alpha");
    let fenced = joining.fenced_by(&["absent"], Duration::from_secs(2), Path::new("nowhere"));
    let mut alpha = Group::join(fenced).await.expect("it joins");
    let mut leadership = alpha.watch();
    let named = leadership.wait_for(|it| it.leader.is_some()).await;
    named.expect("the election names it");

    let bell = Arc::new(Bell::default());
    let waker = bell.clone().into();
    let waits = pin!(alpha.tenure()).poll(&mut Context::from_waker(&waker));
    assert!(matches!(waits, Poll::Pending), "nobody grants tenure");
    // Who never stops asking is made to pause by the runtime, and rung for when others had their turn.
    tokio::task::yield_now().await;
    assert_eq!(
        bell.0.load(Ordering::SeqCst),
        0,
        "nothing has changed since"
    );
}
