//! What connects the blocks within a block: through plain assignments, local signals, choices, bits, joins and loops.

use rust_hdl::prelude::*;
use viaduct_verilog::{Connection, End, Inside};

/// The side of a stream that gives.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "Takes"]
struct Gives {
    valid: Signal<Out, bool>,
    data: Signal<Out, Bits<8>>,
    ready: Signal<In, bool>,
}

/// The side that takes.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "Gives"]
struct Takes {
    valid: Signal<In, bool>,
    data: Signal<In, Bits<8>>,
    ready: Signal<Out, bool>,
}

/// A block with a stream in and one out.
#[derive(LogicBlock, Default)]
struct Stage {
    entry: Takes,
    exit: Gives,
    event: Signal<Out, bool>,
    late: DFF<bool>,
    clock: Signal<In, Clock>,
}

impl Logic for Stage {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, late);
        self.exit.valid.next = self.entry.valid.val();
        self.exit.data.next = self.entry.data.val();
        self.entry.ready.next = self.exit.ready.val();
        self.late.d.next = self.entry.valid.val();
        self.event.next = self.late.q.val();
    }
}

/// Takes two streams, the first one first.
#[derive(LogicBlock, Default)]
struct Hub {
    first_valid: Signal<In, bool>,
    word_valid: Signal<In, bool>,
    word: Signal<In, Bits<8>>,
    events: Signal<In, Bits<2>>,
}

impl Logic for Hub {
    #[hdl_gen]
    fn update(&mut self) {}
}

/// All of them.
#[derive(LogicBlock, Default)]
struct Whole {
    clock: Signal<In, Clock>,
    entry: Takes,
    busy: Signal<Out, bool>,
    one: Stage,
    others: [Stage; 2],
    hub: Hub,
    first: Signal<Local, bool>,
    events: Signal<Local, Bits<2>>,
    held: DFF<bool>,
}

impl Logic for Whole {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        clock!(self, clock, one);
        Takes::link(&mut self.entry, &mut self.one.entry);
        Gives::join(&mut self.one.exit, &mut self.others[0].entry);
        Gives::join(&mut self.others[0].exit, &mut self.others[1].entry);
        self.others[1].exit.ready.next = true;
        self.events.next = bits::<2>(0);
        for i in 0..2 {
            self.others[i].clock.next = self.clock.val();
            self.events.next = self.events.val().replace_bit(i, self.others[i].event.val());
        }
        self.hub.events.next = self.events.val();
        self.first.next = self.one.event.val();
        self.hub.first_valid.next = self.first.val();
        self.hub.word_valid.next = self.others[1].exit.valid.val();
        self.hub.word.next = bits::<8>(0);
        if self.first.val() {
            self.hub.word.next = self.others[1].exit.data.val();
        }
        self.held.d.next = self.one.event.val();
        self.busy.next = self.held.q.val();
    }
}

fn inside() -> Inside {
    let mut whole = Whole::default();
    whole.entry.valid.connect();
    whole.entry.data.connect();
    whole.connect_all();
    Inside::of(&whole)
}

/// `one.exit$valid`, or `entry$valid` of the block around.
fn end(text: &str) -> End {
    match text.split_once('.') {
        Some((block, port)) => End { block: Some(block.to_owned()), port: port.to_owned() },
        None => End { block: None, port: text.to_owned() },
    }
}

#[test]
fn inputs_are_traced_to_the_outputs_that_they_hang_on() {
    let wanted = [
        ("clock", "one.clock"),
        ("clock", "others$0.clock"),
        ("clock", "others$1.clock"),
        ("entry$valid", "one.entry$valid"),
        ("entry", "one.entry"),
        ("one.entry$ready", "entry$ready"),
        ("one.exit$valid", "others$0.entry$valid"),
        ("one.exit", "others$0.entry"),
        ("others$0.entry$ready", "one.exit$ready"),
        ("others$0.exit$valid", "others$1.entry$valid"),
        ("others$0.exit", "others$1.entry"),
        ("others$1.entry$ready", "others$0.exit$ready"),
        // Bit by bit through a local signal.
        ("others$0.event", "hub.events"),
        ("others$1.event", "hub.events"),
        // Through a local signal, and as a choice.
        ("one.event", "hub.first_valid"),
        ("one.event", "hub.word"),
        ("others$1.exit", "hub.word"),
        ("others$1.exit$valid", "hub.word_valid"),
    ];
    let wanted = wanted.map(|(from, to)| Connection { from: end(from), to: end(to) });
    let found = inside().connections;
    assert_eq!(found, wanted.into_iter().collect(), "nothing goes through a register: `busy` hangs on none");
}

#[test]
fn parts_have_their_ports_and_parts_but_registers_are_none() {
    let inside = inside();
    let names: Vec<&str> = inside.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["one", "others$0", "others$1", "hub"]);
    assert!(inside.parts[0].parts.is_empty(), "a flip-flop is a register of its user");
    let ports = inside.parts[0].ports.iter().map(|port| (port.name.as_str(), port.is_output, port.width));
    let wanted = [
        ("entry$valid", false, 1),
        ("entry", false, 8),
        ("entry$ready", true, 1),
        ("exit$valid", true, 1),
        ("exit", true, 8),
        ("exit$ready", false, 1),
        ("event", true, 1),
        ("clock", false, 1),
    ];
    assert_eq!(ports.collect::<Vec<_>>(), wanted);
}
