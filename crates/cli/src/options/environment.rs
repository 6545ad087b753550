//! Environment variables that stand for options, and the source of each value.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use hustings_agent::config::values::nearest;

const PREFIX: &str = "HUSTINGS_";

/// Every variable with its option.
const VARIABLES: [(&str, &str); 24] = [
    ("HUSTINGS_CONFIG", "--config"),
    ("HUSTINGS_GROUP", "--group"),
    ("HUSTINGS_NAME", "--name"),
    ("HUSTINGS_KEY", "--key"),
    ("HUSTINGS_KEY_FILE", "--key-file"),
    ("HUSTINGS_BIND", "--bind"),
    ("HUSTINGS_INTERFACE", "--interface"),
    ("HUSTINGS_JOIN", "--join"),
    ("HUSTINGS_MULTICAST", "--multicast"),
    ("HUSTINGS_PROTOCOL", "--protocol"),
    ("HUSTINGS_VIEW", "--view"),
    ("HUSTINGS_PRIORITY", "--priority"),
    ("HUSTINGS_VOTERS", "--voters"),
    ("HUSTINGS_ETCD", "--etcd"),
    ("HUSTINGS_POSTGRES", "--postgres"),
    ("HUSTINGS_TTL", "--ttl"),
    ("HUSTINGS_STATE", "--state"),
    ("HUSTINGS_ANNOUNCE", "--announce"),
    ("HUSTINGS_LISTEN", "--listen"),
    ("HUSTINGS_HTTP", "--http"),
    ("HUSTINGS_METRICS", "--metrics"),
    ("HUSTINGS_TRACE", "--trace"),
    ("HUSTINGS_INSECURE", "--insecure"),
    ("HUSTINGS_LOG", "--log"),
];

/// The variables whose value may be any bytes, because they name files or are read without clap.
const ANY_BYTES: [&str; 3] = ["HUSTINGS_CONFIG", "HUSTINGS_KEY", "HUSTINGS_KEY_FILE"];

/// The variables that `hustings run` sets for its command besides the group. The command may be
/// `hustings` again.
const HANDED_ON: [&str; 2] = ["HUSTINGS_LEADER", "HUSTINGS_FENCE"];

/// Returns the source of an option's value: the option itself, or its variable.
pub(crate) fn given_by(option: &str) -> &str {
    let is_given = |variable: &str| std::env::var_os(variable).is_some();
    let known = VARIABLES.iter().find(|(_, known)| *known == option);
    match known {
        Some((variable, _)) if is_given(variable) && !is_on_command_line(option) => variable,
        Some(_) | None => option,
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
        let what = format!("{variable} is not text in UTF-8: write it anew\n");
        return clap::Error::raw(ErrorKind::InvalidUtf8, what);
    }
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) {
        let end = argument.find([' ', '[']).unwrap_or(argument.len());
        let option = &argument[..end];
        let source = given_by(option);
        if source != option {
            let source = ContextValue::String(source.to_owned());
            error.insert(ContextKind::InvalidArg, source);
        }
    }
    error
}

/// Returns the variable whose value is not text; clap does not name it.
fn not_text() -> Option<&'static str> {
    if command_line().any(|argument| argument.to_str().is_none()) {
        return None;
    }
    let mut variables = VARIABLES.iter().filter(|(variable, option)| {
        let is_text = std::env::var_os(variable).is_none_or(|value| value.to_str().is_some());
        !is_text && !ANY_BYTES.contains(variable) && !is_on_command_line(option)
    });
    variables.next().map(|(variable, _)| *variable)
}

/// Warnings about variables with the prefix `HUSTINGS_` that have no effect. A user who set one
/// expects an effect.
pub(crate) fn warnings() -> Vec<String> {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    names.filter_map(|name| warning(&name)).collect()
}

fn warning(variable: &str) -> Option<String> {
    let name = variable.strip_prefix(PREFIX)?;
    let variables = VARIABLES.map(|(known, _)| known);
    let mut known = variables.into_iter().chain(HANDED_ON);
    if known.any(|known| known == variable) {
        return None;
    }
    // The common prefix says nothing about similarity.
    let names = variables.iter().filter_map(|it| it.strip_prefix(PREFIX));
    let remedy = match nearest(name, names) {
        Some(nearest) => format!("did you mean {PREFIX}{nearest}?"),
        None => "`hustings agent --help` names those that there are".to_owned(),
    };
    Some(format!("{variable} is no variable of hustings and has no effect: {remedy}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::{VARIABLES, warning};
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
        let known = VARIABLES.map(|(name, option)| (name.to_owned(), option.to_owned()));
        assert_eq!(declared, BTreeSet::from(known));
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
            ("HUSTINGS_COLOUR", "`hustings agent --help` names those that there are"),
        ] {
            let expected = format!("{name} is no variable of hustings and has no effect: {remedy}");
            assert_eq!(warning(name), Some(expected));
        }
    }
}
