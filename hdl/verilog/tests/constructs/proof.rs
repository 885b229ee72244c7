//! Proofs by yosys.

use std::fs;
use std::process::Command;

/// Proves that two designs, each with a `module top`, give the same outputs for all inputs from power-up on. Ports that RustHDL names
/// with `$` have our writer's names in the proof.
///
/// # Panics
/// They do not, or yosys is missing; with its log.
pub fn equal(one: &str, other: &str) {
    let log = run(one, other);
    assert!(log.contains("Induction step proven: SUCCESS!"), "{log}\n{one}\n{other}");
}

/// yosys' log of the proof.
pub fn run(one: &str, other: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gold.v"), one).unwrap();
    fs::write(folder.path().join("gate.v"), other).unwrap();
    let mut script = String::new();
    for (name, text) in [("gold", one), ("gate", other)] {
        script += &format!(
            "read_verilog {name}.v; hierarchy -check -top top; proc; flatten; memory; opt_clean; rename top {name}; \
             {}design -stash {name}; ",
            renames(text, name)
        );
    }
    script += "design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; \
               miter -equiv -flatten -make_outputs gold gate both; hierarchy -top both; \
               sat -prove trigger 0 -tempinduct -set-init-undef -seq 1 -maxsteps 30 both";
    let yosys = std::env::var("VIADUCT_YOSYS").unwrap_or_else(|_| "yosys".into());
    let output = Command::new(&yosys).args(["-p", &script]).current_dir(folder.path()).output();
    let output = output.unwrap_or_else(|error| panic!("{yosys}: {error}; run `cargo xtask setup`"));
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// yosys' commands that give the ports of `top` the names that our writer gives them: the data of a stream are called as the stream.
fn renames(text: &str, module: &str) -> String {
    let head = text.split("module top(").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
    let all: Vec<&str> = head.split(',').map(str::trim).collect();
    let ports = all.iter().filter(|port| port.contains('$'));
    let one = |port: &&str| format!("rename {port} {}; ", viaduct_verilog::port(port, &all));
    format!("cd {module}; {}cd ..; ", ports.map(one).collect::<String>())
}

#[test]
fn what_differs_is_found() {
    let design = |operator: &str| {
        format!("module top(input a, input b, output q);\nassign q = a {operator} b;\nendmodule\n")
    };
    equal(&design("&"), &design("&&"));
    assert!(run(&design("&"), &design("|")).contains("FAIL"), "{}", run(&design("&"), &design("|")));
}
