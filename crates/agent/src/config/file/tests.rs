//! The configuration file, field by field: accepted values, and the errors for others.

mod bounds;
mod example;

use std::path::Path;

use hustings_protocol::Duration;
use hustings_protocol::announce::{Config, Criterion, Joining, Listen, Takeover};

use super::parse;
use crate::config::check::which_interface;
use crate::config::{AgentConfig, HTTP, MULTICAST, ProtocolConfig};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn settle(text: &str) -> Result<AgentConfig, String> {
    let draft = parse(Path::new("h.toml"), text).map_err(|it| it.to_string())?;
    draft.settle().map_err(|it| it.to_string())
}

/// Returns a file with a group that has `lines`, of an agent that stays on its host.
fn group(lines: &str) -> String {
    format!("bind = \"127.0.0.1:0\"\n[[group]]\nname = \"web\"\n{lines}")
}

#[track_caller]
fn announced(lines: &str) -> Config {
    match settle(&group(lines)).map(|config| config.groups[0].protocol) {
        Ok(ProtocolConfig::Announce(config)) => config,
        other => panic!("{lines}: {other:?}"),
    }
}

#[track_caller]
fn refused(text: &str, complaint: &str) {
    match settle(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(said) => assert_eq!(said, complaint, "of:\n{text}"),
    }
}

#[test]
fn group_with_a_key_is_a_valid_file() {
    let config = settle(&format!("[[group]]\nname = \"web\"\nkey = \"{KEY}\"")).unwrap();
    assert_eq!(config.name, crate::config::partial::host_name());
    assert_eq!(config.bind.to_string(), "0.0.0.0:7400");
    assert_eq!(config.http, Some(HTTP));
    assert_eq!(config.groups[0].multicast, Some(MULTICAST));
    assert_eq!(config.groups[0].keys.len(), 1);
    assert_eq!(config.groups[0].protocol.name(), "suppress");
}

#[test]
fn every_field_takes_effect() {
    let config = settle(&format!(
        "name = \"alpha\"\nbind = \"127.0.0.1:1\"\ninterface = \"127.0.0.2\"\nhttp = \"off\"\ninsecure = true\n\
         [[group]]\nname = \"web\"\nkeys = [\"{KEY}\", \"{KEY}\"]\npriority = 7\nprotocol = \"earliest\"\n\
         multicast = \"off\"\njoin = [\"10.0.0.2:7400\", \"host:1\"]"
    ));
    assert_eq!(
        config.unwrap_err(),
        "h.toml:9: group `web`: priority has no effect with protocol earliest: the first member to wake up leads"
    );
    let config = settle(&format!(
        "name = \"alpha\"\nbind = \"127.0.0.1:1\"\ninterface = \"127.0.0.2\"\nhttp = \"off\"\nmetrics = \"0.0.0.0:7481\"\ninsecure = true\n\
         [[group]]\nname = \"web\"\nkeys = [\"{KEY}\", \"{KEY}\"]\npriority = 7\nprotocol = \"bully\"\n\
         bound = \"20ms\"\npatience = \"2s\"\nmulticast = \"off\"\njoin = [\"10.0.0.2:7400\", \"host:1\"]\n\
         trace = \"web.jsonl\"\n[[group]]\nname = \"db\"\ntrace = \"/var/db.jsonl\"\n"
    ))
    .unwrap();
    assert_eq!((config.name.as_str(), config.http, config.insecure), ("alpha", None, true));
    assert_eq!(config.bind.to_string(), "127.0.0.1:1");
    let metrics = config.metrics.map(|it| it.to_string());
    assert_eq!(metrics.as_deref(), Some("0.0.0.0:7481"));
    assert_eq!(config.interface.to_string(), "127.0.0.2");
    let [web, db] = &config.groups[..] else {
        panic!("two groups: {config:?}");
    };
    assert_eq!((web.keys.len(), web.priority.0, web.multicast), (2, 7, None));
    assert_eq!(web.join, ["10.0.0.2:7400", "host:1"]);
    assert_eq!(web.trace.as_deref(), Some(Path::new("web.jsonl")));
    assert_eq!(db.trace.as_deref(), Some(Path::new("/var/db.jsonl")));
    let ProtocolConfig::Bully(bully) = web.protocol else {
        panic!("{web:?}");
    };
    assert_eq!(bully.answer_within, Duration::from_millis(50));
    assert_eq!(bully.election_timeout, Some(Duration::from_secs(2)));
    assert_eq!((db.name.as_str(), db.keys.len(), db.join.len()), ("db", 0, 0));
}

#[test]
fn announce_family_reads_its_intervals() {
    let usual = announced("");
    assert_eq!(usual.announce, Duration::from_millis(100));
    assert_eq!(usual.suppress, Duration::from_millis(5));
    assert_eq!(usual.takeover, Takeover::Never);
    assert_eq!(usual.listen, Listen::Measured { miss: 1e-6 });
    assert_eq!(usual.listen_interval(usual.assumed_loss), Some(Duration::from_millis(450)));
    let told = announced(
        "announce = \"1s\"\nsuppress = \"20ms\"\nlisten = \"3s\"\nloss = 0\ntakeover = \"by-the-better\"\npatience = \"7ms\"",
    );
    assert_eq!(told.announce, Duration::from_secs(1));
    assert_eq!(told.suppress, Duration::from_millis(20));
    assert_eq!(told.listen, Listen::For(Duration::from_secs(3)));
    assert_eq!(told.assumed_loss, 0.0);
    assert_eq!(told.takeover, Takeover::ByTheBetter);
    let election_timeout = Duration::from_millis(7);
    assert_eq!(told.joining, Joining::SuppressThenQuery { election_timeout });
    assert_eq!(announced("protocol = \"announce\"").suppress, Duration::ZERO);
    assert_eq!(announced("protocol = \"earliest\"").criterion, Criterion::EarliestWake);
    assert_eq!(announced("listen-miss = 0.01").listen, Listen::Measured { miss: 0.01 });
}

#[test]
fn only_members_found_by_multicast_default_to_the_next_free_port() {
    for (agent, lines, bind, is_next) in [
        ("", "", "0.0.0.0:7400", true),
        ("", "multicast = \"off\"", "0.0.0.0:7400", false),
        ("", "join = [\"10.0.0.2:7400\"]", "0.0.0.0:7400", false),
        ("bind = \"0.0.0.0:7400\"\n", "", "0.0.0.0:7400", false),
        ("bind = \"0.0.0.0:0\"\n", "", "0.0.0.0:0", false),
    ] {
        let config = settle(&format!("{agent}insecure = true\n[[group]]\nname = \"web\"\n{lines}"));
        let config = config.unwrap();
        let settled = (config.bind.to_string(), config.next_free_port);
        assert_eq!(settled, (bind.to_owned(), is_next), "{agent}{lines}");
    }
}

/// Interfaces that the file does not name depend on the host that runs the test.
#[test]
fn defaults_have_the_ip_version_of_the_written_addresses() {
    for (agent, lines, bind, multicast) in [
        ("bind = \"[::1]:0\"", "", "[::1]:0", Some("[ff05::4855]:7401")),
        ("interface = \"fd00::2\"", "", "[::]:7400", Some("[ff05::4855]:7401")),
        (
            "interface = \"fd00::2\"",
            "multicast = \"[ff05::1]:1\"",
            "[::]:7400",
            Some("[ff05::1]:1"),
        ),
        ("bind = \"[::]:1\"", "multicast = \"off\"", "[::]:1", None),
    ] {
        let text = format!("{agent}\ninsecure = true\n[[group]]\nname = \"web\"\n{lines}");
        let config = settle(&text).unwrap();
        assert_eq!(config.bind.to_string(), bind, "{text}");
        let settled = config.groups[0].multicast.map(|it| it.to_string());
        assert_eq!(settled.as_deref(), multicast, "{text}");
    }
    refused(
        "bind = \"[::1]:0\"\n[[group]]\nname = \"web\"\nmulticast = \"239.1.1.1:1\"",
        "h.toml:1: multicast 239.1.1.1:1 and bind [::1]:0 have different IP versions: choose both of one version",
    );
    refused(
        "interface = \"127.0.0.1\"\nbind = \"[::1]:0\"\n[[group]]\nname = \"web\"",
        "h.toml:2: interface 127.0.0.1 and bind [::1]:0 have different IP versions: choose both of one version",
    );
    let addresses = ["fd00::2", "fd01::2"].map(|it| it.parse().unwrap());
    let which = which_interface(&addresses);
    assert_eq!(
        which.to_string(),
        "which network interface leads to the other members? name it with --interface, by its address (fd00::2 or fd01::2), or choose --multicast off"
    );
}

#[test]
fn errors_name_the_line_and_the_remedy() {
    for (text, complaint) in [
        ("", "h.toml: no group: an agent has to be a member of at least one"),
        ("name = \"alpha", "h.toml:1: column 14: not TOML: invalid basic string, expected `\"`"),
        (
            "name = alpha",
            "h.toml:1: column 8: not TOML: string values must be quoted, expected literal string",
        ),
        ("name = 5", "h.toml:1: name = 5: a text in quotes is needed, as in name = \"alpha\""),
        (
            "\nname = \"a b\"\n[[group]]\nname = \"web\"",
            "h.toml:2: name `a b`: 1 to 64 letters, digits, dots, hyphens or underscores are needed",
        ),
        ("nme = \"a\"", "h.toml:1: nme: no such field here: did you mean name?"),
        (
            "colour = 1",
            "h.toml:1: colour: no such field here: choose name, bind, interface, http, metrics, insecure, state or group",
        ),
        (
            "priority = 1",
            "h.toml:1: priority: no such field here: it belongs below a line [[group]]",
        ),
        (
            "bind = \"0.0.0.0\"",
            "h.toml:1: bind = \"0.0.0.0\": not an address: write an IP address and a port, as in 0.0.0.0:7400 or [::]:7400",
        ),
        (
            "bind = \"0.0.0.0:70000\"",
            "h.toml:1: bind = \"0.0.0.0:70000\": port `70000` is not a number from 0 to 65535: write an IP address and a port, as in 0.0.0.0:7400 or [::]:7400",
        ),
        (
            "http = \"on\"",
            "h.toml:1: http = \"on\": not an address: write an IP address and a port, as in 127.0.0.1:7480, or off",
        ),
        (
            "http = \"0.0.0.0:7480\"\n[[group]]\nname = \"web\"",
            "h.toml:1: http 0.0.0.0:7480 is not a loopback address: choose an address such as 127.0.0.1:7480, or off; to read metrics and the status from elsewhere, set metrics (--metrics 0.0.0.0:7480)",
        ),
        (
            "http = \"0.0.0.0:7480\"\ninsecure = true\n[[group]]\nname = \"web\"",
            "h.toml:1: http 0.0.0.0:7480 is not a loopback address: choose an address such as 127.0.0.1:7480, or off; to read metrics and the status from elsewhere, set metrics (--metrics 0.0.0.0:7480)",
        ),
        (
            "metrics = \"on\"",
            "h.toml:1: metrics = \"on\": not an address: write an IP address and a port, as in 0.0.0.0:7481, or off",
        ),
        (
            "interface = \"eth0\"",
            "h.toml:1: interface = \"eth0\": not an IP address: write one of this host's, without a port, as in 10.0.0.1",
        ),
        (
            "insecure = \"yes\"",
            "h.toml:1: insecure = \"yes\": true or false, without quotes, is needed, as in insecure = true",
        ),
        (
            "[group]\nname = \"web\"",
            "h.toml:1: group: begin each group with a line of its own, [[group]], in double brackets",
        ),
        (
            "[[group]]\npriority = 1",
            "h.toml:1: [[group]] without a name: add name = \"web\", the same on every member",
        ),
        (
            "[[group]]\nname = \"web\"",
            "h.toml:2: group `web` has no key, and its frames leave this host (bound to 0.0.0.0:7400): set a key (`hustings keys generate` prints one), or --insecure to let any host on the network take part",
        ),
    ] {
        refused(text, complaint);
    }
}

#[test]
fn errors_in_a_group_name_the_line_and_the_remedy() {
    for (lines, complaint) in [
        ("anounce = 1", "anounce: no such field here: did you mean announce?"),
        ("bind = \"0.0.0.0:1\"", "bind: no such field here: it belongs above the first [[group]]"),
        (
            "key = \"0123\"",
            "key: not a key: 64 hexadecimal digits are needed (`hustings keys generate` prints one)",
        ),
        ("key = 5", "key: a text in quotes is needed, as in key = \"64 hexadecimal digits\""),
        ("keys = []", "keys = []: give one key or more"),
        (
            "keys = [\"0123\"]",
            "keys: not a key: 64 hexadecimal digits are needed (`hustings keys generate` prints one)",
        ),
        (
            "key-file = \"/nowhere/web.key\"",
            "key-file = \"/nowhere/web.key\": cannot read /nowhere/web.key: No such file or directory (os error 2)",
        ),
        (
            "priority = -1",
            "priority = -1: a whole number from 0 to 9223372036854775807 is needed, as in priority = 10",
        ),
        (
            "protocol = \"raft\"",
            "protocol = \"raft\": no such protocol: choose announce, suppress, earliest, bully, chang-roberts, modified-ring, probabilistic or none",
        ),
        (
            "announce = \"100\"",
            "announce = \"100\": not a duration: write a number and a unit (ns, us, ms, s, m, h), as in 100ms",
        ),
        (
            "announce = 100",
            "announce = 100: a text in quotes is needed, as in announce = \"100ms\"",
        ),
        ("announce = \"0s\"", "announce = \"0s\": too short: choose from 1ms to 1h"),
        ("announce = \"61m\"", "announce = \"61m\": too long: choose from 1ms to 1h"),
        ("listen = \"1us\"", "listen = \"1us\": too short: choose from 1ms to 24h, or auto"),
        ("listen = \"25h\"", "listen = \"25h\": too long: choose from 1ms to 24h, or auto"),
        ("suppress = \"2h\"", "suppress = \"2h\": too long: choose from 0s to 1h"),
        ("patience = \"1ns\"", "patience = \"1ns\": too short: choose from 1ms to 1h"),
        ("bound = \"1ns\"", "bound = \"1ns\": too short: choose from 1ms to 1h"),
        (
            "listen = \"soon\"",
            "listen = \"soon\": choose auto, or a duration: a number and a unit (ns, us, ms, s, m, h), as in 300ms",
        ),
        (
            "listen-miss = 1.0",
            "listen-miss = 1.0: a number, more than 0 and less than 1, is needed, as in listen-miss = 1e-6",
        ),
        ("loss = 1", "loss = 1: a number, 0 or more and less than 1, is needed, as in loss = 0.1"),
        ("takeover = \"yes\"", "takeover = \"yes\": choose never or by-the-better"),
        (
            "multicast = \"10.0.0.1:7401\"",
            "multicast = \"10.0.0.1:7401\": not a multicast address: choose a multicast address, as in 239.255.72.85:7401 or [ff05::7401]:7401, or off",
        ),
        (
            "multicast = \"[ff02::4855]:7401\"",
            "multicast = \"[ff02::4855]:7401\": reaches only one host or one link, and needs a zone to say which: choose a site-local address such as [ff05::4855]:7401, or off",
        ),
        ("trace = \"\"", "trace = \"\": name a file"),
        (
            "join = [\"10.0.0.2\"]",
            "join = [\"10.0.0.2\"]: \"10.0.0.2\": not a host and a port: write them as in 10.0.0.2:7400, [fd00::2]:7400 or host.example.org:7400",
        ),
        (
            "join = \"10.0.0.2:7400\"",
            "join = \"10.0.0.2:7400\": a list of texts in quotes is needed, as in join = [\"10.0.0.2:7400\"]",
        ),
    ] {
        refused(&group(lines), &format!("h.toml:4: {complaint}"));
    }
}

#[test]
fn contradicting_values_are_refused() {
    for (lines, complaint) in [
        (
            "listen = \"100ms\"",
            "listen 100ms is not above announce 100ms, so members would miss every leader: choose 200ms or more, or auto",
        ),
        (
            "listen-miss = 0.1\nlisten = \"1s\"",
            "listen-miss has no effect with listen 1s: it is for listen auto",
        ),
        (
            "suppress = \"0s\"",
            "suppress 0s leaves protocol suppress no time: choose 5ms, or protocol announce",
        ),
        (
            "bound = \"1s\"",
            "bound has no effect with protocol suppress: it is for bully and probabilistic",
        ),
        ("k = 5", "k has no effect with protocol suppress: it is for probabilistic"),
        ("view = 30", "view has no effect with protocol suppress: it is for probabilistic"),
        (
            "bound = \"5ms\"\nprotocol = \"none\"",
            "bound has no effect with protocol none: it elects no leader",
        ),
        ("class = 256", "class 256: choose from 0 to 255"),
        ("class = 1\ncouncil = \"off\"", "class has no effect with council off: it is for hosts"),
        ("view = 7\nprotocol = \"probabilistic\"", "view 7: choose from 8 to 1000"),
        (
            "target = 0.9\nprotocol = \"bully\"",
            "target has no effect with protocol bully: it is for probabilistic",
        ),
        (
            "target = 0.9\nk = 5\nprotocol = \"probabilistic\"",
            "target 0.9 beside k 5: one follows from the other; choose one of them",
        ),
        (
            "patience = \"1s\"\nprotocol = \"probabilistic\"",
            "patience has no effect with protocol probabilistic: its time-outs follow from bound and k",
        ),
        (
            "announce = \"1s\"\nprotocol = \"bully\"",
            "announce has no effect with protocol bully: it is for announce, suppress and earliest",
        ),
        (
            "takeover = \"never\"\nprotocol = \"modified-ring\"",
            "takeover has no effect with protocol modified-ring: it is for announce, suppress and earliest",
        ),
    ] {
        refused(&group(lines), &format!("h.toml:4: group `web`: {complaint}"));
    }
    let twice = format!("{}\n[[group]]\nname = \"web\"", group(""));
    refused(&twice, "h.toml:6: group `web` is there twice");
    let lines = "trace = \"t\"\n[[group]]\nname = \"db\"\ntrace = \"t\"";
    refused(
        &group(lines),
        "h.toml:7: groups `web` and `db` would both be recorded in trace t: give each a file of its own, or choose one with --group",
    );
    let two_keys = group(&format!("key = \"{KEY}\"\nkey-file = \"web.key\""));
    refused(&two_keys, "h.toml:5: key-file beside key: choose one of them");
}

/// Every host would read the address as one of another network.
#[test]
fn multicast_address_without_zone_is_refused_from_any_source() {
    let mut config = settle(&group("")).unwrap();
    config.groups[0].multicast = Some("[ff12::1]:1".parse().unwrap());
    assert_eq!(
        config.check().unwrap_err().to_string(),
        "multicast [ff12::1]:1 reaches only one host or one link, and needs a zone to say which: \
         choose a site-local address such as [ff05::4855]:7401"
    );
}

#[test]
fn trace_path_is_relative_to_the_configuration_file() {
    let draft = parse(Path::new("/etc/h.toml"), &group("trace = \"web.jsonl\"")).unwrap();
    let config = draft.settle().unwrap();
    let trace = config.groups[0].trace.as_deref();
    assert_eq!(trace, Some(Path::new("/etc/web.jsonl")));
    assert!(config.groups[0].sentence().ends_with("; trace /etc/web.jsonl"));
}

/// A first round takes 3K/2 hops (rounded up, 21 for an adaptive K) of 5 ms and a spread of two
/// hops. Where members relay multicasts, a hop takes 15 ms and the spread 20 times 5 ms.
#[test]
fn summary_shows_the_duration_of_a_round() {
    for (lines, told) in [
        ("", "K 7, 65ms for a first round"),
        ("view = 8\nk = 7", "K 7, 65ms for a first round"),
        ("view = 8\nk = 7\nmulticast = \"off\"", "K 7, 265ms for a first round"),
        ("view = 8\nk = 7\njoin = [\"10.0.0.2:7400\"]", "K 7, 265ms for a first round"),
        (
            "view = 8\nmulticast = \"off\"",
            "K from the target 0.999, at most 415ms for a first round",
        ),
        ("target = 0.9", "K from the target 0.9, at most 115ms for a first round"),
    ] {
        let config = settle(&group(&format!("protocol = \"probabilistic\"\n{lines}"))).unwrap();
        let sentence = config.groups[0].sentence();
        let told = format!("probabilistic: bound 5ms, {told},");
        assert!(sentence.contains(&told), "{lines}: {sentence}");
    }
}

#[test]
fn summary_shows_the_intervals_of_each_protocol() {
    for (protocol, intervals) in [
        (
            "suppress",
            ": announce 100ms, suppress 5ms, listen auto (450ms at first), takeover never, patience 5ms,",
        ),
        ("bully", ": answers within 250ms, victory within 450ms, patience 1s,"),
        ("chang-roberts", ", patience 1s,"),
        ("modified-ring", ", patience 1s,"),
    ] {
        let config = settle(&group(&format!("protocol = \"{protocol}\""))).unwrap();
        let sentence = config.groups[0].sentence();
        let expected = format!("group web: {protocol}{intervals}");
        assert!(sentence.starts_with(&expected), "{sentence}");
    }
}

#[test]
fn missing_file_is_reported() {
    let complaint = super::read(Path::new("/nowhere/h.toml")).unwrap_err().to_string();
    assert_eq!(
        complaint,
        "/nowhere/h.toml: cannot read it: No such file or directory (os error 2)"
    );
}

#[test]
fn k_follows_from_the_target_with_a_partial_view_unless_set() {
    for (lines, view, target) in [
        ("", None, None),
        ("target = 0.9", None, Some(0.9)),
        ("view = 30", Some(30), Some(0.999)),
        ("view = 30\nk = 9", Some(30), None),
    ] {
        let lines = format!("protocol = \"probabilistic\"\n{lines}");
        let config = settle(&group(&lines)).unwrap();
        let group = &config.groups[0];
        assert_eq!((group.view, group.target), (view, target), "{lines}");
    }
}
