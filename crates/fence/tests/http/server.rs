//! A server that logs its requests, and clients that write requests by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::extract::{Path as UriPath, Request, State};
use axum::routing::get;
use axum::{Extension, Router};
use hustings_fence::{Fence, FenceGuard, FenceLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// The guard's file, in an empty directory for this test.
pub(crate) fn path_for(test: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("http-{test}"));
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).unwrap();
    home.join("fence")
}

/// A layer with its own guard.
pub(crate) fn layer(path: &Path) -> FenceLayer {
    FenceLayer::new(FenceGuard::open(path).unwrap())
}

/// The state of the handlers: their log, and the gate at which they wait.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    log: Arc<Mutex<Vec<String>>>,
    begun: mpsc::UnboundedSender<()>,
    gate: Arc<Semaphore>,
}

#[derive(Debug)]
pub(crate) struct Server {
    address: std::net::SocketAddr,
    resource: Resource,
    begun: mpsc::UnboundedReceiver<()>,
}

impl Resource {
    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }
}

impl Server {
    pub(crate) async fn start(layer: FenceLayer) -> Self {
        let (tell, begun) = mpsc::unbounded_channel();
        let resource =
            Resource { log: Arc::default(), begun: tell, gate: Arc::new(Semaphore::new(0)) };
        let router = Router::new()
            .route("/", get(read).put(write))
            .route("/gated", get(read).put(write_through_the_gate))
            .route("/broken/{what}", get(read).put(break_down))
            .layer(layer)
            .with_state(resource.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, resource, begun }
    }

    /// A connection on which `text` was sent.
    pub(crate) async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// The status and the body of the response to a request with these header lines.
    pub(crate) async fn ask(&self, request: &str, headers: &[&str], body: &str) -> (u16, String) {
        answer_on(self.send(&request_text(request, headers, body)).await).await
    }

    pub(crate) async fn put(&self, fence: u64) -> (u16, String) {
        let header = format!("Hustings-Fence: {fence}");
        self.ask("PUT /", &[&header], "stock").await
    }

    /// Waits until a handler has reached the gate.
    pub(crate) async fn begun(&mut self) {
        self.begun.recv().await.unwrap();
    }

    pub(crate) fn open_gate(&self) {
        self.resource.gate.add_permits(1);
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.resource.log.lock().unwrap().clone()
    }
}

pub(crate) fn request_text(request: &str, headers: &[&str], body: &str) -> String {
    let length = body.len();
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    format!(
        "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\
         {headers}\r\n{body}"
    )
}

/// The status and the body; the status is 0 without a response.
pub(crate) async fn answer_on(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return (0, text);
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

async fn read(request: Request) -> String {
    let fence = request.extensions().get::<Fence>();
    format!("read with {fence:?}")
}

async fn write(
    State(resource): State<Resource>,
    Extension(fence): Extension<Fence>,
    body: String,
) -> String {
    resource.note(format!("begin {fence}"));
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    resource.note(format!("end {fence}"));
    format!("{fence} wrote {body}")
}

async fn write_through_the_gate(
    State(resource): State<Resource>,
    Extension(fence): Extension<Fence>,
) {
    resource.note(format!("begin {fence}"));
    resource.begun.send(()).unwrap();
    resource.gate.acquire().await.unwrap().forget();
    resource.note(format!("end {fence}"));
}

async fn break_down(UriPath(what): UriPath<String>) {
    panic!("{what}");
}
