//! Memory by message: what is asked of the client, and what waits for its answers.

mod access;
mod order;
mod patience;

use std::sync::{Arc, Mutex};

use super::interrupts::{count, eventfd, interrupt};
use super::*;

type Sent = Arc<Mutex<Vec<(MessageId, DmaMessage)>>>;

/// A client that keeps what it is asked; the test answers.
#[derive(Debug)]
struct Patient {
    sent: Sent,
    largest: usize,
    alive: bool,
}

impl Client for Patient {
    fn largest(&self) -> usize {
        self.largest
    }

    fn send(&mut self, id: MessageId, message: DmaMessage) -> bool {
        self.sent.lock().unwrap().push((id, message));
        self.alive
    }
}

/// A root complex whose memory is such a client's.
struct Remote {
    edge: Edge,
    sent: Sent,
}

impl Remote {
    fn with(options: Options, largest: usize) -> Self {
        let mut edge = Edge::new(options);
        let sent = Sent::default();
        edge.complex.attach(Box::new(Patient { sent: sent.clone(), largest, alive: true }));
        Self { edge, sent }
    }

    fn new() -> Self {
        Self::with(Options { dma: Dma::Messages, ..Options::default() }, 1 << 20)
    }

    /// What has been asked since the last call.
    fn asked(&mut self) -> Vec<(MessageId, DmaMessage)> {
        std::mem::take(&mut self.sent.lock().unwrap())
    }

    /// The one thing that has been asked.
    fn only(&mut self) -> (MessageId, DmaMessage) {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.into_iter().next().unwrap()
    }

    fn answer(&mut self, id: MessageId, answer: DmaAnswer) {
        let now = self.edge.now;
        self.edge.complex.dma_answer(now, id, answer);
    }

    fn counters(&self) -> BusCounters {
        self.edge.complex.counters()
    }

    fn check(&self) {
        assert_eq!(self.edge.complex.violations(), []);
    }
}
