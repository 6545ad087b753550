//! What etcd says that is an answer, though not the one that was asked for.

use std::time::Duration;

/// gRPC's codes of what is answered and refused. All others are of a server that is going down, has no leader, or was not
/// reached in time.
const INVALID_ARGUMENT: i32 = 3;
const NOT_FOUND: i32 = 5;
const ALREADY_EXISTS: i32 = 6;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const FAILED_PRECONDITION: i32 = 9;
const OUT_OF_RANGE: i32 = 11;
const UNIMPLEMENTED: i32 = 12;
const UNAUTHENTICATED: i32 = 16;

/// Whether a code says that something is not there.
pub(super) fn is_not_found(code: i32) -> bool {
    code == NOT_FOUND
}

/// What to do about a refusal with this code; none if it is no refusal.
pub(super) fn advice(code: i32, group: &str) -> Option<String> {
    let advice = match code {
        // Wrong names and passwords are invalid arguments to etcd, and a login where it asks for none fails a precondition.
        INVALID_ARGUMENT | FAILED_PRECONDITION | UNAUTHENTICATED => {
            "see that `etcd-user` has a name and a password that etcd knows, or is left out where it asks for none"
                .to_owned()
        }
        PERMISSION_DENIED => {
            format!("let its user (`etcd-user`) read and write all keys that begin with `/hustings/{group}/`")
        }
        RESOURCE_EXHAUSTED => {
            "give etcd room: `etcdctl alarm list` and its quota tell of what".to_owned()
        }
        UNIMPLEMENTED => "see that it is etcd 3.4 or later".to_owned(),
        NOT_FOUND | ALREADY_EXISTS | OUT_OF_RANGE => {
            "it is tried again; if that does not help, see what etcd's log says".to_owned()
        }
        _ => return None,
    };
    Some(advice)
}

/// What to say where etcd grants more than it was asked for; none if it does not. It grants whole seconds, and no fewer
/// than its own elections may take.
pub(super) fn more_than_asked(asked: Duration, granted: Duration) -> Option<String> {
    (asked < granted).then(|| {
        format!(
            "grants {granted:?} where ttl is {asked:?}: whoever holds uses no more than ttl, but when its host is lost nobody leads for \
             {granted:?}: raise ttl to that"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cancelled, unknown, late, aborted, internal, unavailable, data lost.
    #[test]
    fn a_server_that_cannot_answer_now_refuses_nothing() {
        for code in [1, 2, 4, 10, 13, 14, 15] {
            assert_eq!(advice(code, "g"), None, "{code}");
        }
    }

    #[test]
    fn what_is_granted_beyond_the_ttl_is_told() {
        let [brief, exact] = [Duration::from_millis(300), Duration::from_secs(2)];
        assert_eq!(more_than_asked(exact, exact), None);
        let said = more_than_asked(brief, exact).expect("it is more");
        assert!(said.starts_with("grants 2s where ttl is 300ms: "), "{said}");
        assert!(said.ends_with(": raise ttl to that"), "{said}");
    }
}
