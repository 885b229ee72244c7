//! Constants that carry their value in their type, so that a block with constants can still derive `Default`.

use rust_hdl::core::signal::get_signal_id;
use rust_hdl::prelude::*;

/// The number `V` as `Bits<N>`; in the Verilog a `localparam`. Use it in `update` as `self.name.val()`.
///
/// A path such as `status::DONE` cannot be used as a value in `update`: RustHDL would paste its name into the
/// Verilog.
#[derive(Copy, Clone, Debug)]
pub struct Literal<const N: usize, const V: u64> {
    id: usize,
}

impl<const N: usize, const V: u64> Literal<N, V> {
    /// The value.
    pub fn val(&self) -> Bits<N> {
        V.to_bits()
    }
}

impl<const N: usize, const V: u64> Default for Literal<N, V> {
    fn default() -> Self {
        assert!(N >= 64 || V >> N == 0, "literal {V:#x} needs more than {N} bits");
        Self { id: get_signal_id() }
    }
}

impl<const N: usize, const V: u64> Logic for Literal<N, V> {
    fn update(&mut self) {}

    fn connect(&mut self) {}
}

impl<const N: usize, const V: u64> Atom for Literal<N, V> {
    fn bits(&self) -> usize {
        N
    }

    fn connected(&self) -> bool {
        true
    }

    fn changed(&self) -> bool {
        false
    }

    fn kind(&self) -> AtomKind {
        AtomKind::Constant
    }

    fn descriptor(&self) -> TypeDescriptor {
        Bits::<N>::descriptor()
    }

    fn vcd(&self) -> VCDValue {
        self.val().vcd()
    }

    fn verilog(&self) -> VerilogLiteral {
        self.val().verilog()
    }

    fn id(&self) -> usize {
        self.id
    }

    fn constraints(&self) -> Vec<PinConstraint> {
        vec![]
    }
}

impl<const N: usize, const V: u64> Block for Literal<N, V> {
    fn connect_all(&mut self) {}

    fn update_all(&mut self) {}

    fn has_changed(&self) -> bool {
        false
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_atom(name, self);
    }
}
