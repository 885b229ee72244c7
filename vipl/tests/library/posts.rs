//! What is posted is VIA's in memory, and what breaks a rule is refused.

use viaduct_spec::{
    descriptor::{control_segment, data_segment, status},
    doorbell::token,
};
use vipl::{Descriptor, Error, MemAttributes, Region, ReliabilityLevel, Return, Status, ViAttributes};

use super::{bench, descriptor, paper::complete};

fn words(memory: &Region, offset: usize, count: usize) -> Vec<u64> {
    let mut bytes = vec![0; 8 * count];
    memory.read(offset, &mut bytes).expect("inside");
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
}

#[test]
fn a_posted_descriptor_is_vias_in_memory_its_ring_and_its_doorbell() {
    let bench = bench();
    let built = Descriptor::new()
        .segment(&bench.memory, 4097, 100)
        .and_then(|b| b.segment(&bench.memory, 8192, 0))
        .and_then(|b| b.immediate(0xdead_beef).build(&bench.memory, 128))
        .expect("a sound descriptor");
    // Dirt of an earlier life must not look like a completion.
    complete(&bench.memory, 128, 1, status::DONE);
    bench.vi.post_send(built).expect("room");

    let words = words(&bench.memory, 128, 8);
    assert_eq!(control_segment::SEG_COUNT.get(&words), 2);
    assert_eq!(control_segment::CONTROL.get(&words), 4);
    assert_eq!(control_segment::IMMEDIATE.get(&words), 0xdead_beef);
    assert_eq!(control_segment::LENGTH.get(&words), 100);
    assert_eq!(control_segment::STATUS.get(&words), 0);
    assert_eq!(data_segment::ADDRESS.get(&words[4..]), bench.memory.address() as u64 + 4097);
    assert_eq!(data_segment::HANDLE.get(&words[4..]), u64::from(bench.memory.handle()));
    assert_eq!(data_segment::LENGTH.get(&words[4..]), 100);
    assert_eq!(data_segment::LENGTH.get(&words[6..]), 0);

    let doorbells = bench.paper.doorbells.doorbells.lock().expect("no panic").clone();
    let [(page, word)] = doorbells[..] else { panic!("one store: {doorbells:?}") };
    assert_eq!(page, 0, "the send doorbell of VI 0");
    assert_eq!(token::REGION.get(&[word]), u64::from(bench.memory.handle() & 0xffff));
    assert_eq!(token::OFFSET.get(&[word]), 2);
    assert_eq!(token::POSITION.get(&[word]), 0);
    assert_eq!(token::SHORT.get(&[word]), 0, "it has two segments");
}

#[test]
fn done_looks_at_the_head_only() {
    let bench = bench();
    assert!(matches!(bench.vi.recv_done(), Err(Error::Empty)));
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    bench.vi.post_recv(descriptor(&bench, 64)).expect("room");
    complete(&bench.memory, 64, 7, status::DONE | status::OP_RECEIVE);
    assert!(matches!(bench.vi.recv_done(), Err(Error::NotDone)));
    complete(&bench.memory, 0, 9, status::DONE | status::OP_RECEIVE | status::LENGTH_ERROR);
    let error = bench.vi.recv_done().expect_err("a length error");
    assert_eq!(error.code(), Return::DescriptorError);
    assert!(error.to_string().contains("LENGTH_ERROR"), "{error}");
    let Error::Descriptor(head) = error else { panic!("{error}") };
    assert_eq!((head.offset(), head.length()), (0, 9));
    assert_eq!(head.status(), Status::DONE | Status::LENGTH_ERROR);
    let next = bench.vi.recv_done().expect("complete");
    assert_eq!((next.offset(), next.length(), next.immediate()), (64, 7, None));
    assert!(matches!(bench.vi.recv_done(), Err(Error::Empty)));
}

#[test]
#[cfg_attr(miri, ignore = "too many posts for Miri")]
fn a_full_ring_refuses_and_positions_wrap() {
    let bench = bench();
    let mut free: Vec<Descriptor> = (0..9).map(|n| descriptor(&bench, 64 * n)).collect();
    let spare = free.pop().expect("nine");
    for descriptor in free {
        bench.vi.post_send(descriptor).expect("room for eight");
    }
    let error = bench.vi.post_send(spare).expect_err("the ninth");
    assert!(matches!(error, Error::Overrun(8)));
    assert_eq!(error.code(), Return::ErrorResource);
    // Round and round: 2^14 positions and some more.
    for n in 0..(1 << 14) + 20 {
        complete(&bench.memory, 64 * (n % 8), 0, status::DONE);
        let head = bench.vi.send_done().expect("complete");
        assert_eq!(head.offset(), 64 * (n % 8));
        bench.vi.post_send(head).expect("one slot is free");
    }
    let doorbells = bench.paper.doorbells.doorbells.lock().expect("no panic");
    for (n, (_, word)) in doorbells.iter().enumerate() {
        assert_eq!(token::POSITION.get(&[*word]), n as u64 % (1 << 14));
        assert_eq!(token::OFFSET.get(&[*word]), n as u64 % 8);
        assert_eq!(token::SHORT.get(&[*word]), 1, "it has one segment or none");
    }
    drop(doorbells);
    for n in 0..8 {
        complete(&bench.memory, 64 * n, 0, status::DONE);
    }
}

#[test]
fn what_breaks_a_rule_is_refused_with_its_code() {
    let bench = bench();
    let memory = &bench.memory;
    let with = |count| (0..count).try_fold(Descriptor::new(), |b, _| b.segment(memory, 0, 1));
    let code = |result: Result<Descriptor, Error>| result.err().map(|e| e.code());
    let invalid = Some(Return::InvalidParameter);
    assert_eq!(code(Descriptor::new().build(memory, 32)), invalid, "not aligned");
    assert_eq!(code(Descriptor::new().build(memory, 1 << 16)), invalid, "outside");
    assert_eq!(code(Descriptor::new().build(memory, usize::MAX - 63)), invalid, "outside");
    assert_eq!(code(with(252).expect("252 segments").build(memory, 0)), None);
    assert_eq!(with(253).err().map(|e| e.code()), invalid, "253 segments");
    let long = with(3).expect("three segments").build(memory, (1 << 16) - 64);
    assert_eq!(code(long), invalid, "its end is outside");
    let range = Descriptor::new().segment(memory, (1 << 16) - 1, 2);
    assert!(matches!(range, Err(Error::Range { .. })));
    assert!(matches!(Descriptor::new().segment(memory, usize::MAX, 2), Err(Error::Range { .. })));

    let other = bench.paper.nic();
    let stranger = other.create_ptag().expect("a tag");
    let wrong = bench.nic.allocate(64, &MemAttributes::new(&stranger)).expect_err("another NIC's tag");
    assert_eq!(wrong.code(), Return::InvalidPtag);
    let memory = other.allocate(64, &MemAttributes::new(&stranger)).expect("memory");
    let foreign = Descriptor::new().build(&memory, 0).expect("sound by itself");
    assert!(matches!(bench.vi.post_send(foreign), Err(Error::OtherNic)));

    for level in [ReliabilityLevel::UnreliableDelivery, ReliabilityLevel::ReliableReception] {
        let attributes = ViAttributes { reliability_level: level, ..ViAttributes::new(&bench.ptag) };
        let vi = bench.nic.create_vi(&attributes).expect("all levels are offered");
        let error = vi.connect(&bench.vi.connection_info()).expect_err("the other end has another level");
        assert_eq!(error.code(), Return::InvalidReliabilityLevel);
    }
    let size = ViAttributes { max_transfer_size: u32::MAX, ..ViAttributes::new(&bench.ptag) };
    assert_eq!(bench.nic.create_vi(&size).err().map(|e| e.code()), Some(Return::InvalidMtu));
}
