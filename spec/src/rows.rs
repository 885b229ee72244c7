//! Prints layouts as bundles of RustHDL: the files of `hdl/src/rows` but its `mod.rs` are this module's output, and a test says so.
//!
//! A bundle has the layout's fields in their order, so the first field has the lowest bits, and a field for each run of reserved
//! bits; so it is as wide as the layout, and its bits are the layout's. This crate itself knows nothing of RustHDL.

use std::fmt::Write;

use crate::layout::{Codes, Field, Layout};
use crate::{descriptor, doorbell, handle, inside, register, tables, tlp, wire};

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
    Pulses(&'static str, Codes),
}

/// Every file.
pub fn files() -> Vec<File> {
    use Bundle::{Pulses, Row};
    [
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
                Row("TlpKind", tlp::tlp_kind::LAYOUT),
                Row("RequestWord", tlp::request_dw1::LAYOUT),
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
            Bundle::Row(name, layout) => row(&mut out, name, layout),
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

fn row(out: &mut String, name: &str, layout: &Layout) {
    head(out, name, layout.doc);
    let mut next = 0;
    let gap = |out: &mut String, from: usize, to: usize| {
        if to > from {
            field(out, &format!("reserved_{from}"), to - from, " Reserved, 0.");
        }
    };
    for Field { name, lo, width, doc } in layout.fields {
        gap(out, next, *lo);
        field(out, name, *width, doc);
        next = lo + width;
    }
    gap(out, next, layout.bits);
    out.push_str("}\n");
}

fn pulses(out: &mut String, name: &str, codes: &Codes) {
    head(out, name, &format!("{} The code is the field's place.", codes.doc));
    for (place, code) in codes.codes.iter().enumerate() {
        assert_eq!(code.value, place as u64, "{}: the codes of pulses are 0, 1, 2 and so on", codes.name);
        field(out, code.name, 1, code.doc);
    }
    out.push_str("}\n");
}
