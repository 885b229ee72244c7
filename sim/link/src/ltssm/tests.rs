//! Each edge of the machine, driven directly.

use super::{Line, LowPower, Ltssm, Request, Role, Setup, State, Times, MS, US};
use crate::generation::Generation;
use crate::ordered_set::{Kind, TrainingSet, DISABLE, HOT_RESET};
use crate::recogniser::Event;
use crate::symbol::Symbol;
use Role::{Downstream, Upstream};
use State::*;

const BOTH: [Role; 2] = [Downstream, Upstream];

/// A machine and its surroundings.
struct Rig {
    ltssm: Ltssm,
    line: Line,
}

impl Rig {
    fn new(role: Role) -> Self {
        let setup = Setup {
            role,
            times: Times::default(),
            link: 5,
            generation: Generation::First,
            no_scrambling: false,
            relock: true,
        };
        let line = Line { quiet: true, sent_quiet: 1000, detected: None, low_power: LowPower::None };
        Self { ltssm: Ltssm::new(setup), line }
    }

    /// In a state with the numbers of a link, as if it had trained.
    fn at(role: Role, state: State) -> Self {
        let mut rig = Self::new(role);
        (rig.ltssm.link, rig.ltssm.lane) = (Some(5), Some(0));
        rig.ltssm.enter(state);
        if state == ConfigLinkwidthAccept {
            rig.ltssm.link = Some(5);
        }
        rig.line.quiet = false;
        rig
    }

    fn hear(&mut self, count: u32, set: TrainingSet) -> &mut Self {
        (0..count).for_each(|_| self.ltssm.heard(Event::Training { set, inverted: false }));
        self
    }

    fn idle(&mut self, count: u32) -> &mut Self {
        (0..count).for_each(|_| self.ltssm.heard_symbol(Some(Symbol::IDLE)));
        self
    }

    /// Sends so many sets or idle symbols.
    fn send(&mut self, count: u32) -> &mut Self {
        for _ in 0..count {
            let stamp = self.ltssm.begin();
            self.ltssm.sent(stamp);
        }
        self
    }

    /// The state after a cycle.
    fn next(&mut self) -> State {
        self.ltssm.tick(&self.line);
        self.ltssm.state()
    }

    /// Nothing happens for exactly so many cycles, then another state is entered.
    fn leaves_after(&mut self, cycles: u64) -> State {
        let from = self.ltssm.state();
        let passed = (1..=cycles + 1).find(|_| self.next() != from);
        assert_eq!(passed, Some(cycles), "{from:?}");
        self.ltssm.state()
    }
}

fn ts1(link: Option<u8>, lane: Option<u8>) -> TrainingSet {
    TrainingSet::new(Kind::Ts1, link, lane)
}

fn ts2(link: Option<u8>, lane: Option<u8>) -> TrainingSet {
    TrainingSet::new(Kind::Ts2, link, lane)
}

fn with(control: u8, set: TrainingSet) -> TrainingSet {
    TrainingSet { control, ..set }
}

const OURS1: TrainingSet = TrainingSet::new(Kind::Ts1, Some(5), Some(0));
const OURS2: TrainingSet = TrainingSet::new(Kind::Ts2, Some(5), Some(0));
const PAD1: TrainingSet = TrainingSet::new(Kind::Ts1, None, None);
const PAD2: TrainingSet = TrainingSet::new(Kind::Ts2, None, None);

#[test]
fn detect_quiet_ends_with_time_or_with_a_broken_idle_but_not_before_its_own_settled() {
    assert_eq!(Rig::new(Upstream).leaves_after(12 * MS), DetectActive);
    let mut rig = Rig::new(Upstream);
    rig.line.quiet = false;
    rig.line.sent_quiet = 14;
    assert_eq!(rig.next(), DetectQuiet);
    rig.line.sent_quiet = 15;
    assert_eq!(rig.next(), DetectActive);
}

#[test]
fn detect_active_ends_with_the_answer_or_with_time() {
    for (detected, next) in [(Some(true), PollingActive), (Some(false), DetectQuiet), (None, DetectActive)] {
        let mut rig = Rig::at(Downstream, DetectActive);
        rig.line.detected = detected;
        assert_eq!(rig.next(), next);
    }
    assert_eq!(Rig::at(Downstream, DetectActive).leaves_after(12 * MS), DetectQuiet);
}

#[test]
fn polling_active_wants_1024_sent_and_8_in_a_row() {
    let states = |sent, heard, set| Rig::at(Upstream, PollingActive).send(sent).hear(heard, set).next();
    assert_eq!(states(1024, 8, PAD1), PollingConfiguration);
    assert_eq!(states(1024, 8, PAD2), PollingConfiguration);
    assert_eq!(states(1023, 8, PAD1), PollingActive);
    assert_eq!(states(1024, 7, PAD1), PollingActive);
    assert_eq!(states(1024, 100, ts1(Some(0), None)), PollingActive);
    assert_eq!(states(1024, 100, OURS1), PollingActive);
    let mut rig = Rig::at(Upstream, PollingActive);
    rig.send(1024).hear(7, PAD1);
    rig.ltssm.heard(Event::Broken);
    assert_eq!(rig.hear(7, PAD1).next(), PollingActive, "not in a row");
    rig.ltssm.heard(Event::Skp(3));
    assert_eq!(rig.hear(1, PAD1).next(), PollingConfiguration, "SKP may stand between");
    assert_eq!(Rig::at(Upstream, PollingActive).leaves_after(24 * MS), DetectQuiet);
}

#[test]
fn polling_inverts_the_lane_if_all_eight_are_complements() {
    let mut rig = Rig::at(Upstream, PollingActive);
    rig.send(1024);
    (0..8).for_each(|_| rig.ltssm.heard(Event::Training { set: PAD1, inverted: true }));
    assert_eq!((rig.next(), rig.ltssm.inverted()), (PollingConfiguration, true));
    rig.hear(8, PAD2).send(17);
    assert_eq!(rig.next(), ConfigLinkwidthStart);
    rig.ltssm.enter(DetectQuiet);
    assert!(!rig.ltssm.inverted(), "Detect forgets it");
}

#[test]
fn polling_configuration_wants_8_ts2_and_16_answers() {
    let states = |heard, sent, set| {
        let mut rig = Rig::at(Downstream, PollingConfiguration);
        rig.send(100).hear(1, set).send(sent).hear(heard, set).next()
    };
    assert_eq!(states(7, 16, PAD2), ConfigLinkwidthStart);
    assert_eq!(states(6, 16, PAD2), PollingConfiguration);
    assert_eq!(states(7, 15, PAD2), PollingConfiguration, "those sent before do not count");
    assert_eq!(states(50, 50, PAD1), PollingConfiguration);
    assert_eq!(Rig::at(Downstream, PollingConfiguration).leaves_after(48 * MS), DetectQuiet);
}

#[test]
fn linkwidth_start_follows_the_name_of_the_downstream_port() {
    let state = |role, count, set| Rig::at(role, ConfigLinkwidthStart).hear(count, set).next();
    let named = ts1(Some(5), None);
    for role in BOTH {
        assert_eq!(state(role, 2, named), ConfigLinkwidthAccept);
        assert_eq!(state(role, 1, named), ConfigLinkwidthStart);
        assert_eq!(state(role, 20, PAD1), ConfigLinkwidthStart);
        assert_eq!(state(role, 20, PAD2), ConfigLinkwidthStart);
        assert_eq!(Rig::at(role, ConfigLinkwidthStart).leaves_after(24 * MS), DetectQuiet);
    }
    assert_eq!(state(Upstream, 2, ts1(Some(9), None)), ConfigLinkwidthAccept, "it takes any name");
    assert_eq!(state(Downstream, 9, ts1(Some(9), None)), ConfigLinkwidthStart, "it is not the one it gave");
    assert_eq!(state(Upstream, 2, with(DISABLE, PAD1)), Disabled);
    let mut rig = Rig::at(Downstream, ConfigLinkwidthStart);
    rig.ltssm.direct(Request::Disable);
    assert_eq!(rig.next(), Disabled);
}

#[test]
fn the_lane_is_named_and_agreed_on() {
    assert_eq!(Rig::at(Downstream, ConfigLinkwidthAccept).next(), ConfigLanenumWait, "at once");
    let state = |role, state, count, set| Rig::at(role, state).hear(count, set).next();
    assert_eq!(state(Upstream, ConfigLinkwidthAccept, 2, OURS1), ConfigLanenumWait);
    assert_eq!(state(Upstream, ConfigLinkwidthAccept, 1, OURS1), ConfigLinkwidthAccept);
    assert_eq!(state(Upstream, ConfigLinkwidthAccept, 9, ts1(Some(5), Some(3))), ConfigLinkwidthAccept);
    assert_eq!(state(Upstream, ConfigLinkwidthAccept, 2, PAD1), DetectQuiet);
    for (role, set, other) in [(Downstream, OURS1, ts1(Some(5), None)), (Upstream, OURS2, OURS1)] {
        assert_eq!(state(role, ConfigLanenumWait, 2, set), ConfigLanenumAccept);
        assert_eq!(state(role, ConfigLanenumWait, 20, other), ConfigLanenumWait);
        assert_eq!(state(role, ConfigLanenumAccept, 2, set), ConfigComplete);
        assert_eq!(state(role, ConfigLanenumAccept, 20, other), ConfigLanenumAccept);
    }
    assert_eq!(state(Upstream, ConfigLanenumWait, 2, PAD1), DetectQuiet);
    for (role, from) in [
        (Upstream, ConfigLinkwidthAccept),
        (Downstream, ConfigLanenumWait),
        (Upstream, ConfigLanenumWait),
        (Downstream, ConfigLanenumAccept),
        (Upstream, ConfigLanenumAccept),
        (Downstream, ConfigComplete),
        (Upstream, ConfigComplete),
        (Downstream, ConfigIdle),
        (Upstream, ConfigIdle),
    ] {
        assert_eq!(Rig::at(role, from).leaves_after(2 * MS), DetectQuiet, "{role:?} {from:?}");
    }
}

#[test]
fn ts2_and_idle_end_configuration_and_recovery_alike() {
    for role in BOTH {
        for (cfg, idle) in [(ConfigComplete, ConfigIdle), (RecoveryRcvrCfg, RecoveryIdle)] {
            let state = |heard, sent, set| Rig::at(role, cfg).hear(1, set).send(sent).hear(heard, set).next();
            assert_eq!(state(7, 16, OURS2), idle);
            assert_eq!(state(6, 16, OURS2), cfg);
            assert_eq!(state(7, 15, OURS2), cfg);
            assert_eq!(state(20, 20, ts2(Some(4), Some(0))), cfg, "another link");
            let state = |heard, sent| Rig::at(role, idle).send(90).idle(1).send(sent).idle(heard).next();
            assert_eq!(state(7, 16), L0);
            assert_eq!(state(6, 16), idle);
            assert_eq!(state(7, 15), idle);
            let mut rig = Rig::at(role, idle);
            rig.idle(7).send(20).ltssm.heard_symbol(None);
            assert_eq!(rig.idle(7).next(), idle, "not in a row");
        }
    }
}

#[test]
fn what_has_been_received_may_end_before_all_is_answered() {
    // The other side goes on to idle, and to packets, once it has its own answers.
    let mut rig = Rig::at(Upstream, RecoveryRcvrCfg);
    rig.hear(8, OURS2).idle(20).send(17);
    assert_eq!(rig.next(), RecoveryIdle);
    rig.idle(8).ltssm.heard_symbol(Some(Symbol::SDP));
    assert_eq!(rig.send(17).next(), L0);
}

#[test]
fn l0_is_left_for_recovery() {
    for role in BOTH {
        for set in [OURS1, OURS2, ts1(Some(7), None)] {
            assert_eq!(Rig::at(role, L0).hear(1, set).next(), RecoveryRcvrLock);
        }
        let mut rig = Rig::at(role, L0);
        rig.ltssm.direct(Request::Retrain);
        assert_eq!(rig.next(), RecoveryRcvrLock);
        let mut rig = Rig::at(role, L0);
        (0..1000).for_each(|_| assert_eq!(rig.next(), L0));
        rig.ltssm.heard(Event::Skp(1));
        assert_eq!(rig.leaves_after(128 * US), RecoveryRcvrLock, "silence");
        let mut rig = Rig::at(role, L0);
        rig.ltssm.heard(Event::ElectricalIdle);
        assert_eq!(rig.next(), L0, "nobody offers L0s");
    }
}

#[test]
fn recovery_locks_on_8_sets_with_its_numbers() {
    for role in BOTH {
        let state = |count, set| Rig::at(role, RecoveryRcvrLock).hear(count, set).next();
        assert_eq!(state(8, OURS1), RecoveryRcvrCfg);
        assert_eq!(state(8, OURS2), RecoveryRcvrCfg);
        assert_eq!(state(7, OURS1), RecoveryRcvrLock);
        assert_eq!(state(90, ts1(Some(5), None)), RecoveryRcvrLock);
        assert_eq!(Rig::at(role, RecoveryRcvrLock).leaves_after(24 * MS), DetectQuiet);
        let mut rig = Rig::at(role, RecoveryRcvrLock);
        assert_eq!(rig.hear(1, OURS1).leaves_after(24 * MS), ConfigLinkwidthStart, "one has come");
        assert_eq!(Rig::at(role, RecoveryRcvrCfg).leaves_after(48 * MS), DetectQuiet);
        assert_eq!(Rig::at(role, RecoveryIdle).leaves_after(2 * MS), DetectQuiet);
    }
}

#[test]
fn recovery_leads_to_configuration_when_the_other_side_goes_there() {
    for role in BOTH {
        let state = |from, count, set| Rig::at(role, from).hear(count, set).next();
        assert_eq!(state(RecoveryRcvrCfg, 8, ts1(Some(5), None)), ConfigLinkwidthStart);
        assert_eq!(state(RecoveryRcvrCfg, 8, PAD1), ConfigLinkwidthStart);
        assert_eq!(state(RecoveryRcvrCfg, 90, OURS1), RecoveryRcvrCfg);
        assert_eq!(state(RecoveryIdle, 2, ts1(Some(5), None)), ConfigLinkwidthStart);
        assert_eq!(state(RecoveryIdle, 1, PAD1), RecoveryIdle);
    }
}

#[test]
fn ts1_in_recovery_idle_lock_again_unless_that_is_off() {
    let mut rig = Rig::at(Upstream, RecoveryIdle);
    assert_eq!(rig.hear(7, OURS1).next(), RecoveryIdle);
    assert_eq!(rig.hear(1, OURS1).next(), RecoveryRcvrLock);
    let mut rig = Rig::at(Upstream, RecoveryIdle);
    rig.ltssm.setup.relock = false;
    assert_eq!(rig.hear(90, OURS1).leaves_after(2 * MS), DetectQuiet);
}

#[test]
fn two_ts1_with_a_bit_take_an_upstream_port_to_hot_reset_or_disabled() {
    for (bit, request, state) in
        [(HOT_RESET, Request::HotReset, HotReset), (DISABLE, Request::Disable, Disabled)]
    {
        assert_eq!(Rig::at(Upstream, RecoveryIdle).hear(1, with(bit, OURS1)).next(), RecoveryIdle);
        assert_eq!(Rig::at(Upstream, RecoveryIdle).hear(2, with(bit, OURS1)).next(), state);
        assert_eq!(Rig::at(Downstream, RecoveryIdle).hear(2, with(bit, OURS1)).next(), RecoveryIdle);
        let mut rig = Rig::at(Downstream, L0);
        rig.ltssm.direct(request);
        assert_eq!(rig.next(), RecoveryRcvrLock);
        assert_eq!(rig.hear(8, OURS1).next(), RecoveryRcvrCfg);
        rig.hear(8, OURS2);
        assert_eq!(rig.send(16).next(), RecoveryIdle);
        assert_eq!(rig.next(), state);
    }
}

#[test]
fn hot_reset_lasts_while_it_is_sent_and_2_ms_longer() {
    let mut rig = Rig::at(Upstream, HotReset);
    for _ in 0..100 {
        (0..MS).for_each(|_| assert_eq!(rig.next(), HotReset));
        rig.hear(2, with(HOT_RESET, OURS1));
    }
    assert_eq!(rig.leaves_after(2 * MS), DetectQuiet);
    assert_eq!(Rig::at(Downstream, HotReset).hear(1, with(HOT_RESET, OURS1)).next(), HotReset);
    assert_eq!(Rig::at(Downstream, HotReset).hear(2, with(HOT_RESET, OURS1)).next(), DetectQuiet);
    assert_eq!(Rig::at(Downstream, HotReset).leaves_after(2 * MS), DetectQuiet);
}

#[test]
fn disabled_sends_16_ts1_and_ends_as_its_side_does() {
    for role in BOTH {
        assert_eq!(Rig::at(role, Disabled).send(15).next(), Disabled);
        assert_eq!(Rig::at(role, Disabled).send(16).next(), DisabledQuiet);
    }
    let mut rig = Rig::at(Downstream, DisabledQuiet);
    rig.ltssm.direct(Request::Disable);
    (0..50 * MS).for_each(|_| assert_eq!(rig.next(), DisabledQuiet));
    rig.ltssm.enable();
    assert_eq!(rig.next(), DetectQuiet);
    let mut rig = Rig::at(Upstream, DisabledQuiet);
    rig.line.quiet = true;
    (0..50 * MS).for_each(|_| assert_eq!(rig.next(), DisabledQuiet));
    rig.line.quiet = false;
    assert_eq!(rig.next(), DetectQuiet);
    assert_eq!(Rig::at(Upstream, DisabledQuiet).leaves_after(2 * MS), DetectQuiet);
}

#[test]
fn l1_is_entered_as_agreed_and_left_by_either_side() {
    let mut rig = Rig::at(Downstream, L0);
    rig.line.low_power = LowPower::Expected;
    assert_eq!(rig.next(), L0);
    rig.ltssm.heard(Event::ElectricalIdle);
    assert_eq!(rig.next(), L1Entry);
    let mut rig = Rig::at(Upstream, L0);
    rig.line.low_power = LowPower::Agreed;
    assert_eq!(rig.next(), L1Entry);
    assert_eq!(rig.leaves_after(2 * MS), RecoveryRcvrLock, "the other side never went quiet");
    for role in BOTH {
        let mut rig = Rig::at(role, L1Entry);
        rig.line.quiet = true;
        rig.line.sent_quiet = 2;
        assert_eq!(rig.next(), L1Entry);
        rig.line.sent_quiet = 3;
        assert_eq!(rig.next(), L1Idle);
        (0..50 * MS).for_each(|_| assert_eq!(rig.next(), L1Idle));
        assert_eq!(rig.hear(1, OURS1).next(), RecoveryRcvrLock);
        let mut rig = Rig::at(role, L1Idle);
        assert_eq!(rig.next(), RecoveryRcvrLock, "it is broken");
        let mut rig = Rig::at(role, L1Idle);
        rig.line.quiet = true;
        rig.ltssm.direct(Request::Retrain);
        assert_eq!(rig.next(), RecoveryRcvrLock);
    }
}

#[test]
fn a_wish_to_retrain_means_nothing_while_it_trains() {
    for state in State::ALL {
        let mut rig = Rig::at(Downstream, state);
        rig.ltssm.direct(Request::Retrain);
        assert_eq!(rig.ltssm.directed().is_some(), matches!(state, L0 | L1Idle), "{state:?}");
    }
}
