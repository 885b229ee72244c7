//! The simulator from outside, one program: it is linked once. Each test runs in a process of its own all the same (nextest).

mod card;
mod exchange;
mod faultless;
mod held;
mod icarus;
mod interrupts;
mod joined;
mod messages;
mod netlist;
mod network;
mod pcie;
mod pins;
mod rgmii;
mod rtl;
mod sockets;
mod support;
mod traffic;
mod waits;
mod wire;
