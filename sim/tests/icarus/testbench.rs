//! A test bench in Verilog that plays recorded inputs to the top, and shows the outputs of each cycle.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use viaduct_verilate::{ports, Direction, Port};

use crate::icarus::judge::Shown;
use crate::icarus::recording::{Recording, Row};

/// What has become of a run.
pub enum Run {
    /// The outputs of each cycle, in the order of the recording.
    Whole(Vec<Shown>),
    /// It has come to no end of a cycle.
    Stuck {
        /// The cycles before.
        cycles: usize,
    },
}

/// The Verilog without the values that registers have at power-up: they are X until something is written into them.
///
/// # Panics
/// There are none.
pub fn powered_up_as_anything(verilog: &str) -> String {
    let mut text = String::new();
    let mut count = 0;
    for line in verilog.lines() {
        let declared = line.trim_start().starts_with("reg ").then(|| line.split_once(" = ")).flatten();
        match declared {
            Some((declaration, _)) => {
                count += 1;
                text.push_str(&format!("{declaration};\n"));
            }
            None => text.push_str(&format!("{line}\n")),
        }
    }
    assert!(count > 100, "only {count} registers with a value at power-up were found");
    text
}

/// Plays the inputs. Whoever has no patience for so many seconds is told how far it came.
///
/// # Panics
/// Icarus is missing or refuses the Verilog, or the recording is of other ports.
pub fn run(verilog: &str, recording: &Recording, patience: u32) -> Run {
    let ports = ports(verilog).unwrap();
    let side = |names: &[String], direction: Direction| -> Vec<Port> {
        let known = ports.iter().filter(|port| port.direction == direction && port.name != "clock");
        assert_eq!(known.count(), names.len(), "{direction:?}: other ports than recorded: {names:?}");
        let port = |name| ports.iter().find(|port| port.name == name && port.direction == direction);
        names
            .iter()
            .map(|name| port(name.as_str()).unwrap_or_else(|| panic!("no port {name}")).clone())
            .collect()
    };
    let (inputs, outputs) =
        (side(&recording.inputs, Direction::In), side(&recording.outputs, Direction::Out));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("top.v"), verilog).unwrap();
    fs::write(path("bench.v"), bench(&inputs, &outputs, recording.rows.len())).unwrap();
    fs::write(path("inputs.bin"), recording.rows.iter().map(|row| vector(&inputs, row)).collect::<String>())
        .unwrap();
    let tool = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(folder.path());
        command
    };
    let compiled =
        tool("iverilog").args(["-g2005", "-s", "bench", "-o", "bench.vvp", "bench.v", "top.v"]).output();
    let compiled = compiled.unwrap_or_else(|error| panic!("iverilog: {error}; run `cargo xtask setup`"));
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success() && said.is_empty(), "iverilog: {said}");
    let ran = tool("timeout").arg(patience.to_string()).args(["vvp", "-n", "bench.vvp"]).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    let shown: Vec<Shown> = text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
    match ran.status.code() {
        Some(0) if shown.len() == recording.rows.len() => Run::Whole(shown),
        // timeout's own.
        Some(124) => Run::Stuck { cycles: shown.len() },
        _ => panic!(
            "vvp, after {} cycles: {} {}",
            shown.len(),
            ran.status,
            String::from_utf8_lossy(&ran.stderr)
        ),
    }
}

/// One cycle's inputs in one word, the last input highest.
fn vector(inputs: &[Port], row: &Row) -> String {
    let mut word = String::new();
    for (port, value) in inputs.iter().zip(&row.inputs).rev() {
        let bits = format!("{value:0width$b}", width = port.width);
        assert_eq!(bits.len(), port.width, "{value:#x} does not fit {}", port.name);
        word.push_str(&bits);
    }
    word + "\n"
}

/// The test bench: as in the Verilated model, inputs come while the clock is low, and outputs are looked at before it rises.
fn bench(inputs: &[Port], outputs: &[Port], cycles: usize) -> String {
    let width: usize = inputs.iter().map(|port| port.width).sum();
    let mut text = format!(
        "`timescale 1ns/1ns\nmodule bench;\n    reg clock = 0;\n    reg [{0}:0] inputs [0:{1}];\n    reg [{0}:0] now;\n",
        width - 1,
        cycles - 1
    );
    for port in outputs {
        let _ = writeln!(text, "    wire [{}:0] {};", port.width - 1, port.name);
    }
    text.push_str("    top top (\n        .clock(clock)");
    let mut low = 0;
    for port in inputs {
        let _ = write!(text, ",\n        .{}(now[{low} +: {}])", port.name, port.width);
        low += port.width;
    }
    for port in outputs {
        let _ = write!(text, ",\n        .{0}({0})", port.name);
    }
    let names: Vec<&str> = outputs.iter().map(|port| port.name.as_str()).collect();
    let format = vec!["%b"; names.len()].join(" ");
    let _ = write!(
        text,
        "\n    );\n    integer cycle;\n    initial begin\n        $readmemb(\"inputs.bin\", inputs);\n        \
         for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin\n            now = inputs[cycle];\n            \
         #4 $display(\"{format}\", {});\n            clock = 1;\n            #4 clock = 0;\n        end\n        \
         $finish;\n    end\nendmodule\n",
        names.join(", ")
    );
    text
}
