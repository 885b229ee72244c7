//! What came of a program, connection by connection.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use viaduct_spec::descriptor::{status, COMPLETION_OFFSET};
use viaduct_spec::register::event_code;

/// A descriptor that was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The operation at which it was seen.
    pub seen: usize,
    /// Which end: 0 or 1.
    pub end: usize,
    /// Of the receive queue.
    pub receive: bool,
    /// The operation that posted it.
    pub operation: usize,
    /// Where its descriptor lies.
    pub place: u32,
    /// Length.
    pub length: u32,
    /// Status.
    pub status: u32,
    /// ImmediateData.
    pub immediate: u32,
}

/// An event of a VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The operation at which it was taken.
    pub at: usize,
    /// Which end: 0 or 1.
    pub end: usize,
    /// Its code.
    pub code: u8,
    /// Of the receive queue.
    pub receive: bool,
    /// The VI went into Error.
    pub broke: bool,
}

/// An entry of a completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The operation at which it was taken.
    pub at: usize,
    /// Which end: 0 or 1.
    pub end: usize,
    /// Of the receive queue.
    pub receive: bool,
    /// The descriptor's token.
    pub token: u64,
}

/// Interrupts of an end's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// The operation at which they were seen.
    pub at: usize,
    /// Which end: 0 or 1.
    pub end: usize,
    /// How many since the last look.
    pub count: u64,
}

/// What came of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Story {
    /// Completions, of each queue in their order.
    pub completions: Vec<Completion>,
    /// Events, of each NIC in their order.
    pub events: Vec<Event>,
    /// Entries of completion queues, of each work queue in their order.
    pub entries: Vec<Entry>,
    /// Interrupts.
    pub interrupts: Vec<Interrupt>,
    /// State of each end's VI.
    pub states: [Option<u64>; 2],
    /// Memory of each end.
    pub memories: [Vec<u8>; 2],
}

impl Story {
    /// Descriptors that were flushed, and those whose delivery is not known, all say that they were flushed.
    pub fn forget_doubt(&mut self) {
        for completion in &mut self.completions {
            if completion.status & status::TRANSPORT_ERROR != 0 {
                completion.status ^= status::TRANSPORT_ERROR | status::DESC_FLUSHED_ERROR;
                let at = completion.place as usize + COMPLETION_OFFSET as usize + 4;
                if let Some(bytes) = self.memories[completion.end].get_mut(at..at + 4) {
                    bytes.copy_from_slice(&completion.status.to_le_bytes());
                }
            }
        }
    }

    /// What was taken since the last rest counts from this operation on: entries of each work queue in their order,
    /// events of each VI, and behind them those of its completion queues. Between them no order is promised.
    pub fn stamp(&mut self, at: usize) {
        let fresh = self.entries.partition_point(|entry| entry.at != usize::MAX);
        let (_, fresh) = self.entries.split_at_mut(fresh);
        fresh.iter_mut().for_each(|entry| entry.at = at);
        fresh.sort_by_key(|entry| (entry.end, entry.receive));
        let fresh = self.events.partition_point(|event| event.at != usize::MAX);
        let (_, fresh) = self.events.split_at_mut(fresh);
        fresh.iter_mut().for_each(|event| event.at = at);
        fresh.sort_by_key(|event| (event.end, event.code == event_code::CQ_OVERRUN));
    }

    /// Events that break a VI, of a VI that they have not broken: it was broken before.
    pub fn forget_echoes(&mut self) {
        let breaks = [event_code::POST_DESC, event_code::CONN_LOST, event_code::VI_OVERRUN];
        self.events.retain(|event| event.broke || !breaks.contains(&event.code));
    }

    /// Whether it is the same as another up to an operation; what stands in memory is not looked at.
    pub fn begins_like(&self, other: &Self, through: usize) -> bool {
        let completions = |story: &Self| -> Vec<Completion> {
            story.completions.iter().filter(|completion| completion.seen <= through).copied().collect()
        };
        let events = |story: &Self| -> Vec<Event> {
            story.events.iter().filter(|event| event.at <= through).copied().collect()
        };
        let entries = |story: &Self| -> Vec<Entry> {
            story.entries.iter().filter(|entry| entry.at <= through).copied().collect()
        };
        let interrupts = |story: &Self| -> Vec<Interrupt> {
            story.interrupts.iter().filter(|interrupt| interrupt.at <= through).copied().collect()
        };
        completions(self) == completions(other)
            && interrupts(self) == interrupts(other)
            && events(self) == events(other)
            && entries(self) == entries(other)
    }

    /// What of it is in none of the others, in words.
    pub fn untold(&self, others: &[&Self]) -> String {
        let mut text = String::new();
        let mut untold = |what: &str, item: &dyn std::fmt::Debug, told: bool| {
            if !told {
                let _ = writeln!(text, "  + {what} {item:?}");
            }
        };
        for item in &self.completions {
            untold("completion", item, others.iter().any(|other| other.completions.contains(item)));
        }
        for item in &self.events {
            untold("event", item, others.iter().any(|other| other.events.contains(item)));
        }
        for item in &self.entries {
            untold("entry", item, others.iter().any(|other| other.entries.contains(item)));
        }
        for item in &self.interrupts {
            untold("interrupt", item, others.iter().any(|other| other.interrupts.contains(item)));
        }
        for end in 0..2 {
            untold(
                "state",
                &self.states[end],
                others.iter().any(|other| other.states[end] == self.states[end]),
            );
            for (at, byte) in self.memories[end].iter().enumerate() {
                let told = others.iter().any(|other| other.memories[end].get(at) == Some(byte));
                untold("byte", &(end, at, byte), told);
            }
        }
        text
    }

    /// Of what nature the difference is from another.
    pub fn nature(&self, other: &Self) -> String {
        let completions = |story: &Self, than: &Self| -> Vec<(bool, u32)> {
            let own = story.completions.iter().filter(|completion| !than.completions.contains(completion));
            own.map(|completion| (completion.receive, completion.status)).take(1).collect()
        };
        let events = |story: &Self, than: &Self| -> Vec<(u8, bool)> {
            let own = story.events.iter().filter(|event| !than.events.contains(event));
            own.map(|event| (event.code, event.broke)).take(1).collect()
        };
        let pair = (completions(self, other), completions(other, self));
        if pair != Default::default() {
            return format!("completion {pair:?}");
        }
        let pair = (events(self, other), events(other, self));
        if pair != Default::default() {
            return format!("event {pair:?}");
        }
        let parts = [
            ("entry", self.entries != other.entries),
            ("interrupt", self.interrupts != other.interrupts),
            ("state", self.states != other.states),
            ("memory", self.memories != other.memories),
            ("order", true),
        ];
        parts.iter().find(|(_, differs)| *differs).map_or_else(String::new, |(what, _)| (*what).into())
    }

    /// Where it differs from another, in words; empty if it does not.
    pub fn difference(&self, other: &Self) -> String {
        let mut text = String::new();
        for (what, own, theirs) in [
            ("completion", lines(&self.completions), lines(&other.completions)),
            ("event", lines(&self.events), lines(&other.events)),
            ("entry", lines(&self.entries), lines(&other.entries)),
            ("interrupt", lines(&self.interrupts), lines(&other.interrupts)),
            ("state", lines(&self.states), lines(&other.states)),
        ] {
            for line in own.iter().filter(|line| !theirs.contains(line)) {
                let _ = writeln!(text, "  + {what} {line}");
            }
            for line in theirs.iter().filter(|line| !own.contains(line)) {
                let _ = writeln!(text, "  - {what} {line}");
            }
        }
        for end in 0..2 {
            let pairs = self.memories[end].iter().zip(&other.memories[end]);
            let differ: Vec<usize> =
                pairs.enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
            if let (Some(first), Some(last)) = (differ.first(), differ.last()) {
                let count = differ.len();
                let _ =
                    writeln!(text, "  memory of end {end}: {count} bytes between {first:#x} and {last:#x}");
            }
        }
        if text.is_empty() && self != other {
            for (what, own, theirs) in [
                ("completions", lines(&self.completions), lines(&other.completions)),
                ("events", lines(&self.events), lines(&other.events)),
                ("entries", lines(&self.entries), lines(&other.entries)),
            ] {
                if own != theirs {
                    let _ = writeln!(text, "  {what} in another order: {own:#?}, not {theirs:#?}");
                }
            }
        }
        text
    }
}

fn lines<T: std::fmt::Debug>(list: &[T]) -> Vec<String> {
    list.iter().map(|item| format!("{item:?}")).collect()
}

/// What came of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Of each connection.
    pub stories: Vec<Story>,
    /// What no program allows.
    pub faults: Vec<String>,
    /// Device time.
    pub cycles: u64,
    /// Faults on the wire.
    pub met: BTreeMap<&'static str, u64>,
}
