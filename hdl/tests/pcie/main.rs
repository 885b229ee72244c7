//! The layers of the PCI Express endpoint, as exported Verilog in Verilator.

mod mac;
