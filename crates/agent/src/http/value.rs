//! An HTTP interface that serves the present state of one value.

use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Door, answer, nothing_but};

/// Answers `GET path` with the latest `value` until the program ends.
pub async fn serve_value<T>(
    listener: TcpListener,
    path: &'static str,
    value: watch::Receiver<T>,
    door: Door,
) where
    T: Clone + Serialize + Send + Sync + 'static,
{
    let routes = Router::new()
        .route(path, get(tell))
        .fallback(move |uri: Uri| nothing_but(uri, path))
        .with_state(value);
    answer(listener, routes, door).await;
}

async fn tell<T: Clone>(State(value): State<watch::Receiver<T>>) -> Json<T> {
    Json(value.borrow().clone())
}
