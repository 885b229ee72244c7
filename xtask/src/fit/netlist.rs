//! What yosys wrote: where its nets come from.

use anyhow::{Context, Result};
use serde_json::Value;

/// The cells and nets of a flattened design.
pub struct Netlist(Value);

impl Netlist {
    /// Reads yosys' JSON, and keeps the top.
    pub fn parse(json: &str) -> Result<Netlist> {
        let mut netlist: Value = serde_json::from_str(json).context("yosys wrote no JSON")?;
        let modules = netlist["modules"].as_object_mut().context("the netlist has no modules")?;
        let is_top = |module: &Value| module["attributes"].get("top").is_some();
        let top = modules.values_mut().find(|module| is_top(module)).context("the netlist has no top")?;
        Ok(Netlist(top.take()))
    }

    /// The top module, in yosys' JSON.
    pub fn top(&self) -> &Value {
        &self.0
    }

    /// Every cell's name and type.
    pub fn cells(&self) -> impl Iterator<Item = (&str, &str)> {
        let cells = self.0["cells"].as_object().into_iter().flatten();
        cells.map(|(name, cell)| (name.as_str(), cell["type"].as_str().unwrap_or_default()))
    }

    /// What drives a net of one bit: a pin, or an output of a cell. Flattening gives a net one of the many names it has in the
    /// blocks that it goes through; this is the same whatever they are. A PLL drives several clocks, so the output is a part of the name.
    pub fn source(&self, net: &str) -> Option<String> {
        let bit = &self.0["netnames"][net]["bits"][0];
        let drives = |port: &Value, direction: &str, bits: &Value| {
            port == direction && bits.as_array().is_some_and(|bits| bits.contains(bit))
        };
        let pin = |(name, port): (&String, &Value)| {
            drives(&port["direction"], "input", &port["bits"]).then(|| name.clone())
        };
        let cell = |(name, cell): (&String, &Value)| {
            let connections = cell["connections"].as_object()?;
            let (port, _) = connections
                .iter()
                .find(|(port, bits)| drives(&cell["port_directions"][port.as_str()], "output", bits))?;
            // The wrapper of a cell of the device has a number in its name.
            let block = name.rsplit_once(".cell_").map_or(name.as_str(), |(block, _)| block);
            Some(format!("{block}.{port}"))
        };
        let pins = self.0["ports"].as_object()?;
        pins.iter().find_map(pin).or_else(|| self.0["cells"].as_object()?.iter().find_map(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_net_is_called_by_what_drives_it() {
        let netlist = Netlist::parse(
            r#"{"modules": {"LUT4": {"attributes": {}}, "top": {"attributes": {"top": "1"},
            "ports": {"pin": {"direction": "input", "bits": [2]}, "out": {"direction": "output", "bits": [3]}},
            "cells": {
                "a.reader": {"type": "TRELLIS_FF", "port_directions": {"CLK": "input"}, "connections": {"CLK": [3]}},
                "pll.cell_0": {"type": "EHXPLLL", "port_directions": {"CLKOP": "output", "CLKOS": "output"},
                    "connections": {"CLKOP": [3], "CLKOS": [5]}}},
            "netnames": {"deep.pin": {"bits": [2]}, "deep.clock": {"bits": [3]}, "open": {"bits": [4]}, "other": {"bits": [5]}}}}}"#,
        )
        .unwrap();
        assert_eq!(netlist.source("deep.pin").as_deref(), Some("pin"));
        assert_eq!(netlist.source("deep.clock").as_deref(), Some("pll.CLKOP"));
        assert_eq!(netlist.source("other").as_deref(), Some("pll.CLKOS"), "not the same clock");
        assert_eq!(netlist.source("open"), None);
        assert_eq!(netlist.source("none"), None);
        assert_eq!(
            netlist.cells().collect::<Vec<_>>(),
            [("a.reader", "TRELLIS_FF"), ("pll.cell_0", "EHXPLLL")]
        );
        assert!(Netlist::parse("{}").is_err());
    }
}
