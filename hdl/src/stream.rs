//! The types of ports that connect two blocks.
//!
//! ```text
//!   stream        ┌────────┐ valid, data ┌──────┐      flow   ┌────────────┐ valid, data ┌──────────┐
//!                 │ Source │────────────►│ Sink │             │ FlowSource │────────────►│ FlowSink │
//!                 └────────┘◄────────────└──────┘             └────────────┘             └──────────┘
//!                              ready
//! ```
//! A *stream* moves one datum at each rising edge at which `valid` and `ready` are both high. `valid` never waits for `ready`; once high,
//! it stays high with the same data until the datum has moved, unless a block's contract says otherwise.
//!
//! A *flow* has no `ready`: the block that hears it always has room. Several sinks may hear one source.
//!
//! Two blocks inside a third are joined, `Source::<T>::join(&mut self.from.x, &mut self.to.y)`. A port of the block itself is linked to
//! one of the same type inside, the outer one first: `Sink::<T>::link(&mut self.x, &mut self.inner.y)`.
//!
//! In the exported Verilog a stream `x` is three ports: `x_valid`, `x_ready`, and `x`, which is the data.
//!
//! Latency: none; these are wires. Tests: `verilog/tests/constructs/`.

#![allow(missing_docs, reason = "derive(LogicInterface) makes a method without documentation")]

use rust_hdl::prelude::*;

/// The end of a stream that gives data of type `T`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Sink"]
pub struct Source<T: Synth> {
    /// A datum is offered.
    pub valid: Signal<Out, bool>,
    /// The other end has room: if a datum is offered, it moves at the next rising edge.
    pub ready: Signal<In, bool>,
    /// The datum; it has no meaning while `valid` is low.
    pub data: Signal<Out, T>,
}

/// The end of a stream that takes data of type `T`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Source"]
pub struct Sink<T: Synth> {
    /// A datum is offered.
    pub valid: Signal<In, bool>,
    /// There is room: if a datum is offered, it moves at the next rising edge.
    pub ready: Signal<Out, bool>,
    /// The datum; it has no meaning while `valid` is low.
    pub data: Signal<In, T>,
}

/// The end of a flow that gives data of type `T`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "FlowSink"]
pub struct FlowSource<T: Synth> {
    /// A datum is given in this cycle.
    pub valid: Signal<Out, bool>,
    /// The datum; it has no meaning while `valid` is low.
    pub data: Signal<Out, T>,
}

/// The end of a flow that hears data of type `T`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "FlowSource"]
pub struct FlowSink<T: Synth> {
    /// A datum is given in this cycle.
    pub valid: Signal<In, bool>,
    /// The datum; it has no meaning while `valid` is low.
    pub data: Signal<In, T>,
}

/// The end of a look-up that asks. A table's contract says when the answer comes.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Table"]
pub struct LookUp<I: Synth, R: Synth> {
    /// The row that is asked for.
    pub index: Signal<Out, I>,
    /// The contents of that row.
    pub row: Signal<In, R>,
}

/// The end of a look-up that answers.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "LookUp"]
pub struct Table<I: Synth, R: Synth> {
    /// The row that is asked for.
    pub index: Signal<In, I>,
    /// The contents of that row.
    pub row: Signal<Out, R>,
}

/// A port that is high in each cycle in which something happens, so that a counter counts it.
pub type Pulse = Signal<Out, bool>;
