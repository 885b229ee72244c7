//! Operators, widths, and parts of signals.

use rust_hdl::prelude::*;

use crate::{has, proved, written};

/// Sums and what is compared with them.
#[derive(LogicBlock, Default)]
struct Sums {
    a: Signal<In, Bits<8>>,
    b: Signal<In, Bits<8>>,
    sum: Signal<Out, Bits<8>>,
    next: Signal<Out, Bits<8>>,
    long: Signal<Out, Bits<16>>,
    low: Signal<Out, Bits<4>>,
    less: Signal<Out, bool>,
    total: Signal<Local, Bits<8>>,
}

impl Logic for Sums {
    #[hdl_gen]
    fn update(&mut self) {
        self.total.next = self.a.val() + self.b.val();
        self.sum.next = self.total.val();
        self.next.next = self.a.val() + 1;
        self.long.next = bit_cast::<16, 8>(self.total.val());
        self.low.next = bit_cast::<4, 8>(self.a.val()) - bit_cast::<4, 8>(self.b.val());
        self.less.next = self.total.val() < bits::<8>(17);
    }
}

#[test]
fn sums_have_the_width_of_their_parts() {
    let text = proved(Sums::default());
    has(
        &text,
        &[
            "assign total = a + b;",
            "assign next = a + 8'd1;",
            "assign long = {8'd0, total};",
            "assign low = a[3:0] - b[3:0];",
            "assign less = total < 8'd17;",
        ],
    );
}

/// Bits in and out of signals.
#[derive(LogicBlock, Default)]
struct Parts {
    word: Signal<In, Bits<16>>,
    place: Signal<In, Bits<3>>,
    third: Signal<Out, bool>,
    nibble: Signal<Out, Bits<4>>,
    moving: Signal<Out, Bits<4>>,
    chosen: Signal<Out, bool>,
    swapped: Signal<Out, Bits<16>>,
    marked: Signal<Out, Bits<16>>,
    any: Signal<Out, bool>,
    all: Signal<Out, bool>,
    odd: Signal<Out, bool>,
    shifted: Signal<Out, Bits<16>>,
}

impl Logic for Parts {
    #[hdl_gen]
    fn update(&mut self) {
        self.third.next = self.word.val().get_bit(3);
        self.nibble.next = self.word.val().get_bits::<4>(8);
        self.moving.next = self.word.val().get_bits::<4>(self.place.val().index());
        self.chosen.next = self.word.val().get_bit(self.place.val().index());
        self.swapped.next = (bit_cast::<16, 8>(self.word.val().get_bits::<8>(0)) << 8)
            | bit_cast::<16, 8>(self.word.val().get_bits::<8>(8));
        self.marked.next = self.word.val().replace_bit(5, true);
        self.any.next = (self.word.val() & 0x0ff0).any();
        self.all.next = self.word.val().all();
        self.odd.next = self.word.val().xor();
        self.shifted.next = !self.word.val() >> self.place.val();
    }
}

#[test]
fn parts_of_signals_are_slices() {
    let text = proved(Parts::default());
    has(
        &text,
        &[
            "assign third = word[3];",
            "assign nibble = word[11:8];",
            "assign moving = word[place +: 4];",
            "assign chosen = word[place];",
            "assign marked = {word[15:6], 1'b1, word[4:0]};",
            "assign any = |(word & 16'hff0);",
            "assign all = &word;",
            "assign odd = ^word;",
        ],
    );
}

/// A row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Row {
    valid: bool,
    count: Bits<6>,
    data: Bits<9>,
}

/// Fields of rows.
#[derive(LogicBlock, Default)]
struct Fields {
    row: Signal<In, Row>,
    count: Signal<Out, Bits<6>>,
    top_bit: Signal<Out, bool>,
    other: Signal<Out, Row>,
}

impl Logic for Fields {
    #[hdl_gen]
    fn update(&mut self) {
        self.count.next = self.row.val().count;
        self.top_bit.next = self.row.val().data.get_bit(8);
        self.other.next = self.row.val();
        self.other.next.valid = false;
        self.other.next.data = self.row.val().data << 1;
    }
}

#[test]
fn fields_have_their_places() {
    let mut block = Fields::default();
    block.connect_all();
    let text = written(&block);
    has(
        &text,
        &[
            "assign count = row[6:1];",
            "assign top_bit = row[15];",
            "other = row;",
            "other[0] = 1'b0;",
            "other[15:7] = row[15:7] << 1;",
        ],
    );
}

/// Numbers put side by side: RustHDL has no other way than to shift them and take them together.
#[derive(LogicBlock, Default)]
struct SideBySide {
    a: Signal<In, Bits<8>>,
    b: Signal<In, Bits<8>>,
    c: Signal<In, Bits<4>>,
    pair: Signal<Out, Bits<16>>,
    three: Signal<Out, Bits<32>>,
    apart: Signal<Out, Bits<16>>,
    crossing: Signal<Out, Bits<16>>,
    lost: Signal<Out, Bits<16>>,
    parity: Signal<Out, Bits<2>>,
}

impl Logic for SideBySide {
    #[hdl_gen]
    fn update(&mut self) {
        self.pair.next = (bit_cast::<16, 8>(self.a.val()) << bits::<4>(8)) | bit_cast::<16, 8>(self.b.val());
        self.three.next = (bit_cast::<32, 8>(self.a.val()) << bits::<5>(20))
            | bit_cast::<32, 8>(self.b.val())
            | (bit_cast::<32, 4>(self.c.val()) << bits::<5>(12));
        self.apart.next =
            bit_cast::<16, 8>(self.a.val()) | (bit_cast::<16, 4>(self.c.val()) << bits::<4>(10));
        self.crossing.next =
            (bit_cast::<16, 8>(self.a.val()) << bits::<4>(7)) | bit_cast::<16, 8>(self.b.val());
        self.lost.next = (bit_cast::<16, 8>(self.a.val()) << bits::<4>(9)) | bit_cast::<16, 8>(self.b.val());
        self.parity.next = bit_cast::<2, 1>(self.a.val().xor().into())
            | (bit_cast::<2, 1>(self.b.val().xor().into()) << bits::<1>(1));
    }
}

#[test]
fn numbers_side_by_side_are_written_so() {
    let text = proved(SideBySide::default());
    has(
        &text,
        &[
            "assign pair = {a, b};",
            "assign three = {4'd0, a, 4'd0, c, 4'd0, b};",
            "assign apart = {2'd0, c, 2'd0, a};",
            "assign crossing = {1'b0, a, 7'd0} | {8'd0, b};",
            "assign lost = ({8'd0, a} << 9) | {8'd0, b};",
            "assign parity = {^b, ^a};",
        ],
    );
}
