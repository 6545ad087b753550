//! What PostgreSQL says that is an answer, though not the one that was asked for.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::DbError;

/// What to do about a refusal; none if it is no refusal: nobody answered, or a server that goes down, is not up yet, or
/// gave up in the middle.
pub(super) fn advice(error: &Error) -> Option<&'static str> {
    if let Some(said) = error.as_db_error() {
        return of_state(said.code().code());
    }
    // Noticed at this end of the line: in what the server said, unless the line is what failed.
    match error.source()?.downcast_ref::<io::Error>() {
        None => Some(LOGIN), // a password that is missing, or a way to show it that is unknown here
        Some(error) => is_read_only(error).then_some(WRITABLE),
    }
}

const LOGIN: &str =
    "see to the name and the password in `postgres`, and to the server's pg_hba.conf";
const DATABASE: &str = "name a database that is there in `postgres`";
const RIGHTS: &str = "let its role SELECT, INSERT and UPDATE on hustings_tenure; if the tables are not there yet, let it create \
    them in its schema, or start a member once with a role that may";
const TABLES: &str = "see that the role's search_path leads to hustings_tenure; if it was dropped, raise `era` on all members \
    and start them again";
const WRITABLE: &str =
    "name the server that can be written to in `postgres`: this is a standby, or read-only";
const ROW: &str = "hustings_tenure holds what no member wrote there: see who else does, stop all members, end what it says with \
    UPDATE hustings_tenure SET expires = now() WHERE group_name = '...', for this group, raise `era` on all members, and start them";
const ROOM: &str = "give the server room: connections, disk or memory";
const LOG: &str = "it is tried again; if that does not help, see what the server's log says";

/// By the classes of PostgreSQL's manual.
fn of_state(state: &str) -> Option<&'static str> {
    match state {
        // A lock that was not free in time, and a transaction that took too long.
        "55P03" | "25P04" => return None,
        "42501" => return Some(RIGHTS),
        "25006" => return Some(WRITABLE),
        _ => {}
    }
    match state.get(..2)? {
        // The connection; a person or the server's end; the system below it; the server itself.
        "08" | "57" | "58" | "XX" => None,
        "22" => Some(ROW),
        "28" => Some(LOGIN),
        "3D" => Some(DATABASE),
        "3F" | "42" => Some(TABLES),
        "53" => Some(ROOM),
        _ => Some(LOG),
    }
}

/// Whether the server warns that it committed without waiting for its synchronous standby any longer. The message is in the
/// server's language, the name of the routine is not.
pub(super) fn is_of_a_cancelled_wait(notice: &DbError) -> bool {
    notice.routine() == Some("SyncRepWaitForLSN")
        || notice
            .message()
            .contains("wait for synchronous replication")
}

/// Of several servers none can be written to: that is found here, and not by the system.
fn is_read_only(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

#[cfg(test)]
mod tests {
    use super::of_state;

    #[test]
    fn a_server_that_cannot_answer_now_refuses_nothing() {
        let states = [
            "08006", "57014", "57P01", "57P02", "57P03", "55P03", "25P04", "58030", "XX000",
        ];
        for state in states {
            assert_eq!(of_state(state), None, "{state}");
        }
    }
}
