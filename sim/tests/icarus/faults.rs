//! The run finds what is wrong: each test puts one fault into the text.

use crate::icarus::judge::Fault;
use crate::icarus::testbench::powered_up_as_anything;
use crate::icarus::{faults_of, recorded, verilog, PATIENCE};

/// The text with `new` for `old`, which stands once in the module.
fn with(verilog: &str, module: &str, old: &str, new: &str) -> String {
    let head = format!("\nmodule {module} (");
    let (before, rest) = verilog.split_once(&head).unwrap_or_else(|| panic!("no module {module}"));
    let (body, behind) = rest.split_once("\nendmodule").unwrap();
    assert_eq!(body.matches(old).count(), 1, "`{old}` in {module}");
    format!("{before}{head}{}\nendmodule{behind}", body.replacen(old, new, 1))
}

/// What is found with a text in the place of another. The first NIC is enough.
fn found(module: &str, old: &str, new: &str, patience: u32) -> Vec<Fault> {
    let verilog = powered_up_as_anything(&with(&verilog(), module, old, new));
    faults_of(&verilog, &recorded()[0], patience)
}

/// The first that is found: what it is, and the output.
fn first(faults: &[Fault]) -> (&'static str, &str) {
    match faults.first() {
        Some(Fault::Unknown(place)) => ("unknown", &place.output),
        Some(Fault::Other(place)) => ("other", &place.output),
        Some(Fault::Stuck { .. }) => ("stuck", ""),
        None => ("nothing", ""),
    }
}

#[test]
#[ignore = "needs Icarus Verilog: cargo xtask test --only icarus"]
fn a_register_of_control_without_its_reset_is_found_as_unknown() {
    let faults = found("ack", "            offered <= 1'b0;\n", "", PATIENCE);
    assert_eq!(first(&faults), ("unknown", "idle"), "{faults:?}");
}

#[test]
#[ignore = "needs Icarus Verilog: cargo xtask test --only icarus"]
fn a_counter_without_its_reset_is_found_by_what_the_nic_does_not_do() {
    let faults = found("ack", "            clear <= 6'd0;\n", "", PATIENCE);
    assert_eq!(first(&faults), ("other", "idle"), "{faults:?}");
}

#[test]
#[ignore = "needs Icarus Verilog: cargo xtask test --only icarus"]
fn an_output_that_is_wired_wrong_is_found() {
    let faults = found("eth_transmit", "assign tx_last = beat[68];", "assign tx_last = beat[67];", PATIENCE);
    assert_eq!(first(&faults), ("other", "eth_tx_last"), "{faults:?}");
}

#[test]
#[ignore = "needs Icarus Verilog: cargo xtask test --only icarus"]
fn a_loop_without_delay_is_found() {
    let ring = "assign idle = (rests === 1'b1) ? ~idle : rests;";
    let faults = found("quiet", "assign idle = rests;", ring, 10);
    assert_eq!(first(&faults).0, "stuck", "{faults:?}");
}
