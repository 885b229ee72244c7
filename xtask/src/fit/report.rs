//! What nextpnr says of a placed and routed design.

use anyhow::{ensure, Context, Result};
use serde_json::Value;

/// The core's one clock, MHz.
pub const TARGET_MHZ: f64 = 125.0;
/// The resources worth a line, by nextpnr's names.
const RESOURCES: [(&str, &str); 4] = [
    ("TRELLIS_COMB", "LUT4"),
    ("TRELLIS_FF", "flip-flops"),
    ("DP16KD", "block RAMs"),
    ("MULT18X18D", "multipliers"),
];

/// A clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    /// Its net.
    pub name: String,
    /// Its highest frequency, MHz.
    pub achieved: f64,
    /// What was asked for, MHz.
    pub constraint: f64,
}

/// What nextpnr says in its report.
#[derive(Debug)]
pub struct Report {
    /// Every clock of the design.
    pub clocks: Vec<Clock>,
    /// The frequency of the slowest clock, MHz.
    pub slowest: f64,
    /// Resource, used, available.
    used: Vec<(&'static str, u64, u64)>,
    /// The registers at both ends of the slowest path between two registers, as the blocks in the NIC are called.
    pub worst: Option<(String, String)>,
}

impl Report {
    /// Reads nextpnr's JSON.
    pub fn parse(json: &str) -> Result<Report> {
        let json: Value = serde_json::from_str(json).context("nextpnr wrote no JSON")?;
        let fmax = json["fmax"].as_object().context("nextpnr reports no clock")?;
        let clocks: Vec<Clock> = fmax
            .iter()
            .map(|(net, clock)| {
                let name = net.strip_prefix("$glbnet$").unwrap_or(net).to_owned();
                let figure = |key: &str| clock[key].as_f64().with_context(|| format!("no {key} for {name}"));
                let (achieved, constraint) = (figure("achieved")?, figure("constraint")?);
                Ok(Clock { name, achieved, constraint })
            })
            .collect::<Result<_>>()?;
        let slowest = clocks.iter().map(|clock| clock.achieved).fold(f64::INFINITY, f64::min);
        ensure!(slowest.is_finite(), "nextpnr found no clock");
        let used = |(name, words): (&str, &'static str)| {
            let of = |key: &str| json["utilization"][name][key].as_u64();
            let figures = of("used").zip(of("available"));
            figures.map(|(used, available)| (words, used, available))
        };
        let used = RESOURCES.into_iter().filter_map(used).collect();
        Ok(Report { clocks, slowest, used, worst: worst(&json) })
    }

    /// Used and available of a resource, by the name it has in [`Report::text`].
    pub fn usage(&self, name: &str) -> Option<(u64, u64)> {
        self.used.iter().find(|(words, ..)| *words == name).map(|(_, used, available)| (*used, *available))
    }

    /// All of it for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, used, available) in &self.used {
            let share = 100.0 * *used as f64 / *available as f64;
            text += &format!("{name:12} {used:6} of {available:6}  {share:5.1} %\n");
        }
        for Clock { name, achieved, constraint } in &self.clocks {
            text += &format!("{achieved:.1} MHz ({constraint} wanted) for {name}\n");
        }
        if let Some((from, to)) = &self.worst {
            text += &format!("slowest path: {from} -> {to}\n");
        }
        text
    }
}

/// The ends of the slowest path from register to register.
fn worst(json: &Value) -> Option<(String, String)> {
    let clocked = |path: &&Value| {
        let at_edge = |end: &str| path[end].as_str().is_some_and(|edge| edge.starts_with("posedge"));
        at_edge("from") && at_edge("to")
    };
    let delay = |path: &Value| -> f64 {
        path["path"].as_array().into_iter().flatten().filter_map(|hop| hop["delay"].as_f64()).sum()
    };
    let paths = json["critical_paths"].as_array()?;
    let slowest = paths.iter().filter(clocked).max_by(|a, b| delay(a).total_cmp(&delay(b)))?;
    let hops = slowest["path"].as_array()?;
    let cell = |hop: &Value, end: &str| Some(register(hop[end]["cell"].as_str()?));
    Some((cell(hops.first()?, "from")?, cell(hops.last()?, "to")?))
}

/// A cell's name without what the shell and the tools have put around it.
fn register(cell: &str) -> String {
    let name = ["core.", "nic."].iter().find_map(|top| cell.strip_prefix(top)).unwrap_or(cell);
    let end =
        ["_TRELLIS_FF", "$DPRAM", "$RAMW", ".q_", ".memory."].iter().filter_map(|tail| name.find(tail)).min();
    name[..end.unwrap_or(name.len())].trim_end_matches(".q").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_report() {
        let report = Report::parse(
            r#"{"fmax": {"$glbnet$clock": {"achieved": 140.25, "constraint": 125.0},
                         "other": {"achieved": 99.5, "constraint": 125.0}},
                "utilization": {"TRELLIS_COMB": {"used": 21924, "available": 43848},
                                "DP16KD": {"used": 0, "available": 108}},
                "critical_paths": [
                    {"from": "<async>", "to": "posedge clock", "path": [
                        {"delay": 9.0, "from": {"cell": "pin"}, "to": {"cell": "pin"}}]},
                    {"from": "posedge clock", "to": "posedge clock", "path": [
                        {"delay": 0.3, "from": {"cell": "core.fetch.lines.count.q_TRELLIS_FF_Q_2"}},
                        {"delay": 4.0, "to": {"cell": "core.gather.packets.ram.memory.0.5$RAMW_SLICE"}}]}]}"#,
        )
        .unwrap();
        assert_eq!(report.slowest, 99.5);
        let text = report.text();
        assert!(text.contains("LUT4          21924 of  43848   50.0 %\n"), "{text}");
        assert!(text.contains("140.2 MHz (125 wanted) for clock\n"), "{text}");
        assert!(!text.contains("multipliers"), "{text}");
        assert!(text.ends_with("slowest path: fetch.lines.count -> gather.packets.ram\n"), "{text}");
    }

    #[test]
    fn a_report_without_a_clock_is_no_success() {
        assert!(Report::parse(r#"{"fmax": {}, "utilization": {}}"#).is_err());
        assert!(Report::parse("{}").is_err());
    }
}
