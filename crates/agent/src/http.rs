//! The HTTP interface. Programs and people read the leadership and its changes, and can make a
//! leader step down.
//!
//! | Request | Answer |
//! |---|---|
//! | `GET /` | a page for people, which updates itself |
//! | `GET /metrics` | the status as metrics in the format of Prometheus |
//! | `GET /healthz` | `{"healthy": true}` while the agent runs, see below |
//! | `GET /v1/status` | [`AgentStatus`] |
//! | `GET /v1/groups/{group}/leader` | [`Leadership`] |
//! | `GET /v1/watch` | server-sent events, each a [`Leadership`], see below |
//! | `GET /v1/groups/{group}/council` | [`CouncilStatus`]: a centre's seats, or a host's own seat |
//! | `GET /v1/watch-council` | server-sent events `seat` and `council`, see below |
//! | `POST /v1/groups/{group}/step-down?for=10s&to=NAME` | `{"group": .., "for": ..}`, see below |
//!
//! The answer to `/healthz` has a field `"steering"`, the path of the [Unix socket](Steering), if
//! there is one.
//!
//! A stream of events begins with the present state of each group. Every change follows. The events
//! of `/v1/watch-council` are `seat`, a [`HostStatus`](crate::HostStatus), and `council`, a
//! [`CentreStatus`](crate::CentreStatus).
//!
//! The answer to `step-down` comes once the member has stepped down and the command under its
//! leadership has ended. Further fields are:
//!
//! - `"was_aside_for"`: the remaining time, if the member was out of elections before.
//! - `"to"` and `"taken"`, only with `to`: the transferee, and true if it holds tenure now.
//! - `"within"`: the time that the transferee had, if it did not take tenure in that time.
//!
//! Errors are `{"error": ..}`. There are three entrances:
//!
//! - TCP on this host ([`Door::ThisHost`]): all requests but the last. Other hosts cannot connect.
//!   The `Host` header must name a loopback address, so a web page in a browser of this host cannot
//!   reach the agent through its own domain name.
//! - TCP for every client ([`Door::Anybody`]): `/metrics`, `/healthz` and `/v1/status`.
//! - A Unix socket ([`Steering`]): the last request, for root and the user that runs the agent.

mod metrics;
mod page;
mod server;
mod steering;
mod watching;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::agent::{AgentStatus, Handle};
use crate::council::CouncilStatus;
use crate::group::GroupStatus;
use crate::leadership::Leadership;
use server::{Bounds, InProgress};
pub use steering::{STEERING_HEADER, STEP_DOWN_FOR, Steering};
use watching::{Events, Streams};

/// Limits of a listener. At most half of its connections may be streams of events.
const BOUNDS: Bounds = Bounds::of(64);
const MOST_STREAMS: usize = 32;

/// The time for which a stream of events stays open, even if other clients want its place.
const STREAM_STAYS: Duration = Duration::from_secs(15);

/// The paths for programs on this host.
const PATHS: &str = "/, /metrics, /healthz, /v1/status, /v1/watch, /v1/watch-council, \
                     /v1/groups/GROUP/leader and /v1/groups/GROUP/council";

/// The clients that a listener answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Programs on this host.
    ThisHost,
    /// Any client. It can read metrics and the status only.
    Anybody,
}

/// Listens at `address`.
///
/// # Errors
/// If the address cannot be used, or if the door is for this host only and the address is not a
/// loopback address.
pub async fn listen(address: SocketAddr, door: Door) -> io::Result<TcpListener> {
    if door == Door::ThisHost && !address.ip().is_loopback() {
        let refusal = "not a loopback address";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, refusal));
    }
    TcpListener::bind(address).await
}

/// Answers requests until the program ends. Clients on this host can ask for the path of the Unix
/// socket, `steering`.
pub async fn serve(listener: TcpListener, handle: Handle, door: Door, steering: Option<PathBuf>) {
    let interface = Interface {
        agent: handle,
        streams: Arc::new(Streams::new(MOST_STREAMS, STREAM_STAYS)),
        steering: steering.map(Into::into),
    };
    answer(listener, routes(interface, door), door).await;
}

/// Answers `GET path` with the latest `value` until the program ends.
pub async fn serve_value<T>(
    listener: TcpListener,
    path: &'static str,
    value: watch::Receiver<T>,
    door: Door,
) where
    T: Clone + Serialize + Send + Sync + 'static,
{
    let latest = async |State(value): State<watch::Receiver<T>>| Json(value.borrow().clone());
    let routes = Router::new()
        .route(path, get(latest))
        .fallback(move |uri: Uri| nothing_but(uri, path))
        .with_state(value);
    answer(listener, routes, door).await;
}

/// Answers requests by `routes`, for the clients that `door` permits.
async fn answer(listener: TcpListener, routes: Router, door: Door) {
    let routes = match door {
        Door::ThisHost => routes.layer(middleware::from_fn(refuse_strangers)),
        Door::Anybody => routes,
    };
    server::serve(listener, BOUNDS, |_| routes.clone()).await;
}

/// The state that handlers share.
#[derive(Clone)]
struct Interface {
    agent: Handle,
    /// The open streams of events.
    streams: Arc<Streams>,
    /// The path of the Unix socket on which the agent accepts steering requests.
    steering: Option<Arc<FilePath>>,
}

fn routes(interface: Interface, door: Door) -> Router {
    let for_all = Router::new()
        .route("/metrics", get(measure))
        .route("/healthz", get(health))
        .route("/v1/status", get(status));
    let routes = match door {
        Door::Anybody => {
            for_all.fallback(|uri| nothing_but(uri, "/metrics, /healthz and /v1/status"))
        }
        Door::ThisHost => for_all
            .merge(page::routes())
            .route("/v1/groups/{group}/leader", get(leader))
            .route("/v1/groups/{group}/step-down", post(refuse_to_step_down))
            .route("/v1/groups/{group}/council", get(council))
            .route("/v1/watch", get(|state, answer| watch(state, answer, watching::leaderships)))
            .route(
                "/v1/watch-council",
                get(|state, answer| watch(state, answer, watching::councils)),
            )
            .fallback(|uri| nothing_but(uri, PATHS)),
    };
    routes.method_not_allowed_fallback(wrong_method).with_state(interface)
}

/// The refusal of a request: status code and reason.
pub(crate) struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(code, error) = self;
        (code, Json(json!({ "error": error }))).into_response()
    }
}

async fn health(State(interface): State<Interface>) -> Result<Json<Value>, Refusal> {
    status_of(&interface.agent).await?;
    let mut health = json!({ "healthy": true });
    if let Some(path) = &interface.steering {
        health["steering"] = json!(path.to_string_lossy());
    }
    Ok(Json(health))
}

async fn status(State(interface): State<Interface>) -> Result<Json<AgentStatus>, Refusal> {
    status_of(&interface.agent).await.map(Json)
}

async fn measure(State(interface): State<Interface>) -> Result<impl IntoResponse, Refusal> {
    let text = metrics::text(status_of(&interface.agent).await?).map_err(|error| {
        let what = format!("the metrics cannot be written: {error}");
        Refusal(StatusCode::INTERNAL_SERVER_ERROR, what)
    })?;
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text))
}

async fn leader(
    State(Interface { agent, .. }): State<Interface>,
    Path(group): Path<String>,
) -> Result<Json<Leadership>, Refusal> {
    let watched = agent.watch(&group).ok_or_else(|| no_such_group(&agent, &group))?;
    let leadership = watched.borrow().clone();
    Ok(Json(leadership))
}

async fn council(
    State(Interface { agent, .. }): State<Interface>,
    Path(group): Path<String>,
) -> Result<Json<CouncilStatus>, Refusal> {
    group_status(&agent, &group).await?.council.map(Json).ok_or_else(|| {
        let what =
            format!("this agent has no part in a council of group `{group}`: council is off");
        Refusal(StatusCode::NOT_FOUND, what)
    })
}

/// Answers with a stream of events, if there is a place for it.
async fn watch(
    State(interface): State<Interface>,
    Extension(in_progress): Extension<InProgress>,
    events: fn(&Handle, InProgress) -> Events,
) -> Result<impl IntoResponse, Refusal> {
    if !interface.streams.hold(&in_progress) {
        let what = format!(
            "{MOST_STREAMS} programs watch this agent, which is the limit, and each began less than {} s ago: try again later, end one of them, or poll /v1/status",
            STREAM_STAYS.as_secs()
        );
        return Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, what));
    }
    Ok(Sse::new(events(&interface.agent, in_progress)).keep_alive(KeepAlive::default()))
}

async fn refuse_to_step_down(State(interface): State<Interface>) -> Refusal {
    steering::not_by_tcp(interface.steering.as_deref())
}

/// Answers that `uri` does not exist, and lists the paths that do.
async fn nothing_but(uri: Uri, there_are: &str) -> Refusal {
    let what = format!("nothing at {}: use one of {there_are}", uri.path());
    Refusal(StatusCode::NOT_FOUND, what)
}

async fn wrong_method(request: Request) -> Refusal {
    let (method, path) = (request.method(), request.uri().path());
    let remedy = if path.ends_with("/step-down") { "POST" } else { "GET" };
    let what = format!("{method} {path} is not possible: use {remedy}");
    Refusal(StatusCode::METHOD_NOT_ALLOWED, what)
}

async fn status_of(agent: &Handle) -> Result<AgentStatus, Refusal> {
    agent.status().await.ok_or_else(gone)
}

async fn group_status(agent: &Handle, group: &str) -> Result<GroupStatus, Refusal> {
    let mut groups = status_of(agent).await?.groups.into_iter();
    let found = groups.find(|it| it.leadership.group == group);
    found.ok_or_else(|| no_such_group(agent, group))
}

fn no_such_group(agent: &Handle, group: &str) -> Refusal {
    let groups = agent.groups().join(", ");
    let what = format!("no member of group `{group}`: this agent is one of {groups}");
    Refusal(StatusCode::NOT_FOUND, what)
}

fn gone() -> Refusal {
    Refusal(StatusCode::SERVICE_UNAVAILABLE, "the agent has ended".to_owned())
}

/// Refuses requests whose `Host` header does not name this host. A web page may have made a foreign
/// name resolve to this host.
async fn refuse_strangers(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let refusal = match host.and_then(|host| host.to_str().ok()) {
        Some(host) if is_this_host(host) => return next.run(request).await,
        Some(host) => Refusal(
            StatusCode::FORBIDDEN,
            format!("host `{host}` is not this host: use localhost or a loopback address"),
        ),
        None => Refusal(StatusCode::BAD_REQUEST, "the header `Host` is missing".to_owned()),
    };
    refusal.into_response()
}

/// True if a `Host` header names this host in a way that no other party can redirect.
fn is_this_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || literal.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_this_host;

    #[test]
    fn only_loopback_names_count_as_this_host() {
        for host in
            ["localhost", "LOCALHOST:7480", "127.0.0.1:7480", "127.1.2.3", "[::1]:80", "[::1]"]
        {
            assert!(is_this_host(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:7480",
            "0.0.0.0",
            "[::]:1",
            "localhost:evil",
        ] {
            assert!(!is_this_host(host), "{host}");
        }
    }
}
