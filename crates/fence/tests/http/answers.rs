//! Admission of requests, and the responses to refused ones.

use std::fs;

use serde_json::{Value, json};

use crate::server::{Server, layer, path_for};

#[tokio::test]
async fn equal_and_higher_fences_are_admitted_and_passed_to_the_handler() {
    let server = Server::start(layer(&path_for("let-in"))).await;
    for fence in [0, 7, 7, 8, u64::MAX] {
        assert_eq!(server.put(fence).await, (200, format!("{fence} wrote stock")));
    }
}

#[tokio::test]
async fn lower_fence_is_refused_with_both_numbers() {
    let server = Server::start(layer(&path_for("lower"))).await;
    assert_eq!(server.put(8).await.0, 200);
    let (status, body) = server.put(7).await;
    assert_eq!(status, 412);
    let error = "fence 7 is below 8, which was seen here: this tenure is over: \
                 stop writing, and stand again";
    let expected = json!({ "error": error, "offered": 7, "highest": 8 });
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    assert_eq!(server.log(), ["begin 8", "end 8"]);
}

#[tokio::test]
async fn missing_repeated_or_invalid_header_is_refused() {
    let server = Server::start(layer(&path_for("headers"))).await;
    for (headers, expected) in [
        (&[][..], 428),
        (&["Hustings-Fence: 1", "hustings-fence: 1"], 400),
        (&["Hustings-Fence:"], 400),
        (&["Hustings-Fence: seven"], 400),
        (&["Hustings-Fence: +7"], 400),
        (&["Hustings-Fence: -7"], 400),
        (&["Hustings-Fence: 0x7"], 400),
        (&["Hustings-Fence: 7.0"], 400),
        (&["Hustings-Fence: 7, 8"], 400),
        (&["Hustings-Fence: \u{667}"], 400),
        (&["Hustings-Fence: 18446744073709551616"], 400),
        (&["HUSTINGS-FENCE:   7  "], 200),
    ] {
        let (status, body) = server.ask("PUT /", headers, "stock").await;
        assert_eq!(status, expected, "{headers:?}: {body}");
        if status != 200 {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert!(body["error"].is_string(), "{body}");
        }
    }
    assert_eq!(server.log(), ["begin 7", "end 7"]);
}

#[tokio::test]
async fn reads_pass_unchecked_by_default() {
    let path = path_for("reads");
    let server = Server::start(layer(&path)).await;
    assert_eq!(server.put(8).await.0, 200);
    for headers in [&[][..], &["Hustings-Fence: 7"], &["Hustings-Fence: x"]] {
        let answer = server.ask("GET /", headers, "").await;
        assert_eq!(answer, (200, "read with None".to_owned()));
    }

    let strict = Server::start(layer(&path).check_reads()).await;
    assert_eq!(strict.ask("GET /", &[], "").await.0, 428);
    let late = strict.ask("GET /", &["Hustings-Fence: 7"], "").await;
    assert_eq!(late.0, 412);
    let answer = strict.ask("GET /", &["Hustings-Fence: 8"], "").await;
    assert_eq!(answer, (200, "read with Some(Fence(8))".to_owned()));
}

#[tokio::test]
async fn too_long_body_is_refused_before_its_fence_counts() {
    let path = path_for("too-long");
    let server = Server::start(layer(&path).limit_body(10)).await;
    let put = async |fence: &str, body: &str| server.ask("PUT /", &[fence], body).await;
    assert_eq!(put("Hustings-Fence: 9", "elevenbytes").await.0, 413);
    let answer = put("Hustings-Fence: 1", "ten bytes!").await;
    assert_eq!(answer, (200, "1 wrote ten bytes!".to_owned()));
}

#[tokio::test]
async fn damaged_guard_admits_no_request_and_hides_its_path() {
    let path = path_for("damaged");
    let server = Server::start(layer(&path)).await;
    fs::write(&path, "").unwrap();
    let (status, body) = server.put(8).await;
    assert_eq!(status, 503);
    assert!(!body.contains(path.to_str().unwrap()), "{body}");
    assert_eq!(server.log(), [""; 0]);
}

#[tokio::test]
async fn servers_with_guards_of_one_file_share_fences() {
    let path = path_for("two-servers");
    let one = Server::start(layer(&path)).await;
    let other = Server::start(layer(&path)).await;
    assert_eq!(one.put(8).await.0, 200);
    assert_eq!(other.put(7).await.0, 412);
    assert_eq!(other.put(9).await.0, 200);
    assert_eq!(one.put(8).await.0, 412);
}
