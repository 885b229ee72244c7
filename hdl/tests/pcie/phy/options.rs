//! Build options of a card.

use viaduct_hdl::board::{all, BoardOptions};
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::phy::Dcu;

/// A card with an option of this name, or without.
fn card(name: Option<&str>) -> String {
    let target = all().into_iter().find(|target| target.top == "nic").expect("there is a card");
    (target.verilog)(BoardOptions::named(name).unwrap())
}

/// Two options of the endpoint are constants of its MAC: each name sets its own, and nothing else of the card.
#[test]
fn a_name_reaches_its_constant_in_the_card() {
    let plain = card(None);
    for (name, constant) in [("no-scramble", "no_scramble"), ("ignore-detect", "ignore_detect")] {
        let [off, on] = [0, 1].map(|bit| format!("    localparam {constant} = 1'b{bit};\n"));
        assert_eq!(plain.matches(&off).count(), 1, "{name}");
        // Not assert_eq: it would print megabytes.
        assert!(card(Some(name)) == plain.replace(&off, &on), "{name} changes something else");
    }
    let name = "regulator";
    let dcu = viaduct_verilog::part(&card(Some(name)), &["transceiver", "dcu"]).unwrap();
    let alone = verilog(Dcu::new(BoardOptions::named([name]).unwrap().dcu));
    assert!(alone.contains(&dcu), "the card has not the cell that {name} makes:\n{dcu}");
}

#[test]
fn each_name_is_one_option_and_changes_the_cell_or_the_endpoint() {
    let plain = verilog(Dcu::new(Default::default()));
    let mut seen = vec![plain];
    for name in BoardOptions::names() {
        let options = BoardOptions::named([name]).unwrap();
        assert_ne!(options, BoardOptions::default(), "{name}");
        let dcu = verilog(Dcu::new(options.dcu));
        if options.dcu != Default::default() {
            assert!(!seen.contains(&dcu), "{name} makes the cell of another option");
            seen.push(dcu);
        }
    }
    assert_eq!(seen.len(), 6);
    let error = BoardOptions::named(["no-scramble", "no-cable"]).unwrap_err();
    assert!(error.contains("no-cable") && error.contains("whole-skp-sets"), "{error}");
}
