//! The ports of `module top`, read from its declarations.

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

/// The ports of `module top` in order of declaration: in its head, or in its body, as yosys and RustHDL's own writer have them.
pub(crate) fn parse(verilog: &str, block: &str) -> Result<Vec<Port>> {
    let fail = |reason: String| Error::Ports { block: block.into(), reason };
    let (_, rest) = verilog
        .split_once("module top(")
        .or_else(|| verilog.split_once("module top ("))
        .ok_or_else(|| fail("no `module top(` in the Verilog".into()))?;
    // What a comment says may look like the end.
    let without_comment = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    let rest: String = rest.lines().map(without_comment).collect();
    let (head, body) =
        rest.split_once(");").ok_or_else(|| fail("the ports of `module top` have no end".into()))?;
    let in_head: Vec<Port> = declarations(head).collect::<Declared<_>>().map_err(fail)?;
    if !in_head.is_empty() {
        return Ok(in_head);
    }
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let body = body.split("endmodule").next().unwrap_or(body);
    // A function that yosys writes has inputs of its own.
    let is_port = |port: &Port| names.contains(&port.name.as_str());
    let ports = declarations(body).filter(|port| port.as_ref().map_or(true, is_port));
    ports.collect::<Declared<_>>().map_err(fail)
}

/// What a declaration says, or what is wrong with it.
type Declared<T> = std::result::Result<T, String>;

/// The ports that a text declares, one in a line.
fn declarations(text: &str) -> impl Iterator<Item = Declared<Port>> + '_ {
    text.lines().filter_map(|line| declaration(line.trim().trim_end_matches([',', ';'])))
}

/// The port that a line declares, if it is a declaration.
fn declaration(line: &str) -> Option<Declared<Port>> {
    let (direction, rest) = if let Some(rest) = line.strip_prefix("input ") {
        (Direction::In, rest)
    } else if let Some(rest) = line.strip_prefix("output ") {
        (Direction::Out, rest)
    } else if line.starts_with("inout ") {
        return Some(Err(format!("bidirectional port: `{line}`")));
    } else {
        return None;
    };
    let width = match rest.split_once('[') {
        None => Some(1),
        Some((_, range)) => {
            let high = range.split_once(":0]").and_then(|(high, _)| high.trim().parse::<usize>().ok());
            high.map(|high| high + 1)
        }
    };
    let name = rest.rsplit(|c: char| c.is_whitespace() || c == ']').next().unwrap_or_default();
    Some(match width {
        None => Err(format!("port range not understood: `{line}`")),
        Some(_) if name.is_empty() => Err(format!("port without a name: `{line}`")),
        Some(width) => Ok(Port { name: name.into(), direction, width }),
    })
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
    fn reads_ports_declared_in_the_head() {
        let text = "module top (\n    // What (this); [7:0] says.\n    input  wire clock,\n    output reg  [71:0] word\n);\n    \
                    function f;\n    input [3:0] a;\n    endfunction\nendmodule\n";
        let ports = parse(text, "t").unwrap();
        let seen: Vec<_> = ports.iter().map(|p| (p.name.as_str(), p.direction, p.width)).collect();
        assert_eq!(seen, [("clock", Direction::In, 1), ("word", Direction::Out, 72)]);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        assert!(parse("module other(a);\nendmodule", "t").is_err());
        assert!(parse("module top(a);\ninput wire [3:1] a;\nendmodule", "t").is_err());
        assert!(parse("module top(a);\ninout wire a;\nendmodule", "t").is_err());
    }
}
