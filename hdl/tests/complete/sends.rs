use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{Acknowledged, Commit, Completion, Fault, Sent, StateWrite};
use viaduct_hdl::complete::Sends;
use viaduct_hdl::export::verilog;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::SEND_WINDOW;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, vi_states};
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// The block with its neighbours: everything it says is taken at once and noted.
struct World {
    dut: Bench,
    /// Completions: (vi, offset, length, status).
    completed: VecDeque<(u64, u64, u64, u64)>,
    again: Vec<u64>,
    /// VIs of completions that write nothing.
    lost: Vec<u64>,
    broken: Vec<u64>,
    /// A fault accepted: its VI's new state is on the bus.
    tell: Option<u64>,
}

impl World {
    fn new() -> Self {
        let mut dut = Bench::new("sends", &verilog(Sends::default()));
        for _ in 0..70 {
            dut.tick();
        }
        let mut world =
            Self { dut, completed: VecDeque::new(), again: vec![], lost: vec![], broken: vec![], tell: None };
        for vi in 0..64 {
            world.create(vi);
        }
        world
    }

    fn tick(&mut self) {
        let dut = &mut self.dut;
        for name in ["completion_ready", "fault_ready", "again_send_ready"] {
            dut.set(name, 1);
        }
        dut.set("state_valid", 0);
        dut.eval();
        if dut.get("fault_valid") == 1 {
            // As vi/state does: the new state is on the bus in the cycle in which the fault is taken.
            let bundle = Bundle::of::<Fault>("fault");
            assert_eq!(bundle.get(dut, "code"), u64::from(event_code::CONN_LOST));
            let vi = bundle.get(dut, "vi");
            self.broken.push(vi);
            let state = Bundle::of::<StateWrite>("state");
            state.set(dut, &[("vi", vi), ("state", vi_states::ERROR.into())]);
            dut.set("state_valid", 1);
            dut.eval();
        } else if let Some(vi) = self.tell.take() {
            let state = Bundle::of::<StateWrite>("state");
            state.set(dut, &[("vi", vi), ("state", vi_states::ERROR.into())]);
            dut.set("state_valid", 1);
            dut.eval();
        }
        if dut.get("completion_valid") == 1 {
            let bundle = Bundle::of::<Completion>("completion");
            let get = |name| bundle.get(dut, name);
            assert_eq!((get("receive"), get("acknowledge"), get("ends")), (0, 0, 1));
            if get("write") == 1 {
                self.completed.push_back((get("vi"), get("offset"), get("length"), get("status")));
            } else {
                self.lost.push(get("vi"));
            }
        }
        if dut.get("again_send_valid") == 1 {
            self.again.push(dut.get("again_send_vi"));
        }
        dut.tick();
    }

    fn settle(&mut self) {
        for _ in 0..400 {
            self.tick();
        }
        self.dut.eval();
        assert_eq!(self.dut.get("busy"), 0);
    }

    fn take(&mut self, valid: &str, ready: &str) {
        self.dut.set(valid, 1);
        for _ in 0..400 {
            self.dut.eval();
            let taken = self.dut.get(ready) == 1;
            self.tick();
            if taken {
                self.dut.set(valid, 0);
                return;
            }
        }
        panic!("{valid} was not taken");
    }

    fn create(&mut self, vi: u64) {
        let bundle = Bundle::of::<Commit>("commit");
        bundle.set(&mut self.dut, &[("target", table::TRANSMIT.into()), ("row", vi)]);
        self.take("commit_valid", "commit_ready");
        let state = Bundle::of::<StateWrite>("state");
        state.set(&mut self.dut, &[("vi", vi), ("state", vi_states::CONNECTED.into())]);
        self.dut.set("state_valid", 1);
        self.dut.tick();
        self.dut.set("state_valid", 0);
    }

    fn send(&mut self, vi: u64, offset: u64, psn: Option<u64>, errors: u32, lost: bool) {
        let bundle = Bundle::of::<Sent>("sent");
        let fields = [
            ("vi", vi),
            ("region", 1),
            ("offset", offset),
            ("length", 1000 + offset),
            ("errors", errors.into()),
            ("acknowledged", psn.is_some().into()),
            ("psn", psn.unwrap_or(0)),
            ("lost", lost.into()),
        ];
        bundle.set(&mut self.dut, &fields);
        self.take("sent_valid", "sent_ready");
    }

    fn answer(&mut self, vi: u64, psn: u64, syndrome: u8) {
        let bundle = Bundle::of::<Acknowledged>("acknowledged");
        bundle.set(&mut self.dut, &[("vi", vi), ("psn", psn), ("syndrome", syndrome.into())]);
        self.take("acknowledged_valid", "acknowledged_ready");
    }

    fn position(&mut self, vi: u64) -> u64 {
        self.dut.set("completed_vi", vi);
        self.tick();
        self.dut.get("completed_position")
    }

    /// The completions so far, as (offset, status).
    fn drain(&mut self) -> Vec<(u64, u32)> {
        self.settle();
        self.completed.drain(..).map(|(_, offset, _, status)| (offset, status as u32)).collect()
    }
}

#[test]
fn unreliable_and_failed_messages_complete_at_once_in_order() {
    let mut world = World::new();
    world.send(5, 1, None, 0, false);
    world.send(5, 2, None, status::PROTECTION_ERROR, false);
    world.send(5, 3, None, 0, true);
    world.send(5, 4, None, 0, false);
    assert_eq!(
        world.drain(),
        [(1, status::DONE), (2, status::DONE | status::PROTECTION_ERROR), (4, status::DONE)]
    );
    assert_eq!(world.position(5), 4, "a lost descriptor takes its place");
    assert_eq!(world.lost, [5], "and its end is told, though nothing is written");
    assert_eq!(world.again, [5; 4]);
}

#[test]
fn reliable_messages_wait_for_their_psn_and_a_failed_one_behind_them_waits_too() {
    let mut world = World::new();
    world.send(1, 1, Some(0xFF_FFFE), 0, false);
    world.send(1, 2, Some(0x00_0001), 0, false);
    world.send(1, 3, None, status::FORMAT_ERROR, false);
    assert_eq!(world.drain(), []);
    world.answer(1, 0xFF_FFFD, syndrome::ACK);
    assert_eq!(world.drain(), [], "one short");
    world.answer(1, 0x00_0000, syndrome::ACK);
    assert_eq!(world.drain(), [(1, status::DONE)], "past the first, short of the second, over the wrap");
    world.answer(1, 0xFF_FFFE, syndrome::ACK);
    assert_eq!(world.drain(), [], "an old acknowledgement takes nothing back");
    world.answer(1, 0x00_0001, syndrome::ACK);
    assert_eq!(world.drain(), [(2, status::DONE), (3, status::DONE | status::FORMAT_ERROR)]);
}

#[test]
fn an_acknowledgement_may_come_before_the_message_is_known() {
    let mut world = World::new();
    world.answer(2, 10, syndrome::ACK);
    world.send(2, 1, Some(10), 0, false);
    world.send(2, 2, Some(11), 0, false);
    assert_eq!(world.drain(), [(1, status::DONE)]);
}

#[test]
fn a_refusal_completes_what_is_before_it_breaks_and_flushes_the_rest() {
    for code in [syndrome::NAK_SEQUENCE, syndrome::NAK_OPERATIONAL, syndrome::RNR_NAK] {
        let mut world = World::new();
        for n in 0..5 {
            world.send(9, n, Some(100 + 2 * n), 0, false);
        }
        // PSN 103 belongs to the message that ends with 104.
        world.answer(9, 103, code);
        assert_eq!(
            world.drain(),
            [
                (0, status::DONE),
                (1, status::DONE),
                (2, status::DONE | status::TRANSPORT_ERROR),
                (3, status::DONE | status::DESC_FLUSHED_ERROR),
                (4, status::DONE | status::DESC_FLUSHED_ERROR),
            ]
        );
        assert_eq!(world.broken, [9]);
        // What transmit had under way when the VI broke.
        world.send(9, 5, Some(110), 0, false);
        assert_eq!(world.drain(), [(5, status::DONE | status::DESC_FLUSHED_ERROR)]);
        assert_eq!(world.position(9), 6);
    }
}

#[test]
fn a_vi_that_goes_into_error_is_flushed_and_a_commit_starts_anew() {
    let mut world = World::new();
    world.send(3, 1, Some(7), 0, false);
    world.send(4, 2, Some(7), 0, false);
    world.settle();
    world.tell = Some(3);
    assert_eq!(world.drain(), [(1, status::DONE | status::DESC_FLUSHED_ERROR)], "and no other VI's");
    assert_eq!(world.position(3), 1);
    world.create(3);
    assert_eq!(world.position(3), 0);
    world.send(3, 8, Some(3), 0, false);
    assert_eq!(world.drain(), [], "acknowledgements of the former life are forgotten");
    world.answer(3, 3, syndrome::ACK);
    assert_eq!(world.drain(), [(8, status::DONE)]);
}

#[test]
fn windows_of_many_vis_fill_and_empty_in_any_mixture() {
    let mut world = World::new();
    let mut random = ChaCha8Rng::seed_from_u64(world.dut.seed());
    let mut next = [0xFF_FF00u64; 64];
    let mut open: Vec<VecDeque<(u64, u64)>> = vec![VecDeque::new(); 64];
    let mut expected = 0;
    let mut done = [0u64; 64];
    for message in 0..3000u64 {
        let vi = random.random_range(0..64u64);
        let ring = &mut open[vi as usize];
        if ring.len() == SEND_WINDOW || random.random_bool(0.3) && !ring.is_empty() {
            let upto = random.random_range(0..ring.len());
            let psn = ring[upto].1;
            ring.drain(..=upto);
            expected += upto + 1;
            world.answer(vi, psn, syndrome::ACK);
            // As fetch does: there is room when the position has moved on.
            done[vi as usize] += upto as u64 + 1;
            while world.position(vi) != done[vi as usize] {}
        } else {
            let psn = next[vi as usize] & 0xFF_FFFF;
            next[vi as usize] = psn + random.random_range(1..5);
            ring.push_back((message, psn));
            world.send(vi, message, Some(psn), 0, false);
        }
    }
    world.settle();
    assert_eq!(world.completed.len(), expected);
    let mut last = [None; 64];
    for (vi, offset, length, status) in world.completed.drain(..) {
        assert!(last[vi as usize] < Some(offset), "VI {vi}: {offset} after {:?}", last[vi as usize]);
        last[vi as usize] = Some(offset);
        assert_eq!((length, status as u32), (1000 + offset, status::DONE));
    }
}
