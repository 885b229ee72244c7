//! Accesses to host memory: asked, checked, moved.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// A request to reach host memory. All of them go through `protect`, the protection checker.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Access {
    /// Virtual address; or, with `by_offset`, bytes from the region's base rounded down to 64.
    pub address: Bits<64>,
    /// Of a remote peer's access (`remote`): bytes from `address` that must all lie in the region, at least `length`. Not looked
    /// at otherwise.
    pub span: Bits<32>,
    /// Bytes to move now, 1 to 4096.
    pub length: Bits<13>,
    /// Number of the region that must hold the access.
    pub region: Bits<16>,
    /// Key that the region must have; not compared with `by_offset`.
    pub key: Bits<16>,
    /// Protection tag that the region must have.
    pub tag: Bits<16>,
    /// The address is an offset: descriptors and rings.
    pub by_offset: bool,
    /// The region must be an agent's arena (rings); otherwise it must not be one.
    pub system: bool,
    /// Host memory is written.
    pub write: bool,
    /// Where the region ends early, move what is there instead of refusing (descriptors; `span` is not looked at).
    pub clip: bool,
    /// Rights of remote peers that the region must give, each a bit: see [`remote`](viaduct_spec::inside::remote). None for what a peer did
    /// not ask.
    pub remote: Bits<2>,
    /// A number of the client's own, which comes back with the answer.
    pub user: Bits<8>,
}

/// A granted access, or the piece of it that lies in one page. Reads: a refused access comes as a
/// command too, so that its answer stays in order.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DmaCommand {
    /// DMA address of the first byte.
    pub address: Bits<64>,
    /// Bytes to move, 1 to 4096.
    pub length: Bits<13>,
    /// The client whose access it is: see [`client`](viaduct_spec::inside::client).
    pub client: Bits<2>,
    /// `user` of the access.
    pub user: Bits<8>,
    /// The drain counter, of two, in which the command is counted.
    pub epoch: bool,
    /// The command is the last piece of its access.
    pub last: bool,
    /// The access was refused: the command moves nothing and is answered with the fault (reads only).
    pub refused: bool,
}

/// Data read from host memory, in order of the accesses of all clients. There is no `ready`: a client makes
/// room before it asks.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadBeat {
    /// The client whose access it answers: see [`client`](viaduct_spec::inside::client).
    pub client: Bits<2>,
    /// `user` of the access.
    pub user: Bits<8>,
    /// Eight lanes; memory byte `a` is in lane `a % 8`.
    pub data: Bits<64>,
    /// First lane that counts.
    pub start: Bits<3>,
    /// Number of lanes that count, 0 to 8; 0 with a fault.
    pub count: Bits<4>,
    /// The beat is the last of its access.
    pub last: bool,
    /// The access was refused; only with `last`.
    pub refused: bool,
    /// The read failed on the bus (unsupported, aborted, poisoned, timed out).
    pub failed: bool,
}

/// Data on its way to host memory. `dma/write` takes as many bytes as its commands say,
/// whatever the beats' borders.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WriteBeat {
    /// Eight lanes.
    pub data: Bits<64>,
    /// First lane that counts.
    pub start: Bits<3>,
    /// Lanes that count, 1 to 8.
    pub count: Bits<4>,
}

/// The checker's answer to a write access: for each client, in the order of its accesses.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WriteVerdict {
    /// The client whose access was decided: see [`client`](viaduct_spec::inside::client).
    pub client: Bits<2>,
    /// The write is granted: its data may follow.
    pub ok: bool,
    /// `user` of the access.
    pub user: Bits<8>,
}
