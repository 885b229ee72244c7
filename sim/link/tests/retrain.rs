//! What the monitor asks of a side that was in Recovery: Ack and Nak go on where they were (section 3.5), and what passed meanwhile
//! was not heard.

use viaduct_link::link::dllp::Dllp;
use viaduct_link::link::frame::frame_tlp;
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::ordered_set::{Kind, TrainingSet};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::to_bytes;

use crate::script::{Script, Voice};

const READ: [u32; 3] = [0x0000_0001, 0x0000_000F, 0x100];

/// TLP 0 with a wrong LCRC.
fn damaged() -> Vec<Symbol> {
    let mut symbols = frame_tlp(0, &to_bytes(&READ), false);
    symbols[8].value ^= 1;
    symbols
}

/// Recovery, where the endpoint leaves L0 first. The root port goes on for 160 symbols: what it says then the endpoint does not hear.
fn retrain(endpoint: &mut Voice, root: &mut Voice, says: impl FnOnce(&mut Voice)) {
    let [ts1, ts2] = [Kind::Ts1, Kind::Ts2].map(|kind| TrainingSet::new(kind, Some(0), Some(0)));
    root.hears(endpoint, 40);
    endpoint.sets(10, ts1);
    says(root);
    root.hears(endpoint, 0);
    for voice in [&mut *endpoint, &mut *root] {
        voice.sets(12, ts1);
        voice.sets(20, ts2);
        voice.idle(60);
    }
    root.hears(endpoint, 0);
    endpoint.hears(root, 0);
}

/// The root port sends a damaged TLP, and gets its Nak.
fn refuse(endpoint: &mut Voice, root: &mut Voice) {
    root.symbols(&damaged());
    endpoint.hears(root, 20);
    endpoint.dllp(Dllp::Nak(4095));
    root.hears(endpoint, 20);
}

#[test]
fn a_nak_is_not_repeated_for_a_tlp_that_passed_in_recovery() {
    let mut script = Script::active();
    let Script { endpoint, root, .. } = &mut script;
    refuse(endpoint, root);
    // The TLP that was asked for is lost with L0, and NAK_SCHEDULED stays.
    retrain(endpoint, root, |root| root.numbered(0, &READ));
    root.symbols(&damaged());
    root.idle(600);
    root.numbered(0, &READ);
    endpoint.hears(root, 20);
    endpoint.dllp(Dllp::Ack(0));
    script.play();
    assert_eq!(script.broken(), [(Party::Root, Rule::Lcrc)], "{:?}", script.monitor.violations());
}

#[test]
fn a_nak_is_not_repeated_for_a_tlp_just_before_recovery() {
    let mut script = Script::active();
    let Script { endpoint, root, .. } = &mut script;
    refuse(endpoint, root);
    // The endpoint's first training set follows at once.
    root.numbered(0, &READ);
    endpoint.hears(root, 0);
    retrain(endpoint, root, |_| {});
    root.symbols(&damaged());
    endpoint.hears(root, 700);
    script.play();
    assert_eq!(script.broken(), [(Party::Root, Rule::Lcrc)], "{:?}", script.monitor.violations());
}

#[test]
fn a_nak_that_was_not_sent_is_due_for_a_tlp_behind_recovery() {
    for taken in [false, true] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        if taken {
            // NAK_SCHEDULED was set, and was cleared long before.
            refuse(endpoint, root);
            root.numbered(0, &READ);
            endpoint.hears(root, 20);
            endpoint.dllp(Dllp::Ack(0));
            endpoint.idle(600);
        }
        retrain(endpoint, root, |_| {});
        root.symbols(&damaged());
        endpoint.hears(root, 700);
        script.play();
        let expected = [(Party::Endpoint, Rule::NakMissing), (Party::Root, Rule::Lcrc)];
        assert_eq!(script.broken(), expected, "{taken}: {:?}", script.monitor.violations());
    }
}

#[test]
fn a_nak_that_passes_in_recovery_asks_for_nothing() {
    let mut script = Script::active();
    let Script { endpoint, root, .. } = &mut script;
    endpoint.tlp(&READ);
    root.hears(endpoint, 0);
    retrain(endpoint, root, |root| root.dllp(Dllp::Nak(4095)));
    // REPLAY_TIMER has the replay: later than one for a Nak is due, and in its own time.
    endpoint.idle(1100);
    endpoint.numbered(0, &READ);
    root.hears(endpoint, 20);
    root.dllp(Dllp::Ack(0));
    script.play();
    // The root port had no reason for the Nak, which is not what this is about.
    assert_eq!(script.broken(), [(Party::Root, Rule::NakWithoutReason)], "{:?}", script.monitor.violations());
}

#[test]
fn an_ack_that_passes_in_recovery_stops_no_timer() {
    let mut script = Script::active();
    let Script { endpoint, root, .. } = &mut script;
    endpoint.tlp(&READ);
    root.hears(endpoint, 0);
    retrain(endpoint, root, |root| root.dllp(Dllp::Ack(0)));
    endpoint.idle(700);
    endpoint.numbered(0, &READ);
    root.hears(endpoint, 20);
    root.dllp(Dllp::Ack(0));
    script.play();
    assert_eq!(script.broken(), [], "{:?}", script.monitor.violations());
}

#[test]
fn a_replay_for_a_nak_is_due_behind_recovery_and_without() {
    for recovers in [false, true] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        endpoint.tlp(&READ);
        root.hears(endpoint, 20);
        root.dllp(Dllp::Nak(4095));
        endpoint.hears(root, 100);
        if recovers {
            retrain(endpoint, root, |_| {});
        }
        endpoint.idle(1000);
        script.play();
        // The root port had no reason for the Nak either, and takes the TLP never.
        let late: Vec<_> =
            script.broken().into_iter().filter(|(party, _)| *party == Party::Endpoint).collect();
        let expected = [(Party::Endpoint, Rule::ReplayLate)];
        assert_eq!(late, expected, "{recovers}: {:?}", script.monitor.violations());
    }
}

#[test]
fn behind_a_stray_skp_the_endpoint_may_read_what_the_monitor_cannot() {
    for reads in [false, true] {
        let mut script = Script::active();
        let Script { endpoint, root, .. } = &mut script;
        // A wire makes SKP of a symbol of idle: the register of who sent it has moved on.
        root.stray_skp();
        root.numbered(0, &READ);
        endpoint.hears(root, 20);
        // TLPs that nobody but the endpoint reads are acknowledged, asked for, or not.
        endpoint.dllp(if reads { Dllp::Ack(0) } else { Dllp::Nak(4095) });
        root.hears(endpoint, 20);
        root.skp();
        root.numbered(if reads { 1 } else { 0 }, &READ);
        endpoint.hears(root, 20);
        endpoint.dllp(Dllp::Ack(u16::from(reads)));
        endpoint.hears(root, 600);
        script.play();
        let broken: Vec<_> =
            script.broken().into_iter().filter(|(party, _)| *party == Party::Endpoint).collect();
        assert_eq!(broken, [], "{reads}: {:?}", script.monitor.violations());
        assert!(script.broken().contains(&(Party::Root, Rule::StrayControl)));
    }
}

#[test]
fn an_ack_of_what_was_not_sent_is_found_long_behind_a_stray_skp() {
    let mut script = Script::active();
    let Script { endpoint, root, .. } = &mut script;
    root.stray_skp();
    root.skp();
    root.idle(1000);
    root.numbered(0, &READ);
    endpoint.hears(root, 20);
    endpoint.dllp(Dllp::Ack(0));
    endpoint.idle(1000);
    endpoint.dllp(Dllp::Ack(1));
    root.hears(endpoint, 20);
    script.play();
    let broken: Vec<_> = script.broken().into_iter().filter(|(party, _)| *party == Party::Endpoint).collect();
    assert_eq!(broken, [(Party::Endpoint, Rule::AckUnsent)], "{:?}", script.monitor.violations());
}
