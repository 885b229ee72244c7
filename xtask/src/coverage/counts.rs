//! What the models have counted, added up by block.

use super::source::{self, Module};
use crate::project;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A place in a module: line from its first, column, and what is counted there (the arm of an `if`, the bit of a signal).
type Place = (u32, u32, String);

/// Lines that run together.
#[derive(Debug, Default)]
struct Stretch {
    count: u64,
    /// From the module's first.
    lines: Vec<u32>,
}

/// One module of the NIC, with all modules that say the same.
#[derive(Debug)]
struct Block {
    /// Its path in the NIC; the first, if there are several.
    name: String,
    /// The part of the NIC that it is in, if it is in one only.
    part: Option<String>,
    text: Vec<String>,
    stretches: BTreeMap<Place, Stretch>,
    bits: BTreeMap<Place, u64>,
}

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    some: usize,
    all: usize,
}

/// The blocks of the NIC, by their text.
#[derive(Debug)]
pub struct Counts {
    blocks: BTreeMap<String, Block>,
}

impl Counts {
    /// From the files that models have left.
    pub fn read(files: &[PathBuf]) -> Result<Self> {
        let mut models = Vec::new();
        for file in files {
            let text = project::read(file)?;
            let verilog = project::read(&source_of(&text).with_context(|| file.display().to_string())?)?;
            let modules = source::modules(&verilog);
            models.push((text, verilog, modules));
        }
        // All other models are of blocks of it.
        let (_, nic, _) =
            models.iter().max_by_key(|(_, verilog, _)| verilog.len()).context("no model has counted")?;
        let mut counts = Self::of(nic);
        for (text, _, modules) in &models {
            counts.add(text, modules)?;
        }
        Ok(counts)
    }

    /// The blocks of a NIC, with nothing counted.
    fn of(nic: &str) -> Self {
        let modules = source::modules(nic);
        let mut blocks: BTreeMap<String, Block> = BTreeMap::new();
        for (path, module) in source::instances(nic) {
            let Some(module) = modules.get(&module) else { continue };
            let path = if path.is_empty() { "nic".to_owned() } else { path };
            let part = path.split('.').next().unwrap_or_default().to_owned();
            let block = blocks.entry(module.text.clone()).or_insert_with(|| Block {
                name: path,
                part: Some(part.clone()),
                text: module.text.lines().map(|line| line.trim().to_owned()).collect(),
                stretches: BTreeMap::new(),
                bits: BTreeMap::new(),
            });
            block.part.take_if(|other| *other != part);
        }
        Self { blocks }
    }

    /// Adds what one model has counted; what is no block of the NIC is left out.
    fn add(&mut self, text: &str, modules: &BTreeMap<String, Module>) -> Result<()> {
        for line in text.lines().filter(|line| line.starts_with("C '")) {
            let (keys, count) = fields(line)?;
            let key = |name: &str| keys.get(name).copied().with_context(|| format!("{line:?} has no {name}"));
            let (kind, module) = key("page")?.split_once('/').context("a count is of no module")?;
            let module = modules.get(module).with_context(|| format!("there is no module {module}"))?;
            let Some(block) = self.blocks.get_mut(&module.text) else { continue };
            let offset = |line: u32| line.checked_sub(module.start).context("a line outside its module");
            let place = (offset(key("l")?.parse()?)?, key("n")?.parse()?, key("o")?.to_owned());
            if kind == "v_toggle" {
                *block.bits.entry(place).or_default() += count;
                continue;
            }
            // What stands first in a process: of a combinational one and of an `initial` it runs in the first evaluation,
            // which does not count, and of no other can it be missed.
            let count = if place.2 == "block" { count.max(1) } else { count };
            let stretch = block.stretches.entry(place).or_default();
            stretch.count += count;
            // The arm that is not written has none.
            if let (true, Some(ranges)) = (stretch.lines.is_empty(), keys.get("S")) {
                for line in lines(ranges)? {
                    stretch.lines.push(offset(line)?);
                }
            }
        }
        Ok(())
    }

    /// The stretches of lines that nothing has reached, as `block: first line second line`.
    pub fn unreached(&self) -> BTreeSet<String> {
        let blocks = self.blocks.values();
        blocks.flat_map(|block| block.unreached().map(|text| format!("{}: {text}", block.name))).collect()
    }

    /// By part of the NIC: lines, bits.
    fn parts(&self) -> BTreeMap<&str, [Share; 2]> {
        let mut parts: BTreeMap<&str, [Share; 2]> = BTreeMap::new();
        for block in self.blocks.values() {
            let part = block.part.as_deref().unwrap_or("in several");
            for (sum, share) in parts.entry(part).or_default().iter_mut().zip(block.shares()) {
                sum.add(share);
            }
        }
        parts
    }

    /// What people read.
    pub fn table(&self) -> String {
        let mut text = format!("{:14} {:>19} {:>23}\n", "block", "lines reached", "bits turned");
        let mut total = [Share::default(); 2];
        for (name, shares) in self.parts() {
            let _ = writeln!(text, "{name:14} {:>19} {:>23}", shares[0].text(), shares[1].text());
            total.iter_mut().zip(shares).for_each(|(sum, share)| sum.add(share));
        }
        let _ = writeln!(text, "{:14} {:>19} {:>23}", "all", total[0].text(), total[1].text());
        text
    }

    /// What programs read.
    pub fn json(&self) -> serde_json::Value {
        let pair = |share: Share| serde_json::json!({ "reached": share.some, "all": share.all });
        let part = |(name, [lines, bits]): (&str, [Share; 2])| serde_json::json!({ "block": name, "lines": pair(lines), "bits": pair(bits) });
        self.parts().into_iter().map(part).collect()
    }
}

impl Block {
    /// Lines and bits. A line stands in one stretch, or in those of several arms.
    fn shares(&self) -> [Share; 2] {
        let lines = |stretch: &&Stretch| stretch.lines.clone();
        let all: BTreeSet<u32> = self.stretches.values().flat_map(|stretch| lines(&stretch)).collect();
        let reached = self.stretches.values().filter(|stretch| stretch.count > 0);
        let some: BTreeSet<u32> = reached.flat_map(|stretch| lines(&stretch)).collect();
        let turned = self.bits.values().filter(|count| **count > 0).count();
        [Share { some: some.len(), all: all.len() }, Share { some: turned, all: self.bits.len() }]
    }

    fn unreached(&self) -> impl Iterator<Item = String> + '_ {
        let never = self.stretches.values().filter(|stretch| stretch.count == 0 && !stretch.lines.is_empty());
        never.map(|stretch| {
            let text = stretch.lines.iter().filter_map(|line| self.text.get(*line as usize));
            text.take(2).map(String::as_str).collect::<Vec<_>>().join(" ")
        })
    }
}

impl Share {
    fn add(&mut self, other: Self) {
        self.some += other.some;
        self.all += other.all;
    }

    fn text(self) -> String {
        let percent = 100.0 * self.some as f64 / self.all.max(1) as f64;
        match self.all {
            0 => "-".into(),
            all => format!("{}/{all} {percent:5.1} %", self.some),
        }
    }
}

/// The keys and the count of a line `C '<^A key ^B value>...' <count>`.
fn fields(line: &str) -> Result<(BTreeMap<&str, &str>, u64)> {
    let (keys, count) = line.rsplit_once("' ").context("a line of the counts has no end")?;
    let count = count.trim().parse().with_context(|| format!("{count:?} is no count"))?;
    Ok((keys.split('\u{1}').filter_map(|pair| pair.split_once('\u{2}')).collect(), count))
}

/// The Verilog that a file of counts is of.
fn source_of(text: &str) -> Result<PathBuf> {
    let first = text.lines().find(|line| line.starts_with("C '")).context("nothing is counted")?;
    let file = *fields(first)?.0.get("f").context("a count is of no file")?;
    // Where a test's model is made has another name than where it is kept: viaduct_verilate's cache.
    Ok(Path::new(&file.replace(".part/", "/")).to_owned())
}

/// The lines of `3,5-7`.
fn lines(ranges: &str) -> Result<Vec<u32>> {
    let mut lines = Vec::new();
    for range in ranges.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        lines.extend(first.parse::<u32>()?..=last.parse()?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIC: &str = "module top(a);\n  top$b b(.a(a));\n  top$c c(.a(a));\nendmodule\n\
                       module top$b(a);\n  if (a) begin\n    y = 1;\n  end\nendmodule\n\
                       module top$c(a);\n  if (a) begin\n    y = 1;\n  end\nendmodule\n";
    const BLOCK: &str = "module top(a);\n  if (a) begin\n    y = 1;\n  end\nendmodule\n";

    /// A line of a file of counts.
    fn point(page: &str, line: u32, what: &str, lines: &str, count: u64) -> String {
        let keys = [("l", line.to_string().as_str()), ("n", "3"), ("page", page), ("o", what), ("S", lines)]
            .map(|(key, value)| format!("\u{1}{key}\u{2}{value}"));
        format!("C '{}' {count}\n", keys.concat())
    }

    fn counts(models: &[(&str, String)]) -> Counts {
        let mut counts = Counts::of(NIC);
        for (verilog, text) in models {
            counts.add(text, &source::modules(verilog)).unwrap();
        }
        counts
    }

    #[test]
    fn a_block_counts_wherever_it_stands() {
        let inside =
            point("v_branch/top$b", 6, "if", "6-7", 0) + &point("v_branch/top$c", 11, "if", "11-12", 0);
        let never = counts(&[(NIC, inside.clone())]);
        assert_eq!(never.unreached(), BTreeSet::from(["b: if (a) begin y = 1;".to_owned()]));
        assert_eq!(never.parts()["in several"][0], Share { some: 0, all: 2 });
        let alone = point("v_branch/top", 2, "if", "2-3", 4) + &point("v_toggle/top", 1, "a", "", 0);
        let both = counts(&[(NIC, inside), (BLOCK, alone)]);
        assert!(both.unreached().is_empty());
        assert_eq!(both.parts()["in several"], [Share { some: 2, all: 2 }, Share { some: 0, all: 1 }]);
        assert!(both.table().lines().last().unwrap().contains("2/2 100.0 %"), "{}", both.table());
    }

    #[test]
    fn what_the_nic_has_not_is_left_out() {
        let other = "module top(z);\nendmodule\n";
        let counts = counts(&[(other, point("v_line/top", 1, "block", "1", 0))]);
        assert!(counts.unreached().is_empty());
    }

    #[test]
    fn an_arm_that_is_not_written_is_no_line() {
        let counts = counts(&[(NIC, point("v_branch/top$b", 6, "else", "", 0))]);
        assert!(counts.unreached().is_empty());
    }

    #[test]
    fn counts_that_cannot_be_read_are_named() {
        let error = |text: &str| Counts::of("").add(text, &BTreeMap::new()).unwrap_err().to_string();
        assert!(error("C 'page\u{2}v_line/a' x").contains("no count"));
        assert!(error("C 'l\u{2}1' 4").contains("page"));
    }
}
