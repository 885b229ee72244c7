//! PCIe transaction layer packets at the NIC's edge (PCI Express Base Specification, chapter 2).
//!
//! A beat is 64 bits: two double words, the earlier in bits 31:0. Header double words are numbers
//! as the specification draws them (byte 0 of the drawing in bits 31:24). Payload double words are
//! little-endian: the byte at the lowest address in bits 7:0. Payload follows the header with no
//! gap: after a 3-DW header the first payload double word is the high half of the second beat.

use crate::{codes, layout};

layout! {
    /// First header double word.
    dw0: 32 {
        /// Payload or read length in double words; 0 stands for 1024.
        LENGTH: 0, 10;
        /// Attributes: relaxed ordering and no snoop; 0 in what we send.
        ATTR: 12, 2;
        /// Poisoned.
        POISONED: 14, 1;
        /// A digest follows: not taken.
        DIGEST: 15, 1;
        /// Traffic class; 0 in what we send.
        TRAFFIC_CLASS: 20, 3;
        /// See kind: type in its low 5 bits, format in its high 3.
        KIND: 24, 8;
    }
}

layout! {
    /// What is in KIND.
    tlp_kind: 8 {
        /// See packet_type.
        PACKET_TYPE: 0, 5;
        /// The header has 4 double words, otherwise 3.
        LONG: 5, 1;
        /// Data follows the header.
        WITH_DATA: 6, 1;
        /// Not a packet but a prefix of one: not agreed on.
        PREFIX: 7, 1;
    }
}

codes! {
    /// Types of packets. Of messages the low 3 bits say how they are routed.
    packet_type: u8 {
        /// Memory read or write.
        MEMORY = 0;
        /// Locked memory read.
        LOCKED_READ = 1;
        /// Read or write of I/O space.
        IO = 2;
        /// Read or write of this device's configuration space.
        CONFIGURATION_0 = 4;
        /// Read or write of a configuration space behind a bridge.
        CONFIGURATION_1 = 5;
        /// Completion.
        COMPLETION = 10;
        /// Atomic operation: fetch and add.
        FETCH_ADD = 12;
        /// Atomic operation: swap.
        SWAP = 13;
        /// Atomic operation: compare and swap.
        COMPARE_SWAP = 14;
        /// Message; 16 to 23.
        MESSAGE = 16;
        /// Trusted read or write of configuration space, of old versions.
        TRUSTED_CONFIGURATION = 27;
    }
}

layout! {
    /// Second header double word of a memory request.
    request_dw1: 32 {
        /// Byte enables of the first double word.
        FIRST_BE: 0, 4;
        /// Byte enables of the last double word; 0 when there is only one.
        LAST_BE: 4, 4;
        /// Tag.
        TAG: 8, 8;
        /// Requester identifier.
        REQUESTER: 16, 16;
    }
}

layout! {
    /// Second header double word of a message.
    message_dw1: 32 {
        /// See message_code.
        CODE: 0, 8;
        /// Tag.
        TAG: 8, 8;
        /// Requester identifier.
        REQUESTER: 16, 16;
    }
}

layout! {
    /// Third header double word of a configuration request.
    configuration_dw2: 32 {
        /// Number of the double word.
        REGISTER: 2, 10;
        /// Function.
        FUNCTION: 16, 3;
        /// Device.
        DEVICE: 19, 5;
        /// Bus.
        BUS: 24, 8;
    }
}

layout! {
    /// Second header double word of a completion.
    completion_dw1: 32 {
        /// Bytes left to complete, this packet's included; 0 stands for 4096.
        BYTE_COUNT: 0, 12;
        /// See completion_status.
        STATUS: 13, 3;
        /// Completer identifier.
        COMPLETER: 16, 16;
    }
}

layout! {
    /// Third header double word of a completion.
    completion_dw2: 32 {
        /// Low 7 bits of the first byte's address.
        LOWER_ADDRESS: 0, 7;
        /// Tag of the request.
        TAG: 8, 8;
        /// Requester identifier.
        REQUESTER: 16, 16;
    }
}

codes! {
    /// Format and type of the packets that the NIC takes and makes.
    kind: u8 {
        /// Memory read, 3-DW header.
        READ_3DW = 0x00;
        /// Memory read, 4-DW header.
        READ_4DW = 0x20;
        /// Memory write, 3-DW header.
        WRITE_3DW = 0x40;
        /// Memory write, 4-DW header.
        WRITE_4DW = 0x60;
        /// Completion without data.
        COMPLETION = 0x0A;
        /// Completion with data.
        COMPLETION_DATA = 0x4A;
    }
}

codes! {
    /// Format and type of other packets that the endpoint takes and makes.
    endpoint_kind: u8 {
        /// Completion of a locked read, without data.
        LOCKED_COMPLETION = 0x0B;
        /// Message without data, from the root complex to all.
        MESSAGE_TO_ALL = 0x33;
        /// Message without data, gathered on its way to the root complex.
        MESSAGE_GATHERED = 0x35;
    }
}

codes! {
    /// Messages of power management.
    message_code: u8 {
        /// PME_Turn_Off.
        TURN_OFF = 0x19;
        /// PME_TO_Ack.
        TURN_OFF_ACK = 0x1B;
    }
}

codes! {
    /// Completion status.
    completion_status: u8 {
        /// Successful.
        SUCCESS = 0;
        /// Unsupported request.
        UNSUPPORTED = 1;
        /// Completer abort.
        ABORT = 4;
    }
}

codes! {
    /// Class of a packet that the NIC sends, visible beside it.
    class: u8 {
        /// Posted: memory writes.
        POSTED = 0;
        /// Non-posted: memory reads.
        NON_POSTED = 1;
        /// Completions.
        COMPLETION = 2;
    }
}
