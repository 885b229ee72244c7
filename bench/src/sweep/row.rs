//! A measured point, as it is kept.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::point::{percent, Point};
use crate::figure::Figure;

/// A measured point, with what it was measured under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Tells it from the others.
    pub name: String,
    /// As measured.
    pub value: f64,
    /// Of value and bound.
    pub unit: String,
    /// What no logic could better.
    pub bound: f64,
    /// Value by bound.
    pub ratio: f64,
    /// latency, goodput or rate.
    pub kind: String,
    /// send, write or read.
    pub operation: String,
    /// Bytes of a message.
    pub message: usize,
    /// Bytes a cycle on the wire.
    pub link: u64,
    /// VIs with messages under way.
    pub vis: usize,
    /// Cycles of a round trip on the bus.
    pub round_trip: u64,
    /// Of 100 frames so many are lost.
    pub loss: f64,
}

impl Row {
    /// A point and its figure.
    pub fn new(point: &Point, figure: &Figure) -> Self {
        let short = |number: f64| (number * 1e4).round() / 1e4;
        let conditions = &point.conditions;
        Self {
            name: point.name(),
            value: short(figure.value),
            unit: figure.unit.into(),
            bound: short(figure.bound.value),
            ratio: short(figure.ratio()),
            kind: point.kind.name().into(),
            operation: conditions.way.name().into(),
            message: conditions.message,
            link: conditions.rate,
            vis: conditions.connections,
            round_trip: conditions.round_trip,
            loss: percent(conditions.loss.per_mille),
        }
    }

    /// Its line.
    pub fn text(&self) -> String {
        let Self { name, value, bound, ratio, unit, .. } = self;
        format!("{name:48} {value:11.3} {bound:11.3} {ratio:7.3}  {unit}\n")
    }
}

/// The head of the lines.
pub fn head() -> String {
    format!("{:48} {:>11} {:>11} {:>7}  unit\n", "point", "value", "bound", "ratio")
}

/// All rows as a JSON array.
///
/// # Errors
/// A number is none.
pub fn json(rows: &[Row]) -> Result<String> {
    Ok(serde_json::to_string_pretty(rows)? + "\n")
}

/// The rows of such an array.
///
/// # Errors
/// It is none.
pub fn parse(json: &str) -> Result<Vec<Row>> {
    Ok(serde_json::from_str(json)?)
}

#[cfg(test)]
mod tests {
    use super::super::points;
    use super::*;
    use crate::bound::Bound;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let bound = Bound { value: 100.0, parts: String::new() };
        let figure =
            Figure { name: String::new(), value: 123.456_78, unit: "cycles", bound, how: String::new() };
        let rows: Vec<Row> = points().iter().map(|point| Row::new(point, &figure)).collect();
        assert_eq!(rows[0].ratio, 1.2346);
        assert_eq!(parse(&json(&rows).unwrap()).unwrap(), rows);
        assert!(parse("[{}]").is_err());
    }
}
