//! A tower layer that admits only requests whose `Hustings-Fence` is not below the highest seen.
//!
//! | The header `Hustings-Fence` | Response |
//! |---|---|
//! | is not below the highest | that of the inner service; [`Fence`] is in the extensions |
//! | is below it | 412, `{"error": .., "offered": 7, "highest": 8}` |
//! | is missing | 428 |
//! | occurs twice, or is not a decimal number of 64 bits | 400 |
//! | any, with a body that is too long | 413 |
//! | any, with a guard that cannot be read or written | 503, and the reason in the log |
//!
//! Errors are `{"error": ..}`. By default `GET`, `HEAD`, `OPTIONS` and `TRACE` pass unchecked.
//! Servers on which these methods write use [`FenceLayer::check_reads`].
//!
//! # Guarantees
//! An admitted request holds the guard's [`Turn`] until the inner service has responded, including
//! everything that the handler awaited. Consider two requests with different fences, through this
//! layer, another layer, another process or [`FenceGuard::write`], with guards of one file:
//! - the lower is refused if the higher was admitted before;
//! - the higher waits for the response to the lower, if that was admitted before.
//!
//! Therefore requests are served one at a time. Put the layer around the routes that write to one
//! resource, not around a whole server. A handler that hangs blocks all others, so give it a time
//! limit of its own.
//!
//! - The handler runs to its end even if the client disconnects. A write that was dropped halfway
//!   might continue in another thread after its turn. So the handler runs in a task of its own.
//! - The body is read before the turn begins; otherwise a client that was cut off in the middle
//!   would block its successor. Hence the limit on its length.
//! - The turn does not cover work that outlives the response: a task that the handler spawned and
//!   did not await, or the rest of a streamed body.
//!
//! ```
//! use axum::{Extension, Router, routing::put};
//! use hustings_fence::{Fence, FenceGuard, FenceLayer};
//! # let home = std::env::temp_dir().join(format!("hustings-layer-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&home)?;
//!
//! async fn set_stock(Extension(fence): Extension<Fence>, stock: String) -> String {
//!     format!("{stock} in store, says the holder of tenure {fence}\n")
//! }
//!
//! let guard = FenceGuard::open(home.join("fence"))?;
//! let router: Router = Router::new()
//!     .route("/stock", put(set_stock))
//!     .layer(FenceLayer::new(guard));
//! # std::fs::remove_dir_all(&home)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod refusal;

use std::error::Error;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tower_layer::Layer;
use tower_service::Service;

use crate::{Fence, FenceGuard, GuardError, Turn};
use refusal::Refusal;

/// The header that carries a fence, as a decimal number.
pub const FENCE_HEADER: &str = "hustings-fence";

/// The default limit on the body's length: 2 MiB, as in axum's extractors.
pub const MOST_BODY_BYTES: usize = 2 << 20;

/// Puts services behind a [`FenceGuard`]; see [the module](self).
#[derive(Debug, Clone)]
pub struct FenceLayer {
    guard: Arc<FenceGuard>,
    /// Requests wait here, one after the other, and not each in a thread of its own.
    queue: Arc<Mutex<()>>,
    /// True if requests with a safe method are checked too.
    checks_reads: bool,
    most_body_bytes: usize,
}

/// A service behind a guard.
#[derive(Debug, Clone)]
pub struct Fenced<S> {
    inner: S,
    layer: FenceLayer,
}

/// The head of the queue, and the turn that follows.
type Admission = (OwnedMutexGuard<()>, Turn);

impl FenceLayer {
    /// A layer with this guard.
    pub fn new(guard: impl Into<Arc<FenceGuard>>) -> Self {
        Self {
            guard: guard.into(),
            queue: Arc::default(),
            checks_reads: false,
            most_body_bytes: MOST_BODY_BYTES,
        }
    }

    /// Checks all requests, regardless of their method.
    #[must_use]
    pub fn check_reads(self) -> Self {
        Self { checks_reads: true, ..self }
    }

    /// Refuses bodies longer than this, instead of [`MOST_BODY_BYTES`].
    #[must_use]
    pub fn limit_body(self, most_body_bytes: usize) -> Self {
        Self { most_body_bytes, ..self }
    }

    /// Waits for a turn. A cancelled wait has no effect: its turn ends at once.
    async fn admit(&self, fence: Fence) -> Result<Admission, Refusal> {
        let place = Arc::clone(&self.queue).lock_owned().await;
        let guard = Arc::clone(&self.guard);
        match tokio::task::spawn_blocking(move || guard.admit(fence)).await {
            Ok(Ok(turn)) => Ok((place, turn)),
            Ok(Err(GuardError::Refused { offered, highest, .. })) => {
                Err(Refusal::Below { offered, highest })
            }
            Ok(Err(error)) => Err(Refusal::broken(&error)),
            Err(error) => Err(Refusal::broken(&error)), // the runtime shuts down
        }
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = Fenced<S>;

    fn layer(&self, inner: S) -> Fenced<S> {
        Fenced { inner, layer: self.clone() }
    }
}

impl<S, B, R> Service<Request<B>> for Fenced<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Body + From<Bytes> + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: From<String> + Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that is ready is consumed; `poll_ready` will ask its copy.
        let copy = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, copy);
        if !self.layer.checks_reads && request.method().is_safe() {
            return Box::pin(inner.call(request));
        }
        let layer = self.layer.clone();
        Box::pin(async move {
            match prepare(&layer, request).await {
                Ok((admission, request)) => serve(inner, admission, request).await,
                Err(refusal) => Ok(refusal.into_response()),
            }
        })
    }
}

/// Reads the whole request, if it is not too long, and waits for its turn.
async fn prepare<B>(
    layer: &FenceLayer,
    request: Request<B>,
) -> Result<(Admission, Request<B>), Refusal>
where
    B: Body + From<Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let fence = fence_of(request.headers())?;
    let (mut parts, body) = request.into_parts();
    let limited = Limited::new(body, layer.most_body_bytes);
    let read = limited.collect().await;
    let body = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => Refusal::TooLong(layer.most_body_bytes),
        None => Refusal::Incomplete,
    })?;
    let admission = layer.admit(fence).await?;
    parts.extensions.insert(fence);
    Ok((admission, Request::from_parts(parts, body.to_bytes().into())))
}

/// Serves a request within its turn, even if no client waits for the response.
async fn serve<S, B>(
    mut inner: S,
    admission: Admission,
    request: Request<B>,
) -> Result<S::Response, S::Error>
where
    S: Service<Request<B>> + Send + 'static,
    S::Future: Send,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
    B: Send + 'static,
{
    let work = tokio::spawn(async move {
        let answer = inner.call(request).await;
        drop(admission);
        answer
    });
    match work.await {
        Ok(answer) => answer,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

fn fence_of(headers: &HeaderMap) -> Result<Fence, Refusal> {
    let mut values = headers.get_all(FENCE_HEADER).iter();
    let value = values.next().ok_or(Refusal::Missing)?;
    if values.next().is_some() {
        return Err(Refusal::Twice);
    }
    let text = value.to_str().unwrap_or_default();
    // Checked separately, because `parse` would accept a sign.
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_decimal => Ok(Fence(number)),
        Ok(_) | Err(_) => Err(Refusal::NotANumber),
    }
}
