//! What is drawn: the blocks with their pins at their places, and the nets between pins.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{ensure, Context, Result};
use viaduct_verilog::Inside;

use super::place::{FIRST, PITCH, STRIPS, TOLD, WIDTH};
use super::route::Cell;
use super::streams::{Design, Stream, Tip};

/// Cells above a block's first pin when it has no blocks within.
const HEAD: i32 = 4;
/// Cells from one pin to the next.
const ROW: i32 = 2;
/// Letters that fit into a block's width.
const LETTERS: usize = 26;

/// A block in the picture.
#[derive(Debug)]
pub struct Node {
    /// Its field in the NIC.
    pub name: String,
    /// Its file: `send/gather`. The first part is the room.
    pub file: String,
    /// Its blocks within, in lines.
    pub within: Vec<String>,
    /// Left upper corner.
    pub at: Cell,
    /// Cells of its height.
    pub height: i32,
}

/// A stream's end at a block.
#[derive(Debug)]
pub struct Pin {
    /// The block.
    pub node: usize,
    /// What stands at it.
    pub label: String,
    /// Whether the stream comes from there.
    pub is_source: bool,
    /// Whether it is at the right side.
    pub is_right: bool,
    /// Its row in the block.
    pub row: i32,
}

/// Pins that are connected.
#[derive(Debug)]
pub struct Net {
    /// They, by their numbers; the first is alone at its end.
    pub pins: Vec<usize>,
    /// The block whose room gives the colour.
    pub colour: usize,
}

/// All of it.
#[derive(Debug)]
pub struct Sheet {
    /// Blocks; the last ones are the strips.
    pub nodes: Vec<Node>,
    /// Pins.
    pub pins: Vec<Pin>,
    /// Nets.
    pub nets: Vec<Net>,
    /// What is told and not drawn.
    pub legend: Vec<String>,
}

impl Sheet {
    /// The sheet of a design whose blocks have these places.
    ///
    /// # Errors
    /// A block has no place, or a place no block.
    pub fn new(inside: &Inside, design: &Design, places: &[(&str, i32, i32)]) -> Result<Self> {
        for (name, ..) in places {
            let known = inside.parts.iter().any(|part| part.name == *name);
            ensure!(known, "place.rs has a place for `{name}`, and the NIC has no such block");
        }
        let streams = design.streams()?;
        let mut nodes = Vec::new();
        let mut unplaced = Vec::new();
        for part in &inside.parts {
            let Some((_, column, y)) = places.iter().find(|(name, ..)| *name == part.name) else {
                // A block that no stream comes to or leaves is named in the legend.
                let is_on = |stream: &Stream| {
                    let mut tips = stream.to.iter().chain([&stream.from]);
                    tips.any(|tip| tip.block.as_deref() == Some(&part.name))
                };
                ensure!(!streams.iter().any(is_on), "the block `{}` has no place in place.rs", part.name);
                unplaced.push(part.name.as_str());
                continue;
            };
            let file = folder(&design.described(&part.name)?.file);
            let within = wrapped(&design.within(part)?);
            let at = (FIRST + column * PITCH, *y);
            nodes.push(Node { name: part.name.clone(), file, within, at, height: 0 });
        }
        let right = nodes.iter().map(|node| node.at.0).max().unwrap_or_default();
        for (strip, (name, _)) in STRIPS.iter().enumerate() {
            let x = if strip == 0 { FIRST - PITCH } else { right + PITCH };
            nodes.push(Node {
                name: (*name).into(),
                file: String::new(),
                within: Vec::new(),
                at: (x, 1),
                height: 0,
            });
        }
        let mut sheet = Self { nodes, pins: Vec::new(), nets: Vec::new(), legend: Vec::new() };
        let drawn: Vec<Stream> = streams.iter().filter_map(|stream| sheet.drawn(stream)).collect();
        sheet.join(&drawn)?;
        sheet.rows();
        sheet.tell(&streams, design.levels(&streams))?;
        if !unplaced.is_empty() {
            sheet.legend.push(format!("blocks that no stream passes: {}", unplaced.join(", ")));
        }
        Ok(sheet)
    }

    /// The node of a stream's end.
    fn node(&self, tip: &Tip) -> Option<usize> {
        let name = match &tip.block {
            Some(block) => block,
            None => STRIPS.iter().find(|(_, begins)| tip.name.starts_with(begins))?.0,
        };
        self.nodes.iter().position(|node| node.name == name)
    }

    /// A stream with those of its ends that the picture has, if it is to be drawn.
    fn drawn(&self, stream: &Stream) -> Option<Stream> {
        self.node(&stream.from)?;
        let to = stream.to.iter().filter(|tip| self.node(tip).is_some()).cloned().collect::<BTreeSet<_>>();
        let is_drawn = !to.is_empty() && !TOLD.iter().any(|told| is_told(stream, told));
        is_drawn.then(|| Stream { to, ..stream.clone() })
    }

    /// Makes nets. Streams of one type that go to one block, each from a block of its own, are one net.
    fn join(&mut self, streams: &[Stream]) -> Result<()> {
        let mut groups: BTreeMap<(usize, &str, &str), Vec<&Stream>> = BTreeMap::new();
        let mut single: Vec<&Stream> = Vec::new();
        for stream in streams {
            let to: BTreeSet<usize> = stream.to.iter().filter_map(|tip| self.node(tip)).collect();
            match to.into_iter().collect::<Vec<_>>()[..] {
                [to] => {
                    // What has no type is told apart by its name.
                    let name = if stream.kind.starts_with('{') { stream.from.name.as_str() } else { "" };
                    groups.entry((to, &stream.kind, name)).or_default().push(stream);
                }
                _ => single.push(stream),
            }
        }
        for ((to, kind, name), group) in groups {
            let from: BTreeSet<&Tip> = group.iter().map(|stream| &stream.from).collect();
            let blocks: BTreeSet<&Option<String>> = from.iter().map(|tip| &tip.block).collect();
            if blocks.len() < 2 || blocks.len() < group.len() {
                single.extend(group);
                continue;
            }
            let what = if name.is_empty() { kind } else { name };
            let hub = self.pin(to, format!("{} \u{d7} {what}", group.len()), false);
            let mut pins = vec![hub];
            for stream in group {
                let from = self.node(&stream.from).context("a drawn stream has ends")?;
                pins.push(self.pin(from, label(stream), true));
            }
            self.nets.push(Net { pins, colour: to });
        }
        for stream in single {
            let from = self.node(&stream.from).context("a drawn stream has ends")?;
            let mut pins = vec![self.pin(from, label(stream), true)];
            for tip in &stream.to {
                let to = self.node(tip).context("a drawn stream has ends")?;
                pins.push(self.pin(to, tip.name.clone(), false));
            }
            self.nets.push(Net { pins, colour: from });
        }
        Ok(())
    }

    fn pin(&mut self, node: usize, mut label: String, is_source: bool) -> usize {
        if label.chars().count() > LETTERS {
            label = label.chars().take(LETTERS - 1).chain(['\u{2026}']).collect();
        }
        self.pins.push(Pin { node, label, is_source, is_right: false, row: 0 });
        self.pins.len() - 1
    }

    /// The middle of those that a pin is connected to.
    fn partners(&self, pin: usize) -> (f64, f64) {
        let net = self.nets.iter().find(|net| net.pins.contains(&pin));
        let others: Vec<Cell> = match net {
            Some(net) if net.pins[0] == pin => net.pins[1..].iter().map(|other| self.at(*other)).collect(),
            Some(net) => vec![self.at(net.pins[0])],
            None => Vec::new(),
        };
        let count = others.len().max(1) as f64;
        let mean = |of: fn(&Cell) -> i32| others.iter().map(|cell| f64::from(of(cell))).sum::<f64>() / count;
        (mean(|cell| cell.0), mean(|cell| cell.1))
    }

    fn at(&self, pin: usize) -> Cell {
        self.nodes[self.pins[pin].node].at
    }

    /// Gives each pin its side and row, and each block its height.
    fn rows(&mut self) {
        let middle = FIRST + 2 * PITCH;
        for pin in 0..self.pins.len() {
            let (own, others) = (self.at(pin).0, self.partners(pin).0);
            let near = (others - f64::from(own)).abs() < 1.0;
            self.pins[pin].is_right = if near { own <= middle } else { others > f64::from(own) };
        }
        for node in 0..self.nodes.len() {
            let mut order: Vec<usize> =
                (0..self.pins.len()).filter(|pin| self.pins[*pin].node == node).collect();
            order.sort_by(|one, other| self.partners(*one).1.total_cmp(&self.partners(*other).1));
            // By row: letters at the left and at the right.
            let mut used: Vec<[usize; 2]> = Vec::new();
            let mut next = [0, 0];
            for pin in order {
                let side = usize::from(self.pins[pin].is_right);
                let letters = self.pins[pin].label.chars().count() + 1;
                let mut row = next[side];
                while used.get(row).is_some_and(|used| used[side] > 0 || used[1 - side] + letters > LETTERS) {
                    row += 1;
                }
                used.resize(used.len().max(row + 1), [0, 0]);
                used[row][side] = letters;
                next[side] = row + 1;
                self.pins[pin].row = row as i32;
            }
            let node = &mut self.nodes[node];
            node.height = HEAD + node.within.len() as i32 * ROW + used.len() as i32 * ROW;
        }
    }

    /// The cell of a pin on its block's edge.
    pub fn cell(&self, pin: &Pin) -> Cell {
        let node = &self.nodes[pin.node];
        let x = node.at.0 + if pin.is_right { WIDTH } else { 0 };
        (x, node.at.1 + HEAD + node.within.len() as i32 * ROW + pin.row * ROW)
    }

    /// What the legend says of streams and wires that are not drawn.
    fn tell(&mut self, streams: &[Stream], (wires, pairs): (usize, usize)) -> Result<()> {
        for name in TOLD {
            let told: Vec<&Stream> = streams.iter().filter(|stream| is_told(stream, name)).collect();
            ensure!(!told.is_empty(), "place.rs tells of streams `{name}`, and the NIC has none");
            let list = |tips: BTreeSet<&Tip>| {
                let node = |tip: &Tip| self.node(tip).filter(|_| tip.block.is_some());
                let files: BTreeSet<&str> =
                    tips.into_iter().filter_map(node).map(|node| self.nodes[node].file.as_str()).collect();
                files.into_iter().collect::<Vec<_>>().join(", ")
            };
            let from = list(told.iter().map(|stream| &stream.from).collect());
            let to = list(told.iter().flat_map(|stream| &stream.to).collect());
            self.legend.push(format!("{name}: from {from} to {to}"));
        }
        self.legend.push(format!(
            "{wires} wires between {pairs} pairs of blocks that are of no stream: look-ups, levels, pulses for the counters"
        ));
        self.legend.push("clock, reset, and the NIC's other ports".to_owned());
        Ok(())
    }
}

/// `src/send/gather/mod.rs` as `send/gather`.
fn folder(file: &str) -> String {
    let plain = file.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    plain.to_owned()
}

fn is_told(stream: &Stream, told: &str) -> bool {
    stream.from.name == told || stream.to.iter().all(|tip| tip.name == told)
}

fn label(stream: &Stream) -> String {
    format!("{}: {}", stream.from.name, stream.kind)
}

/// The names in lines that fit into a block.
fn wrapped(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + name.chars().count() <= LETTERS => {
                line.push(' ');
                line.push_str(name);
            }
            _ => lines.push(name.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::place::PLACES;
    use super::super::{design, inside};
    use super::*;

    #[test]
    fn each_block_has_a_place_and_each_place_a_block() {
        let inside = inside();
        let design = design(&inside).unwrap();
        let error =
            |places: &[(&str, i32, i32)]| Sheet::new(&inside, &design, places).unwrap_err().to_string();
        let (name, rest) = (PLACES[0].0, &PLACES[1..]);
        assert_eq!(error(rest), format!("the block `{name}` has no place in place.rs"));
        let more = [PLACES, &[("nobody", 0, 0)]].concat();
        assert_eq!(error(&more), "place.rs has a place for `nobody`, and the NIC has no such block");
    }

    #[test]
    fn blocks_and_their_pins_do_not_overlap() {
        let inside = inside();
        let sheet = Sheet::new(&inside, &design(&inside).unwrap(), PLACES).unwrap();
        for (number, one) in sheet.nodes.iter().enumerate() {
            for other in &sheet.nodes[..number] {
                let is_beside = one.at.0 != other.at.0;
                let is_below = one.at.1 > other.at.1 + other.height || other.at.1 > one.at.1 + one.height;
                assert!(is_beside || is_below, "{} and {}", one.name, other.name);
            }
        }
        for (number, one) in sheet.pins.iter().enumerate() {
            for other in &sheet.pins[..number] {
                let is_same = |pin: &Pin| (pin.node, pin.row, pin.is_right);
                assert!(is_same(one) != is_same(other), "{} and {}", one.label, other.label);
            }
        }
    }

    #[test]
    fn streams_of_one_type_to_one_block_are_one_net() {
        let inside = inside();
        let sheet = Sheet::new(&inside, &design(&inside).unwrap(), PLACES).unwrap();
        let into = |name: &str| sheet.pins.iter().filter(|pin| pin.label == name).count();
        assert_eq!(into("5 \u{d7} Access"), 1, "every access to host memory goes to the checker");
        assert_eq!(into("access: Access"), 5);
    }
}
