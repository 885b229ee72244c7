//! Moves bytes between host memory and the NIC, as commands of the protection checker say.
//!
//! | block | what for |
//! |---|---|
//! | [`DmaRead`] | reads: requests out, completions in, data out in order |
//! | [`DmaWrite`] | writes: data in, packets out |
//! | `Split` | cuts a command into pieces of one packet, and makes their headers |
//! | `ReadIssue` | sends the read requests |
//! | `ReadSlots` | checks completions |
//! | `ReadMemory` | keeps their data until it is handed out |
//! | `ReadDrain` | hands the data out in order |
//! | `ReadTime` | watches the time of the oldest request |

mod read;
mod read_drain;
mod read_issue;
mod read_memory;
mod read_slots;
mod read_time;
mod split;
mod write;

pub use read::DmaRead;
pub use read_memory::ReadMemory;
pub use write::DmaWrite;
