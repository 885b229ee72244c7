//! Linux's frames, from captures: each message of communication management is understood, comes out again byte for byte, and does no
//! harm when it is damaged.

use std::{net::Ipv4Addr, path::Path, time::Duration};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::Mac,
    cm::{
        arp::Arp,
        datagram::{Datagram, Host},
        mad::Mad,
        manager::Heard,
        message::Message,
        rdma_cm::RdmaCm,
        via::Via,
        Config, Discriminator, Manager,
    },
};
use viaduct_spec::cm::{reason, subject, transport, TCP_SERVICE};

const SERVER: Host = Host { mac: Mac([0x52, 0x54, 0, 0, 0, 1]), ip: Ipv4Addr::new(10, 0, 0, 1) };
const CLIENT: Host = Host { mac: Mac([0x52, 0x54, 0, 0, 0, 2]), ip: Ipv4Addr::new(10, 0, 0, 2) };

/// All frames of a capture.
fn frames(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/roce");
    let path = folder.join(name).with_extension("pcap");
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = pcap_file::pcap::PcapReader::new(file).expect("a pcap");
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        frames.push(packet.expect("a whole packet").data.into_owned());
    }
    frames
}

/// The captures with such messages, and how many frames for queue pair 1 each has.
const CAPTURES: [(&str, usize); 8] = [
    ("rping_100", 5),
    ("rping_mtu4096", 5),
    ("rping_reject", 2),
    ("rping_client_killed", 5),
    ("udaddy", 2),
    ("cm_lost_req", 6),
    ("cm_lost_rep", 6),
    ("cm_lost_rtu", 6),
];
const DEAD_PEER: (&str, usize) = ("cm_dead_peer", 6);

fn messages(name: &str) -> Vec<(Vec<u8>, Datagram)> {
    let read = |frame: Vec<u8>| {
        let datagram = Datagram::decode(&frame).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        datagram.map(|datagram| (frame, datagram))
    };
    frames(name).into_iter().filter_map(read).collect()
}

#[test]
fn every_captured_message_comes_out_again_byte_for_byte() {
    for (name, count) in CAPTURES.into_iter().chain([DEAD_PEER]) {
        let messages = messages(name);
        assert_eq!(messages.len(), count, "{name}");
        for (frame, datagram) in messages {
            let mad = Mad::decode(&datagram.mad).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            assert_eq!(mad.encode(), datagram.mad, "{name}: {mad:?}");
            assert_eq!(datagram.encode(), frame, "{name}");
        }
    }
}

/// What Linux says in its messages, as tshark and facts written down by hand have it.
#[test]
fn the_captured_messages_mean_what_they_should() {
    let mut seen = Vec::new();
    for (_, datagram) in messages("rping_100") {
        let mad = Mad::decode(&datagram.mad).expect("a message");
        seen.push(mad.message.attribute());
        match mad.message {
            Message::Req(req) => {
                assert_eq!((datagram.source, datagram.target), (CLIENT, SERVER));
                assert_eq!(req.service, TCP_SERVICE | 0x1c06);
                assert_eq!((req.local_id, req.queue_pair, req.psn), (0x47f7_6e6f, 26, 0xa0_ca1f));
                assert_eq!((req.guid, req.transport, req.mtu), (0x5054_00ff_fe00_0002, transport::RC, 3));
                assert_eq!((req.remote_timeout, req.local_timeout, req.max_cm_retries), (20, 20, 15));
                assert_eq!((req.retries, req.rnr_retries, req.ack_timeout), (7, 7, 19));
                assert_eq!((req.flow_label, req.hop_limit, req.pkey), (0x4922d, 64, 0xffff));
                assert_eq!((req.responder_resources, req.initiator_depth, req.rate), (1, 1, 0));
                assert_eq!(req.local_gid, CLIENT.ip.to_ipv6_mapped().octets());
                assert_eq!(req.remote_gid, SERVER.ip.to_ipv6_mapped().octets());
                let header = RdmaCm::decode(&req.private).expect("rdma_cm's");
                assert_eq!((header.source, header.target), (CLIENT.ip, SERVER.ip));
                assert_eq!(Via::decode(&req.private[36..]), Ok(None), "no VI");
            }
            Message::Rep(rep) => {
                assert_eq!((rep.remote_id, rep.queue_pair, rep.psn), (0x47f7_6e6f, 26, 0xba_21c2));
                assert_eq!((rep.ack_delay, rep.rnr_retries, rep.guid), (15, 7, 0x5054_00ff_fe00_0001));
            }
            Message::Rtu(rtu) => assert_eq!(rtu.remote_id, 0xeea2_2fc8),
            Message::Dreq(dreq) => assert_eq!(dreq.remote_queue_pair, 26),
            Message::Drep(drep) => assert!(drep.local_id != 0 && drep.remote_id != 0),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, [0x10, 0x13, 0x14, 0x15, 0x16]);
    let (_, datagram) = messages("rping_reject").pop().expect("two frames");
    let Message::Rej(rej) = Mad::decode(&datagram.mad).expect("a message").message else { panic!("a REJ") };
    assert_eq!((rej.reason, rej.subject, rej.local_id), (reason::NO_SERVICE, subject::REQ, 0));
    let (_, datagram) = messages("cm_dead_peer").pop().expect("six frames");
    let Message::Rej(rej) = Mad::decode(&datagram.mad).expect("a message").message else { panic!("a REJ") };
    assert_eq!((rej.reason, rej.subject, rej.remote_id), (reason::TIMEOUT, subject::OTHER, 0));
    assert_eq!(rej.additional[..8], 0x5054_00ff_fe00_0002u64.to_be_bytes());
}

/// A REQ tells the server the PSN of its first packet, and a REP tells the client: each end names the one that it expects (IBA 12.7.31).
#[test]
fn the_starting_psn_of_a_message_is_its_receiver_s() {
    /// Requests of reliable connections: sends, writes, RDMA reads.
    const REQUESTS: std::ops::RangeInclusive<u8> = 0..=12;
    for name in ["rping_100", "rping_mtu4096"] {
        let [mut by_server, mut by_client] = [None; 2];
        for (_, datagram) in messages(name) {
            match Mad::decode(&datagram.mad).expect("a message").message {
                Message::Req(req) => by_server = Some(req.psn),
                Message::Rep(rep) => by_client = Some(rep.psn),
                _ => {}
            }
        }
        for (sender, psn) in [(SERVER, by_server), (CLIENT, by_client)] {
            let first = frames(name).into_iter().find(|frame| {
                // BTH from byte 42, where ARP's frames end; the queue pair number in bytes 47 to 49.
                frame.len() > 54
                    && frame[6..12] == sender.mac.0
                    && REQUESTS.contains(&frame[42])
                    && frame[47..50] != [0, 0, 1]
            });
            let first = first.expect("a request");
            assert_eq!(Some(u32::from_be_bytes([0, first[51], first[52], first[53]])), psn, "{name}");
        }
    }
}

/// Whatever becomes of a frame: the parser says what is wrong, and a manager that gets it goes on. With the ICRC made good again
/// it is taken for what it says.
#[test]
fn damaged_messages_do_no_harm() {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let now = Duration::from_secs(1);
    for (name, _) in CAPTURES.into_iter().chain([DEAD_PEER]) {
        for (frame, datagram) in messages(name) {
            let mut manager = Manager::new(Config::new(datagram.target, seed));
            for port in [0x1c06, 0x270f] {
                manager.listen(Discriminator::of_port(port), false);
            }
            for length in 0..frame.len() {
                // Up to the BTH it is no frame for queue pair 1 at all.
                let heard = manager.frame(&frame[..length], now);
                assert!(matches!(heard, Heard::Wrong(_)) || length < 54, "{length}: {heard:?}");
            }
            for at in 0..frame.len() {
                let flips = [0xff, 1, random.random_range(1..=0xff)];
                for flip in flips {
                    let mut damaged = frame.clone();
                    damaged[at] ^= flip;
                    let heard = manager.frame(&damaged, now);
                    // What routers change is not covered: type of service, time to live, the checksum of UDP, the
                    // congestion bits; nor is Ethernet's header. IPv4's checksum covers the first two.
                    let uncovered = at < 12 || [40, 41, 46].contains(&at);
                    assert!(uncovered || heard != Heard::Connection, "byte {at} ^ {flip:#x}: {heard:?}");
                }
            }
            for at in 0..datagram.mad.len() {
                for value in [0, 0xff, 0x80, 1, random.random()] {
                    let mut changed = datagram;
                    changed.mad[at] = value;
                    if let Ok(mad) = Mad::decode(&changed.mad) {
                        // Reserved bits are all that is not kept.
                        assert_eq!(Mad::decode(&mad.encode()), Ok(mad));
                    }
                    manager.frame(&changed.encode(), now);
                }
            }
            let limits = manager.config().limits;
            assert!(manager.connections() <= limits.pending + limits.over);
            while manager.next_frame().is_some() {}
            manager.tick(now + Duration::from_secs(100));
            manager.tick(now + Duration::from_secs(200));
            assert_eq!(manager.connections(), 0, "{name}: everything is forgotten in the end");
        }
    }
}

#[test]
fn noise_does_no_harm() {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut manager = Manager::new(Config::new(SERVER, seed));
    let (_, datagram) = messages("rping_100").remove(0);
    for _ in 0..4000 {
        let mut datagram = datagram;
        // A message of any kind with any contents, behind a header that is right.
        random.fill(&mut datagram.mad[24..]);
        datagram.mad[17] = random.random_range(0x0f..0x1a);
        manager.frame(&datagram.encode(), Duration::ZERO);
        while manager.next_frame().is_some() {}
        let mut noise = vec![0; random.random_range(0..400)];
        random.fill(&mut noise[..]);
        manager.frame(&noise, Duration::ZERO);
    }
}

#[test]
fn arp_is_read_and_written_like_linux_s() {
    let mut seen = 0;
    for (name, _) in CAPTURES {
        for frame in frames(name) {
            let Ok(Some(arp)) = Arp::decode(&frame) else { continue };
            let encoded = arp.encode();
            // Linux asks who it knows already directly.
            assert_eq!(encoded[6..], frame[6..encoded.len()], "{name}");
            seen += 1;
        }
    }
    println!("{seen} ARP packets");
    let ask = Arp::who_has(CLIENT, SERVER.ip);
    assert_eq!(Arp::decode(&ask.encode()), Ok(Some(ask)));
    let answer = ask.answer(SERVER).expect("it is us");
    assert_eq!((answer.sender, answer.target), (SERVER, CLIENT));
    assert_eq!(ask.answer(CLIENT), None);
    let frame = ask.encode();
    for at in 0..frame.len() {
        for flip in [0xff, 0x80, 1] {
            let mut damaged = frame.clone();
            damaged[at] ^= flip;
            let _ = Arp::decode(&damaged);
            let _ = Arp::decode(&frame[..at]);
        }
    }
}
