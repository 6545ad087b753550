//! The HTTP interface of a draw: `GET /v1/draw` is the [`Account`].

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::account::Account;
use crate::http::{Door, answer, nothing_but};

/// Answers until the program ends.
pub async fn serve(listener: TcpListener, account: watch::Receiver<Account>, door: Door) {
    let routes = Router::new()
        .route("/v1/draw", get(tell))
        .fallback(|uri| nothing_but(uri, "/v1/draw"))
        .with_state(account);
    answer(listener, routes, door).await;
}

async fn tell(State(account): State<watch::Receiver<Account>>) -> Json<Account> {
    Json(account.borrow().clone())
}
