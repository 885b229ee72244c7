//! Counters in a model: how often each line runs and each bit turns.
//!
//! A model that ends adds its counts to those of its predecessors of the same build, in one file of the folder
//! [`COVERAGE`]: as many tests as there are, in as many processes, leave one file a model.
//!
//! Lines are cheap. Counters of bits are dear: the whole NIC with all of them takes eleven minutes to compile, and is too slow
//! for its own agent. Where they add nothing they are switched off, by [`configuration`].

use std::fmt::Write;

/// The environment variable with the folder that counts go to. Models that are built while it is set count.
pub const COVERAGE: &str = "VIADUCT_COVERAGE";

/// A model of more modules than this is of the whole NIC (193 of them; the largest block has 45), and counts bits of
/// `module top` only.
const MODULES: usize = 100;

/// What Verilator is told.
///
/// Verilator must leave a block's processes in one piece. Verilator 5.006 may move a counter out of an `if` and evaluate the condition
/// again after the `if` has assigned, and so count wrongly. The whole NIC is several times slower with its processes in one piece, so there
/// they are split, and a few lines are counted wrongly.
pub(crate) fn arguments(verilog: &str) -> &'static [&'static str] {
    match whole(verilog.lines().filter(|line| line.starts_with("module ")).count()) {
        true => &["--coverage-line", "--coverage-toggle"],
        false => &["--coverage-line", "--coverage-toggle", "-fno-split"],
    }
}

/// Whether a model of so many modules is of the whole NIC.
fn whole(modules: usize) -> bool {
    modules > MODULES
}

/// Verilator's configuration: the declarations whose bits are not counted.
///
/// A signal between registers and ports would be counted twice, because the register or port that it comes from or goes to is counted, too.
/// A memory's ports are signals of the block that uses it.
pub(crate) fn configuration(verilog: &str) -> String {
    let mut text = String::from("`verilator_config\n");
    let lines: Vec<&str> = verilog.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|n| lines[*n].starts_with("module ")).collect();
    for (index, start) in starts.iter().enumerate() {
        let body = &lines[*start..starts.get(index + 1).copied().unwrap_or(lines.len())];
        let counts = !whole(starts.len()) || body[0].starts_with("module top ");
        let is_memory = body.iter().any(|line| line.contains("] memory ["));
        for (line, declaration) in (start + 1..).zip(body) {
            if declares(declaration) && !(counts && counted(declaration, is_memory)) {
                let _ = writeln!(text, "coverage_off -file \"*top.v\" -lines {line}");
            }
        }
    }
    text
}

/// Whether the line declares a port or a signal.
fn declares(line: &str) -> bool {
    ["input ", "output ", "reg ", "wire "].iter().any(|word| line.trim_start().starts_with(word))
}

/// Whether it is a port, or a register, which has a value at power-up; of a memory, what it gives out.
fn counted(declaration: &str, is_memory: bool) -> bool {
    let words = declaration.trim();
    match is_memory {
        true => words.starts_with("output "),
        false => words.starts_with("input ") || words.starts_with("output ") || words.contains(" = "),
    }
}

/// The function of the shim that adds a model's counts up.
pub(crate) fn cpp() -> String {
    format!(
        r#"
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include "verilated_cov.h"

// A line of a file of counts is `C '<key>' <count>`, or a comment. Files of one model have the same keys in the same order.
static void add_counts(VerilatedContext& context) noexcept {{
  const char* folder = std::getenv("{COVERAGE}");
  if (!folder) return;
  // This file is compiled once for each model, where the model's Verilog is, which the keys name.
  const std::string model = std::to_string(std::hash<std::string>()(__FILE__));
  const std::string sum = std::string(folder) + "/" + model + ".dat", one = sum + ".one", next = sum + ".next";
  const int lock = open((sum + ".lock").c_str(), O_CREAT | O_RDWR, 0666);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) std::perror(sum.c_str()), std::abort();
  context.coveragep()->write(one.c_str());
  std::ifstream before(sum), now(one);
  std::ofstream after(next);
  for (std::string line, old; std::getline(now, line); after << line << '\n') {{
    if (!std::getline(before, old)) continue;
    const size_t key = line.rfind(' ') + 1;
    if (line[0] == 'C' && old.compare(0, key, line, 0, key) == 0)
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

    const VERILOG: &str =
        "module top (\n    input  wire a\n);\n    reg  r = 1'd0;\n    wire b;\n    always @(*) begin\n    end\nendmodule\n\
         module ram_8_3 (\n    input  wire a,\n    output reg  [7:0] q\n);\n    reg [7:0] memory [7:0];\nendmodule\n";

    #[test]
    fn bits_are_counted_once() {
        let off = |verilog: &str| {
            let text = configuration(verilog);
            let lines =
                text.lines().filter_map(|line| line.strip_prefix("coverage_off -file \"*top.v\" -lines "));
            lines.map(|line| line.parse().unwrap()).collect::<Vec<usize>>()
        };
        // A signal on the way, what goes into a memory, and what it holds.
        assert_eq!(off(VERILOG), [5, 10, 13]);
        let nic = VERILOG.to_owned() + &"module c (\n);\nendmodule\n".repeat(MODULES);
        assert_eq!(off(&nic), [5, 10, 11, 13]);
    }
}
