//! The configuration of an agent: a file, and options that override it.
//!
//! The options follow from the [table](fields) of the fields of the file.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use hustings_agent::AgentConfig;
use hustings_agent::config::fields::{self, Arity, CliOption, Field};
use hustings_agent::config::partial::PartialConfig;
use hustings_agent::config::values::{self, ProtocolName};
use hustings_agent::config::{Place, file};
use hustings_agent::seal::Key;

use super::environment;
use crate::failure::{Failure, say};

/// The options that configure an agent.
#[derive(Debug, Args)]
pub(crate) struct AgentOptions {
    /// The configuration file: see `hustings config example`. Options override it
    #[arg(long, value_name = "FILE", env = "HUSTINGS_CONFIG")]
    config: Option<PathBuf>,

    #[command(flatten)]
    overrides: Overrides,
}

/// Options that override the configuration file.
#[derive(Debug)]
pub(crate) struct Overrides {
    /// The options that were given, by the command line or the environment.
    given: Vec<Given>,
    // clap does not read the environment for these, because its help would show the key.
    key: Option<String>,
    key_file: Option<PathBuf>,
}

/// An option that was given.
#[derive(Debug)]
struct Given {
    field: &'static Field,
    place: Place,
    texts: Vec<String>,
}

impl Args for Overrides {
    fn augment_args(command: Command) -> Command {
        let options = fields::all().filter_map(|field| Some((field, field.option.as_ref()?)));
        let mut options: Vec<_> = options.collect();
        options.sort_by_key(|(_, option)| option.position);
        let arguments = options.into_iter().map(|(field, option)| argument(field, option));
        command.next_help_heading("Configuration").args(arguments)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the argument of clap for an option.
fn argument(field: &'static Field, option: &CliOption) -> Arg {
    let CliOption { value_name, arity, .. } = *option;
    let several = match arity {
        Arity::Several => "; several with commas, or by repeating the option",
        Arity::One | Arity::Switch => "",
    };
    let default = match field.default {
        "" => String::new(),
        default => format!(". Default: {default}"),
    };
    let help = format!("{}{several}{default}", field.help);
    let argument = Arg::new(field.name).long(field.name).value_name(value_name);
    let variable = fields::variable(field.name);
    match field.name {
        "key" => {
            return argument.conflicts_with("key-file").help(format!("{help} [env: {variable}]"));
        }
        "key-file" => {
            let argument = argument.value_parser(value_parser!(PathBuf));
            return argument.help(format!("{help} [env: {variable}]"));
        }
        _ => {}
    }
    let check = |text: &str| field.check(text).map(|()| text.to_owned());
    let argument = argument.help(help).env(variable).hide_env_values(field.is_secret);
    let argument = argument.value_parser(check);
    match arity {
        // A negative value is refused as a value, not as an unknown option.
        Arity::One if value_name == "DURATION" => argument.allow_hyphen_values(true),
        Arity::One => argument.allow_negative_numbers(value_name == "N"),
        Arity::Several => argument.action(ArgAction::Append).value_delimiter(','),
        Arity::Switch => {
            argument.num_args(0..=1).require_equals(true).default_missing_value("true")
        }
    }
}

impl FromArgMatches for Overrides {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_key = |field: &Field| ["key", "key-file"].contains(&field.name);
        let options = fields::all().filter(|field| field.option.is_some() && !is_key(field));
        let given = options.filter_map(|field| {
            let texts = matches.get_many::<String>(field.name)?.cloned().collect();
            let place = match matches.value_source(field.name) {
                Some(ValueSource::EnvVariable) => Place::Variable(field.name),
                _ => Place::Option(field.name),
            };
            Some(Given { field, place, texts })
        });
        Ok(Self {
            given: given.collect(),
            key: matches.get_one("key").cloned(),
            key_file: matches.get_one("key-file").cloned(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl AgentOptions {
    /// Returns true if the command line or the environment sets this field.
    pub(crate) fn sets(&self, field: &str) -> bool {
        self.overrides.texts(field).is_some()
    }

    /// Returns the options about the election and tenure that the command line or the environment
    /// sets.
    pub(crate) fn elections(&self) -> Vec<&'static str> {
        const OPTIONS: [&str; 9] = [
            "protocol", "priority", "voters", "etcd", "postgres", "ttl", "state", "announce",
            "listen",
        ];
        let is_set = |option: &&str| match self.overrides.texts(option) {
            Some(texts) => *option != "protocol" || *texts != ["none"],
            None => false,
        };
        OPTIONS.into_iter().filter(is_set).collect()
    }

    /// Builds the configuration. Options override the environment, the environment overrides the
    /// file, and the file overrides defaults. Groups elect by `otherwise` if no setting names a
    /// protocol. Prints warnings about unknown variables and the file.
    pub(crate) fn config(&self, otherwise: Option<ProtocolName>) -> Result<AgentConfig, Failure> {
        environment::warn();
        self.overrides.config(self.config.as_deref(), otherwise)
    }
}

impl Overrides {
    /// Builds the configuration from `file`. Groups elect by `otherwise` if no setting names a
    /// protocol.
    pub(crate) fn config(
        &self,
        file: Option<&Path>,
        otherwise: Option<ProtocolName>,
    ) -> Result<AgentConfig, Failure> {
        let mut config = match file {
            Some(path) => file::read(path).map_err(Failure::usage)?,
            None => PartialConfig::default(),
        };
        self.apply_to(&mut config).map_err(Failure::Usage)?;
        if let Some(protocol) = otherwise {
            config.set_default_protocol(protocol);
        }
        for warning in &config.warnings {
            say(&format!("warning: {warning}"));
        }
        config.settle().map_err(Failure::usage)
    }

    fn apply_to(&self, config: &mut PartialConfig) -> Result<(), String> {
        // Options hold for the groups that `--group` leaves.
        let (of_group, others): (Vec<_>, Vec<_>) =
            self.given.iter().partition(|given| given.field.name == "group");
        for Given { field, place, texts } in of_group {
            config.override_by(field, *place, texts)?;
        }
        config.choose_group()?;
        for Given { field, place, texts } in others {
            let overridden = config.override_by(field, *place, texts);
            overridden.map_err(|error| format!("{place}: {error}"))?;
        }
        if let Some((place, keys)) = self.keys()? {
            config.set_keys(place, &keys);
        }
        Ok(())
    }

    fn texts(&self, field: &str) -> Option<&[String]> {
        let given = self.given.iter().find(|given| given.field.name == field);
        given.map(|given| &given.texts[..])
    }

    /// Returns the keys from the options, otherwise from the environment.
    fn keys(&self) -> Result<Option<(Place, Vec<Key>)>, String> {
        let from_environment = |name| {
            let value = std::env::var_os(fields::variable(name));
            value.filter(|value| !value.is_empty())
        };
        let (place, keys) = if let Some(key) = &self.key {
            (Place::Option("key"), values::only_key(key))
        } else if let Some(path) = &self.key_file {
            (Place::Option("key-file"), file::read_keys(path))
        } else if let Some(key) = from_environment("key") {
            (Place::Variable("key"), values::only_key(&key.to_string_lossy()))
        } else if let Some(path) = from_environment("key-file") {
            (Place::Variable("key-file"), file::read_keys(Path::new(&path)))
        } else {
            return Ok(None);
        };
        keys.map(|keys| Some((place, keys))).map_err(|error| format!("{place}: {error}"))
    }
}
