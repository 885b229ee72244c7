//! A recording as a file.
//!
//! ```text
//!   reset tlp_rx_valid ...                      the inputs
//!   tlp_rx_np_ready ...                         the outputs
//!   <cycle> <input> ... <output> ...            one line a cycle, in hexadecimal
//! ```

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{ensure, Context, Result};

use crate::recording::{Recording, Row};

/// Writes the file.
///
/// # Errors
/// It cannot be written.
pub fn write(recording: &Recording, path: &Path) -> Result<()> {
    let Recording { inputs, outputs, rows } = recording;
    let mut text = format!("{}\n{}\n", inputs.join(" "), outputs.join(" "));
    for row in rows {
        let _ = write!(text, "{:x}", row.cycle);
        for value in row.inputs.iter().chain(&row.outputs) {
            let _ = write!(text, " {value:x}");
        }
        text.push('\n');
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

/// Reads the file.
///
/// # Errors
/// It cannot be read, or a line is not what it should be; the message names it.
pub fn read(path: &Path) -> Result<Recording> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut lines = text.lines();
    let mut names = || -> Vec<String> {
        lines.next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let (inputs, outputs) = (names(), names());
    let wanted = 1 + inputs.len() + outputs.len();
    let mut rows = Vec::new();
    for (number, line) in lines.enumerate() {
        let place = || format!("{}, line {}", path.display(), number + 3);
        let values = line.split(' ').map(|value| u64::from_str_radix(value, 16));
        let values = values.collect::<Result<Vec<u64>, _>>().with_context(place)?;
        ensure!(values.len() == wanted, "{} has {} numbers, not {wanted}", place(), values.len());
        let (given, shown) = values[1..].split_at(inputs.len());
        rows.push(Row { cycle: values[0], inputs: given.to_vec(), outputs: shown.to_vec() });
    }
    Ok(Recording { inputs, outputs, rows })
}
