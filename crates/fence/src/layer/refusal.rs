//! Responses to refused requests.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};

use crate::Fence;

/// The reason why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(
        "the header Hustings-Fence is missing: send the fence of the tenure under which you write"
    )]
    Missing,
    #[error("the header Hustings-Fence occurs more than once: send one fence")]
    Twice,
    #[error("the header Hustings-Fence is not a number: send a fence in decimal, below 2^64")]
    NotANumber,
    #[error(
        "fence {offered} is below {highest}, which was seen here: this tenure is over: stop \
         writing, and stand again"
    )]
    Below { offered: Fence, highest: Fence },
    #[error("the body is too long: {0} bytes at most")]
    TooLong(usize),
    #[error("the body is incomplete: send it again")]
    Incomplete,
    #[error("the server cannot check fences now, so nothing was written: see the server's log")]
    Broken,
}

impl Refusal {
    /// The guard failed. The log has the error, which names files; the client does not see it.
    pub(super) fn broken(error: &dyn std::fmt::Display) -> Self {
        tracing::error!("fence guard: {error}: requests are refused");
        Self::Broken
    }

    pub(super) fn into_response<R: From<String>>(self) -> Response<R> {
        // These texts need no escaping.
        let mut body = format!("{{\"error\":\"{self}\"");
        if let Self::Below { offered, highest } = self {
            body += &format!(",\"offered\":{offered},\"highest\":{highest}");
        }
        body.push('}');
        let mut response = Response::new(R::from(body));
        *response.status_mut() = self.status();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Missing => StatusCode::PRECONDITION_REQUIRED,
            Self::Twice | Self::NotANumber | Self::Incomplete => StatusCode::BAD_REQUEST,
            Self::Below { .. } => StatusCode::PRECONDITION_FAILED,
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Broken => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
