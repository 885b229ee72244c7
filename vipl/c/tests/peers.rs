//! Peers that ask each other by connection queues of the library, over simulated NICs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use via::{
    connections::{ConnectionEvent, ConnectionQueue, NetAddress},
    Error, Nic, ReliabilityLevel, Vi, ViAttributes, ViState,
};
use viaduct_driver::address::Mac;

use crate::common::Simulator;

const LONG: Option<Duration> = Some(Duration::from_secs(30));

/// The address of a peer on one of the two NICs.
fn address(nic: usize) -> NetAddress {
    let mac = Mac([2, 0, 0, 0, 0, 1 + nic as u8]);
    NetAddress { host: mac.into(), discriminator: format!("peer {nic}").into_bytes() }
}

/// The next event: it comes soon.
fn next(queue: &ConnectionQueue) -> ConnectionEvent {
    let start = Instant::now();
    loop {
        match queue.next() {
            Err(Error::NotDone) => assert!(start.elapsed() < Duration::from_secs(60), "nothing happens"),
            event => return event.expect("the NIC answers"),
        }
    }
}

#[test]
fn two_peers_that_ask_each_other_by_queues_are_connected_with_one_another() {
    let simulator = Simulator::start();
    let nics = [0, 1].map(|nic| Nic::open(&simulator.nic(nic)).expect("it is there"));
    let queues = nics.each_ref().map(|nic| nic.connections().expect("it connects").queue());
    let vis: [Arc<Vi>; 2] = nics.each_ref().map(|nic| {
        let ptag = nic.create_ptag().expect("a tag");
        Arc::new(nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI"))
    });
    for _ in 0..2 {
        for (own, other) in [(0, 1), (1, 0)] {
            let (vi, data) = (vis[own].clone(), [own as u8]);
            let asked =
                queues[own].connect_peer(vi, &address(own), &address(other), &data, LONG, 100 + own as u64);
            asked.expect("idle");
        }
        for (own, other) in [(0, 1), (1, 0)] {
            let ConnectionEvent::Connected { context, answer } = next(&queues[own]) else {
                panic!("not connected")
            };
            assert_eq!((context, answer.data), (100 + own as u64, vec![other as u8]));
            assert_eq!(answer.attributes.reliability_level, ReliabilityLevel::ReliableDelivery);
            assert_eq!(vis[own].query().expect("it answers").state, ViState::Connected);
        }
        // Each hears of the end, whoever has asked first.
        queues[0].disconnect(&*vis[0]).expect("it answers");
        assert!(matches!(next(&queues[0]), ConnectionEvent::Parted { context: 100 }));
        assert!(matches!(next(&queues[1]), ConnectionEvent::Disconnected { context: 101 }));
        queues[1].disconnect(&*vis[1]).expect("it answers");
    }
}
