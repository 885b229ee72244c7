//! Plots of what the bench has measured, drawn from the sweep that is kept in `docs/benchmarks/sweep.json`: each line of figures has its
//! bound beside it, dashed in the same colour.

mod chart;

use std::path::Path;

use anyhow::{ensure, Context, Result};
use viaduct_bench::sweep::{self, Row};
use viaduct_bench::way::Way;

use chart::{Axis, Line, Panel, Scale, SeriesLabelPosition};

/// Cycles of the usual round trip on the bus.
const ROUND_TRIP: u64 = 62;
/// Bytes a cycle on the wire.
const LINKS: [u64; 2] = [1, 8];
/// A megabyte, as a power of 2.
const MEBIBYTE: f64 = 20.0;

/// Goodput against the size of a message.
///
/// # Errors
/// The sweep cannot be read, or has no such rows.
pub fn goodput_by_size() -> Result<String> {
    let panel = |link: u64| Panel {
        title: format!("link {link}: {link} byte{} a cycle on the wire", if link == 1 { "" } else { "s" }),
        x: Axis { title: "bytes of a message", range: 0.0..MEBIBYTE, scale: Scale::Doublings },
        y: Axis { title: "bytes of payload a cycle", range: 0.0..link as f64, scale: Scale::Plain },
        names: SeriesLabelPosition::LowerRight,
    };
    let rows = usual()?;
    by_link(panel, |link| {
        by_way(&rows, |row| {
            (row.kind == "goodput" && row.loss == 0.0 && row.link == link).then_some(row.message as f64)
        })
    })
}

/// The latency of a send against its size.
///
/// # Errors
/// As [`goodput_by_size`].
pub fn latency_by_size() -> Result<String> {
    let panel = Panel {
        title: "one send, from the doorbell to the receiver's completion".into(),
        x: Axis { title: "bytes of a message", range: 0.0..MEBIBYTE, scale: Scale::Doublings },
        y: Axis { title: "cycles", range: 2.0..6.25, scale: Scale::Decades },
        names: SeriesLabelPosition::UpperLeft,
    };
    let rows = usual()?;
    let mut lines = Vec::new();
    for link in LINKS {
        let x = |row: &Row| (row.kind == "latency" && row.link == link).then_some(row.message as f64);
        lines.extend(pair(&rows, &format!("link {link}"), x)?);
    }
    chart::draw(&[(panel, lines)])
}

/// Cycles of a short message against the number of VIs.
///
/// # Errors
/// As [`goodput_by_size`].
pub fn rate_by_vis() -> Result<String> {
    let panel = |link: u64| Panel {
        title: format!("link {link}: messages of 8 bytes"),
        x: Axis { title: "VIs with messages under way", range: 0.0..6.0, scale: Scale::Doublings },
        y: Axis { title: "cycles a message", range: 2.5..8.5, scale: Scale::Doublings },
        names: if link == 1 { SeriesLabelPosition::LowerRight } else { SeriesLabelPosition::MiddleRight },
    };
    let rows = usual()?;
    by_link(panel, |link| {
        by_way(&rows, |row| (row.kind == "rate" && row.link == link).then_some(row.vis as f64))
    })
}

/// Goodput against the frames that the wire loses.
///
/// # Errors
/// As [`goodput_by_size`].
pub fn goodput_by_loss() -> Result<String> {
    let panel = |link: u64| Panel {
        title: format!("link {link}: messages of 64 KiB"),
        x: Axis { title: "frames lost, in per cent", range: 0.0..1.0, scale: Scale::Plain },
        y: Axis { title: "bytes of payload a cycle", range: 0.0..link as f64, scale: Scale::Plain },
        names: SeriesLabelPosition::LowerRight,
    };
    let rows = usual()?;
    by_link(panel, |link| {
        let is_one = |row: &Row| row.kind == "goodput" && row.message == 64 << 10 && row.link == link;
        by_way(&rows, |row| is_one(row).then_some(row.loss))
    })
}

/// The rows at the usual round trip.
fn usual() -> Result<Vec<Row>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/sweep.json");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let mut rows = sweep::parse(&text).with_context(|| file.display().to_string())?;
    rows.retain(|row| row.round_trip == ROUND_TRIP);
    Ok(rows)
}

/// A panel for each link, one beside the other.
fn by_link(panel: impl Fn(u64) -> Panel, lines: impl Fn(u64) -> Result<Vec<Line>>) -> Result<String> {
    let panels = LINKS.map(|link| Ok((panel(link), lines(link)?)));
    chart::draw(&panels.into_iter().collect::<Result<Vec<_>>>()?)
}

/// The lines of each operation.
fn by_way(rows: &[Row], x: impl Fn(&Row) -> Option<f64>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for way in Way::ALL {
        lines.extend(pair(rows, way.name(), |row| x(row).filter(|_| row.operation == way.name()))?);
    }
    Ok(lines)
}

/// The figures that have an `x`, and their bounds.
fn pair(rows: &[Row], name: &str, x: impl Fn(&Row) -> Option<f64>) -> Result<[Line; 2]> {
    let mut points: Vec<(f64, &Row)> = rows.iter().filter_map(|row| Some((x(row)?, row))).collect();
    ensure!(!points.is_empty(), "the sweep has nothing of {name}");
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let line = |dashed, y: fn(&Row) -> f64| Line {
        name: if dashed { format!("{name}: bound") } else { name.to_owned() },
        dashed,
        points: points.iter().map(|(x, row)| (*x, y(row))).collect(),
    };
    Ok([line(false, |row| row.value), line(true, |row| row.bound)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_left_to_right_beside_its_bound() {
        let row = |message, value| Row {
            name: String::new(),
            value,
            unit: "cycles".into(),
            bound: value / 2.0,
            ratio: 2.0,
            kind: "latency".into(),
            operation: "send".into(),
            message,
            link: 1,
            vis: 1,
            round_trip: ROUND_TRIP,
            loss: 0.0,
        };
        let rows = [row(64, 400.0), row(1, 300.0)];
        let [line, bound] = pair(&rows, "send", |row| Some(row.message as f64)).unwrap();
        assert_eq!(line.points, [(1.0, 300.0), (64.0, 400.0)]);
        assert_eq!(bound.points, [(1.0, 150.0), (64.0, 200.0)]);
        assert!(bound.dashed && !line.dashed);
        assert!(pair(&rows, "send", |_| None).is_err());
    }
}
