//! Strangers that call while a draw is under way.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{State, all_sit};

#[tokio::test]
async fn caller_refused_during_the_draw_is_counted_and_reported() {
    let (table, [_m0, (m1, status), _m2, _m3]) = all_sit().await;
    let mut told = status.subscribe();
    // The others have not begun, so the draw does not end.
    let held = m1.hold(&status, std::future::pending());
    let called = async {
        let is_drawing = told.wait_for(|it| it.state == State::Drawing).await;
        assert_eq!(is_drawing.unwrap().refused, 0);
        let address = &table.ring.members[1].address;
        let mut caller = TcpStream::connect(address).await.unwrap();
        caller.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let is_refused = told.wait_for(|it| it.refused == 1).await;
        let status = is_refused.unwrap();
        assert_eq!(status.state, State::Drawing);
        let why = status.last_refused.as_deref();
        assert!(why.is_some_and(|it| it.starts_with("a frame of 18245 bytes")));
    };
    let called = tokio::time::timeout(Duration::from_secs(30), called);
    tokio::select! {
        _ = held => panic!("it is over"),
        called = called => called.expect("it is counted"),
    }
}
