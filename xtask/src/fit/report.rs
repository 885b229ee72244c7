//! What nextpnr says of a placed and routed design.

use anyhow::{ensure, Context, Result};
use serde_json::{json, Map, Value};

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

/// The longest way from one clock's domain to another's.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossing {
    /// The clock that it comes from.
    pub from: String,
    /// The clock that it goes to.
    pub to: String,
    /// Its length.
    pub ns: f64,
    /// Its length must be less: a period of the clock it comes from (docs/boards.md, "The MAC").
    pub most: f64,
}

/// What nextpnr says in its report.
#[derive(Debug, Clone)]
pub struct Report {
    /// Every clock of the design.
    pub clocks: Vec<Clock>,
    /// The frequency of the slowest clock, MHz.
    pub slowest: f64,
    /// Resource, used, available.
    used: Vec<(&'static str, u64, u64)>,
    /// The registers at both ends of the slowest path between two registers, as the blocks in the NIC are called.
    pub worst: Option<(String, String)>,
    /// Between every two clocks.
    pub crossings: Vec<Crossing>,
}

impl Report {
    /// Reads nextpnr's JSON. `named` gives a better name for a clock's net than the one that was left of many.
    pub fn parse(json: &str, named: impl Fn(&str) -> Option<String>) -> Result<Report> {
        let json: Value = serde_json::from_str(json).context("nextpnr wrote no JSON")?;
        let fmax = json["fmax"].as_object().context("nextpnr reports no clock")?;
        let clocks: Vec<Clock> = fmax
            .iter()
            .map(|(net, clock)| {
                let name = clock_name(net, &named);
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
        let crossings = crossings(&json, &clocks, &named);
        Ok(Report { clocks, slowest, used, worst: worst(&json), crossings })
    }

    /// Used and available of a resource, by the name it has in [`Report::text`].
    pub fn usage(&self, name: &str) -> Option<(u64, u64)> {
        self.used.iter().find(|(words, ..)| *words == name).map(|(_, used, available)| (*used, *available))
    }

    /// The slowest clock, by what was asked of it.
    pub fn slowest_clock(&self) -> Option<&Clock> {
        let share = |clock: &Clock| clock.achieved / clock.constraint;
        self.clocks.iter().min_by(|a, b| share(a).total_cmp(&share(b)))
    }

    /// Clocks and resources as nextpnr writes them, so that [`Report::parse`] reads them again.
    pub fn json(&self) -> Value {
        let fmax: Map<String, Value> = self
            .clocks
            .iter()
            .map(|Clock { name, achieved, constraint }| {
                (name.clone(), json!({"achieved": achieved, "constraint": constraint}))
            })
            .collect();
        let used: Map<String, Value> = RESOURCES
            .iter()
            .filter_map(|(name, words)| {
                let (used, available) = self.usage(words)?;
                Some(((*name).to_owned(), json!({"used": used, "available": available})))
            })
            .collect();
        json!({"fmax": fmax, "utilization": used})
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
        for Crossing { from, to, ns, most } in &self.crossings {
            text += &format!("longest crossing: {ns:.1} ns ({most:.1} allowed) from {from} to {to}\n");
        }
        text
    }
}

/// A clock without what the tools have put around its net's name.
fn clock_name(net: &str, named: impl Fn(&str) -> Option<String>) -> String {
    let net = net.strip_prefix("$glbnet$").unwrap_or(net);
    let net = net.strip_suffix("$TRELLIS_IO_IN").unwrap_or(net);
    named(net).unwrap_or_else(|| net.to_owned())
}

/// The delay of one of nextpnr's paths, ns.
fn delay(path: &Value) -> f64 {
    path["path"].as_array().into_iter().flatten().filter_map(|hop| hop["delay"].as_f64()).sum()
}

/// The paths whose ends are at rising edges of two clocks.
fn crossings(json: &Value, clocks: &[Clock], named: impl Fn(&str) -> Option<String>) -> Vec<Crossing> {
    let crossing = |path: &Value| {
        let clock = |end: &str| Some(clock_name(path[end].as_str()?.strip_prefix("posedge ")?, &named));
        let (from, to) = (clock("from")?, clock("to")?);
        let source = clocks.iter().find(|clock| clock.name == from && from != to)?;
        Some(Crossing { from, to, ns: delay(path), most: 1000.0 / source.constraint })
    };
    json["critical_paths"].as_array().into_iter().flatten().filter_map(crossing).collect()
}

/// The ends of the slowest path from register to register of one clock.
fn worst(json: &Value) -> Option<(String, String)> {
    let clocked = |path: &&Value| {
        let edge = |end: &str| path[end].as_str().filter(|edge| edge.starts_with("posedge"));
        edge("from").is_some() && edge("from") == edge("to")
    };
    let paths = json["critical_paths"].as_array()?;
    let slowest = paths.iter().filter(clocked).max_by(|a, b| delay(a).total_cmp(&delay(b)))?;
    let hops = slowest["path"].as_array()?;
    let cell = |hop: &Value, end: &str| Some(register(hop[end]["cell"].as_str()?));
    Some((cell(hops.first()?, "from")?, cell(hops.last()?, "to")?))
}

/// A cell's name without the blocks that only stand round what is built.
pub fn within(cell: &str) -> &str {
    let inside =
        ["core.", "board.", "card.", "echo.", "nic."].iter().find_map(|wrapper| cell.strip_prefix(wrapper));
    inside.map_or(cell, within)
}

/// A cell's name without what the shell and the tools have put around it.
fn register(cell: &str) -> String {
    let name = within(cell);
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
            r#"{"fmax": {"$glbnet$a.b.clock": {"achieved": 140.25, "constraint": 125.0},
                         "other$TRELLIS_IO_IN": {"achieved": 99.5, "constraint": 125.0}},
                "utilization": {"TRELLIS_COMB": {"used": 21924, "available": 43848},
                                "DP16KD": {"used": 0, "available": 108}},
                "critical_paths": [
                    {"from": "<async>", "to": "posedge clock", "path": [
                        {"delay": 9.0, "from": {"cell": "pin"}, "to": {"cell": "pin"}}]},
                    {"from": "posedge $glbnet$a.b.clock", "to": "posedge other$TRELLIS_IO_IN", "path": [
                        {"delay": 0.7, "from": {"cell": "a"}, "to": {"cell": "b"}}]},
                    {"from": "posedge clock", "to": "posedge clock", "path": [
                        {"delay": 0.3, "from": {"cell": "core.fetch.lines.count.q_TRELLIS_FF_Q_2"}},
                        {"delay": 4.0, "to": {"cell": "core.gather.packets.ram.memory.0.5$RAMW_SLICE"}}]}]}"#,
            |net| (net == "a.b.clock").then(|| "clock".into()),
        )
        .unwrap();
        assert_eq!(report.slowest, 99.5);
        let text = report.text();
        assert!(text.contains("LUT4          21924 of  43848   50.0 %\n"), "{text}");
        assert!(text.contains("140.2 MHz (125 wanted) for clock\n"), "{text}");
        assert!(!text.contains("multipliers"), "{text}");
        assert!(text.contains("slowest path: fetch.lines.count -> gather.packets.ram\n"), "{text}");
        assert!(text.ends_with("longest crossing: 0.7 ns (8.0 allowed) from clock to other\n"), "{text}");
        assert_eq!(within("board.echo.mac.fcs"), "mac.fcs");
    }

    #[test]
    fn a_report_without_a_clock_is_no_success() {
        assert!(Report::parse(r#"{"fmax": {}, "utilization": {}}"#, |_| None).is_err());
        assert!(Report::parse("{}", |_| None).is_err());
    }
}
