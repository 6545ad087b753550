//! Environment variables that stand for options, and the source of each value.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use hustings_agent::config::fields::{self, variable};
use hustings_agent::config::values::nearest;

use crate::failure::say;

const PREFIX: &str = "HUSTINGS_";

/// The options of agents that are no fields of the configuration file.
const OTHER_OPTIONS: [&str; 2] = ["--config", "--log"];

/// The options whose variables may hold any bytes, because they name files or are read without clap.
const ANY_BYTES: [&str; 3] = ["--config", "--key", "--key-file"];

/// The variables that `hustings run` sets for its command besides the group. The command may be
/// `hustings` again.
const HANDED_ON: [&str; 2] = ["HUSTINGS_LEADER", "HUSTINGS_FENCE"];

/// Returns every option that has a variable.
fn options() -> impl Iterator<Item = String> {
    let fields = fields::all().filter(|field| field.option.is_some());
    let of_fields = fields.map(|field| format!("--{}", field.name));
    of_fields.chain(OTHER_OPTIONS.map(str::to_owned))
}

/// Returns the source of an option's value: the option itself, or its variable.
pub(crate) fn given_by(option: &str) -> String {
    let variable = variable(option);
    let is_given = std::env::var_os(&variable).is_some();
    match options().any(|it| it == option) && is_given && !is_on_command_line(option) {
        true => variable,
        false => option.to_owned(),
    }
}

fn is_on_command_line(option: &str) -> bool {
    let is_it = |argument: &str| {
        let rest = argument.strip_prefix(option);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    command_line()
        .map(|argument| argument.to_string_lossy().into_owned())
        .any(|argument| is_it(&argument))
}

fn command_line() -> impl Iterator<Item = OsString> {
    // Arguments after `--` belong to another program.
    std::env::args_os().take_while(|argument| argument != "--")
}

/// Corrects an error of clap, which always names the option, to name the variable that caused it.
pub(crate) fn name_variable(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(variable) = not_text()
    {
        let what = format!("{variable} is not UTF-8 text: set it again\n");
        return clap::Error::raw(ErrorKind::InvalidUtf8, what);
    }
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) {
        let end = argument.find([' ', '[']).unwrap_or(argument.len());
        let option = &argument[..end];
        let source = given_by(option);
        if source != option {
            error.insert(ContextKind::InvalidArg, ContextValue::String(source));
        }
    }
    error
}

/// Returns the variable whose value is not text; clap does not name it.
fn not_text() -> Option<String> {
    if command_line().any(|argument| argument.to_str().is_none()) {
        return None;
    }
    let is_text =
        |variable| std::env::var_os(variable).is_none_or(|value| value.to_str().is_some());
    let may_fail = |option: &&str| !ANY_BYTES.contains(option) && !is_on_command_line(option);
    let option = options().find(|option| !is_text(variable(option)) && may_fail(&option.as_str()));
    option.map(|option| variable(&option))
}

/// Warns of variables with the prefix `HUSTINGS_` that have no effect. A user who set one expects an
/// effect.
pub(crate) fn warn() {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    for warning in names.filter_map(|name| warning(&name)) {
        say(&format!("warning: {warning}"));
    }
}

fn warning(name: &str) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?;
    let known: Vec<String> = options().map(|option| variable(&option)).collect();
    if HANDED_ON.contains(&name) || known.iter().any(|known| known == name) {
        return None;
    }
    // The common prefix says nothing about similarity.
    let remedy = match nearest(rest, known.iter().filter_map(|it| it.strip_prefix(PREFIX))) {
        Some(nearest) => format!("did you mean {PREFIX}{nearest}?"),
        None => "`hustings agent --help` lists the variables".to_owned(),
    };
    Some(format!("{name} is not a variable of hustings and has no effect: {remedy}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::{options, variable, warning};
    use crate::commands::Arguments;

    /// Returns the variables of a command and its subcommands, each with its option.
    fn variables(command: &clap::Command) -> BTreeSet<(String, String)> {
        let arguments = command.get_arguments().filter_map(|argument| {
            let variable = argument.get_env()?.to_string_lossy().into_owned();
            Some((variable, format!("--{}", argument.get_long()?)))
        });
        let below = command.get_subcommands().flat_map(variables);
        arguments.chain(below).collect()
    }

    #[test]
    fn every_variable_is_known() {
        let mut declared = variables(&Arguments::command());
        // These are read without clap, whose help would show the key.
        for (variable, option) in [("HUSTINGS_KEY", "--key"), ("HUSTINGS_KEY_FILE", "--key-file")] {
            declared.insert((variable.to_owned(), option.to_owned()));
        }
        let known = options().map(|option| (variable(&option), option));
        assert_eq!(declared, known.collect());
    }

    #[test]
    fn unknown_variables_cause_a_warning() {
        for ours in
            ["HUSTINGS_GROUP", "HUSTINGS_LEADER", "HUSTINGS_FENCE", "HUSTINGS_KEY_FILE", "PATH"]
        {
            assert_eq!(warning(ours), None);
        }
        for (name, remedy) in [
            ("HUSTINGS_GRUOP", "did you mean HUSTINGS_GROUP?"),
            ("HUSTINGS_KEYFILE", "did you mean HUSTINGS_KEY_FILE?"),
            ("HUSTINGS_COLOUR", "`hustings agent --help` lists the variables"),
        ] {
            let expected = format!(
                "{name} is not a variable of hustings and has no effect: \
                                    {remedy}"
            );
            assert_eq!(warning(name), Some(expected));
        }
    }
}
