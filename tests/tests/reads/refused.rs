//! Reads that the peer or the reader's own NIC refuses.

use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device_protocol::rows;
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::table;
use viaduct_tests::raw::Descriptor;

use super::readers::Readers;
use super::{AT, BYTES, READ, RELIABLE, TO};

/// An answer of more packets would leave too few PSNs to tell old from new.
/// Rule REQ-1.
#[test]
fn a_read_of_too_many_packets_is_a_length_error() {
    for (length, error) in [(1 << 28, status::RDMA_PROT_ERROR), ((1 << 28) + 1, status::LENGTH_ERROR)] {
        let mut readers = Readers::new(256);
        let (info, tag) = (readers.vis[0].vi.info(), readers.scene.hosts[0].tag);
        let row = rows::gather(tag, RELIABLE, info.mtu, 1 << 30);
        readers.scene.world.commit(0, table::GATHER, readers.vis[0].index().into(), &row);
        // The peer's region is not as long, and nobody looks at a segment of ours before its answer comes.
        let place = readers.read(0, 0, &[(TO, length)]);
        assert_eq!(readers.status(0, place), READ | error, "{length} bytes");
        assert_eq!(readers.vis[0].state(), ViState::Error);
    }
}

/// Rule RSP-5.
#[test]
fn a_read_that_may_not_be_is_refused_and_breaks_both_ends() {
    let wrong: [fn(&mut Readers, &mut Descriptor); 4] = [
        |_, read| read.segments[0].handle ^= 1 << 20,
        |_, read| read.segments[0].address += BYTES as u64 - 100,
        |readers, read| {
            // Another tag's.
            let host = &readers.scene.hosts[1];
            let tag = host.agent.create_tag().expect("a tag");
            let attributes = MemoryAttributes { tag, rdma_write: false, rdma_read: true };
            read.segments[0].handle = host.register_as(AT, BYTES, attributes).handle;
        },
        |readers, read| {
            let host = &readers.scene.hosts[1];
            read.segments[0].handle = host.register(AT, BYTES, host.tag).handle;
        },
    ];
    for wrong in wrong {
        let mut readers = Readers::new(1024);
        let good = readers.read(0, 0, &[(0x1000, 2000)]);
        let mut read = readers.descriptor(0, 0, &[(0x4000, 1500)]);
        wrong(&mut readers, &mut read);
        let before = readers.scene.hosts[0].memory.read(0x4000, 1500);
        let place = readers.post(0, &read);
        let behind = readers.read(0, 0, &[(0x5000, 10)]);
        readers.done(0, good, 2000);
        assert_eq!(readers.status(0, place), READ | status::RDMA_PROT_ERROR);
        assert!(readers.status(0, behind) & (status::DESC_FLUSHED_ERROR | status::TRANSPORT_ERROR) != 0);
        assert_eq!(readers.scene.hosts[0].memory.read(0x4000, 1500), before);
        assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Error));
        let events = readers.scene.events(1);
        assert_eq!(events.iter().map(|event| event.code).collect::<Vec<_>>(), [event_code::RDMAR_PROT]);
        readers.scene.others_go_on();
    }
}

/// Rule WQ-2.
#[test]
fn a_segment_of_ones_own_that_may_not_be_written_breaks_the_vi() {
    let mut readers = Readers::new(1024);
    let mut read = readers.descriptor(0, 0, &[(0x1000, 1500), (0x4000, 100)]);
    read.segments[2].handle ^= 1 << 20;
    let place = readers.post(0, &read);
    assert_eq!(readers.status(0, place), READ | status::PROTECTION_ERROR);
    assert_eq!(readers.vis[0].state(), ViState::Error);
    let events = readers.scene.events(0);
    assert_eq!(events.iter().map(|event| event.code).collect::<Vec<_>>(), [event_code::CONN_LOST]);
    readers.scene.others_go_on();
}

#[test]
fn a_peer_that_allows_no_reads_refuses_and_counts() {
    let mut readers = Readers::new(1024);
    readers.allow_none();
    let place = readers.read(0, 0, &[(0x1000, 10)]);
    assert_eq!(readers.status(0, place), READ | status::RDMA_PROT_ERROR);
    readers.scene.world.settle();
    let codes: Vec<_> = readers.scene.events(1).iter().map(|event| event.code).collect();
    assert_eq!(codes, [event_code::RDMAR_PROT]);
    assert_eq!(readers.scene.world.counter(1, counter::READS_SERVED), 0);
}
