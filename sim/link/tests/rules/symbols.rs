//! Rules of the physical layer: ordered sets, framing, scrambling and training.

use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::link::frame::{frame_dllp, frame_tlp};
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::ordered_set::{Kind, TrainingSet};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{to_bytes, Class};

use super::{breaks, READ};
use crate::script::{configure, polling, train, Script, CREDITS};

#[test]
fn code_error() {
    let mut script = Script::active();
    script.root.idle(51);
    script.root.error();
    script.play();
    assert_eq!(script.broken(), [(Party::Root, Rule::CodeError)]);
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

/// Recovery in which the root port sends so many TS1 in a row with this Training Control, and then a TLP of the endpoint's.
fn recovery_with(control: u8, in_a_row: usize) -> Script {
    let mut script = Script::active();
    let set = TrainingSet::new(Kind::Ts1, Some(0), Some(0));
    script.root.sets(2, set);
    script.root.sets(in_a_row, TrainingSet { control, ..set });
    script.root.sets(4 - in_a_row, set);
    script.endpoint.sets(6, set);
    script.both(|voice| {
        voice.sets(16, TrainingSet::new(Kind::Ts2, Some(0), Some(0)));
        voice.idle(20);
    });
    script.endpoint.tlp(&READ);
    script.root.hears(&script.endpoint, 20);
    script.root.dllp(Dllp::Ack(0));
    script.play();
    script
}

#[test]
fn one_training_set_that_ends_the_link_is_damage_and_two_in_a_row_are_meant() {
    for control in [1, 2, 5] {
        let script = recovery_with(control, 1);
        assert_eq!(script.broken(), [], "{control}: {:?}", script.monitor.violations());
        let script = recovery_with(control, 2);
        assert!(script.broken().contains(&(Party::Endpoint, Rule::BeforeInit)), "{control}");
    }
}

#[test]
fn one_ts2_that_disables_scrambling_is_damage() {
    for in_a_row in [1, 2] {
        let mut script = Script::new();
        let set = TrainingSet::new(Kind::Ts2, Some(0), Some(0));
        script.both(|voice| {
            polling(voice, 16);
            configure(voice, 16);
        });
        script.root.sets(in_a_row, TrainingSet { control: 8, ..set });
        script.endpoint.sets(in_a_row, set);
        script.both(|voice| voice.idle(50));
        script.play();
        assert_eq!(script.broken().is_empty(), in_a_row == 1, "{:?}", script.monitor.violations());
    }
}
