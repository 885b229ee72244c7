//! Reliable Reception: when the acknowledgement leaves.

use std::fs::File;

use pcap_file::pcap::PcapReader;
use viaduct_driver::address::Service;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::descriptor::status;
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::Reading;
use viaduct_tests::raw::{pair, Completion, Descriptor};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

use super::RELIABLE;

/// An acknowledgement of Reliable Reception is a round trip of the bus behind one of Reliable Delivery.
#[test]
fn reliable_reception_waits_for_the_bus() {
    const ROUND_TRIP: u64 = 500;
    let times = [RELIABLE, Service::ReliableReception].map(|service| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("wire.pcap");
        // The model reaches memory in no time.
        let mut setup = Setup { pcap: Some(file.clone()), kinds: vec![Kind::Rtl], ..quick(12) };
        setup.network.bus.conditions.round_trip = ROUND_TRIP;
        let mut scene = Scene::on(World::new(&setup));
        let mut vis = pair(&scene.hosts, service, 1024);
        let number = vis[1].vi.info().queue_pair;
        let back = vis[0].vi.info().queue_pair;
        // Several at once: one read serves those that wait.
        let [a, b] = &mut scene.hosts;
        let receives: Vec<usize> =
            (0..4).map(|n| vis[1].receive(b, &Descriptor::of(b, 0x1000 * n, 2000))).collect();
        scene.world.settle();
        let sends: Vec<usize> = (0..4).map(|n| vis[0].send(a, &Descriptor::of(a, 0x100 * n, 1500))).collect();
        for (send, receive) in sends.into_iter().zip(receives) {
            assert_eq!(scene.world.complete(&scene.hosts[0], send).status, status::DONE);
            if service != Service::ReliableReception {
                // The acknowledgement may be faster than the receiver's bus.
                scene.world.settle();
            }
            let received = Completion::read(&scene.hosts[1].memory, receive);
            assert_eq!(received.status, status::DONE | status::OP_RECEIVE, "{service:?}");
        }
        scene.world.settle();
        scene.world.check();
        scene.world.captured(&file);
        let mut reader = PcapReader::new(File::open(&file).expect("it")).expect("a pcap");
        let (mut sent, mut acknowledged) = (None, None);
        while let Some(packet) = reader.next_packet() {
            let packet = packet.expect("a whole packet");
            let reading = Reading::of(&packet.data);
            if reading.queue_pair == number && reading.opcode == opcode::RC_SEND_LAST {
                sent.get_or_insert(packet.timestamp);
            }
            if reading.queue_pair == back && reading.opcode == opcode::RC_ACKNOWLEDGE {
                acknowledged.get_or_insert(packet.timestamp);
            }
        }
        (acknowledged.expect("an acknowledgement") - sent.expect("a message")).as_nanos() as u64
    });
    println!("{times:?} ns from the last packet to its acknowledgement");
    // Nanoseconds of 125 MHz cycles: one round trip, and what the NIC needs for a read besides.
    let behind = (times[1] - times[0]) / 8;
    assert!((ROUND_TRIP..ROUND_TRIP + 80).contains(&behind), "{times:?}");
}
