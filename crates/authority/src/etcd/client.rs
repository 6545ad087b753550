//! A client for the calls of etcd that the store makes.
//!
//! Purpose     sends one request and returns its answer, or opens a stream of requests and answers
//! Connection  one for each client. It is made at the first call, and again at the first call after
//!             it broke
//! Leader      every request asks the server to refuse it while the server knows no leader
//! Login       the user's name and password are exchanged for a token when the client is made, and
//!             once more when etcd no longer accepts the token

use http::uri::PathAndQuery;
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::messages::{
    AuthenticateRequest, AuthenticateResponse, LeaseGrantRequest, LeaseKeepAliveRequest,
    LeaseRevokeRequest, LeaseTtl, RangeRequest, RangeResponse, TxnRequest, TxnResponse,
    WatchRequest, WatchResponse,
};
use crate::store::StoreError;

/// A request of one of etcd's calls.
pub(super) trait EtcdRequest: Message + Clone + 'static {
    /// The path of the call.
    const PATH: &'static str;
    type Answer: Message + Default + 'static;
}

/// Each call of etcd: its request, its path, and its answer.
macro_rules! calls {
    ($($request:ty, $path:literal, $answer:ty;)*) => {
        $(impl EtcdRequest for $request {
            const PATH: &'static str = concat!("/etcdserverpb.", $path);
            type Answer = $answer;
        })*
    };
}

calls! {
    RangeRequest, "KV/Range", RangeResponse;
    TxnRequest, "KV/Txn", TxnResponse;
    LeaseGrantRequest, "Lease/LeaseGrant", LeaseTtl;
    LeaseRevokeRequest, "Lease/LeaseRevoke", ();
    LeaseKeepAliveRequest, "Lease/LeaseKeepAlive", LeaseTtl;
    WatchRequest, "Watch/Watch", WatchResponse;
    AuthenticateRequest, "Auth/Authenticate", AuthenticateResponse;
}

/// The metadata key with which a client asks a server without a leader to refuse a request.
const HAS_LEADER: &str = "hasleader";
/// The metadata that carries the token of a login.
const TOKEN: &str = "token";

/// The reason why a call has no answer.
#[derive(Debug)]
pub(super) enum CallError {
    /// etcd refused the call, or was not reached.
    Status(Status),
    /// The call could not be made.
    Other(String),
    /// etcd closed the stream, or does not answer as etcd does.
    BrokenOff,
    /// etcd answered, and the store must not do what the member asked.
    Denied(StoreError),
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<StoreError> for CallError {
    fn from(denied: StoreError) -> Self {
        Self::Denied(denied)
    }
}

/// Requests and answers on a stream that both sides leave open.
pub(super) struct CallStream<R: EtcdRequest> {
    requests: mpsc::Sender<R>,
    answers: Streaming<R::Answer>,
}

impl<R: EtcdRequest> CallStream<R> {
    pub(super) async fn send(&mut self, request: R) -> Result<(), CallError> {
        let sent = self.requests.send(request).await;
        sent.map_err(|_| CallError::Other("the stream has ended".to_owned()))
    }

    /// Returns the next answer.
    pub(super) async fn next(&mut self) -> Result<R::Answer, CallError> {
        self.answers.message().await?.ok_or(CallError::BrokenOff)
    }
}

/// A connection to one endpoint, and a login there.
pub(super) struct EtcdClient {
    grpc: Grpc<Channel>,
    /// The name and the password.
    login: Option<(String, String)>,
    token: Option<AsciiMetadataValue>,
}

impl EtcdClient {
    /// Creates a client and logs in, if there is a login. Without a login it sends nothing yet.
    pub(super) async fn connect(
        url: &str,
        tls: Option<&ClientTlsConfig>,
        login: Option<&(String, String)>,
    ) -> Result<Self, CallError> {
        let channel = endpoint(url, tls)?.connect_lazy();
        let mut client = Self { grpc: Grpc::new(channel), login: login.cloned(), token: None };
        client.log_in().await?;
        Ok(client)
    }

    async fn log_in(&mut self) -> Result<(), CallError> {
        let Some((name, password)) = self.login.clone() else {
            return Ok(());
        };
        self.token = None;
        let request = AuthenticateRequest { name, password };
        let token = self.call_once(request).await?.token.parse();
        let token = token.map_err(|error| CallError::Other(format!("invalid token: {error}")))?;
        self.token = Some(token);
        Ok(())
    }

    /// Sends a request and returns its answer.
    pub(super) async fn call<R: EtcdRequest>(
        &mut self,
        request: R,
    ) -> Result<R::Answer, CallError> {
        let mut answer = self.call_once(request.clone()).await;
        if self.must_log_in_again(&answer) {
            self.log_in().await?;
            answer = self.call_once(request).await;
        }
        Ok(answer?)
    }

    /// Opens a stream of requests and answers, and sends the first request.
    pub(super) async fn stream<R: EtcdRequest>(
        &mut self,
        first: R,
    ) -> Result<CallStream<R>, CallError> {
        let mut stream = self.stream_once(first.clone()).await;
        if self.must_log_in_again(&stream) {
            self.log_in().await?;
            stream = self.stream_once(first).await;
        }
        Ok(stream?)
    }

    /// True if the answer requires a new login: tokens expire, and a restarted server may not know
    /// them.
    fn must_log_in_again<T>(&self, answer: &Result<T, Status>) -> bool {
        let refused = matches!(answer, Err(status) if status.code() == Code::Unauthenticated);
        refused && self.login.is_some()
    }

    async fn call_once<R: EtcdRequest>(&mut self, request: R) -> Result<R::Answer, Status> {
        self.ready().await?;
        let (path, request) = (PathAndQuery::from_static(R::PATH), self.request(request));
        let codec = ProstCodec::<R, R::Answer>::default();
        let answer = self.grpc.unary(request, path, codec).await?;
        Ok(answer.into_inner())
    }

    async fn stream_once<R: EtcdRequest>(&mut self, first: R) -> Result<CallStream<R>, Status> {
        self.ready().await?;
        let (requests, receiver) = mpsc::channel(1);
        // The server opens its side only when it has received a request.
        let sent = requests.try_send(first);
        sent.map_err(|_| Status::internal("the stream takes no request"))?;
        let path = PathAndQuery::from_static(R::PATH);
        let request = self.request(ReceiverStream::new(receiver));
        let codec = ProstCodec::<R, R::Answer>::default();
        let answers = self.grpc.streaming(request, path, codec).await?;
        Ok(CallStream { requests, answers: answers.into_inner() })
    }

    async fn ready(&mut self) -> Result<(), Status> {
        let ready = self.grpc.ready().await;
        ready.map_err(|error| Status::unknown(format!("the connection is not ready: {error}")))
    }

    fn request<T>(&self, content: T) -> Request<T> {
        let mut request = Request::new(content);
        let metadata = request.metadata_mut();
        metadata.insert(HAS_LEADER, AsciiMetadataValue::from_static("true"));
        if let Some(token) = &self.token {
            metadata.insert(TOKEN, token.clone());
        }
        request
    }
}

fn endpoint(url: &str, tls: Option<&ClientTlsConfig>) -> Result<Endpoint, CallError> {
    let other = |error| CallError::Other(format!("transport error: {error}"));
    let url = match (url.contains("://"), tls) {
        (true, _) => url.to_owned(),
        (false, None) => format!("http://{url}"),
        (false, Some(_)) => format!("https://{url}"),
    };
    let uri = url.parse().map_err(|error| CallError::Other(format!("invalid uri: {error}")))?;
    let endpoint = Channel::builder(uri);
    match tls {
        Some(_) if url.starts_with("http://") => Err(CallError::Other(
            "a ca is given, but the endpoint is http: write it as https".to_owned(),
        )),
        Some(tls) => endpoint.tls_config(tls.clone()).map_err(other),
        None => Ok(endpoint),
    }
}
