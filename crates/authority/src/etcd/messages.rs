//! The messages of etcd's gRPC interface that the store sends and reads.
//!
//! Source  `etcdserverpb/rpc.proto` and `mvccpb/kv.proto` of etcd 3.4, under the same names
//! Holds   only the fields that the store sets or reads. A field that is not named here is skipped
//!         when it is received and left at its default when it is sent, so later versions of etcd
//!         are read too
//! Oneofs  are written as optional fields of which one is set, which is the same on the wire

use std::fmt;

/// `Compare.CompareTarget.CREATE`
const COMPARE_CREATE: i32 = 1;
/// `Compare.CompareTarget.MOD`
const COMPARE_MOD: i32 = 2;
/// `WatchCreateRequest.FilterType.NOPUT`
const NO_PUT: i32 = 0;
/// `Event.EventType.DELETE`
const DELETE: i32 = 1;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResponseHeader {
    #[prost(uint64, tag = "2")]
    pub(super) member_id: u64,
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
    #[prost(uint64, tag = "4")]
    pub(super) raft_term: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValue {
    #[prost(int64, tag = "2")]
    pub(super) create_revision: i64,
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) value: Vec<u8>,
    /// Zero for a key without a lease.
    #[prost(int64, tag = "6")]
    pub(super) lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) lease: i64,
}

/// One operation of a transaction: exactly one field is set.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RequestOp {
    #[prost(message, optional, tag = "1")]
    request_range: Option<RangeRequest>,
    #[prost(message, optional, tag = "2")]
    request_put: Option<PutRequest>,
}

impl RequestOp {
    pub(super) fn get(key: &str) -> Self {
        Self { request_range: Some(RangeRequest { key: key.into() }), request_put: None }
    }

    /// Writes a key that lasts until it is deleted.
    pub(super) fn put(key: &str, value: &str) -> Self {
        Self::put_with_lease(key, value, super::NO_LEASE)
    }

    pub(super) fn put_with_lease(key: &str, value: &str, lease: i64) -> Self {
        let put = PutRequest { key: key.into(), value: value.into(), lease };
        Self { request_range: None, request_put: Some(put) }
    }
}

/// The answer to one operation of a transaction, if that was a read.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResponseOp {
    #[prost(message, optional, tag = "1")]
    pub(super) response_range: Option<RangeResponse>,
}

/// A condition of a transaction. `result` is left at its default, `EQUAL`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Compare {
    #[prost(int32, tag = "2")]
    target: i32,
    #[prost(bytes = "vec", tag = "3")]
    key: Vec<u8>,
    #[prost(int64, optional, tag = "5")]
    create_revision: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    mod_revision: Option<i64>,
}

impl Compare {
    /// The key was created at this revision; zero: the key is not there.
    pub(super) fn created_at(key: &str, revision: i64) -> Self {
        let (target, key) = (COMPARE_CREATE, key.into());
        Self { target, key, create_revision: Some(revision), mod_revision: None }
    }

    /// The key was last written at this revision; zero: the key is not there.
    pub(super) fn written_at(key: &str, revision: i64) -> Self {
        let (target, key) = (COMPARE_MOD, key.into());
        Self { target, key, create_revision: None, mod_revision: Some(revision) }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    pub(super) failure: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(super) responses: Vec<ResponseOp>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LeaseGrantRequest {
    /// In seconds.
    #[prost(int64, tag = "1")]
    pub(super) ttl: i64,
    #[prost(int64, tag = "2")]
    pub(super) id: i64,
}

/// The answer to a request to grant a lease or to keep it alive.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LeaseTtl {
    /// In seconds. Zero if the lease has ended.
    #[prost(int64, tag = "3")]
    pub(super) ttl: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LeaseRevokeRequest {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LeaseKeepAliveRequest {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    create_request: Option<WatchCreateRequest>,
}

impl WatchRequest {
    /// Watches one key for being deleted, from a revision on.
    pub(super) fn deletes_of(key: &str, start_revision: i64) -> Self {
        let (key, filters) = (key.into(), vec![NO_PUT]);
        Self { create_request: Some(WatchCreateRequest { key, start_revision, filters }) }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
struct WatchCreateRequest {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(int64, tag = "3")]
    start_revision: i64,
    #[prost(int32, repeated, tag = "5")]
    filters: Vec<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WatchResponse {
    /// Set if etcd has ended the watch.
    #[prost(bool, tag = "4")]
    pub(super) canceled: bool,
    #[prost(message, repeated, tag = "11")]
    events: Vec<WatchEvent>,
}

impl WatchResponse {
    pub(super) fn has_delete(&self) -> bool {
        self.events.iter().any(|event| event.kind == DELETE)
    }
}

/// `mvccpb.Event`
#[derive(Clone, PartialEq, prost::Message)]
struct WatchEvent {
    /// `type`
    #[prost(int32, tag = "1")]
    kind: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub(super) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

/// Omits the password.
impl fmt::Debug for AuthenticateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticateRequest").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub(super) struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub(super) token: String,
}

/// Omits the token.
impl fmt::Debug for AuthenticateResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticateResponse").finish_non_exhaustive()
    }
}

/// The bytes are those that `protoc --encode` makes of the same messages with etcd's own files.
#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    fn check_sent(message: &impl Message, expected: &str) {
        assert_eq!(hex::encode(message.encode_to_vec()), expected);
    }

    fn received<M: Message + Default>(bytes: &str) -> M {
        let bytes = hex::decode(bytes).expect("hexadecimal");
        M::decode(bytes.as_slice()).expect("a message")
    }

    #[test]
    fn requests_are_encoded_as_etcd_defines_them() {
        let transaction = TxnRequest {
            compare: vec![Compare::created_at("k", 0), Compare::written_at("e", 300)],
            success: vec![RequestOp::put_with_lease("k", "v", 7), RequestOp::put("e", "1")],
            failure: vec![RequestOp::get("k")],
        };
        check_sent(
            &transaction,
            "0a0710011a016b28000a0810021a016530ac02120a12080a016b1201761807120812060a01651201311a050a030a016b",
        );
        check_sent(&WatchRequest::deletes_of("k", 300), "0a090a016b18ac022a0100");
        check_sent(&LeaseGrantRequest { ttl: 2, id: 300 }, "080210ac02");
        let login = AuthenticateRequest { name: "n".to_owned(), password: "p".to_owned() };
        check_sent(&login, "0a016e120170");
        assert_eq!(format!("{login:?}"), r#"AuthenticateRequest { name: "n", .. }"#);
    }

    #[test]
    fn answers_are_read_past_the_fields_that_are_not_used() {
        let answer: TxnResponse = received(
            "0a090801100218ac02200410011a0712050a0318ac021a1b0a190a0318ac02120e0a016b1005180620072a0176300818012002",
        );
        let header = answer.header.expect("a header");
        assert_eq!((header.member_id, header.revision, header.raft_term), (2, 300, 4));
        assert!(answer.succeeded);
        let [put, read] = answer.responses.as_slice() else {
            panic!("two operations were answered");
        };
        assert_eq!(put.response_range, None);
        let found =
            KeyValue { create_revision: 5, mod_revision: 6, value: b"v".to_vec(), lease: 8 };
        assert_eq!(read.response_range.as_ref().map(|it| &it.kvs), Some(&vec![found]));

        let answer: WatchResponse =
            received("0a05080118ac0210031801200128093201635a09080112050a016b1806");
        assert!(answer.canceled && answer.has_delete());
        let granted: LeaseTtl = received("0a02180310ac021802220165");
        assert_eq!(granted.ttl, 2);
        let kept: LeaseTtl = received("0a02180310ac021802");
        assert_eq!(kept.ttl, 2);
        let login: AuthenticateResponse = received("0a021803120174");
        assert_eq!(login.token, "t");
    }
}
