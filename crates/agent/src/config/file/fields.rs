//! All fields of the configuration file.

/// A field of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name of the field.
    pub name: &'static str,
    /// The default value, in the words of the documentation.
    pub default: &'static str,
    /// A sample value.
    sample: &'static str,
}

const fn field(name: &'static str, default: &'static str, sample: &'static str) -> Field {
    Field { name, default, sample }
}

/// The fields above the first `[[group]]`.
pub const AGENT_FIELDS: &[Field] = &[
    field("name", "the host's name", "\"alpha\""),
    field("bind", "0.0.0.0:7400 or the next free port", "\"0.0.0.0:7400\""),
    field("interface", "the first that leads away", "\"10.0.0.1\""),
    field("http", "127.0.0.1:7480", "\"127.0.0.1:7480\""),
    field("metrics", "nowhere", "\"0.0.0.0:7481\""),
    field("insecure", "false", "true"),
    field("state", "nowhere", "\"/var/lib/hustings\""),
    field("group", "needed", "[[group]]"),
];

/// The fields below each `[[group]]`.
pub const GROUP_FIELDS: &[Field] = &[
    field("name", "needed", "\"web\""),
    field("key", "none", "\"64 hexadecimal digits\""),
    field("keys", "none", "[\"64 hexadecimal digits\"]"),
    field("key-file", "none", "\"web.key\""),
    field("priority", "0", "10"),
    field("campaign", "true", "false"),
    field("protocol", "suppress", "\"suppress\""),
    field("announce", "100ms", "\"100ms\""),
    field("suppress", "5ms", "\"5ms\""),
    field("listen", "auto", "\"300ms\""),
    field("listen-miss", "1e-6", "1e-6"),
    field("loss", "0.1", "0.1"),
    field("takeover", "never", "\"never\""),
    field("patience", "5ms, or 1s", "\"1s\""),
    field("bound", "100ms, or 5ms", "\"100ms\""),
    field("k", "7", "7"),
    field("view", "all", "30"),
    field("target", "0.999 with view", "0.999"),
    field("voters", "none", "[\"alpha\", \"beta\", \"gamma\"]"),
    field("etcd", "none", "[\"http://10.0.0.9:2379\"]"),
    field("etcd-user", "none", "\"hustings:secret\""),
    field("etcd-ca", "none", "\"etcd-ca.pem\""),
    field("postgres", "none", "\"postgresql://hustings@10.0.0.9/hustings\""),
    field("era", "0", "1"),
    field("ttl", "2s", "\"2s\""),
    field("council", "host", "\"host\""),
    field("class", "0", "1"),
    field("centre", "whoever calls", "\"alpha.centre\""),
    field("multicast", "239.255.72.85:7401", "\"239.255.72.85:7401\""),
    field("join", "nowhere", "[\"10.0.0.2:7400\"]"),
    field("trace", "nowhere", "\"web.jsonl\""),
];

/// Returns a sample value of the field `name`.
pub(super) fn sample(name: &str) -> &'static str {
    let mut fields = AGENT_FIELDS.iter().chain(GROUP_FIELDS);
    fields.find(|field| field.name == name).map_or("", |field| field.sample)
}

/// True if errors must not show the value of a field.
pub(super) fn is_secret(name: &str) -> bool {
    ["key", "keys", "etcd-user", "postgres"].contains(&name)
}
