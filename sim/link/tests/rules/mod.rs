//! The monitor finds each rule that is broken on purpose, and names who broke it.
//!
//! The breaks are written symbol by symbol.

mod credits;
mod packets;
mod symbols;

use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::tlp::Class;

use crate::script::{Script, Voice};

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
