//! Distinguishes refusals by PostgreSQL from failures to answer.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::DbError;

/// Returns the remedy for a refusal. Returns `None` if the error is no refusal: the server did not
/// answer, is shutting down, is not up yet, or gave up during the request.
pub(super) fn remedy(error: &Error) -> Option<&'static str> {
    if let Some(said) = error.as_db_error() {
        return of_state(said.code().code());
    }
    // The client library raised the error. It concerns the server's answer, unless the connection
    // failed.
    match error.source()?.downcast_ref::<io::Error>() {
        None => Some(LOGIN), // a missing password, or an unsupported authentication method
        Some(error) => is_read_only(error).then_some(WRITABLE),
    }
}

const LOGIN: &str = "check the name and the password in `postgres`, and the server's pg_hba.conf";
const DATABASE: &str = "name an existing database in `postgres`";
const RIGHTS: &str = "grant its role SELECT, INSERT and UPDATE on hustings_tenure; if the tables do not exist yet, let the role create them in its schema, or start a member once with a role that may";
const TABLES: &str = "make sure that the role's search_path leads to hustings_tenure; if the table was dropped, raise `era` on all members and start them again";
const WRITABLE: &str =
    "name the primary server in `postgres`: this server is a standby, or read-only";
const ROW: &str = "hustings_tenure holds a row that no member wrote: find the program that writes there, stop all members, end that tenure with UPDATE hustings_tenure SET expires = now() WHERE group_name = '...', for this group, raise `era` on all members, and start them";
const ROOM: &str = "give the server more connections, disk or memory";
const LOG: &str = "the request is tried again; if that does not help, read the server's log";

/// Returns the remedy for an SQLSTATE, by the classes of PostgreSQL's manual.
fn of_state(state: &str) -> Option<&'static str> {
    match state {
        // lock_not_available, and transaction_timeout.
        "55P03" | "25P04" => return None,
        "42501" => return Some(RIGHTS),
        "25006" => return Some(WRITABLE),
        _ => {}
    }
    match state.get(..2)? {
        // Connection; operator intervention; system error; internal error.
        "08" | "57" | "58" | "XX" => None,
        "22" => Some(ROW),
        "28" => Some(LOGIN),
        "3D" => Some(DATABASE),
        "3F" | "42" => Some(TABLES),
        "53" => Some(ROOM),
        _ => Some(LOG),
    }
}

/// True if the server warns that it committed without waiting for its synchronous standby. The
/// message is in the server's language, but the name of the routine is not translated.
pub(super) fn is_of_a_cancelled_wait(notice: &DbError) -> bool {
    notice.routine() == Some("SyncRepWaitForLSN")
        || notice.message().contains("wait for synchronous replication")
}

/// True if none of several servers accepts writes. The client library raises this error, not the
/// operating system.
fn is_read_only(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

#[cfg(test)]
mod tests {
    use super::of_state;

    #[test]
    fn failure_to_answer_is_not_a_refusal() {
        let states =
            ["08006", "57014", "57P01", "57P02", "57P03", "55P03", "25P04", "58030", "XX000"];
        for state in states {
            assert_eq!(of_state(state), None, "{state}");
        }
    }
}
