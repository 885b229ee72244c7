use super::bundle::Bundle;
use rust_hdl::prelude::*;
use viaduct_hdl::bus::{Commit, QueueId};
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::{Cast, Unpack, WireOrder};
use viaduct_hdl::rows::tables::{
    CompletionQueueRow, GatherRow, ModerationRow, PageRow, ReceiveRow, RegionRow, TransmitRow, ViStateRow,
    WorkQueueRow,
};
use viaduct_spec::layout::Layout;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::{
    completion_queue, gather, moderation, page, receive, region, transmit, vi_state, work_queue,
};
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

/// A field of a row that the agent puts into the words of a commit is that field of the bundle, and all others are 0.
fn shows<T: Synth + 'static>(layout: &Layout) {
    let mut bench = Bench::new(layout.name, &verilog(Unpack::<Commit, T>::default()));
    let (commit, row) = (Bundle::of::<Commit>("from"), Bundle::of::<T>("to"));
    for field in layout.fields {
        let mut words = [0; 3];
        field.put(&mut words, field.mask());
        commit.set(&mut bench, &[("word0", words[0]), ("word1", words[1]), ("word2", words[2])]);
        bench.eval();
        for (name, value) in row.all(&bench) {
            let expected = if name == field.name.to_lowercase() { field.mask() } else { 0 };
            assert_eq!(value, expected, "{}: {name}, when {} is given", layout.name, field.name);
        }
    }
}

#[test]
fn a_commit_shows_its_row() {
    shows::<RegionRow>(&region::LAYOUT);
    shows::<PageRow>(&page::LAYOUT);
    shows::<WorkQueueRow>(&work_queue::LAYOUT);
    shows::<CompletionQueueRow>(&completion_queue::LAYOUT);
    shows::<ModerationRow>(&moderation::LAYOUT);
    shows::<GatherRow>(&gather::LAYOUT);
    shows::<TransmitRow>(&transmit::LAYOUT);
    shows::<ReceiveRow>(&receive::LAYOUT);
    shows::<ViStateRow>(&vi_state::LAYOUT);
}

#[test]
#[should_panic(expected = "at least as many bits")]
fn an_unpack_needs_all_bits_of_its_bundle() {
    let _: Unpack<Bits<1>, Bits<2>> = Unpack::default();
}

/// Each byte goes to the place that mirrors its own: what comes first on the wire is a number's most significant byte.
#[test]
fn bytes_on_the_wire_are_a_number_and_back() {
    let beat = verilog(WireOrder::<64>::default());
    let psn = verilog(WireOrder::<24>::default());
    for (name, text, number, wire) in [
        ("beat", &beat, 0x0102_0304_0506_0708, 0x0807_0605_0403_0201),
        ("beat", &beat, 0xff00_0000_0000_0080, 0x8000_0000_0000_00ff),
        ("psn", &psn, 0x01_0203, 0x03_0201),
    ] {
        let mut bench = Bench::new(name, text);
        for (from, to) in [(number, wire), (wire, number)] {
            bench.set("from", from);
            bench.eval();
            assert_eq!(bench.get("to"), to);
        }
    }
}
