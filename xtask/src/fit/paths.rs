//! The longest paths of a netlist that is not placed: each wire takes what wires of its fanout take in the mean. So they are ranked by what the design is,
//! not by how a placement fell.

use super::netlist::Netlist;
use super::report::within;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::HashMap;

/// Nanoseconds that cells of an ECP5 of speed grade 8 take, as nextpnr's reports have them.
const CLOCK_TO_REGISTER: f64 = 0.31;
const CLOCK_TO_BLOCK_RAM: f64 = 4.2;
const CLOCK_TO_LUT_RAM: f64 = 0.6;
const LUT: f64 = 0.14;
const CARRY_IN: f64 = 0.45;
const CARRY_ON: f64 = 0.07;
const CARRY_OUT: f64 = 0.44;
const ANOTHER: f64 = 0.3;
/// Wires of the card's routed placements, in the mean: with one input, and for each e-fold of inputs more.
const WIRE: f64 = 0.7;
const WIRE_FOLD: f64 = 0.24;

/// A net of one bit, by yosys' number.
type Bit = u64;

/// When a signal is there, and the signal that it waits for.
#[derive(Clone, Copy)]
struct Arrival {
    ns: f64,
    from: Option<Bit>,
}

/// The end of a path: a register or a memory.
struct End<'a> {
    place: usize,
    port: &'a str,
    bit: Bit,
    ns: f64,
}

/// Cells, and what is known of their nets.
struct Design<'a> {
    cells: Vec<(&'a str, &'a Value)>,
    /// The cell that drives a net, by its place in the list, and its output.
    drivers: HashMap<Bit, (usize, &'a str)>,
    /// Inputs that hear a net.
    fanout: HashMap<Bit, u32>,
    /// The shortest of a net's names.
    names: HashMap<Bit, String>,
    /// What is known so far of when a net's driver has it.
    arrivals: HashMap<Bit, Arrival>,
}

/// The longest `count` paths, of those between the same two registers the longest one only; a line for each, and one with its signals.
///
/// # Errors
/// The netlist is none of cells and nets.
pub fn longest(netlist: &Netlist, count: usize) -> Result<String> {
    let mut design = Design::of(netlist.top())?;
    let mut ends = design.ends();
    ends.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let mut text = String::new();
    let mut shown = Vec::new();
    for end in ends {
        let signals = design.path(end.bit);
        let register = design.register(end.place);
        let key = (stem(&signals[0]).to_owned(), stem(&register).to_owned());
        if shown.contains(&key) {
            continue;
        }
        text +=
            &format!("{:5.2} ns  {} ({})\n          {}\n", end.ns, register, end.port, signals.join(" > "));
        shown.push(key);
        if shown.len() == count {
            break;
        }
    }
    Ok(text)
}

/// A vector's name without its bit, and a memory's without the number of its cell.
fn stem(signal: &str) -> &str {
    let end = [signal.find('['), signal.find(".memory.")].into_iter().flatten().min();
    &signal[..end.unwrap_or(signal.len())]
}

impl<'a> Design<'a> {
    fn of(top: &'a Value) -> Result<Self> {
        let mut names: HashMap<Bit, String> = HashMap::new();
        for (name, net) in top["netnames"].as_object().context("the netlist has no nets")? {
            let bits = bits(&net["bits"]);
            for (place, bit) in bits.iter().enumerate() {
                let name = if bits.len() > 1 { format!("{name}[{place}]") } else { name.clone() };
                let shortest = names.get(bit).is_none_or(|old| (name.len(), &name) < (old.len(), old));
                if shortest {
                    names.insert(*bit, name);
                }
            }
        }
        let cells = top["cells"].as_object().context("the netlist has no cells")?;
        let cells: Vec<_> = cells.iter().map(|(name, cell)| (name.as_str(), cell)).collect();
        let (mut drivers, mut fanout) = (HashMap::new(), HashMap::new());
        for (place, (_, cell)) in cells.iter().enumerate() {
            for (port, all) in cell["connections"].as_object().into_iter().flatten() {
                for bit in bits(all) {
                    if cell["port_directions"][port.as_str()] == "output" {
                        drivers.insert(bit, (place, port.as_str()));
                    } else {
                        *fanout.entry(bit).or_default() += 1;
                    }
                }
            }
        }
        Ok(Self { cells, drivers, fanout, names, arrivals: HashMap::new() })
    }

    /// What a net's wires take.
    fn wire(&self, bit: Bit) -> f64 {
        WIRE + WIRE_FOLD * f64::from(self.fanout.get(&bit).copied().unwrap_or(1)).ln()
    }

    /// When a net's driver has it.
    fn arrival(&mut self, bit: Bit) -> Arrival {
        if let Some(known) = self.arrivals.get(&bit) {
            return *known;
        }
        // A loop would end here; there is none in what yosys' checks have passed.
        self.arrivals.insert(bit, Arrival { ns: 0.0, from: None });
        let arrival = match self.drivers.get(&bit) {
            None => Arrival { ns: 0.0, from: None },
            Some(&(place, output)) => self.behind(self.cells[place].1, output),
        };
        self.arrivals.insert(bit, arrival);
        arrival
    }

    /// When a cell gives an output.
    fn behind(&mut self, cell: &'a Value, output: &str) -> Arrival {
        let kind = cell["type"].as_str().unwrap_or_default();
        let start = match kind {
            "TRELLIS_FF" => return Arrival { ns: CLOCK_TO_REGISTER, from: None },
            "DP16KD" => return Arrival { ns: CLOCK_TO_BLOCK_RAM, from: None },
            "TRELLIS_DPR16X4" => CLOCK_TO_LUT_RAM,
            _ => 0.0,
        };
        let mut latest = Arrival { ns: start, from: None };
        for (port, bit) in inputs(cell) {
            // What is written comes out with the clock.
            if kind == "TRELLIS_DPR16X4" && !port.starts_with("RAD") {
                continue;
            }
            let through = match (kind, port, output) {
                ("CCU2C", "CIN", "COUT") => CARRY_ON,
                ("CCU2C", "CIN", _) => CARRY_OUT,
                ("CCU2C", ..) => self.wire(bit) + CARRY_IN,
                ("LUT4" | "TRELLIS_DPR16X4", ..) => self.wire(bit) + LUT,
                _ => self.wire(bit) + ANOTHER,
            };
            let ns = self.arrival(bit).ns + through;
            if ns > latest.ns {
                latest = Arrival { ns, from: Some(bit) };
            }
        }
        latest
    }

    /// The latest input of each register and memory.
    fn ends(&mut self) -> Vec<End<'a>> {
        let mut ends = Vec::new();
        for place in 0..self.cells.len() {
            let cell = self.cells[place].1;
            let kind = cell["type"].as_str().unwrap_or_default();
            if !matches!(kind, "TRELLIS_FF" | "TRELLIS_DPR16X4" | "DP16KD") {
                continue;
            }
            let mut latest: Option<End<'a>> = None;
            for (port, bit) in inputs(cell) {
                if kind == "TRELLIS_DPR16X4" && port.starts_with("RAD") {
                    continue;
                }
                let ns = self.arrival(bit).ns + self.wire(bit);
                if latest.as_ref().is_none_or(|end| ns > end.ns) {
                    latest = Some(End { place, port, bit, ns });
                }
            }
            ends.extend(latest);
        }
        ends
    }

    /// The signals of the path that ends in one, from its start on.
    fn path(&mut self, end: Bit) -> Vec<String> {
        let mut signals = Vec::new();
        let mut next = Some(end);
        while let Some(bit) = next {
            signals.push(within(self.names.get(&bit).map_or("?", String::as_str)).to_owned());
            next = self.arrival(bit).from;
        }
        signals.reverse();
        signals
    }

    /// The register's output, or the memory's name.
    fn register(&self, place: usize) -> String {
        let (name, cell) = self.cells[place];
        let output = bits(&cell["connections"]["Q"]).first().copied();
        within(output.and_then(|bit| self.names.get(&bit)).map_or(name, String::as_str)).to_owned()
    }
}

/// Inputs that are no clock, and no constant.
fn inputs(cell: &Value) -> Vec<(&str, Bit)> {
    let clocks = ["CLK", "WCK", "CLKA", "CLKB"];
    let ports = cell["connections"].as_object().into_iter().flatten();
    let inputs = ports.filter(|(port, _)| {
        cell["port_directions"][port.as_str()] == "input" && !clocks.contains(&port.as_str())
    });
    inputs.flat_map(|(port, all)| bits(all).into_iter().map(move |bit| (port.as_str(), bit))).collect()
}

/// The nets of a list of bits; constants are none.
fn bits(list: &Value) -> Vec<Bit> {
    list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two registers with two LUTs between them, and a carry from the second's register to a third.
    const NETLIST: &str = r#"{"modules": {"top": {"attributes": {"top": "1"}, "ports": {},
        "cells": {
            "first": {"type": "TRELLIS_FF", "port_directions": {"CLK": "input", "Q": "output"}, "connections": {"CLK": [1], "Q": [2]}},
            "near": {"type": "LUT4", "port_directions": {"A": "input", "B": "input", "Z": "output"}, "connections": {"A": [2], "B": ["0"], "Z": [3]}},
            "far": {"type": "LUT4", "port_directions": {"A": "input", "B": "input", "Z": "output"}, "connections": {"A": [3], "B": [2], "Z": [4]}},
            "second": {"type": "TRELLIS_FF", "port_directions": {"CLK": "input", "DI": "input", "Q": "output"}, "connections": {"CLK": [1], "DI": [4], "Q": [5]}},
            "sum": {"type": "CCU2C", "port_directions": {"A0": "input", "COUT": "output"}, "connections": {"A0": [5], "COUT": [6]}},
            "more": {"type": "CCU2C", "port_directions": {"CIN": "input", "S0": "output"}, "connections": {"CIN": [6], "S0": [7]}},
            "third": {"type": "TRELLIS_FF", "port_directions": {"CLK": "input", "DI": "input", "Q": "output"}, "connections": {"CLK": [1], "DI": [7], "Q": [8]}}},
        "netnames": {"clock": {"bits": [1]}, "a": {"bits": [2]}, "b": {"bits": [3]}, "c": {"bits": [4]},
            "d": {"bits": [9, 5]}, "e": {"bits": [6]}, "f": {"bits": [7]}, "g": {"bits": [8]}}}}}"#;

    #[test]
    fn the_longest_path_is_first_and_takes_what_its_cells_and_wires_take() {
        let netlist = Netlist::parse(NETLIST).unwrap();
        let shared = WIRE + WIRE_FOLD * 2_f64.ln();
        let between = CLOCK_TO_REGISTER + shared + LUT + WIRE + LUT + WIRE;
        let sum = CLOCK_TO_REGISTER + WIRE + CARRY_IN + CARRY_OUT + WIRE;
        let expected = format!(
            "{between:5.2} ns  d[1] (DI)\n          a > b > c\n{sum:5.2} ns  g (DI)\n          d[1] > e > f\n"
        );
        assert_eq!(longest(&netlist, 9).unwrap(), expected);
        assert_eq!(longest(&netlist, 1).unwrap().lines().count(), 2);
        assert_eq!(["a.ring[3]", "a.rows.memory.0.12", "a.step"].map(stem), ["a.ring", "a.rows", "a.step"]);
        assert!(Netlist::parse(r#"{"modules": {"top": {"attributes": {"top": "1"}}}}"#)
            .and_then(|netlist| longest(&netlist, 1))
            .is_err());
    }
}
