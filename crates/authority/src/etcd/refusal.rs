//! Distinguishes refusals by etcd from failures to answer.

use std::time::Duration;

/// The gRPC codes of refusals. All other codes mean that the server is shutting down, has no
/// leader, or was not reached in time.
const INVALID_ARGUMENT: i32 = 3;
const NOT_FOUND: i32 = 5;
const ALREADY_EXISTS: i32 = 6;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const FAILED_PRECONDITION: i32 = 9;
const OUT_OF_RANGE: i32 = 11;
const UNIMPLEMENTED: i32 = 12;
const UNAUTHENTICATED: i32 = 16;

/// True if the code means that an object does not exist.
pub(super) fn is_not_found(code: i32) -> bool {
    code == NOT_FOUND
}

/// Returns the remedy for a refusal with this code, or `None` if the code is no refusal.
pub(super) fn advice(code: i32, group: &str) -> Option<String> {
    let advice = match code {
        // etcd reports a wrong name or password as an invalid argument, and an unnecessary login as
        // a failed precondition.
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

/// Returns a warning if etcd grants more than was asked for. It grants whole seconds, and at least
/// as long as its own elections may take.
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

    /// Cancelled, unknown, deadline exceeded, aborted, internal, unavailable, data loss.
    #[test]
    fn failure_to_answer_is_not_a_refusal() {
        for code in [1, 2, 4, 10, 13, 14, 15] {
            assert_eq!(advice(code, "g"), None, "{code}");
        }
    }

    #[test]
    fn grant_beyond_the_ttl_is_reported() {
        let [brief, exact] = [Duration::from_millis(300), Duration::from_secs(2)];
        assert_eq!(more_than_asked(exact, exact), None);
        let said = more_than_asked(brief, exact).expect("it is more");
        assert!(said.starts_with("grants 2s where ttl is 300ms: "), "{said}");
        assert!(said.ends_with(": raise ttl to that"), "{said}");
    }
}
