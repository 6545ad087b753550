//! A proxy in front of a server, whose connections can be cut, frozen and slowed down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Open,
    /// Bytes on connections below this number are held back until the proxy is open again.
    Frozen {
        below: u64,
    },
    /// Answers are delayed by this time; requests are not.
    SlowAnswers(Duration),
    /// Connections end, and no new one is possible.
    Cut,
}

pub(crate) struct Proxy {
    address: SocketAddr,
    /// The number of connections up to now.
    count: Arc<AtomicU64>,
    flow: watch::Sender<Flow>,
    _connections: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (flow, state) = watch::channel(Flow::Open);
        let mut connections = JoinSet::new();
        let count = Arc::new(AtomicU64::new(0));
        connections.spawn(accept(listener, server, state, Arc::clone(&count)));
        Self { address, count, flow, _connections: connections }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn freeze(&self) {
        self.flow.send_replace(Flow::Frozen { below: u64::MAX });
    }

    /// Freezes the existing connections. New ones work.
    pub(crate) fn freeze_old(&self) {
        let below = self.count.load(Ordering::Relaxed);
        self.flow.send_replace(Flow::Frozen { below });
    }

    pub(crate) fn slow_answers(&self, by: Duration) {
        self.flow.send_replace(Flow::SlowAnswers(by));
    }

    pub(crate) fn cut(&self) {
        self.flow.send_replace(Flow::Cut);
    }

    pub(crate) fn open(&self) {
        self.flow.send_replace(Flow::Open);
    }
}

async fn accept(
    listener: TcpListener,
    server: u16,
    flow: watch::Receiver<Flow>,
    count: Arc<AtomicU64>,
) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if *flow.borrow() == Flow::Cut {
            continue;
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else {
            continue;
        };
        let number = count.fetch_add(1, Ordering::Relaxed);
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        connections.spawn(carry(from_client, to_server, flow.clone(), number, false));
        connections.spawn(carry(from_server, to_client, flow.clone(), number, true));
    }
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut flow: watch::Receiver<Flow>,
    number: u64,
    is_answer: bool,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = flow.wait_for(|flow| *flow == Flow::Cut) => return,
        };
        let Ok(bytes @ 1..) = read else { return };
        let is_frozen = |flow: &Flow| matches!(flow, Flow::Frozen { below } if number < *below);
        let flowing = flow.wait_for(|flow| !is_frozen(flow)).await;
        let flowing = flowing.map(|it| *it);
        match flowing {
            Ok(Flow::SlowAnswers(by)) if is_answer => tokio::time::sleep(by).await,
            Ok(Flow::Open | Flow::SlowAnswers(_) | Flow::Frozen { .. }) => {}
            Ok(Flow::Cut) | Err(_) => return,
        }
        if to.write_all(&buffer[..bytes]).await.is_err() {
            return;
        }
    }
}
