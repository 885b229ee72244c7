//! Measures every block's size on ECP5, and compares it with the block's budget.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::tool;
use viaduct_hdl::blocks::Entry;

/// Synthesis for size at the core's clock. Without `-nowidelut` the mapper uses trees of LUT4 for one wide LUT and
/// a block is up to three times as large; without a target delay it makes every path as short as it can. With both,
/// placement and routing still reach more than 125 MHz. Cells get new names before they are mapped, because yosys 0.23
/// gives one name twice in some netlists, and then fails with an assertion in its AIGER frontend. Cells are counted and nobody reads
/// the netlist: so the names that wires have in each module are dropped at once, and the step that gives cells names for readers
/// (`check`, with `autoname`) is left out. That saves a third of the time.
const SCRIPT: &str = "read_verilog top.v; hierarchy -check -top top; proc; flatten; opt_clean -purge; \
                      scratchpad -set abc9.D 3000; \
                      synth_ecp5 -abc9 -nowidelut -top top -run begin:map_luts; \
                      rename -enumerate -pattern cell%_ t:*; \
                      synth_ecp5 -abc9 -nowidelut -top top -run map_luts:check; tee -o stat stat";

/// What a block takes on ECP5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// LUT4 sites: LUT4, two for each carry cell (CCU2C), six for each 16x4 distributed RAM (four LUTs of memory
    /// and the two of its write port).
    pub lut4: u32,
    /// Flip-flops.
    pub ff: u32,
    /// Block RAMs of 18 kbit.
    pub dp16kd: u32,
    /// 18x18 multipliers.
    pub mult: u32,
}

impl Size {
    /// From yosys' `stat`, whose lines hold a cell's name and its number in either order.
    fn parse(stat: &str) -> Self {
        let mut size = Self::default();
        for line in stat.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [a, b] = words[..] else { continue };
            let (cell, number) = match (a.parse::<u32>(), b.parse::<u32>()) {
                (Ok(number), Err(_)) => (b, number),
                (Err(_), Ok(number)) => (a, number),
                _ => continue,
            };
            match cell {
                "LUT4" => size.lut4 += number,
                "CCU2C" => size.lut4 += 2 * number,
                "TRELLIS_DPR16X4" => size.lut4 += 6 * number,
                "TRELLIS_FF" => size.ff += number,
                "DP16KD" => size.dp16kd += number,
                "MULT18X18D" => size.mult += number,
                _ => {}
            }
        }
        size
    }
}

/// What a size depends on: yosys, the script, and the Verilog but for its lines of comment.
///
/// # Errors
/// yosys is missing.
pub fn inputs(verilog: &str) -> Result<String> {
    let version = tool::text(&tool::run(Command::new(tool::yosys()).arg("-V"))?);
    let code = verilog.lines().filter(|line| !line.trim_start().starts_with("//"));
    Ok(format!("{version}{SCRIPT}\n{}\n", code.collect::<Vec<_>>().join("\n")))
}

/// Synthesises Verilog text and counts. A text that was measured already, by the same yosys with the same script, is
/// not measured again, because the whole NIC takes minutes.
///
/// # Errors
/// yosys is missing or refuses the text.
pub fn measure(name: &str, verilog: &str) -> Result<Size> {
    let stat = tool::once("budget", name, &inputs(verilog)?, |folder| {
        tool::write(&folder.join("top.v"), verilog)?;
        tool::run_yosys(SCRIPT, folder).with_context(|| name.to_owned())?;
        let stat = folder.join("stat");
        fs::read_to_string(&stat).with_context(|| stat.display().to_string())
    })?;
    Ok(Size::parse(&stat))
}

/// One line of the result.
#[derive(Debug)]
pub struct Line {
    /// The block.
    pub name: &'static str,
    /// What it takes.
    pub size: Size,
    /// Its budget in LUT4 sites.
    pub lut4: u32,
    /// Its budget in block RAMs.
    pub dp16kd: u32,
}

impl Line {
    /// Of a block that takes so much.
    pub fn of(entry: &Entry, size: Size) -> Self {
        Self { name: entry.name, size, lut4: entry.lut4, dp16kd: entry.dp16kd }
    }

    /// The block takes more than it may.
    pub fn over(&self) -> bool {
        self.size.lut4 > self.lut4 || self.size.dp16kd > self.dp16kd
    }

    /// The table's head, as wide as [`Line::text`].
    pub fn head() -> String {
        format!(
            "{:<24} {:>7} {:>7} {:>7} {:>5} {:>7} {:>5}",
            "block", "LUT4", "budget", "FF", "RAM", "budget", "MULT"
        )
    }

    /// The line for people.
    pub fn text(&self) -> String {
        let Size { lut4, ff, dp16kd, mult } = self.size;
        let mark = if self.over() { "  OVER" } else { "" };
        format!(
            "{:<24} {lut4:>7} {:>7} {ff:>7} {dp16kd:>5} {:>7} {mult:>5}{mark}",
            self.name, self.lut4, self.dp16kd
        )
    }
}

/// All lines for programs.
pub fn json(lines: &[Line]) -> String {
    let mut text = String::from("[\n");
    for (index, line) in lines.iter().enumerate() {
        let Size { lut4, ff, dp16kd, mult } = line.size;
        let comma = if index + 1 < lines.len() { "," } else { "" };
        let _ = writeln!(
            text,
            "  {{\"block\": \"{}\", \"lut4\": {lut4}, \"lut4_budget\": {}, \"ff\": {ff}, \"dp16kd\": {dp16kd}, \
             \"dp16kd_budget\": {}, \"mult\": {mult}, \"over\": {}}}{comma}",
            line.name,
            line.lut4,
            line.dp16kd,
            line.over()
        );
    }
    text.push_str("]\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_both_forms_of_stat() {
        let old = "   Number of cells:  9\n     CCU2C    3\n     LUT4     15\n     TRELLIS_DPR16X4   18\n   TRELLIS_FF 13\n";
        let new = "       44 cells\n        3   CCU2C\n       15   LUT4\n       18   TRELLIS_DPR16X4\n       13   TRELLIS_FF\n";
        let size = Size { lut4: 15 + 6 + 108, ff: 13, dp16kd: 0, mult: 0 };
        assert_eq!(Size::parse(old), size);
        assert_eq!(Size::parse(new), size);
    }

    #[test]
    fn over_means_either() {
        let line = |lut4, dp16kd| Line {
            name: "x",
            size: Size { lut4, dp16kd, ..Size::default() },
            lut4: 10,
            dp16kd: 1,
        };
        assert!(!line(10, 1).over());
        assert!(line(11, 1).over() && line(10, 2).over());
        assert!(json(&[line(11, 1)]).contains("\"over\": true"));
    }
}
