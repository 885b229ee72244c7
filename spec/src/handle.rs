//! Memory handles and queue pair numbers.

use crate::layout;

layout! {
    /// Memory handle (VIP_MEM_HANDLE, and the rkey on the wire). Never 0.
    memory_handle: 32 {
        /// Row of the region table; never 0.
        INDEX: 0, 16;
        /// Random bits that a data segment must repeat: defence in depth, the tag is the protection.
        KEY: 16, 16;
    }
}

layout! {
    /// Queue pair number on the wire.
    queue_pair: 24 {
        /// Index of the virtual interface.
        VI: 0, 10;
        /// Changes with each connection of the VI, never 0: frames of a former one match nothing.
        GENERATION: 10, 14;
    }
}
