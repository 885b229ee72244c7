//! Memory by message, and interrupts: what waits for what.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::root_complex::messages::PATIENCE;

type Sent = Arc<Mutex<Vec<(MessageId, DmaMessage)>>>;

/// A client that keeps what it is asked; the test answers.
#[derive(Debug)]
struct Patient {
    sent: Sent,
    largest: usize,
    alive: bool,
}

impl Client for Patient {
    fn largest(&self) -> usize {
        self.largest
    }

    fn send(&mut self, id: MessageId, message: DmaMessage) -> bool {
        self.sent.lock().unwrap().push((id, message));
        self.alive
    }
}

struct Remote {
    edge: Edge,
    sent: Sent,
}

impl Remote {
    fn with(options: Options, largest: usize) -> Self {
        let mut edge = Edge::new(options);
        let sent = Sent::default();
        edge.complex.attach(Box::new(Patient { sent: sent.clone(), largest, alive: true }));
        Self { edge, sent }
    }

    fn new() -> Self {
        Self::with(Options { dma: Dma::Messages, ..Options::default() }, 1 << 20)
    }

    /// What has been asked since the last call.
    fn asked(&mut self) -> Vec<(MessageId, DmaMessage)> {
        std::mem::take(&mut self.sent.lock().unwrap())
    }

    fn only(&mut self) -> (MessageId, DmaMessage) {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.into_iter().next().unwrap()
    }

    fn answer(&mut self, id: MessageId, answer: DmaAnswer) {
        let now = self.edge.now;
        self.edge.complex.dma_answer(now, id, answer);
    }

    fn counters(&self) -> BusCounters {
        self.edge.complex.counters()
    }

    fn check(&self) {
        assert_eq!(self.edge.complex.violations(), []);
    }
}

fn interrupt(vector: u32) -> Tlp {
    Tlp::Write(Request::new(0xFEE0_0000, 4, 0, NIC_ID), vec![vector])
}

fn eventfd(complex: &mut RootComplex, vector: usize) -> File {
    let flags = rustix::event::EventfdFlags::NONBLOCK;
    let eventfd = File::from(rustix::event::eventfd(0, flags).unwrap());
    complex.set_vectors(0, vector, vec![Some(eventfd.try_clone().unwrap())]);
    eventfd
}

fn count(mut eventfd: &File) -> u64 {
    let mut value = [0; 8];
    std::io::Read::read(&mut eventfd, &mut value).map_or(0, |_| u64::from_ne_bytes(value))
}

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
fn an_interrupt_waits_for_the_writes_before_it() {
    let mut remote = Remote::new();
    let eventfd = eventfd(&mut remote.edge.complex, 3);
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.queue(&write(8, 8, 2));
    remote.edge.queue(&interrupt(3));
    remote.edge.queue(&write(16, 8, 3));
    remote.edge.run(300);
    let asked = remote.asked();
    assert_eq!(asked.len(), 2, "what is behind the interrupt is not sent yet");
    remote.answer(asked[1].0, Ok(Vec::new()));
    remote.edge.run(50);
    assert_eq!(count(&eventfd), 0);
    assert!(remote.edge.complex.is_quiet(remote.edge.now));
    remote.answer(asked[0].0, Ok(Vec::new()));
    assert!(!remote.edge.complex.is_quiet(remote.edge.now), "the interrupt may go now");
    remote.edge.run(50);
    assert_eq!((count(&eventfd), remote.counters().interrupts), (1, 1));
    assert_eq!(remote.only().1, DmaMessage::Write { address: BASE + 16, data: vec![3, 0, 0, 0, 3, 0, 0, 0] });
    remote.check();
}

#[test]
fn only_messages_of_one_double_word_are_interrupts() {
    let mut edge = Edge::new(Options::default());
    let eventfd = eventfd(&mut edge.complex, 7);
    edge.queue(&interrupt(7));
    edge.queue(&interrupt(6));
    edge.run(100);
    assert_eq!((count(&eventfd), edge.complex.counters().interrupts), (1, 2), "vector 6 is silent");
    edge.queue(&interrupt(8));
    edge.queue(&Tlp::Write(Request::new(0xFEE0_0000, 8, 0, NIC_ID), vec![7, 0]));
    edge.queue(&Tlp::Write(Request::new(0xFEE0_0000, 2, 0, NIC_ID), vec![7]));
    edge.queue(&Tlp::Read(Request::new(0xFEE0_0000, 4, 1, NIC_ID)));
    edge.run(300);
    assert_eq!((count(&eventfd), edge.complex.counters().interrupts), (0, 2));
    assert_eq!(edge.complex.counters().unsupported, 4);
    assert_eq!(edge.completions()[0].status, completion_status::UNSUPPORTED);
    assert_eq!(edge.complex.violations(), []);
}

/// A write that the client has, and a load's completion behind it.
fn write_and_load() -> (Remote, MessageId, LoadId) {
    let mut remote = Remote::new();
    remote.edge.run(1);
    let now = remote.edge.now;
    let load = remote.edge.complex.load(now, Access::new(Bar::Registers, 0x20, 4).unwrap());
    remote.edge.run(100);
    let Ok(Tlp::Read(request)) = Tlp::decode(&remote.edge.got[0].2) else { panic!("the load") };
    remote.edge.queue(&write(0, 4, 1));
    remote.edge.queue(&Tlp::Completion(Completion {
        status: 0,
        byte_count: 4,
        lower_address: 0x20,
        tag: request.tag,
        requester: HOST_ID,
        completer: NIC_ID,
        poisoned: false,
        data: vec![0x55],
    }));
    remote.edge.run(100);
    let (id, _) = remote.only();
    assert_eq!(remote.edge.complex.answer(load), None);
    assert!(remote.edge.complex.is_quiet(remote.edge.now), "it waits for the client, not for time");
    // It is not late: only the client is.
    remote.edge.now += 1 << 20;
    remote.edge.run(300);
    assert_eq!(remote.edge.complex.answer(load), None);
    (remote, id, load)
}

#[test]
fn a_load_s_answer_waits_for_the_writes_before_it() {
    let (mut remote, id, load) = write_and_load();
    remote.answer(id, Ok(Vec::new()));
    remote.edge.run(1);
    assert_eq!(remote.edge.complex.answer(load), Some(0x55));
    assert_eq!((remote.counters().overtaken, remote.edge.complex.wall_deadline()), (0, None));
    remote.check();
}

#[test]
fn the_simulator_s_own_loads_wait_for_nobody() {
    let (mut remote, id, load) = write_and_load();
    assert_eq!(remote.edge.complex.answer_now(load), Some(0x55));
    assert_eq!(remote.edge.complex.answer_now(load), None, "once");
    remote.answer(id, Ok(Vec::new()));
    remote.edge.run(1);
    assert_eq!((remote.edge.complex.answer(load), remote.edge.complex.wall_deadline()), (None, None));
}

#[test]
fn a_load_s_answer_does_not_wait_for_ever() {
    let (mut remote, id, load) = write_and_load();
    let deadline = remote.edge.complex.wall_deadline().unwrap();
    assert!(deadline <= Instant::now() + LOAD_PATIENCE);
    let now = remote.edge.now;
    remote.edge.complex.look_at_wall(now, deadline - Duration::from_millis(1));
    assert_eq!(remote.edge.complex.answer(load), None);
    remote.edge.complex.look_at_wall(now, deadline);
    assert_eq!(remote.edge.complex.answer(load), Some(0x55));
    assert_eq!((remote.counters().overtaken, remote.counters().unanswered), (1, 0));
    remote.answer(id, Ok(Vec::new()));
    assert_eq!(remote.counters().unsupported, 0);
}

#[test]
fn a_client_that_never_answers_is_given_up() {
    let mut remote = Remote::new();
    let eventfd = eventfd(&mut remote.edge.complex, 0);
    remote.edge.queue(&read(0, 64, 4));
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.queue(&interrupt(0));
    remote.edge.run(300);
    let asked = remote.asked();
    let deadline = remote.edge.complex.wall_deadline().unwrap();
    assert!(deadline > Instant::now() + PATIENCE / 2);
    let now = remote.edge.now;
    remote.edge.complex.look_at_wall(now, deadline + Duration::from_secs(1));
    remote.edge.run(300);
    assert_eq!(remote.edge.completions()[0].status, completion_status::UNSUPPORTED);
    assert_eq!((remote.counters().unanswered, remote.counters().unsupported), (2, 2));
    assert_eq!(count(&eventfd), 1, "what waited behind goes on");
    assert_eq!(remote.edge.complex.wall_deadline(), None);
    // What comes now comes too late.
    remote.answer(asked[0].0, Ok(vec![0; 64]));
    remote.answer(asked[1].0, Ok(Vec::new()));
    remote.edge.run(300);
    assert_eq!(remote.edge.completions().len(), 1);
    assert!(remote.edge.complex.is_quiet(remote.edge.now));
    remote.check();
}

#[test]
fn a_reset_drops_reads_and_keeps_behind_writes() {
    let mut remote = Remote::new();
    remote.edge.queue(&read(0, 64, 4));
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.run(300);
    let asked = remote.asked();
    let now = remote.edge.now;
    remote.edge.complex.reset(now);
    remote.edge.complex.config_write(now, 4, &[6, 0]);
    remote.edge.run(100);
    remote.edge.queue(&read(0, 4, 4));
    remote.edge.queue(&interrupt(0));
    remote.edge.run(300);
    assert_eq!(remote.counters().interrupts, 0, "a write of before is not answered");
    remote.answer(asked[0].0, Ok(vec![9; 64]));
    remote.answer(asked[1].0, Ok(Vec::new()));
    remote.edge.run(300);
    // The read of before was given up at once: whoever could have answered it might be waiting for the reset.
    assert_eq!((remote.edge.got.len(), remote.counters().interrupts), (1, 1));
    assert_eq!(remote.edge.completions()[0].status, completion_status::UNSUPPORTED);
    let (id, _) = remote.only();
    remote.answer(id, Ok(vec![1; 4]));
    remote.edge.run(300);
    assert_eq!(remote.edge.completions()[1].data, [0x0101_0101]);
    assert_eq!(remote.counters().unsupported, 0);
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

#[test]
fn a_client_that_goes_leaves_nothing_waiting() {
    let mut remote = Remote::new();
    remote.edge.queue(&read(0, 64, 4));
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.run(300);
    let now = remote.edge.now;
    remote.edge.complex.detach(now);
    remote.edge.run(300);
    assert_eq!(remote.edge.completions()[0].status, completion_status::UNSUPPORTED);
    assert_eq!((remote.counters().unsupported, remote.edge.complex.wall_deadline()), (2, None));
    remote.check();
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
fn a_file_is_not_written_before_the_client_has_what_came_before() {
    let mut remote = Remote::with(Options::default(), 1 << 20);
    let range = Range { iova: 0x10_0000, length: 4096, offset: 0, readable: true, writable: true };
    remote.edge.complex.memory.map(&range, None).unwrap();
    remote.edge.queue(&Tlp::Write(Request::new(0x10_0000, 4, 0, NIC_ID), vec![0]));
    remote.edge.queue(&write(0, 4, 0xAAAA_AAAA));
    remote.edge.run(300);
    assert_eq!(remote.edge.memory(BASE, 4), [0, 1, 2, 3]);
    let (id, _) = remote.only();
    remote.answer(id, Ok(Vec::new()));
    remote.edge.run(1);
    assert_eq!(remote.edge.memory(BASE, 4), [0xAA; 4]);
}

#[test]
fn vectors_are_written_into_the_table_and_again_after_a_reset() {
    let mut edge = Edge::new(Options::default());
    let entry = Access::new(Bar::Registers, 0x8010, 8).unwrap();
    edge.complex.store(0, entry, 0);
    let load = edge.complex.load(0, entry);
    assert_eq!(edge.complex.answer(load), Some(u64::MAX), "the table is not the driver's");
    edge.run(100);
    assert!(edge.got.is_empty());
    let _eventfd = eventfd(&mut edge.complex, 1);
    let table = |edge: &mut Edge| {
        let got = std::mem::take(&mut edge.got);
        got.iter().map(|(_, bar, p)| (*bar, p[2] & 0xFFFF, p[3])).collect::<Vec<_>>()
    };
    let row = [(0, 0x801C, 1), (0, 0x8010, 0xFEE0_0000), (0, 0x8014, 0), (0, 0x8018, 1), (0, 0x801C, 0)];
    edge.run(100);
    assert_eq!(table(&mut edge), row);
    assert!(edge.input.cfg_msix_enable && !edge.input.cfg_msix_mask);
    let now = edge.now;
    edge.complex.reset(now);
    edge.run(10);
    assert!(edge.input.cfg_function_reset && edge.got.is_empty());
    edge.run(200);
    assert_eq!(table(&mut edge), row);
    assert!(edge.input.cfg_msix_enable);
    let now = edge.now;
    edge.complex.set_vectors(now, 0, vec![None, None]);
    edge.run(100);
    assert_eq!(table(&mut edge), [(0, 0x800C, 1), (0, 0x801C, 1)]);
    assert!(!edge.input.cfg_msix_enable);
    // The pending bits are anybody's.
    let pending = Access::new(Bar::Registers, 0xC000, 8).unwrap();
    let now = edge.now;
    edge.complex.store(now, pending, 0);
    edge.run(100);
    assert_eq!(edge.got.len(), 1);
}
