//! The data link layer, driven frame by frame.

use super::dllp::{Dllp, Flow, Power};
use super::frame::{Deframer, Frame};
use super::limits::UPDATE_INTERVAL;
use super::{Activity, DataLink, LinkOptions, Refused, What};
use crate::damage::{Mischief, Trouble};
use crate::ltssm::{LowPower, Role};
use crate::tlp::{to_bytes, Class};

const READ: [u32; 3] = [0x0000_0001, 0x0000_000F, 0x100];
const CREDITS: [(u16, u16); 3] = [(4, 16), (2, 2), (0, 0)];

/// With Acks that are due after 50 symbol times.
fn link(role: Role) -> DataLink {
    let options = LinkOptions { ack_delay: (50, 50), ..LinkOptions::new(role, 128) };
    let mut link = DataLink::new(options, Trouble::new(Mischief::default(), 1));
    link.set_up(true);
    link
}

/// The next packet, taken apart.
fn next(link: &mut DataLink) -> Option<Frame> {
    let packet = link.speak()?;
    link.spoken(packet.what);
    let mut deframer = Deframer::default();
    packet.symbols.iter().find_map(|symbol| deframer.push(Some(*symbol)))
}

fn next_dllp(link: &mut DataLink) -> Option<Dllp> {
    match next(link)? {
        Frame::Dllp(bytes) => Dllp::decode(bytes).ok(),
        other => panic!("{other:?} is no DLLP"),
    }
}

fn hear(link: &mut DataLink, dllp: Dllp) {
    link.heard(Frame::Dllp(dllp.encode()));
}

fn credit(link: &mut DataLink, flow: Flow, class: Class) {
    let (header, data) = CREDITS[class.index()];
    hear(link, Dllp::Credit { flow, class, header, data });
}

fn pass(link: &mut DataLink, symbols: u64) {
    (0..symbols / 2).for_each(|_| {
        link.tick();
    });
}

/// Sends sets of three and says how many, until it does something else.
fn sets(link: &mut DataLink, expected: Flow, most: usize) -> usize {
    let from = link.activity();
    for count in 0..most {
        if std::mem::discriminant(&from) != std::mem::discriminant(&link.activity()) {
            return count;
        }
        for expected_class in Class::ALL {
            match next_dllp(link) {
                Some(Dllp::Credit { flow, class, .. }) => {
                    assert_eq!((flow, class), (expected, expected_class))
                }
                other => panic!("{other:?}"),
            }
        }
    }
    most
}

fn active(role: Role) -> DataLink {
    let mut link = link(role);
    Class::ALL.into_iter().for_each(|class| credit(&mut link, Flow::Init1, class));
    sets(&mut link, Flow::Init1, 2);
    credit(&mut link, Flow::Init2, Class::Posted);
    sets(&mut link, Flow::Init2, 20);
    assert!(link.is_active());
    link
}

#[test]
fn initfc1_goes_on_until_all_three_classes_have_come() {
    for flow in [Flow::Init1, Flow::Init2] {
        let mut link = link(Role::Upstream);
        assert_eq!(sets(&mut link, Flow::Init1, 10), 10);
        credit(&mut link, flow, Class::Posted);
        credit(&mut link, flow, Class::Completion);
        credit(&mut link, flow, Class::Posted);
        assert_eq!(sets(&mut link, Flow::Init1, 10), 10);
        credit(&mut link, flow, Class::NonPosted);
        assert_eq!(sets(&mut link, Flow::Init1, 10), 1, "the set is finished");
        assert_eq!(link.activity(), Activity::Init2 { left: None });
    }
}

#[test]
fn initfc2_ends_with_initfc2_updatefc_or_a_tlp_and_eight_more_sets() {
    let ends: [fn(&mut DataLink); 3] = [
        |link| credit(link, Flow::Init2, Class::Completion),
        |link| credit(link, Flow::Update, Class::NonPosted),
        |link| link.heard(Frame::Tlp(0, to_bytes(&READ))),
    ];
    for end in ends {
        let mut link = link(Role::Downstream);
        Class::ALL.into_iter().for_each(|class| credit(&mut link, Flow::Init1, class));
        sets(&mut link, Flow::Init1, 2);
        Class::ALL.into_iter().for_each(|class| credit(&mut link, Flow::Init1, class));
        assert_eq!(sets(&mut link, Flow::Init2, 10), 10, "InitFC1 means nothing any more");
        assert_eq!(link.send(READ.to_vec()), Ok(()));
        end(&mut link);
        assert_eq!(sets(&mut link, Flow::Init2, 30), 9);
        assert!(link.is_active());
        assert_eq!(next(&mut link), Some(Frame::Tlp(0, to_bytes(&READ))), "not before");
    }
}

#[test]
fn a_tlp_before_the_credits_are_known_is_not_taken() {
    let mut link = link(Role::Upstream);
    link.heard(Frame::Tlp(0, to_bytes(&READ)));
    link.heard(Frame::BadTlp);
    assert_eq!(link.receive(), None);
    assert_eq!(link.activity(), Activity::Init1);
    assert!(matches!(next_dllp(&mut link), Some(Dllp::Credit { .. })));
}

#[test]
fn credits_stay_what_initfc_and_updatefc_said() {
    let mut link = active(Role::Downstream);
    let posted = |link: &DataLink| link.allowance().left(Class::Posted);
    hear(&mut link, Dllp::Credit { flow: Flow::Init1, class: Class::Posted, header: 99, data: 99 });
    assert_eq!(posted(&link), (Some(4), Some(16)));
    hear(&mut link, Dllp::Credit { flow: Flow::Update, class: Class::Posted, header: 5, data: 20 });
    assert_eq!(posted(&link), (Some(5), Some(20)));
    assert_eq!(link.allowance().left(Class::Completion), (None, None));
}

#[test]
fn updatefc_comes_every_30_us_for_finite_classes() {
    let mut link = active(Role::Upstream);
    let (mut updates, mut last) = ([0_u64; 3], [0_u64; 3]);
    for time in (0..20 * UPDATE_INTERVAL).step_by(2) {
        link.tick();
        while let Some(dllp) = next_dllp(&mut link) {
            let Dllp::Credit { flow: Flow::Update, class, .. } = dllp else { panic!("{dllp:?}") };
            updates[class.index()] += 1;
            assert!(time - last[class.index()] <= UPDATE_INTERVAL + 2);
            last[class.index()] = time;
        }
    }
    assert!(updates[0] >= 19 && updates[1] >= 19 && updates[2] == 0, "{updates:?}");
}

#[test]
fn an_ack_waits_and_a_nak_does_not() {
    let mut link = active(Role::Upstream);
    link.heard(Frame::Tlp(0, to_bytes(&READ)));
    pass(&mut link, 48);
    assert_eq!(next(&mut link), None);
    link.heard(Frame::Tlp(1, to_bytes(&READ)));
    pass(&mut link, 2);
    assert_eq!(next_dllp(&mut link), Some(Dllp::Ack(1)), "one for both");
    link.heard(Frame::BadTlp);
    assert_eq!(next_dllp(&mut link), Some(Dllp::Nak(1)));
    link.heard(Frame::Tlp(0, to_bytes(&READ)));
    assert_eq!(next_dllp(&mut link), Some(Dllp::Ack(1)), "a duplicate is acknowledged at once");
    link.heard(Frame::Nullified);
    link.heard(Frame::BadDllp);
    assert_eq!(next(&mut link), None);
    assert_eq!(std::iter::from_fn(|| link.receive()).count(), 2);
}

#[test]
fn a_replay_comes_when_the_timer_ends_and_the_fourth_asks_for_recovery() {
    let mut link = active(Role::Downstream);
    assert_eq!(link.send(READ.to_vec()), Ok(()));
    let tlp = Some(Frame::Tlp(0, to_bytes(&READ)));
    assert_eq!(next(&mut link), tlp);
    for _ in 0..3 {
        for _ in 0..1066 / 2 - 1 {
            assert!(!link.tick());
            assert!(!matches!(next(&mut link), Some(Frame::Tlp(..))));
        }
        pass(&mut link, 2);
        assert_eq!(next(&mut link), tlp);
    }
    (0..1066 / 2 - 1).for_each(|_| assert!(!link.tick()));
    assert!(link.tick(), "Recovery");
    while let Some(dllp) = next_dllp(&mut link) {
        assert!(matches!(dllp, Dllp::Credit { .. }), "not before Recovery");
    }
    link.resumed();
    assert_eq!(next(&mut link), tlp);
    assert_eq!(link.counters().retrains, 1);
    hear(&mut link, Dllp::Ack(0));
    assert_eq!(link.backlog(), 0);
}

#[test]
fn link_down_forgets_all_but_what_was_received() {
    let mut link = active(Role::Upstream);
    link.heard(Frame::Tlp(0, to_bytes(&READ)));
    assert_eq!(link.send(READ.to_vec()), Ok(()));
    link.set_up(false);
    assert_eq!((link.backlog(), link.activity()), (0, Activity::Inactive));
    assert_eq!(link.send(READ.to_vec()), Err(Refused::Down));
    assert_eq!(next(&mut link), None);
    link.heard(Frame::Tlp(1, to_bytes(&READ)));
    link.set_up(true);
    assert_eq!(link.receive(), Some(READ.to_vec()));
    assert_eq!(link.receive(), None);
    // What was received before is not returned to the new link.
    let second = (0..2).map(|_| next_dllp(&mut link)).last().flatten();
    let expected = Dllp::Credit { flow: Flow::Init1, class: Class::NonPosted, header: 8, data: 8 };
    assert_eq!(second, Some(expected));
}

#[test]
fn pm_request_ack_waits_until_all_is_acknowledged() {
    let mut link = active(Role::Downstream);
    assert_eq!(link.send(READ.to_vec()), Ok(()));
    let packet = link.speak().expect("a TLP");
    assert_eq!(packet.what, What::Tlp { begins_replay: false });
    link.spoken(packet.what);
    hear(&mut link, Dllp::Power(Power::EnterL1));
    assert_eq!(link.low_power(), LowPower::Expected);
    assert_eq!(link.send(READ.to_vec()), Ok(()), "it waits");
    assert_eq!(next(&mut link), None);
    hear(&mut link, Dllp::Ack(0));
    for _ in 0..5 {
        assert_eq!(next_dllp(&mut link), Some(Dllp::Power(Power::RequestAck)));
    }
    link.resumed();
    assert_eq!(link.low_power(), LowPower::None);
    assert!(matches!(next(&mut link), Some(Frame::Tlp(1, _))));
}

#[test]
fn pm_enter_l1_goes_on_until_it_is_acknowledged() {
    let mut link = active(Role::Upstream);
    link.ask_for(Power::EnterL1);
    hear(&mut link, Dllp::Power(Power::EnterL1));
    for _ in 0..5 {
        assert_eq!(next_dllp(&mut link), Some(Dllp::Power(Power::EnterL1)));
    }
    hear(&mut link, Dllp::Power(Power::RequestAck));
    assert_eq!((link.low_power(), next(&mut link)), (LowPower::Agreed, None));
    let mut other = active(Role::Downstream);
    other.ask_for(Power::EnterL1);
    assert_eq!(next(&mut other), None, "a downstream port does not ask");
}
