//! What the agents of the hosts do: commands, tables, connections, registrations, completion queues, resets.

use std::io;

use viaduct_driver::device::Bar;
use viaduct_spec::register::{command, command_op, control, registers, state};
use viaduct_spec::tables::{table, vi_state, vi_states};

use super::{Machine, Side, ENABLED, LOOK};
use crate::consumer::Consumer;
use crate::operation::{End, Registration, Reset};
use crate::program::CompletionQueue;
use crate::rows::{self, row, ENTRY_BYTES};

impl Machine<'_> {
    /// Runs a command, and waits until it is done.
    pub(super) fn command(&mut self, nic: usize, op: u8, number: u8, at: usize) {
        let word =
            row(&[(command::OP, op.into()), (command::TABLE, number.into()), (command::ROW, at as u64)]);
        self.store(nic, Bar::Registers, registers::COMMAND, 8, word[0]);
        for _ in 0..1000 {
            let word = [self.load(nic, registers::STATE, 4)];
            if word[0] == u64::from(u32::MAX) {
                return self.faults.push(format!("NIC {nic} does not answer"));
            }
            if state::COMMAND_BUSY.get(&word) == 0 {
                if state::COMMAND_ERROR.get(&word) != 0 {
                    self.faults.push(format!("NIC {nic} refuses command {op} of table {number}"));
                }
                return;
            }
        }
        self.faults.push(format!("NIC {nic} does not end command {op} of table {number}"));
    }

    pub(super) fn commit(&mut self, nic: usize, number: u8, at: usize, words: &[u64]) {
        if !self.faults.is_empty() {
            return;
        }
        for (offset, word) in [registers::STAGE0, registers::STAGE1, registers::STAGE2].into_iter().zip(words)
        {
            self.store(nic, Bar::Registers, offset, 8, *word);
        }
        self.command(nic, command_op::COMMIT, number, at);
    }

    /// After power-up or a reset.
    pub(super) fn set_up(&mut self, nic: usize) -> io::Result<()> {
        // The tables are being cleared.
        for _ in 0..1000 {
            let word = self.load(nic, registers::STATE, 4);
            if word == u64::from(u32::MAX) {
                self.faults.push(format!("NIC {nic} does not answer after its reset"));
                return Ok(());
            }
            if state::COMMAND_BUSY.get(&[word]) == 0 {
                break;
            }
            self.net.step(64);
        }
        self.store(nic, Bar::Registers, registers::MAC, 8, rows::mac(nic));
        self.store(nic, Bar::Registers, registers::IP, 4, rows::ip(nic).into());
        self.store(nic, Bar::Registers, registers::PKEY, 4, 0xFFFF);
        let arena = self.memories[nic].arena_address();
        self.commit(nic, table::PAGE, rows::first_page(rows::ARENA_REGION) as usize, &[arena]);
        let bytes = self.memories[nic].arena_bytes();
        self.commit(nic, table::REGION, rows::ARENA_REGION.into(), &rows::arena(arena, bytes));
        for queue in self.needed(nic) {
            self.queues[nic][queue] =
                Consumer { stores: self.queues[nic][queue].stores, ..Consumer::default() };
            // What was not taken before the reset is in either.
            self.clear_ring(nic, queue, true)?;
            self.clear_ring(nic, queue, false)?;
            self.commit(nic, table::COMPLETION_QUEUE, queue, &rows::completion_queue(queue, false)[..2]);
        }
        let enable = control::RECEIVE_ENABLE.mask() | control::SEND_ENABLE.mask() << 1;
        self.store(nic, Bar::Registers, registers::CONTROL, 4, enable);
        Ok(())
    }

    pub(super) fn set_state(&mut self, end: End, to: u8) {
        let words = row(&[(vi_state::STATE, to.into())]);
        self.commit(self.nic(end), table::VI_STATE, self.vi(end), &words[..1]);
    }

    pub(super) fn connect(&mut self, connection: usize) -> io::Result<()> {
        let ends = [2 * connection, 2 * connection + 1];
        let open: Vec<End> = ends.into_iter().filter(|end| self.sides[*end].open).collect();
        open.iter().for_each(|end| self.set_state(*end, vi_states::ERROR));
        if !open.is_empty() {
            self.settle()?;
        }
        self.generations[connection] += 1;
        let made = self.program.connections[connection];
        for end in ends {
            let (nic, vi) = (self.nic(end), self.vi(end));
            if self.sides[end].open {
                self.set_state(end, vi_states::IDLE);
                self.command(nic, command_op::DRAIN, 0, 0);
            }
            if !self.sides[end].home {
                self.sides[end].home = true;
                let whole = Registration {
                    at: 0,
                    length: crate::memory::SLICE,
                    foreign: false,
                    read_only: false,
                    remote_write: true,
                    remote_read: true,
                };
                self.register(end, 0, &whole);
            }
            for (number, words) in rows::connection(&made, end, self.generations[connection]) {
                self.commit(nic, number, vi, &words);
            }
            for (n, word) in rows::template(&made, end, self.generations[connection]).into_iter().enumerate()
            {
                self.commit(nic, table::TEMPLATE, 8 * vi + n, &[word]);
            }
            for receive in 0..2 {
                let words = rows::work_queue(&made, end, receive);
                self.commit(nic, table::WORK_QUEUE, 2 * vi + receive, &words[..2]);
            }
            self.sides[end].queues = Default::default();
            // Of its queues; a completion queue of its own is what it was.
            self.sides[end].armed &= self.program.connections[end / 2].completion_queues[end % 2]
                .contains(&CompletionQueue::Small);
            self.sides[end].open = true;
        }
        ends.into_iter().for_each(|end| self.set_state(end, vi_states::CONNECTED));
        Ok(())
    }

    pub(super) fn register(&mut self, end: End, slot: usize, made: &Registration) {
        self.deregister(end, slot);
        let nic = self.nic(end);
        let (place, count) = &mut self.sides[end].slots[slot];
        *place = Some(*made);
        *count += 1;
        let region = rows::region(end, slot);
        let count = *count;
        let connection = &self.program.connections[end / 2];
        for (page, of) in rows::pages(connection, made).enumerate() {
            let address = self.memories[nic].page_address(end, of);
            self.commit(nic, table::PAGE, rows::first_page(region) as usize + page, &[address]);
        }
        self.commit(
            nic,
            table::REGION,
            region.into(),
            &rows::registration(connection, end, slot, count, made),
        );
    }

    pub(super) fn deregister(&mut self, end: End, slot: usize) {
        if self.sides[end].slots[slot].0.take().is_some() {
            let nic = self.nic(end);
            self.commit(nic, table::REGION, rows::region(end, slot).into(), &[0; 3]);
            self.command(nic, command_op::DRAIN, 0, 0);
        }
    }

    pub(super) fn reset(&mut self, nic: usize, how: Reset) -> io::Result<()> {
        match how {
            Reset::Agent => {
                self.store(nic, Bar::Registers, registers::CONTROL, 4, control::RESET.mask() << 31)
            }
            Reset::Function => self.net.reset(nic),
            Reset::Link(cycles) => self.net.link_down(nic, cycles),
        }
        while self.net.is_resetting(nic) {
            self.net.step(LOOK);
        }
        self.net.config_write(nic, 4, &ENABLED);
        for end in 0..self.sides.len() {
            if self.nic(end) == nic {
                let slots = self.sides[end].slots.map(|(_, count)| (None, count));
                self.sides[end] = Side { slots, ..Side::default() };
            }
        }
        self.set_up(nic)
    }

    pub(super) fn resize(&mut self, nic: usize, queue: usize) -> io::Result<()> {
        let old = self.queues[nic][queue];
        let new = Consumer { other: !old.other, taken: 0, ..old };
        self.clear_ring(nic, queue, new.other)?;
        self.commit(nic, table::COMPLETION_QUEUE, queue, &rows::completion_queue(queue, new.other)[..2]);
        let written = self.load(nic, registers::RESULT, 8);
        // The last entries of the old ring are on their way.
        self.command(nic, command_op::DRAIN, 0, 0);
        while u64::from(self.queues[nic][queue].taken) != written {
            let Some(words) = self.queues[nic][queue].take(queue, &mut self.memories[nic])? else {
                self.faults.push(format!("NIC {nic} has not written {written} entries to queue {queue}"));
                break;
            };
            self.entry(nic, queue, words);
        }
        self.queues[nic][queue] = Consumer { stores: self.queues[nic][queue].stores, ..new };
        Ok(())
    }

    pub(super) fn clear_ring(&mut self, nic: usize, queue: usize, other: bool) -> io::Result<()> {
        let bytes = ENTRY_BYTES << rows::cq_log2(queue, other);
        self.memories[nic].write_arena(rows::cq_ring(queue, other), &vec![0; bytes as usize])
    }
}
