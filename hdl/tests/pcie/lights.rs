//! The lights of a card.

use viaduct_hdl::board::Lights;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

/// Steps in which the counter turns twice: all states and lights are seen.
const STEPS: u64 = 1 << 14;

/// Gives the lights another state at each step, and looks at them: how often each half and each state of the blinking light was shown.
fn look(text: &str, inverted: u64, steps: u64) -> [u64; 4] {
    let mut bench = Bench::new("lights", text);
    let mut shown = [0_u64; 256];
    for step in 0..steps {
        let (state, deepest, ready) = (step % 32, step / 32 % 32, step / 1024 % 2);
        bench.set("state", state);
        bench.set("deepest", deepest);
        bench.set("rx_ready", ready);
        for _ in 0..(1 << 14) {
            bench.tick();
        }
        bench.eval();
        let lights = bench.get("lights") ^ inverted;
        let code = if lights & 0x20 == 0 { state } else { deepest };
        assert_eq!((lights & 0x1f, lights >> 6 & 1), (code, ready), "step {step}");
        shown[lights as usize & 0xa0] += 1;
    }
    [0, 0x20, 0x80, 0xa0].map(|lights| shown[lights])
}

#[test]
fn state_and_deepest_take_turns() {
    // Each half of the time, and the blinking light in each half of either.
    assert_eq!(look(&verilog(Lights::<0>::default()), 0, STEPS), [STEPS / 4; 4]);
}

#[test]
fn inverted_lights_show_the_same() {
    // One turn.
    assert_eq!(look(&verilog(Lights::<0xff>::default()), 0xff, STEPS / 2), [STEPS / 8; 4]);
}
