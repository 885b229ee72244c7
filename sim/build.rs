//! Makes the Verilated NIC, once hdl/ exports it.

#[cfg(feature = "rtl")]
#[path = "build/rtl.rs"]
mod rtl;

fn main() {
    #[cfg(feature = "rtl")]
    rtl::main();
}
