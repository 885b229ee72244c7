//! Streams: interfaces whose data have the stream's own name.

use rust_hdl::prelude::*;

use crate::{has, proved, written};

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

/// Gives a word on.
#[derive(LogicBlock, Default)]
struct Maker<const N: usize> {
    /// Whether it may.
    go: Signal<In, bool>,
    /// What comes in.
    word: Sink<Bits<N>>,
    /// What goes on.
    made: Source<Bits<N>>,
}

impl<const N: usize> Logic for Maker<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.made.valid.next = self.go.val() & self.word.valid.val();
        self.made.data.next = self.word.data.val();
        self.word.ready.next = self.go.val() & self.made.ready.val();
    }
}

#[derive(LogicBlock, Default)]
struct Taker {
    clock: Signal<In, Clock>,
    word: Sink<Bits<4>>,
    seen: Signal<Out, Bits<4>>,
    full: DFF<bool>,
    kept: DFF<Bits<4>>,
}

impl Logic for Taker {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, full, kept);
        self.word.ready.next = !self.full.q.val();
        self.seen.next = self.kept.q.val();
        if self.word.valid.val() & !self.full.q.val() {
            self.kept.d.next = self.word.data.val();
            self.full.d.next = true;
        }
    }
}

#[derive(LogicBlock, Default)]
struct Joined {
    clock: Signal<In, Clock>,
    go: Signal<In, bool>,
    /// What comes in.
    ///
    /// A word each cycle.
    word: Sink<Bits<4>>,
    seen: Signal<Out, Bits<4>>,
    maker: Maker<4>,
    taker: Taker,
}

impl Logic for Joined {
    #[hdl_gen]
    fn update(&mut self) {
        self.taker.clock.next = self.clock.val();
        Sink::<Bits<4>>::link(&mut self.word, &mut self.maker.word);
        Source::<Bits<4>>::join(&mut self.maker.made, &mut self.taker.word);
        self.maker.go.next = self.go.val();
        self.seen.next = self.taker.seen.val();
    }
}

#[test]
fn a_join_and_a_link_connect_all_of_a_stream() {
    let text = proved(Joined::default());
    has(
        &text,
        &[
            // The data have the stream's name, at ports, between blocks and at blocks within.
            "input  wire word_valid,",
            "output wire word_ready,",
            "input  wire [3:0] word,",
            "wire [3:0] maker_made;",
            ".word_valid(word_valid),",
            ".word_ready(word_ready),",
            ".word(word),",
            ".made_valid(maker_made_valid),",
            ".made_ready(taker_word_ready),",
            ".made(maker_made)",
            ".word(maker_made),",
            "assign made = word;",
            "if (word_valid & ~full) begin",
            "kept <= word;",
        ],
    );
    // What is said of a stream is said once.
    assert_eq!(text.matches("// A word each cycle.").count(), 1, "{text}");
    assert!(!text.contains("_data"), "{text}");
}

/// Streams in a row.
#[derive(LogicBlock, Default)]
struct Merge {
    words: [Sink<Bits<4>>; 2],
    word: Source<Bits<4>>,
}

impl Logic for Merge {
    #[hdl_gen]
    fn update(&mut self) {
        self.word.valid.next = false;
        self.word.data.next = bits::<4>(0);
        for i in 0..2 {
            self.words[i].ready.next = false;
            if self.words[i].valid.val() {
                self.word.valid.next = true;
                self.word.data.next = self.words[i].data.val();
            }
        }
        self.words[0].ready.next = self.word.ready.val() & !self.words[1].valid.val();
        self.words[1].ready.next = self.word.ready.val();
    }
}

#[derive(LogicBlock, Default)]
struct Merged {
    words: [Sink<Bits<4>>; 2],
    word: Source<Bits<4>>,
    makers: [Maker<4>; 2],
    merge: Merge,
}

impl Logic for Merged {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..2 {
            self.makers[i].go.next = true;
            Sink::<Bits<4>>::link(&mut self.words[i], &mut self.makers[i].word);
            Source::<Bits<4>>::join(&mut self.makers[i].made, &mut self.merge.words[i]);
        }
        Source::<Bits<4>>::link(&mut self.word, &mut self.merge.word);
    }
}

#[test]
fn streams_in_a_row_have_numbers() {
    let text = proved(Merged::default());
    has(
        &text,
        &[
            "input  wire words_0_valid,",
            "input  wire [3:0] words_1,",
            ".words_0(makers_0_made),",
            ".words_1_ready(merge_words_1_ready),",
            ".word(word)",
            "if (words_1_valid) word = words_1;",
        ],
    );
}

/// A block that looks at what it hands on.
#[derive(LogicBlock, Default)]
struct Watched {
    word: Sink<Bits<4>>,
    go: Signal<In, bool>,
    made: Source<Bits<4>>,
    low: Signal<Out, Bits<2>>,
    maker: Maker<4>,
}

impl Logic for Watched {
    #[hdl_gen]
    fn update(&mut self) {
        self.maker.go.next = self.go.val();
        Sink::<Bits<4>>::link(&mut self.word, &mut self.maker.word);
        Source::<Bits<4>>::link(&mut self.made, &mut self.maker.made);
        self.low.next = self.maker.made.data.val().get_bits::<2>(0);
    }
}

#[test]
fn what_is_linked_can_be_read() {
    // RustHDL's writer names a signal here that it does not declare, so there is nothing to compare with.
    has(&written_connected(Watched::default()), &["assign low = made[1:0];", ".made(made)"]);
}

/// What is written for a block that is not compared with RustHDL's.
fn written_connected<B: Block>(mut block: B) -> String {
    block.connect_all();
    written(&block)
}

/// A stream as text of the author's own has it.
#[derive(LogicBlock, Default)]
struct ByHand {
    word: Sink<Bits<4>>,
    made: Source<Bits<4>>,
}

impl Logic for ByHand {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.word.ready.connect();
        self.made.valid.connect();
        self.made.data.connect();
    }

    fn hdl(&self) -> Verilog {
        let copies = ["word$ready = made$ready", "made$valid = word$valid", "made$data = ~word$data"];
        Verilog::Custom(copies.map(|copy| format!("assign {copy};\n")).concat())
    }
}

#[test]
fn text_of_the_authors_own_gets_the_names() {
    let text = written_connected(ByHand::default());
    has(&text, &["assign word_ready = made_ready;", "assign made = ~word;", "output wire [3:0] made"]);
}

/// A stream with a name that Verilog has for itself.
#[derive(LogicBlock, Default)]
struct Keyword {
    event: Sink<Bits<4>>,
    seen: Signal<Out, Bits<4>>,
}

impl Logic for Keyword {
    #[hdl_gen]
    fn update(&mut self) {
        self.event.ready.next = true;
        self.seen.next = bits::<4>(0);
        if self.event.valid.val() {
            self.seen.next = self.event.data.val();
        }
    }
}

#[test]
fn the_data_of_a_stream_keep_their_name_where_the_streams_is_a_word_of_verilog() {
    has(
        &proved(Keyword::default()),
        &["input  wire [3:0] event_data,", "if (event_valid) seen = event_data;"],
    );
}

/// A signal with such a name.
#[derive(LogicBlock, Default)]
struct Word {
    event: Signal<In, bool>,
    seen: Signal<Out, bool>,
}

impl Logic for Word {
    #[hdl_gen]
    fn update(&mut self) {
        self.seen.next = self.event.val();
    }
}

#[test]
#[should_panic(expected = "`event` is a word of Verilog")]
fn a_signal_with_such_a_name_is_refused() {
    written_connected(Word::default());
}

/// A signal that is called as one of a stream.
#[derive(LogicBlock, Default)]
struct Clash {
    word: Sink<Bits<4>>,
    word_ready: Signal<Out, bool>,
}

impl Logic for Clash {
    #[hdl_gen]
    fn update(&mut self) {
        self.word.ready.next = self.word.valid.val();
        self.word_ready.next = self.word.data.val().any();
    }
}

#[test]
#[should_panic(expected = "`word$ready` and `word_ready` have one name in Verilog")]
fn names_that_become_one_are_refused() {
    written_connected(Clash::default());
}
