//! Numbers that the NIC's blocks say to each other and nobody outside sees: docs/reference.md has none of them. The codes of one block alone
//! stand with that block.

use crate::{codes, layout};

codes! {
    /// Who asks for host memory.
    client: u64 {
        /// Work queue fetch: rings and descriptors.
        FETCH = 0;
        /// Gather: data segments, and the tails of long send descriptors.
        GATHER = 1;
        /// Scatter: data segments, and the tails of long receive descriptors.
        SCATTER = 2;
        /// Completion: the last words of descriptors.
        COMPLETE = 3;
    }
}

layout! {
    /// What a peer wants of a region by an access; none of it if no peer asked.
    remote_rights: 2 {
        /// A peer writes.
        WRITE: 0, 1;
        /// A peer reads.
        READ: 1, 1;
    }
}

codes! {
    /// The same as numbers.
    remote: u64 {
        /// The access is of the agent's own program.
        NONE = 0;
        /// A peer writes.
        WRITE = 1;
        /// A peer reads.
        READ = 2;
    }
}

codes! {
    /// The blocks that offer faults.
    fault_source: u64 {
        /// `fetch`.
        FETCH = 0;
        /// `send/transmit`.
        TRANSMIT = 1;
        /// `receive`.
        RECEIVE = 2;
        /// `complete/sends`.
        SENDS = 3;
        /// `complete/writer`.
        WRITER = 4;
        /// `complete/queues`.
        QUEUES = 5;
    }
}

codes! {
    /// What a VI has to say, and what is done with it.
    word: u64 {
        /// Send the acknowledgement.
        SAY = 0;
        /// Send the acknowledgement, and keep it: the connection has come to its end.
        LAST = 1;
        /// Send the acknowledgement that was kept once more, if it was sent before.
        REPEAT = 2;
        /// Forget the acknowledgement that was kept: a new connection begins.
        FORGET = 3;
    }
}

codes! {
    /// Syndromes that no frame brings: their class is reserved on the wire. Bits 2:0 are what `complete/sends` keeps of them.
    local: u64 {
        /// An answer came and could not be placed: the rest of the descriptor could not be read, or its segments are too short now.
        FAILURE = 0x40;
        /// An answer came and could not be placed: the protection checker refused a segment of ours.
        PROTECTION = 0x44;
        /// A read before the packet that was refused has not been answered, and will not be. The refusal's code, 1 to 3, is put into bits 1:0, so that it differs from PROTECTION.
        BEHIND = 0x44;
    }
}
