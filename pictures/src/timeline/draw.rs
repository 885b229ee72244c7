//! Draws a life: a row for each block, time to the right.

use super::stages::End;
use super::{Life, Span};
use crate::svg::{Anchor, Svg};

/// Pixels of a cycle.
const CYCLE: f64 = 2.1;
/// Where cycle 0 is.
const LEFT: f64 = 176.0;
/// Pixels of a row.
const ROW: f64 = 17.0;
/// Where the first row begins.
const TOP: f64 = 62.0;
/// Cycles between two lines of the grid.
const GRID: u64 = 20;
/// Pixels of a bar that has room for words.
const ROOM: f64 = 60.0;
/// Pixels of a line of text.
const LINE: f64 = 14.0;

/// The picture as SVG.
pub fn svg(life: &Life) -> String {
    let mut svg = Svg::default();
    let total: u64 = life.spans.iter().map(|span| span.cycles).sum();
    let physics: u64 = life.spans.iter().filter(|span| span.stage.is_physics).map(|span| span.cycles).sum();
    let lanes = lanes(&life.spans);
    let (right, bottom) = (LEFT + total as f64 * CYCLE, TOP + lanes.len() as f64 * ROW);
    svg.text("title", Anchor::Start, 14.0, 24.0, "The life of an 8-byte send, in cycles of the RTL");
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
        svg.text("head", Anchor::End, right + 44.0, y + 12.0, &sum.to_string());
    }
    svg.text("head", Anchor::End, right + 44.0, bottom + 16.0, &total.to_string());
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
        format!("{} cycles of 8 ns; the physical bound is {}: {:.2} times it.", total, figure.bound.value, figure.ratio()),
        format!("Bound: {}.", figure.bound.parts),
        "A block's bar ends with the cycle in which it hands on; the wire is a cable of 1 Gb/s, and the switch between the NICs is taken off.".to_owned(),
    ] {
        svg.text("dim", Anchor::Start, 14.0, y, &line);
        y += LINE;
    }
    svg.finish("The life of an 8-byte send, in cycles of the RTL", right + 58.0, y)
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
        svg.rectangle("room", [8.0, y + 1.0, right + 42.0, count as f64 * ROW - 2.0]);
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
    let class = if span.stage.is_physics { "physics" } else { "logic" };
    svg.rectangle(class, [x, y + 3.0, width, ROW - 6.0]);
    svg.text("", Anchor::Start, x + width + 3.0, y + 12.0, &span.cycles.to_string());
    if width > ROOM {
        svg.text("", Anchor::Middle, x + width / 2.0, y + 12.0, span.stage.what);
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
