//! What the two ends measure: the client offers it, and the server compares it with its own.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::peer::Reliability;

/// The operation that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Operation {
    /// Sends: the receiver has a descriptor for each
    Send,
    /// RDMA writes into the peer's memory
    Write,
    /// RDMA reads of the peer's memory
    Read,
}

/// What is measured of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Metric {
    /// Latency: half of the way there and back, for a read all of it
    Lat,
    /// Bandwidth and message rate, with a queue full of messages
    Bw,
}

/// When the measurement of a size ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// After so many messages.
    Iterations(u32),
    /// After so many seconds.
    Seconds(u32),
}

/// What both ends must be told alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The operation.
    pub operation: Operation,
    /// What is measured.
    pub metric: Metric,
    /// Bytes of a message; None: all powers of two from 2 to [`LARGEST`].
    pub size: Option<u32>,
    /// How long.
    pub limit: Limit,
    /// Messages that are posted at once.
    pub depth: u16,
    /// Both ends send at once.
    pub bidirectional: bool,
    /// The VIs' level.
    pub reliability: Reliability,
}

/// Largest message of all sizes.
pub const LARGEST: u32 = 8 << 20;

impl Terms {
    /// The sizes, in their order.
    pub fn sizes(&self) -> Vec<u32> {
        match self.size {
            Some(size) => vec![size],
            None => (1..=LARGEST.ilog2()).map(|log2| 1 << log2).collect(),
        }
    }

    /// The largest one.
    pub fn largest(&self) -> u32 {
        self.size.unwrap_or(LARGEST)
    }

    /// Whether the server has something to send, too.
    pub fn both_send(&self) -> bool {
        self.bidirectional || self.metric == Metric::Lat && self.operation != Operation::Read
    }

    /// What differs between a server's terms and a client's, if anything does.
    pub fn difference(&self, client: &Self) -> Option<String> {
        let own = self.options();
        let both = own.iter().zip(client.options());
        let differ = both.into_iter().find(|(own, client)| **own != *client);
        differ.map(|(own, client)| {
            format!("the server was given {own}, the client {client}: they are the same")
        })
    }

    /// As the command line has them.
    fn options(&self) -> [String; 6] {
        let name = |value: &dyn ToString| value.to_string();
        [
            format!("{} {}", self.operation.name(), self.metric.name()),
            self.size.map_or("--all".into(), |size| format!("--size {size}")),
            match self.limit {
                Limit::Iterations(count) => format!("--iters {count}"),
                Limit::Seconds(seconds) => format!("--duration {seconds}"),
            },
            format!("--tx-depth {}", name(&self.depth)),
            (if self.bidirectional { "--bidirectional" } else { "no --bidirectional" }).into(),
            format!("--reliability {}", self.reliability.name()),
        ]
    }
}

impl Operation {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

impl Metric {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lat => "lat",
            Self::Bw => "bw",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms {
        operation: Operation::Send,
        metric: Metric::Lat,
        size: Some(64),
        limit: Limit::Iterations(1000),
        depth: 128,
        bidirectional: false,
        reliability: Reliability::Delivery,
    };

    #[test]
    fn every_difference_is_named() {
        assert_eq!(TERMS.difference(&TERMS), None);
        let others = [
            (Terms { operation: Operation::Write, ..TERMS }, "send lat, the client write lat"),
            (Terms { metric: Metric::Bw, ..TERMS }, "send lat, the client send bw"),
            (Terms { size: None, ..TERMS }, "--size 64, the client --all"),
            (Terms { limit: Limit::Seconds(1000), ..TERMS }, "--iters 1000, the client --duration 1000"),
            (Terms { depth: 8, ..TERMS }, "--tx-depth 128, the client --tx-depth 8"),
            (Terms { bidirectional: true, ..TERMS }, "no --bidirectional, the client --bidirectional"),
            (
                Terms { reliability: Reliability::Reception, ..TERMS },
                "--reliability delivery, the client --reliability reception",
            ),
        ];
        for (client, text) in others {
            let said = TERMS.difference(&client).expect("they differ");
            assert!(said.contains(text), "{said}");
        }
    }

    #[test]
    fn all_sizes_are_perftest_s() {
        let sizes = Terms { size: None, ..TERMS }.sizes();
        assert_eq!((sizes[0], sizes[1], sizes.len(), sizes.last()), (2, 4, 23, Some(&LARGEST)));
    }
}
