//! One table of the file. Fields are read by name, and complaints carry their place.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{Field, is_secret, sample};
use crate::config::draft::{Complaint, Place, Sourced};
use crate::config::values::{self, list, nearest};

/// The number of characters of a value that errors show.
const MOST_SHOWN: usize = 60;

/// One table of the file.
pub(super) struct Table<'t> {
    path: &'t Path,
    text: &'t str,
    fields: &'t DeTable<'t>,
    span: Range<usize>,
}

type Read<T> = Result<Option<Sourced<T>>, Complaint>;

impl<'t> Table<'t> {
    pub(super) fn new(
        path: &'t Path,
        text: &'t str,
        fields: &'t DeTable<'t>,
        span: Range<usize>,
    ) -> Self {
        Self { path, text, fields, span }
    }

    pub(super) fn get(&self, field: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.fields.get(field)
    }

    /// Refuses unknown field names, the first in the file first. `hint` may give a better remedy.
    pub(super) fn refuse_unknown(
        &self,
        known: &[Field],
        hint: impl Fn(&str) -> Option<&'static str>,
    ) -> Result<(), Complaint> {
        let is_unknown = |name: &str| known.iter().all(|field| field.name != name);
        let names = self.fields.keys().filter(|name| is_unknown(name.get_ref()));
        let Some(first) = names.min_by_key(|name| name.span().start) else {
            return Ok(());
        };
        let name = first.get_ref();
        let remedy = match (hint(name), nearest(name, known.iter().map(|field| field.name))) {
            (Some(hint), _) => hint.to_owned(),
            (None, Some(nearest)) => format!("did you mean {nearest}?"),
            (None, None) => {
                let names: Vec<&str> = known.iter().map(|field| field.name).collect();
                format!("choose {}", list(&names))
            }
        };
        Err(self.complain_at(&first.span(), format!("{name}: no such field here: {remedy}")))
    }

    /// Reads a text in quotes and parses it with `parse`.
    pub(super) fn text<T>(
        &self,
        field: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Read<T> {
        self.read(field, "a text in quotes", |value| match value {
            DeValue::String(text) => Some(parse(text)),
            _ => None,
        })
    }

    /// Reads the path of a file, in quotes.
    pub(super) fn file(&self, field: &'static str) -> Read<PathBuf> {
        self.text(field, |name| values::file(name).map(|it| self.beside(it)))
    }

    /// Resolves a path in this file relative to the file's directory.
    pub(super) fn beside(&self, path: impl AsRef<Path>) -> PathBuf {
        let home = self.path.parent().unwrap_or(Path::new(""));
        home.join(path)
    }

    /// Reads a list of texts in quotes and parses each with `parse`.
    pub(super) fn texts<T>(
        &self,
        field: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Read<Vec<T>> {
        self.read(field, "a list of texts in quotes", |value| {
            let texts: Option<Vec<&str>> =
                value.as_array()?.iter().map(|it| it.get_ref().as_str()).collect();
            let parse = |text| match is_secret(field) {
                true => parse(text),
                false => parse(text).map_err(|refusal| format!("\"{text}\": {refusal}")),
            };
            Some(texts?.into_iter().map(parse).collect())
        })
    }

    /// Reads a whole number that is not negative.
    pub(super) fn whole(&self, field: &'static str) -> Read<u64> {
        self.read(field, "a whole number from 0 to 9223372036854775807", |value| {
            let number = value.as_integer()?;
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            u64::try_from(number).ok().map(Ok)
        })
    }

    /// Reads a number in a range.
    pub(super) fn number(
        &self,
        field: &'static str,
        range: &str,
        is_in_range: impl Fn(f64) -> bool,
    ) -> Read<f64> {
        self.read(field, &format!("a number, {range},"), |value| {
            let number: f64 = match value {
                DeValue::Float(number) => number.as_str().parse().ok()?,
                DeValue::Integer(number) => number.as_str().parse().ok()?,
                _ => return None,
            };
            is_in_range(number).then_some(Ok(number))
        })
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&self, field: &'static str) -> Read<bool> {
        self.read(field, "true or false, without quotes,", |value| value.as_bool().map(Ok))
    }

    /// Reads a field with `parse`, which returns `None` if the value is not of the kind `needed`.
    fn read<T>(
        &self,
        field: &'static str,
        needed: &str,
        parse: impl FnOnce(&DeValue<'t>) -> Option<Result<T, String>>,
    ) -> Read<T> {
        let Some(written) = self.get(field) else {
            return Ok(None);
        };
        let place = Place::Line(line_at(self.text, written.span().start));
        let refusal = match parse(written.get_ref()) {
            Some(Ok(value)) => return Ok(Some(Sourced { value, place })),
            Some(Err(refusal)) => refusal,
            None => format!("{needed} is needed, as in {field} = {}", sample(field)),
        };
        let shown = match is_secret(field) {
            true => field.to_owned(),
            false => format!("{field} = {}", self.shown(&written.span())),
        };
        Err(self.complain_in(place, format!("{shown}: {refusal}")))
    }

    /// Returns a value as the file has it, or its beginning.
    fn shown(&self, span: &Range<usize>) -> String {
        let value = self.text.get(span.clone()).unwrap_or_default();
        let line = value.lines().next().unwrap_or_default();
        match line.len() == value.len() && line.len() <= MOST_SHOWN {
            true => line.to_owned(),
            false => line.chars().take(MOST_SHOWN).chain("...".chars()).collect(),
        }
    }

    /// Returns a complaint about the whole table.
    pub(super) fn complain(&self, what: String) -> Complaint {
        self.complain_at(&self.span, what)
    }

    pub(super) fn complain_at(&self, span: &Range<usize>, what: String) -> Complaint {
        self.complain_in(Place::Line(line_at(self.text, span.start)), what)
    }

    pub(super) fn complain_in(&self, place: Place, what: String) -> Complaint {
        Complaint { place: Some(place), what, file: Some(self.path.to_owned()) }
    }
}

/// Returns the number of the line that contains a byte.
pub(super) fn line_at(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|it| *it == b'\n').count() + 1
}
