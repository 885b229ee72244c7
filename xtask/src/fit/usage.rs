//! How much of a design each block takes, from the netlist that is placed.

use super::netlist::Netlist;
use super::report::within;
use std::collections::BTreeMap;

/// What blocks take.
#[derive(Debug, Default, PartialEq)]
pub struct Usage(BTreeMap<String, Sites>);

/// What one takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sites {
    lut4: u64,
    flip_flops: u64,
    block_rams: u64,
}

impl Usage {
    /// Counts the cells of a flattened netlist by the block that their names begin with.
    pub fn of(netlist: &Netlist) -> Usage {
        let mut usage = Usage::default();
        for (name, kind) in netlist.cells() {
            let sites = usage.0.entry(block(name).to_owned()).or_default();
            match kind {
                "LUT4" => sites.lut4 += 1,
                "CCU2C" => sites.lut4 += 2,
                // Four for the memory, two for its write port.
                "TRELLIS_DPR16X4" => sites.lut4 += 6,
                "TRELLIS_FF" => sites.flip_flops += 1,
                "DP16KD" => sites.block_rams += 1,
                _ => {}
            }
        }
        usage
    }

    /// For people, the largest first.
    pub fn text(&self) -> String {
        let mut blocks: Vec<_> = self.0.iter().filter(|(_, sites)| **sites != Sites::default()).collect();
        blocks.sort_by_key(|(_, sites)| std::cmp::Reverse(sites.lut4));
        let mut text = format!("{:<24} {:>6} {:>11} {:>11}\n", "block", "LUT4", "flip-flops", "block RAMs");
        for (name, Sites { lut4, flip_flops, block_rams }) in blocks {
            text += &format!("{name:<24} {lut4:>6} {flip_flops:>11} {block_rams:>11}\n");
        }
        text
    }
}

/// The block of a cell.
fn block(cell: &str) -> &str {
    let inside = within(cell);
    let end = inside.find(['.', '$']).unwrap_or(0);
    match &inside[..end] {
        "" => "between blocks",
        block => block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_by_their_block() {
        let netlist = r#"{"modules": {"LUT4": {"attributes": {}}, "top": {"attributes": {"top": "1"}, "cells": {
            "nic.gather.walker.sum_LUT4_Z": {"type": "LUT4"}, "nic.gather.a": {"type": "CCU2C"},
            "mac.fcs.state": {"type": "TRELLIS_FF"}, "mac.ram": {"type": "DP16KD"}, "mac.d": {"type": "TRELLIS_DPR16X4"},
            "reset": {"type": "LUT4"}, "$auto": {"type": "TRELLIS_IO"}}}}}"#;
        let usage = Usage::of(&Netlist::parse(netlist).unwrap());
        let sites = |lut4, flip_flops, block_rams| Sites { lut4, flip_flops, block_rams };
        assert_eq!(usage.0["gather"], sites(3, 0, 0));
        assert_eq!(usage.0["mac"], sites(6, 1, 1));
        assert_eq!(usage.0["between blocks"], sites(1, 0, 0));
        assert!(usage.text().lines().nth(1).unwrap().starts_with("mac "), "{}", usage.text());
    }
}
