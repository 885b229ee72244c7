//! VIP_NO_MATCH is the peer's word, and no time that was up: each request of no_match.c, which have no end of their own, is answered on the wire by a
//! REJ of the server's NIC that says that nobody waits, before it is asked a second time.

use std::fs::File;

use pcap_file::pcap::PcapReader;
use viaduct_driver::{
    address::Mac,
    cm::{datagram::Datagram, mad::Mad, message::Message},
};
use viaduct_spec::cm::reason;

use crate::{common::Simulator, conformance::run};

/// What no_match.c asks for.
const REQUESTS: usize = 11;
/// The addresses of the two NICs: [`Simulator::nic`].
const SERVER: Mac = Mac([2, 0, 0, 0, 0, 1]);
const CLIENT: Mac = Mac([2, 0, 0, 0, 0, 2]);

/// Runs no_match.c, and compares what the client has asked for with what the server has refused.
fn compare(through_viad: bool) {
    let mut simulator = Simulator::captured();
    assert_eq!(run("no_match", through_viad, &simulator), ["nobody_waits_is_no_match"]);
    simulator.end();
    let mut reader = PcapReader::new(File::open(simulator.capture()).expect("a capture")).expect("a pcap");
    let (mut asked, mut refused) = (Vec::new(), Vec::new());
    while let Some(packet) = reader.next_packet() {
        let frame = packet.expect("a whole packet").data;
        // ARP is no datagram.
        let Some(datagram) = Datagram::decode(&frame).expect("a sound frame") else { continue };
        match (datagram.source.mac, Mad::decode(&datagram.mad).expect("a message").message) {
            (CLIENT, Message::Req(req)) => asked.push(req.local_id),
            (SERVER, Message::Rej(rej)) if rej.reason == reason::NO_SERVICE => refused.push(rej.remote_id),
            (from, other) => panic!("{from}: {other:?}"),
        };
    }
    // One REQ each, and none is repeated; each has its REJ, in this order.
    assert_eq!(asked.len(), REQUESTS, "{asked:?}");
    assert!(asked.iter().enumerate().all(|(n, id)| !asked[..n].contains(id)), "{asked:?}");
    assert_eq!(refused, asked);
}

#[test]
fn each_no_match_of_a_program_with_its_own_nics_is_the_peers_word() {
    compare(false);
}

#[test]
fn each_no_match_through_viad_is_the_peers_word() {
    compare(true);
}
