//! Leadership, and councils, as streams of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::sse::Event;
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::server::InProgress;
use crate::agent::Handle;

/// Who leads each group, and from then on every change. Ends when the agent does.
pub(super) fn leaderships(agent: &Handle, held: Held) -> Events {
    let (told, changes) = mpsc::channel(16);
    let groups = agent.groups();
    for watched in groups.iter().filter_map(|group| agent.watch(group)) {
        tokio::spawn(tell("leadership", watched, told.clone()));
    }
    Events {
        changes,
        _held: held,
    }
}

/// Who holds a seat, as a centre knows it, or whether this member does; and from then on every change.
pub(super) fn councils(agent: &Handle, held: Held) -> Events {
    let (told, changes) = mpsc::channel(16);
    for group in agent.groups() {
        if let Some(watched) = agent.watch_seat(&group) {
            tokio::spawn(tell("seat", watched, told.clone()));
        }
        if let Some(watched) = agent.watch_council(&group) {
            tokio::spawn(tell("council", watched, told.clone()));
        }
    }
    Events {
        changes,
        _held: held,
    }
}

/// What is told: its name, and the object.
type Told = (&'static str, String);

/// Tells of one group until nobody listens or nothing can change any more.
async fn tell<T: Serialize>(
    name: &'static str,
    mut watched: watch::Receiver<T>,
    told: mpsc::Sender<Told>,
) {
    loop {
        // Plain data: nothing in it that JSON cannot say.
        let text = serde_json::to_string(&*watched.borrow_and_update()).unwrap_or_default();
        if told.send((name, text)).await.is_err() {
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

/// See [`leaderships`] and [`councils`].
pub(super) struct Events {
    changes: mpsc::Receiver<Told>,
    _held: Held,
}

/// What a stream holds while it lasts: one of the streams that there may be, and its connection, which stays busy.
pub(super) struct Held {
    _permit: OwnedSemaphorePermit,
    _in_progress: InProgress,
}

impl Held {
    pub(super) fn new(permit: OwnedSemaphorePermit, in_progress: InProgress) -> Self {
        Self {
            _permit: permit,
            _in_progress: in_progress,
        }
    }
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.changes.poll_recv(context);
        next.map(|told| {
            let (name, text) = told?;
            Some(Ok(Event::default().event(name).data(text)))
        })
    }
}
