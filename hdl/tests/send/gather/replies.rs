//! Packets of answers to peers' reads, between those of messages.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{remote, Reply};
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use super::descriptor;
use super::expected::{Announced, Expected, PART};
use super::memory::{byte, FAILED, REFUSED};
use super::traffic::run;
use super::{setup, Context, Setup};
use crate::port::{self, fields};

/// One packet: what is asked for, and what must come of it.
pub struct Asked {
    reply: Vec<(&'static str, u64)>,
    packet: Announced,
    accesses: Vec<Expected>,
}

/// Those that wait, and what must come of those that were shown.
#[derive(Default)]
pub struct Replies {
    asked: VecDeque<Asked>,
    shown: Option<Vec<(&'static str, u64)>>,
    pub packets: VecDeque<Announced>,
    pub accesses: VecDeque<Expected>,
}

impl Replies {
    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.shown.is_none() && self.packets.is_empty() && self.accesses.is_empty()
    }

    /// Shows one, until it is made.
    pub fn offer(&mut self, bench: &mut Bench, now: bool) {
        if self.shown.is_none() && now {
            if let Some(asked) = self.asked.pop_front() {
                self.shown = Some(asked.reply);
                self.packets.push_back(asked.packet);
                self.accesses.extend(asked.accesses);
            }
        }
        bench.set("reply_valid", self.shown.is_some().into());
        if let Some(reply) = &self.shown {
            port::set::<Reply>(bench, "reply", reply);
        }
    }

    /// The one on show is made: it has been announced, and its bytes are asked for.
    pub fn made(&mut self, bench: &Bench) {
        if bench.get("reply_ready") == 1 {
            assert!(self.shown.take().is_some(), "a reply is made that nobody asked for");
        }
    }
}

/// Any packet of any VI's answer; its rights are not gather's matter.
fn any(rng: &mut ChaCha8Rng, contexts: &[Context]) -> Asked {
    let vi: usize = rng.random_range(0..contexts.len());
    let region = *[5, 0xffff, rng.random_range(0..1 << 16), REFUSED, FAILED].choose(rng).unwrap();
    let (key, address): (u64, u64) = (rng.random_range(0..1 << 16), rng.random::<u64>() >> 1);
    let length = match rng.random_range(0..4) {
        0 => rng.random_range(0..20),
        1 => 256 << rng.random_range(0..5),
        _ => rng.random_range(0..=4096),
    };
    let span = length + rng.random_range(0..1 << 31);
    let (first, last): (bool, bool) = (rng.random(), rng.random());
    let (psn, msn) = (rng.random_range(0..1 << 24), rng.random_range(0..1 << 24));
    let (refused, failed) = (length > 0 && region == REFUSED, length > 0 && region == FAILED);
    let mut packet = fields(&[
        ("vi", vi as u64),
        ("send", 1),
        ("first", first.into()),
        ("last", last.into()),
        ("length", length),
        ("has_immediate", (first || last).into()),
        ("restart", 0),
        ("psn", psn),
        ("operation", 0),
        ("reply", 1),
    ]);
    if first || last {
        packet.insert("immediate".into(), u64::from(syndrome::ACK) << 24 | msn);
    }
    let payload: Vec<u8> = (0..length).map(|n| byte(region, address + n)).collect();
    // An access for each part.
    let access = |(part, bytes): (u64, &[u8])| Expected {
        fields: fields(&[
            ("address", address + part * PART),
            ("span", span - part * PART),
            ("length", bytes.len() as u64),
            ("region", region),
            ("key", key),
            ("tag", contexts[vi].tag),
            ("by_offset", 0),
            ("system", 0),
            ("write", 0),
            ("clip", 0),
            ("remote", remote::READ),
        ]),
        data: match (refused, failed) {
            (true, _) => Vec::new(),
            (_, true) => bytes[..bytes.len() / 2].to_vec(),
            _ => bytes.to_vec(),
        },
        refused,
        failed,
    };
    let accesses = (0..).zip(payload.chunks(PART as usize)).map(access).collect();
    Asked {
        reply: vec![
            ("vi", vi as u64),
            ("address", address),
            ("rkey", key << 16 | region),
            ("span", span),
            ("length", length),
            ("first", first.into()),
            ("last", last.into()),
            ("psn", psn),
            ("msn", msn),
        ],
        packet: Announced { fields: packet, payload, refused, failed },
        accesses,
    }
}

/// A setup in which so many are asked for.
fn asking(count: usize) -> Setup {
    let mut setup = setup();
    let Setup { rng, contexts, replies, .. } = &mut setup;
    replies.asked = (0..count).map(|_| any(rng, contexts)).collect();
    setup
}

#[test]
fn answers_alone_have_their_packets() {
    for eager in [false, true] {
        run(&mut asking(300), 0, false, eager, descriptor::any);
    }
}

#[test]
fn answers_come_between_messages() {
    for wrong in [false, true] {
        run(&mut asking(400), 400, wrong, false, descriptor::any);
    }
}
