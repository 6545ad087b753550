//! Steering: requests that change what an agent does, on a Unix socket.
//!
//! The kernel reports the user at the other end. Only root and the user that runs the agent may
//! steer it; other users receive an error.
//!
//! The socket is a file that only its owner can open, in a directory that no other user can write
//! to. This also protects an agent that runs as `nobody`: a user without a number in the agent's
//! user namespace appears as `nobody` too, but cannot open the file.
//!
//! The agent reports the path of the socket at `GET /healthz`, so commands on the same host find
//! it. The name consists of the address of the HTTP interface and the number of its network
//! namespace. Only one process has that address at a time. No other running agent has the same
//! name, so an existing file of that name is left over.
//!
//! A killed agent leaves its file behind. The next agent that the same user starts removes it,
//! whatever its name.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration as StdDuration;

use axum::extract::{Path as InPath, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use axum::{Json, Router};
use hustings_protocol::Duration;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};

use super::server::{self, Bounds};
use super::{Refusal, gone, group_status, no_such_group, nothing_but, wrong_method};
use crate::agent::{Handle, TransferError, TransferOutcome};
use crate::config::values::some_time;
use crate::group::health::in_words;

/// The header that a steering request must carry: `Hustings-Request: 1`. The socket itself keeps
/// web pages out, but a proxy could forward their requests to it.
pub const STEERING_HEADER: &str = "hustings-request";

/// The default time for which a leader that steps down stays out of elections.
pub const STEP_DOWN_FOR: Duration = Duration::from_secs(10);

/// The longest time for which a leader can stay out: a day.
const LONGEST_STEP_DOWN: Duration = Duration::from_secs(24 * 3600);

/// The age in seconds from which a socket without a listening process counts as abandoned.
const SETTLED_SECS: i64 = 10;

/// The limit of connections. Each may wait until a command has ended.
const BOUNDS: Bounds = Bounds::of(16);

/// The Unix socket of an agent. Dropping it removes its file.
#[derive(Debug)]
pub struct Steering {
    listener: UnixListener,
    file: SocketFile,
}

impl Steering {
    /// Opens the socket of the agent whose HTTP interface is at `http`. Uses the first suitable
    /// directory of:
    ///
    /// - `$RUNTIME_DIRECTORY`, which systemd sets
    /// - `$XDG_RUNTIME_DIR/hustings`
    /// - `/run/hustings`
    /// - `hustings-UID` in the directory for temporary files
    ///
    /// # Errors
    /// If no directory is suitable. Gives the reason for each.
    pub fn open(http: SocketAddr) -> io::Result<Self> {
        let mut refusals = Vec::new();
        for directory in directories() {
            match Self::open_in(&directory, http) {
                Ok(steering) => return Ok(steering),
                Err(error) => refusals.push(format!("{}: {error}", directory.display())),
            }
        }
        Err(io::Error::other(refusals.join("; ")))
    }

    fn open_in(directory: &Path, http: SocketAddr) -> io::Result<Self> {
        prepare(directory)?;
        let path = directory.join(file_name(http, network_namespace()));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&path)?;
        let file = SocketFile::of(path)?;
        fs::set_permissions(&file.path, Permissions::from_mode(0o600))?;
        remove_abandoned(directory, &file.path);
        Ok(Self { listener, file })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Answers requests until the program ends.
    pub async fn serve(self, agent: Handle) {
        let Self { listener, file: _file } = self;
        let owner = geteuid().as_raw();
        let allowed = Router::new()
            .route("/v1/groups/{group}/step-down", post(step_down))
            .fallback(|uri| nothing_but(uri, "POST /v1/groups/GROUP/step-down"))
            .method_not_allowed_fallback(wrong_method)
            .with_state(agent);
        let routes = |stream: &UnixStream| match stream.peer_cred().map(|it| it.uid()) {
            Ok(user) if may_steer(user, owner) => allowed.clone(),
            Ok(user) => refusing(format!(
                "this request is from user {user}, and only user {owner}, who runs this agent, and root may steer it: try again with sudo"
            )),
            Err(error) => {
                refusing(format!("cannot find out which user sent this request: {error}"))
            }
        };
        server::serve(listener, BOUNDS, routes).await;
    }
}

/// Returns true if `user` may steer an agent that runs as `owner`.
fn may_steer(user: u32, owner: u32) -> bool {
    user == 0 || user == owner
}

/// Returns routes that refuse every request.
fn refusing(why: String) -> Router {
    Router::new().fallback(async move || Refusal(StatusCode::FORBIDDEN, why))
}

/// Refuses to steer over TCP, where the agent cannot know which user sends the request.
pub(super) fn not_by_tcp(socket: Option<&Path>) -> Refusal {
    let remedy = match socket {
        Some(path) => format!(
            "use `hustings step-down` on its host, or the Unix socket {}, as root or as the user who runs the agent",
            path.display()
        ),
        None => "its Unix socket could not be created, see its log for the reason".to_owned(),
    };
    let what = format!(
        "this agent cannot be steered over TCP, because any user could send the request: {remedy}"
    );
    Refusal(StatusCode::FORBIDDEN, what)
}

/// Returns the directories in which the socket may be, the best first.
fn directories() -> Vec<PathBuf> {
    let user = geteuid().as_raw();
    let from_environment = |name: &str| env::var_os(name).filter(|it| !it.is_empty());
    // systemd separates several directories with colons.
    let of_service = from_environment("RUNTIME_DIRECTORY");
    let of_service = of_service.and_then(|it| env::split_paths(&it).next());
    // A process that changed its user may still have the variable of the former user.
    let is_own = |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.uid() == user);
    let of_session = from_environment("XDG_RUNTIME_DIR").map(PathBuf::from);
    let of_session = of_session.filter(is_own).map(|it| it.join("hustings"));
    let of_host = PathBuf::from("/run/hustings");
    let temporary = env::temp_dir().join(format!("hustings-{user}"));
    let all = [of_service, of_session, Some(of_host), Some(temporary)];
    all.into_iter().flatten().collect()
}

/// Creates a directory if it is missing, and checks that only its user can write to it.
fn prepare(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(directory)?;
    let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
    if !is_own || found.mode() & 0o022 != 0 {
        let what = "not a directory that only the user who runs this agent can write to";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(())
}

/// Returns the name of the socket file of an agent whose HTTP interface is at `http` in the given
/// network namespace.
fn file_name(http: SocketAddr, namespace: u64) -> String {
    format!("{}-{}-{namespace}.sock", http.ip(), http.port())
}

/// Returns true if `name` is a name that [`file_name`] makes.
fn is_file_name(name: &str) -> bool {
    let parse = || {
        let (http, namespace) = name.strip_suffix(".sock")?.rsplit_once('-')?;
        let (ip, port) = http.rsplit_once('-')?;
        let http = SocketAddr::new(ip.parse().ok()?, port.parse().ok()?);
        Some(file_name(http, namespace.parse().ok()?))
    };
    parse().is_some_and(|it| it == name)
}

/// Removes the socket files of killed agents. Agents listen at ports that differ from start to
/// start, so most names are never used again. Leaves every file that is not a socket of
/// this user, that has another kind of name, or at which a process listens.
///
/// A socket refuses connections between `bind` and `listen` too. Sockets that are not at least
/// [`SETTLED_SECS`] older than `new`, the socket of this agent, therefore stay.
fn remove_abandoned(directory: &Path, new: &Path) {
    let (Ok(entries), Ok(new)) = (fs::read_dir(directory), fs::symlink_metadata(new)) else {
        return; // the files do no harm, and the next start tries again
    };
    let is_old = |it: fs::Metadata| {
        it.file_type().is_socket()
            && it.uid() == new.uid()
            && new.mtime() - it.mtime() >= SETTLED_SECS
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_named_so = entry.file_name().to_str().is_some_and(is_file_name);
        let is_old = is_named_so && fs::symlink_metadata(&path).is_ok_and(is_old);
        if is_old && refuses_connections(&path) {
            // The call fails if another agent has removed the file in the meantime.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns true if a connection to the socket at `path` is refused. Does not wait for an agent that
/// is too busy to accept.
fn refuses_connections(path: &Path) -> bool {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let connected = socket.and_then(|it| connect(it, &SocketAddrUnix::new(path)?));
    connected == Err(Errno::CONNREFUSED)
}

/// Returns the number of this process's network namespace, or 0 if it is not known.
fn network_namespace() -> u64 {
    fs::metadata("/proc/self/ns/net").map_or(0, |it| it.ino())
}

/// The file of a socket. Dropping it removes the file, unless another file has taken its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    fn of(path: PathBuf) -> io::Result<Self> {
        let inode = inode(&path)?;
        Ok(Self { path, inode })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|it| it == self.inode) {
            // The next start removes a file that remains.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

async fn step_down(
    State(agent): State<Handle>,
    InPath(group): InPath<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<Value>, Refusal> {
    if headers.get(STEERING_HEADER).is_none_or(|it| it != "1") {
        let what = "the header `Hustings-Request: 1` is missing: it keeps web pages from steering this agent";
        return Err(Refusal(StatusCode::FORBIDDEN, what.to_owned()));
    }
    let (span, transferee) =
        parse_query(uri.query()).map_err(|what| Refusal(StatusCode::BAD_REQUEST, what))?;
    let time = StdDuration::from_nanos(span.0);
    let mut answer = json!({ "group": group, "for": span.to_string() });
    match transferee {
        Some(transferee) => {
            let handed = agent.transfer(&group, time, &transferee).await;
            let handed = handed.map_err(|why| not_handed_over(&agent, &group, &why))?;
            answer["to"] = Value::String(transferee);
            answer["taken"] = Value::Bool(handed == TransferOutcome::Taken);
            if let TransferOutcome::Missed { within: Some(within) } = handed {
                answer["within"] = Value::String(within.to_string());
            }
        }
        None => {
            if let Some(left) = refuse_followers(&agent, &group).await? {
                answer["was_aside_for"] = Value::String(in_words(left));
            }
            let stepped_down = agent.step_down(&group, time).await;
            stepped_down.map_err(|_| no_such_group(&agent, &group))?;
        }
    }
    Ok(Json(answer))
}

/// Refuses a step-down of a member that follows, and names the leader. A member that is already out
/// of elections may stay out for longer; then returns its remaining time.
async fn refuse_followers(agent: &Handle, group: &str) -> Result<Option<Duration>, Refusal> {
    let status = group_status(agent, group).await?;
    let leadership = &status.leadership;
    let leader = leadership.leader.as_ref().map(|it| it.name.as_str());
    let is_leader = leadership.leads || leader == Some(leadership.member.as_str());
    if is_leader {
        return Ok(None);
    }
    if let Some(aside) = status.aside {
        return Ok(Some(aside.remaining));
    }
    let remedy = match leader {
        Some(leader) => format!("`{leader}` is the leader, ask the agent there"),
        None if !leadership.elects => "this group elects no leader".to_owned(),
        None => "no leader is known".to_owned(),
    };
    let member = &leadership.member;
    let what = format!(
        "this member, `{member}`, does not lead group `{group}` and has nothing to give up: {remedy}"
    );
    Err(Refusal(StatusCode::CONFLICT, what))
}

fn not_handed_over(agent: &Handle, group: &str, why: &TransferError) -> Refusal {
    let code = match why {
        TransferError::NoSuchGroup(_) => return no_such_group(agent, group),
        TransferError::Ended => return gone(),
        TransferError::Unknown { .. } => StatusCode::NOT_FOUND,
        TransferError::Itself { .. } => StatusCode::BAD_REQUEST,
        // Mainly groups without voters and members without tenure.
        _ => StatusCode::CONFLICT,
    };
    Refusal(code, why.to_string())
}

/// Parses `for=10s&to=NAME`, the duration of a step-down and the transferee. Each part may be
/// missing.
fn parse_query(query: Option<&str>) -> Result<(Duration, Option<String>), String> {
    let (mut span, mut transferee) = (None, None);
    for part in query.unwrap_or_default().split('&').filter(|it| !it.is_empty()) {
        match part.split_once('=') {
            Some(("for", text)) if span.is_none() => span = Some(step_down_for(text)?),
            Some(("to", name)) if transferee.is_none() && !name.is_empty() => {
                transferee = Some(name.to_owned());
            }
            _ => {
                return Err(format!(
                    "query `{part}`: write for=DURATION and to=NAME, each at most once, as in for=10s&to=beta"
                ));
            }
        }
    }
    Ok((span.unwrap_or(STEP_DOWN_FOR), transferee))
}

fn step_down_for(span: &str) -> Result<Duration, String> {
    let span = some_time(span).map_err(|what| format!("for={span}: {what}"))?;
    if span > LONGEST_STEP_DOWN {
        return Err(format!("for={span} is too long: choose 24h or less"));
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

    use super::*;

    #[test]
    fn step_down_lasts_for_the_requested_time() {
        let span = |query| parse_query(query).map(|(span, _)| span);
        assert_eq!(span(None), Ok(Duration::from_secs(10)));
        assert_eq!(span(Some("for=250ms")), Ok(Duration::from_millis(250)));
        for query in ["for=", "for=5", "for=0s", "for=25h", "four=10s", "for=1s&for=2s"] {
            assert!(parse_query(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn only_root_and_the_agents_user_may_steer() {
        for (user, owner, may) in [
            (0, 1000, true),
            (1000, 1000, true),
            (0, 0, true),
            (1000, 0, false),
            (1001, 1000, false),
            (65534, 1000, false),
        ] {
            assert_eq!(may_steer(user, owner), may, "{user} {owner}");
        }
    }

    /// Creates a directory for this test.
    fn room(test: &str) -> PathBuf {
        let room = env::temp_dir().join(format!("hustings-test-{test}-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&room).expect("a new directory");
        room
    }

    #[tokio::test]
    async fn socket_is_private_removed_on_drop_and_replaces_a_leftover() {
        let room = room("socket");
        let http: SocketAddr = "127.0.0.1:7480".parse().expect("an address");
        let steering = Steering::open_in(&room, http).expect("it is opened");
        let path = steering.path().to_owned();
        let mode = fs::metadata(&path).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o600);

        // This is the state after a kill: the file exists, and no process listens.
        let again = Steering::open_in(&room, http).expect("it is opened again");
        assert_eq!(again.path(), path);
        drop(steering);
        assert!(path.exists(), "the later one's is not removed");
        let beside = Steering::open_in(&room, "127.0.0.1:7481".parse().expect("an address"));
        assert_ne!(beside.expect("another agent's").path(), path);
        drop(again);
        assert!(!path.exists());
        fs::remove_dir_all(room).expect("it is removed");
    }

    /// Sets the modification time of the file at `path` to 1970.
    fn age(path: &Path) {
        let long_ago = Timespec { tv_sec: 1, tv_nsec: 0 };
        let times = Timestamps { last_access: long_ago, last_modification: long_ago };
        utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("its own");
    }

    #[tokio::test]
    async fn sockets_of_killed_agents_are_removed_at_the_next_start() {
        let room = room("abandoned");
        let listen = |name: &str| {
            let path = room.join(name);
            let listener = UnixListener::bind(&path).expect("a new socket");
            (path, listener)
        };
        let (killed, listener) = listen("::1-40001-1.sock");
        drop(listener);
        let (starts_now, listener) = listen("127.0.0.1-40002-1.sock");
        drop(listener);
        let (runs, _listener) = listen("127.0.0.1-40003-1.sock");
        let (foreign, listener) = listen("database.sock");
        drop(listener);
        let file = room.join("127.0.0.1-40004-1.sock");
        fs::write(&file, "").expect("a new file");
        let link = room.join("127.0.0.1-40005-1.sock");
        symlink(&killed, &link).expect("a new link");
        for path in [&killed, &runs, &foreign, &file, &link] {
            age(path);
        }

        let http = "127.0.0.1:7480".parse().expect("an address");
        let steering = Steering::open_in(&room, http).expect("it is opened");
        assert!(!killed.exists());
        for path in [&starts_now, &runs, &foreign, &file, &link, steering.path()] {
            assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
        }
        fs::remove_dir_all(room).expect("it is removed");
    }

    #[test]
    fn directory_writable_by_others_or_symbolic_link_is_refused() {
        let room = room("directory");
        let inner = room.join("inner");
        prepare(&inner).expect("it is made");
        assert_eq!(fs::metadata(&inner).expect("there").mode() & 0o777, 0o700);
        prepare(&inner).expect("it may be there");
        fs::set_permissions(&inner, Permissions::from_mode(0o755)).expect("its own");
        prepare(&inner).expect("others may look");
        fs::set_permissions(&inner, Permissions::from_mode(0o775)).expect("its own");
        assert!(prepare(&inner).is_err(), "writable by a group");
        let link = room.join("link");
        symlink(&room, &link).expect("its own");
        assert!(prepare(&link).is_err(), "a link");
        assert!(prepare(&room.join("no/such")).is_err());
        fs::remove_dir_all(room).expect("it is removed");
    }
}
