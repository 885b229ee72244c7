//! The speed of each block alone, compared with what it promises (`hdl/src/blocks.rs`).
//!
//! A block that is fast alone may be slow in the whole, where nets are longer; one that is slow alone is the whole's
//! limit for sure. Placing a block takes seconds, the core minutes.

use super::trial::Trial;
use anyhow::{ensure, Context, Result};
use rayon::prelude::*;
use std::path::Path;

/// Which blocks are fitted.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Those whose name contains it.
    pub only: Option<String>,
    /// No more than this many: those that promise least.
    pub slowest: Option<usize>,
}

/// A block and what it promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    name: String,
    mhz: u32,
}

/// Reads the list of viaduct-export: a block and its MHz in each line. Blocks that promise no speed are left out.
pub fn parse(list: &str) -> Result<Vec<Promise>> {
    let promise = |line: &str| {
        let (name, mhz) =
            line.split_once(' ').with_context(|| format!("{line:?} is no block and its speed"))?;
        Ok(Promise { name: name.into(), mhz: mhz.trim().parse().with_context(|| line.to_owned())? })
    };
    let all: Result<Vec<Promise>> = list.lines().map(promise).collect();
    Ok(all?.into_iter().filter(|block| block.mhz > 0).collect())
}

impl Choice {
    /// Those of the suite: what limits the clock, in two or three minutes.
    pub fn part() -> Choice {
        Choice { only: None, slowest: Some(4) }
    }

    /// Chooses.
    pub fn of(&self, mut blocks: Vec<Promise>) -> Result<Vec<Promise>> {
        if let Some(only) = &self.only {
            blocks.retain(|block| block.name.contains(only.as_str()));
        }
        if let Some(slowest) = self.slowest {
            blocks.sort_by_key(|block| block.mhz);
            blocks.truncate(slowest);
        }
        ensure!(!blocks.is_empty(), "no block that promises a speed is chosen");
        Ok(blocks)
    }
}

/// Fits the blocks, one on each processor at a time; fails if one is slower than it promises.
pub fn run(trial: &Trial, exported: &Path, folder: &Path, blocks: &[Promise]) -> Result<()> {
    println!("{:<24} {:>7} {:>9}  slowest path", "block", "MHz", "promised");
    let slow = blocks.par_iter().map(|block| {
        let source = exported.join("blocks").join(format!("{}.v", block.name));
        let (_, report) = trial
            .run(&[source], &folder.join(block.name.replace('/', "-")))
            .with_context(|| block.name.clone())?;
        let path = report.worst.map(|(from, to)| format!("{from} -> {to}")).unwrap_or_default();
        let is_slow = report.slowest < f64::from(block.mhz);
        let mark = if is_slow { "  SLOW" } else { "" };
        println!("{:<24} {:>7.1} {:>9}  {path}{mark}", block.name, report.slowest, block.mhz);
        Ok(is_slow.then_some(block.name.as_str()))
    });
    let slow: Vec<&str> = slow.filter_map(Result::transpose).collect::<Result<_>>()?;
    ensure!(slow.is_empty(), "slower than promised: {}", slow.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_that_promise_something_are_chosen() {
        let blocks = parse("prims/ram 0\nfetch 150\nsend/ack 140\nsend/gather 160\n").unwrap();
        assert_eq!(blocks.len(), 3);
        let chosen = |only: Option<&str>, slowest| {
            let choice = Choice { only: only.map(str::to_owned), slowest };
            choice.of(blocks.clone()).map(|some| some.into_iter().map(|block| block.name).collect::<Vec<_>>())
        };
        assert_eq!(chosen(None, None).unwrap(), ["fetch", "send/ack", "send/gather"]);
        assert_eq!(chosen(None, Some(2)).unwrap(), ["send/ack", "fetch"]);
        assert_eq!(chosen(Some("send"), Some(1)).unwrap(), ["send/ack"]);
        assert!(chosen(Some("prims"), None).is_err());
        assert!(parse("fetch\n").is_err() && parse("fetch fast\n").is_err());
    }
}
