use rust_hdl::prelude::*;
use viaduct_hdl::bus::QueueId;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::Cast;
use viaduct_spec::profile::VI_LOG2;
use viaduct_verilate::Bench;

/// The first field of a bundle has the lowest bits: a queue's name is its index.
#[test]
fn a_bundle_is_a_number_and_back() {
    let number: Cast<QueueId, Bits<{ VI_LOG2 + 1 }>> = Cast::default();
    let bundle: Cast<Bits<{ VI_LOG2 + 1 }>, QueueId> = Cast::default();
    for (name, text) in [("number", verilog(number)), ("bundle", verilog(bundle))] {
        let mut bench = Bench::new(name, &text);
        for value in [0, 1, 2, 77, 127] {
            bench.set("from", value);
            bench.eval();
            assert_eq!(bench.get("to"), value);
        }
    }
}

#[test]
#[should_panic(expected = "both types have equally many bits")]
fn a_cast_loses_no_bit() {
    let _: Cast<Bits<3>, Bits<2>> = Cast::default();
}
