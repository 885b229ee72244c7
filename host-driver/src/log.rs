//! The log: what the driver, the library and the programs do, line by line on standard error. The variable `VIADUCT_LOG` says how much of
//! it. It is a filter of `tracing`'s: levels, and levels of single parts.
//!
//! A library only emits events, and the program decides where they go: a Rust program may have a subscriber of its own, and needs nothing of
//! this file. Programs that have none call [`start`].
//!
//! What is called for each descriptor emits nothing: no post, no look for a completion, no doorbell.

use std::{
    env,
    ffi::OsStr,
    io::{stderr, IsTerminal},
    sync::OnceLock,
};

use tracing_subscriber::EnvFilter;

/// Names the filter.
pub const VARIABLE: &str = "VIADUCT_LOG";

/// Who emits events. A filter names one of these, or a module of one.
const PARTS: [&str; 7] =
    ["viaduct_driver", "vipl", "viad", "viaduct", "viaduct_sim", "viaduct_walk", "viaduct_fi"];
/// How much is said, from nothing on.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// What is wrong with a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE}: {0}")]
pub struct WrongFilter(String);

/// From now on events that the filter lets through are written to standard error. Without the variable, or with an empty one, that is
/// `default`; None: nothing is.
///
/// The first call of the process counts; later ones change nothing, and return what it returned. A subscriber that the program has set
/// before stays.
///
/// # Errors
/// The variable is no filter; then nothing is written.
pub fn start(default: Option<&str>) -> Result<(), WrongFilter> {
    static STARTED: OnceLock<Result<(), WrongFilter>> = OnceLock::new();
    let begin = || {
        let value = env::var_os(VARIABLE);
        let Some(filter) = chosen(value.as_deref(), default)? else { return Ok(()) };
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(stderr)
            .with_ansi(stderr().is_terminal())
            .finish();
        // An error says that the program has a subscriber already: it decides what becomes of events.
        let _ = tracing::subscriber::set_global_default(subscriber);
        Ok(())
    };
    STARTED.get_or_init(begin).clone()
}

/// The filter that is in force; None: there is none, and nothing is written.
fn chosen(value: Option<&OsStr>, default: Option<&str>) -> Result<Option<EnvFilter>, WrongFilter> {
    let text = match value.filter(|value| !value.is_empty()) {
        Some(value) => Some(value.to_str().ok_or_else(|| WrongFilter("it is not UTF-8".into()))?),
        None => default,
    };
    text.map(filter).transpose()
}

/// A filter from its text.
fn filter(text: &str) -> Result<EnvFilter, WrongFilter> {
    let wrong = |part: &str| {
        WrongFilter(format!(
            "{part:?} is neither LEVEL nor PART=LEVEL, of which a filter is a list with commas between; a level is one of {}; a part is \
             one of {}, or a module of one (viaduct_driver::vfio)",
            LEVELS.join(", "),
            PARTS.join(", ")
        ))
    };
    let directives: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if directives.is_empty() {
        return Err(wrong(text));
    }
    if let Some(part) = directives.iter().find(|directive| !is_directive(directive)) {
        return Err(wrong(part));
    }
    EnvFilter::builder()
        .parse(directives.join(","))
        .map_err(|error| WrongFilter(format!("{text:?}: {error}")))
}

/// Whether it is `LEVEL` or `PART=LEVEL`. `tracing-subscriber` takes every other word for a part of which all is wanted, so a level that is
/// misspelt would silently be a part that nobody has.
fn is_directive(directive: &str) -> bool {
    let is_level = |text: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text));
    let is_part = |text: &str| PARTS.contains(&text.split("::").next().unwrap_or_default());
    match directive.split_once('=') {
        Some((part, level)) => is_part(part) && is_level(level),
        None => is_level(directive),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn filters_are_levels_and_levels_of_parts() {
        for text in ["off", "debug", "Info", "warn,viaduct_driver::vfio=trace", " vipl=debug , viad=off,"] {
            filter(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        for (text, part) in [
            ("loud", "\"loud\""),
            ("debug,vipl", "\"vipl\""),
            ("viad=loud", "\"viad=loud\""),
            ("viadd=debug", "\"viadd=debug\""),
            ("vipl=", "\"vipl=\""),
            ("vipl=debug=info", "\"vipl=debug=info\""),
            (",", "\",\""),
        ] {
            let error = filter(text).expect_err("no filter").to_string();
            assert!(
                error.starts_with(&format!("VIADUCT_LOG: {part} is neither LEVEL nor PART=LEVEL")),
                "{error}"
            );
        }
    }

    #[test]
    fn without_the_variable_the_default_counts() {
        let text = |value: Option<&[u8]>, default| {
            let chosen = chosen(value.map(OsStr::from_bytes), default);
            chosen.map(|filter| filter.map(|filter| filter.to_string())).map_err(|error| error.to_string())
        };
        assert_eq!(text(None, None), Ok(None));
        assert_eq!(text(Some(b""), None), Ok(None));
        assert_eq!(text(None, Some("info")), Ok(Some("info".into())));
        assert_eq!(text(Some(b"warn"), Some("info")), Ok(Some("warn".into())));
        assert_eq!(text(Some(b"\xff"), None), Err("VIADUCT_LOG: it is not UTF-8".into()));
        assert!(text(Some(b"loud"), Some("info")).is_err_and(|error| error.contains("\"loud\"")));
    }
}
