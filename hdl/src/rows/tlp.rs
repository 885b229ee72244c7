//! The layouts of `viaduct_spec::tlp`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// First header double word.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FirstWord {
    /// Payload or read length in double words; 0 stands for 1024.
    pub length: Bits<10>,
    /// Reserved, 0.
    pub reserved_10: Bits<2>,
    /// Attributes: relaxed ordering and no snoop; 0 in what we send.
    pub attr: Bits<2>,
    /// Poisoned.
    pub poisoned: bool,
    /// A digest follows: not taken.
    pub digest: bool,
    /// Reserved, 0.
    pub reserved_16: Bits<4>,
    /// Traffic class; 0 in what we send.
    pub traffic_class: Bits<3>,
    /// Reserved, 0.
    pub reserved_23: bool,
    /// See kind: type in its low 5 bits, format in its high 3.
    pub kind: Bits<8>,
}

/// First header double word. Its high half.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FirstWordHigh {
    /// Reserved, 0.
    pub reserved_0: Bits<4>,
    /// Traffic class; 0 in what we send.
    pub traffic_class: Bits<3>,
    /// Reserved, 0.
    pub reserved_7: bool,
    /// See kind: type in its low 5 bits, format in its high 3.
    pub kind: Bits<8>,
}

/// First header double word. Its low half.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FirstWordLow {
    /// Payload or read length in double words; 0 stands for 1024.
    pub length: Bits<10>,
    /// Reserved, 0.
    pub reserved_10: Bits<2>,
    /// Attributes: relaxed ordering and no snoop; 0 in what we send.
    pub attr: Bits<2>,
    /// Poisoned.
    pub poisoned: bool,
    /// A digest follows: not taken.
    pub digest: bool,
}

/// What is in KIND.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TlpKind {
    /// See packet_type.
    pub packet_type: Bits<5>,
    /// The header has 4 double words, otherwise 3.
    pub long: bool,
    /// Data follows the header.
    pub with_data: bool,
    /// Not a packet but a prefix of one: not agreed on.
    pub prefix: bool,
}

/// Second header double word of a memory request.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RequestWord {
    /// Byte enables of the first double word.
    pub first_be: Bits<4>,
    /// Byte enables of the last double word; 0 when there is only one.
    pub last_be: Bits<4>,
    /// Tag.
    pub tag: Bits<8>,
    /// Requester identifier.
    pub requester: Bits<16>,
}

/// Second header double word of a memory request. Its low half.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RequestWordLow {
    /// Byte enables of the first double word.
    pub first_be: Bits<4>,
    /// Byte enables of the last double word; 0 when there is only one.
    pub last_be: Bits<4>,
    /// Tag.
    pub tag: Bits<8>,
}

/// Second header double word of a message. Its low half.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MessageWordLow {
    /// See message_code.
    pub code: Bits<8>,
    /// Tag.
    pub tag: Bits<8>,
}

/// Third header double word of a configuration request. Its high half.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TargetWordHigh {
    /// Function.
    pub function: Bits<3>,
    /// Device.
    pub device: Bits<5>,
    /// Bus.
    pub bus: Bits<8>,
}

/// Third header double word of a configuration request. Its low half.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TargetWordLow {
    /// Reserved, 0.
    pub reserved_0: Bits<2>,
    /// Number of the double word.
    pub register: Bits<10>,
    /// Reserved, 0.
    pub reserved_12: Bits<4>,
}

/// Second header double word of a completion.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CompletionCountWord {
    /// Bytes left to complete, this packet's included; 0 stands for 4096.
    pub byte_count: Bits<12>,
    /// Reserved, 0.
    pub reserved_12: bool,
    /// See completion_status.
    pub status: Bits<3>,
    /// Completer identifier.
    pub completer: Bits<16>,
}

/// Third header double word of a completion.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CompletionTagWord {
    /// Low 7 bits of the first byte's address.
    pub lower_address: Bits<7>,
    /// Reserved, 0.
    pub reserved_7: bool,
    /// Tag of the request.
    pub tag: Bits<8>,
    /// Requester identifier.
    pub requester: Bits<16>,
}
