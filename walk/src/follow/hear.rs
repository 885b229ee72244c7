//! What the host says is heard: stores, commands, Bus Master and MSI-X.

use viaduct_driver::device::Bar;
use viaduct_spec::doorbell::{arm, cq_index, cq_page, page};
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::register::{command, command_op, registers};
use viaduct_spec::tables::table;

use super::end_trace::EndTrace;
use super::inputs::{Said, Store};
use super::state::{State, NEVER};
use crate::program::SHARED;
use crate::rows;

impl State {
    /// Hears the next of it; whether there was something.
    pub(super) fn hear(&mut self, trace: &EndTrace<'_>) -> Result<bool, String> {
        let Some(given) = trace.host.get(self.host) else { return Ok(false) };
        if given.renews && self.high() > given.by && self.high() != NEVER {
            let seen = "something of a life is seen when the next has begun";
            return Err(format!("{}: {seen}, {}", trace.when(self.high()), trace.when(given.by)));
        }
        self.host += 1;
        self.clock = self.clock.max(given.at);
        self.nic.set_time(given.cycle);
        match &given.said {
            Said::Stores(stores) => {
                for store in stores {
                    self.hear_arm(trace, store);
                    self.nic.store(store.bar, store.offset, store.length, store.value);
                }
            }
            Said::Master(master) => {
                self.nic.host().master = *master;
                self.nic.bus_changed();
            }
            Said::Msix(enabled) => {
                self.nic.host().msix = *enabled;
                self.nic.bus_changed();
            }
            Said::Taken(queue) => self.nic.drain(*queue),
            Said::Queried(vi, state) => {
                let fields = [
                    (command::OP, command_op::QUERY.into()),
                    (command::TABLE, table::VI_STATE.into()),
                    (command::ROW, *vi as u64),
                ];
                self.nic.store(Bar::Registers, registers::COMMAND, 8, rows::row(&fields)[0]);
                let own = self.nic.load(Bar::Registers, registers::RESULT, 8);
                if own != *state {
                    return Err(format!("the state of VI {vi} is told as {state}, not {own}"));
                }
            }
            Said::Drained => {}
        }
        Ok(true)
    }

    /// Notes of which status or entry the host asks for an interrupt. A work queue that is made anew has none.
    fn hear_arm(&mut self, trace: &EndTrace<'_>, store: &Store) {
        let reached = &mut self.reached;
        let word = [store.value];
        if store.bar == Bar::Registers {
            let row = command::ROW.get(&word) as usize;
            let renews = store.offset == registers::COMMAND
                && command::OP.get(&word) == u64::from(command_op::COMMIT)
                && command::TABLE.get(&word) == u64::from(table::WORK_QUEUE);
            if renews && trace.vi == row / 2 {
                reached.done[row % 2].clear();
                reached.status_asked[row % 2] = None;
            }
            return;
        }
        let page = (store.offset >> DOORBELL_SHIFT) as usize;
        let within = store.offset & ((1 << DOORBELL_SHIFT) - 1);
        let position = Some(arm::POSITION.get(&word) as usize);
        match (page.checked_sub(VIS), within) {
            (None, page::SEND_ARM) if trace.vi == page => reached.status_asked[0] = position,
            (None, page::RECEIVE_ARM) if trace.vi == page => reached.status_asked[1] = position,
            (Some(queue), cq_page::ARM) if trace.places.owner(queue) == Some(trace.end) => {
                let receive = (queue - 1 - SHARED) % 2;
                reached.entry_asked[receive] = Some(cq_index::INDEX.get(&word) as usize);
            }
            _ => {}
        }
    }
}
