//! Leadership as a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::sse::Event;
use futures_core::Stream;
use tokio::sync::{mpsc, watch};

use crate::agent::Handle;
use crate::leadership::Leadership;

/// Who leads each group, and from then on every change. Ends when the agent does.
pub(super) fn events(agent: &Handle) -> Events {
    let (told, changes) = mpsc::channel(16);
    let groups = agent.groups();
    for watched in groups.iter().filter_map(|group| agent.watch(group)) {
        tokio::spawn(tell(watched, told.clone()));
    }
    Events { changes }
}

/// Tells of one group until nobody listens or nothing can change any more.
async fn tell(mut watched: watch::Receiver<Leadership>, told: mpsc::Sender<Leadership>) {
    loop {
        let leadership = watched.borrow_and_update().clone();
        if told.send(leadership).await.is_err() {
            return;
        }
        let changed = tokio::select! {
            changed = watched.changed() => changed.is_ok(),
            () = told.closed() => false,
        };
        if !changed {
            return;
        }
    }
}

/// See [`events`].
pub(super) struct Events {
    changes: mpsc::Receiver<Leadership>,
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.changes.poll_recv(context);
        next.map(|leadership| {
            // Plain data: nothing in it that JSON cannot say.
            let text = serde_json::to_string(&leadership?).unwrap_or_default();
            Some(Ok(Event::default().event("leadership").data(text)))
        })
    }
}
