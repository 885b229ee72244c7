//! What the layers below transactions say on a lane (PCI Express Base Specification 1.1): data link layer packets (3.4) and the control symbol
//! of training sets (4.2.4). The numbers of the symbols themselves stand with the MAC.

use crate::{codes, layout};

layout! {
    /// A DLLP without its CRC; the first byte on the lane lies lowest.
    dllp: 32 {
        /// See dllp_kind; of flow control packets see flow_kind.
        KIND: 0, 8;
        /// Bits 7:2 of the header credits.
        HEADERS_HIGH: 8, 6;
        /// Bits 11:8 of the sequence number or of the data credits.
        NUMBER_HIGH: 16, 4;
        /// Bits 1:0 of the header credits.
        HEADERS_LOW: 22, 2;
        /// Bits 7:0 of the sequence number or of the data credits.
        NUMBER_LOW: 24, 8;
    }
}

codes! {
    /// Kinds of DLLPs, but for those of flow control.
    dllp_kind: u8 {
        /// Ack.
        ACK = 0x00;
        /// Nak.
        NAK = 0x10;
        /// PM_Enter_L1.
        ENTER_L1 = 0x20;
        /// PM_Enter_L23.
        ENTER_L23 = 0x21;
        /// PM_Request_Ack.
        REQUEST_ACK = 0x24;
    }
}

layout! {
    /// The kind of a flow control DLLP.
    flow_kind: 8 {
        /// Virtual channel in the low three bits; the fourth is 0.
        CHANNEL: 0, 4;
        /// Whose credits: tlp::class.
        CLASS: 4, 2;
        /// See flow_family.
        FAMILY: 6, 2;
    }
}

codes! {
    /// What a flow control DLLP is for.
    flow_family: u8 {
        /// InitFC1.
        INIT1 = 1;
        /// UpdateFC.
        UPDATE = 2;
        /// InitFC2.
        INIT2 = 3;
    }
}

layout! {
    /// The low bits of a training set's symbol 5, the link's control.
    training_control: 4 {
        /// Hot Reset.
        HOT_RESET: 0, 1;
        /// Disable Link.
        DISABLED: 1, 1;
        /// Loopback.
        LOOPBACK: 2, 1;
        /// Disable Scrambling.
        NO_SCRAMBLE: 3, 1;
    }
}
