//! RDMA as programs use it: through the library, on NICs of both kinds and between them.

use std::time::Duration;

use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_tests::world::{quick, World};
use vipl::{
    Descriptor, Error, MemAttributes, Nic, Operation, Ptag, Region, ReliabilityLevel, Return, Status, Vi,
    ViAttributes, ViState,
};

const LONG: Option<Duration> = Some(Duration::from_secs(60));
const RELIABLE: ReliabilityLevel = ReliabilityLevel::ReliableDelivery;
const PAIRS: [[Kind; 2]; 4] = [[Rtl, Rtl], [Rtl, Model], [Model, Rtl], [Model, Model]];

/// A program on one of the NICs.
struct Program {
    nic: Nic,
    ptag: Ptag,
    /// For descriptors, and bytes of its own.
    memory: Region,
    /// What its peers may write and read.
    open: Region,
}

impl Program {
    fn on(world: &World, nic: usize) -> Self {
        let nic = world.nic(nic);
        let ptag = nic.create_ptag().expect("a tag");
        let own = MemAttributes::new(&ptag);
        let memory = nic.allocate(1 << 16, &own).expect("memory");
        let open = MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..own };
        let open = nic.allocate(1 << 16, &open).expect("memory");
        Self { nic, ptag, memory, open }
    }

    fn vi(&self, level: ReliabilityLevel, write: bool, read: bool) -> Vi {
        let attributes = ViAttributes {
            reliability_level: level,
            depth: 16,
            enable_rdma_write: write,
            enable_rdma_read: read,
            ..ViAttributes::new(&self.ptag)
        };
        self.nic.create_vi(&attributes).expect("a VI")
    }

    fn bytes(&self, region: &Region, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        region.read(offset, &mut bytes).expect("inside");
        bytes
    }
}

fn setting(kinds: [Kind; 2], rights: bool) -> (World, [Program; 2], [Vi; 2]) {
    let mut setup = quick(7);
    setup.kinds = kinds.to_vec();
    let world = World::new(&setup);
    let programs = [0, 1].map(|nic| Program::on(&world, nic));
    let vis = [0, 1].map(|n: usize| programs[n].vi(RELIABLE, rights, rights));
    connect(&vis);
    (world, programs, vis)
}

fn connect([a, b]: &[Vi; 2]) {
    a.connect(&b.connection_info()).expect("idle");
    b.connect(&a.connection_info()).expect("idle");
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 + seed) as u8).collect()
}

#[test]
fn a_put_and_a_get_move_the_bytes_between_the_programs() {
    for kinds in PAIRS {
        let (world, [a, b], [vi, peer]) = setting(kinds, true);
        let bytes = pattern(9000, 3);
        a.memory.write(0x1001, &bytes).expect("inside");
        let put = Descriptor::rdma_write(b.open.remote(0x203).expect("inside"))
            .segment(&a.memory, 0x1001, 4000)
            .and_then(|put| put.segment(&a.memory, 0x1001 + 4000, 5000))
            .and_then(|put| put.build(&a.memory, 0))
            .expect("a descriptor");
        vi.post_send(put).expect("room");
        let put = vi.send_wait(LONG).expect("complete");
        assert_eq!((put.operation(), put.length()), (Some(Operation::RdmaWrite), 9000), "{kinds:?}");
        // The peer's NIC has the bytes, and they are on the way to its host's memory.
        world.settle();
        assert!(b.bytes(&b.open, 0x203, 9000) == bytes, "{kinds:?}");
        assert!(matches!(peer.recv_done(), Err(Error::Empty)), "a write takes no receive");

        // Read back, behind a fence: not before another read is complete.
        let get = |place: usize, to: usize, from: usize| {
            let get = Descriptor::rdma_read(b.open.remote(from).expect("inside"));
            let get = get.fence().segment(&a.memory, to, 3000).expect("inside");
            get.build(&a.memory, place).expect("a descriptor")
        };
        vi.post_send(get(64, 0x5000, 0x203)).expect("room");
        vi.post_send(get(128, 0x6003, 0x203 + 3000)).expect("room");
        for (to, from) in [(0x5000, 0), (0x6003, 3000)] {
            let get = vi.send_wait(LONG).expect("complete");
            assert_eq!((get.operation(), get.length()), (Some(Operation::RdmaRead), 3000), "{kinds:?}");
            assert!(a.bytes(&a.memory, to, 3000) == bytes[from..from + 3000], "{kinds:?}");
        }
        drop((vi, peer));
        world.check();
    }
}

#[test]
fn a_write_with_immediate_data_takes_a_receive_and_leaves_its_buffer() {
    for kinds in PAIRS {
        let (world, [a, b], [vi, peer]) = setting(kinds, true);
        let receive = Descriptor::new().segment(&b.memory, 0x1000, 64).expect("inside");
        peer.post_recv(receive.build(&b.memory, 0).expect("a place")).expect("room");
        world.arrived(1);
        let put = Descriptor::rdma_write(b.open.remote(0).expect("inside")).immediate(0xFEED_0001);
        let put = put.segment(&a.memory, 0x1000, 5).expect("inside");
        a.memory.write(0x1000, b"hello").expect("inside");
        vi.post_send(put.build(&a.memory, 0).expect("a place")).expect("room");
        let got = peer.recv_wait(LONG).expect("complete");
        assert_eq!(got.operation(), Some(Operation::RemoteRdmaWrite), "{kinds:?}");
        assert_eq!((got.immediate(), got.length()), (Some(0xFEED_0001), 5), "{kinds:?}");
        assert_eq!(b.bytes(&b.open, 0, 5), b"hello");
        assert_eq!(b.bytes(&b.memory, 0x1000, 64), [0; 64]);
        assert!(vi.send_wait(LONG).is_ok());
        drop((vi, peer));
        world.check();
    }
}

/// The error that a descriptor completed with.
fn refusal(vi: &Vi) -> Status {
    match vi.send_wait(LONG) {
        Err(Error::Descriptor(descriptor)) => descriptor.status(),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn what_the_peer_has_not_opened_is_refused() {
    for kinds in PAIRS {
        for read in [false, true] {
            // A VI without the right; memory without it; a place behind the memory.
            for case in 0..3 {
                let (world, [a, b], [vi, peer]) = setting(kinds, case != 0);
                let place = match case {
                    0 => b.open.remote(0),
                    1 => b.memory.remote(0),
                    _ => b.open.remote(b.open.length() - 99),
                };
                let place = place.expect("inside");
                let start = if read { Descriptor::rdma_read(place) } else { Descriptor::rdma_write(place) };
                let descriptor = start.segment(&a.memory, 0x1000, 100).expect("inside");
                vi.post_send(descriptor.build(&a.memory, 0).expect("a place")).expect("room");
                let status = refusal(&vi);
                assert!(status.contains(Status::RDMA_PROT_ERROR), "{kinds:?} {read} {case}: {status}");
                world.settle();
                for vi in [&vi, &peer] {
                    assert_eq!(
                        vi.query().expect("the NIC answers").state,
                        ViState::Error,
                        "{kinds:?} {case}"
                    );
                }
                drop((vi, peer));
                world.check();
            }
        }
    }
}

#[test]
fn reads_are_for_reliable_levels() {
    let world = World::new(&quick(8));
    let program = Program::on(&world, 0);
    let levels = program.nic.attributes().rdma_read_support;
    assert!(levels.contains(&RELIABLE) && !levels.contains(&ReliabilityLevel::UnreliableDelivery));
    let attributes = ViAttributes {
        reliability_level: ReliabilityLevel::UnreliableDelivery,
        enable_rdma_read: true,
        ..ViAttributes::new(&program.ptag)
    };
    let error = program.nic.create_vi(&attributes).expect_err("refused");
    assert_eq!(error.code(), Return::InvalidRdmaRead, "{error}");
    // Without the right it can be; a read that is posted there is malformed.
    let vis = [0, 1].map(|_| program.vi(ReliabilityLevel::UnreliableDelivery, true, false));
    connect(&vis);
    let get = Descriptor::rdma_read(program.open.remote(0).expect("inside"));
    let get = get.segment(&program.memory, 0x1000, 8).expect("inside");
    vis[0].post_send(get.build(&program.memory, 0).expect("a place")).expect("room");
    assert!(refusal(&vis[0]).contains(Status::FORMAT_ERROR));
    drop(vis);
    world.check();
}
