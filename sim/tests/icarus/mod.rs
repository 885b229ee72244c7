//! The whole NIC in Icarus Verilog, whose bits have four states: what is X after reset shows, and two simulators read the text.
//!
//! Two Verilated NICs are brought up and exchange messages, and all that their pins see and show is recorded. Then the same Verilog is
//! given the same inputs in Icarus, one NIC after the other, and every output is compared in every cycle ([`judge`]). No register has
//! a value at power-up there, also those that have one on a board.
//!
//! Icarus takes the branch `else` of an `if` whose condition is X, as Verilog has it: an X that decides only that is not seen as one. It is
//! found if what leaves differs from the recording.
//!
//! `cargo xtask test --only icarus` runs this.

mod faults;
mod judge;
#[path = "../../examples/load/recording.rs"]
mod recording;
#[path = "../../examples/load/scene.rs"]
mod scene;
mod testbench;

use judge::Fault;
use recording::{Recorder, Recording};
use scene::{Plan, Scene, Way};
use testbench::{powered_up_as_anything, run, Run};
use viaduct_sim::nic::NicIn;

/// Seconds after which Icarus has met a loop without delay: it takes a tenth of them.
const PATIENCE: u32 = 100;

/// The Verilog under test.
fn verilog() -> String {
    viaduct_hdl::export::nic()
}

/// What the pins of two NICs see and show while they are brought up and connected, and each sends, writes and reads.
fn recorded() -> [Recording; 2] {
    let recorders = [Recorder::default(), Recorder::default()];
    let messages = vec![(Way::Send, 8), (Way::Send, 1200), (Way::Write, 70), (Way::Read, 300)];
    let plan = Plan { messages, rate: 8, never_skip: false, pcap: None };
    let scene = Scene::new(plan, Some(recorders.each_ref().map(Recorder::probe))).unwrap();
    scene.run().unwrap();
    recorders.map(|recorder| {
        let seen = recorder.take();
        // The recording speaks of all that happened: what the NIC was reset by, and frames and packets both ways.
        let any = |what: fn(&NicIn) -> bool| seen.iter().any(|(_, input, _)| what(input));
        assert!(
            any(|input| input.reset) && any(|input| input.eth_rx_valid) && any(|input| input.tlp_rx_valid)
        );
        assert!(seen.iter().any(|(_, _, output)| output.eth_tx_valid));
        Recording::of(&seen).unwrap()
    })
}

/// What is wrong with this Verilog, if anything is.
fn faults_of(verilog: &str, recording: &Recording, patience: u32) -> Vec<Fault> {
    match run(verilog, recording, patience) {
        Run::Whole(shown) => judge::judge(recording, &shown),
        Run::Stuck { cycles } => vec![Fault::Stuck { cycles }],
    }
}

#[test]
#[ignore = "needs Icarus Verilog: cargo xtask test --only icarus"]
fn the_nic_in_icarus_does_what_it_does_in_verilator_and_shows_no_x() {
    let verilog = powered_up_as_anything(&verilog());
    for (number, recording) in recorded().iter().enumerate() {
        let faults = faults_of(&verilog, recording, PATIENCE);
        let told: String = faults.iter().map(|fault| format!("NIC {number}: {fault}\n")).collect();
        assert!(faults.is_empty(), "{told}");
        println!("NIC {number}: {} cycles, each output as recorded", recording.rows.len());
    }
}
