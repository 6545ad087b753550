//! Distinguishes refusals by etcd from failures to answer.

use std::time::Duration;

use tonic::Code;

/// Returns the remedy for a refusal with this code, or `None` if the code is no refusal: the server
/// is shutting down, has no leader, or was not reached in time.
pub(super) fn remedy(code: Code, group: &str) -> Option<String> {
    let remedy = match code {
        // etcd reports a wrong name or password as an invalid argument, and an unnecessary login as
        // a failed precondition.
        Code::InvalidArgument | Code::FailedPrecondition | Code::Unauthenticated => {
            "set `etcd-user` to a name and a password that etcd knows, or leave it out if etcd asks for none"
                .to_owned()
        }
        Code::PermissionDenied => {
            format!("grant its user (`etcd-user`) read and write access to all keys that begin with `/hustings/{group}/`")
        }
        Code::ResourceExhausted => {
            "give etcd more space or quota: `etcdctl alarm list` shows which".to_owned()
        }
        Code::Unimplemented => "make sure that it is etcd 3.4 or later".to_owned(),
        Code::NotFound | Code::AlreadyExists | Code::OutOfRange => {
            "the request is tried again; if that does not help, read etcd's log".to_owned()
        }
        _ => return None,
    };
    Some(remedy)
}

/// Returns a warning if etcd grants more than was asked for. It grants whole seconds, and at least
/// as long as its own elections may take.
pub(super) fn more_than_asked(asked: Duration, granted: Duration) -> Option<String> {
    (asked < granted).then(|| {
        format!(
            "grants {granted:?} where ttl is {asked:?}: the holder uses no more than ttl, but after its host is lost no member leads for {granted:?}: raise ttl to that"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_to_answer_is_not_a_refusal() {
        for code in [
            Code::Cancelled,
            Code::Unknown,
            Code::DeadlineExceeded,
            Code::Aborted,
            Code::Internal,
            Code::Unavailable,
            Code::DataLoss,
        ] {
            assert_eq!(remedy(code, "g"), None, "{code}");
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
