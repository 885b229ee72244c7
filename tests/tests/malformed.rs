//! Frames that anybody may put onto the wire: dropped, counted as what they are, and the NIC goes on.
//! The same for the frames that look like a peer's and are not.

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::{ConnectionInfo, Mac, Service};
use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::counter;
use viaduct_spec::wire::{opcode, ICRC_BYTES};
use viaduct_tests::frame::{seal, Frame, BTH, IP, UDP};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, LEVELS};
use viaduct_tests::scene::Scene;

/// A frame, and the counter that moves when it comes.
type Case = (String, Vec<u8>, u64);

/// The first packet that `vis[0]` would send to `vis[1]`: a whole message of 100 bytes.
fn good(vis: &[RawVi; 2]) -> Frame {
    let [from, to] = [vis[0].vi.info(), vis[1].vi.info()];
    let only = match from.service {
        Service::UnreliableDelivery => opcode::UC_SEND_ONLY,
        _ => opcode::RC_SEND_ONLY,
    };
    Frame { ack_request: from.service != Service::UnreliableDelivery, ..frame(&from, &to, only, 0) }
}

fn frame(from: &ConnectionInfo, to: &ConnectionInfo, opcode: u8, ahead: u32) -> Frame {
    Frame::new(from, to, opcode, to.starting_psn.wrapping_add(ahead), &[0x33; 100])
}

/// The good frame with some bytes changed and then sealed again.
fn patched(vis: &[RawVi; 2], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = good(vis).bytes();
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    seal(&mut frame);
    frame
}

/// Frames that are wrong before any table is looked at.
fn wrong_frames(vis: &[RawVi; 2]) -> Vec<Case> {
    let bytes = good(vis).bytes();
    let whole = bytes.len();
    let with = |change: &dyn Fn(&mut Frame)| {
        let mut frame = good(vis);
        change(&mut frame);
        frame.bytes()
    };
    let be = |value: usize| (value as u16).to_be_bytes();
    let (ip_length, udp_length) = (whole - IP, whole - UDP);
    let icrc = |at: usize| {
        let mut frame = good(vis).bytes();
        frame[at] ^= 0x10;
        frame
    };
    let mut cases: Vec<(&str, Vec<u8>, u64)> = vec![
        ("another MAC address", with(&|f| f.macs[0] = Mac([2, 0, 0, 0, 0, 9])), counter::DROP_NOT_OURS),
        ("broadcast", with(&|f| f.macs[0] = Mac([0xFF; 6])), counter::DROP_NOT_OURS),
        ("ARP", patched(vis, 12, &[0x08, 0x06]), counter::DROP_NOT_OURS),
        ("IPv6", patched(vis, 12, &[0x86, 0xDD]), counter::DROP_NOT_OURS),
        ("IP version 6", patched(vis, IP, &[0x65]), counter::DROP_NOT_OURS),
        ("IP options", patched(vis, IP, &[0x46]), counter::DROP_NOT_OURS),
        ("more fragments", patched(vis, IP + 6, &[0x20, 0]), counter::DROP_NOT_OURS),
        ("a later fragment", patched(vis, IP + 6, &[0, 1]), counter::DROP_NOT_OURS),
        ("TCP", patched(vis, IP + 9, &[6]), counter::DROP_NOT_OURS),
        ("another IP address", with(&|f| f.ips[1] = [10, 0, 0, 9].into()), counter::DROP_NOT_OURS),
        ("another UDP port", with(&|f| f.ports[1] = 4792), counter::DROP_NOT_OURS),
        ("an IP checksum of another packet", icrc(IP + 10), counter::DROP_MALFORMED),
        ("IP length one more", patched(vis, IP + 2, &be(ip_length + 1)), counter::DROP_MALFORMED),
        ("IP length one less", patched(vis, IP + 2, &be(ip_length - 1)), counter::DROP_MALFORMED),
        ("IP length 0", patched(vis, IP + 2, &be(0)), counter::DROP_MALFORMED),
        ("IP length 65535", patched(vis, IP + 2, &be(0xFFFF)), counter::DROP_MALFORMED),
        ("UDP length one more", patched(vis, UDP + 4, &be(udp_length + 1)), counter::DROP_MALFORMED),
        ("UDP length one less", patched(vis, UDP + 4, &be(udp_length - 1)), counter::DROP_MALFORMED),
        ("UDP length 0", patched(vis, UDP + 4, &be(0)), counter::DROP_MALFORMED),
        ("UDP length 65535", patched(vis, UDP + 4, &be(0xFFFF)), counter::DROP_MALFORMED),
        ("a wrong ICRC", icrc(whole - 1), counter::DROP_ICRC),
        ("a changed byte of payload", icrc(BTH + 20), counter::DROP_ICRC),
        ("a changed queue pair", icrc(BTH + 7), counter::DROP_ICRC),
        ("a changed source port", icrc(UDP), counter::DROP_ICRC),
        ("BTH version 1", with(&|f| f.version = 1), counter::DROP_BTH),
        ("another P_Key", with(&|f| f.pkey = 0x1234), counter::DROP_BTH),
    ];
    // No payload, and a pad all the same.
    let mut pad = with(&|f| f.body.clear());
    pad[BTH + 1] = 0x30;
    seal(&mut pad);
    cases.push(("more pad than payload", pad, counter::DROP_MALFORMED));
    let cut =
        |length: usize| (format!("cut to {length} bytes"), bytes[..length].to_vec(), counter::DROP_MALFORMED);
    let mut cases: Vec<Case> =
        cases.into_iter().map(|(name, frame, reason)| (name.to_owned(), frame, reason)).collect();
    cases.extend([1, 7, 8, 13, 42, 54, 60, 61, 100, whole - 1].map(cut));
    // Every opcode that is none of ours, of every class.
    let ours = |opcode| matches!(opcode, 0x00..=opcode::RC_ACKNOWLEDGE | 0x20..=0x2B);
    for opcode in (0..=0xFF).filter(|opcode| !ours(*opcode)) {
        let frame = with(&|f| f.opcode = opcode);
        let reason = if opcode == opcode::CONGESTION { counter::CONGESTION } else { counter::DROP_BTH };
        cases.push((format!("opcode {opcode:#04x}"), frame, reason));
    }
    cases
}

/// Frames that are right in themselves, and not from the peer or not for the VI.
fn strange_frames(vis: &[RawVi; 2]) -> Vec<Case> {
    let with = |change: &dyn Fn(&mut Frame)| {
        let mut frame = good(vis);
        change(&mut frame);
        frame.bytes()
    };
    let number = vis[1].vi.info().queue_pair;
    let psn = vis[1].vi.info().starting_psn;
    let other_service = good(vis).opcode ^ 0x20;
    // What is behind was executed: an unreliable VI drops it, a reliable one says so again.
    let unreliable = vis[0].vi.info().service == Service::UnreliableDelivery;
    let behind = if unreliable { counter::DROP_PSN } else { counter::DUPLICATES };
    // As far behind as that goes: what an unreliable VI hears from further behind is new to it.
    let far = if unreliable { 1 << 16 } else { (1 << 23) - 1 };
    let mut cases = vec![
        ("generation 0", with(&|f| f.queue_pair = number & 0x3FF), counter::DROP_NO_VI),
        ("no such VI", with(&|f| f.queue_pair = number ^ 0x3F), counter::DROP_NO_VI),
        ("another source", with(&|f| f.ips[0] = [10, 0, 0, 9].into()), counter::DROP_NO_VI),
        ("the other service", with(&|f| f.opcode = other_service), counter::DROP_NO_VI),
        ("the PSN before", with(&|f| f.psn = psn.wrapping_sub(1) & 0xFF_FFFF), behind),
        ("a PSN far behind", with(&|f| f.psn = psn.wrapping_sub(far) & 0xFF_FFFF), behind),
    ];
    if unreliable {
        let alone =
            |opcode, ahead| with(&|f| (f.opcode, f.psn) = (opcode, psn.wrapping_add(ahead) & 0xFF_FFFF));
        cases.extend([
            ("an acknowledgement", alone(opcode::RC_ACKNOWLEDGE, 0), counter::DROP_NO_VI),
            // These take PSNs: the rest of a message whose beginning was lost.
            ("a middle of nothing", alone(opcode::UC_SEND_MIDDLE, 0), counter::DROP_PARTIAL),
            ("a last of nothing", alone(opcode::UC_SEND_LAST, 1), counter::DROP_PARTIAL),
            ("the same again", alone(opcode::UC_SEND_LAST, 1), counter::DROP_PSN),
        ]);
    }
    let mut cases: Vec<Case> =
        cases.into_iter().map(|(name, frame, reason)| (name.to_owned(), frame, reason)).collect();
    // The whole number counts, each of its bits.
    for bit in 0..24 {
        let frame = with(&|f| f.queue_pair = number ^ 1 << bit);
        cases.insert(0, (format!("bit {bit} of the queue pair"), frame, counter::DROP_NO_VI));
    }
    cases
}

/// Each of the frames moves its counter and no other, and nothing else happens. So many PSNs are taken
/// by them.
fn check(scene: &mut Scene, vis: &mut [RawVi; 2], cases: Vec<Case>, taken: u32) {
    let b = &mut scene.hosts[1];
    let receive = vis[1].receive(b, &Descriptor::of(b, 0, 1000));
    scene.world.settle();
    for (name, frame, reason) in cases {
        let (before, memories) = (scene.world.counters(1), scene.snapshots());
        scene.world.inject(1, &frame);
        scene.world.settle();
        let mut moved = scene.world.counters(1).since(&before);
        moved.retain(|(name, _)| !["FRAMES_RECEIVED", "ACKS_SENT", "FRAMES_SENT"].contains(name));
        let reason = counter::CODES.codes.iter().find(|code| code.value == reason).expect("a counter");
        assert_eq!(moved, [(reason.name, 1)], "{name}");
        scene.unchanged_but(memories, &[]);
        assert_eq!(vis[1].state(), ViState::Connected, "{name}");
        assert_eq!(scene.events(1), [], "{name}");
    }
    assert!(!Completion::read(&scene.hosts[1].memory, receive).is_complete());
    // The NIC has forgotten nothing: the frame that all of them were made of is taken.
    let mut last = good(vis);
    last.psn = (last.psn + taken) & 0xFF_FFFF;
    scene.world.inject(1, &last.bytes());
    let received = scene.world.complete(&scene.hosts[1], receive);
    assert_eq!((received.status, received.length), (status::DONE | status::OP_RECEIVE, 100));
    assert_eq!(scene.hosts[1].memory.read(0, 100), [0x33; 100]);
}

/// Rules FRAME-3; and FRAME-4 to FRAME-9, but for a notification to the raw channel.
#[test]
fn frames_that_are_wrong_are_dropped_for_their_reason() {
    let mut scene = Scene::new(1);
    let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    let cases = wrong_frames(&vis);
    check(&mut scene, &mut vis, cases, 0);
    scene.others_go_on();
}

/// Rules FRAME-10; and UNR-2 and RSP-1: what lies behind.
#[test]
fn frames_that_are_nobody_s_peer_s_are_dropped() {
    for level in LEVELS {
        let mut scene = Scene::new(2);
        let mut vis = pair(&scene.hosts, level, 1024);
        let cases = strange_frames(&vis);
        let taken = if level == Service::UnreliableDelivery { 2 } else { 0 };
        check(&mut scene, &mut vis, cases, taken);
        scene.others_go_on();
    }
}

/// Rules FRAME-2; and FRAME-9: a mark.
#[test]
fn what_may_differ_is_taken() {
    let mut scene = Scene::new(3);
    let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    let mut trailer = good(&vis).bytes();
    trailer.extend([0x77; 9]);
    let mut tagged = good(&vis).bytes();
    tagged.splice(12..12, [0x81, 0x00, 0x00, 0x05]);
    let mut marked = good(&vis).bytes();
    // Congestion marks and a hop less change neither ICRC nor anything else but the IP checksum.
    (marked[IP + 1], marked[IP + 8], marked[BTH + 4]) = (3, 63, 0x80);
    let crc = marked.len() - ICRC_BYTES;
    let kept = marked[crc..].to_vec();
    seal(&mut marked);
    marked[crc..].copy_from_slice(&kept);
    let mut partial_member = good(&vis);
    partial_member.pkey = 0x7FFF;
    let frames: [(&str, Vec<u8>); 6] = [
        ("bytes behind the IP packet", trailer),
        ("a VLAN tag", tagged),
        ("congestion marks", marked),
        ("a UDP checksum", patched(&vis, UDP + 6, &[0x12, 0x34])),
        ("another UDP source port", patched(&vis, UDP, &[0xF0, 0x01])),
        ("a P_Key without the membership bit", partial_member.bytes()),
    ];
    let psn = vis[1].vi.info().starting_psn;
    let marks = scene.world.counter(1, counter::CONGESTION);
    for (n, (name, frame)) in frames.into_iter().enumerate() {
        println!("{name}");
        // Each is the next message of the sequence.
        let mut frame = frame;
        if n != 0 {
            let at = if name == "a VLAN tag" { BTH + 4 } else { BTH } + 9;
            let next = (psn + n as u32) & 0xFF_FFFF;
            frame[at..at + 3].copy_from_slice(&next.to_be_bytes()[1..]);
            match name {
                "a VLAN tag" => {
                    let mut inner = [&frame[..12], &frame[16..]].concat();
                    seal(&mut inner);
                    frame = [&inner[..12], &[0x81, 0x00, 0x00, 0x05], &inner[12..]].concat();
                }
                _ => seal(&mut frame),
            }
        }
        let b = &mut scene.hosts[1];
        let receive = vis[1].receive(b, &Descriptor::of(b, 0, 1000));
        scene.world.arrived(1);
        scene.world.inject(1, &frame);
        let received = scene.world.complete(&scene.hosts[1], receive);
        assert_eq!((received.status, received.length), (status::DONE | status::OP_RECEIVE, 100), "{name}");
    }
    assert_eq!(scene.world.counter(1, counter::CONGESTION), marks + 1, "only one was marked");
    scene.others_go_on();
}

#[test]
fn noise_between_frames_stops_nothing() {
    let mut scene = Scene::new(4);
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    for _ in 0..30 {
        for _ in 0..random.random_range(1..8) {
            // Noise, or a good frame with a few bits that are not.
            let mut frame = good(&vis).bytes();
            if random.random() {
                frame = vec![0; random.random_range(1..3000)];
                random.fill_bytes(&mut frame);
            } else {
                for _ in 0..random.random_range(1..4) {
                    // MAC addresses are under no checksum but the FCS.
                    let bit = random.random_range(8 * IP..8 * frame.len());
                    frame[bit / 8] ^= 1 << (bit % 8);
                }
            }
            let damaged = random.random_range(0..4) == 0;
            let frame = viaduct_sim::fabric::Frame { data: frame, damaged };
            scene.world.net.network().inject(random.random_range(0..2), frame);
        }
        scene.world.exchange(&mut scene.hosts, &mut vis, 2000);
    }
    scene.others_go_on();
}
