use viaduct_hdl::export::verilog;
use viaduct_hdl::quiet::Quiet;
use viaduct_verilate::Bench;

#[test]
fn a_command_or_a_reset_is_busy_and_anything_is_not_idle() {
    let mut bench = Bench::new("quiet", &verilog(Quiet::default()));
    for round in 0..16u64 {
        // All combinations, each behind nothing and behind everything.
        let (commanded, resetting, works) = (round & 1, round >> 1 & 1, round >> 2 & 1);
        let before = round >> 3;
        for port in ["commanded", "resetting", "works"] {
            bench.set(port, before);
        }
        bench.tick();
        bench.set("commanded", commanded);
        bench.set("resetting", resetting);
        bench.set("works", works);
        bench.eval();
        assert_eq!(bench.get("busy"), commanded | resetting, "in the same cycle");
        assert_eq!(bench.get("idle"), before ^ 1, "what was before");
        bench.tick();
        assert_eq!(bench.get("idle") == 1, round & 7 == 0, "one cycle later");
    }
}
