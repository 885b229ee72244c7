//! The bundles of `receive::layouts` beside the layouts of `spec/`.

use rust_hdl::core::type_descriptor::{TypeDescriptor, TypeKind};
use rust_hdl::prelude::Synth;
use viaduct_hdl::receive::layouts;
use viaduct_spec::layout::Layout;
use viaduct_spec::{descriptor, handle, tables};

fn width(descriptor: &TypeDescriptor) -> usize {
    match &descriptor.kind {
        TypeKind::Bits(bits) | TypeKind::Signed(bits) => *bits,
        TypeKind::Composite(fields) => fields.iter().map(|field| width(&field.kind)).sum(),
        TypeKind::Enum(_) => panic!("no row has a state"),
    }
}

/// Each field of the bundle is one of the layout, in its place, and none of those in the bundle's bits is missing; `first` is the
/// layout's bit that is the bundle's lowest.
fn compare<T: Synth>(layout: &Layout, first: usize) {
    let TypeKind::Composite(fields) = T::descriptor().kind else { panic!("{} is no bundle", layout.name) };
    let mut lo = first;
    let mut found = Vec::new();
    for field in fields {
        if !field.fieldname.starts_with("reserved") {
            found.push((field.fieldname.to_uppercase(), lo, width(&field.kind)));
        }
        lo += width(&field.kind);
    }
    let inside = layout.fields.iter().filter(|field| field.lo >= first && field.lo < lo);
    let expected: Vec<_> = inside.map(|field| (field.name.to_owned(), field.lo, field.width)).collect();
    assert_eq!(found, expected, "{}", layout.name);
}

#[test]
fn every_field_is_where_its_layout_has_it() {
    compare::<layouts::ReceiveRow>(&tables::receive::LAYOUT, 0);
    compare::<layouts::QueuePair>(&handle::queue_pair::LAYOUT, 0);
    compare::<layouts::MemoryHandle>(&handle::memory_handle::LAYOUT, 0);
    compare::<layouts::DataSegment>(&descriptor::data_segment::LAYOUT, 0);
    compare::<layouts::SegmentExtent>(&descriptor::data_segment::LAYOUT, 64);
    compare::<layouts::ControlWord>(&descriptor::control_segment::LAYOUT, 64);
}
