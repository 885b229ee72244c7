//! What crosses between the blocks of the data link layer.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Two bytes of a packet that is being received; the low one came first.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Piece {
    /// The bytes.
    pub data: Bits<16>,
    /// The bytes are the first ones behind STP or SDP.
    pub first: bool,
    /// The packet is a TLP, otherwise a DLLP.
    pub tlp: bool,
}

/// The end of a received packet of whole words.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PacketEnding {
    /// The packet is a TLP, otherwise a DLLP.
    pub tlp: bool,
    /// The packet ends with EDB, otherwise with END.
    pub edb: bool,
}

/// A good DLLP. At most one of the flags is high; none is for a DLLP that means nothing to an endpoint.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Heard {
    /// Ack.
    pub ack: bool,
    /// Nak.
    pub nak: bool,
    /// InitFC1.
    pub init1: bool,
    /// InitFC2.
    pub init2: bool,
    /// UpdateFC.
    pub update: bool,
    /// PM_Request_Ack.
    pub request_ack: bool,
    /// Of InitFC and UpdateFC: 0 posted, 1 non-posted, 2 completions.
    pub class: Bits<2>,
    /// Header credits.
    pub headers: Bits<8>,
    /// The sequence number of Ack and Nak, or data credits.
    pub number: Bits<12>,
}

/// What became of a received TLP: pulses.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Judged {
    /// The TLP had the number that was expected.
    pub taken: bool,
    /// The TLP came before: it is dropped, and acknowledged again.
    pub again: bool,
    /// A TLP is damaged, or one before it is missing.
    pub bad: bool,
    /// With `taken`: it needs non-posted credits.
    pub non_posted: bool,
    /// With `taken`: it has data.
    pub with_data: bool,
}

/// A row of the replay buffer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Row {
    /// Two bytes of a TLP.
    pub data: Bits<16>,
    /// The bytes are the TLP's last ones.
    pub last: bool,
}
