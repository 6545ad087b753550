//! The configuration file: TOML, with complaints that name the line. Files with keys.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use rustix::process::geteuid;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{AGENT_FIELDS, Field, GROUP_FIELDS, GroupFields, Set};
use super::partial::PartialConfig;
use super::reference::EXAMPLE_KEY;
use super::values::{list, nearest};
use super::written::{Complaint, Place, Source, Written};
use crate::seal::Key;
use hustings_system::secret_file::{self, SecretFileError};

/// The number of characters of a value that errors show.
const MOST_SHOWN: usize = 60;

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
    let mut config = parse(path, &text)?;
    if config.groups.iter().any(|group| group.key.is_some() || group.keys.is_some()) {
        let checked = File::open(path).map_err(SecretFileError::Io);
        let checked = checked.and_then(|file| secret_file::check(&file));
        // Other users must not be able to read a file with a key.
        checked.map_err(|error| {
            let what = unreadable(path, &error);
            Complaint { place: None, what, file: None }
        })?;
    }
    let mut keys = config.groups.iter().flat_map(GroupFields::all_keys);
    if keys.any(|key| String::from(key) == EXAMPLE_KEY) {
        let shown = path.display();
        config.warnings.push(format!(
            "{shown} has the example's key, which is public: replace it by a key that `hustings keys generate` prints"
        ));
    }
    Ok(config)
}

/// Parses `text`, the content of the file at `path`. Paths in it are relative to that file's
/// directory.
///
/// # Errors
/// Returns the first problem and its place.
pub fn parse(path: &Path, text: &str) -> Result<PartialConfig, Complaint> {
    let document = DeTable::parse(text).map_err(|error| broken(path, text, &error))?;
    let table = Table { path, text, fields: document.get_ref(), span: document.span() };
    table.refuse_unknown(AGENT_FIELDS, GROUP_FIELDS, "it belongs below a line [[group]]")?;
    let mut config = PartialConfig { file: Some(path.to_owned()), ..PartialConfig::default() };
    for field in AGENT_FIELDS.iter().filter(|field| field.name != "group") {
        table.read(field, |written| config.set(field, written))?;
    }
    for (fields, span) in table.groups()? {
        let group = Table { path, text, fields, span }.read_group()?;
        config.groups.push(group);
    }
    Ok(config)
}

/// Returns the complaint about text that is not TOML.
fn broken(path: &Path, text: &str, error: &toml::de::Error) -> Complaint {
    let at = error.span().map_or(text.len(), |span| span.start);
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let column = text[line_start..at].chars().count() + 1;
    let why: Vec<&str> = error.message().lines().map(str::trim).collect();
    Complaint {
        place: Some(Place::Line(line_at(text, at))),
        what: format!("column {column}: not TOML: {}", why.join(", ")),
        file: Some(path.to_owned()),
    }
}

/// Returns the number of the line that contains a byte.
fn line_at(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|it| *it == b'\n').count() + 1
}

/// One table of the file.
struct Table<'t> {
    path: &'t Path,
    text: &'t str,
    fields: &'t DeTable<'t>,
    span: Range<usize>,
}

impl<'t> Table<'t> {
    /// Refuses unknown field names, the first in the file first. `elsewhere` are the fields of the
    /// other kind of table, for which `hint` is the remedy.
    fn refuse_unknown(
        &self,
        known: &[Field],
        elsewhere: &[Field],
        hint: &str,
    ) -> Result<(), Complaint> {
        let is_in = |fields: &[Field], name: &str| fields.iter().any(|field| field.name == name);
        let unknown = self.fields.keys().filter(|name| !is_in(known, name.get_ref()));
        let Some(first) = unknown.min_by_key(|name| name.span().start) else {
            return Ok(());
        };
        let name = first.get_ref();
        let names: Vec<&str> = known.iter().map(|field| field.name).collect();
        let remedy = match nearest(name, names.iter().copied()) {
            _ if is_in(elsewhere, name) => hint.to_owned(),
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("choose {}", list(&names)),
        };
        Err(self.complain_at(&first.span(), format!("{name}: no such field here: {remedy}")))
    }

    /// Reads a field with `set`, if it is present.
    fn read(
        &self,
        field: &Field,
        set: impl FnOnce(&Written<'_>) -> Result<(), String>,
    ) -> Result<(), Complaint> {
        let Some(value) = self.fields.get(field.name) else {
            return Ok(());
        };
        let span = value.span();
        let directory = self.path.parent().unwrap_or(Path::new(""));
        let place = Place::Line(line_at(self.text, span.start));
        let source = Source::File(value.get_ref());
        set(&Written { field, place, source, directory }).map_err(|refusal| {
            let name = field.name;
            let shown = if field.is_secret { "" } else { &format!(" = {}", self.shown(&span)) };
            self.complain_at(&span, format!("{name}{shown}: {refusal}"))
        })
    }

    /// Returns the tables of the groups.
    fn groups(&self) -> Result<Vec<(&'t DeTable<'t>, Range<usize>)>, Complaint> {
        let Some(written) = self.fields.get("group") else {
            return Ok(Vec::new());
        };
        let as_group = |value: &'t Spanned<DeValue<'t>>| {
            value.get_ref().as_table().map(|group| (group, value.span()))
        };
        let values = written.get_ref().as_array();
        let groups = values.and_then(|values| values.iter().map(as_group).collect());
        groups.ok_or_else(|| {
            let what =
                "group: begin each group with a line of its own, [[group]], in double brackets";
            self.complain_at(&written.span(), what.to_owned())
        })
    }

    fn read_group(&self) -> Result<GroupFields, Complaint> {
        self.refuse_unknown(GROUP_FIELDS, AGENT_FIELDS, "it belongs above the first [[group]]")?;
        if !self.fields.contains_key("name") {
            let what = "[[group]] without a name: add name = \"web\", the same on every member";
            return Err(self.complain_at(&self.span, what.to_owned()));
        }
        self.check_keys()?;
        let mut group = GroupFields::default();
        for field in GROUP_FIELDS {
            if let Set::Group(set) = field.set {
                self.read(field, |written| set(&mut group, written))?;
            }
        }
        Ok(group)
    }

    /// Checks that at most one of `key`, `keys` and `key-file` is present.
    fn check_keys(&self) -> Result<(), Complaint> {
        let names = ["key", "keys", "key-file"].into_iter();
        let mut written = names.filter_map(|name| Some((name, self.fields.get(name)?)));
        if let (Some((first, _)), Some((second, value))) = (written.next(), written.next()) {
            let what = format!("{second} beside {first}: choose one of them");
            return Err(self.complain_at(&value.span(), what));
        }
        match self.fields.get("keys") {
            Some(list) if list.get_ref().as_array().is_some_and(|it| it.is_empty()) => {
                Err(self.complain_at(&list.span(), "keys = []: give one key or more".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Returns a value as the file has it, or its beginning.
    fn shown(&self, span: &Range<usize>) -> String {
        let value = self.text.get(span.clone()).unwrap_or_default();
        let line = value.lines().next().unwrap_or_default();
        if line.len() == value.len() && line.len() <= MOST_SHOWN {
            return line.to_owned();
        }
        line.chars().take(MOST_SHOWN).chain("...".chars()).collect()
    }

    fn complain_at(&self, span: &Range<usize>, what: String) -> Complaint {
        let place = Some(Place::Line(line_at(self.text, span.start)));
        Complaint { place, what, file: Some(self.path.to_owned()) }
    }
}

/// Reads a file with one key per line: the first seals, all open. Ignores empty lines and lines
/// that begin with `#`.
///
/// # Errors
/// Returns the problem and its line, but never the content of the line. Refuses a file that other
/// users can read.
pub fn read_keys(path: &Path) -> Result<Vec<Key>, String> {
    let shown = path.display();
    let text = secret_file::read(path).map_err(|error| unreadable(path, &error))?;
    let mut keys = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let key = Key::try_from(line.to_owned());
        keys.push(key.map_err(|error| format!("{shown}:{number}: {error}"))?);
    }
    if keys.is_empty() {
        return Err(format!("{shown} has no key: `hustings keys generate --out FILE` makes one"));
    }
    Ok(keys)
}

fn unreadable(path: &Path, error: &SecretFileError) -> String {
    let shown = path.display();
    match error {
        SecretFileError::Io(error) => format!("cannot read {shown}: {error}"),
        SecretFileError::Exposed => format!(
            "{shown} has a key in it, and users other than its owner can read it: {}, and make a new key if another user may have read this key",
            secret_file::remedy(&shown.to_string(), geteuid().as_raw())
        ),
    }
}

#[cfg(test)]
mod tests;
