//! VIs that find each other over the wire: two agents' connectors on NICs of the RTL, the model, and one of each.

use std::time::Duration;

use viaduct_driver::address::Service;
use viaduct_driver::agent::connector::{Ask, Connector, ConnectorError};
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::cm::config::{Config, Timing};
use viaduct_driver::cm::{CmError, ConnectionId, Discriminator, Event, Host as Address, Refusal, Target};
use viaduct_sim::fabric::Capture;
use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_tests::frame::{is_roce, Reading, Tape};
use viaduct_tests::raw::RawVi;
use viaduct_tests::world::{quick, Host, World};

const PAIRS: [[Kind; 2]; 3] = [[Rtl, Rtl], [Model, Model], [Rtl, Model]];
/// Cycles until everything that a connection needs has happened.
const SOON: u64 = 400_000;

fn name(text: &str) -> Discriminator {
    Discriminator::try_from(text.as_bytes()).expect("a short one")
}

/// Two hosts with connectors.
struct Stage {
    connectors: [Connector; 2],
    hosts: [Host; 2],
    tape: Tape,
    world: World,
}

impl Stage {
    fn new(kinds: [Kind; 2], seed: u64) -> Self {
        println!("{kinds:?}");
        let mut setup = quick(seed);
        setup.kinds = kinds.to_vec();
        let world = World::new(&setup);
        let tape = Tape::default();
        let capture = Capture::new(Box::new(tape.clone())).expect("memory");
        world.net.network().fabric_mut().set_capture(capture);
        let hosts = [0, 1].map(|nic| world.host(nic));
        let connectors = [0, 1].map(|nic| {
            let agent = &hosts[nic].agent;
            let own = Address { mac: agent.mac(), ip: agent.ip() };
            // A simulated millisecond is long, and the network fast.
            let response = Duration::from_micros(300);
            let timing =
                Timing { response, longest_response: 4 * response, probe: None, ..Timing::default() };
            let config = Config { timing, ..Config::new(own, seed + nic as u64) };
            Connector::with(agent, config).expect("the raw channel is free")
        });
        Self { connectors, hosts, tape, world }
    }

    /// The next event of a host.
    fn event(&self, nic: usize) -> Event {
        let mut event = None;
        self.world.until("an event", SOON, || {
            self.connectors.iter().for_each(|connector| connector.turn().expect("the NIC answers"));
            event = self.connectors[nic].take_event(|_| true);
            event.is_some()
        });
        event.expect("it is there")
    }

    fn ask(&self, vi: &RawVi, names: [&str; 2]) -> Ask {
        Ask {
            vi: vi.vi.name(),
            target: Target::Mac(self.hosts[1].agent.mac()),
            from: name(names[0]),
            to: name(names[1]),
            data: b"mine".to_vec(),
            timeout: Some(Duration::from_secs(1)),
        }
    }

    /// Connects two VIs; the connection at each end.
    fn connect(&self, vis: &[RawVi; 2]) -> [ConnectionId; 2] {
        self.connectors[1].listen(name("there"), true);
        let client = self.connectors[0].connect(self.ask(&vis[0], ["here", "there"])).expect("an idle VI");
        let event = self.event(1);
        let Event::Incoming { id: server, request, .. } = event else { panic!("{event:?}") };
        assert_eq!((request.from, &request.data[..]), (name("here"), &b"mine"[..]));
        assert_eq!(request.peer.info, vis[0].vi.info());
        self.connectors[1].accept(server, vis[1].vi.name(), b"yours").expect("they fit");
        let event = self.event(0);
        let Event::Met { id, peer, data } = event else { panic!("{event:?}") };
        assert_eq!((id, peer.info, &data[..]), (client, vis[1].vi.info(), &b"yours"[..]));
        assert_eq!(self.event(0), Event::Established { id: client });
        assert_eq!(self.event(1), Event::Established { id: server });
        assert!(vis.iter().all(|vi| vi.state() == ViState::Connected));
        [client, server]
    }
}

#[test]
fn a_client_and_a_server_connect_talk_and_part() {
    for (kinds, seed) in PAIRS.into_iter().zip(1..) {
        let mut stage = Stage::new(kinds, seed);
        let service = [Service::UnreliableDelivery, Service::ReliableDelivery, Service::ReliableReception];
        let mut vis = [0, 1].map(|nic| RawVi::new(&stage.hosts[nic], service[seed as usize % 3], 1024));
        for round in 0..3 {
            let ids = stage.connect(&vis);
            stage.world.exchange(&mut stage.hosts, &mut vis, 3000 + round);
            stage.world.settle();
            let gone = round % 2;
            stage.connectors[gone].disconnect(ids[gone]).expect("the NIC answers");
            assert_eq!(stage.event(1 - gone), Event::Disconnected { id: ids[1 - gone] });
            // The one that hears of it is in Error, and the other one still its owner's to break.
            assert_eq!(vis[1 - gone].state(), ViState::Error);
            vis[gone].vi.break_off().expect("the NIC answers");
            stage.world.settle();
            vis.iter_mut().for_each(RawVi::make_idle);
        }
        stage.world.check();
    }
}

#[test]
fn nobody_waits_and_nobody_wants() {
    for (kinds, seed) in PAIRS.into_iter().zip(11..) {
        let stage = Stage::new(kinds, seed);
        let vis = [0, 1].map(|nic| RawVi::new(&stage.hosts[nic], Service::ReliableDelivery, 1024));
        let id = stage.connectors[0].connect(stage.ask(&vis[0], ["here", "there"])).expect("an idle VI");
        assert_eq!(stage.event(0), Event::Refused { id, refusal: Refusal::NoMatch, data: vec![] });
        stage.connectors[1].listen(name("there"), false);
        let id = stage.connectors[0].connect(stage.ask(&vis[0], ["here", "there"])).expect("an idle VI");
        let request = stage.event(1).id();
        stage.connectors[1].reject(request, b"no").expect("it is pending");
        let refused = Event::Refused { id, refusal: Refusal::Rejected, data: b"no".to_vec() };
        assert_eq!(stage.event(0), refused);
        // Another level: nothing is done, and the VI stays idle.
        let other = RawVi::new(&stage.hosts[1], Service::UnreliableDelivery, 1024);
        let id = stage.connectors[0].connect(stage.ask(&vis[0], ["here", "there"])).expect("an idle VI");
        let request = stage.event(1).id();
        let error = stage.connectors[1].accept(request, other.vi.name(), &[]).expect_err("other levels");
        assert!(matches!(error, ConnectorError::Manager(CmError::Peer(_))), "{error}");
        assert_eq!(other.state(), ViState::Idle);
        stage.connectors[0].disconnect(id).expect("the NIC answers");
        assert_eq!(stage.event(1), Event::Withdrawn { id: request });
        let error = stage.connectors[1].accept(request, vis[1].vi.name(), &[]).expect_err("it is gone");
        assert!(matches!(error, ConnectorError::Manager(CmError::Gone(_))), "{error}");
        assert!(vis.iter().all(|vi| vi.state() == ViState::Idle));
    }
}

#[test]
fn peers_meet_and_lost_messages_come_again() {
    for (kinds, seed) in PAIRS.into_iter().zip(21..) {
        let mut stage = Stage::new(kinds, seed);
        let mut vis = [0, 1].map(|nic| RawVi::new(&stage.hosts[nic], Service::ReliableDelivery, 1024));
        // The first REQ, and what comes after it.
        stage.world.lose([1, 3, 5]);
        let mut ask = stage.ask(&vis[0], ["a", "b"]);
        let first = stage.connectors[0].peer_request(ask.clone()).expect("an idle VI");
        ask.vi = vis[1].vi.name();
        ask.target = Target::Ip(stage.hosts[0].agent.ip());
        (ask.from, ask.to) = (ask.to, ask.from);
        let second = stage.connectors[1].peer_request(ask).expect("an idle VI");
        for (nic, id) in [first, second].into_iter().enumerate() {
            assert!(matches!(stage.event(nic), Event::Met { id: met, .. } if met == id));
        }
        for (nic, id) in [first, second].into_iter().enumerate() {
            assert_eq!(stage.event(nic), Event::Established { id });
        }
        assert_eq!(stage.world.net.network().fabric().counters().faults, 3, "three of them were lost");
        let frames = stage.tape.frames();
        let arrived = frames.iter().filter(|frame| is_roce(frame)).map(|frame| Reading::of(frame));
        assert!(arrived.clone().count() >= 3 && arrived.clone().all(|frame| frame.queue_pair == 1));
        stage.world.lose([]);
        stage.world.exchange(&mut stage.hosts, &mut vis, 5000);
    }
}
