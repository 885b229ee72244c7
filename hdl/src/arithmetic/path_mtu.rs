//! Decodes a path MTU: from the code in a table row to bytes.
//!
//! ```text
//!  code ──►[ PathMtu ]──► bytes
//! ```
//! Contract: `bytes` is 256 << `code` for the codes 0 to 4, and 4096 for the others, which no row should have. A row's field `MTU` is such
//! a code; the rows of GATHER and RECEIVE have one.
//!
//! Example: code 2 is 1024 bytes, code 7 is 4096.
//!
//! Latency: none, no state. Tests: `tests/arithmetic/bytes.rs`; proof: `formal/path_mtu.sv`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PathMtu {
    /// The code, as a table row has it.
    pub code: Signal<In, Bits<3>>,
    /// Most payload of one packet, in bytes.
    pub bytes: Signal<Out, Bits<13>>,
}

impl Logic for PathMtu {
    #[hdl_gen]
    fn update(&mut self) {
        self.bytes.next = bits::<13>(4096);
        match self.code.val().index() {
            0 => {
                self.bytes.next = bits::<13>(256);
            }
            1 => {
                self.bytes.next = bits::<13>(512);
            }
            2 => {
                self.bytes.next = bits::<13>(1024);
            }
            3 => {
                self.bytes.next = bits::<13>(2048);
            }
            _ => {}
        }
    }
}
