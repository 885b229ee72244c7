//! Ports between the blocks that keep frames and those that deliver them.
//!
//! ```text
//!            info, again, overdue          ┌────────────┐  frame, payload_start
//!   ┌────────────┐────────────►┌──────────┐│ HeldSource │────────────►┌──────────┐
//!   │ ShowSource │             │ ShowSink │└────────────┘  release    │ HeldSink │
//!   └────────────┘◄────────────└──────────┘                           └──────────┘
//!                decided, fate
//! ```
//! The store *shows* `Lookup` a frame until it is decided what becomes of it. `Delivery` *holds* one that is taken until it releases it
//! to `PayloadQueue`, which may still have to move its payload.
//!
//! Example: a frame is on show, and its receive is not there yet: `decided` is high in one cycle, with the fate Aside.
//!
//! Latency: none; these are wires. Tests: with the blocks, `tests/receive/store.rs`.

#![allow(missing_docs, reason = "derive(LogicInterface) makes a method without documentation")]

use crate::bus::FrameInfo;
use rust_hdl::prelude::*;

/// What becomes of the frame on show.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Fate {
    /// Delivery has the frame.
    Taken,
    /// Its turn has not come: it stays, and the one behind it is shown.
    Aside,
    /// The frame is thrown away, and counted.
    Dropped,
    /// Nothing, but the oldest frame is shown next.
    Left,
}

/// The end that shows a frame: the roster.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "ShowSink"]
pub struct ShowSource {
    /// A frame is on show.
    pub valid: Signal<Out, bool>,
    /// What is known of that frame.
    pub info: Signal<Out, FrameInfo>,
    /// An older frame that was set aside may have its turn now: the one on show is to be left for it.
    pub again: Signal<Out, bool>,
    /// The frame on show was set aside and has kept others waiting for too long.
    pub overdue: Signal<Out, bool>,
    /// Pulses when it is decided what becomes of the frame on show.
    pub decided: Signal<In, bool>,
    /// With `decided`: what becomes of the frame on show.
    pub fate: Signal<In, Fate>,
}

/// The end that looks at the frame and decides: `Lookup`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "ShowSource"]
pub struct ShowSink {
    /// A frame is on show.
    pub valid: Signal<In, bool>,
    /// What is known of that frame.
    pub info: Signal<In, FrameInfo>,
    /// An older frame that was set aside may have its turn now: the one on show is to be left for it.
    pub again: Signal<In, bool>,
    /// The frame on show was set aside and has kept others waiting for too long.
    pub overdue: Signal<In, bool>,
    /// Pulses when it is decided what becomes of the frame on show.
    pub decided: Signal<Out, bool>,
    /// With `decided`: what becomes of the frame on show.
    pub fate: Signal<Out, Fate>,
}

/// The end that holds a frame while it is delivered: `Delivery`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "HeldSink"]
pub struct HeldSource {
    /// The frame in delivery.
    pub frame: Signal<Out, FrameInfo>,
    /// Pulses when the payload of `frame` is to be shown.
    pub payload_start: Signal<Out, bool>,
    /// Pulses when `frame` is delivered: no more of its payload will be granted.
    pub release: Signal<Out, bool>,
}

/// The end that moves the frame's bytes: `PayloadQueue`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "HeldSource"]
pub struct HeldSink {
    /// The frame in delivery.
    pub frame: Signal<In, FrameInfo>,
    /// Pulses when the payload of `frame` is to be shown.
    pub payload_start: Signal<In, bool>,
    /// Pulses when `frame` is delivered: no more of its payload will be granted.
    pub release: Signal<In, bool>,
}
