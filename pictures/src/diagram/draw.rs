//! Draws the sheet.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{bail, Result};

use super::nets::{Net, Node, Pin, Sheet};
use super::place::{CELL, WIDTH};
use super::route::{Cell, Grid};
use crate::svg::{short, Anchor, Svg, COLOURS};

/// Cells of a strip's width.
const STRIP: i32 = 6;
/// Cells from a room's edge to its blocks.
const ROOM: i32 = 2;
/// How often the nets are led anew when one of them finds no way.
const TRIES: usize = 60;
/// Letters of a line of the legend.
const LETTERS: usize = 165;
/// Pixels of a line of the legend.
const LINE: f64 = 13.0;

/// The picture as SVG.
///
/// # Errors
/// There is no way left for a stream.
pub fn svg(sheet: &Sheet) -> Result<String> {
    let mut svg = Svg::default();
    let blocks: Vec<&Node> = sheet.nodes.iter().filter(|node| !is_strip(node)).collect();
    let edge = |of: fn(&Node) -> i32| blocks.iter().map(|node| of(node)).max().unwrap_or_default();
    let (right, bottom) = (edge(|node| node.at.0 + WIDTH), edge(|node| node.at.1 + node.height));
    let size = (right + 10, bottom + 5);
    let colours = rooms(&mut svg, &blocks);
    strips(&mut svg, sheet, size);
    wires(&mut svg, sheet, size, &colours)?;
    for node in &blocks {
        block(&mut svg, node, colours[room(node)]);
    }
    for pin in &sheet.pins {
        label(&mut svg, sheet, pin);
    }
    let mut y = f64::from(size.1) * CELL + LINE;
    svg.text("head", Anchor::Start, 14.0, y, "Not drawn");
    for line in sheet.legend.iter().flat_map(|line| folded(line)) {
        y += LINE;
        svg.text("", Anchor::Start, 14.0, y, &line);
    }
    Ok(svg.finish("The blocks of the NIC and the streams between them", f64::from(size.0) * CELL, y + LINE))
}

/// A line of the legend in pieces that fit into the picture.
fn folded(line: &str) -> Vec<String> {
    let mut pieces: Vec<String> = vec![String::new()];
    for word in line.split(' ') {
        let last = pieces.len() - 1;
        if pieces[last].len() + word.len() > LETTERS {
            pieces.push("    ".to_owned());
        }
        let piece = pieces.last_mut().expect("there is one");
        piece.push_str(word);
        piece.push(' ');
    }
    pieces
}

fn is_strip(node: &Node) -> bool {
    node.file.is_empty()
}

fn room(node: &Node) -> &str {
    node.file.split('/').next().unwrap_or(&node.file)
}

/// The rooms: left, upper, right and lower edge of what stands in each.
fn bounds<'a>(blocks: &[&'a Node]) -> BTreeMap<&'a str, [i32; 4]> {
    let mut all: BTreeMap<&str, [i32; 4]> = BTreeMap::new();
    for node in blocks {
        let (x, y) = node.at;
        let [left, top, right, bottom] = all.entry(room(node)).or_insert([x, y, x, y]);
        (*left, *top) = ((*left).min(x), (*top).min(y));
        (*right, *bottom) = ((*right).max(x + WIDTH), (*bottom).max(y + node.height));
    }
    all
}

/// Draws the rooms; gives the colour of each.
fn rooms<'a>(svg: &mut Svg, blocks: &[&'a Node]) -> BTreeMap<&'a str, usize> {
    let mut colours = BTreeMap::new();
    for (number, (name, [left, top, right, bottom])) in bounds(blocks).into_iter().enumerate() {
        let (x, y) = (pixels(left - ROOM), pixels(top - ROOM) - CELL);
        let (width, height) = (pixels(right - left + 2 * ROOM), pixels(bottom - top + 2 * ROOM));
        svg.rectangle("room", [x, y, width, height]);
        svg.text("dim", Anchor::Start, x + 5.0, y + 10.0, &format!("{name}/"));
        colours.insert(name, number % COLOURS);
    }
    colours
}

fn strips(svg: &mut Svg, sheet: &Sheet, size: Cell) {
    for node in sheet.nodes.iter().filter(|node| is_strip(node)) {
        let x = strip_edge(node, size);
        let x = if node.at.0 < 0 { x - STRIP } else { x };
        svg.rectangle("block", [pixels(x), pixels(2), pixels(STRIP), pixels(size.1 - 3)]);
        let middle = pixels(x) + pixels(STRIP) / 2.0;
        svg.text("head", Anchor::Middle, middle, pixels(5), if node.at.0 < 0 { "PCIe" } else { "Eth" });
    }
}

/// Where wires come to the strip.
fn strip_edge(node: &Node, size: Cell) -> i32 {
    if node.at.0 < 0 {
        1 + STRIP
    } else {
        size.0 - 1 - STRIP
    }
}

/// The cell where the net's wire comes to a pin; a strip's is in the row of the net's other end.
fn tip(sheet: &Sheet, net: &Net, pin: usize, size: Cell) -> Cell {
    let pin = &sheet.pins[pin];
    if is_strip(&sheet.nodes[pin.node]) {
        let other = net.pins.iter().map(|other| &sheet.pins[*other]).find(|other| other.node != pin.node);
        let y = other.map_or(0, |other| sheet.cell(other).1);
        return (strip_edge(&sheet.nodes[pin.node], size), y);
    }
    sheet.cell(pin)
}

/// A net's number, and a way to each of its pins but the first.
type Ways = BTreeMap<usize, Vec<Vec<Cell>>>;

/// Finds a way for each net, the short ones first. A net that finds none goes first in another try.
fn ways(sheet: &Sheet, size: Cell) -> Result<Ways> {
    let length = |number: &usize| {
        let cells = tips(sheet, &sheet.nets[*number], size);
        (cells.iter().map(|cell| distance(*cell, cells[0])).max(), *number)
    };
    let mut order: Vec<usize> = (0..sheet.nets.len()).collect();
    order.sort_by_key(length);
    for _ in 0..TRIES {
        match attempt(sheet, size, &order) {
            Ok(ways) => return Ok(ways),
            Err(stuck) => {
                order.retain(|number| *number != stuck);
                order.insert(0, stuck);
            }
        }
    }
    let first = &sheet.pins[sheet.nets[order[0]].pins[0]];
    bail!("no way is left for `{}` of {}", first.label, sheet.nodes[first.node].name)
}

/// The ways when the nets are led in this order, or the net that has none.
fn attempt(sheet: &Sheet, size: Cell, order: &[usize]) -> Result<Ways, usize> {
    let mut grid = Grid::new(size);
    for node in sheet.nodes.iter().filter(|node| !is_strip(node)) {
        grid.block((node.at.0, node.at.1 - 1), (node.at.0 + WIDTH, node.at.1 + node.height));
    }
    for node in sheet.nodes.iter().filter(|node| is_strip(node)) {
        let edge = strip_edge(node, size);
        let (from, to) = if node.at.0 < 0 { (0, edge) } else { (edge, size.0) };
        grid.block((from, 0), (to, size.1));
    }
    for (number, net) in sheet.nets.iter().enumerate() {
        for (pin, tip) in net.pins.iter().zip(tips(sheet, net, size)) {
            let step = if enters_right(sheet, *pin) { 1 } else { -1 };
            grid.reserve(number, tip);
            grid.reserve(number, (tip.0 + step, tip.1));
        }
    }
    let mut all = Ways::new();
    for &number in order {
        let mut cells = tips(sheet, &sheet.nets[number], size);
        let hub = cells[0];
        cells[1..].sort_by_key(|cell| (distance(*cell, hub), *cell));
        all.insert(number, grid.connect(number, &cells).ok_or(number)?);
    }
    Ok(all)
}

fn tips(sheet: &Sheet, net: &Net, size: Cell) -> Vec<Cell> {
    net.pins.iter().map(|pin| tip(sheet, net, *pin, size)).collect()
}

fn distance(one: Cell, other: Cell) -> i32 {
    (one.0 - other.0).abs() + (one.1 - other.1).abs()
}

fn wires(svg: &mut Svg, sheet: &Sheet, size: Cell, colours: &BTreeMap<&str, usize>) -> Result<()> {
    for (number, ways) in ways(sheet, size)? {
        let net = &sheet.nets[number];
        let colour = colours.get(room(&sheet.nodes[net.colour])).copied().unwrap_or_default();
        for (branch, way) in ways.iter().enumerate() {
            svg.path(&format!("wire c{colour}"), &line(way));
            if branch > 0 {
                svg.dot(&format!("f{colour}"), pixels(way[0].0), pixels(way[0].1));
            }
        }
        for pin in net.pins.iter().filter(|pin| !sheet.pins[**pin].is_source) {
            arrow(svg, tip(sheet, net, *pin, size), enters_right(sheet, *pin), colour);
        }
    }
    Ok(())
}

/// Whether the wire comes to the pin from the right.
fn enters_right(sheet: &Sheet, pin: usize) -> bool {
    let pin = &sheet.pins[pin];
    let node = &sheet.nodes[pin.node];
    if is_strip(node) {
        node.at.0 < 0
    } else {
        pin.is_right
    }
}

/// A wire with round corners.
fn line(way: &[Cell]) -> String {
    let mut path = format!("M{} {}", short(pixels(way[0].0)), short(pixels(way[0].1)));
    let half = |a: i32, b: i32| short((pixels(a) + pixels(b)) / 2.0);
    for three in way.windows(3) {
        let [a, b, c] = [three[0], three[1], three[2]];
        if (a.0 == b.0) != (b.0 == c.0) {
            let _ = write!(
                path,
                "L{} {}Q{} {} {} {}",
                half(a.0, b.0),
                half(a.1, b.1),
                short(pixels(b.0)),
                short(pixels(b.1)),
                half(b.0, c.0),
                half(b.1, c.1)
            );
        }
    }
    let last = way[way.len() - 1];
    let _ = write!(path, "L{} {}", short(pixels(last.0)), short(pixels(last.1)));
    path
}

fn arrow(svg: &mut Svg, at: Cell, from_right: bool, colour: usize) {
    let (x, y) = (pixels(at.0), pixels(at.1));
    let back = if from_right { 6.0 } else { -6.0 };
    let path = format!(
        "M{} {}L{} {}L{} {}Z",
        short(x),
        short(y),
        short(x + back),
        short(y - 3.0),
        short(x + back),
        short(y + 3.0)
    );
    svg.path(&format!("f{colour}"), &path);
}

fn block(svg: &mut Svg, node: &Node, colour: usize) {
    let (x, y) = (pixels(node.at.0), pixels(node.at.1));
    svg.rectangle("block", [x, y, pixels(WIDTH), pixels(node.height) - CELL * 0.5]);
    svg.rectangle(&format!("f{colour}"), [x, y, pixels(WIDTH), 3.0]);
    svg.text("head", Anchor::Middle, x + pixels(WIDTH) / 2.0, y + 14.0, &node.file);
    for (number, line) in node.within.iter().enumerate() {
        let y = y + 14.0 + 11.0 * (number + 1) as f64;
        svg.text("dim", Anchor::Middle, x + pixels(WIDTH) / 2.0, y, line);
    }
}

fn label(svg: &mut Svg, sheet: &Sheet, pin: &Pin) {
    if is_strip(&sheet.nodes[pin.node]) {
        return;
    }
    let (x, y) = sheet.cell(pin);
    let (x, y) = (pixels(x), pixels(y) + 3.0);
    let class = if pin.is_source { "" } else { "dim" };
    if pin.is_right {
        svg.text(class, Anchor::End, x - 4.0, y, &pin.label);
    } else {
        svg.text(class, Anchor::Start, x + 4.0, y, &pin.label);
    }
}

fn pixels(cells: i32) -> f64 {
    f64::from(cells) * CELL
}

#[cfg(test)]
mod tests {
    use super::super::place::PLACES;
    use super::super::{design, inside};
    use super::*;

    #[test]
    fn rooms_do_not_overlap() {
        let inside = inside();
        let sheet = Sheet::new(&inside, &design(&inside).unwrap(), PLACES).unwrap();
        let blocks: Vec<&Node> = sheet.nodes.iter().filter(|node| !is_strip(node)).collect();
        let rooms: Vec<_> = bounds(&blocks).into_iter().collect();
        for (number, (name, one)) in rooms.iter().enumerate() {
            for (other_name, other) in &rooms[..number] {
                let is_apart = |low: usize, high: usize| one[low] > other[high] || other[low] > one[high];
                assert!(is_apart(0, 2) || is_apart(1, 3), "{name} and {other_name}");
            }
        }
    }

    #[test]
    fn each_net_gets_a_way_to_each_of_its_pins() {
        let inside = inside();
        let sheet = Sheet::new(&inside, &design(&inside).unwrap(), PLACES).unwrap();
        let ways = ways(&sheet, (200, 170)).unwrap();
        assert_eq!(ways.len(), sheet.nets.len());
        for (number, net) in sheet.nets.iter().enumerate() {
            assert_eq!(ways[&number].len(), net.pins.len() - 1, "{}", sheet.pins[net.pins[0]].label);
        }
    }
}
