//! Build options of a card.

use viaduct_hdl::board::BoardOptions;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::phy::Dcu;

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
