//! Requests are served one at a time, in the order of fences.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::server::{Server, answer_on, layer, path_for, request_text};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_are_served_in_turns_with_rising_fences() {
    for seed in 0..5 {
        let server = Server::start(layer(&path_for(&format!("turns-{seed}")))).await;
        let server = std::sync::Arc::new(server);
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut clients = JoinSet::new();
        for number in 0..60 {
            let fence = number / 6 + u64::from(chance.next_u32() % 6);
            let server = std::sync::Arc::clone(&server);
            clients.spawn(async move { server.put(fence).await.0 });
        }
        let statuses = clients.join_all().await;
        let let_in = statuses.iter().filter(|it| **it == 200).count();
        let refused = statuses.iter().filter(|it| **it == 412).count();
        assert_eq!(let_in + refused, 60, "seed {seed}: {statuses:?}");

        let log = server.log();
        assert_eq!(log.len(), 2 * let_in, "seed {seed}");
        let mut last = 0;
        for pair in log.chunks(2) {
            let fence: u64 = pair[0].strip_prefix("begin ").unwrap().parse().unwrap();
            assert_eq!(pair[1], format!("end {fence}"), "seed {seed}: {log:?}");
            assert!(fence >= last, "seed {seed}: {log:?}");
            last = fence;
        }
    }
}

#[tokio::test]
async fn handler_of_a_disconnected_client_ends_before_the_next_begins() {
    let mut server = Server::start(layer(&path_for("gone"))).await;
    let text = request_text("PUT /gated", &["Hustings-Fence: 5"], "");
    let gone = server.send(&text).await;
    server.begun().await;
    drop(gone);
    let text = request_text("PUT /", &["Hustings-Fence: 6"], "stock");
    let next = server.send(&text).await;
    // After these the server has noticed both the disconnection and the new request.
    for _ in 0..20 {
        assert_eq!(server.ask("GET /", &[], "").await.0, 200);
    }
    assert_eq!(server.log(), ["begin 5"]);
    server.open_gate();
    assert_eq!(answer_on(next).await.0, 200);
    assert_eq!(server.log(), ["begin 5", "end 5", "begin 6", "end 6"]);
}

#[tokio::test]
async fn client_cut_off_within_its_request_blocks_no_other() {
    let server = Server::start(layer(&path_for("cut-off"))).await;
    let text = request_text("PUT /", &["Hustings-Fence: 5"], "stock");
    let (most, rest) = text.split_at(text.len() - 3);
    let mut cut_off = server.send(most).await;
    assert_eq!(server.ask("GET /", &[], "").await.0, 200);
    assert_eq!(server.put(6).await.0, 200);
    cut_off.write_all(rest.as_bytes()).await.unwrap();
    assert_eq!(answer_on(cut_off).await.0, 412);
}

#[tokio::test]
async fn panicking_handler_ends_its_turn() {
    let server = Server::start(layer(&path_for("panics"))).await;
    let panicked = server.ask("PUT /broken/on-purpose", &["Hustings-Fence: 5"], "");
    assert_eq!(panicked.await.0, 0, "as without the layer");
    assert_eq!(server.put(5).await.0, 200);
    assert_eq!(server.put(4).await.0, 412);
}
