//! Flags for the options of the library: conversions, merges, recoveries, indexes.

use std::cell::RefCell;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::PathBuf;

use clap::builder::{ArgPredicate, PossibleValue, PossibleValuesParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use wharf::Registry;
use wharf::convert::{OptionSpec, OptionValue, Target};

thread_local! {
    /// The formats of the command that this thread parses: clap's derived functions take no arguments that could name them.
    static REGISTRY: RefCell<Registry> = const { RefCell::new(Registry::empty()) };
}

/// Runs `parse` with flags for the options of these formats.
pub(crate) fn with_flags_of<T>(registry: &Registry, parse: impl FnOnce() -> T) -> T {
    let outer = REGISTRY.replace(registry.clone());
    let parsed = parse();
    REGISTRY.set(outer);
    parsed
}

/// The targets of the formats that this thread parses for.
pub(crate) fn targets() -> Vec<Box<dyn Target>> {
    REGISTRY.with_borrow(Registry::targets)
}

/// The options of a verb: one flag for each of the library's list.
pub(crate) trait OptionList {
    /// The list.
    fn list() -> Vec<OptionSpec>;
}

/// The lists: a type each, so that clap can derive.
macro_rules! option_lists {
    ($($list:ident: $options:ident),+) => {
        $(#[derive(Debug, Clone)]
        pub(crate) struct $list;

        impl OptionList for $list {
            fn list() -> Vec<OptionSpec> {
                REGISTRY.with_borrow(Registry::$options)
            }
        })+
    };
}

/// The options of conversions without those that describe text inputs.
#[derive(Debug, Clone)]
pub(crate) struct OutputOptions;

impl OptionList for OutputOptions {
    fn list() -> Vec<OptionSpec> {
        let mut options = ConvertOptions::list();
        options.retain(|option| !matches!(option.name, "from" | "no_header" | "delimiter"));
        options
    }
}

option_lists!(ChangeOptions: change_options, ConvertOptions: options, IndexOptions: reindex_options, MergeOptions: merge_options, RecoverOptions: recover_options);

/// Options that were given, in the order of the library's list.
#[derive(Debug, Clone)]
pub(crate) struct Options<L>(Vec<(OptionSpec, OsString)>, PhantomData<L>);

impl<L> Options<L> {
    /// Names and values.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &OsString)> {
        self.0.iter().map(|(spec, value)| (spec.name, value))
    }

    /// Files that are read beside the inputs.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().filter(|(spec, _)| spec.value == OptionValue::File).map(|(_, path)| path.into())
    }
}

/// A help text whose references to other options become flags.
fn with_flags(help: &str) -> String {
    ["list", "rows", "bytes_per_block"]
        .iter()
        .fold(help.to_owned(), |text, name| text.replace(&format!("{{{name}}}"), &super::report::flag(name)))
}

fn arg(spec: OptionSpec) -> Arg {
    let arg = Arg::new(spec.name).long(spec.name.replace('_', "-")).help(with_flags(spec.help));
    let arg = if spec.group.is_empty() { arg } else { arg.help_heading(spec.group) };
    let arg =
        arg.conflicts_with_all(spec.excludes).requires_ifs(spec.requires.map(|other| (ArgPredicate::IsPresent, other)));
    let arg = if spec.value == OptionValue::Flag { arg } else { arg.value_name(spec.placeholder) };
    match spec.value {
        OptionValue::Flag => arg.action(ArgAction::SetTrue),
        OptionValue::Text => arg.value_parser(ValueParser::string()),
        OptionValue::Texts | OptionValue::Names | OptionValue::Pairs => {
            arg.action(ArgAction::Append).value_parser(ValueParser::string())
        }
        OptionValue::Character => arg.value_parser(value_parser!(char)),
        OptionValue::Integer(least, most) => match (i64::try_from(least), i64::try_from(most)) {
            // Signed, so that -1 is out of range rather than not a number.
            (Ok(least), Ok(most)) => arg.value_parser(value_parser!(i64).range(least..=most)),
            _ => arg.value_parser(value_parser!(u64).range(least..=most)),
        },
        OptionValue::Choice(words) => {
            let word = |(word, meaning): &(&'static str, &'static str)| match *meaning {
                "" => PossibleValue::new(*word).hide(true),
                meaning => PossibleValue::new(*word).help(meaning),
            };
            arg.value_parser(PossibleValuesParser::new(words.iter().map(word)))
        }
        _ => arg.value_parser(ValueParser::os_string()),
    }
}

impl<L: OptionList> Args for Options<L> {
    fn augment_args(command: Command) -> Command {
        command.args(L::list().into_iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<L: OptionList> FromArgMatches for Options<L> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self(Vec::new(), PhantomData);
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for spec in L::list() {
            let name = spec.name;
            if matches.value_source(name) != Some(ValueSource::CommandLine) {
                continue;
            }
            match spec.value {
                OptionValue::Flag => self.0.push((spec, OsString::new())),
                _ => self.0.extend(matches.get_raw(name).unwrap_or_default().map(|value| (spec, value.to_owned()))),
            }
        }
        Ok(())
    }
}
