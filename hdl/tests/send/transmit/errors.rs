//! Errors end their message, and are told.

use rand::Rng;
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::{service, table, transmit, vi_states};

use super::{lengths, world, Given, Vi};
use crate::port::{self, fields};

/// Rules WQ-3; WQ-2 and WQ-8: data that is refused or cannot be read; WQ-4: a message whose VI has broken; and REQ-7: what is
/// shorter than it was.
#[test]
fn bad_packets_end_their_message() {
    let mut world = world();
    for _ in 0..1500 {
        let n = world.rng.random_range(0..64);
        let lengths: Vec<usize> = lengths(&mut world.rng).iter().map(|length| (*length).min(300)).collect();
        world.message(n, &lengths, true);
        // Broken VIs connect again, with a new PSN: a commit between messages.
        if world.rng.random_bool(0.1) {
            world.run(false);
            let n = world.rng.random_range(0..64);
            let vi = &mut world.vis[n];
            vi.state = vi_states::CONNECTED;
            vi.psn = world.rng.random_range(0..1 << 24);
            let mut row = [0; 3];
            transmit::PSN.put(&mut row, vi.psn);
            transmit::SERVICE.put(&mut row, vi.service.into());
            transmit::LOOPBACK.put(&mut row, vi.loopback.into());
            port::commit(&mut world.bench, table::TRANSMIT, n as u64, row);
            port::state(&mut world.bench, n as u64, vi_states::CONNECTED);
        }
    }
    world.run(false);
}

/// An error has broken its VI, and then the VI is rewound: the rest of the message is of the past, and the error is told all the same,
/// since nothing else says why the VI broke.
#[test]
fn an_error_that_has_broken_its_vi_is_told_behind_a_rewind() {
    let mut world = world();
    let of = |vi: &Vi| {
        vi.service == service::RELIABLE_DELIVERY && vi.state == vi_states::CONNECTED && !vi.loopback
    };
    let sender = world.vis.iter().position(of).expect("one of 64") as u64;
    let packet = |first: bool, last: bool| {
        fields(&[
            ("vi", sender),
            ("first", first.into()),
            ("last", last.into()),
            ("send", 1),
            ("length", 64),
            ("message_length", 128),
        ])
    };
    let payload: Vec<u8> = (0..64).map(|_| world.rng.random()).collect();
    let refused = Some((Vec::new(), true, false));
    world.packets.push_back(Given { packet: packet(true, false), payload: refused });
    world.faults.push_back((sender, 0));
    world.run(true);
    port::epoch(&mut world.bench, sender, true);
    world.packets.push_back(Given { packet: packet(false, true), payload: Some((payload, false, false)) });
    let errors = u64::from(status::PROTECTION_ERROR);
    world.sent.push_back(fields(&[("vi", sender), ("ends", 1), ("errors", errors), ("epoch", 0)]));
    world.run(true);
}
