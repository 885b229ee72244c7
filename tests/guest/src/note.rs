//! What a test says on its way: shown when it fails, and not otherwise, so that the lines of tests stay
//! whole on a console that others write to as well.

use std::{
    panic::{catch_unwind, AssertUnwindSafe},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::Result;
use libtest_mimic::{Completion, Failed};

/// What the running test has said; one runs at a time.
static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn notes() -> MutexGuard<'static, Vec<String>> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says something.
pub fn note(text: impl Into<String>) {
    notes().push(text.into());
}

/// Runs a test; when it fails, what it has said comes with the reason.
pub fn run(test: impl FnOnce() -> Result<Completion>) -> Result<Completion, Failed> {
    notes().clear();
    let reason = match catch_unwind(AssertUnwindSafe(test)) {
        Ok(Ok(completion)) => return Ok(completion),
        Ok(Err(error)) => format!("{error:#}"),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_string()
        }
    };
    Err(Failed::from([notes().join("\n"), reason].join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_comes_with_the_reason() {
        let failed = run(|| {
            note("one");
            note("two");
            anyhow::bail!("three")
        });
        assert_eq!(failed.err().expect("it failed").message(), Some("one\ntwo\nthree"));
        let panicked = run(|| {
            note("four");
            panic!("five {}", 5)
        });
        assert_eq!(panicked.err().expect("it failed").message(), Some("four\nfive 5"));
    }
}
