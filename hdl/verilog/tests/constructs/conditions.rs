//! `if`, `match`, loops and steps.

use rust_hdl::prelude::*;

use crate::{has, proved};

/// A default, and what overrides it.
#[derive(LogicBlock, Default)]
struct Chain {
    a: Signal<In, Bits<4>>,
    high: Signal<In, bool>,
    first: Signal<Out, Bits<4>>,
    second: Signal<Out, bool>,
}

impl Logic for Chain {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.next = self.a.val();
        self.second.next = false;
        if self.high.val() {
            self.first.next = bits::<4>(15);
        } else if self.a.val() == 3 {
            self.second.next = true;
        } else {
            self.first.next = bits::<4>(0);
            self.second.next = self.a.val().any();
        }
    }
}

#[test]
fn signals_that_share_their_conditions_are_driven_together() {
    let text = proved(Chain::default());
    assert_eq!(text.matches("always @(*)").count(), 1, "{text}");
    has(&text, &["first = a;", "if (high) begin", "end else if (a == 4'd3) begin", "second = |a;"]);
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Runs,
    Rests,
}

/// States and numbers.
#[derive(LogicBlock, Default)]
struct Choices {
    state: Signal<In, State>,
    number: Signal<In, Bits<3>>,
    runs: Signal<Out, bool>,
    next: Signal<Out, State>,
    square: Signal<Out, Bits<6>>,
}

impl Logic for Choices {
    #[hdl_gen]
    fn update(&mut self) {
        self.runs.next = self.state.val() == State::Runs;
        self.next.next = State::Idle;
        match self.state.val() {
            State::Idle => {
                self.next.next = State::Runs;
            }
            State::Runs => {
                self.next.next = State::Rests;
            }
            _ => {}
        }
        match self.number.val().index() {
            0 => self.square.next = bits::<6>(0),
            1 => self.square.next = bits::<6>(1),
            5 => self.square.next = bits::<6>(25),
            _ => self.square.next = bits::<6>(63),
        }
    }
}

#[test]
fn a_match_is_a_case() {
    let text = proved(Choices::default());
    has(
        &text,
        &[
            "localparam [1:0] State_Runs = 2'd1;",
            "case (state)",
            "State_Idle: next = State_Runs;",
            "default: ;",
            "3'd5: square = 6'd25;",
            "default: square = 6'd63;",
        ],
    );
}

/// A loop over a signal's bits and over an array of signals.
#[derive(LogicBlock, Default)]
struct Loop {
    word: Signal<In, Bits<4>>,
    reversed: Signal<Out, Bits<4>>,
    odd: Signal<Out, bool>,
    sums: [Signal<Local, bool>; 5],
}

impl Logic for Loop {
    #[hdl_gen]
    fn update(&mut self) {
        self.reversed.next = bits::<4>(0);
        self.sums[0].next = false;
        for i in 0..4 {
            self.reversed.next = self.reversed.val() << 1;
            if self.word.val().get_bit(i) {
                self.reversed.next = self.reversed.val() | 1;
            }
            self.sums[i + 1].next = self.sums[i].val() ^ self.word.val().get_bit(i);
        }
        self.odd.next = self.sums[4].val();
    }
}

#[test]
fn a_loop_is_unrolled_and_a_signal_made_in_steps_has_a_process() {
    let text = proved(Loop::default());
    has(
        &text,
        &[
            "always @(*) begin",
            "reversed = reversed << 1;",
            "if (word[2]) reversed = reversed | 4'd1;",
            "assign sums_3 = sums_2 ^ word[2];",
        ],
    );
}

/// One signal that changes its meaning, and one that is read between.
#[derive(LogicBlock, Default)]
struct Between {
    a: Signal<In, Bits<4>>,
    early: Signal<Out, Bits<4>>,
    late: Signal<Out, Bits<4>>,
    work: Signal<Local, Bits<4>>,
}

impl Logic for Between {
    #[hdl_gen]
    fn update(&mut self) {
        self.work.next = self.a.val() + 1;
        self.early.next = self.work.val();
        self.work.next = self.a.val() + 2;
        self.late.next = self.work.val();
    }
}

#[test]
fn what_is_read_before_its_last_value_stays_in_its_order() {
    let text = proved(Between::default());
    has(&text, &["assign late = work;", "early = work;"]);
}

/// An arm for each state, which are fewer than the numbers of their width.
#[derive(LogicBlock, Default)]
struct Each {
    state: Signal<In, State>,
    flag: Signal<In, Bits<1>>,
    lively: Signal<Out, Bits<2>>,
    other: Signal<Out, bool>,
}

impl Logic for Each {
    #[hdl_gen]
    fn update(&mut self) {
        self.lively.next = bits::<2>(0);
        match self.state.val() {
            State::Idle => self.lively.next = bits::<2>(1),
            State::Runs => self.lively.next = bits::<2>(2),
            State::Rests => self.lively.next = bits::<2>(3),
        }
        match self.flag.val().index() {
            0 => self.other.next = true,
            1 => self.other.next = false,
            _ => {}
        }
    }
}

#[test]
fn a_case_says_what_becomes_of_the_other_numbers() {
    let text = proved(Each::default());
    has(&text, &["State_Rests: lively = 2'd3;", "1'b1: other = 1'b0;"]);
    assert_eq!(text.matches("default: ;").count(), 2, "{text}");
}
