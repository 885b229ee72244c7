//! What is done about a message that finds no receive.

/// How often in a row one sends again to an end that is not ready: without end.
pub const WITHOUT_END: u8 = 7;

/// What a NIC does when a message of a reliable level finds no receive posted. (Unreliable Delivery drops the message, and says so by an event.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum NotReady {
    /// It breaks the connection: VIA's way.
    #[default]
    Break,
    /// It asks the sender to send again later, and stays connected.
    Stay {
        /// InfiniBand's timer code of the time that the sender is to wait, 0 to 31: an index of [`viaduct_spec::wire::RNR_DELAY`], which
        /// has it in microseconds. 1 is the shortest time, 10 us; 0 is the longest one, 655 ms.
        timer: u8,
        /// How often in a row the sender is to send again before it breaks the connection: 0 to 6 times, or [`WITHOUT_END`].
        retries: u8,
    },
}
