//! One mutant, as yosys' `mutate -list` writes it.

use anyhow::{ensure, Context, Result};
use std::fmt;

/// One fault at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What is done to the bit: `inv`, `const0`, `const1`, `cnot0`, `cnot1`.
    pub mode: String,
    /// The cell of the flattened block.
    pub cell: String,
    /// Its port.
    pub port: String,
    /// The bit of the port.
    pub bit: u32,
    /// With `cnot0` and `cnot1`, the bit of the same port on which it depends whether the bit is inverted.
    pub control: Option<u32>,
    /// The named signal that the bit is, where it is one, and which bit of it: for who reads it.
    pub wire: Option<(String, u32)>,
}

/// Pins where a fault is none of the design: clocks, what a memory has and does not use, and what a flip-flop gives out, since yosys
/// would forget its value at power-up (what it takes in, and what reads it, are places).
const LEFT_OUT: [&str; 7] = ["CLK", "RD_CLK", "WR_CLK", "RD_EN", "RD_ARST", "RD_SRST", "Q"];

impl Mutation {
    /// The mutants of a list, without those at places that are none.
    ///
    /// # Errors
    /// The list is not of this form.
    pub fn list(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let all = lines.map(|line| Self::parse(line).with_context(|| format!("yosys' list has {line:?}")));
        let mut kept: Vec<Self> = Vec::new();
        for mutation in all {
            let mutation = mutation?;
            if mutation.counts() && !kept.contains(&mutation) {
                kept.push(mutation);
            }
        }
        Ok(kept)
    }

    fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        ensure!(words.next() == Some("mutate"), "no mutation");
        let mut found = Self {
            mode: String::new(),
            cell: String::new(),
            port: String::new(),
            bit: u32::MAX,
            control: None,
            wire: None,
        };
        while let Some(option) = words.next() {
            let value = words.next().with_context(|| format!("{option} without a value"))?;
            match option {
                "-mode" => found.mode = value.into(),
                "-cell" => found.cell = value.into(),
                "-port" => found.port = value.trim_start_matches('\\').into(),
                "-portbit" => found.bit = value.parse()?,
                "-ctrlbit" => found.control = Some(value.parse()?),
                "-wire" => found.wire = Some((value.trim_start_matches('\\').into(), 0)),
                "-wirebit" => {
                    if let Some((_, bit)) = &mut found.wire {
                        *bit = value.parse()?;
                    }
                }
                // The control input is ours to number; where it comes from is for people.
                "-ctrl" => {
                    words.nth(1).context("-ctrl without its values")?;
                }
                "-module" | "-src" => {}
                _ => anyhow::bail!("{option} is not known"),
            }
        }
        let none = found.mode.is_empty() || found.mode == "none";
        ensure!(none || (!found.cell.is_empty() && !found.port.is_empty()), "no place");
        Ok(found)
    }

    /// Whether it is a fault of the design.
    fn counts(&self) -> bool {
        let clock = |(wire, _): &(String, u32)| wire.ends_with("clock");
        self.mode != "none"
            && !LEFT_OUT.contains(&self.port.as_str())
            && !self.wire.as_ref().is_some_and(clock)
    }

    /// The line that makes yosys do it: at once, or while the input `select` has this number.
    pub fn command(&self, number: Option<usize>) -> String {
        let mut line = String::from("mutate");
        if let Some(number) = number {
            line += &format!(" -ctrl {} {} {number}", super::verilog::SELECT, super::verilog::SELECT_BITS);
        }
        line += &format!(" {self} -module top");
        line
    }
}

/// The place and what is done there, in yosys' words: the mutant's name.
impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-mode {} -cell {} -port {} -portbit {}", self.mode, self.cell, self.port, self.bit)?;
        if let Some(bit) = self.control {
            write!(f, " -ctrlbit {bit}")?;
        }
        if let Some((wire, bit)) = &self.wire {
            write!(f, " -wire {wire} -wirebit {bit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "mutate -ctrl mutsel 16 1 -mode cnot1 -module top -cell $flatten\\w.$procmux$38 -port B -portbit 125 -ctrlbit 115 -src a.v:2.1 -src b.v:3.4\n\
        mutate -ctrl mutsel 16 2 -mode const0 -module top -cell w.$procdff$39 -port CLK -portbit 0\n\
        mutate -ctrl mutsel 16 3 -mode inv -module top -cell $and$1 -port Y -portbit 0 -wire w.full -wirebit 3\n\
        mutate -ctrl mutsel 16 4 -mode inv -module top -cell $and$1 -port Y -portbit 0 -wire w.full -wirebit 3\n\
        mutate -mode none\n";

    #[test]
    fn a_list_is_read_without_clocks_doubles_and_none() {
        let list = Mutation::list(LIST).unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(
            (list[0].bit, list[0].control, list[0].cell.as_str()),
            (125, Some(115), "$flatten\\w.$procmux$38")
        );
        assert_eq!(list[1].wire, Some(("w.full".into(), 3)));
        let line = "mutate -ctrl mutsel 16 7 -mode inv -cell $and$1 -port Y -portbit 0 -wire w.full -wirebit 3 -module top";
        assert_eq!(list[1].command(Some(7)), line);
        assert_eq!(Mutation::list(line).unwrap(), list[1..], "what is written can be read");
    }

    #[test]
    fn a_list_of_another_form_is_refused() {
        for wrong in [
            "mutant -mode inv",
            "mutate -mode",
            "mutate -mode inv",
            "mutate -mode inv -cell c -port A -portbit x",
            "mutate -speed 3",
        ] {
            let error = Mutation::list(wrong).unwrap_err();
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}
