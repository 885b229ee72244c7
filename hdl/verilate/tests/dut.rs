//! The whole path on small Verilog: Verilator, g++, loading, ports of every width.

use std::path::Path;

use sha2::{Digest, Sha256};

use viaduct_verilate::{archive, library, Bench, Dut, Error, Options};

const COUNTER: &str = r#"
module top(clock,reset,step,wide_in,count,wide_out,s$half);
    // Module arguments
    input wire  clock;
    input wire  reset;
    input wire  [15:0] step;
    input wire  [70:0] wide_in;
    output reg  [39:0] count;
    output reg  [70:0] wide_out;
    output wire  [31:0] s$half;
    always @(posedge clock) if (reset) count <= 0; else count <= count + step;
    always @(*) wide_out = ~wide_in;
    assign s$half = count[32:1];
endmodule
"#;

#[test]
fn drives_every_width() {
    let mut bench = Bench::new("counter", COUNTER);
    let before = bench.cycles();
    let step = bench.port("step");
    bench.write(step, 0xffff);
    for _ in 0..0x1_0002 {
        bench.tick();
    }
    assert_eq!(bench.cycles() - before, 0x1_0002);
    assert_eq!(bench.get("count"), 0xffff * 0x1_0002);
    assert_eq!(bench.get("s$half"), 0xffff * 0x1_0002 / 2);
    bench.set_wide("wide_in", &[1, 0, 0x40]);
    bench.eval();
    assert_eq!(bench.get_wide("wide_out"), [!1, !0, 0x3f]);
    bench.reset();
    assert_eq!(bench.get("count"), 0);
}

#[test]
fn models_are_independent() {
    let mut a = Bench::new("counter", COUNTER);
    let b = Bench::new("counter", COUNTER);
    a.set("step", 1);
    a.tick();
    assert_eq!((a.get("count"), b.get("count")), (1, 0));
}

#[test]
fn uninitialised_state_follows_the_seed() {
    let text = "module top(clock,q);\ninput wire clock;\noutput reg [63:0] q;\nreg [63:0] m;\n\
                always @(posedge clock) q <= m;\nendmodule";
    let power_up = |seed| {
        let mut bench = Bench::seeded("power_up", text, seed);
        bench.tick();
        bench.get("q")
    };
    assert_eq!(power_up(3), power_up(3));
    assert_ne!(power_up(3), power_up(5));
}

#[test]
fn models_that_are_made_at_once_begin_as_those_made_alone() {
    // Large, so that making one takes long enough to be overtaken.
    let text = "module top(clock,at,q);\ninput wire clock;\ninput wire [11:0] at;\noutput reg [63:0] q;\n\
                reg [63:0] m[0:4095];\nalways @(posedge clock) q <= m[at];\nendmodule";
    let begun = || {
        let mut bench = Bench::seeded("power_up_large", text, 3);
        [0, 2000, 4095].map(|at| {
            bench.set("at", at);
            bench.tick();
            bench.get("q")
        })
    };
    let alone = begun();
    let many = || (0..200).filter(|_| begun() != alone).count();
    let other = std::thread::spawn(|| (0..200).for_each(|_| drop(Bench::seeded("power_up_large", text, 5))));
    let different = many();
    other.join().expect("models can be made");
    assert_eq!(different, 0, "of 200");
}

#[test]
#[should_panic(expected = "block `counter` has no port `stride`; it has: clock, reset, step")]
fn a_wrong_name_says_so() {
    Bench::new("counter", COUNTER).set("stride", 1);
}

#[test]
#[should_panic(expected = "0x10000 does not fit port `step` of 16 bits")]
fn a_wide_value_says_so() {
    Bench::new("counter", COUNTER).set("step", 0x1_0000);
}

#[test]
fn bad_verilog_is_an_error() {
    let text = "module top(a);\ninput wire a;\nassign nonsense = ;\nendmodule";
    let Err(error) = Dut::build(text, &Options::named("bad")) else { panic!("accepted") };
    assert!(matches!(&error, Error::Tool { block, .. } if block == "bad"));
    assert!(error.to_string().contains("syntax error"), "{error}");
}

#[test]
fn traces_when_asked() {
    let options = Options { trace: true, ..Options::named("counter") };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counter.fst");
    let mut dut = Dut::build(COUNTER, &options).unwrap();
    assert!(dut.trace(&path));
    dut.set("step", 1);
    for _ in 0..100 {
        dut.tick();
    }
    drop(dut);
    assert!(std::fs::metadata(&path).unwrap().len() > 100);
}

#[test]
fn a_build_script_gets_a_static_library() {
    let options = Options { trace: false, ..Options::named("counter") };
    let made = archive(COUNTER, &options).unwrap();
    assert!(made.file.exists());
    assert_eq!(made.file.file_name().unwrap(), "libviaduct_model.a");
    assert!(library(COUNTER, &options).unwrap().exists());
    assert_eq!(made.ports.len(), 7);
    for part in [
        "pub struct In {",
        "pub wide_in: [u32; 3],",
        "pub step: u16,",
        "pub count: u64,",
        "pub s_half: u32,",
        "pub fn viaduct_cycle(model: *mut Model, inputs: *const In, outputs: *mut Out);",
    ] {
        assert!(made.rust.contains(part), "{part} not in\n{}", made.rust);
    }
    assert!(!made.rust.contains("clock:"), "the shim drives the clock");
    let sha256: String = Sha256::digest(COUNTER).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(made.rust.contains(&format!("pub const VERILOG_SHA256: &str = \"{sha256}\";")));
}

#[test]
fn one_model_is_built_once_by_many_at_once() {
    // New to the cache in every run.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let text = COUNTER.replace("endmodule", &format!("// {now} {}\nendmodule", std::process::id()));
    let counts: Vec<u64> = std::thread::scope(|scope| {
        let build = || {
            let mut dut = Dut::build(&text, &Options::named("counter")).unwrap();
            dut.set("reset", 1);
            dut.tick();
            dut.set("reset", 0);
            dut.set("step", 7);
            dut.tick();
            dut.get("count")
        };
        let all: Vec<_> = (0..4).map(|_| scope.spawn(build)).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(counts, [7; 4]);
}
