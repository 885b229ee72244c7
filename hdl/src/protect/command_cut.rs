//! Makes the command for an access that was checked; the page's address is added later, by `CommandOut`.
//!
//! ```text
//!  granted, offset, length ──►┌────────────┐──► command
//!      crosses, head, rest ──►│ CommandCut │
//! second, client, user, .. ──►└────────────┘
//! ```
//! Contract: the address of `command` is the offset in the page. An access that crosses into the next page gives two commands: `head` bytes
//! at `offset` first, and with `second` the `rest`, at the next page's start; only that is the access's `last`. An access that is not
//! `granted` gives one `refused` command, which moves nothing and carries nothing that came from the tables.
//!
//! Latency: none, no state.
//!
//! Example: an access of 100 bytes crosses its page after 40. `command` is 40 bytes at `offset`; with `second` it is 60 bytes at 0, `last`.
//!
//! Tests: with `Protect`, `tests/protect/`.

use crate::bus::DmaCommand;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CommandCut {
    /// The access is granted. `Range` says this and all up to `rest`; `Protect` drives the other inputs.
    pub granted: Signal<In, bool>,
    /// Offset of the access's first byte in its page.
    pub offset: Signal<In, Bits<43>>,
    /// Number of bytes to move.
    pub length: Signal<In, Bits<13>>,
    /// The access goes on in the next page.
    pub crosses: Signal<In, bool>,
    /// Number of the access's bytes in the first page, if it `crosses`.
    pub head: Signal<In, Bits<13>>,
    /// Number of the access's bytes in the next page.
    pub rest: Signal<In, Bits<12>>,
    /// The command is the one in the next page.
    pub second: Signal<In, bool>,
    /// The client whose access it is: see `bus::client`.
    pub client: Signal<In, Bits<2>>,
    /// `user` of the access.
    pub user: Signal<In, Bits<8>>,
    /// The drain counter in which the command is counted.
    pub epoch: Signal<In, bool>,
    /// The command without its page, for `CommandOut`.
    pub command: Signal<Out, DmaCommand>,
}

impl Logic for CommandCut {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.command.next.address = bit_cast::<64, 43>(self.offset.val());
        self.command.next.length = self.length.val();
        self.command.next.last = true;
        if self.crosses.val() {
            self.command.next.length = self.head.val();
            self.command.next.last = false;
        }
        if self.second.val() {
            self.command.next.address = bits::<64>(0);
            self.command.next.length = bit_cast::<13, 12>(self.rest.val());
            self.command.next.last = true;
        }
        fill!(self, command, client => client; user => user; epoch => epoch; false => refused);
        if !self.granted.val() {
            self.command.next.address = bits::<64>(0);
            self.command.next.length = bits::<13>(0);
            self.command.next.last = true;
            self.command.next.refused = true;
        }
    }
}
