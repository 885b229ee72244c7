//! Draws a life: a row for each block, time to the right.

use viaduct_bench::latency;

use super::stages::End;
use super::{Life, Span};
use crate::svg::{Anchor, Svg};

/// Pixels of a cycle.
const CYCLE: f64 = 2.05;
/// Where cycle 0 is.
const LEFT: f64 = 170.0;
/// Pixels of a row.
const ROW: f64 = 17.0;
/// Where the first row begins.
const TOP: f64 = 62.0;
/// Cycles between two lines of the grid.
const GRID: u64 = 20;
/// Pixels from the last cycle to the end of the column of sums, and to that of bounds.
const SUM: f64 = 40.0;
const BOUND: f64 = 78.0;
/// Pixels of a bar that has room for words.
const ROOM: f64 = 60.0;
/// Pixels of a line of text.
const LINE: f64 = 14.0;

/// The picture as SVG.
pub fn svg(life: &Life) -> String {
    let mut svg = Svg::default();
    let total: u64 = life.spans.iter().map(|span| span.cycles).sum();
    let physics: u64 =
        life.spans.iter().filter(|span| span.stage.physics.is_some()).map(|span| span.cycles).sum();
    let lanes = lanes(&life.spans);
    let (right, bottom) = (LEFT + total as f64 * CYCLE, TOP + lanes.len() as f64 * ROW);
    let conditions = latency::conditions(1);
    let title = format!("The life of a send of {} bytes, in cycles of the RTL", conditions.message);
    svg.text("title", Anchor::Start, 14.0, 24.0, &title);
    sides(&mut svg, &life.spans, &lanes, right);
    grid(&mut svg, total, bottom);
    for (row, lane) in lanes.iter().enumerate() {
        let y = TOP + row as f64 * ROW;
        let own: Vec<&Span> = life.spans.iter().filter(|span| span.stage.lane == *lane).collect();
        svg.text("", Anchor::End, LEFT - 8.0, y + 11.5, lane);
        for span in &own {
            bar(&mut svg, span, y);
        }
        let sum: u64 = own.iter().map(|span| span.cycles).sum();
        svg.text("head", Anchor::End, right + SUM, y + 12.0, &sum.to_string());
        let bound = |span: &&Span| span.stage.physics.map(|physics| (physics.bound)(&life.steps));
        let bounds: Vec<u64> = own.iter().filter_map(bound).collect();
        if !bounds.is_empty() {
            svg.text("dim", Anchor::End, right + BOUND, y + 12.0, &bounds.iter().sum::<u64>().to_string());
        }
    }
    svg.text("dim", Anchor::End, right + SUM, TOP - 10.0, "cycles");
    svg.text("dim", Anchor::End, right + BOUND, TOP - 10.0, "bound");
    svg.text("head", Anchor::End, right + SUM, bottom + 16.0, &total.to_string());
    svg.text("dim", Anchor::End, right + BOUND, bottom + 16.0, &life.steps.sum().to_string());
    let figure = &life.figure;
    let mut y = bottom + 36.0;
    for (class, line) in [
        ("physics", format!("{physics} cycles: PCIe, host memory and the wire")),
        ("logic", format!("{} cycles: the NICs' blocks", total - physics)),
    ] {
        svg.rectangle(class, [14.0, y - 8.0, 12.0, 9.0]);
        svg.text("", Anchor::Start, 32.0, y, &line);
        y += LINE;
    }
    for line in [
        format!("{total} cycles are {:.2} times the physical bound of {}.", figure.ratio(), figure.bound.value),
        format!("Bound: {}.", figure.bound.parts),
        format!(
            "A block's bar ends with the cycle in which it hands on. The wire is a cable with a rate of {} B/cycle; the switch is taken off.",
            conditions.rate
        ),
    ] {
        svg.text("dim", Anchor::Start, 14.0, y, &line);
        y += LINE;
    }
    svg.finish(&title, right + BOUND + 14.0, y)
}

/// The rows, in the order in which the send comes to them.
fn lanes(spans: &[Span]) -> Vec<&'static str> {
    let mut all: Vec<&str> = Vec::new();
    for span in spans {
        if !all.contains(&span.stage.lane) {
            all.push(span.stage.lane);
        }
    }
    all
}

/// What of the rows is the sender's, and what the receiver's.
fn sides(svg: &mut Svg, spans: &[Span], lanes: &[&str], right: f64) {
    for (name, is_sender) in [("sender", true), ("receiver", false)] {
        let is_own = |lane: &&&str| {
            let is_own = |span: &&Span| span.stage.lane == **lane && span.stage.is_sender == is_sender;
            spans.iter().find(is_own).is_some_and(|span| !matches!(span.stage.end, End::Arrives(..)))
        };
        let first = lanes.iter().position(|lane| is_own(&lane)).unwrap_or_default();
        let count = lanes.iter().filter(is_own).count();
        let y = TOP + first as f64 * ROW;
        svg.rectangle("room", [8.0, y + 1.0, right + BOUND - 2.0, count as f64 * ROW - 2.0]);
        svg.text("dim", Anchor::Start, 14.0, y + 12.0, name);
    }
}

fn grid(svg: &mut Svg, total: u64, bottom: f64) {
    for cycle in (0..=total).step_by(GRID as usize) {
        let x = LEFT + cycle as f64 * CYCLE;
        svg.path("grid", &format!("M{} {}V{}", crate::svg::short(x), TOP - 6.0, bottom));
        svg.text("dim", Anchor::Middle, x, TOP - 10.0, &cycle.to_string());
    }
}

fn bar(svg: &mut Svg, span: &Span, y: f64) {
    let (x, width) = (LEFT + span.from as f64 * CYCLE, span.cycles as f64 * CYCLE);
    let class = if span.stage.physics.is_some() { "physics" } else { "logic" };
    svg.rectangle(class, [x, y + 3.0, width, ROW - 6.0]);
    svg.text("", Anchor::Start, x + width + 3.0, y + 12.0, &span.cycles.to_string());
    if let Some(physics) = span.stage.physics.filter(|_| width > ROOM) {
        svg.text("", Anchor::Middle, x + width / 2.0, y + 12.0, physics.what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::stages::STAGES;

    #[test]
    fn a_block_has_one_row_and_stages_stand_in_it_one_behind_the_other() {
        let span = |number: usize, from| Span { stage: STAGES[number], from, cycles: 3 };
        let spans = [span(0, 0), span(1, 3), span(6, 6)];
        assert_eq!(lanes(&spans), ["PCIe and host memory", "edge/receive"]);
    }
}
