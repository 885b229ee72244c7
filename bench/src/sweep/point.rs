//! One point of the sweep.

use anyhow::{Context, Result};

use super::Row;
use crate::conditions::Conditions;
use crate::figure::Figure;
use crate::goodput::{goodput, lossy, rate};
use crate::latency;
use crate::pair::Pair;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Cycles of one send with no other under way.
    Latency,
    /// Bytes of payload a cycle.
    Goodput,
    /// Cycles a message.
    Rate,
}

impl Kind {
    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Goodput => "goodput",
            Self::Rate => "rate",
        }
    }
}

/// The seeds of a point with loss.
const SEEDS: [u64; 4] = [201, 202, 203, 204];
/// From here on a message is long: few of them are measured.
const LONG: usize = 256 << 10;

/// What is measured under which conditions.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// What.
    pub kind: Kind,
    /// Under which conditions; the seed of the loss does not count.
    pub conditions: Conditions,
}

impl Point {
    /// A name that tells it from the others.
    pub fn name(&self) -> String {
        let Conditions { way, rate, round_trip, loss, connections, message, .. } = self.conditions;
        format!(
            "{}_{message}B_{}_link{rate}_vi{connections}_rtt{round_trip}_loss{}",
            way.name(),
            self.kind.name(),
            percent(loss.per_mille)
        )
    }

    /// Measures it.
    ///
    /// # Errors
    /// A message does not arrive or is damaged, or a rule of the bus is broken.
    pub fn measure(&self) -> Result<Row> {
        Ok(Row::new(self, &self.figure()?))
    }

    fn figure(&self) -> Result<Figure> {
        let (name, conditions) = (self.name(), self.conditions);
        let lost = conditions.loss.per_mille;
        if lost != 0 {
            return lossy(&name, &conditions, lost, &SEEDS, 1);
        }
        let pair = Pair::new(conditions, None)?;
        let figure = match self.kind {
            Kind::Latency => latency::measure(&name, &pair).map(|measured| measured.figure),
            Kind::Goodput => {
                let window = conditions.window;
                let (messages, skip) =
                    if conditions.message >= LONG { (5, 1) } else { (3 * window + 2, window) };
                goodput(&name, &pair, (messages, skip))
            }
            Kind::Rate => rate(&name, &pair),
        };
        figure.with_context(|| pair.counters())
    }
}

/// A rate of loss in per cent.
pub fn percent(per_mille: u32) -> f64 {
    f64::from(per_mille) / 10.0
}
