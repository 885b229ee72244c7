//! These say themselves which NICs they run on, whatever `VIADUCT_NIC` names.

mod bulk;
mod counters;
mod failed_reads;
mod fairness;
mod kinds;
mod pcie;
mod resets;
mod strangers;
mod torn_reads;
mod unkind_bus;
mod unkind_wire;
