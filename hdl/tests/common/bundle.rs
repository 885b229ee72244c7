//! A bundle of `viaduct_hdl::bus` on a port, field by field.

use rust_hdl::core::type_descriptor::{TypeDescriptor, TypeKind};
use rust_hdl::prelude::Synth;
use viaduct_verilate::Dut;

/// Where the fields of a bundle lie on its port.
pub struct Bundle {
    port: String,
    fields: Vec<(String, usize, usize)>,
    words: usize,
}

fn width(descriptor: &TypeDescriptor) -> usize {
    match &descriptor.kind {
        TypeKind::Bits(bits) | TypeKind::Signed(bits) => *bits,
        TypeKind::Composite(fields) => fields.iter().map(|field| width(&field.kind)).sum(),
        TypeKind::Enum(_) => panic!("no state machine's state is on a port"),
    }
}

impl Bundle {
    /// A `T` on the port of this name.
    pub fn of<T: Synth>(port: &str) -> Self {
        let TypeKind::Composite(composite) = T::descriptor().kind else { panic!("{port} is no bundle") };
        let mut fields = Vec::new();
        let mut lo = 0;
        for field in composite {
            let bits = width(&field.kind);
            fields.push((field.fieldname.clone(), lo, bits));
            lo += bits;
        }
        Self { port: port.into(), fields, words: lo.div_ceil(32) }
    }

    fn field(&self, name: &str) -> (usize, usize) {
        let found = self.fields.iter().find(|field| field.0 == name);
        let (_, lo, bits) = found.unwrap_or_else(|| panic!("bundle {} has no field {name}", self.port));
        (*lo, *bits)
    }

    /// Sets the named fields, and the others to 0.
    #[track_caller]
    pub fn set(&self, dut: &mut Dut, values: &[(&str, u64)]) {
        let mut words = vec![0; self.words];
        for (name, value) in values {
            let (lo, bits) = self.field(name);
            assert!(bits >= 64 || value >> bits == 0, "{}.{name}: {value:#x}", self.port);
            for bit in 0..bits {
                words[(lo + bit) / 32] |= ((value >> bit & 1) as u32) << ((lo + bit) % 32);
            }
        }
        dut.set_wide(&self.port, &words);
    }

    /// Reads a field.
    pub fn get(&self, dut: &Dut, name: &str) -> u64 {
        let (lo, bits) = self.field(name);
        let words = dut.get_wide(&self.port);
        (0..bits)
            .fold(0, |value, bit| value | u64::from(words[(lo + bit) / 32] >> ((lo + bit) % 32) & 1) << bit)
    }
}
