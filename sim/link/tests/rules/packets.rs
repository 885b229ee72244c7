//! Rules of the data link layer: DLLPs and TLPs as they are sent, acknowledged and replayed.

use viaduct_link::link::dllp::Dllp;
use viaduct_link::link::frame::{frame_dllp, frame_tlp};
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::to_bytes;

use super::{breaks, READ};
use crate::script::Script;

#[test]
fn dllp_malformed() {
    breaks(Rule::DllpMalformed, |own, _| {
        let mut symbols = frame_dllp(Dllp::Ack(0));
        symbols.insert(3, Symbol::data(0));
        own.symbols(&symbols);
    });
    breaks(Rule::DllpMalformed, |own, _| {
        // A reserved bit of an Ack, with its CRC.
        let crc = viaduct_link::link::crc::dllp_crc([0, 1, 0x0F, 0xFF]).to_le_bytes();
        let bytes = [0, 1, 0x0F, 0xFF, crc[0], crc[1]].map(Symbol::data);
        own.symbols(&[&[Symbol::SDP][..], &bytes, &[Symbol::END]].concat());
    });
}

#[test]
fn dllp_crc() {
    for at in 1..7 {
        breaks(Rule::DllpCrc, |own, _| {
            let mut symbols = frame_dllp(Dllp::Ack(4095));
            symbols[at].value ^= 0x40;
            own.symbols(&symbols);
        });
    }
}

#[test]
fn lcrc() {
    breaks(Rule::Lcrc, |own, other| {
        let mut symbols = frame_tlp(0, &to_bytes(&READ), false);
        symbols[8].value ^= 1;
        own.symbols(&symbols);
        other.idle(60);
        other.dllp(Dllp::Nak(4095));
    });
    breaks(Rule::Lcrc, |own, other| {
        // EDB, but the LCRC is not complemented.
        let mut symbols = frame_tlp(0, &to_bytes(&READ), false);
        let last = symbols.len() - 1;
        symbols[last] = Symbol::EDB;
        own.symbols(&symbols);
        other.idle(60);
        other.dllp(Dllp::Nak(4095));
    });
}

#[test]
fn tlp_malformed() {
    breaks(Rule::TlpMalformed, |own, _| own.tlp(&[0x4000_0002, 0xF, 0x100, 1]));
    breaks(Rule::TlpMalformed, |own, _| own.tlp(&[0x0000_0001, 0xF, 0x100, 1]));
}

#[test]
fn max_payload() {
    breaks(Rule::MaxPayload, |own, _| {
        let mut tlp = vec![0x4A00_0021, 4, 0];
        tlp.extend([7; 33]);
        own.tlp(&tlp);
    });
}

#[test]
fn sequence() {
    breaks(Rule::Sequence, |own, _| own.numbered(1, &READ));
    breaks(Rule::Sequence, |own, other| {
        // A replay that leaves out the first of three TLPs.
        (0..3).for_each(|_| own.tlp(&READ));
        other.idle(120);
        other.dllp(Dllp::Ack(4095));
        own.idle(100);
        own.numbered(1, &READ);
    });
}

#[test]
fn replay_early() {
    breaks(Rule::ReplayEarly, |own, _| {
        own.tlp(&READ);
        own.idle(150);
        own.numbered(0, &READ);
    });
}

#[test]
fn ack_unsent_and_backwards() {
    breaks(Rule::AckUnsent, |own, _| own.dllp(Dllp::Ack(5)));
    breaks(Rule::AckUnsent, |own, _| own.dllp(Dllp::Ack(0)));
    breaks(Rule::AckBackwards, |own, other| {
        (0..2).for_each(|_| other.tlp(&READ));
        own.idle(80);
        own.dllp(Dllp::Ack(1));
        own.dllp(Dllp::Ack(0));
    });
}

#[test]
fn ack_late() {
    breaks(Rule::AckLate, |own, other| {
        other.tlp(&READ);
        own.idle(600);
    });
}

#[test]
fn nak_missing() {
    let mut script = Script::active();
    let mut symbols = frame_tlp(0, &to_bytes(&READ), false);
    symbols[8].value ^= 1;
    script.root.symbols(&symbols);
    script.root.idle(600);
    script.play();
    assert_eq!(script.broken(), [(Party::Endpoint, Rule::NakMissing), (Party::Root, Rule::Lcrc)]);
}

#[test]
fn nak_without_reason() {
    breaks(Rule::NakWithoutReason, |own, _| own.dllp(Dllp::Nak(4095)));
}
