//! Counters in a model: how often each line runs and each bit turns.
//!
//! A model that ends adds its counts to those of its predecessors with the same Verilog, in one file of the folder
//! [`COVERAGE`]: as many tests as there are, in as many processes, leave one file a model.
//!
//! Counters of bits are dear: the whole NIC with all of them takes eleven minutes to compile and stands still. Where
//! they add nothing they are switched off, by [`configuration`].

use std::fmt::Write;

use crate::cache;

/// The environment variable with the folder that counts go to. Models that are built while it is set count.
pub const COVERAGE: &str = "VIADUCT_COVERAGE";

/// What a model counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Lines, and the bits of every signal. Registers and memories are modules in what RustHDL writes: their bits are
    /// counted where they are used, and not a second time inside.
    Full,
    /// Lines, and the bits of the signals of `module top`: what runs between its blocks.
    Top,
}

/// Verilator's configuration: the declarations whose bits are not counted.
pub(crate) fn configuration(verilog: &str, coverage: Coverage) -> String {
    let mut text = String::from("`verilator_config\n");
    let lines: Vec<&str> = verilog.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|n| lines[*n].starts_with("module ")).collect();
    for (index, start) in starts.iter().enumerate() {
        let body = &lines[*start..starts.get(index + 1).copied().unwrap_or(lines.len())];
        let counted = match coverage {
            Coverage::Full => body.iter().any(|line| line.trim() == "always @(*) begin"),
            Coverage::Top => body[0].starts_with("module top("),
        };
        let declarations = body.iter().position(|line| line.trim_start().starts_with("always "));
        if let (false, Some(count)) = (counted, declarations) {
            let _ = writeln!(text, "coverage_off -file \"*top.v\" -lines {}-{}", start + 1, start + count);
        }
    }
    text
}

/// The function of the shim that adds a model's counts up.
pub(crate) fn cpp(verilog: &str) -> String {
    let model = cache::key(&[verilog]);
    format!(
        r#"
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include "verilated_cov.h"

// A line of a file of counts is a key, a space and a count. Files of one model have the same keys in the same order.
static void add_counts(VerilatedContext& context) {{
  const char* folder = std::getenv("{COVERAGE}");
  if (!folder) return;
  const std::string sum = std::string(folder) + "/{model}.dat", one = sum + ".one", next = sum + ".next";
  const int lock = open((sum + ".lock").c_str(), O_CREAT | O_RDWR, 0666);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) std::perror(sum.c_str()), std::abort();
  context.coveragep()->write(one.c_str());
  std::ifstream before(sum), now(one);
  std::ofstream after(next);
  for (std::string line, old; std::getline(now, line); after << line << '\n') {{
    if (!std::getline(before, old)) continue;
    const size_t key = line.rfind(' ') + 1;
    if (key && old.compare(0, key, line, 0, key) == 0)
      line.replace(key, std::string::npos, std::to_string(std::stoull(line.substr(key)) + std::stoull(old.substr(key))));
  }}
  after.close();
  rename(next.c_str(), sum.c_str());
  unlink(one.c_str());
  close(lock);
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERILOG: &str = "module top(a);\ninput wire a;\nalways @(*) begin\nend\nendmodule\n\
                           module top$r(q);\noutput reg q;\nalways @(posedge clock) begin\nend\nendmodule\n\
                           module top$s(a);\ninput wire a;\nalways @(*) begin\nend\nendmodule\n\
                           module top$c(q);\nassign q = 1;\nendmodule\n";

    #[test]
    fn bits_are_counted_once() {
        let off = |coverage| configuration(VERILOG, coverage);
        assert_eq!(off(Coverage::Full), "`verilator_config\ncoverage_off -file \"*top.v\" -lines 6-7\n");
        let top = off(Coverage::Top);
        assert!(top.ends_with("6-7\ncoverage_off -file \"*top.v\" -lines 11-12\n"), "{top}");
    }
}
