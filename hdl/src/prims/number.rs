//! A constant of a block, with its value in its type: `Number<W, V>` is the W-bit number V.
//!
//! RustHDL pastes the name of a Rust constant into the Verilog, where nothing declares it. A field of
//! this type becomes a `localparam` instead, and the block can still derive `Default`.

use rust_hdl::prelude::*;

/// The W-bit number V.
#[derive(Clone, Debug)]
pub struct Number<const W: usize, const V: u64>(Constant<Bits<W>>);

impl<const W: usize, const V: u64> Default for Number<W, V> {
    fn default() -> Self {
        assert!(W >= 64 || V >> W == 0, "Number: {V:#x} does not fit {W} bits");
        Self(Constant::new(V.to_bits()))
    }
}

impl<const W: usize, const V: u64> Number<W, V> {
    /// The number; usable in HDL kernels.
    pub fn val(&self) -> Bits<W> {
        self.0.val()
    }
}

impl<const W: usize, const V: u64> Logic for Number<W, V> {
    fn update(&mut self) {}
    fn connect(&mut self) {}
}

impl<const W: usize, const V: u64> Block for Number<W, V> {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        self.0.accept(name, probe);
    }
}
