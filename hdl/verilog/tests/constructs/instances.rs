//! Blocks within blocks.

use rust_hdl::prelude::*;

use crate::{has, proved, written};

/// Keeps `T`, as [`Row`] and [its other user](Wide) do; see [`DFF`](rust_hdl::prelude::DFF).
#[derive(LogicBlock, Default)]
struct Keep<T: Synth> {
    clock: Signal<In, Clock>,
    data: Signal<In, T>,
    kept: Signal<Out, T>,
    held: DFF<T>,
}

impl<T: Synth> Logic for Keep<T> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        self.held.d.next = self.data.val();
        self.kept.next = self.held.q.val();
    }
}

/// Two of one width, in a row, and one of another.
#[derive(LogicBlock, Default)]
struct Row {
    clock: Signal<In, Clock>,
    data: Signal<In, Bits<8>>,
    flag: Signal<In, bool>,
    late: Signal<Out, Bits<8>>,
    late_bit: Signal<Out, bool>,
    keeps: [Keep<Bits<8>>; 2],
    single: Keep<bool>,
}

impl Logic for Row {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, single);
        for i in 0..2 {
            self.keeps[i].clock.next = self.clock.val();
        }
        self.keeps[0].data.next = self.data.val() + 1;
        self.keeps[1].data.next = self.keeps[0].kept.val();
        self.late.next = self.keeps[1].kept.val();
        self.single.data.next = self.flag.val();
        self.late_bit.next = self.single.kept.val();
    }
}

#[test]
fn a_type_of_block_is_one_module_and_plain_signals_go_straight_in() {
    let text = proved(Row::default());
    has(
        &text,
        &[
            "keep_8 keeps_0 (",
            "keep_8 keeps_1 (",
            "keep_1 single (",
            "assign keeps_0_data = data + 8'd1;",
            ".data(keeps_0_data),",
            ".data(keeps_0_kept),",
            ".kept(late)",
            ".data(flag),",
        ],
    );
    assert_eq!(text.matches("module keep_8 (").count(), 1, "{text}");
    // Links lead nowhere there.
    has(&text, &["// Keeps `T`, as `Row` and [its other user](Wide) do; see `DFF`."]);
}

/// As wide as it is told.
#[derive(LogicBlock, Default)]
struct Wide<T: Synth, const N: usize> {
    clock: Signal<In, Clock>,
    data: Signal<In, T>,
    /// What is held.
    ///
    /// Two words.
    words: [Signal<Out, T>; 2],
    number: Signal<Out, Bits<N>>,
    keep: Keep<T>,
    count: Keep<Bits<N>>,
}

impl<T: Synth, const N: usize> Logic for Wide<T, N> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, keep, count);
        self.keep.data.next = self.data.val();
        self.words[0].next = self.data.val();
        self.words[1].next = self.keep.kept.val();
        self.count.data.next = self.count.kept.val() + 1;
        self.number.next = self.count.kept.val();
    }
}

#[test]
fn the_outermost_block_hands_its_parameters_on() {
    let text = proved(Wide::<Bits<8>, 3>::default());
    has(&text, &["keep_8 keep (", "keep_3 count ("]);
    // What is said of an array is said once.
    assert_eq!(text.matches("// Two words.").count(), 1, "{text}");
}

/// A block whose output hangs on its input in the same cycle, twice in a ring that is none.
#[derive(LogicBlock, Default)]
struct Invert {
    a: Signal<In, bool>,
    b: Signal<In, bool>,
    not_a: Signal<Out, bool>,
    not_b: Signal<Out, bool>,
}

impl Logic for Invert {
    #[hdl_gen]
    fn update(&mut self) {
        self.not_a.next = !self.a.val();
        self.not_b.next = !self.b.val();
    }
}

#[derive(LogicBlock, Default)]
struct Ring {
    go: Signal<In, bool>,
    a: Signal<In, bool>,
    q: Signal<Out, bool>,
    inverter: Invert,
}

impl Logic for Ring {
    #[hdl_gen]
    fn update(&mut self) {
        self.inverter.a.next = false;
        self.inverter.b.next = false;
        self.q.next = false;
        if self.go.val() {
            self.inverter.a.next = self.a.val();
            self.inverter.b.next = self.inverter.not_a.val();
            self.q.next = self.inverter.not_b.val();
        }
    }
}

#[test]
fn no_process_reads_what_it_drives_through_a_block_within() {
    let text = proved(Ring::default());
    // One process for all three would wait for itself.
    assert_eq!(text.matches("always @(*)").count(), 3, "{text}");
}

/// Verilog of the author's own.
#[derive(LogicBlock, Default)]
struct ByHand {
    clock: Signal<In, Clock>,
    address: Signal<In, Bits<2>>,
    data: Signal<Out, Bits<4>>,
}

impl Logic for ByHand {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom("reg [3:0] memory [3:0];\nalways @(posedge clock) data <= memory[address];\n".into())
    }
}

#[test]
fn text_of_the_authors_own_stays() {
    let mut block = ByHand::default();
    block.connect_all();
    let text = written(&block);
    has(
        &text,
        &[
            "output reg  [3:0] data",
            "reg [3:0] memory [3:0];",
            "always @(posedge clock) data <= memory[address];",
        ],
    );
}

/// A signal that is called as a port of the block within.
#[derive(LogicBlock, Default)]
struct Named {
    a: Signal<In, bool>,
    q: Signal<Out, bool>,
    inner_a: Signal<Local, bool>,
    inner: Invert,
}

impl Logic for Named {
    #[hdl_gen]
    fn update(&mut self) {
        self.inner_a.next = !self.a.val();
        self.inner.a.next = self.a.val() & self.inner_a.val();
        self.inner.b.next = self.inner_a.val();
        self.q.next = self.inner.not_a.val() | self.inner.not_b.val();
    }
}

#[test]
#[should_panic(expected = "`inner_a` and `inner$a` have one name in Verilog")]
fn names_that_become_one_are_refused() {
    let mut block = Named::default();
    block.connect_all();
    written(&block);
}
