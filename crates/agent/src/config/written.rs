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
#[derive(Debug, Clone, PartialEq)]
pub struct Complaint {
    /// The place, if the value was written at all.
    pub place: Option<Place>,
    /// The problem, and what is allowed.
    pub what: String,
    pub(super) file: Option<PathBuf>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.place, &self.file) {
            (Some(Place::Line(line)), Some(file)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(Place::Line(_)) | None, None) => {}
            (None, Some(file)) => write!(f, "{}: ", file.display())?,
            (Some(place), _) => write!(f, "{place}: ")?,
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Complaint {}

/// A value before it is parsed. Each function parses one kind of value and refuses other kinds.
pub(super) struct Written<'a> {
    field: &'a Field,
    pub(super) place: Place,
    source: Source<'a>,
}

enum Source<'a> {
    /// The values of an option, each of which the command line shows in its own errors.
    Option(&'a [String]),
    /// A value of the file. Paths in it are relative to the file's directory.
    File(&'a DeValue<'a>, &'a Path),
}

impl<'a> Written<'a> {
    pub(super) fn by_option(field: &'a Field, place: Place, texts: &'a [String]) -> Self {
        Self { field, place, source: Source::Option(texts) }
    }

    pub(super) fn in_file(
        field: &'a Field,
        line: usize,
        value: &'a DeValue<'a>,
        directory: &'a Path,
    ) -> Self {
        Self { field, place: Place::Line(line), source: Source::File(value, directory) }
    }

    /// Parses a text; in the file, a text in quotes.
    pub(super) fn text<T>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        match self.source {
            Source::Option(texts) => parse(texts.first().map_or("", String::as_str)),
            Source::File(DeValue::String(text), _) => parse(text),
            Source::File(..) => self.refuse_kind("a text in quotes"),
        }
    }

    /// Parses a duration within bounds.
    pub(super) fn duration(&self, bounds: Bounds) -> Result<Duration, String> {
        self.text(|text| bounds.check(values::duration(text)?))
    }

    /// Parses each text of a list.
    pub(super) fn texts<T>(
        &self,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let value = match self.source {
            Source::Option(texts) => return texts.iter().map(|text| parse(text)).collect(),
            Source::File(value, _) => value,
        };
        let texts = value.as_array().and_then(|list| {
            let texts = list.iter().map(|it| it.get_ref().as_str());
            texts.collect::<Option<Vec<&str>>>()
        });
        let Some(texts) = texts else {
            return self.refuse_kind("a list of texts in quotes");
        };
        let shows = |text: &str, refusal: String| match self.field.is_secret {
            true => refusal,
            false => format!("\"{text}\": {refusal}"),
        };
        texts.into_iter().map(|text| parse(text).map_err(|it| shows(text, it))).collect()
    }

    /// Parses the path of a file, which need not exist.
    pub(super) fn file(&self) -> Result<PathBuf, String> {
        let path = self.text(values::file)?;
        Ok(match self.source {
            Source::Option(_) => path,
            Source::File(_, directory) => directory.join(path),
        })
    }

    /// Reads the keys in the file that is named.
    pub(super) fn keys_of_file(&self) -> Result<Vec<Key>, String> {
        match self.source {
            Source::Option(_) => self.text(|name| read_keys(Path::new(name))),
            Source::File(_, directory) => self.text(|name| read_keys(&directory.join(name))),
        }
    }

    /// Parses a whole number that is not negative.
    pub(super) fn whole(&self) -> Result<u64, String> {
        let range = format!("a whole number from 0 to {}", i64::MAX);
        match self.source {
            Source::Option(_) => self.text(|text| {
                let number = text.parse().ok();
                number.filter(|it| *it <= i64::MAX as u64).ok_or_else(|| format!("choose {range}"))
            }),
            Source::File(value, _) => {
                let number = value.as_integer();
                let number =
                    number.and_then(|it| u64::from_str_radix(it.as_str(), it.radix()).ok());
                let number = number.filter(|it| *it <= i64::MAX as u64);
                number.map_or_else(|| self.refuse_kind(&range), Ok)
            }
        }
    }

    /// Parses a number in a range.
    pub(super) fn number(
        &self,
        range: &str,
        is_in_range: impl Fn(f64) -> bool,
    ) -> Result<f64, String> {
        let text = match self.source {
            Source::Option(texts) => texts.first().map(String::as_str),
            Source::File(DeValue::Float(number), _) => Some(number.as_str()),
            Source::File(DeValue::Integer(number), _) => Some(number.as_str()),
            Source::File(..) => None,
        };
        let number = text.and_then(|it| it.parse().ok()).filter(|it| is_in_range(*it));
        number.map_or_else(|| self.refuse_kind(&format!("a number, {range},")), Ok)
    }

    /// Parses `true` or `false`.
    pub(super) fn flag(&self) -> Result<bool, String> {
        match self.source {
            Source::Option(_) => self.text(values::switch),
            Source::File(DeValue::Boolean(flag), _) => Ok(*flag),
            Source::File(..) => self.refuse_kind("true or false, without quotes,"),
        }
    }

    /// Refuses a value of another kind than the field needs.
    fn refuse_kind<T>(&self, needed: &str) -> Result<T, String> {
        let Field { name, sample, .. } = self.field;
        Err(format!("{needed} is needed, as in {name} = {sample}"))
    }
}
