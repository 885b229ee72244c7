//! The layouts hold together; docs/reference.md and hdl/src/rows are their print-outs.

use viaduct_spec::{inside, layout::Layout, reference, rows, wire};

fn overlap(layout: &Layout) -> Option<(&'static str, &'static str)> {
    layout
        .fields
        .windows(2)
        .find(|pair| pair[0].lo + pair[0].width > pair[1].lo)
        .map(|p| (p[0].name, p[1].name))
}

#[test]
fn fields_are_in_order_do_not_overlap_and_fit() {
    for layout in reference::layouts() {
        assert_eq!(overlap(&layout), None, "{}", layout.name);
        let last = layout.fields.last().expect("a layout has fields");
        assert!(last.lo + last.width <= layout.bits, "{}.{}", layout.name, last.name);
        assert!(layout.fields.iter().all(|f| f.width <= 64), "{}", layout.name);
    }
}

#[test]
fn members_are_in_order_do_not_overlap_and_fit() {
    for packet in reference::packets() {
        let mut end = 0;
        for member in packet.members {
            let first = 8 * member.byte + member.bit;
            assert!(first >= end && member.bit < 8, "{}.{}", packet.name, member.name);
            assert!(member.width <= 64 || (member.bit == 0 && member.width % 8 == 0), "{}", member.name);
            end = first + member.width;
        }
        assert!(end <= 8 * packet.bytes, "{}", packet.name);
    }
}

/// What somebody who writes a driver from the document alone looks for first.
#[test]
fn the_reference_has_the_function_s_constants() {
    let text = reference::markdown();
    for row in [
        "| PCI_VENDOR | 0x1234 |",
        "| PCI_DEVICE | 0x5649 |",
        "| MAGIC_VALUE | 0x56494144 |",
        "| VERSION_VALUE | 0x1 |",
        "| BAR0_BYTES | 0x10000 |",
        "| MSIX_TABLE | 0x8000 |",
        "| MSIX_PENDING | 0xc000 |",
        "| VECTORS | 8 |",
    ] {
        assert!(text.contains(row), "{row}");
    }
}

/// What no software sees is not in the document that software is written from.
#[test]
fn the_reference_has_nothing_of_the_inside() {
    let text = reference::markdown();
    for codes in [
        inside::client::CODES,
        inside::remote::CODES,
        inside::fault_source::CODES,
        inside::word::CODES,
        inside::local::CODES,
    ] {
        assert!(codes.codes.iter().all(|code| !text.contains(code.doc)), "{}", codes.name);
    }
    assert!(!text.contains(inside::remote_rights::LAYOUT.doc));
}

#[test]
fn remote_rights_have_the_layout_s_bits() {
    use inside::{remote, remote_rights};
    assert_eq!(
        [remote_rights::WRITE.lo, remote_rights::READ.lo].map(|bit| 1 << bit),
        [remote::WRITE, remote::READ]
    );
}

#[test]
fn no_frame_brings_a_local_syndrome() {
    let class = |syndrome: u64| wire::syndrome_parts::CLASS.get(&[syndrome]);
    assert!(inside::local::CODES
        .codes
        .iter()
        .all(|code| class(code.value) == wire::syndrome_class::RESERVED));
    assert!(wire::syndrome::CODES
        .codes
        .iter()
        .all(|code| class(code.value) != wire::syndrome_class::RESERVED));
}

#[test]
fn the_reference_is_not_stale() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference.md");
    let printed = std::fs::read_to_string(path).expect("docs/reference.md is there");
    assert!(
        printed == reference::markdown(),
        "docs/reference.md is stale: run `cargo run -p viaduct-spec --example reference > docs/reference.md`"
    );
}

#[test]
fn the_rows_are_not_stale() {
    for file in rows::files() {
        let path = format!("{}/../hdl/src/rows/{}.rs", env!("CARGO_MANIFEST_DIR"), file.name);
        let printed = std::fs::read_to_string(&path).expect(&path);
        assert!(printed == file.text, "{path} is stale: run `cargo run -p viaduct-spec --example rows`");
    }
}
