//! Reads and writes by message: how they are cut, and what comes of the answers.

use viaduct_spec::tlp::completion_status;

use super::*;
use crate::memory::Range;

#[test]
fn a_read_is_answered_when_the_client_does() {
    let mut remote = Remote::new();
    remote.edge.queue(&read(2, 5, 7));
    remote.edge.run(300);
    let (id, message) = remote.only();
    assert_eq!(message, DmaMessage::Read { address: BASE + 2, count: 5 });
    assert!(remote.edge.got.is_empty());
    assert!(remote.edge.complex.is_quiet(remote.edge.now), "nothing to step for");
    remote.answer(id, Ok(vec![1, 2, 3, 4, 5]));
    remote.edge.run(100);
    let completions = remote.edge.completions();
    assert_eq!((completions.len(), completions[0].tag, completions[0].byte_count), (1, 7, 5));
    assert_eq!(completions[0].data, [0x0201_0000, 0x0005_0403]);
    assert_eq!((remote.counters().unsupported, remote.counters().read_bytes), (0, 5));
    remote.check();
}

#[test]
fn reads_are_answered_in_any_order() {
    let mut remote = Remote::new();
    (0..3).for_each(|tag| remote.edge.queue(&read(u64::from(tag) * 64, 64, tag)));
    remote.edge.run(300);
    for (n, (id, _)) in remote.asked().into_iter().enumerate().rev() {
        remote.answer(id, Ok(vec![n as u8; 64]));
        remote.edge.run(100);
    }
    let completions = remote.edge.completions();
    let found: Vec<(u8, u32)> = completions.iter().map(|c| (c.tag, c.data[0] & 0xFF)).collect();
    assert_eq!(found, [(2, 2), (1, 1), (0, 0)]);
    remote.check();
}

#[test]
fn requests_are_cut_to_what_the_client_takes() {
    let mut remote = Remote::with(Options { dma: Dma::Messages, ..Options::default() }, 48);
    remote.edge.queue(&write(1, 100, 0x4444_4444));
    remote.edge.queue(&read(4, 100, 1));
    remote.edge.run(300);
    let asked = remote.asked();
    let shapes: Vec<(u64, usize)> = asked
        .iter()
        .map(|(_, message)| match message {
            DmaMessage::Read { address, count } => (*address - BASE, *count),
            DmaMessage::Write { address, data } => (*address - BASE, data.len()),
        })
        .collect();
    assert_eq!(shapes, [(1, 48), (49, 48), (97, 4), (4, 48), (52, 48), (100, 4)]);
    // The pieces of the read come back to front.
    for (n, (id, _)) in asked.into_iter().enumerate().rev() {
        let data = if n < 3 { Vec::new() } else { vec![n as u8; shapes[n].1] };
        remote.answer(id, Ok(data));
    }
    remote.edge.run(100);
    let data: Vec<u8> =
        remote.edge.completions().iter().flat_map(|c| c.data.clone()).flat_map(u32::to_le_bytes).collect();
    assert_eq!(data, [vec![3; 48], vec![4; 48], vec![5; 4]].concat());
    assert_eq!(remote.counters().unsupported, 0);
    remote.check();
}

#[test]
fn what_the_client_refuses_is_unsupported() {
    let mut remote = Remote::with(Options { dma: Dma::Messages, ..Options::default() }, 64);
    remote.edge.queue(&read(0, 128, 9));
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.run(300);
    let asked = remote.asked();
    remote.answer(asked[0].0, Ok(vec![0; 64]));
    remote.answer(asked[1].0, Err(Refused));
    remote.answer(asked[2].0, Err(Refused));
    remote.edge.run(100);
    let completions = remote.edge.completions();
    assert_eq!(completions.len(), 1, "the half that was read is dropped");
    assert_eq!((completions[0].status, completions[0].tag), (completion_status::UNSUPPORTED, 9));
    assert_eq!(remote.counters().unsupported, 2);
    remote.edge.queue(&read(0, 4, 9));
    remote.edge.run(100);
    remote.check();
}

#[test]
fn without_a_client_everything_is_refused() {
    let mut edge = Edge::new(Options { dma: Dma::Messages, ..Options::default() });
    edge.queue(&read(0, 4, 1));
    edge.queue(&write(0, 4, 1));
    edge.run(300);
    assert_eq!(edge.completions()[0].status, completion_status::UNSUPPORTED);
    assert_eq!(edge.complex.counters().unsupported, 2);
    assert!(edge.complex.is_quiet(edge.now));
}

#[test]
fn only_what_has_no_file_goes_by_message_otherwise() {
    let mut remote = Remote::with(Options::default(), 1 << 20);
    let range = Range { iova: 0x10_0000, length: 4096, offset: 0, readable: true, writable: false };
    remote.edge.complex.memory.map(&range, None).unwrap();
    remote.edge.queue(&read(0, 4, 1));
    remote.edge.queue(&Tlp::Read(Request::new(0x10_0FF0, 16, 2, NIC_ID)));
    remote.edge.queue(&Tlp::Write(Request::new(0x10_0000, 4, 0, NIC_ID), vec![0]));
    remote.edge.queue(&Tlp::Read(Request::new(0x20_0000, 4, 3, NIC_ID)));
    remote.edge.run(300);
    let (id, message) = remote.only();
    assert_eq!(message, DmaMessage::Read { address: 0x10_0FF0, count: 16 });
    assert_eq!(remote.counters().unsupported, 2, "read only, and nothing there");
    remote.answer(id, Ok(vec![2; 16]));
    remote.edge.run(100);
    let tags: Vec<u8> = remote.edge.completions().iter().map(|c| c.tag).collect();
    assert_eq!(tags, [1, 3, 2]);
    remote.check();
}

#[test]
fn credits_come_back_with_the_answers() {
    let credits = Limits { posted: Some(2), ..Limits::default() };
    let mut remote = Remote::with(
        Options {
            dma: Dma::Messages,
            conditions: Conditions { credits, ..Conditions::default() },
            ..Options::default()
        },
        1 << 20,
    );
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.queue(&write(8, 8, 2));
    remote.edge.run(300);
    assert_eq!(remote.edge.input.credit_ph, 0, "a slow client holds the NIC up");
    for (id, _) in remote.asked() {
        remote.answer(id, Ok(Vec::new()));
    }
    remote.edge.run(100);
    assert_eq!(remote.edge.input.credit_ph, 2);
    remote.check();
}
