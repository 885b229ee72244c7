//! A flat netlist, as yosys writes it in JSON, and what becomes of it when it is cut at its registers and memories.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{ensure, Context, Result};
use serde_json::{json, Map, Value};

/// One bit of a signal.
type Place = (String, usize);

/// A flat netlist.
#[derive(Debug)]
pub struct Netlist {
    root: Value,
    /// What its registers' bits are called, by their number.
    names: BTreeMap<u64, Place>,
}

/// A bit of a register: its number, and those of its next value and its clock.
#[derive(Debug, Clone, PartialEq)]
struct Bit {
    q: u64,
    d: Value,
    clock: Value,
}

impl Netlist {
    /// From yosys' JSON.
    ///
    /// # Errors
    /// It is none, or has no `top`.
    pub fn of(text: &str) -> Result<Self> {
        let root: Value = serde_json::from_str(text).context("yosys' netlist")?;
        let mut netlist = Self { root, names: BTreeMap::new() };
        if !netlist.is_memory() {
            ensure!(netlist.root["modules"]["top"].is_object(), "the netlist has no module top");
            netlist.name_ports();
            netlist.names = netlist.places();
        }
        Ok(netlist)
    }

    /// Whether the block is a memory itself: nothing is left of it.
    pub fn is_memory(&self) -> bool {
        self.root["modules"]["top"]["attributes"].get("blackbox").is_some()
            || !self.root["modules"]["top"].is_object()
    }

    /// Calls the ports of the top and of the memories as our writer does.
    fn name_ports(&mut self) {
        let top = &mut self.root["modules"]["top"];
        let renamed = |ports: &Value| -> Value {
            let ports = || ports.as_object().into_iter().flatten();
            let all: Vec<&str> = ports().map(|(name, _)| name.as_str()).collect();
            let renamed = ports().map(|(name, port)| (viaduct_verilog::port(name, &all), port.clone()));
            renamed.collect::<Map<_, _>>().into()
        };
        top["ports"] = renamed(&top["ports"]);
        for cell in
            top["cells"].as_object_mut().into_iter().flat_map(Map::values_mut).filter(|cell| is_box(cell))
        {
            cell["connections"] = renamed(&cell["connections"]);
            cell["port_directions"] = renamed(&cell["port_directions"]);
        }
    }

    fn top(&self) -> &Value {
        &self.root["modules"]["top"]
    }

    fn cells(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.top()["cells"].as_object().into_iter().flatten()
    }

    /// All names of each bit, but those that yosys made.
    fn all_names(&self) -> BTreeMap<u64, Vec<Place>> {
        let mut all: BTreeMap<u64, Vec<Place>> = BTreeMap::new();
        for (name, net) in self.top()["netnames"].as_object().into_iter().flatten() {
            if net["hide_name"] == 1 {
                continue;
            }
            for (index, bit) in net["bits"].as_array().into_iter().flatten().enumerate() {
                if let Some(bit) = bit.as_u64() {
                    all.entry(bit).or_default().push((name.clone(), index));
                }
            }
        }
        all
    }

    /// What the registers are called. In the text of RustHDL's writer each register is a block with `d` and `q`; in ours it has its own
    /// name.
    fn places(&self) -> BTreeMap<u64, Place> {
        let mut places = BTreeMap::new();
        let all = self.all_names();
        for bit in self.bits() {
            let names = all.get(&bit.q).cloned().unwrap_or_default();
            let own =
                names.iter().find_map(|(name, index)| Some((name.strip_suffix(".q")?.to_owned(), *index)));
            // A register in text of the author's own has no `q`.
            let first = || names.iter().min_by_key(|(name, _)| name.contains('$')).cloned();
            if let Some((name, index)) = own.or_else(first) {
                places.insert(bit.q, (viaduct_verilog::port(&name, &[]), index));
            }
        }
        places
    }

    fn bits(&self) -> Vec<Bit> {
        let mut all = Vec::new();
        for (_, cell) in self.cells().filter(|(_, cell)| cell["type"] == "$dff") {
            let wires = &cell["connections"];
            let bits = |port: &str| wires[port].as_array().cloned().unwrap_or_default();
            for (q, d) in bits("Q").into_iter().zip(bits("D")) {
                if let Some(q) = q.as_u64() {
                    all.push(Bit { q, d, clock: wires["CLK"][0].clone() });
                }
            }
        }
        all
    }

    /// Values at power-up.
    fn initial(&self) -> BTreeMap<u64, char> {
        let mut all = BTreeMap::new();
        for net in self.top()["netnames"].as_object().into_iter().flatten().map(|(_, net)| net) {
            let Some(value) = net["attributes"]["init"].as_str() else { continue };
            for (bit, value) in net["bits"].as_array().into_iter().flatten().zip(value.chars().rev()) {
                if let Some(bit) = bit.as_u64().filter(|_| value != 'x') {
                    all.insert(bit, value);
                }
            }
        }
        all
    }

    /// A bit of a register that never changes is a constant; our writer has no register for it.
    pub fn drop_constants(&mut self) {
        let initial = self.initial();
        for bit in self.bits() {
            if bit.d.as_u64() == Some(bit.q) {
                if let Some(value) = initial.get(&bit.q) {
                    self.names.remove(&bit.q);
                    replace(&mut self.root["modules"]["top"], bit.q, &json!(value.to_string()));
                }
            }
        }
    }

    /// Calls the registers as `other` does: each has one of its names there.
    ///
    /// # Errors
    /// A register has none of them, or two.
    pub fn name_as(&mut self, other: &Self) -> Result<()> {
        let theirs: BTreeSet<&Place> = other.names.values().collect();
        let all = self.all_names();
        for bit in self.bits() {
            let own = all.get(&bit.q).cloned().unwrap_or_default();
            let mut found = own.iter().filter(|place| theirs.contains(place));
            let place =
                found.next().with_context(|| format!("{:?} is no register of the old one", own.first()))?;
            ensure!(found.next().is_none(), "{own:?} are several registers of the old one");
            self.names.insert(bit.q, place.clone());
        }
        Ok(())
    }

    /// The bits of registers, and their values at power-up.
    ///
    /// # Errors
    /// A cell keeps something and is no register.
    pub fn registers(&self) -> Result<Vec<(Place, Option<char>)>> {
        for (name, cell) in self.cells() {
            let kind = cell["type"].as_str().unwrap_or_default();
            let keeps = kind.starts_with("$mem") || kind.contains("latch") || kind.contains("dff");
            ensure!(!keeps || kind == "$dff", "{name} is a {kind}");
        }
        let initial = self.initial();
        let mut all = Vec::new();
        for bit in self.bits() {
            if let Some(place) = self.names.get(&bit.q) {
                all.push((place.clone(), initial.get(&bit.q).copied()));
            }
        }
        all.sort();
        Ok(all)
    }

    /// How many memories there are.
    pub fn memories(&self) -> usize {
        self.cells().filter(|(_, cell)| is_box(cell)).count()
    }

    /// Makes ports of what registers and memories take in and give out, the registers' in this order.
    ///
    /// # Errors
    /// A register is not there.
    pub fn cut(&mut self, registers: &[(Place, Option<char>)]) -> Result<()> {
        let of: BTreeMap<&Place, u64> = self.names.iter().map(|(bit, place)| (place, *bit)).collect();
        let bits: BTreeMap<u64, Bit> = self.bits().into_iter().map(|bit| (bit.q, bit)).collect();
        let mut ports = Map::new();
        let (mut out, mut next, mut clocks) = (Vec::new(), Vec::new(), Vec::new());
        for (place, _) in registers {
            let bit = of.get(place).and_then(|number| bits.get(number));
            let bit = bit.with_context(|| format!("no register {place:?}"))?;
            out.push(json!(bit.q));
            next.push(bit.d.clone());
            clocks.push(bit.clock.clone());
        }
        for (name, direction, bits) in
            [("Q!", "input", out), ("D!", "output", next), ("C!", "output", clocks)]
        {
            ports.insert(name.into(), json!({"direction": direction, "bits": bits}));
        }
        for (name, cell) in self.cells().filter(|(_, cell)| is_box(cell)) {
            for (port, bits) in cell["connections"].as_object().into_iter().flatten() {
                let direction = if cell["port_directions"][port] == "output" { "input" } else { "output" };
                let port = format!("B!{name}!{port}").replace('$', "_");
                ports.insert(port, json!({"direction": direction, "bits": bits}));
            }
        }
        let top = &mut self.root["modules"]["top"];
        if let Some(cells) = top["cells"].as_object_mut() {
            cells.retain(|_, cell| cell["type"] != "$dff" && !is_box(cell));
        }
        if let Some(all) = top["ports"].as_object_mut() {
            all.append(&mut ports);
        }
        let top = top.take();
        self.root["modules"] = json!({ "top": top });
        Ok(())
    }

    /// Names, directions and widths of the ports.
    pub fn ports(&self) -> BTreeSet<(String, String, usize)> {
        let ports = self.top()["ports"].as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let width = |port: &Value| port["bits"].as_array().map_or(0, Vec::len);
        ports.map(|(name, port)| (name.clone(), text(&port["direction"]), width(port))).collect()
    }

    /// The ports that only one of them has.
    pub fn difference(&self, other: &Self) -> Vec<(String, String, usize)> {
        self.ports().symmetric_difference(&other.ports()).cloned().collect()
    }

    /// As JSON.
    pub fn text(&self) -> String {
        self.root.to_string()
    }
}

/// Whether the cell is none of yosys' own: a memory that stays as it is.
fn is_box(cell: &Value) -> bool {
    cell["type"].as_str().is_some_and(|kind| !kind.starts_with('$'))
}

/// Replaces a bit wherever it stands.
fn replace(value: &mut Value, bit: u64, by: &Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| {
            if item.as_u64() == Some(bit) {
                *item = by.clone();
            } else {
                replace(item, bit, by);
            }
        }),
        Value::Object(fields) => fields.values_mut().for_each(|item| replace(item, bit, by)),
        _ => {}
    }
}
