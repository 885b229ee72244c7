//! Rules of flow control: its beginning, and its credits.

use viaduct_link::link::dllp::Flow;
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::tlp::Class;

use super::{breaks, READ, WRITE};
use crate::script::{train, Script, CREDITS};

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
