//! Prints the layouts as Markdown: docs/reference.md is this module's output, and a test says so.

use std::fmt::Write;

use crate::descriptor::status;
use crate::layout::{Codes, Layout};
use crate::packet::Packet;
use crate::refusal::REFUSALS;
use crate::{
    cm, config_space, descriptor, doorbell, handle, pcie_link, profile, register, tables, tlp, wire,
};

enum Part {
    Layout(Layout),
    Codes(Codes),
    Packet(Packet),
    Refusals,
    Function,
    Sizes,
    Limits,
    Frames,
    Pauses,
}

fn chapters() -> Vec<(&'static str, Vec<Part>)> {
    use Part::{Codes, Frames, Function, Layout, Limits, Packet, Pauses, Refusals, Sizes};
    vec![
        (
            "Descriptors",
            vec![
                Layout(descriptor::control_segment::LAYOUT),
                Layout(descriptor::data_segment::LAYOUT),
                Layout(descriptor::address_segment::LAYOUT),
                Codes(descriptor::control::CODES),
                Codes(descriptor::status::CODES),
                Limits,
            ],
        ),
        (
            "Doorbells and rings",
            vec![
                Layout(doorbell::token::LAYOUT),
                Codes(doorbell::page::CODES),
                Layout(doorbell::arm::LAYOUT),
                Codes(doorbell::cq_page::CODES),
                Layout(doorbell::cq_index::LAYOUT),
            ],
        ),
        ("Handles", vec![Layout(handle::memory_handle::LAYOUT), Layout(handle::queue_pair::LAYOUT)]),
        (
            "Registers",
            vec![
                Function,
                Sizes,
                Codes(register::registers::CODES),
                Codes(register::nic_kind::CODES),
                Layout(register::control::LAYOUT),
                Layout(register::raw_channel::LAYOUT),
                Layout(register::state::LAYOUT),
                Layout(register::command::LAYOUT),
                Codes(register::command_op::CODES),
                Layout(register::event::LAYOUT),
                Codes(register::event_code::CODES),
                Codes(register::counter::CODES),
            ],
        ),
        (
            "Tables",
            vec![
                Codes(tables::table::CODES),
                Layout(tables::region::LAYOUT),
                Layout(tables::page::LAYOUT),
                Layout(tables::work_queue::LAYOUT),
                Layout(tables::completion_queue::LAYOUT),
                Layout(tables::moderation::LAYOUT),
                Layout(tables::gather::LAYOUT),
                Layout(tables::transmit::LAYOUT),
                Layout(tables::receive::LAYOUT),
                Layout(tables::vi_state::LAYOUT),
                Codes(tables::vi_states::CODES),
                Codes(tables::service::CODES),
                Layout(tables::template::LAYOUT),
                Layout(tables::cq_entry::LAYOUT),
            ],
        ),
        (
            "The wire",
            vec![
                Frames,
                Layout(wire::bth::LAYOUT),
                Codes(wire::opcode::CODES),
                Layout(wire::reth::LAYOUT),
                Layout(wire::aeth::LAYOUT),
                Codes(wire::syndrome::CODES),
                Layout(wire::syndrome_parts::LAYOUT),
                Codes(wire::syndrome_class::CODES),
                Pauses,
                Refusals,
            ],
        ),
        (
            "Connections",
            vec![
                Packet(cm::deth::PACKET),
                Packet(cm::mad::PACKET),
                Codes(cm::attribute::CODES),
                Packet(cm::req::PACKET),
                Codes(cm::transport::CODES),
                Packet(cm::mra::PACKET),
                Codes(cm::subject::CODES),
                Packet(cm::rej::PACKET),
                Codes(cm::reason::CODES),
                Packet(cm::rep::PACKET),
                Packet(cm::rtu::PACKET),
                Packet(cm::dreq::PACKET),
                Packet(cm::sidr_req::PACKET),
                Packet(cm::sidr_rep::PACKET),
                Packet(cm::rdma_cm::PACKET),
                Packet(cm::via::PACKET),
                Packet(cm::arp::PACKET),
                Codes(cm::arp_operation::CODES),
            ],
        ),
        (
            "TLPs",
            vec![
                Layout(tlp::dw0::LAYOUT),
                Layout(tlp::tlp_kind::LAYOUT),
                Codes(tlp::packet_type::CODES),
                Layout(tlp::request_dw1::LAYOUT),
                Layout(tlp::message_dw1::LAYOUT),
                Layout(tlp::configuration_dw2::LAYOUT),
                Layout(tlp::completion_dw1::LAYOUT),
                Layout(tlp::completion_dw2::LAYOUT),
                Codes(tlp::kind::CODES),
                Codes(tlp::endpoint_kind::CODES),
                Codes(tlp::message_code::CODES),
                Codes(tlp::completion_status::CODES),
                Codes(tlp::class::CODES),
            ],
        ),
        (
            "Configuration space",
            vec![
                Layout(config_space::pci_command::LAYOUT),
                Layout(config_space::power_control::LAYOUT),
                Layout(config_space::device_control::LAYOUT),
                Layout(config_space::link_control::LAYOUT),
                Layout(config_space::msix::LAYOUT),
            ],
        ),
        (
            "PCI Express link",
            vec![
                Layout(pcie_link::dllp::LAYOUT),
                Codes(pcie_link::dllp_kind::CODES),
                Layout(pcie_link::flow_kind::LAYOUT),
                Codes(pcie_link::flow_family::CODES),
                Layout(pcie_link::training_control::LAYOUT),
            ],
        ),
    ]
}

/// Every layout, as it is drawn in the tables: for tests that hold them against other code.
pub fn layouts() -> Vec<Layout> {
    let parts = chapters().into_iter().flat_map(|(_, parts)| parts);
    parts.filter_map(|part| if let Part::Layout(layout) = part { Some(layout) } else { None }).collect()
}

/// Every packet, as it is drawn in the tables: for tests.
pub fn packets() -> Vec<Packet> {
    let parts = chapters().into_iter().flat_map(|(_, parts)| parts);
    parts.filter_map(|part| if let Part::Packet(packet) = part { Some(packet) } else { None }).collect()
}

/// The whole reference as Markdown.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Reference\n\nPrinted from `spec/` by `cargo run -p viaduct-spec --example reference`; a test fails when it is stale. \
         Bit 0 is the least significant bit of the first 64-bit word.\n",
    );
    for (title, parts) in chapters() {
        write!(out, "\n## {title}\n").expect("a String takes all");
        for part in parts {
            match part {
                Part::Layout(layout) => print_layout(&mut out, &layout),
                Part::Codes(codes) => print_codes(&mut out, &codes),
                Part::Packet(packet) => print_packet(&mut out, &packet),
                Part::Refusals => print_refusals(&mut out),
                Part::Function => print_function(&mut out),
                Part::Sizes => print_sizes(&mut out),
                Part::Limits => print_limits(&mut out),
                Part::Frames => print_frames(&mut out),
                Part::Pauses => print_pauses(&mut out),
            }
        }
    }
    out
}

fn print_layout(out: &mut String, layout: &Layout) {
    write!(
        out,
        "\n### {} ({} bits)\n\n{}\n\n| bits | name | meaning |\n|---|---|---|\n",
        layout.name,
        layout.bits,
        layout.doc.trim()
    )
    .expect("a String takes all");
    for field in layout.fields {
        let high = field.lo + field.width - 1;
        writeln!(out, "| {high}:{} | {} | {} |", field.lo, field.name, field.doc.trim())
            .expect("a String takes all");
    }
}

fn print_packet(out: &mut String, packet: &Packet) {
    write!(
        out,
        "\n### {} ({} bytes)\n\n{} Big-endian; bits count from 7, the first of a byte.\n\n| bytes | bits | name | meaning |\n|---|---|---|---|\n",
        packet.name,
        packet.bytes,
        packet.doc.trim()
    )
    .expect("a String takes all");
    for member in packet.members {
        let last = member.end() - 1;
        let bytes = if last == member.byte { last.to_string() } else { format!("{}-{last}", member.byte) };
        let low = 8 * (last + 1 - member.byte) - member.bit - member.width;
        let bits = match (member.bit, low, member.width) {
            (0, 0, _) => String::new(),
            (bit, low, 1) if 7 - bit == low => low.to_string(),
            (bit, low, _) => format!("{}:{low}", 7 - bit),
        };
        writeln!(out, "| {bytes} | {bits} | {} | {} |", member.name, member.doc.trim())
            .expect("a String takes all");
    }
}

fn print_codes(out: &mut String, codes: &Codes) {
    write!(
        out,
        "\n### {}\n\n{}\n\n| value | name | meaning |\n|---|---|---|\n",
        codes.name,
        codes.doc.trim()
    )
    .expect("a String takes all");
    for code in codes.codes {
        writeln!(out, "| {:#x} | {} | {} |", code.value, code.name, code.doc.trim())
            .expect("a String takes all");
    }
}

fn print_function(out: &mut String) {
    let rows: [(&str, u64, &str); 8] = [
        ("PCI_VENDOR", register::PCI_VENDOR.into(), "Vendor identifier."),
        ("PCI_DEVICE", register::PCI_DEVICE.into(), "Device identifier; the class is network controller, other."),
        ("BAR0_BYTES", register::BAR0_BYTES, "BAR 0, 32-bit: the registers and what MSI-X has."),
        ("BAR2_BYTES", profile::BAR2_BYTES, "BAR 2, 64-bit, not prefetchable: the doorbell pages."),
        ("MSIX_TABLE", register::MSIX_TABLE, "Offset of the MSI-X table in BAR 0; 16 bytes a vector: address 8, data 4, control 4 (bit 0: masked)."),
        ("MSIX_PENDING", register::MSIX_PENDING, "Offset of the MSI-X pending bits in BAR 0."),
        ("MAGIC_VALUE", register::MAGIC_VALUE.into(), "What MAGIC reads as: VIAD in ASCII, last letter in the low byte."),
        ("VERSION_VALUE", register::VERSION_VALUE.into(), "What VERSION reads as: the layouts of this document."),
    ];
    let rows = rows.map(|(name, value, meaning)| (name, format!("{value:#x}"), meaning));
    print_numbers(out, "The function", "How it is found, and where its things are.", &rows);
}

fn print_sizes(out: &mut String) {
    let rows: [(&str, usize, &str); 12] = [
        ("VIS", profile::VIS, "Virtual interfaces; register VIS."),
        ("REGIONS", profile::REGIONS, "Rows of the region table; register REGIONS."),
        ("PAGES", profile::PAGES, "Rows of the page table; register PAGES."),
        ("CQS", profile::CQS, "Completion queues; register CQS."),
        (
            "DOORBELL_SHIFT",
            profile::DOORBELL_SHIFT,
            "log2 of the doorbell page stride; register DOORBELL_SHIFT.",
        ),
        (
            "RECEIVE_AHEAD",
            profile::RECEIVE_AHEAD,
            "Receive descriptors fetched ahead for a VI; register RECEIVE_AHEAD.",
        ),
        ("SEND_WINDOW", profile::SEND_WINDOW, "Messages that a VI may have unacknowledged."),
        (
            "READ_DEPTH",
            profile::READ_DEPTH,
            "RDMA reads that a VI may have outstanding in each direction; register READ_DEPTH.",
        ),
        ("READ_TAGS", profile::READ_TAGS, "Reads of host memory in flight."),
        ("READ_BYTES", profile::READ_BYTES, "Most bytes that one of them asks for."),
        ("VECTORS", profile::VECTORS, "MSI-X vectors."),
        ("DMA_ADDRESS_BITS", profile::DMA_ADDRESS_BITS as usize, "Bits of a DMA address of memory."),
    ];
    let rows = rows.map(|(name, value, meaning)| (name, value.to_string(), meaning));
    let about = "Those of the board's profile; the large one has 1024 VIs, 4096 regions, 16384 pages, and doorbell pages for them. \
                 A driver reads those that have a register.";
    print_numbers(out, "Sizes", about, &rows);
}

fn print_limits(out: &mut String) {
    let rows: [(&str, u64, &str); 4] = [
        ("MAX_SEGMENTS", descriptor::MAX_SEGMENTS.into(), "Most segments of a descriptor, the address segment included."),
        ("ALIGNMENT", descriptor::ALIGNMENT as u64, "A descriptor begins at a multiple of this many bytes from its region's base rounded down to 64. As many of it are read at once, those behind the region's end as 0."),
        ("IMMEDIATE_OFFSET", descriptor::IMMEDIATE_OFFSET, "Where the NIC writes ImmediateData: bytes from the descriptor's start."),
        ("COMPLETION_OFFSET", descriptor::COMPLETION_OFFSET, "Where it writes Length and Status, in one 8-byte write."),
    ];
    let rows = rows.map(|(name, value, meaning)| (name, value.to_string(), meaning));
    print_numbers(out, "Descriptor limits", "What the layouts above do not show.", &rows);
}

fn print_frames(out: &mut String) {
    let rows: [(&str, u64, &str); 7] = [
        ("UDP_PORT", wire::UDP_PORT.into(), "UDP destination port."),
        (
            "HEADER_BYTES",
            wire::HEADER_BYTES as u64,
            "Headers of every frame, untagged: Ethernet 14, IPv4 20, UDP 8, BTH 12.",
        ),
        ("RETH_BYTES", wire::RETH_BYTES as u64, "A RETH, behind the BTH."),
        ("EXTENSION_BYTES", wire::EXTENSION_BYTES as u64, "Immediate data, or an AETH, behind that."),
        ("ICRC_BYTES", wire::ICRC_BYTES as u64, "The ICRC behind payload and pad: little-endian."),
        ("MAX_MTU", wire::MAX_MTU as u64, "Most payload of a packet."),
        (
            "DEFAULT_PKEY",
            wire::DEFAULT_PKEY.into(),
            "The default P_Key, 0xffff: full member of the default partition.",
        ),
    ];
    let rows = rows.map(|(name, value, meaning)| (name, value.to_string(), meaning));
    print_numbers(
        out,
        "Frames",
        "A frame is headers, RETH, extension, payload, pad to 4 bytes, ICRC; fields are big-endian.",
        &rows,
    );
}

fn print_pauses(out: &mut String) {
    out.push_str("\n### Timer codes\n\nHow long a receiver-not-ready answer asks to wait: microseconds, by its timer code.\n\n| code | us | code | us | code | us | code | us |\n|---|---|---|---|---|---|---|---|\n");
    for row in 0..8 {
        for code in [row, row + 8, row + 16, row + 24] {
            write!(out, "| {code} | {} ", wire::RNR_DELAY[code]).expect("a String takes all");
        }
        out.push_str("|\n");
    }
}

/// A table of single numbers.
fn print_numbers(out: &mut String, title: &str, about: &str, rows: &[(&str, String, &str)]) {
    write!(out, "\n### {title}\n\n{about}\n\n| name | value | meaning |\n|---|---|---|\n")
        .expect("a String takes all");
    for (name, value, meaning) in rows {
        writeln!(out, "| {name} | {value} | {meaning} |").expect("a String takes all");
    }
}

fn print_refusals(out: &mut String) {
    out.push_str(
        "\n### Refusals\n\nWhat the requester sees, and the status its message completes with.\n\n\
         | answer | Reliable Delivery | Reliable Reception |\n|---|---|---|\n",
    );
    let name = |bit: u32| {
        let codes = status::CODES.codes.iter();
        codes.filter(|code| code.value == bit.into()).map(|code| code.name).next().unwrap_or("?")
    };
    for row in REFUSALS {
        writeln!(out, "| {} | {} | {} |", row.meaning, name(row.delivery), name(row.reception))
            .expect("a String takes all");
    }
}
