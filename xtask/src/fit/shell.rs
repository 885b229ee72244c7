//! The core has far more ports than a package has pins. For a trial of place and route it goes into
//! a shell of shift registers: four pins outside, a register on every port inside.
//!
//! ```text
//!  shift_in --> [ one register an input bit, in a chain ] ==> core ==> [ one an output bit ] --> shift_out
//!                                             load: the outputs are taken, else moved on ----^
//! ```
//!
//! So no port is optimised away, every path from and to a port is timed as from register to
//! register, and no delay of a pin is in the figures.

use anyhow::{ensure, Context, Result};
use serde_json::Value;
use std::fmt::Write;

/// The clock's port, on the core and on the shell.
const CLOCK: &str = "clock";

/// One port of the core.
#[derive(Debug, PartialEq)]
struct Port {
    name: String,
    input: bool,
    width: usize,
}

/// The ports of a module.
#[derive(Debug, PartialEq)]
pub struct Ports {
    module: String,
    ports: Vec<Port>,
}

impl Ports {
    /// Reads them from what yosys' write_json says of the module.
    pub fn parse(json: &str, module: &str) -> Result<Ports> {
        let json: Value = serde_json::from_str(json).context("yosys wrote no JSON")?;
        let ports = json["modules"][module]["ports"]
            .as_object()
            .with_context(|| format!("there is no module {module}"))?;
        let port = |(name, port): (&String, &Value)| {
            let width = port["bits"].as_array().map_or(0, Vec::len);
            let direction = port["direction"].as_str().unwrap_or("none");
            let simple = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            ensure!(simple, "the top's port {name} is not a plain name");
            ensure!(
                width > 0 && ["input", "output"].contains(&direction),
                "port {name}: {direction}, {width} bits"
            );
            Ok(Port { name: name.clone(), input: direction == "input", width })
        };
        let ports = Ports { module: module.into(), ports: ports.iter().map(port).collect::<Result<_>>()? };
        let clock = Port { name: CLOCK.into(), input: true, width: 1 };
        ensure!(ports.ports.contains(&clock), "{module} has no port {CLOCK}");
        ensure!(ports.inputs() > 0 && ports.outputs() > 0, "{module} does nothing");
        Ok(ports)
    }

    fn width(&self, input: bool) -> usize {
        let side = self.ports.iter().filter(|port| port.input == input && port.name != CLOCK);
        side.map(|port| port.width).sum()
    }

    /// Input bits, without the clock.
    pub fn inputs(&self) -> usize {
        self.width(true)
    }

    /// Output bits.
    pub fn outputs(&self) -> usize {
        self.width(false)
    }

    /// The shell around the core, as module `shell`.
    pub fn shell(&self) -> String {
        let (ins, outs) = (self.inputs(), self.outputs());
        let mut connections = format!("    .{CLOCK}({CLOCK})");
        let (mut next_in, mut next_out) = (0, 0);
        for port in self.ports.iter().filter(|port| port.name != CLOCK) {
            let (chain, next) = match port.input {
                true => ("given", &mut next_in),
                false => ("made", &mut next_out),
            };
            let Port { name, width, .. } = port;
            // Writing into a String cannot fail.
            let _ = write!(connections, ",\n    .{name}({chain}[{next} +: {width}])");
            *next += width;
        }
        format!(
            "module shell(input {CLOCK}, input shift_in, input load, output shift_out);\n  \
             reg [{ins}-1:0] given;\n  \
             wire [{outs}-1:0] made;\n  \
             reg [{outs}-1:0] taken;\n  \
             assign shift_out = taken[{outs}-1];\n  \
             always @(posedge {CLOCK}) begin\n    \
             given <= {{given, shift_in}};\n    \
             taken <= load ? made : {{taken, 1'b0}};\n  \
             end\n  \
             {} core(\n{connections});\nendmodule\n",
            self.module
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(ports: &str) -> String {
        format!("{{\"modules\": {{\"top\": {{\"ports\": {{{ports}}}}}}}}}")
    }

    const CLOCK_PORT: &str = "\"clock\": {\"direction\": \"input\", \"bits\": [2]}";

    #[test]
    fn every_port_is_registered_once() {
        let text = json(&format!(
            "{CLOCK_PORT}, \"a\": {{\"direction\": \"input\", \"bits\": [3, 4, 5]}}, \
             \"b\": {{\"direction\": \"input\", \"bits\": [6]}}, \
             \"c\": {{\"direction\": \"output\", \"bits\": [7, \"0\"]}}"
        ));
        let ports = Ports::parse(&text, "top").unwrap();
        assert_eq!((ports.inputs(), ports.outputs()), (4, 2));
        let shell = ports.shell();
        for line in [
            ".clock(clock)",
            ".a(given[0 +: 3])",
            ".b(given[3 +: 1])",
            ".c(made[0 +: 2])",
            "top core(",
            "reg [4-1:0] given;",
        ] {
            assert!(shell.contains(line), "{line} is missing in\n{shell}");
        }
    }

    #[test]
    fn a_core_that_the_shell_does_not_fit_is_refused() {
        let refused = |text: &str| Ports::parse(text, "top").unwrap_err().to_string();
        assert!(refused("{}").contains("no module top"));
        assert!(refused("not JSON").contains("no JSON"));
        let one = "\"x\": {\"direction\": \"inout\", \"bits\": [3]}";
        assert!(refused(&json(one)).contains("inout"));
        let one = "\"x$y\": {\"direction\": \"input\", \"bits\": [3]}";
        assert!(refused(&json(one)).contains("x$y"));
        assert!(refused(&json(CLOCK_PORT)).contains("does nothing"));
        let one = "\"x\": {\"direction\": \"input\", \"bits\": [3]}";
        assert!(refused(&json(one)).contains("no port clock"));
    }
}
