//! What comes out of the path.

use rand::Rng;
use viaduct_hdl::bus::{self, word};
use viaduct_hdl::receive::{DeliveryEvents, ParseEvents};
use viaduct_spec::tables::vi_states;
use viaduct_spec::wire::syndrome as wire;
use viaduct_verilate::Bench;

use super::checker::Ask;
use super::World;
use crate::bundle::Bundle;

/// What came out, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A descriptor completed: VI, position, length, status, immediate data.
    Complete { vi: u64, position: u64, length: u64, status: u64, immediate: Option<u64> },
    /// An acknowledgement to send: VI, PSN, MSN, syndrome.
    Acknowledge { vi: u64, psn: u64, msn: u64, syndrome: u64 },
    /// The last word is to be said again.
    Repeat { vi: u64 },
    /// A fault: VI, code, breaks.
    Fault { vi: u64, code: u64, breaks: bool },
    /// An acknowledgement that came in: VI, PSN, syndrome.
    Acknowledged { vi: u64, psn: u64, syndrome: u64 },
    /// A count.
    Count(&'static str),
}

const COUNTS: [&str; 16] = [
    "count_frame",
    "count_overflow",
    "count_malformed",
    "count_icrc",
    "count_not_ours",
    "count_bth",
    "count_congestion",
    "count_message",
    "count_response",
    "count_no_vi",
    "count_duplicate",
    "count_psn",
    "count_no_receive",
    "count_partial",
    "count_raw",
    "count_raw_dropped",
];

impl World {
    /// Whatever the path says in this cycle.
    pub(super) fn collect(&mut self) {
        let taken = |bench: &Bench, name: &str| {
            bench.get(&format!("{name}_valid")) == 1 && bench.get(&format!("{name}_ready")) == 1
        };
        if taken(&self.bench, "access") {
            let ask = Ask::get(&self.bench);
            let place = self.check(&ask);
            let wait = if self.calm { 4 } else { self.random.random_range(1..12) };
            if ask.write {
                assert!(!ask.by_offset && !ask.clip && !ask.system, "{ask:?}");
                if let Some(place) = place {
                    self.commands.push_back((place, ask.length));
                }
                self.verdicts.push_back((self.now + wait, place.is_some()));
            } else {
                assert!(ask.by_offset && !ask.system, "{ask:?}");
                let refused = place.is_none();
                self.reads.push_back((
                    self.now + wait,
                    ask.length,
                    refused,
                    place.unwrap_or(0),
                    self.reads_fail,
                ));
            }
        }
        if taken(&self.bench, "write") {
            let beat = Bundle::of::<bus::WriteBeat>("write");
            let get = |name| beat.get(&self.bench, name);
            let (data, start, count) = (get("data").to_le_bytes(), get("start"), get("count"));
            assert!(count >= 1 && start + count <= 8, "lanes {start}+{count}");
            for lane in start..start + count {
                let (address, left) = self.commands.front_mut().expect("a byte that no command asked for");
                self.memory.insert(*address, data[lane as usize]);
                self.written += 1;
                *address += 1;
                *left -= 1;
                if *left == 0 {
                    self.commands.pop_front();
                }
            }
        }
        if taken(&self.bench, "completion") {
            self.complete();
        }
        if taken(&self.bench, "acknowledged") {
            let bundle = Bundle::of::<bus::Acknowledged>("acknowledged");
            let [vi, psn, syndrome] = ["vi", "psn", "syndrome"].map(|name| bundle.get(&self.bench, name));
            self.events.push(Event::Acknowledged { vi, psn, syndrome });
        }
        if taken(&self.bench, "fault") {
            let bundle = Bundle::of::<bus::Fault>("fault");
            let get = |name| bundle.get(&self.bench, name);
            let (vi, code, breaks) = (get("vi"), get("code"), get("breaks") == 1);
            assert_eq!(get("receive"), 1);
            self.events.push(Event::Fault { vi, code, breaks });
            if breaks {
                self.states.push_back((vi, vi_states::ERROR));
            }
        }
        for name in COUNTS {
            if self.counts(name) && name != "count_frame" {
                self.events.push(Event::Count(name));
            }
        }
    }

    /// A counter counts in this cycle.
    fn counts(&self, name: &str) -> bool {
        let field = name.strip_prefix("count_").unwrap();
        match field {
            "frame" | "overflow" => self.bench.get(name) == 1,
            "malformed" | "icrc" | "not_ours" | "bth" | "congestion" => {
                Bundle::of::<ParseEvents>("parsed").get(&self.bench, field) == 1
            }
            _ => Bundle::of::<DeliveryEvents>("handled").get(&self.bench, field) == 1,
        }
    }

    fn complete(&mut self) {
        let bundle = Bundle::of::<bus::Completion>("completion");
        let got = |name| bundle.get(&self.bench, name);
        let flag = |name| got(name) == 1;
        let (vi, region, offset, length) = (got("vi"), got("region"), got("offset"), got("length"));
        let (status, immediate, psn) = (got("status"), got("immediate"), got("psn"));
        let (msn, syndrome, kind) = (got("msn"), got("syndrome"), got("kind"));
        let [receive, write, has_immediate] = ["receive", "write", "has_immediate"].map(flag);
        let [acknowledge, ends, reception] = ["acknowledge", "ends", "reception"].map(flag);
        assert_eq!(reception, self.reception[vi as usize]);
        let last = match kind {
            word::REPEAT => {
                assert!(acknowledge && !write && !ends);
                return self.events.push(Event::Repeat { vi });
            }
            kind => kind == word::LAST,
        };
        assert!(receive && (acknowledge || ends) && (ends || !write));
        self.ended[vi as usize] += u64::from(ends);
        if write {
            let position = self.consumed(vi);
            let place = (self.descriptors, Self::offset(vi as usize, position as usize));
            assert_eq!((region, offset), place, "VI {vi} completes the descriptor at {position}");
            let immediate = has_immediate.then_some(immediate);
            self.events.push(Event::Complete { vi, position, length, status, immediate });
        }
        if acknowledge {
            // A refusal is the last word unless it asks to come again.
            let again = [wire::ACK, wire::NAK_SEQUENCE].map(u64::from).contains(&syndrome);
            let again = again || syndrome >> 5 == 1 && self.stays[vi as usize];
            assert_eq!(last, !again, "syndrome {syndrome:#x}");
            self.events.push(Event::Acknowledge { vi, psn, msn, syndrome });
        }
    }

    /// The events since last asked, without counts.
    pub fn take(&mut self) -> Vec<Event> {
        self.events.iter().filter(|event| !matches!(event, Event::Count(_))).cloned().collect()
    }

    /// How often a count came.
    pub fn count(&self, name: &str) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Count(n) if *n == name)).count()
    }
}
