//! Credits of TLPs that a wire damaged, and of those that only the endpoint has read: the monitor counts each once.

use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::link::frame::frame_tlp;
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{to_bytes, Class};

use crate::script::{Script, Voice, CREDITS};

const READ: [u32; 3] = [0x0000_0001, 0x0000_000F, 0x100];
const WRITE: [u32; 4] = [0x4000_0001, 0x0000_000F, 0x100, 0x1234_5678];
/// Headers of reads that the endpoint grants at first, and units of their data.
const READS: (u16, u16) = CREDITS[1];
/// Most that may be on offer.
const MOST: u16 = 127;

/// A wire makes a control symbol of a symbol of this TLP.
fn strike(root: &mut Voice, number: u16, tlp: &[u32]) {
    let mut symbols = frame_tlp(number, &to_bytes(tlp), false);
    symbols[8] = Symbol::PAD;
    root.symbols(&symbols);
    root.idle(20);
}

/// The endpoint alone reads this TLP: behind a stray SKP the monitor descrambles it wrongly.
fn hide(root: &mut Voice, number: u16, tlp: &[u32]) {
    root.stray_skp();
    root.numbered(number, tlp);
    root.skp();
}

/// The endpoint says this when it has heard the root port.
fn answer(endpoint: &mut Voice, root: &mut Voice, dllp: Dllp) {
    endpoint.hears(root, 20);
    endpoint.dllp(dllp);
    root.hears(endpoint, 20);
}

/// So many headers of reads were granted by now.
fn grant(endpoint: &mut Voice, headers: u16) {
    endpoint.credit(Flow::Update, Class::NonPosted, (headers & 0xFF, READS.1));
    endpoint.credit(Flow::Update, Class::Posted, CREDITS[0]);
}

/// What the endpoint breaks, and whether the root port breaks its credits; a wire is to blame for the rest.
fn broken(mut script: Script) -> Vec<(Party, Rule)> {
    script.play();
    let judged = |&(party, rule): &(Party, Rule)| party == Party::Endpoint || rule == Rule::CreditExceeded;
    script.broken().into_iter().filter(judged).collect()
}

#[test]
fn a_damaged_tlp_is_counted_when_it_is_replayed_and_once() {
    // Two posted headers are granted.
    for (writes, expected) in [(2, vec![]), (3, vec![(Party::Root, Rule::CreditExceeded)])] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        strike(root, 0, &WRITE);
        root.numbered(1, &WRITE);
        answer(endpoint, root, Dllp::Nak(4095));
        (0..writes).for_each(|number| root.numbered(number, &WRITE));
        answer(endpoint, root, Dllp::Ack(writes - 1));
        assert_eq!(broken(script), expected);
    }
}

#[test]
fn credits_of_replayed_tlps_stay_in_range() {
    let mut script = Script::active();
    let Script { endpoint, root, .. } = &mut script;
    for round in 0..2 * MOST {
        let number = 2 * round;
        strike(root, number, &READ);
        root.numbered(number + 1, &READ);
        answer(endpoint, root, Dllp::Nak(number.wrapping_sub(1) % 4096));
        (0..2).for_each(|more| root.numbered(number + more, &READ));
        answer(endpoint, root, Dllp::Ack(number + 1));
        grant(endpoint, READS.0 + number + 2);
    }
    assert_eq!(broken(script), []);
}

#[test]
fn credits_of_tlps_that_only_the_endpoint_read_stay_in_range() {
    for (more, expected) in [(0, vec![]), (1, vec![(Party::Endpoint, Rule::CreditRange)])] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        for number in 0..2 * MOST {
            hide(root, number, &READ);
            answer(endpoint, root, Dllp::Ack(number));
            grant(endpoint, READS.0 + number + 1);
        }
        // A TLP that the monitor has read and that was acknowledged: it knows again what was taken.
        root.idle(1000);
        root.numbered(2 * MOST, &READ);
        answer(endpoint, root, Dllp::Ack(2 * MOST));
        // All that may be on offer, and one more.
        grant(endpoint, 2 * MOST + 1 + MOST + more);
        assert_eq!(broken(script), expected, "{more}");
    }
}

#[test]
fn a_tlp_that_was_read_behind_a_hidden_one_is_counted_when_it_is_acknowledged() {
    for (writes, expected) in [(1, vec![]), (2, vec![(Party::Root, Rule::CreditExceeded)])] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        hide(root, 0, &READ);
        root.numbered(1, &WRITE);
        answer(endpoint, root, Dllp::Ack(1));
        (0..writes).for_each(|more| root.numbered(2 + more, &WRITE));
        answer(endpoint, root, Dllp::Ack(1 + writes));
        assert_eq!(broken(script), expected);
    }
}

#[test]
fn what_is_offered_before_the_ack_is_judged_by_it() {
    for (taken, expected) in [(true, vec![]), (false, vec![(Party::Endpoint, Rule::CreditRange)])] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        grant(endpoint, MOST);
        root.hears(endpoint, 20);
        hide(root, 0, &READ);
        endpoint.hears(root, 20);
        grant(endpoint, MOST + 1);
        if taken {
            answer(endpoint, root, Dllp::Ack(0));
        }
        root.idle(1000);
        root.numbered(u16::from(taken), &READ);
        endpoint.hears(root, 20);
        if !taken {
            // Neither has it used the first one's credit.
            grant(endpoint, MOST + 2);
        }
        answer(endpoint, root, Dllp::Ack(u16::from(taken)));
        assert_eq!(broken(script), expected, "{taken}");
    }
}

#[test]
fn no_more_tlps_were_hidden_than_had_room() {
    for (number, expected) in [(0, vec![]), (99, vec![(Party::Endpoint, Rule::AckUnsent)])] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        hide(root, 0, &READ);
        answer(endpoint, root, Dllp::Ack(number));
        assert_eq!(broken(script), expected, "{number}");
    }
}
