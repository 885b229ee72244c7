//! What a board's design may take and must reach: `hdl/src/board/targets.rs` has the figures.

use super::report::Report;
use anyhow::{ensure, Context, Result};

/// The figures of one design.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Most LUT4 sites, as nextpnr counts them.
    pub lut4: u64,
    /// Most block RAMs.
    pub block_rams: u64,
    /// By how many percent every clock must be faster than it runs.
    pub spare_percent: u64,
}

/// Every clock of a card is faster, in MHz. What nobody has constrained nextpnr takes for 12 MHz.
const LEAST: f64 = 20.0;

impl Budget {
    /// Reads what viaduct-export writes: three numbers.
    pub fn parse(text: &str) -> Result<Budget> {
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [lut4, block_rams, spare_percent] = numbers[..] else {
            anyhow::bail!("{text:?} is no budget of LUT4, block RAMs and percent to spare");
        };
        Ok(Budget { lut4, block_rams, spare_percent })
    }

    /// Fails if one placement is larger or slower, or its clocks' domains too far from each other.
    pub fn check(&self, report: &Report) -> Result<()> {
        for (name, most) in [("LUT4", self.lut4), ("block RAMs", self.block_rams)] {
            let (used, _) = report.usage(name).with_context(|| format!("nextpnr counts no {name}"))?;
            ensure!(used <= most, "{used} {name} are more than the budget of {most}");
        }
        for clock in &report.clocks {
            ensure!(
                clock.constraint >= LEAST,
                "no constraint holds {}: its net has another name",
                clock.name
            );
            let least = clock.constraint * (100 + self.spare_percent) as f64 / 100.0;
            ensure!(
                clock.achieved >= least,
                "{} reaches {:.1} of {least:.1} MHz",
                clock.name,
                clock.achieved
            );
        }
        for crossing in &report.crossings {
            let super::report::Crossing { from, to, ns, most } = crossing;
            ensure!(ns < most, "{ns:.1} ns from {from} to {to} are not less than {most:.1}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_or_too_slow_is_named() {
        let report = Report::parse(
            r#"{"fmax": {"a": {"achieved": 150.0, "constraint": 125.0}, "b": {"achieved": 140.0, "constraint": 125.0}},
                "utilization": {"TRELLIS_COMB": {"used": 10, "available": 20}, "DP16KD": {"used": 1, "available": 2}},
                "critical_paths": [{"from": "posedge a", "to": "posedge b", "path": [{"delay": 3.0}, {"delay": 4.5}]}]}"#,
            |_| None,
        )
        .unwrap();
        let check = |text: &str| {
            let found = Budget::parse(text).unwrap().check(&report);
            found.map_or_else(|error| error.to_string(), |()| "kept".into())
        };
        assert_eq!(check("10 1 12"), "kept");
        assert_eq!(check("9 1 12"), "10 LUT4 are more than the budget of 9");
        assert_eq!(check("10 0 12"), "1 block RAMs are more than the budget of 0");
        assert_eq!(check("10 1 13"), "b reaches 140.0 of 141.2 MHz");
        let mut free = report.clone();
        free.clocks[0].constraint = 12.0;
        let error = Budget::parse("10 1 1").unwrap().check(&free).unwrap_err();
        assert_eq!(error.to_string(), "no constraint holds a: its net has another name");
        let mut far = report;
        far.crossings[0].ns = 8.0;
        let error = Budget::parse("10 1 1").unwrap().check(&far).unwrap_err();
        assert_eq!(error.to_string(), "8.0 ns from a to b are not less than 8.0");
        assert!(Budget::parse("10 1").is_err() && Budget::parse("10 1 fast").is_err());
    }
}
