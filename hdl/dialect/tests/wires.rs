//! Statements for many wires at once say what the single ones say.

use std::path::Path;

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_verilog::verilog;

/// A stream.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Sink"]
struct Source<T: Synth> {
    valid: Signal<Out, bool>,
    ready: Signal<In, bool>,
    data: Signal<Out, T>,
}

/// Its other end.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Source"]
struct Sink<T: Synth> {
    valid: Signal<In, bool>,
    ready: Signal<Out, bool>,
    data: Signal<In, T>,
}

/// A question and its answer.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Answers"]
struct Asks<I: Synth, R: Synth> {
    index: Signal<Out, I>,
    row: Signal<In, R>,
}

/// The other end.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Asks"]
struct Answers<I: Synth, R: Synth> {
    index: Signal<In, I>,
    row: Signal<Out, R>,
}

/// What a stage has seen.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Seen {
    low: bool,
    high: bool,
    any: bool,
    never: bool,
    always: bool,
}

#[derive(LogicBlock, Default)]
struct Stage {
    clock: Signal<In, Clock>,
    reset: Signal<In, bool>,
    entry: Sink<Bits<4>>,
    exit: Source<Bits<4>>,
    /// What it has seen.
    kept: Signal<Out, Seen>,
    asks: Asks<Bits<2>, bool>,
    answers: Answers<Bits<2>, bool>,
    busy: Signal<Out, bool>,
    late: DFF<bool>,
}

impl Logic for Stage {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, late);
        self.exit.valid.next = self.entry.valid.val();
        self.exit.data.next = self.entry.data.val();
        self.entry.ready.next = self.exit.ready.val();
        self.asks.index.next = self.entry.data.val().get_bits::<2>(0);
        self.answers.row.next = self.late.q.val() & self.answers.index.val().get_bit(1);
        self.late.d.next = self.entry.valid.val() & self.asks.row.val();
        self.busy.next = self.late.q.val();
        self.kept.next.low = self.late.q.val();
        self.kept.next.high = !self.late.q.val();
        self.kept.next.any = self.entry.valid.val();
        self.kept.next.never = false;
        self.kept.next.always = true;
        if self.reset.val() {
            self.late.d.next = false;
        }
    }
}

/// The wires one by one.
mod single {
    use super::*;

    #[derive(LogicBlock, Default)]
    pub struct Whole {
        clock: Signal<In, Clock>,
        reset: Signal<In, bool>,
        word: Sink<Bits<4>>,
        gone: Source<Bits<4>>,
        busy: Signal<Out, bool>,
        seen: Signal<Out, Seen>,
        rested: Signal<Out, bool>,
        one: Stage,
        two: Stage,
        three: Stage,
    }

    impl Logic for Whole {
        #[hdl_gen]
        fn update(&mut self) {
            clock!(self, clock, one, two, three);
            self.one.reset.next = self.reset.val();
            self.two.reset.next = self.reset.val();
            self.three.reset.next = self.reset.val() | self.one.busy.val();
            Sink::<Bits<4>>::link(&mut self.word, &mut self.one.entry);
            Source::<Bits<4>>::join(&mut self.one.exit, &mut self.two.entry);
            Source::<Bits<4>>::join(&mut self.two.exit, &mut self.three.entry);
            Source::<Bits<4>>::link(&mut self.gone, &mut self.three.exit);
            Asks::<Bits<2>, bool>::join(&mut self.one.asks, &mut self.two.answers);
            Asks::<Bits<2>, bool>::join(&mut self.two.asks, &mut self.three.answers);
            Asks::<Bits<2>, bool>::join(&mut self.three.asks, &mut self.one.answers);
            self.busy.next = self.one.busy.val() | self.two.busy.val() | self.three.busy.val();
            self.seen.next.low = self.one.busy.val();
            self.seen.next.high = self.three.kept.val().high;
            self.seen.next.any = self.one.busy.val() | self.three.kept.val().any;
            self.seen.next.never = false;
            self.seen.next.always = true;
            self.rested.next = self.two.kept.val().low;
        }
    }
}

/// The same wires, many at once.
mod many {
    use super::*;

    #[derive(LogicBlock, Default)]
    pub struct Whole {
        clock: Signal<In, Clock>,
        reset: Signal<In, bool>,
        word: Sink<Bits<4>>,
        gone: Source<Bits<4>>,
        busy: Signal<Out, bool>,
        seen: Signal<Out, Seen>,
        rested: Signal<Out, bool>,
        one: Stage,
        two: Stage,
        three: Stage,
    }

    impl Logic for Whole {
        #[wires]
        #[hdl_gen]
        fn update(&mut self) {
            clock!(self, clock, one, two, three);
            drive!(self, reset => one.reset, two.reset; reset | one.busy => three.reset);
            Sink::<Bits<4>>::link(&mut self.word, &mut self.one.entry);
            join!(self, Source<Bits<4>>, one.exit => two.entry; two.exit => three.entry);
            Source::<Bits<4>>::link(&mut self.gone, &mut self.three.exit);
            join!(self, Asks<Bits<2>, bool>, one.asks => two.answers; two.asks => three.answers;
                three.asks => one.answers;);
            drive!(self, one.busy | two.busy | three.busy => busy);
            fill!(self, seen, one.busy => low; three.kept.val().high => high;
                one.busy | three.kept.val().any => any; false => never; true => always);
            drive!(self, two.kept.val().low => rested);
        }
    }
}

/// The Verilog of a block, without the comments that say where it stands.
fn written(mut block: impl Block) -> String {
    block.connect_all();
    let source = viaduct_verilog::Source::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")).unwrap();
    let text = verilog(&block, "top", &source);
    text.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn many_at_once_are_written_as_one_by_one() {
    assert_eq!(written(many::Whole::default()), written(single::Whole::default()));
}
