//! The lights of a card.

use viaduct_hdl::board::Lights;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

#[test]
fn state_and_deepest_take_turns() {
    for (inverted, text) in [(0, verilog(Lights::<0>::default())), (0xff, verilog(Lights::<0xff>::default()))]
    {
        let mut bench = Bench::new("lights", &text);
        let mut shown = [0_u64; 256];
        // Two whole turns of the counter, looked at now and then.
        for step in 0..1_u64 << 14 {
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
        // Each half of the time, and the blinking light in each half of either.
        assert_eq!([0, 0x20, 0x80, 0xa0].map(|lights| shown[lights]), [1 << 12; 4]);
    }
}
