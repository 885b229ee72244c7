//! The monitor finds each rule that is broken on purpose, and names who broke it.
//!
//! The breaks are written symbol by symbol.

use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::link::frame::{frame_dllp, frame_tlp};
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::ordered_set::{Kind, TrainingSet};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{to_bytes, Class};

use crate::script::{configure, polling, train, Script, Voice, CREDITS};

const READ: [u32; 3] = [0x0000_0001, 0x0000_000F, 0x100];
const WRITE: [u32; 4] = [0x4000_0001, 0x0000_000F, 0x100, 0x1234_5678];

/// Does something in L0 on both sides in turn; each time only that side is to blame, for this rule.
fn breaks(rule: Rule, mut say: impl FnMut(&mut Voice, &mut Voice)) {
    for party in [Party::Endpoint, Party::Root] {
        let mut script = Script::active();
        assert_eq!(script.broken(), [], "before it");
        let Script { endpoint, root, .. } = &mut script;
        match party {
            Party::Endpoint => say(endpoint, root),
            Party::Root => say(root, endpoint),
        }
        script.play();
        assert_eq!(script.broken(), [(party, rule)], "{:?}", script.monitor.violations());
    }
}

#[test]
fn a_healthy_script_breaks_nothing() {
    let mut script = Script::active();
    script.both(|voice| {
        voice.idle(100);
        voice.tlp(&READ);
        voice.tlp(&WRITE);
        voice.idle(100);
        voice.dllp(Dllp::Ack(1));
        voice.credit(Flow::Update, Class::Posted, (3, 9));
        voice.idle(3000);
    });
    script.play();
    assert_eq!(script.broken(), [], "{:?}", script.monitor.violations());
}

#[test]
fn set_cut() {
    breaks(Rule::SetCut, |own, _| {
        own.plain(&TrainingSet::new(Kind::Ts1, Some(0), Some(0)).encode()[..7]);
        own.skp();
        own.idle(50);
    });
    breaks(Rule::SetCut, |own, _| {
        own.plain(&[Symbol::COM, Symbol::IDL, Symbol::IDL]);
        own.skp();
    });
}

#[test]
fn set_malformed() {
    let good = TrainingSet::new(Kind::Ts2, Some(0), Some(0)).encode();
    for (at, value) in [(4, 6), (5, 0x10), (12, 0x4A)] {
        breaks(Rule::SetMalformed, |own, _| {
            let mut symbols = good;
            symbols[at].value = value;
            own.plain(&symbols);
            own.idle(50);
        });
    }
    breaks(Rule::SetMalformed, |own, _| {
        own.idle(1000);
        own.plain(&[&[Symbol::COM][..], &[Symbol::SKP; 6]].concat());
    });
}

#[test]
fn a_skp_set_of_four_is_wrong_from_the_endpoint_only() {
    for (party, expected) in
        [(Party::Endpoint, vec![(Party::Endpoint, Rule::SetMalformed)]), (Party::Root, vec![])]
    {
        let mut script = Script::active();
        script.voice(party).idle(1000);
        script.voice(party).plain(&[&[Symbol::COM][..], &[Symbol::SKP; 4]].concat());
        script.play();
        assert_eq!(script.broken(), expected);
    }
}

#[test]
fn skp_late() {
    breaks(Rule::SkpLate, |own, _| {
        own.skp();
        own.skips = false;
        own.idle(1600);
    });
}

#[test]
fn skp_owed() {
    // Each one follows the packet before it, but the time of the packets is never made up for.
    breaks(Rule::SkpLate, |own, other| {
        own.skp();
        own.skips = false;
        let packet = frame_tlp(0, &[0; 140], true);
        for _ in 0..40 {
            for voice in [&mut *own, &mut *other] {
                voice.idle(1500);
                voice.credit(Flow::Update, Class::Posted, CREDITS[0]);
                voice.credit(Flow::Update, Class::NonPosted, CREDITS[1]);
            }
            own.symbols(&packet);
            own.skp();
            other.idle(150);
        }
    });
}

#[test]
fn skp_early() {
    breaks(Rule::SkpEarly, |own, _| (0..8).for_each(|_| own.skp()));
}

#[test]
fn scrambling() {
    breaks(Rule::Scrambling, |own, _| {
        own.plain(&[Symbol::IDLE; 4]);
        own.idle(50);
    });
}

#[test]
fn stray_control() {
    for symbol in [Symbol::END, Symbol::EDB, Symbol::PAD, Symbol::SKP, Symbol::IDL] {
        breaks(Rule::StrayControl, |own, _| {
            own.idle(50);
            own.symbols(&[symbol]);
        });
    }
}

#[test]
fn packet_cut() {
    breaks(Rule::PacketCut, |own, _| {
        let tlp = frame_tlp(0, &to_bytes(&READ), false);
        own.symbols(&tlp[..9]);
        own.idle(0);
        own.symbols(&[Symbol::PAD]);
        own.idle(50);
    });
    breaks(Rule::PacketCut, |own, _| {
        own.symbols(&frame_dllp(Dllp::Vendor([0; 3]))[..5]);
        own.idle(0);
        own.skips = false;
        own.symbols(&frame_dllp(Dllp::Vendor([0; 3])));
    });
}

#[test]
fn packet_outside_l0() {
    for idle in [0, 1, 15] {
        let mut script = Script::new();
        train(&mut script.root, 20);
        train(&mut script.endpoint, idle);
        script.endpoint.init(Flow::Init1);
        script.play();
        let broken = script.broken();
        assert!(broken.contains(&(Party::Endpoint, Rule::PacketOutsideL0)), "{broken:?}");
    }
}

#[test]
fn too_few_ts1_and_ts2() {
    for (party, voice) in [(Party::Endpoint, true), (Party::Root, false)] {
        let mut script = Script::new();
        let count = |own: bool| if own == voice { 13 } else { 16 };
        polling(&mut script.endpoint, count(true));
        polling(&mut script.root, count(false));
        script.play();
        assert_eq!(script.broken()[0], (party, Rule::TooFewTs1));
        let mut script = Script::new();
        script.both(|voice| polling(voice, 16));
        configure(&mut script.endpoint, count(true));
        configure(&mut script.root, count(false));
        script.both(|voice| voice.idle(50));
        script.play();
        assert_eq!(script.broken(), [(party, Rule::TooFewTs2)]);
    }
}

#[test]
fn silence_unannounced() {
    breaks(Rule::SilenceUnannounced, |own, _| {
        own.idle(50);
        own.silence(50);
    });
    let mut script = Script::active();
    script.both(|voice| {
        voice.idle(50);
        voice.eios();
        voice.silence(50);
    });
    script.play();
    assert_eq!(script.broken(), [], "with EIOS it may");
}

#[test]
fn training_ignored() {
    breaks(Rule::TrainingIgnored, |_, other| {
        other.sets(200, TrainingSet::new(Kind::Ts1, Some(0), Some(0)));
        other.eios();
        other.silence(50);
    });
}

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

#[test]
fn init_order() {
    breaks(Rule::InitOrder, |own, _| own.init(Flow::Init1));
    breaks(Rule::InitOrder, |own, _| own.credit(Flow::Init2, Class::Completion, (0, 0)));
    breaks(Rule::InitOrder, |own, _| own.credit(Flow::Init2, Class::Posted, (3, 8)));
}

#[test]
fn init_late() {
    for party in [Party::Endpoint, Party::Root] {
        let mut script = Script::new();
        script.both(|voice| train(voice, 20));
        script.both(|voice| voice.init(Flow::Init1));
        script.voice(party.other()).init(Flow::Init2);
        script.both(|voice| voice.idle(9000));
        script.play();
        assert_eq!(script.broken(), [(party, Rule::InitLate)]);
    }
}

#[test]
fn before_init() {
    for party in [Party::Endpoint, Party::Root] {
        let mut script = Script::new();
        script.both(|voice| train(voice, 20));
        script.both(|voice| voice.init(Flow::Init1));
        script.voice(party).tlp(&READ);
        script.play();
        assert_eq!(script.broken(), [(party, Rule::BeforeInit)]);
    }
}

#[test]
fn credit_exceeded() {
    breaks(Rule::CreditExceeded, |own, _| (0..3).for_each(|_| own.tlp(&WRITE)));
    breaks(Rule::CreditExceeded, |own, _| {
        let mut tlp = vec![0x4000_0020, 0xFF, 0x100];
        tlp.extend([7; 32]);
        own.tlp(&tlp);
        own.tlp(&WRITE);
    });
}

#[test]
fn credit_range() {
    let (header, data) = CREDITS[0];
    for (class, values) in [
        (Class::Posted, (header - 1, data)),
        (Class::Posted, (header, data - 1)),
        (Class::Posted, (header + 128, data)),
        (Class::Posted, (header, data + 2048)),
        (Class::Completion, (1, 0)),
    ] {
        breaks(Rule::CreditRange, |own, _| own.credit(Flow::Update, class, values));
    }
}

#[test]
fn update_late() {
    breaks(Rule::UpdateLate, |own, other| {
        for _ in 0..8 {
            other.idle(1500);
            other.credit(Flow::Update, Class::Posted, CREDITS[0]);
            other.credit(Flow::Update, Class::NonPosted, CREDITS[1]);
            own.idle(1500);
            own.credit(Flow::Update, Class::Posted, CREDITS[0]);
        }
    });
}

#[test]
fn code_error() {
    let mut script = Script::active();
    script.root.idle(51);
    script.root.error();
    script.play();
    assert_eq!(script.broken(), [(Party::Root, Rule::CodeError)]);
}
