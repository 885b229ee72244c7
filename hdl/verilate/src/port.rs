//! The ports of `module top`, read from RustHDL's non-ANSI declarations.

use crate::{Error, Result};

/// Which way a port points, seen from the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Driven by the bench.
    In,
    /// Driven by the block.
    Out,
}

/// One port of the top module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name in the Verilog.
    pub name: String,
    /// Its direction.
    pub direction: Direction,
    /// Its width in bits.
    pub width: usize,
}

impl Port {
    /// Verilator's C++ name for the port: characters that C++ does not know are written in hexadecimal.
    pub(crate) fn cpp(&self) -> String {
        let mut cpp = String::new();
        let mut chars = self.name.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '_' if chars.peek() == Some(&'_') => {
                    chars.next();
                    cpp.push_str("___05F");
                }
                c if c.is_ascii_alphanumeric() || c == '_' => cpp.push(c),
                c => cpp.push_str(&format!("__0{:02X}", u32::from(c))),
            }
        }
        cpp
    }

    /// The port's field name in the Rust structs.
    pub(crate) fn rust(&self) -> String {
        self.name.replace('$', "_")
    }

    /// Number of 32-bit words, for a port wider than 64 bits.
    pub(crate) fn words(&self) -> usize {
        self.width.div_ceil(32)
    }
}

/// The ports of `module top` in order of declaration.
pub(crate) fn parse(verilog: &str, block: &str) -> Result<Vec<Port>> {
    let fail = |reason: String| Error::Ports { block: block.into(), reason };
    let body =
        verilog.split_once("module top(").ok_or_else(|| fail("no `module top(` in the Verilog".into()))?.1;
    let body = body.split("endmodule").next().unwrap_or(body);
    // A function that yosys writes has inputs of its own.
    let header = body.split(')').next().unwrap_or(body);
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut ports = Vec::new();
    for line in body.lines().map(str::trim) {
        let (direction, rest) = if let Some(rest) = line.strip_prefix("input ") {
            (Direction::In, rest)
        } else if let Some(rest) = line.strip_prefix("output ") {
            (Direction::Out, rest)
        } else if line.starts_with("inout ") {
            return Err(fail(format!("bidirectional port: `{line}`")));
        } else {
            continue;
        };
        let width = match rest.split_once('[') {
            None => 1,
            Some((_, range)) => range
                .split_once(":0]")
                .and_then(|(high, _)| high.trim().parse::<usize>().ok())
                .map(|high| high + 1)
                .ok_or_else(|| fail(format!("port range not understood: `{line}`")))?,
        };
        let name = rest
            .rsplit(|c: char| c.is_whitespace() || c == ']')
            .next()
            .unwrap_or_default()
            .trim_end_matches(';');
        if name.is_empty() {
            return Err(fail(format!("port without a name: `{line}`")));
        }
        if names.contains(&name) {
            ports.push(Port { name: name.into(), direction, width });
        }
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rusthdl_ports() {
        let text = "module top(clock,a$b,q, r);\n\n    // Module arguments\n    input wire  clock;\n    \
                    input wire  [71:0] a$b;\n    output reg signed [7:0] q;\n    output wire  r;\n    reg x;\n    function f;\n    input [3:0] a;\n    endfunction\nendmodule\n\
                    module top$sub(z);\ninput wire z;\nendmodule";
        let ports = parse(text, "t").unwrap();
        let seen: Vec<_> = ports.iter().map(|p| (p.name.as_str(), p.direction, p.width)).collect();
        assert_eq!(
            seen,
            [
                ("clock", Direction::In, 1),
                ("a$b", Direction::In, 72),
                ("q", Direction::Out, 8),
                ("r", Direction::Out, 1)
            ]
        );
        assert_eq!(ports[1].cpp(), "a__024b");
        assert_eq!(ports[1].words(), 3);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        assert!(parse("module other(a);\nendmodule", "t").is_err());
        assert!(parse("module top(a);\ninput wire [3:1] a;\nendmodule", "t").is_err());
        assert!(parse("module top(a);\ninout wire a;\nendmodule", "t").is_err());
    }
}
