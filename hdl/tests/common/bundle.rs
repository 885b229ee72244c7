//! A bundle of `viaduct_hdl::bus` on a port, field by field.

#![allow(dead_code, reason = "some folders of tests look at fields, others at whole bundles")]

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use rust_hdl::core::type_descriptor::{TypeDescriptor, TypeKind};
use rust_hdl::prelude::Synth;
use viaduct_verilate::Dut;

/// Field values by name.
pub type Fields = BTreeMap<String, u64>;

/// Name, lowest bit and width of each field.
type Layout = Rc<Vec<(String, usize, usize)>>;

/// Where the fields of a bundle lie on its port.
pub struct Bundle {
    port: String,
    layout: Layout,
    words: usize,
}

fn width(descriptor: &TypeDescriptor) -> usize {
    match &descriptor.kind {
        TypeKind::Bits(bits) | TypeKind::Signed(bits) => *bits,
        TypeKind::Composite(fields) => fields.iter().map(|field| width(&field.kind)).sum(),
        TypeKind::Enum(_) => panic!("no state machine's state is on a port"),
    }
}

thread_local! {
    /// Tests name a bundle's type in every cycle.
    static LAYOUTS: RefCell<HashMap<TypeId, Layout>> = RefCell::default();
}

fn layout<T: Synth + 'static>() -> Layout {
    LAYOUTS.with_borrow_mut(|layouts| {
        let layout = layouts.entry(TypeId::of::<T>()).or_insert_with(|| {
            let mut layout = Vec::new();
            flatten(&T::descriptor(), "", 0, &mut layout);
            assert!(!layout.is_empty(), "no bundle");
            Rc::new(layout)
        });
        layout.clone()
    })
}

/// The fields of a bundle, and those of the bundles in it, which are called `outer.inner`.
fn flatten(bundle: &TypeDescriptor, prefix: &str, mut lo: usize, layout: &mut Vec<(String, usize, usize)>) {
    let TypeKind::Composite(fields) = &bundle.kind else { return };
    for field in fields {
        let name = format!("{prefix}{}", field.fieldname);
        let bits = width(&field.kind);
        match &field.kind.kind {
            TypeKind::Composite(_) => flatten(&field.kind, &format!("{name}."), lo, layout),
            _ => layout.push((name, lo, bits)),
        }
        lo += bits;
    }
}

impl Bundle {
    /// A `T` on the port of this name.
    pub fn of<T: Synth + 'static>(port: &str) -> Self {
        Self { port: port.into(), layout: layout::<T>(), words: T::BITS.div_ceil(32) }
    }

    fn field(&self, name: &str) -> (usize, usize) {
        let found = self.layout.iter().find(|field| field.0 == name);
        let (_, lo, bits) = found.unwrap_or_else(|| panic!("bundle {} has no field {name}", self.port));
        (*lo, *bits)
    }

    /// Sets the named fields, and the others to 0.
    #[track_caller]
    pub fn set(&self, dut: &mut Dut, values: &[(&str, u64)]) {
        let mut words = vec![0_u32; self.words];
        for (name, value) in values {
            let (lo, bits) = self.field(name);
            assert!(bits >= 64 || value >> bits == 0, "{}.{name}: {value:#x}", self.port);
            let shifted = u128::from(*value) << (lo % 32);
            for (word, part) in words[lo / 32..].iter_mut().zip([0, 32, 64]) {
                *word |= (shifted >> part) as u32;
            }
        }
        dut.set_wide(&self.port, &words);
    }

    /// Reads a field.
    pub fn get(&self, dut: &Dut, name: &str) -> u64 {
        let (lo, bits) = self.field(name);
        part(&dut.get_wide(&self.port), lo, bits)
    }

    /// Reads all of them.
    pub fn all(&self, dut: &Dut) -> Fields {
        let words = dut.get_wide(&self.port);
        self.layout.iter().map(|(name, lo, bits)| (name.clone(), part(&words, *lo, *bits))).collect()
    }
}

/// Owned fields, for comparing.
pub fn fields(list: &[(&str, u64)]) -> Fields {
    list.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

/// `bits` bits of the words from bit `lo` on.
fn part(words: &[u32], lo: usize, bits: usize) -> u64 {
    let parts = words[lo / 32..].iter().zip([0, 32, 64]);
    let wide = parts.fold(0_u128, |wide, (word, part)| wide | u128::from(*word) << part);
    (wide >> (lo % 32)) as u64 & (u64::MAX >> (64 - bits))
}
