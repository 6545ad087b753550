//! The HTTP interface of a draw: `GET /v1/draw` is the [`Account`].

use std::future::Future;
use std::io;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::account::Account;
use crate::http::{Door, nothing_but, refuse_strangers};

/// Answers until the program ends.
///
/// # Errors
/// If the listener breaks down.
pub fn serve(
    listener: TcpListener,
    account: watch::Receiver<Account>,
    door: Door,
) -> impl Future<Output = io::Result<()>> {
    let router = Router::new()
        .route("/v1/draw", get(tell))
        .fallback(|uri| nothing_but(uri, "/v1/draw"))
        .with_state(account);
    let router = match door {
        Door::ThisHost => router.layer(middleware::from_fn(refuse_strangers)),
        Door::Anybody => router,
    };
    async move { axum::serve(listener, router).await }
}

async fn tell(State(account): State<watch::Receiver<Account>>) -> Json<Account> {
    Json(account.borrow().clone())
}
