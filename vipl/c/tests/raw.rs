//! Descriptors that a program wrote itself, over two simulated NICs, models and RTL: read, executed and completed where they lie.

use std::{
    ptr::NonNull,
    time::{Duration, Instant},
};

use via::{
    connections::Endpoint, Direction, Error, MemAttributes, Nic, Ptag, RawDescriptor, Region,
    ReliabilityLevel, Return, Vi, ViAttributes,
};
use viaduct_spec::descriptor::{address_segment, control, control_segment, data_segment, status};

use crate::common::Simulator;

const LONG: Option<Duration> = Some(Duration::from_secs(30));
const BYTES: usize = 1 << 16;

/// A program on one of the NICs.
struct Program {
    nic: Nic,
    ptag: Ptag,
    memory: Region,
    vi: Vi<RawDescriptor>,
}

impl Program {
    fn on(simulator: &Simulator, nic: usize) -> Self {
        let nic = Nic::open(&simulator.nic(nic)).expect("it is there");
        let ptag = nic.create_ptag().expect("a tag");
        let memory = nic.allocate(BYTES, &rights(&ptag, true)).expect("memory");
        let attributes = ViAttributes { enable_rdma_write: true, ..ViAttributes::new(&ptag) };
        let vi = nic.create_vi_of(&attributes).expect("a VI");
        Self { nic, ptag, memory, vi }
    }

    /// Writes a descriptor at `offset`, as a C program does.
    fn write(&self, offset: usize, bits: u16, length: usize, segments: &[[u64; 2]]) {
        let mut words = vec![0; 4];
        control_segment::SEG_COUNT.put(&mut words, segments.len() as u64);
        control_segment::CONTROL.put(&mut words, bits.into());
        control_segment::IMMEDIATE.put(&mut words, 0x1234_5678);
        control_segment::LENGTH.put(&mut words, length as u64);
        words.extend(segments.iter().flatten());
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.write(offset, &bytes).expect("inside");
    }

    fn local(&self, offset: usize, length: usize) -> [u64; 2] {
        let mut words = [0; 2];
        data_segment::ADDRESS.put(&mut words, (self.memory.address() + offset) as u64);
        data_segment::HANDLE.put(&mut words, self.memory.handle().into());
        data_segment::LENGTH.put(&mut words, length as u64);
        words
    }

    fn remote(&self, offset: usize) -> [u64; 2] {
        let mut words = [0; 2];
        address_segment::ADDRESS.put(&mut words, (self.memory.address() + offset) as u64);
        address_segment::HANDLE.put(&mut words, self.memory.handle().into());
        words
    }

    fn address(&self, offset: usize) -> NonNull<u8> {
        NonNull::new((self.memory.address() + offset) as *mut u8).expect("not 0")
    }

    fn post(&self, direction: Direction, offset: usize) -> Result<(), Error> {
        // SAFETY: the region lives as long as the VI, and the test does not touch a descriptor that is posted.
        unsafe { self.vi.post_at(direction, &self.memory, self.address(offset)) }?;
        // The two NICs have sockets of their own: what is asked of one when this has been answered finds the doorbell rung.
        self.nic.check()
    }

    /// Takes the next one: where it is, and its control segment as it lies in memory.
    fn take(&self, direction: Direction) -> (usize, [u64; 4]) {
        self.look(&self.vi.wait(direction, LONG).expect("it completes"))
    }

    /// The same of one that is complete, of a queue with a completion queue.
    fn take_complete(&self, direction: Direction) -> (usize, [u64; 4]) {
        self.look(&self.vi.done(direction).expect("it is complete"))
    }

    fn look(&self, descriptor: &RawDescriptor) -> (usize, [u64; 4]) {
        let offset = descriptor.address().as_ptr() as usize - self.memory.address();
        let mut bytes = [0; 32];
        self.memory.read(offset, &mut bytes).expect("inside");
        let word = |n: usize| u64::from_le_bytes(bytes[8 * n..][..8].try_into().expect("8 bytes"));
        (offset, std::array::from_fn(word))
    }

    fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(offset, &mut bytes).expect("inside");
        bytes
    }
}

fn rights(ptag: &Ptag, enable_rdma_write: bool) -> MemAttributes {
    MemAttributes { enable_rdma_write, ..MemAttributes::new(ptag) }
}

fn connect(a: &Program, b: &Program) {
    let (to_a, to_b) = (a.vi.connection_info(), b.vi.connection_info());
    a.vi.connect(&to_b).expect("idle");
    b.vi.connect(&to_a).expect("idle");
}

fn status_of(words: &[u64; 4]) -> u32 {
    control_segment::STATUS.get(words) as u32
}

#[test]
fn descriptors_are_executed_and_completed_where_the_program_wrote_them() {
    for simulator in Simulator::of_each_kind() {
        let (a, b) = (Program::on(&simulator, 0), Program::on(&simulator, 1));
        // Before the connection: receives stay posted when level and size change, and the ring is the same.
        b.write(0, 0, 0, &[b.local(4096, 3000)]);
        b.post(Direction::Receive, 0).expect("room");
        for program in [&a, &b] {
            let new = ViAttributes { max_transfer_size: 4000, ..program.vi.attributes() };
            program.vi.set_attributes(&new).expect("idle");
        }
        connect(&a, &b);
        let message: Vec<u8> = (0..2500).map(|n| (n % 251) as u8).collect();
        a.memory.write(8192, &message).expect("inside");
        a.write(64, control::IMMEDIATE, 2500, &[a.local(8192, 1000), a.local(9192, 1500)]);
        a.post(Direction::Send, 64).expect("room");
        let (at, sent) = a.take(Direction::Send);
        assert_eq!((at, status_of(&sent)), (64, status::DONE | status::OP_SEND));
        assert_eq!(control_segment::LENGTH.get(&sent), 2500);
        let (at, received) = b.take(Direction::Receive);
        assert_eq!((at, status_of(&received)), (0, status::DONE | status::OP_RECEIVE | status::IMMEDIATE));
        assert_eq!(control_segment::LENGTH.get(&received), 2500);
        assert_eq!(control_segment::IMMEDIATE.get(&received), 0x1234_5678);
        assert_eq!(b.bytes(4096, 2500), message);
        assert_eq!(b.bytes(4096 + 2500, 500), [0; 500]);

        // An RDMA write; then the target takes the right away, and the next one is refused.
        a.write(128, control::OP_RDMAWRITE, 100, &[b.remote(20_000), a.local(8192, 100)]);
        a.post(Direction::Send, 128).expect("room");
        let (at, written) = a.take(Direction::Send);
        assert_eq!((at, status_of(&written)), (128, status::DONE | status::OP_RDMA_WRITE));
        assert_eq!(b.bytes(20_000, 101), [&message[..100], &[0]].concat());
        b.memory.set_attributes(&rights(&b.ptag, false)).expect("its tag");
        a.write(192, control::OP_RDMAWRITE, 100, &[b.remote(30_000), a.local(8192, 100)]);
        a.post(Direction::Send, 192).expect("room");
        let (at, refused) = a.take(Direction::Send);
        assert_eq!(at, 192);
        assert_ne!(status_of(&refused) & status::RDMA_PROT_ERROR, 0, "{:#x}", status_of(&refused));
        assert_eq!(b.bytes(30_000, 100), [0; 100]);
        for program in [&a, &b] {
            program.vi.disconnect().expect("the NIC answers");
        }
    }
}

#[test]
fn a_status_that_is_not_0_is_a_format_error() {
    for simulator in Simulator::of_each_kind() {
        let (a, b) = (Program::on(&simulator, 0), Program::on(&simulator, 1));
        connect(&a, &b);
        a.write(0, 0, 0, &[]);
        // DONE is there already: it must not count.
        a.memory.write(28, &status::DONE.to_le_bytes()).expect("inside");
        a.post(Direction::Send, 0).expect("room");
        let (_, done) = a.take(Direction::Send);
        assert_eq!(status_of(&done), status::DONE | status::FORMAT_ERROR | status::OP_SEND);
    }
}

#[test]
fn a_disconnect_flushes_both_queues_and_they_start_anew() {
    for simulator in Simulator::of_each_kind() {
        let (a, b) = (Program::on(&simulator, 0), Program::on(&simulator, 1));
        for round in 0..3 {
            connect(&a, &b);
            for n in 0..20 {
                b.write(64 * n, 0, 0, &[]);
                b.post(Direction::Receive, 64 * n).expect("room");
            }
            a.write(0, 0, 0, &[]);
            a.post(Direction::Send, 0).expect("room");
            assert_eq!(status_of(&a.take(Direction::Send).1), status::DONE, "round {round}");
            assert_eq!(status_of(&b.take(Direction::Receive).1), status::DONE | status::OP_RECEIVE);
            b.vi.disconnect().expect("the NIC answers");
            for n in 1..20 {
                let (at, flushed) = b.take(Direction::Receive);
                assert_eq!(at, 64 * n);
                assert_eq!(
                    status_of(&flushed),
                    status::DONE | status::DESC_FLUSHED_ERROR | status::OP_RECEIVE
                );
            }
            assert!(matches!(b.vi.done(Direction::Receive), Err(Error::Empty)));
            a.vi.disconnect().expect("the NIC answers");
        }
    }
}

#[test]
fn another_tag_is_taken_while_nothing_is_posted_and_only_then() {
    for simulator in Simulator::of_each_kind() {
        let (a, b) = (Program::on(&simulator, 0), Program::on(&simulator, 1));
        let other = a.nic.create_ptag().expect("a tag");
        let new = |ptag: &Ptag| ViAttributes { ptag: ptag.clone(), ..a.vi.attributes() };
        a.write(0, 0, 0, &[]);
        a.post(Direction::Receive, 0).expect("room");
        let error = a.vi.set_attributes(&new(&other)).expect_err("a receive is posted");
        assert_eq!(error.code(), Return::InvalidState);
        connect(&a, &b);
        let error = a.vi.set_attributes(&a.vi.attributes()).expect_err("it is connected");
        assert_eq!(error.code(), Return::InvalidState);
        for program in [&a, &b] {
            program.vi.disconnect().expect("the NIC answers");
        }
        a.take(Direction::Receive);
        a.vi.set_attributes(&new(&other)).expect("idle and empty");
        a.memory.set_attributes(&rights(&other, false)).expect("a tag");
        let unreliable =
            ViAttributes { reliability_level: ReliabilityLevel::UnreliableDelivery, ..new(&other) };
        a.vi.set_attributes(&unreliable).expect("idle and empty");
        let error = a.vi.connect(&b.vi.connection_info()).expect_err("levels differ");
        assert_eq!(error.code(), Return::InvalidReliabilityLevel);
        a.vi.set_attributes(&new(&other)).expect("idle and empty");
        a.vi.set_attributes(&ViAttributes {
            reliability_level: ReliabilityLevel::ReliableDelivery,
            ..new(&other)
        })
        .expect("idle and empty");
        connect(&a, &b);
        b.write(0, 0, 0, &[]);
        b.post(Direction::Receive, 0).expect("room");
        a.write(0, 0, 0, &[]);
        // What NIC and region say of the tag is the same: the descriptor is read.
        a.post(Direction::Send, 0).expect("room");
        assert_eq!(status_of(&a.take(Direction::Send).1), status::DONE);
        let start = Instant::now();
        assert!(matches!(a.vi.wait(Direction::Send, Some(Duration::from_millis(30))), Err(Error::Empty)));
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn receives_stay_posted_when_a_connection_comes_to_nothing() {
    for simulator in Simulator::of_each_kind() {
        let (a, b) = (Program::on(&simulator, 0), Program::on(&simulator, 1));
        let cq = b.nic.create_cq(64).expect("room");
        let attributes = ViAttributes { receive_cq: Some(cq.clone()), ..b.vi.attributes() };
        let b = Program { vi: b.nic.create_vi_of(&attributes).expect("a VI"), ..b };
        for n in 0..5 {
            b.write(64 * n, 0, 0, &[b.local(4096, 100 * (n + 1))]);
            // What is said of it is the program's, also when it is posted once more.
            b.memory.write(64 * n + 24, &(1000 + n as u32).to_le_bytes()).expect("inside");
            b.post(Direction::Receive, 64 * n).expect("room");
        }
        let entry = |receive: bool| {
            let entry = cq.wait(LONG).expect("it comes");
            assert_eq!((entry.vi, entry.receive), (b.vi.id(), receive));
        };
        for round in 0..3 {
            // As a connection manager does it; the other side is quick, and uses a receive before it all comes to nothing.
            b.vi.begin().expect("idle");
            connect(&a, &b);
            a.write(0, 0, 0, &[]);
            a.post(Direction::Send, 0).expect("room");
            a.take(Direction::Send);
            entry(true);
            // An agent may have heard of it first, and have broken the VI: then all is flushed already.
            if round == 1 {
                b.vi.break_off().expect("the NIC answers");
                std::thread::sleep(Duration::from_millis(100));
            }
            b.vi.end(false).expect("the NIC answers");
            a.vi.disconnect().expect("the NIC answers");
            assert_eq!(b.vi.query().expect("it answers").state, via::ViState::Idle);
            let used = b.vi.done(Direction::Receive).expect("it has been used");
            assert_eq!(used.address(), b.address(64 * round));
            assert!(!used.status().is_error());
            // Of the others nobody hears anything.
            assert!(matches!(b.vi.done(Direction::Receive), Err(Error::NotDone)));
            assert!(matches!(cq.done(), Err(Error::NotDone)));
            let mut length = [0; 4];
            b.memory.read(64 * 4 + 24, &mut length).expect("inside");
            assert_eq!(u32::from_le_bytes(length), 1004);
        }
        // They are where the next messages go.
        connect(&a, &b);
        for n in 3..5 {
            a.memory.write(8192, &[n as u8; 50]).expect("inside");
            a.write(64, 0, 50, &[a.local(8192, 50)]);
            a.post(Direction::Send, 64).expect("room");
            a.take(Direction::Send);
            entry(true);
            let (at, words) = b.take_complete(Direction::Receive);
            assert_eq!((at, status_of(&words)), (64 * n, status::DONE | status::OP_RECEIVE));
            assert_eq!(b.bytes(4096, 50), [n as u8; 50]);
        }
        // Those that were flushed by a disconnect are told, and do not come back.
        b.write(0, 0, 0, &[]);
        b.post(Direction::Receive, 0).expect("room");
        b.vi.disconnect().expect("the NIC answers");
        entry(true);
        a.vi.disconnect().expect("the NIC answers");
        b.write(64, 0, 0, &[]);
        b.post(Direction::Receive, 64).expect("room");
        b.vi.begin().expect("idle");
        connect(&a, &b);
        b.vi.end(false).expect("the NIC answers");
        let (at, flushed) = b.take_complete(Direction::Receive);
        assert_eq!((at, status_of(&flushed) & status::DESC_FLUSHED_ERROR), (0, status::DESC_FLUSHED_ERROR));
        assert!(matches!(b.vi.done(Direction::Receive), Err(Error::NotDone)));
        assert!(matches!(cq.done(), Err(Error::NotDone)));
    }
}
