//! The lint gate refuses latches, loops, undriven and undeclared names and whatever else a tool warns of, and lets a plain block pass.

use viaduct_flow::gate::check;

/// A block with this body between inputs `a`, `clock` and output `q`.
fn block(body: &str) -> String {
    format!(
        "`default_nettype none\nmodule top(clock,a,q);\ninput wire clock;\ninput wire [1:0] a;\n\
         output reg [1:0] q;\n{body}\nendmodule\n"
    )
}

#[track_caller]
fn refused(name: &str, body: &str, word: &str) {
    let wrong = check(&format!("test-{name}"), &block(body)).unwrap();
    assert!(wrong.iter().any(|text| text.contains(word)), "{name}: {word:?} not in {wrong:?}");
}

#[test]
fn passes_a_plain_block() {
    let body = "reg [1:0] d;\nalways @(*) begin d = a; if (a[0]) d = a + 2'd1; end\n\
                always @(posedge clock) q <= d;";
    assert_eq!(check("test-plain", &block(body)).unwrap(), [""; 0]);
}

#[test]
fn refuses_a_latch() {
    refused("latch", "always @(*) if (clock) q = a;", "Latch inferred");
}

#[test]
fn refuses_a_loop() {
    refused(
        "loop",
        "wire x, y;\nassign x = ~y & a[0];\nassign y = ~x | a[1];\nalways @(*) q = {x, y};",
        "loop",
    );
}

#[test]
fn refuses_a_loop_through_instances() {
    let body = "wire x;\nwire y;\nsub s(x, y);\nassign x = y ^ a[0];\nalways @(*) q = {x, y};\nendmodule\n\
                module sub(i, o);\ninput wire i;\noutput wire o;\nassign o = ~i;";
    refused("loop-instances", body, "loop");
}

#[test]
fn refuses_a_loop_of_vectors_although_none_of_bits_is_in_it() {
    // A simulator evaluates it twice, and one with events may not come to an end.
    refused("vectors", "wire [1:0] x;\nassign x = {x[0], a[0]};\nalways @(*) q = x;", "UNOPTFLAT");
}

#[test]
fn refuses_operands_of_different_widths() {
    refused("width", "always @(*) q = a + 3'd1;", "WIDTH");
}

#[test]
fn refuses_what_icarus_warns_of() {
    let body = "reg [1:0] memory [3:0];\nalways @(posedge clock) memory[a] <= a;\nalways @(*) q = memory[a];";
    refused("icarus", body, "icarus:");
}

#[test]
fn refuses_what_nothing_drives() {
    refused("undriven", "wire x;\nalways @(*) q = {x, a[0]};", "driver");
}

#[test]
fn refuses_a_name_nothing_declares() {
    refused("undeclared", "always @(*) q = a + FOO;", "FOO");
}

#[test]
fn refuses_what_verilator_warns_of() {
    refused("blocking", "always @(posedge clock) q = a;", "BLKSEQ");
}
