//! Reads what one signal of a waveform was in each cycle.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{anyhow, Context, Result};
use fst_reader::{FstFilter, FstHierarchyEntry, FstReader, FstSignalHandle, FstSignalValue};

/// Waveform time of a cycle; the clock rises in its middle, and signals have the cycle's values until then.
const CYCLE: u64 = 8;

/// Signals of one bit: each change, with the first cycle that has the new value.
pub type Changes = Vec<(u64, bool)>;

/// The signals of streams.
#[derive(Debug)]
pub struct Wave {
    signals: BTreeMap<String, Changes>,
    end: u64,
}

impl Wave {
    /// Reads the signals with these names, from the NIC's top on: `fetch.access_valid`. An interface's `access$valid` is called so, too.
    /// What the design does not have is left out.
    ///
    /// # Errors
    /// The file cannot be read, or is no waveform.
    pub fn read(file: &Path, names: &[String]) -> Result<Self> {
        let input = BufReader::new(File::open(file).with_context(|| file.display().to_string())?);
        let broken = |error| anyhow!("{}: {error}", file.display());
        let mut reader = FstReader::open(input).map_err(broken)?;
        let mut path: Vec<String> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut wanted: Vec<FstSignalHandle> = Vec::new();
        let entry = |entry| match entry {
            FstHierarchyEntry::Scope { name, .. } => path.push(name),
            FstHierarchyEntry::UpScope => drop(path.pop()),
            FstHierarchyEntry::Var { name, handle, .. } => {
                // The first two are the simulator's name for the model, and the top module.
                let scope = path.get(2..).unwrap_or_default();
                let own = scope.iter().map(String::as_str).chain([name.as_str()]);
                let full = own.collect::<Vec<_>>().join(".").replace('$', "_");
                if names.contains(&full) {
                    known.insert(full, handle.get_index());
                    wanted.push(handle);
                }
            }
            _ => {}
        };
        reader.read_hierarchy(entry).map_err(broken)?;
        let mut changes: BTreeMap<usize, Changes> = BTreeMap::new();
        let filter = FstFilter::filter_signals(wanted);
        let change = |time: u64, handle: FstSignalHandle, value: FstSignalValue| {
            let is_high = matches!(value, FstSignalValue::String(bits) if bits == b"1");
            changes.entry(handle.get_index()).or_default().push((time.div_ceil(CYCLE), is_high));
            Ok::<(), std::convert::Infallible>(())
        };
        reader.read_signals(&filter, change).map_err(|error| anyhow!("{}: {error}", file.display()))?;
        let end = reader.get_header().end_time / CYCLE;
        let signal =
            |(name, index): (String, usize)| (name, changes.get(&index).cloned().unwrap_or_default());
        Ok(Self { signals: known.into_iter().map(signal).collect(), end })
    }

    /// A waveform of these signals, which ends with a cycle.
    #[cfg(test)]
    pub fn of(signals: BTreeMap<String, Changes>, end: u64) -> Self {
        Self { signals, end }
    }

    /// Whether the signal is 1 in a cycle; nothing where there is no such signal.
    fn is_high(&self, name: &str, cycle: u64) -> Option<bool> {
        let changes = self.signals.get(name)?;
        let later = changes.partition_point(|(since, _)| *since <= cycle);
        Some(later.checked_sub(1).is_some_and(|last| changes[last].1))
    }

    /// Whether something passes in a cycle: `valid`, and `ready` where the stream has one.
    ///
    /// # Errors
    /// The design has no such stream.
    pub fn passes(&self, stream: &str, cycle: u64) -> Result<bool> {
        let valid = self.is_high(&format!("{stream}_valid"), cycle);
        let valid = valid.with_context(|| format!("the waveform has no stream `{stream}`"))?;
        Ok(valid && self.is_high(&format!("{stream}_ready"), cycle).unwrap_or(true))
    }

    /// The first cycle from `from` on in which something passes.
    ///
    /// # Errors
    /// There is none, or no such stream.
    pub fn first(&self, stream: &str, from: u64) -> Result<u64> {
        for cycle in from..=self.end {
            if self.passes(stream, cycle)? {
                return Ok(cycle);
            }
        }
        Err(anyhow!("nothing passes `{stream}` behind cycle {from} of the waveform"))
    }

    /// The cycles in which frames end, at the MAC's side `eth_tx` or `eth_rx`.
    ///
    /// # Errors
    /// The design has no such stream.
    pub fn frames(&self, side: &str) -> Result<Vec<u64>> {
        let mut ends = Vec::new();
        for cycle in 0..=self.end {
            if self.passes(side, cycle)? && self.is_high(&format!("{side}_last"), cycle) == Some(true) {
                ends.push(cycle);
            }
        }
        Ok(ends)
    }
}

/// The signals that tell of a stream.
pub fn signals(stream: &str) -> [String; 3] {
    ["valid", "ready", "last"].map(|signal| format!("{stream}_{signal}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave() -> Wave {
        let signals = [
            ("a.x_valid", vec![(0, false), (3, true), (6, false), (8, true), (9, false)]),
            ("a.x_ready", vec![(0, false), (5, true)]),
            ("b.y_valid", vec![(4, true), (5, false)]),
        ];
        let signals = signals.map(|(name, changes)| (name.to_owned(), changes));
        Wave::of(signals.into(), 12)
    }

    #[test]
    fn something_passes_when_both_sides_are_ready() {
        let wave = wave();
        let passes: Vec<u64> = (0..12).filter(|cycle| wave.passes("a.x", *cycle).unwrap()).collect();
        assert_eq!(passes, [5, 8]);
        assert_eq!(wave.first("a.x", 6).unwrap(), 8);
        assert_eq!(wave.first("b.y", 0).unwrap(), 4, "a stream without a ready");
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let text = |error: anyhow::Error| error.to_string();
        assert!(text(wave().first("a.x", 9).unwrap_err()).contains("nothing passes `a.x` behind cycle 9"));
        assert!(text(wave().first("c.z", 0).unwrap_err()).contains("has no stream `c.z`"));
    }
}
