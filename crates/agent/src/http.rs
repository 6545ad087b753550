//! The HTTP interface: who leads, now and whenever it changes, for programs and for people, and to make a
//! leader step down.
//!
//! | Request | Answer |
//! |---|---|
//! | `GET /` | a page for people, which keeps itself up to date |
//! | `GET /metrics` | the status as metrics, as Prometheus reads them |
//! | `GET /healthz` | `{"healthy": true}` while the agent runs |
//! | `GET /v1/status` | [`AgentStatus`](crate::AgentStatus) |
//! | `GET /v1/groups/{group}/leader` | [`Leadership`] |
//! | `GET /v1/watch` | server-sent events, each a [`Leadership`]: the present one of each group, then every change |
//! | `GET /v1/groups/{group}/council` | [`CouncilStatus`]: who is seated, of a centre; whether this member is, of a host |
//! | `GET /v1/watch-council` | server-sent events: `seat`, a [`HostStatus`](crate::HostStatus), or `council`, a [`CentreStatus`](crate::CentreStatus); now, then every change |
//! | `POST /v1/groups/{group}/step-down?for=10s&to=NAME` | `{"group": .., "for": ..}` once it has stepped down, and what runs under its leadership has ended; with `to` also `"to": .., "taken": ..`, whether that member has its tenure |
//!
//! Errors are `{"error": ..}`. Nobody beyond this host gets in, and no web page that a browser of this
//! host shows: not by a name of its own that leads here (the host must be a loopback's), nor by a form
//! (to steer takes a header that forms cannot set).

mod metrics;
mod page;
mod watching;

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration as StdDuration;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hustings_protocol::Duration;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::agent::{HandedOver, Handle, NotHandedOver};
use crate::council::CouncilStatus;
use crate::leadership::Leadership;

/// What a request that steers must carry: `Hustings-Request: 1`.
pub const STEERING_HEADER: &str = "hustings-request";

/// How long a leader that steps down stays out of elections, unless told.
pub const STEP_DOWN_FOR: Duration = Duration::from_secs(10);

/// The longest that it may stay out: a day.
const LONGEST_STEP_DOWN: Duration = Duration::from_secs(24 * 3600);

/// Whom the interface answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Programs of this host.
    ThisHost,
    /// Anybody.
    Anybody,
}

/// Listens at `address`.
///
/// # Errors
/// If the address cannot be had, or is not of this host alone and the door is for this host only.
pub async fn listen(address: SocketAddr, door: Door) -> io::Result<TcpListener> {
    if door == Door::ThisHost && !address.ip().is_loopback() {
        let refusal = "not an address of this host alone";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, refusal));
    }
    TcpListener::bind(address).await
}

/// Answers until the program ends.
///
/// # Errors
/// If the listener breaks down.
pub fn serve(
    listener: TcpListener,
    handle: Handle,
    door: Door,
) -> impl Future<Output = io::Result<()>> {
    let router = router(handle, door);
    async move { axum::serve(listener, router).await }
}

fn router(handle: Handle, door: Door) -> Router {
    let router = Router::new()
        .merge(page::routes())
        .route("/metrics", get(measure))
        .route("/healthz", get(health))
        .route("/v1/status", get(status))
        .route("/v1/groups/{group}/leader", get(leader))
        .route("/v1/groups/{group}/step-down", post(step_down))
        .route("/v1/groups/{group}/council", get(council))
        .route("/v1/watch", get(watch))
        .route("/v1/watch-council", get(watch_council))
        .fallback(nothing_there)
        .method_not_allowed_fallback(wrong_method)
        .with_state(handle);
    match door {
        Door::ThisHost => router.layer(middleware::from_fn(refuse_strangers)),
        Door::Anybody => router,
    }
}

/// Why a request is not answered as asked.
pub(crate) struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(code, error) = self;
        (code, Json(json!({ "error": error }))).into_response()
    }
}

async fn health(State(agent): State<Handle>) -> Result<Json<Value>, Refusal> {
    agent.status().await.ok_or_else(gone)?;
    Ok(Json(json!({ "healthy": true })))
}

async fn status(State(agent): State<Handle>) -> Result<Response, Refusal> {
    let status = agent.status().await.ok_or_else(gone)?;
    Ok(Json(status).into_response())
}

async fn measure(State(agent): State<Handle>) -> Result<Response, Refusal> {
    let status = agent.status().await.ok_or_else(gone)?;
    let text = metrics::text(status).map_err(|error| {
        let what = format!("the metrics cannot be written: {error}");
        Refusal(StatusCode::INTERNAL_SERVER_ERROR, what)
    })?;
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
}

async fn leader(
    State(agent): State<Handle>,
    Path(group): Path<String>,
) -> Result<Json<Leadership>, Refusal> {
    let watched = agent
        .watch(&group)
        .ok_or_else(|| no_such_group(&agent, &group))?;
    let leadership = watched.borrow().clone();
    Ok(Json(leadership))
}

async fn watch(State(agent): State<Handle>) -> impl IntoResponse {
    Sse::new(watching::leaderships(&agent)).keep_alive(KeepAlive::default())
}

async fn council(
    State(agent): State<Handle>,
    Path(group): Path<String>,
) -> Result<Json<CouncilStatus>, Refusal> {
    let status = agent.status().await.ok_or_else(gone)?;
    let mut groups = status.groups.into_iter();
    let found = groups.find(|it| it.leadership.group == group);
    let found = found.ok_or_else(|| no_such_group(&agent, &group))?;
    found.council.map(Json).ok_or_else(|| {
        let what = format!("no part in a council of group `{group}`: council is off");
        Refusal(StatusCode::NOT_FOUND, what)
    })
}

async fn watch_council(State(agent): State<Handle>) -> impl IntoResponse {
    Sse::new(watching::councils(&agent)).keep_alive(KeepAlive::default())
}

async fn step_down(
    State(agent): State<Handle>,
    Path(group): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<Value>, Refusal> {
    if headers.get(STEERING_HEADER).is_none_or(|it| it != "1") {
        let what = "the header `Hustings-Request: 1` is missing: it keeps web pages from steering this agent";
        return Err(Refusal(StatusCode::FORBIDDEN, what.to_owned()));
    }
    let wish = Wish::parse(uri.query()).map_err(|what| Refusal(StatusCode::BAD_REQUEST, what))?;
    let (span, time) = (wish.span, StdDuration::from_nanos(wish.span.0));
    let mut answer = json!({ "group": group, "for": span.to_string() });
    match wish.heir {
        Some(heir) => {
            let handed = agent.hand_over(&group, time, &heir).await;
            let handed = handed.map_err(|why| not_handed_over(&agent, &group, &why))?;
            answer["to"] = Value::String(heir);
            answer["taken"] = Value::Bool(handed == HandedOver::Taken);
            if let HandedOver::Missed {
                within: Some(within),
            } = handed
            {
                answer["within"] = Value::String(within.to_string());
            }
        }
        None => {
            let stepped_down = agent.step_down(&group, time).await;
            stepped_down.map_err(|_| no_such_group(&agent, &group))?;
        }
    }
    Ok(Json(answer))
}

fn not_handed_over(agent: &Handle, group: &str, why: &NotHandedOver) -> Refusal {
    let code = match why {
        NotHandedOver::NoSuchGroup(_) => return no_such_group(agent, group),
        NotHandedOver::Ended => return gone(),
        NotHandedOver::Unknown { .. } => StatusCode::NOT_FOUND,
        NotHandedOver::Itself { .. } => StatusCode::BAD_REQUEST,
        NotHandedOver::NoVoters { .. } | NotHandedOver::NoTenure { .. } => StatusCode::CONFLICT,
    };
    Refusal(code, why.to_string())
}

/// For how long to step down, and for whom.
struct Wish {
    span: Duration,
    heir: Option<String>,
}

impl Wish {
    /// What `for=10s&to=NAME` says; each may be left out.
    fn parse(query: Option<&str>) -> Result<Self, String> {
        let (mut span, mut heir) = (None, None);
        for part in query
            .unwrap_or_default()
            .split('&')
            .filter(|it| !it.is_empty())
        {
            match part.split_once('=') {
                Some(("for", text)) if span.is_none() => span = Some(step_down_for(text)?),
                Some(("to", name)) if heir.is_none() && !name.is_empty() => {
                    heir = Some(name.to_owned());
                }
                _ => {
                    return Err(format!(
                        "query `{part}`: for=DURATION and to=NAME are known, once each, as in for=10s&to=beta"
                    ));
                }
            }
        }
        let span = span.unwrap_or(STEP_DOWN_FOR);
        Ok(Self { span, heir })
    }
}

fn step_down_for(span: &str) -> Result<Duration, String> {
    let span =
        crate::config::values::some_time(span).map_err(|what| format!("for={span}: {what}"))?;
    match span > LONGEST_STEP_DOWN {
        true => Err(format!("for={span} is too long: choose 24h or less")),
        false => Ok(span),
    }
}

async fn nothing_there(uri: Uri) -> Refusal {
    nothing_but(
        uri,
        "/, /metrics, /healthz, /v1/status, /v1/watch, /v1/watch-council, /v1/groups/GROUP/leader, /v1/groups/GROUP/council and /v1/groups/GROUP/step-down",
    )
    .await
}

/// There is nothing at `uri`, only elsewhere.
pub(crate) async fn nothing_but(uri: Uri, there_are: &str) -> Refusal {
    let what = format!("nothing at {}: there are {there_are}", uri.path());
    Refusal(StatusCode::NOT_FOUND, what)
}

async fn wrong_method(request: Request) -> Refusal {
    let (method, path) = (request.method(), request.uri().path());
    let remedy = match path.ends_with("/step-down") {
        true => "POST",
        false => "GET",
    };
    let what = format!("{method} {path} is not possible: use {remedy}");
    Refusal(StatusCode::METHOD_NOT_ALLOWED, what)
}

fn no_such_group(agent: &Handle, group: &str) -> Refusal {
    let groups = agent.groups().join(", ");
    let what = format!("no member of group `{group}`: this agent is one of {groups}");
    Refusal(StatusCode::NOT_FOUND, what)
}

fn gone() -> Refusal {
    Refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "the agent has ended".to_owned(),
    )
}

/// A name that leads to this host need not be its own: a web page may have made it so.
pub(crate) async fn refuse_strangers(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    match host.and_then(|host| host.to_str().ok()) {
        Some(host) if is_this_host(host) => next.run(request).await,
        Some(host) => {
            let what =
                format!("host `{host}` is not this one: ask at localhost or a loopback address");
            Refusal(StatusCode::FORBIDDEN, what).into_response()
        }
        None => {
            let what = "the header `Host` is missing".to_owned();
            Refusal(StatusCode::BAD_REQUEST, what).into_response()
        }
    }
}

/// Whether a `Host` header names this host by what nobody else can give a meaning to.
fn is_this_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || literal
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{Wish, is_this_host};
    use hustings_protocol::Duration;

    #[test]
    fn only_loopback_names_are_this_host() {
        for host in [
            "localhost",
            "LOCALHOST:7480",
            "127.0.0.1:7480",
            "127.1.2.3",
            "[::1]:80",
            "[::1]",
        ] {
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

    #[test]
    fn a_step_down_lasts_as_long_as_asked() {
        let span = |query| Wish::parse(query).map(|wish| wish.span);
        assert_eq!(span(None), Ok(Duration::from_secs(10)));
        assert_eq!(span(Some("for=250ms")), Ok(Duration::from_millis(250)));
        for query in [
            "for=",
            "for=5",
            "for=0s",
            "for=25h",
            "four=10s",
            "for=1s&for=2s",
        ] {
            assert!(Wish::parse(Some(query)).is_err(), "{query}");
        }
    }
}
