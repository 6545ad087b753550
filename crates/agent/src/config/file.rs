//! The configuration file: TOML, with complaints that name the line.

mod fields;
mod keys;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::draft::{Complaint, PartialConfig, PartialGroupConfig, Place, Sourced};
use super::values;
use crate::seal::Key;
pub use fields::{AGENT_FIELDS, Field, GROUP_FIELDS};
pub use keys::read_keys;
use table::Table;

/// An example file with every field. The same file serves every host. Its key must be replaced.
pub const EXAMPLE: &str = include_str!("example.toml");

/// The key in the example.
const EXAMPLE_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Reads the file at `path`.
///
/// # Errors
/// Returns the first problem and its place.
pub fn read(path: &Path) -> Result<PartialConfig, Complaint> {
    let text = std::fs::read_to_string(path).map_err(|error| Complaint {
        place: None,
        what: format!("cannot read it: {error}"),
        file: Some(path.to_owned()),
    })?;
    let mut draft = parse(path, &text)?;
    if ["key", "keys"].iter().any(|field| mentions(&text, field)) {
        keys::check_readers(path).map_err(|what| Complaint { place: None, what, file: None })?;
    }
    let keys = draft.groups.iter().filter_map(|group| group.keys.as_ref());
    if keys.flat_map(|keys| &keys.value).any(|key| String::from(key.clone()) == EXAMPLE_KEY) {
        let shown = path.display();
        draft.warnings.push(format!(
            "{shown} has the example's key, which everybody knows: put what `hustings keys generate` prints in its place"
        ));
    }
    Ok(draft)
}

/// True if a line of `text` sets `field`.
fn mentions(text: &str, field: &str) -> bool {
    let name = |line: &str| line.split_once('=').map(|(name, _)| name.trim().to_owned());
    text.lines().any(|line| name(line).as_deref() == Some(field))
}

/// Parses `text`, the content of the file at `path`. Paths in it are relative to that file's
/// directory.
///
/// # Errors
/// Returns the first problem and its place.
pub fn parse(path: &Path, text: &str) -> Result<PartialConfig, Complaint> {
    let document = DeTable::parse(text).map_err(|error| broken(path, text, &error))?;
    let table = Table::new(path, text, document.get_ref(), document.span());
    table.refuse_unknown(AGENT_FIELDS, |name| {
        let is_groups = GROUP_FIELDS.iter().any(|field| field.name == name);
        is_groups.then_some("it belongs below a line [[group]]")
    })?;
    let mut draft = PartialConfig {
        file: Some(path.to_owned()),
        name: table.text("name", as_it_is)?,
        bind: table.text("bind", values::address)?,
        interface: table.text("interface", values::interface)?,
        http: table.text("http", values::http)?,
        metrics: table.text("metrics", values::metrics)?,
        insecure: table.flag("insecure")?,
        state: table.file("state")?,
        ..PartialConfig::default()
    };
    for (group, span) in groups(&table)? {
        let table = Table::new(path, text, group, span);
        let group = read_group(&table)?;
        draft.groups.push(group);
    }
    Ok(draft)
}

fn as_it_is(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// Returns the complaint about text that is not TOML.
fn broken(path: &Path, text: &str, error: &toml::de::Error) -> Complaint {
    let at = error.span().map_or(text.len(), |span| span.start);
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let column = text[line_start..at].chars().count() + 1;
    let why: Vec<&str> = error.message().lines().map(str::trim).collect();
    Complaint {
        place: Some(Place::Line(table::line_at(text, at))),
        what: format!("column {column}: not TOML: {}", why.join(", ")),
        file: Some(path.to_owned()),
    }
}

type Groups<'t> = Vec<(&'t DeTable<'t>, std::ops::Range<usize>)>;

fn groups<'t>(table: &Table<'t>) -> Result<Groups<'t>, Complaint> {
    let Some(written) = table.get("group") else {
        return Ok(Vec::new());
    };
    let as_group = |value: &'t Spanned<DeValue<'t>>| match value.get_ref() {
        DeValue::Table(group) => Some((group, value.span())),
        _ => None, // not a table: refused below
    };
    let groups: Option<Groups<'t>> = match written.get_ref() {
        DeValue::Array(values) => values.iter().map(as_group).collect(),
        _ => None, // not a list: refused too
    };
    groups.ok_or_else(|| {
        let what = "group: begin each group with a line of its own, [[group]], in double brackets";
        table.complain_at(&written.span(), what.to_owned())
    })
}

fn read_group(table: &Table<'_>) -> Result<PartialGroupConfig, Complaint> {
    table.refuse_unknown(GROUP_FIELDS, |name| {
        let is_agents = AGENT_FIELDS.iter().any(|field| field.name == name);
        is_agents.then_some("it belongs above the first [[group]]")
    })?;
    let Some(name) = table.text("name", as_it_is)? else {
        let what = "[[group]] without a name: add name = \"web\", the same on every member";
        return Err(table.complain(what.to_owned()));
    };
    Ok(PartialGroupConfig {
        keys: read_group_keys(table)?,
        priority: table.whole("priority")?,
        campaign: table.flag("campaign")?,
        protocol: table.text("protocol", str::parse)?,
        announce: table.text("announce", values::announce)?,
        suppress: table.text("suppress", values::suppress)?,
        listen: table.text("listen", values::listen)?,
        listen_miss: table
            .number("listen-miss", "more than 0 and less than 1", |it| it > 0.0 && it < 1.0)?,
        loss: table.number("loss", "0 or more and less than 1", |it| (0.0..1.0).contains(&it))?,
        takeover: table.text("takeover", values::takeover)?,
        election_timeout: table.text("patience", values::wait)?,
        bound: table.text("bound", values::wait)?,
        k: table.whole("k")?,
        view: table.whole("view")?,
        target: table.number("target", "more than 0 and less than 1", |it| it > 0.0 && it < 1.0)?,
        voters: table.texts("voters", values::voter)?,
        etcd: table.texts("etcd", values::endpoint)?,
        etcd_user: table.text("etcd-user", values::login)?,
        etcd_ca: table.file("etcd-ca")?,
        postgres: table.text("postgres", values::postgres)?,
        era: table.whole("era")?,
        ttl: table.text("ttl", values::ttl)?,
        council: table.text("council", values::council)?,
        class: table.whole("class")?,
        centre: table.text("centre", as_it_is)?,
        multicast: table.text("multicast", values::multicast)?,
        join: table.texts("join", values::place)?,
        trace: table.file("trace")?,
        ..PartialGroupConfig::new(name)
    })
}

/// Reads `key`, `keys` or `key-file`, of which at most one may be present.
fn read_group_keys(table: &Table<'_>) -> Result<Option<Sourced<Vec<Key>>>, Complaint> {
    let written: Vec<_> = ["key", "keys", "key-file"]
        .into_iter()
        .filter_map(|field| Some((field, table.get(field)?)))
        .collect();
    if let [(first, _), (second, value), ..] = written[..] {
        let what = format!("{second} beside {first}: choose one of them");
        return Err(table.complain_at(&value.span(), what));
    }
    let key = table.text("key", |text| to_key(text).map(|key| vec![key]))?;
    let keys = table.texts("keys", to_key)?;
    if let Some(Sourced { value, place }) = &keys
        && value.is_empty()
    {
        return Err(table.complain_in(*place, "keys = []: give one key or more".to_owned()));
    }
    let file = table.text("key-file", |name| read_keys(&table.beside(name)))?;
    Ok(key.or(keys).or(file))
}

fn to_key(text: &str) -> Result<Key, String> {
    Key::try_from(text.to_owned()).map_err(|error| error.to_string())
}
