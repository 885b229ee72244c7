//! What one process drives: no ring of processes waits for itself where no signal does.

use rust_hdl::prelude::*;

use crate::proved;

/// Offers while it may, and says in the same breath what becomes of the offer.
#[derive(LogicBlock, Default)]
struct Offers {
    may: Signal<In, bool>,
    ready: Signal<In, bool>,
    valid: Signal<Out, bool>,
    gone: Signal<Out, bool>,
}

impl Logic for Offers {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid.next = false;
        self.gone.next = false;
        if self.may.val() {
            self.valid.next = true;
            self.gone.next = self.ready.val();
        }
    }
}

/// Takes what is offered.
#[derive(LogicBlock, Default)]
struct Takes {
    may: Signal<In, bool>,
    valid: Signal<In, bool>,
    ready: Signal<Out, bool>,
}

impl Logic for Takes {
    #[hdl_gen]
    fn update(&mut self) {
        self.ready.next = false;
        if self.may.val() & self.valid.val() {
            self.ready.next = true;
        }
    }
}

#[derive(LogicBlock, Default)]
struct Handshake {
    may: Signal<In, bool>,
    gone: Signal<Out, bool>,
    offers: Offers,
    takes: Takes,
}

impl Logic for Handshake {
    #[hdl_gen]
    fn update(&mut self) {
        self.offers.may.next = self.may.val();
        self.takes.may.next = self.may.val();
        self.takes.valid.next = self.offers.valid.val();
        self.offers.ready.next = self.takes.ready.val();
        self.gone.next = self.offers.gone.val();
    }
}

/// The process of `name`, of a text with one such.
fn process<'a>(text: &'a str, name: &str) -> &'a str {
    let drives = |process: &&str| process.contains(&format!(" {name} = "));
    let mut found = text.split("always @(*) begin").skip(1).filter(drives);
    let process = found.next().unwrap_or_else(|| panic!("no process drives `{name}`:\n{text}"));
    process.split("\n    end\n").next().unwrap_or(process)
}

#[test]
fn an_output_s_process_reads_no_input_that_the_output_does_not_hang_on() {
    let text = proved(Handshake::default());
    // Together they would wake the taker's process, which would wake them again.
    assert!(!process(&text, "valid").contains("ready"), "{text}");
    assert!(process(&text, "gone").contains("ready"), "{text}");
}

/// Gives at once what it gets.
#[derive(LogicBlock, Default)]
struct Passes {
    a: Signal<In, bool>,
    b: Signal<Out, bool>,
}

impl Logic for Passes {
    #[hdl_gen]
    fn update(&mut self) {
        self.b.next = !self.a.val();
    }
}

/// A signal that goes straight into a block, and one that hangs on what comes out of it.
#[derive(LogicBlock, Default)]
struct Round {
    go: Signal<In, bool>,
    a: Signal<In, bool>,
    q: Signal<Out, bool>,
    first: Signal<Local, bool>,
    passes: Passes,
}

impl Logic for Round {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.next = false;
        self.q.next = false;
        if self.go.val() {
            self.first.next = self.a.val();
            self.q.next = self.passes.b.val();
        }
        self.passes.a.next = self.first.val();
    }
}

#[test]
fn no_process_reads_what_comes_of_a_signal_that_it_connects_to_a_block_within() {
    let text = proved(Round::default());
    assert!(text.contains(".a(first)"), "{text}");
    assert!(!process(&text, "first").contains("passes_b"), "{text}");
}
