//! Prints the Verilog of one of the edge and DMA blocks.
use viaduct_hdl::{dma, edge, export::verilog};
fn main() {
    let text = match std::env::args().nth(1).as_deref() {
        Some("receive") => verilog(edge::TlpReceive::default()),
        Some("complete") => verilog(edge::TlpComplete::default()),
        Some("transmit") => verilog(edge::TlpTransmit::default()),
        Some("write") => verilog(dma::DmaWrite::default()),
        Some("read") => verilog(dma::DmaRead::default()),
        _ => panic!("which?"),
    };
    println!("{text}");
}
