//! A value as it was written, in the file or by an option, and the place where it was written.

use std::fmt;
use std::path::{Path, PathBuf};

use hustings_protocol::Duration;
use toml::de::DeValue;

use super::fields::{Field, variable};
use super::file::read_keys;
use super::presets::Bounds;
use super::values;
use crate::seal::Key;

/// The place where a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of the file.
    Line(usize),
    /// The option of this name.
    Option(&'static str),
    /// The environment variable that stands for the option of this name.
    Variable(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Option(name) => write!(f, "--{name}"),
            Self::Variable(name) => f.write_str(&variable(name)),
        }
    }
}

/// A value and the place where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sourced<T> {
    /// The value.
    pub(super) value: T,
    /// The place.
    pub(super) place: Place,
}

/// A value that cannot be used, and the place where it was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{what}", self.at())]
pub struct Complaint {
    /// The place, if the value was written at all.
    pub place: Option<Place>,
    /// The problem, and what is allowed.
    pub what: String,
    pub(super) file: Option<PathBuf>,
}

impl Complaint {
    /// Returns the place, as the message begins with it.
    fn at(&self) -> String {
        match (self.place, &self.file) {
            (Some(Place::Line(line)), Some(file)) => format!("{}:{line}: ", file.display()),
            (Some(Place::Line(_)) | None, None) => String::new(),
            (None, Some(file)) => format!("{}: ", file.display()),
            (Some(place), _) => format!("{place}: "),
        }
    }
}

/// A value before it is parsed. Each function parses one kind of value and refuses other kinds.
pub(super) struct Written<'a> {
    pub(super) field: &'a Field,
    pub(super) place: Place,
    pub(super) source: Source<'a>,
    /// The directory to which a path in the value is relative.
    pub(super) directory: &'a Path,
}

pub(super) enum Source<'a> {
    /// The values of an option, each of which the command line shows in its own errors.
    Option(&'a [String]),
    /// A value of the file.
    File(&'a DeValue<'a>),
}

impl<'a> Written<'a> {
    pub(super) fn by_option(field: &'a Field, place: Place, texts: &'a [String]) -> Self {
        Self { field, place, source: Source::Option(texts), directory: Path::new("") }
    }

    /// Parses a text; in the file, a text in quotes.
    pub(super) fn text<T>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        match self.source {
            Source::Option(texts) => parse(texts.first().map_or("", String::as_str)),
            Source::File(DeValue::String(text)) => parse(text),
            Source::File(_) => Err(self.other_kind("a text in quotes")),
        }
    }

    /// Parses a duration within bounds.
    pub(super) fn duration(&self, bounds: Bounds) -> Result<Duration, String> {
        self.text(|text| bounds.check(values::duration(text)?))
    }

    /// Parses each text of a list.
    pub(super) fn texts<T>(&self, parse: fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
        let value = match self.source {
            Source::Option(texts) => return texts.iter().map(|text| parse(text)).collect(),
            Source::File(value) => value,
        };
        let texts = value.as_array().and_then(|list| {
            let texts = list.iter().map(|it| it.get_ref().as_str());
            texts.collect::<Option<Vec<&str>>>()
        });
        let texts = texts.ok_or_else(|| self.other_kind("a list of texts in quotes"))?;
        let is_secret = self.field.is_secret;
        let shown = |text: &str, why: String| match is_secret {
            true => why,
            false => format!("\"{text}\": {why}"),
        };
        texts.into_iter().map(|text| parse(text).map_err(|why| shown(text, why))).collect()
    }

    /// Parses the path of a file, which need not exist.
    pub(super) fn file(&self) -> Result<PathBuf, String> {
        Ok(self.directory.join(self.text(values::file)?))
    }

    /// Reads the keys in the file that is named.
    pub(super) fn keys_of_file(&self) -> Result<Vec<Key>, String> {
        self.text(|name| read_keys(&self.directory.join(name)))
    }

    /// Parses a whole number that is not negative.
    pub(super) fn whole(&self) -> Result<u64, String> {
        let range = format!("a whole number from 0 to {}", i64::MAX);
        let is_in_range = |it: &u64| *it <= i64::MAX as u64;
        let Source::File(value) = self.source else {
            let number = self.text(|text| Ok(text.parse().ok()))?;
            return number.filter(is_in_range).ok_or_else(|| format!("choose {range}"));
        };
        let number = value.as_integer();
        let number = number.and_then(|it| u64::from_str_radix(it.as_str(), it.radix()).ok());
        number.filter(is_in_range).ok_or_else(|| self.other_kind(&range))
    }

    /// Parses a number in a range.
    pub(super) fn number(&self, range: &str, is_in_range: fn(&f64) -> bool) -> Result<f64, String> {
        let text = match self.source {
            Source::Option(texts) => texts.first().map(String::as_str),
            Source::File(DeValue::Float(number)) => Some(number.as_str()),
            Source::File(DeValue::Integer(number)) => Some(number.as_str()),
            Source::File(_) => None,
        };
        let number = text.and_then(|it| it.parse().ok()).filter(is_in_range);
        number.ok_or_else(|| self.other_kind(&format!("a number, {range},")))
    }

    /// Parses `true` or `false`.
    pub(super) fn flag(&self) -> Result<bool, String> {
        match self.source {
            Source::Option(_) => self.text(values::switch),
            Source::File(DeValue::Boolean(flag)) => Ok(*flag),
            Source::File(_) => Err(self.other_kind("true or false, without quotes,")),
        }
    }

    /// Returns the refusal of a value of another kind than the field needs.
    fn other_kind(&self, needed: &str) -> String {
        let Field { name, sample, .. } = self.field;
        format!("{needed} is needed, as in {name} = {sample}")
    }
}
