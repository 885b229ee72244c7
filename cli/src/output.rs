//! What the commands write to standard output.

use std::io::{self, Write};

/// Prints a text, and ends the line.
///
/// # Errors
/// It cannot be written; but a reader that has gone has seen enough.
pub fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        // A reader that has seen enough, such as `head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
