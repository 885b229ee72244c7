//! Answers to a peer's reads, between the packets of messages.

use rand::Rng;
use viaduct_hdl::bus::word;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{service, vi_states};
use viaduct_spec::wire::{opcode, syndrome};

use super::{world, Expected, Given, Vi, World};
use crate::frames;
use crate::port::{self, fields};

/// Gather puts answers to a peer's reads between the packets of a message; what becomes of that is nothing to them.
#[test]
fn an_answer_between_packets_that_are_dropped_goes_out() {
    let mut world = world();
    let find = |world: &World, service: u8| {
        let of = |vi: &Vi| vi.service == service && vi.state == vi_states::CONNECTED;
        world.vis.iter().position(of).expect("one of 64") as u64
    };
    let (sender, peer) = (find(&world, service::UNRELIABLE), find(&world, service::RELIABLE_DELIVERY));
    let packet = |first: bool, last: bool| {
        fields(&[
            ("vi", sender),
            ("first", first.into()),
            ("last", last.into()),
            ("send", 1),
            ("length", 64),
            ("message_length", 192),
        ])
    };
    let payload: Vec<u8> = (0..64).map(|_| world.rng.random()).collect();
    let data = || Some((payload.clone(), false, false));
    world.packets.push_back(Given { packet: packet(true, false), payload: Some((Vec::new(), true, false)) });
    // The middle of an answer.
    let answer = [("vi", peer), ("send", 1), ("reply", 1), ("length", 64), ("psn", 77)];
    world.packets.push_back(Given { packet: fields(&answer), payload: data() });
    world.packets.push_back(Given { packet: packet(false, true), payload: data() });
    let vi = &world.vis[peer as usize];
    let frame = frames::Fields {
        opcode: opcode::RC_READ_RESPONSE_MIDDLE,
        psn: 77,
        payload,
        ..frames::Fields::default()
    };
    let (bytes, loopback, vlan) = (vi.headers.frame(&frame), vi.loopback, vi.headers.vlan);
    world.frames.push_back(Expected { bytes, loopback, vlan });
    let errors = u64::from(status::PROTECTION_ERROR);
    world.sent.push_back(fields(&[("vi", sender), ("ends", 1), ("errors", errors), ("acknowledged", 0)]));
    world.run(true);
}

/// A peer's read is refused when its answer is made: that breaks the VI, the NAK is asked for, and no acknowledgement of what was asked for
/// behind the read leaves ahead of the NAK (docs/semantics.md, RSP-5), until the VI is connected again.
#[test]
fn an_answer_that_is_refused_holds_back_acknowledgements() {
    for (refused, code, nak) in [
        (true, event_code::RDMAR_PROT, syndrome::NAK_ACCESS),
        (false, event_code::CONN_LOST, syndrome::NAK_OPERATIONAL),
    ] {
        let mut world = world();
        let of = |vi: &Vi| vi.service == service::RELIABLE_DELIVERY && vi.state == vi_states::CONNECTED;
        let n = world.vis.iter().position(of).expect("one of 64") as u64;
        // What its reply says besides: the message's number, in the place of immediate data.
        let answer = [("vi", n), ("send", 1), ("reply", 1), ("length", 64), ("psn", 77), ("immediate", 5)];
        let payload = Some((Vec::new(), refused, !refused));
        world.packets.push_back(Given { packet: fields(&answer), payload });
        world.faults.push_back((n, code));
        let told = [("vi", n), ("psn", 77), ("msn", 4), ("syndrome", nak.into()), ("kind", word::LAST)];
        world.failed.push_back(fields(&told));
        world.run(true);
        world.acknowledgement_of(n, syndrome::ACK, false, false);
        world.acknowledgement_of(n, nak, false, true);
        world.run(true);
        // The rest of the answer.
        let payload = Some((vec![0; 64], false, false));
        world.packets.push_back(Given { packet: fields(&answer), payload });
        world.run(true);
        port::state(&mut world.bench, n, vi_states::CONNECTED);
        world.acknowledgement_of(n, syndrome::ACK, false, true);
        world.run(true);
    }
}
