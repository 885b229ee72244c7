//! What the pins of a NIC see and show, cycle by cycle.
//!
//! Cycles that the simulation skips, because nothing happens in them, are not in it.
//!
//! The names are those of the structs' fields, as `Debug` shows them: so this file records the NIC of any commit, with the ports that it
//! has there.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{bail, Context, Result};
use viaduct_sim::clock::Cycle;
use viaduct_sim::network::Probe;
use viaduct_sim::nic::{NicIn, NicOut};

/// The pins in one cycle.
pub type Seen = (Cycle, NicIn, NicOut);

/// Keeps what the pins of a NIC see and show.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Seen>>>);

impl Recorder {
    /// For [`Network::probe`](viaduct_sim::network::Network::probe).
    pub fn probe(&self) -> Probe {
        let seen = self.0.clone();
        Box::new(move |now, input, output| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((now, *input, *output));
        })
    }

    /// What has been kept; it is kept no longer.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The pins of a NIC over many cycles, by the names of its ports.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The inputs but the clock.
    pub inputs: Vec<String>,
    /// The outputs.
    pub outputs: Vec<String>,
    /// The cycles, in order.
    pub rows: Vec<Row>,
}

/// The pins in one cycle, in the order of the names.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// When.
    pub cycle: Cycle,
    /// What is driven.
    pub inputs: Vec<u64>,
    /// What is shown at the clock edge that ends the cycle.
    pub outputs: Vec<u64>,
}

impl Recording {
    /// From what has been kept.
    ///
    /// # Errors
    /// A pin is no number.
    pub fn of(seen: &[Seen]) -> Result<Self> {
        let names = |pins: &dyn Debug| -> Result<Vec<String>> {
            Ok(pairs(pins)?.into_iter().map(|(name, _)| name).collect())
        };
        let values = |pins: &dyn Debug| -> Result<Vec<u64>> {
            Ok(pairs(pins)?.into_iter().map(|(_, value)| value).collect())
        };
        let row = |(cycle, input, output): &Seen| -> Result<Row> {
            Ok(Row { cycle: *cycle, inputs: values(input)?, outputs: values(output)? })
        };
        let (inputs, outputs) = (names(&NicIn::default())?, names(&NicOut::default())?);
        Ok(Self { inputs, outputs, rows: seen.iter().map(row).collect::<Result<_>>()? })
    }
}

/// The names and numbers of a struct's fields.
fn pairs(pins: &dyn Debug) -> Result<Vec<(String, u64)>> {
    let text = format!("{pins:?}");
    let (_, fields) = text.split_once('{').with_context(|| format!("{text} has no fields"))?;
    let mut pairs = Vec::new();
    for field in fields.trim_end_matches('}').split(',') {
        let Some((name, value)) = field.split_once(':') else { bail!("{field:?} is no field") };
        let value = match value.trim() {
            "false" => 0,
            "true" => 1,
            number => number.parse().with_context(|| format!("{field:?} is no number"))?,
        };
        pairs.push((name.trim().to_owned(), value));
    }
    Ok(pairs)
}
