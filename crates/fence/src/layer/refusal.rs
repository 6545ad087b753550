//! Responses to refused requests.

use std::fmt;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};

use crate::Fence;

/// The reason why a request is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    Missing,
    Twice,
    NotANumber,
    Below { offered: Fence, highest: Fence },
    TooLong(usize),
    Incomplete,
    Broken,
}

impl Refusal {
    /// The guard failed. The log has the error, which names files; the client does not see it.
    pub(super) fn broken(error: &dyn fmt::Display) -> Self {
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

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(
                "the header Hustings-Fence is missing: send the fence of the tenure under which you write",
            ),
            Self::Twice => {
                f.write_str("the header Hustings-Fence occurs more than once: send one fence")
            }
            Self::NotANumber => f.write_str(
                "the header Hustings-Fence is not a number: send a fence in decimal, below 2^64",
            ),
            Self::Below { offered, highest } => write!(
                f,
                "fence {offered} is below {highest}, which was seen here: this tenure is over: \
                 stop writing, and stand again"
            ),
            Self::TooLong(most) => {
                write!(f, "the body is too long: {most} bytes at most")
            }
            Self::Incomplete => f.write_str("the body is incomplete: send it again"),
            Self::Broken => f.write_str(
                "the server cannot check fences now, so nothing was written: see the server's log",
            ),
        }
    }
}
