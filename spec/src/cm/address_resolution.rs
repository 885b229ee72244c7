//! ARP: which MAC address a host has, and which IPv4 address.

use crate::{codes, packet};

packet! {
    /// ARP over Ethernet, for IPv4 (RFC 826; the inverse is RFC 2390).
    arp: 28 {
        /// Hardware: 1 is Ethernet.
        HARDWARE: 0, 0, 16;
        /// Protocol: 0x0800 is IPv4.
        PROTOCOL: 2, 0, 16;
        /// Bytes of a hardware address: 6.
        HARDWARE_LENGTH: 4, 0, 8;
        /// Bytes of a protocol address: 4.
        PROTOCOL_LENGTH: 5, 0, 8;
        /// See arp_operation.
        OPERATION: 6, 0, 16;
        /// The sender's MAC address.
        SENDER_MAC: 8, 0, 48;
        /// The sender's IPv4 address.
        SENDER_IP: 14, 0, 32;
        /// The target's MAC address.
        TARGET_MAC: 18, 0, 48;
        /// The target's IPv4 address.
        TARGET_IP: 24, 0, 32;
    }
}

codes! {
    /// Operations of ARP.
    arp_operation: u16 {
        /// Who has this IPv4 address?
        REQUEST = 1;
        /// I have.
        REPLY = 2;
        /// Which IPv4 address has this MAC address?
        INVERSE_REQUEST = 8;
        /// This one.
        INVERSE_REPLY = 9;
    }
}
