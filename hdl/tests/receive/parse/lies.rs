//! Lies and oddities: fields that say what is not so, and frames that are cut.

use super::{sample, Rig};
use crate::frames::{repair, SERVER};

/// Rules FRAME-2: padding; FRAME-4, FRAME-5, FRAME-6, FRAME-8 and FRAME-9: the reason of each.
#[test]
fn lies_and_oddities() {
    let mut rig = Rig::new(SERVER);
    let mut frames = Vec::new();
    let mut expect = [0; 6];
    let mut add = |frame: Vec<u8>, bad: bool, class: usize| {
        expect[class] += 1;
        frames.push((frame, bad));
    };
    let changed = |at: usize, value: &[u8]| {
        let mut frame = sample(50, 4).bytes();
        frame[at..at + value.len()].copy_from_slice(value);
        repair(&mut frame);
        frame
    };
    let whole = sample(50, 4).bytes();
    add(whole.clone(), false, 0);
    add(whole.clone(), true, 1);
    // Padding behind the IP packet, from one byte to a screenful.
    for padding in [1, 2, 6, 7, 8, 46, 4000, 4224 - whole.len(), 4225 - whole.len(), 9000] {
        let longer = [whole.clone(), vec![0xee; padding]].concat();
        let class = if longer.len() > 4224 { 1 } else { 0 };
        add(longer, false, class);
    }
    // Cut anywhere.
    for length in 1..whole.len() {
        add(whole[..length].to_vec(), false, 1);
    }
    add(changed(36, &[0x12, 0xb8]), false, 2); // another port
    add(changed(12, &[0x86, 0xdd]), false, 2); // IPv6
    add(changed(12, &[0x08, 0x06]), false, 2); // ARP
    add(changed(14, &[0x46]), false, 2); // options
    add(changed(14, &[0x65]), false, 2); // another version
    add(changed(20, &[0x20, 0x00]), false, 2); // more fragments
    add(changed(20, &[0x00, 0x01]), false, 2); // a later fragment
    add(changed(20, &[0x00, 0x00]), false, 0); // may be fragmented, is not
    add(changed(20, &[0x80, 0x00]), false, 0); // the reserved bit
    add(changed(23, &[6]), false, 2); // TCP
    add(changed(30, &[10, 0, 0, 9]), false, 2); // another address
    add(changed(0, &[0xff; 6]), false, 2); // broadcast
    add(changed(43, &[0x21]), false, 4); // BTH version 1
    add(changed(44, &[0x7f, 0xff]), false, 0); // limited member
    add(changed(44, &[0x12, 0x34]), false, 4); // another partition
    add(changed(42, &[0x64]), false, 4); // unreliable datagram
    add(changed(15, &[0xfc]), false, 0); // another type of service
    add(changed(15, &[0x03]), false, 0); // congestion experienced
    add(changed(15, &[0xfe]), false, 0); // only capable of it
    add(changed(42, &[0x81]), false, 5); // a congestion notification
    add(changed(22, &[1]), false, 0); // time to live
    add(changed(40, &[0xab, 0xcd]), false, 0); // a UDP checksum
    add(changed(46, &[0xff]), false, 0); // congestion bits
                                         // IP and UDP lengths, together and apart.
    for length in [0u16, 20, 28, 40, 43, 44, 48, 95, 97, 100, 104, 4144, 4160, 0xfffc, 0xffff] {
        let mut frame = whole.clone();
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        frame[38..40].copy_from_slice(&length.wrapping_sub(20).to_be_bytes());
        repair(&mut frame);
        // 44 has no room for the pad; 48 and the true length are whole packets.
        add(frame, false, if [48].contains(&length) { 0 } else { 1 });
        let mut frame = whole.clone();
        frame[38..40].copy_from_slice(&length.to_be_bytes());
        repair(&mut frame);
        add(frame, false, 1);
    }
    add(sample(4120, 4).bytes(), false, 1);
    let mut frame = whole.clone();
    frame[24] ^= 1;
    add(frame, false, 1);
    // An acknowledgement without room for its AETH; a pad larger than the payload.
    let mut frame = sample(0, 4).bytes();
    frame[42] = 0x11;
    repair(&mut frame);
    add(frame, false, 1);
    let mut frame = sample(0, 4).bytes();
    frame[43] = 0x30;
    repair(&mut frame);
    add(frame, false, 1);

    assert_eq!(rig.check(&frames, true), expect);
    assert_eq!(rig.check(&frames, false), expect);
}

/// Frames cut to every length, with one field of another's: it counts where the frame has it whole.
/// Rule FRAME-5.
#[test]
fn a_cut_frame_is_nobody_s_by_the_fields_that_it_has_whole() {
    let mut rig = Rig::new(SERVER);
    let whole = sample(50, 4).bytes();
    // Where a byte is changed, and where its field ends.
    for (at, end) in
        [(14, 15), (20, 22), (21, 22), (23, 24), (30, 34), (31, 34), (32, 34), (33, 34), (36, 38), (37, 38)]
    {
        let cut = |length: usize| {
            let mut frame = whole[..length].to_vec();
            frame[at] ^= 0x11;
            (frame, false)
        };
        let frames: Vec<_> = (at + 1..58).map(cut).collect();
        let seen = rig.check(&frames, true);
        assert_eq!(seen, [0, end - at - 1, 58 - end, 0, 0, 0], "byte {at}");
    }
}
