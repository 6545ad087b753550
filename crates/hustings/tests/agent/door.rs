//! Who gets in by HTTP, and what is said to the rest.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::process::{self, Program};

/// The status code of the answer to these lines, its head and its body.
pub(crate) fn exchange(http: &str, lines: &[&str]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(http).expect("the agent listens");
    let request = format!("{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"));
    stream
        .write_all(request.as_bytes())
        .expect("the agent hears");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("the agent answers");
    let code = answer.get(9..12).and_then(|code| code.parse().ok());
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a body");
    let code = code.expect("an answer has a code");
    (code, head.to_owned(), body.to_owned())
}

/// The status code of the answer to these lines, and the object in it.
pub(crate) fn ask(http: &str, lines: &[&str]) -> (u16, Value) {
    let (code, _, body) = exchange(http, lines);
    let body = serde_json::from_str(&body).unwrap_or_else(|_| panic!("JSON: {body}"));
    (code, body)
}

#[test]
fn only_programs_of_this_host_get_in_and_errors_say_why() {
    let group = process::group("door");
    let mut alpha = Program::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let http = alpha.http();
    let step_down = format!("POST /v1/groups/{group}/step-down?for=1h HTTP/1.1");
    let for_nothing = format!("POST /v1/groups/{group}/step-down?for=5 HTTP/1.1");
    let to_another = format!("POST /v1/groups/{group}/step-down?to=beta HTTP/1.1");
    let get_step_down = format!("GET /v1/groups/{group}/step-down HTTP/1.1");
    let leader = format!("GET /v1/groups/{group}/leader HTTP/1.1");
    let allowed = "Hustings-Request: 1";
    for (lines, code, error) in [
        (
            &["GET /healthz HTTP/1.1", "Host: evil.example"][..],
            403,
            "host `evil.example` is not this one",
        ),
        (
            &[step_down.as_str(), "Host: localhost"][..],
            403,
            "the header `Hustings-Request: 1` is missing",
        ),
        (
            &[for_nothing.as_str(), "Host: localhost", allowed][..],
            400,
            "for=5: not a duration",
        ),
        (
            &[
                "POST /v1/groups/x/step-down HTTP/1.1",
                "Host: localhost",
                allowed,
            ][..],
            404,
            "no member of group `x`",
        ),
        (
            &[to_another.as_str(), "Host: localhost", allowed][..],
            409,
            "has no voters, and only tenure that voters grant can be handed to somebody",
        ),
        (
            &[get_step_down.as_str(), "Host: localhost"][..],
            405,
            "use POST",
        ),
        (
            &["GET /v1/groups/x/leader HTTP/1.1", "Host: localhost"][..],
            404,
            "no member of group `x`",
        ),
        (
            &["GET /nowhere HTTP/1.1", "Host: localhost"][..],
            404,
            "nothing at /nowhere",
        ),
    ] {
        let (got, answer) = ask(&http, lines);
        let said = answer["error"].as_str().unwrap_or_default();
        assert_eq!(got, code, "{lines:?}: {said}");
        assert!(said.contains(error), "{lines:?}: {said}");
    }
    let (code, health) = ask(&http, &["GET /healthz HTTP/1.1", "Host: 127.0.0.1"]);
    assert_eq!((code, &health["healthy"]), (200, &Value::Bool(true)));
    let (code, leader) = ask(&http, &[&leader, "Host: localhost"]);
    assert_eq!(
        (code, &leader["leads"]),
        (200, &Value::Bool(true)),
        "it never stepped down"
    );
}

#[test]
fn the_page_and_the_metrics_are_for_this_host_too() {
    let group = process::group("page");
    let mut alpha = Program::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let http = alpha.http();
    for (path, kind, part) in [
        ("/", "text/html; charset=utf-8", "<template id=\"group\">"),
        ("/page.css", "text/css; charset=utf-8", "progress {"),
        ("/page.js", "text/javascript; charset=utf-8", "EventSource"),
        (
            "/metrics",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            &format!("\nhustings_leads{{group=\"{group}\"}} 1\n"),
        ),
    ] {
        let request = format!("GET {path} HTTP/1.1");
        let (code, head, body) = exchange(&http, &[&request, "Host: localhost"]);
        assert_eq!(code, 200, "{path}");
        assert!(body.contains(part), "{path}: {body}");
        let header = |line: &str| head.lines().any(|it| it == line);
        assert!(header(&format!("content-type: {kind}")), "{path}: {head}");
        let policy = "content-security-policy: default-src 'none'; script-src 'self'; ";
        let is_kept = head.lines().any(|it| it.starts_with(policy));
        assert_eq!(is_kept, path != "/metrics", "{path}: {head}");

        let (code, error) = ask(&http, &[&request, "Host: evil.example"]);
        assert_eq!(code, 403, "{path}: {error}");
    }
}
