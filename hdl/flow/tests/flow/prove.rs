//! The runner of the proofs refuses what proves nothing.

use viaduct_flow::prove::prove;
use viaduct_hdl::proofs::{Engine, Mutant, Proof};

/// Counts to 2 and stays there; with a switch that is never on.
const COUNTER: &str = "module top(clock,go,count);
input wire clock;
input wire go;
output reg [1:0] count;
reg broken;
initial begin count = 0; broken = 0; end
always @(posedge clock) begin
    broken <= broken & go;
    if (broken) count <= 3;
    else if (go && count != 2) count <= count + 1;
end
endmodule
";

/// With the invariant that the switch is off, and without.
const WRAPPER: &str = "// watch: broken = dut.broken
module proof(input wire clock, input wire go);
    wire [1:0] count;
    (* keep *) wire broken;
    top dut(.clock(clock), .go(go), .count(count));
    always @(*) stop: assert(count != 3);
    // What makes it so
    always @(*) off: assert(!broken);
    always @(*) there: cover(count == 2);
endmodule
";

const GOES_ON: Mutant =
    Mutant { what: "goes on", property: "stop", from: "if (go && count != 2)", to: "if (go)" };

/// What the runner says of this wrapper and these mutants.
fn verdict(name: &'static str, wrapper: &str, mutants: &'static [Mutant]) -> String {
    let proof = Proof {
        name,
        verilog: || COUNTER.into(),
        wrapper: wrapper.to_owned().leak(),
        depth: 6,
        base: 6,
        steps: 1,
        engine: Engine::Whole,
        kills: 1,
        mutants,
        smaller: &[],
    };
    match prove(&proof) {
        Ok(proved) => {
            let properties: Vec<String> =
                proved.properties.iter().map(|(name, mutants)| format!("{name} by {mutants}")).collect();
            format!("proved {}, {} helpers", properties.join(", "), proved.helpers)
        }
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn accepts_a_proof() {
    assert_eq!(verdict("test-good", WRAPPER, &[GOES_ON]), "proved stop by 1, 1 helpers");
}

#[test]
fn refuses_a_property_that_is_false() {
    let text = verdict("test-false", &WRAPPER.replace("count != 3", "count != 2"), &[GOES_ON]);
    assert_eq!(text, "bounded check failed: stop");
}

#[test]
fn refuses_a_property_that_is_not_inductive() {
    let text =
        verdict("test-step", &WRAPPER.replace("assert(!broken)", "assert(count != 3 || broken)"), &[GOES_ON]);
    assert!(text.starts_with("induction failed: "), "{text}");
}

#[test]
fn refuses_a_state_that_is_not_reached() {
    let text = verdict("test-cover", &WRAPPER.replace("cover(count == 2)", "cover(count == 3)"), &[GOES_ON]);
    assert_eq!(text, "cover failed: not reached: there.");
}

#[test]
fn refuses_a_property_that_says_nothing() {
    let text = verdict("test-empty", &WRAPPER.replace("count != 3", "1'b1"), &[GOES_ON]);
    assert_eq!(text, "mutant: goes on: survived: stop still holds to depth 6");
}

#[test]
fn refuses_a_property_that_is_not_in_the_model() {
    // Said twice, it is one assertion: then one of the labels was never looked at.
    let text = verdict("test-twice", &WRAPPER.replace("assert(!broken)", "assert(count != 3)"), &[GOES_ON]);
    assert_eq!(text, "1 assertions in the model, 2 in the wrapper");
}

#[test]
fn refuses_a_property_without_a_mutant() {
    assert_eq!(verdict("test-none", WRAPPER, &[]), "property stop has 0 mutants, not 1");
}

#[test]
fn refuses_a_mutant_that_survives() {
    const SAME: Mutant = Mutant { what: "the same", to: "if (count != 2 && go)", ..GOES_ON };
    let text = verdict("test-same", WRAPPER, &[SAME]);
    assert_eq!(text, "mutant: the same: survived: stop still holds to depth 6");
}

#[test]
fn refuses_a_mutant_that_does_not_match() {
    const LOST: Mutant = Mutant { what: "lost", from: "no such text", ..GOES_ON };
    let text = verdict("test-lost", WRAPPER, &[LOST]);
    assert_eq!(text, "mutant: lost: \"no such text\" is in the Verilog 0 times, not once");
}
