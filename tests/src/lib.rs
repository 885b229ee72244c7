//! What the co-simulation suite shares: judges that are not ours, and worlds to test in.

pub mod program;
pub mod scapy;
pub mod tshark;
