//! Prints layouts as bundles of RustHDL: the files of `hdl/src/rows` but its `mod.rs` are this module's output, and a test says so.
//!
//! A bundle has the layout's fields in their order, so the first field has the lowest bits, and a field for each run of reserved
//! bits; so it is as wide as the layout, and its bits are the layout's. This crate itself knows nothing of RustHDL.

use std::fmt::Write;

use crate::layout::{Codes, Field, Layout};
use crate::{config_space, descriptor, doorbell, handle, inside, pcie_link, register, tables, tlp, wire};

/// A file of bundles.
#[derive(Debug)]
pub struct File {
    /// The file's name without its ending: the module of this crate that has the layouts.
    pub name: &'static str,
    /// The file.
    pub text: String,
}

/// One bundle: its type's name, and what it is made of.
enum Bundle {
    Row(&'static str, Layout),
    /// Half of a layout of 32 bits: the endpoint has 16 bits of a TLP in a cycle.
    HalfRow(&'static str, Layout, Half),
    Pulses(&'static str, Codes),
}

/// Which half of a double word. In a TLP's header the high one comes first.
#[derive(Clone, Copy)]
enum Half {
    Low,
    High,
}

/// Every file.
pub fn files() -> Vec<File> {
    use Bundle::{HalfRow, Pulses, Row};
    use Half::{High, Low};
    [
        (
            "config_space",
            vec![
                Row("PciCommand", config_space::pci_command::LAYOUT),
                Row("PowerControl", config_space::power_control::LAYOUT),
                Row("DeviceControl", config_space::device_control::LAYOUT),
                Row("LinkControl", config_space::link_control::LAYOUT),
                Row("MsixControl", config_space::msix::LAYOUT),
            ],
        ),
        (
            "descriptor",
            vec![
                Row("ControlSegment", descriptor::control_segment::LAYOUT),
                Row("DataSegment", descriptor::data_segment::LAYOUT),
                Row("AddressSegment", descriptor::address_segment::LAYOUT),
            ],
        ),
        (
            "doorbell",
            vec![
                Row("Token", doorbell::token::LAYOUT),
                Row("CqIndexWord", doorbell::cq_index::LAYOUT),
                Row("ArmWord", doorbell::arm::LAYOUT),
            ],
        ),
        (
            "handle",
            vec![
                Row("MemoryHandle", handle::memory_handle::LAYOUT),
                Row("QueuePair", handle::queue_pair::LAYOUT),
            ],
        ),
        (
            "inside",
            vec![
                Pulses("ByClient", inside::client::CODES),
                Row("RemoteRights", inside::remote_rights::LAYOUT),
                Pulses("FaultSources", inside::fault_source::CODES),
            ],
        ),
        (
            "pcie_link",
            vec![
                Row("Dllp", pcie_link::dllp::LAYOUT),
                Row("FlowKind", pcie_link::flow_kind::LAYOUT),
                Row("TrainingControl", pcie_link::training_control::LAYOUT),
            ],
        ),
        (
            "register",
            vec![
                Row("ControlRegister", register::control::LAYOUT),
                Row("RawChannelRegister", register::raw_channel::LAYOUT),
                Row("StateRegister", register::state::LAYOUT),
                Row("CommandWord", register::command::LAYOUT),
                Row("EventWord", register::event::LAYOUT),
                Pulses("CounterPulses", register::counter::CODES),
            ],
        ),
        (
            "tables",
            vec![
                Row("RegionRow", tables::region::LAYOUT),
                Row("PageRow", tables::page::LAYOUT),
                Row("WorkQueueRow", tables::work_queue::LAYOUT),
                Row("CompletionQueueRow", tables::completion_queue::LAYOUT),
                Row("ModerationRow", tables::moderation::LAYOUT),
                Row("GatherRow", tables::gather::LAYOUT),
                Row("TransmitRow", tables::transmit::LAYOUT),
                Row("ReceiveRow", tables::receive::LAYOUT),
                Row("ViStateRow", tables::vi_state::LAYOUT),
                Row("CqEntryRow", tables::cq_entry::LAYOUT),
            ],
        ),
        (
            "tlp",
            vec![
                Row("FirstWord", tlp::dw0::LAYOUT),
                HalfRow("FirstWordHigh", tlp::dw0::LAYOUT, High),
                HalfRow("FirstWordLow", tlp::dw0::LAYOUT, Low),
                Row("TlpKind", tlp::tlp_kind::LAYOUT),
                Row("RequestWord", tlp::request_dw1::LAYOUT),
                HalfRow("RequestWordLow", tlp::request_dw1::LAYOUT, Low),
                HalfRow("MessageWordLow", tlp::message_dw1::LAYOUT, Low),
                HalfRow("TargetWordHigh", tlp::configuration_dw2::LAYOUT, High),
                HalfRow("TargetWordLow", tlp::configuration_dw2::LAYOUT, Low),
                Row("CompletionCountWord", tlp::completion_dw1::LAYOUT),
                Row("CompletionTagWord", tlp::completion_dw2::LAYOUT),
            ],
        ),
        (
            "wire",
            vec![
                Row("Bth", wire::bth::LAYOUT),
                Row("Reth", wire::reth::LAYOUT),
                Row("Aeth", wire::aeth::LAYOUT),
                Row("SyndromeParts", wire::syndrome_parts::LAYOUT),
            ],
        ),
    ]
    .into_iter()
    .map(|(name, bundles)| File { name, text: file(name, &bundles) })
    .collect()
}

fn file(name: &str, bundles: &[Bundle]) -> String {
    let mut out = format!(
        "//! The layouts of `viaduct_spec::{name}`, as bundles.\n//!\n\
         //! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.\n\n\
         #![allow(missing_docs, reason = \"derive(LogicStruct) makes methods without documentation\")]\n\n\
         use rust_hdl::prelude::*;\n"
    );
    for bundle in bundles {
        match bundle {
            Bundle::Row(name, layout) => row(&mut out, name, layout.doc, (0, layout.bits), layout.fields),
            Bundle::HalfRow(name, layout, half) => self::half(&mut out, name, layout, *half),
            Bundle::Pulses(name, codes) => pulses(&mut out, name, codes),
        }
    }
    out
}

fn head(out: &mut String, name: &str, doc: &str) {
    write!(
        out,
        "\n///{doc}\n#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]\npub struct {name} {{\n"
    )
    .expect("a String takes all");
}

/// One field; `doc` begins with a space, as the text of a documentation comment does.
fn field(out: &mut String, name: &str, width: usize, doc: &str) {
    let kind = match width {
        1 => "bool".to_owned(),
        _ => format!("Bits<{width}>"),
    };
    writeln!(out, "    ///{doc}\n    pub {}: {kind},", name.to_lowercase()).expect("a String takes all");
}

/// The fields that lie in these bits.
fn row(out: &mut String, name: &str, doc: &str, (start, end): (usize, usize), fields: &[Field]) {
    head(out, name, doc);
    let mut next = start;
    let gap = |out: &mut String, from: usize, to: usize| {
        if to > from {
            field(out, &format!("reserved_{}", from - start), to - from, " Reserved, 0.");
        }
    };
    for Field { name, lo, width, doc } in fields {
        gap(out, next, *lo);
        field(out, name, *width, doc);
        next = lo + width;
    }
    gap(out, next, end);
    out.push_str("}\n");
}

fn half(out: &mut String, name: &str, layout: &Layout, half: Half) {
    assert_eq!(layout.bits, 32, "{name}: half of a double word");
    let (words, bits) = match half {
        Half::Low => ("Its low half.", (0, 16)),
        Half::High => ("Its high half.", (16, 32)),
    };
    let (low, high) = layout.fields.split_at(layout.fields.partition_point(|field| field.lo < 16));
    assert!(low.iter().all(|field| field.lo + field.width <= 16), "{name}: a field lies in both halves");
    let fields = if let Half::Low = half { low } else { high };
    row(out, name, &format!("{} {words}", layout.doc), bits, fields);
}

fn pulses(out: &mut String, name: &str, codes: &Codes) {
    head(out, name, &format!("{} The code is the field's place.", codes.doc));
    for (place, code) in codes.codes.iter().enumerate() {
        assert_eq!(code.value, place as u64, "{}: the codes of pulses are 0, 1, 2 and so on", codes.name);
        field(out, code.name, 1, code.doc);
    }
    out.push_str("}\n");
}
