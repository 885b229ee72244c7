//! Registers.

use rust_hdl::prelude::*;

use crate::{has, proved};

/// Counts while it may.
#[derive(LogicBlock, Default)]
struct Counter {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Back to 0.
    pub reset: Signal<In, bool>,
    /// One more.
    pub go: Signal<In, bool>,
    /// How many.
    pub count: Signal<Out, Bits<8>>,
    /// What `count` shows.
    value: DFF<Bits<8>>,
    flags: DFF<Bits<4>>,
    pub mark: Signal<Out, Bits<4>>,
}

impl Logic for Counter {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, value, flags);
        if self.go.val() {
            self.value.d.next = self.value.q.val() + 1;
        }
        self.flags.d.next = self.flags.d.val() << 1;
        if self.go.val() {
            self.flags.d.next = self.flags.d.val() | 1;
        }
        self.mark.next = self.flags.q.val();
        self.count.next = self.value.q.val();
        if self.reset.val() {
            self.value.d.next = bits::<8>(0);
        }
    }
}

#[test]
fn a_register_says_what_changes() {
    let text = proved(Counter::default());
    has(
        &text,
        &[
            "// Counts while it may.",
            "// Made from src/registers.rs.",
            "// Back to 0.",
            "input  wire reset,",
            "// What `count` shows.",
            "reg  [7:0] value = 8'd0;",
            "always @(posedge clock) begin",
            "if (go) value <= value + 8'd1;",
            "if (reset) value <= 8'd0;",
            "assign count = value;",
            // Its next value is made in steps.
            "flags_d = flags_d << 1;",
            "flags <= flags_d;",
        ],
    );
    assert!(!text.contains("value <= value;"), "{text}");
}

/// Two clocks.
#[derive(LogicBlock, Default)]
struct Clocks {
    one: Signal<In, Clock>,
    other: Signal<In, Clock>,
    d: Signal<In, bool>,
    q: Signal<Out, bool>,
    first: DFF<bool>,
    second: DFF<bool>,
}

impl Logic for Clocks {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.clock.next = self.one.val();
        self.second.clock.next = self.other.val();
        self.first.d.next = self.d.val();
        self.second.d.next = self.first.q.val();
        self.q.next = self.second.q.val();
    }
}

#[test]
fn each_clock_has_a_process() {
    let mut block = Clocks::default();
    block.connect_all();
    let text = crate::written(&block);
    has(
        &text,
        &["always @(posedge one) begin", "first <= d;", "always @(posedge other) begin", "second <= first;"],
    );
}
