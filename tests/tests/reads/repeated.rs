//! Read requests that come again, long after their read.

use viaduct_driver::agent::vis::ViState;
use viaduct_spec::register::counter;
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::Frame;

use super::readers::Readers;

/// A read request of `vis[0]`'s, so many packets after its first.
fn request(readers: &Readers, ahead: u32, length: u32) -> Vec<u8> {
    let [from, to] = [0, 1].map(|n| readers.vis[n].vi.info());
    let region = readers.regions[1];
    let address = region.address.to_be_bytes();
    let body: Vec<u8> = [&address[..], &region.handle.to_be_bytes(), &length.to_be_bytes()].concat();
    Frame::new(&from, &to, opcode::RC_READ_REQUEST, to.starting_psn.wrapping_add(ahead), &body).bytes()
}

/// What host 1's NIC has counted of reads: served, duplicates, at another PSN.
fn told(readers: &Readers) -> [u64; 3] {
    [counter::READS_SERVED, counter::DUPLICATES, counter::DROP_PSN]
        .map(|number| readers.scene.world.counter(1, number))
}

/// A duplicate read request of so many bytes is dropped, and nothing else comes of it.
fn drops(mut readers: Readers, length: u32) {
    readers.scene.world.inject(1, &request(&readers, 0, length));
    readers.scene.world.settle();
    assert_eq!(told(&readers), [0, 0, 1]);
    assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Connected));
    readers.scene.others_go_on();
}

/// The responder remembers READ_DEPTH reads, here four.
/// Rule RSP-1.
#[test]
fn a_duplicate_read_request_is_answered_while_its_read_is_remembered_and_dropped_otherwise() {
    let mut readers = Readers::new(1024);
    // A send, and six reads behind it.
    readers.exchange_one();
    for _ in 0..6 {
        let read = readers.read(0, 0, &[(0x1000, 10)]);
        readers.done(0, read, 10);
    }
    let mut expected = told(&readers);
    assert_eq!(expected, [6, 0, 0]);
    for ahead in [0, 1, 2, 3, 6, 3] {
        readers.scene.world.inject(1, &request(&readers, ahead, 10));
        readers.scene.world.settle();
        match ahead {
            3.. => (expected[0], expected[1]) = (expected[0] + 1, expected[1] + 1),
            _ => expected[2] += 1,
        }
        assert_eq!(told(&readers), expected, "the request {ahead} packets behind the first");
    }
    assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Connected));
    readers.scene.others_go_on();
}

#[test]
fn a_duplicate_read_request_to_a_vi_that_allows_no_reads_is_dropped() {
    let mut readers = Readers::new(1024);
    readers.allow_none();
    readers.exchange_one();
    drops(readers, 10);
}

/// 2^23 packets and one byte of one more.
#[test]
fn a_duplicate_read_request_that_no_read_can_have_been_is_dropped() {
    let mut readers = Readers::new(256);
    readers.exchange_one();
    drops(readers, (1 << 31) + 1);
}
