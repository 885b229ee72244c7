//! What every first byte of a TLP is: the specification's table, and nothing for what is not in it.

use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::transaction::KindSort;
use viaduct_verilate::Bench;

use super::kinds::{kind_of, Kind};

#[test]
fn every_kind_is_what_the_specification_says() {
    let mut bench = Bench::new("pcie_kind_sort", &verilog(KindSort::default()));
    for byte in 0..=255u8 {
        bench.set("kind", byte.into());
        bench.eval();
        let kind = kind_of(byte);
        let expected = [
            ("memory", matches!(kind, Some(Kind::Read | Kind::Write))),
            ("completion", kind == Some(Kind::Completion)),
            ("configuration", kind == Some(Kind::Configuration)),
            ("message", kind == Some(Kind::Message)),
            ("single", matches!(kind, Some(Kind::Configuration | Kind::Single))),
            (
                "non_posted",
                matches!(kind, Some(Kind::Read | Kind::Configuration | Kind::Single | Kind::Other)),
            ),
            ("known", kind.is_some()),
        ];
        for (port, value) in expected {
            assert_eq!(bench.get(port) == 1, value, "{byte:#04x}: {port}");
        }
    }
}
