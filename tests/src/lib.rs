//! What the co-simulation suite shares: judges that are not ours, and worlds to test in.
//!
//! * [`scapy`], [`tshark`]: judges.
//! * [`world`]: NICs on a simulated network in this process, and their hosts.
//! * [`memory`]: host memory that is looked at byte for byte.
//! * [`pages`]: regions of which a part may be nowhere.
//! * [`raw`]: virtual interfaces and descriptors made by hand, so that they can be wrong.
//! * [`sent`]: the packets that a NIC sends over its bus.
//! * [`scene`]: what goes wrong for some, and those who must not notice.
//! * [`traffic`]: random messages through the library.
//! * [`frame`]: RoCE frames made by hand, and those of captures.
//! * [`guests`]: NICs in the places of two Linux guests.
//! * [`program`]: the programs as users start them.

pub mod frame;
pub mod guests;
pub mod load;
pub mod memory;
pub mod pages;
pub mod program;
pub mod raw;
pub mod scapy;
pub mod scene;
pub mod sent;
pub mod traffic;
pub mod tshark;
pub mod world;
