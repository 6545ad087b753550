//! Access to the HTTP interface and the control socket, and the answers to refused requests.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::{self, Outcome, Program, command, finish, hustings};

/// Sends these lines and returns the status code, head and body of the answer.
pub(crate) fn exchange(http: &str, lines: &[&str]) -> (u16, String, String) {
    let stream = TcpStream::connect(http).expect("the agent listens");
    exchange_over(stream, lines)
}

fn exchange_over(mut stream: impl Read + Write, lines: &[&str]) -> (u16, String, String) {
    let request = format!("{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"));
    stream.write_all(request.as_bytes()).expect("the agent hears");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the agent answers");
    let code = answer.get(9..12).and_then(|code| code.parse().ok());
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a body");
    let code = code.expect("an answer has a code");
    (code, head.to_owned(), body.to_owned())
}

/// Sends these lines and returns the status code and the object in the answer.
pub(crate) fn ask(http: &str, lines: &[&str]) -> (u16, Value) {
    let (code, _, body) = exchange(http, lines);
    let body = serde_json::from_str(&body).unwrap_or_else(|_| panic!("JSON: {body}"));
    (code, body)
}

/// Sends the lines over the agent's Unix socket.
fn steer(socket: &Path, lines: &[&str]) -> (u16, Value) {
    let stream = UnixStream::connect(socket).expect("the agent listens");
    let (code, _, body) = exchange_over(stream, lines);
    let body = serde_json::from_str(&body).unwrap_or_else(|_| panic!("JSON: {body}"));
    (code, body)
}

/// Returns the path of the agent's Unix socket as the agent reports it.
fn socket(http: &str) -> PathBuf {
    let (code, health) = ask(http, &["GET /healthz HTTP/1.1", "Host: localhost"]);
    assert_eq!(code, 200, "{health}");
    health["steering"].as_str().expect("it has one").into()
}

#[test]
fn http_accepts_only_this_host_and_errors_give_the_reason() {
    let group = process::group("door");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
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
            "host `evil.example` is not this host",
        ),
        (
            &[step_down.as_str(), "Host: localhost", allowed][..],
            403,
            "this agent cannot be steered over TCP",
        ),
        (&[get_step_down.as_str(), "Host: localhost"][..], 405, "use POST"),
        (
            &["GET /v1/groups/x/leader HTTP/1.1", "Host: localhost"][..],
            404,
            "no member of group `x`",
        ),
        (&["GET /nowhere HTTP/1.1", "Host: localhost"][..], 404, "nothing at /nowhere"),
        (
            &["GET /healthz HTTP/1.1", "Host: localhost", "Content-Length: 5"][..],
            413,
            "a request with a body",
        ),
    ] {
        let (got, answer) = ask(&http, lines);
        let said = answer["error"].as_str().unwrap_or_default();
        assert_eq!(got, code, "{lines:?}: {said}");
        assert!(said.contains(error), "{lines:?}: {said}");
    }
    let socket = socket(&http);
    for (lines, code, error) in [
        (
            &[step_down.as_str(), "Host: localhost"][..],
            403,
            "the header `Hustings-Request: 1` is missing",
        ),
        (&[for_nothing.as_str(), "Host: localhost", allowed][..], 400, "for=5: not a duration"),
        (
            &["POST /v1/groups/x/step-down HTTP/1.1", "Host: localhost", allowed][..],
            404,
            "no member of group `x`",
        ),
        (
            &[to_another.as_str(), "Host: localhost", allowed][..],
            409,
            "has no voters, and only tenure that voters grant can be transferred to a given member",
        ),
        (&["GET /v1/status HTTP/1.1", "Host: localhost"][..], 404, "nothing at /v1/status"),
    ] {
        let (got, answer) = steer(&socket, lines);
        let said = answer["error"].as_str().unwrap_or_default();
        assert_eq!(got, code, "{lines:?}: {said}");
        assert!(said.contains(error), "{lines:?}: {said}");
    }
    let (code, health) = ask(&http, &["GET /healthz HTTP/1.1", "Host: 127.0.0.1"]);
    assert_eq!((code, &health["healthy"]), (200, &Value::Bool(true)));
    let (code, leader) = ask(&http, &[&leader, "Host: localhost"]);
    assert_eq!((code, &leader["leads"]), (200, &Value::Bool(true)), "it never stepped down");
}

#[test]
fn page_and_metrics_are_only_for_this_host() {
    let group = process::group("page");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
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

/// A directory for the sockets of a test's agents.
fn runtime_directory(group: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("hustings-{group}"));
    let made = fs::DirBuilder::new().mode(0o700).create(&path);
    made.expect("a new directory");
    path
}

/// A leading agent whose socket is in `directory`.
fn leader_in(directory: &Path, group: &str) -> Program {
    let mut program = command(&format!(
        "agent --events --group {group} --name alpha --bind 127.0.0.1:0 --http 127.0.0.1:0"
    ));
    program.env("RUNTIME_DIRECTORY", directory);
    let mut alpha = Program::up(&mut program);
    alpha.until("alpha leads", |line| line["leads"] == true);
    alpha
}

/// Runs `hustings` as a user other than the one that runs the agent.
fn as_nobody(arguments: &str) -> Outcome {
    let mut nobody = Command::new("setpriv");
    nobody.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        env!("CARGO_BIN_EXE_hustings"),
    ]);
    finish(nobody.args(arguments.split_whitespace()))
}

#[test]
fn other_user_of_this_host_may_read_and_may_not_command() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let group = process::group("users");
    let directory = runtime_directory(&group);
    let alpha = leader_in(&directory, &group);
    let http = alpha.http();
    let step_down = format!("step-down --http {http} --group {group} --for 1h");

    let refused = as_nobody(&step_down);
    assert_eq!(refused.code, Some(1), "{}", refused.said);
    let why = "only root and the user who runs the agent may give it commands: try again with sudo";
    assert!(refused.said.contains(why), "{}", refused.said);

    // If file permissions let others in, the agent itself still checks the user.
    let socket = socket(&http);
    fs::set_permissions(&directory, Permissions::from_mode(0o755)).expect("its owner");
    fs::set_permissions(&socket, Permissions::from_mode(0o666)).expect("its owner");
    let refused = as_nobody(&step_down);
    assert_eq!(refused.code, Some(1), "{}", refused.said);
    let why = "this request is from user 65534, and only user 0, who runs this agent, and root may steer it";
    assert!(refused.said.contains(why), "{}", refused.said);

    let looked = as_nobody(&format!("status --http {http}")).text();
    assert!(looked.contains("alpha leads (this member)"), "{looked}");
    let done = hustings(&step_down).text();
    assert!(done.contains("stepped down"), "{done}");
    drop(alpha);
    fs::remove_dir_all(directory).expect("it is removed");
}

#[test]
fn socket_is_private_removed_at_exit_and_replaces_a_stale_one() {
    let group = process::group("sockets");
    let directory = runtime_directory(&group);
    let mut alpha = leader_in(&directory, &group);
    let path = socket(&alpha.http());
    assert_eq!(path.parent(), Some(&*directory));
    let mode = fs::metadata(&path).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(alpha.stop(), Some(0));
    assert!(!path.exists());

    // A directory that others can write to is skipped in favour of the next one.
    fs::set_permissions(&directory, Permissions::from_mode(0o777)).expect("its owner");
    let mut beta = leader_in(&directory, &group);
    let elsewhere = socket(&beta.http());
    assert_ne!(elsewhere.parent(), Some(&*directory));
    beta.kill();
    assert!(elsewhere.exists(), "left over");
    fs::remove_file(elsewhere).expect("as root or its owner");
    fs::remove_dir_all(directory).expect("it is removed");
}

#[test]
fn other_hosts_can_read_metrics_and_status_only() {
    let group = process::group("exporter");
    let mut alpha = process::member(&format!(
        "--group {group} --name alpha --bind 127.0.0.1:0 --http 127.0.0.1:0 --metrics 0.0.0.0:0"
    ));
    alpha.until("alpha leads", |line| line["leads"] == true);
    let address = alpha.metrics();
    let port = address.strip_prefix("0.0.0.0:").expect("as asked for");
    let address = format!("127.0.0.1:{port}");
    let host = "Host: alpha.example.org";
    let (code, _, body) = exchange(&address, &["GET /metrics HTTP/1.1", host]);
    assert_eq!(code, 200);
    let leads = format!("\nhustings_leads{{group=\"{group}\"}} 1\n");
    assert!(body.contains(&leads), "{body}");
    let (code, health) = ask(&address, &["GET /healthz HTTP/1.1", host]);
    assert_eq!((code, health.to_string()), (200, "{\"healthy\":true}".to_owned()));
    let status = hustings(&format!("status --http {address} --format json")).json();
    assert_eq!(status["member"], "alpha");
    for (method, path, code) in [
        ("GET", "/", 404),
        ("GET", "/v1/watch", 404),
        ("POST", &format!("/v1/groups/{group}/step-down")[..], 404),
        ("POST", "/v1/status", 405),
    ] {
        let (got, answer) = ask(&address, &[&format!("{method} {path} HTTP/1.1"), host]);
        assert_eq!(got, code, "{path}: {answer}");
    }
}

/// Opens as many connections as one user may, and sends nothing on them.
#[test]
fn silent_connections_block_no_client_and_watchers_are_bounded() {
    let group = process::group("silent");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let http = alpha.http();
    let connect = |_| TcpStream::connect(&http).expect("the agent listens");
    let _silent: Vec<TcpStream> = (0..400).map(connect).collect();
    hustings(&format!("status --http {http}")).text();

    let mut watchers = Vec::new();
    let refused = loop {
        let mut stream = connect(0);
        let request = "GET /v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("it is open");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("it is answered");
        if &head != b"HTTP/1.1 200" {
            break String::from_utf8_lossy(&head).into_owned();
        }
        watchers.push(stream);
        assert!(watchers.len() < 100, "they are bounded");
    };
    assert_eq!(refused, "HTTP/1.1 503");
    hustings(&format!("status --http {http}")).text();
    let done = hustings(&format!("step-down --http {http} --group {group}")).text();
    assert!(done.contains("stepped down"), "{done}");
    watchers.clear();
    let mut watch = process::start(&format!("watch --http {http}"));
    watch.next_line("there is room again");
}

#[test]
fn follower_refuses_to_step_down_and_names_the_leader() {
    let group = process::group("follower");
    let mut alpha = process::agent(&group, "alpha", "127.0.0.1:0");
    alpha.until("alpha leads", |line| line["leads"] == true);
    let mut beta = process::agent(&group, "beta", "127.0.0.1:0");
    beta.until("beta follows", |line| line["leader"] == "alpha");
    let step_down = |it: &Program| {
        let http = it.http();
        hustings(&format!("step-down --http {http} --group {group} --for 1h"))
    };
    let refused = step_down(&beta);
    assert_eq!(refused.code, Some(1), "{}", refused.printed);
    let why = "does not lead group";
    assert!(refused.said.contains(why), "{}", refused.said);
    let remedy = "`alpha` is the leader, ask the agent there";
    assert!(refused.said.contains(remedy), "{}", refused.said);

    step_down(&alpha).text();
    beta.until("beta leads", |line| line["leads"] == true);
    let said = step_down(&alpha).text(); // for a longer time
    let is_told = said.contains("was already out of elections, for 59 min");
    assert!(is_told && said.contains("now out of elections for 3600s"), "{said}");
    beta.stop();
}
