//! The table: every figure that has a name.

use std::path::PathBuf;

use anyhow::{ensure, Context, Result};
use vipl::Mtu;

use crate::bound::Bound;
use crate::conditions::Conditions;
use crate::figure::Figure;
use crate::goodput::{self, goodput, rate};
use crate::pair::Pair;
use crate::way::Way;
use crate::{latency, parallel, SHORT};

/// What else is wanted of a measurement.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Shows what crosses the NICs' edges during a message too.
    pub timeline: bool,
    /// Records the waveforms of NIC 0 here and those of NIC 1 beside it.
    pub trace: Option<PathBuf>,
}

/// How a figure is measured.
type Measure = fn(&str, &Conditions, &Options) -> Result<Figure>;

/// A figure that can be measured.
#[derive(Debug, Clone, Copy)]
pub struct Measurement {
    /// Its name.
    pub name: &'static str,
    conditions: Conditions,
    measure: Measure,
}

impl Measurement {
    /// Measures it.
    ///
    /// # Errors
    /// A message does not arrive or is damaged, or a rule of the bus is broken.
    pub fn run(&self, options: &Options) -> Result<Figure> {
        (self.measure)(self.name, &self.conditions, options).with_context(|| self.name)
    }
}

/// Every figure.
pub const MEASUREMENTS: &[Measurement] = &[
    row("send_8B_latency_link1", latency::conditions(1), one_latency),
    row("send_8B_latency_link8", latency::conditions(8), one_latency),
    row("send_8B_latency_pcie_link1", behind_a_lane(latency::conditions(1)), one_latency),
    row("send_8B_latency_pcie_link8", behind_a_lane(latency::conditions(8)), one_latency),
    row("pcie_added_latency_link1", behind_a_lane(latency::conditions(1)), added_latency),
    row("pcie_added_latency_link8", behind_a_lane(latency::conditions(8)), added_latency),
    row("send_64K_goodput_link1", long(Way::Send, 1), one_goodput),
    row("send_64K_goodput_link8", long(Way::Send, 8), one_goodput),
    row("write_64K_goodput_link1", long(Way::Write, 1), one_goodput),
    row("write_64K_goodput_link8", long(Way::Write, 8), one_goodput),
    row("read_64K_goodput_link8", long(Way::Read, 8), one_goodput),
    row("send_64K_goodput_pcie_link8", behind_a_lane(long(Way::Send, 8)), one_goodput),
    row("write_64K_goodput_pcie_link8", behind_a_lane(long(Way::Write, 8)), one_goodput),
    row("read_64K_goodput_pcie_link8", behind_a_lane(long(Way::Read, 8)), one_goodput),
    row("bidir_64K_goodput_link8", Conditions { both: true, ..long(Way::Write, 8) }, one_goodput),
    row("send_8B_rate_vi1", short(1, 256), one_rate),
    row("send_8B_rate_vi16", short(16, 32), one_rate),
    row("send_8B_rate_vi64", short(64, 8), one_rate),
    row("write_64K_goodput_link1_loss1", long(Way::Write, 1), lossy_goodput),
];

const fn row(name: &'static str, conditions: Conditions, measure: Measure) -> Measurement {
    Measurement { name, conditions, measure }
}

/// Long messages on one connection; `link`: bytes a cycle on the wire.
pub const fn long(way: Way, link: u64) -> Conditions {
    Conditions { way, rate: link, message: 64 << 10, window: 8, ..Conditions::USUAL }
}

/// The same over the endpoint and a lane of PCI Express at either host.
const fn behind_a_lane(conditions: Conditions) -> Conditions {
    Conditions { lane: true, ..conditions }
}

/// Short sends, `window` at a time on each of so many connections, on the fast wire.
const fn short(connections: usize, window: usize) -> Conditions {
    Conditions { mtu: Mtu::DEFAULT, connections, message: SHORT, window, ..Conditions::USUAL }
}

/// Two hosts for a measurement; what goes wrong is told with the NICs' counters.
fn measured(
    conditions: &Conditions,
    options: &Options,
    measure: impl FnOnce(&Pair) -> Result<Figure>,
) -> Result<Figure> {
    let pair = Pair::new(*conditions, options.trace.clone())?;
    measure(&pair).with_context(|| pair.counters())
}

fn one_latency(name: &str, conditions: &Conditions, options: &Options) -> Result<Figure> {
    measured(conditions, options, |pair| {
        let mut measured = latency::measure(name, pair)?;
        if options.timeline {
            let timeline = latency::timeline(&measured.passages[measured.median]);
            measured.figure.how += &format!("\n{}", timeline.trim_end());
        }
        Ok(measured.figure)
    })
}

/// What two endpoints with their lanes add to a message: its latency under these conditions, less that at the cores' own edges.
fn added_latency(name: &str, conditions: &Conditions, options: &Options) -> Result<Figure> {
    ensure!(options.trace.is_none(), "{name} is of two runs, which have no waveform: ask for another figure");
    let latency = |lane| {
        let conditions = Conditions { lane, ..*conditions };
        measured(&conditions, options, |pair| Ok(latency::measure(name, pair)?.figure))
    };
    let (with, without) = (latency(true)?, latency(false)?);
    let parts = format!(
        "packets over two lanes {}, less those at two edges {}",
        with.bound.value, without.bound.value
    );
    let bound = Bound { value: with.bound.value - without.bound.value, parts };
    let how = format!("{} cycles with both endpoints and lanes, less {} without", with.value, without.value);
    Ok(Figure { name: name.into(), value: with.value - without.value, unit: "cycles", bound, how })
}

fn one_goodput(name: &str, conditions: &Conditions, options: &Options) -> Result<Figure> {
    measured(conditions, options, |pair| goodput(name, pair, (32, 8)))
}

fn one_rate(name: &str, conditions: &Conditions, options: &Options) -> Result<Figure> {
    measured(conditions, options, |pair| rate(name, pair))
}

/// The seeds that say which frames are lost.
const SEEDS: [u64; 10] = [101, 102, 103, 104, 105, 106, 107, 108, 109, 110];
/// Of 1000 frames so many are lost.
const LOST: u32 = 10;

fn lossy_goodput(name: &str, conditions: &Conditions, options: &Options) -> Result<Figure> {
    ensure!(options.trace.is_none(), "{} runs have no waveform: ask for another figure", SEEDS.len());
    goodput::lossy(name, conditions, LOST, &SEEDS, parallel::processors())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_name_is_given_once() {
        let names: BTreeSet<_> = MEASUREMENTS.iter().map(|measurement| measurement.name).collect();
        assert_eq!(names.len(), MEASUREMENTS.len());
    }
}
