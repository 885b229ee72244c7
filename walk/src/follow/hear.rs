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
            return Err("something of a life is seen when the next has begun".into());
        }
        self.host += 1;
        self.clock = self.clock.max(given.at);
        self.nic.set_time(given.cycle);
        match &given.said {
            Said::Stores(stores) => {
                for store in stores {
                    if let Some(at) = self.asked_for(trace, store) {
                        self.ask(at);
                    }
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

    /// The moment of what an interrupt tells of that comes at once, because the consumer has not seen all that there is: of the oldest
    /// status, or entry, that it has not seen. A work queue that is made anew has none.
    fn asked_for(&mut self, trace: &EndTrace<'_>, store: &Store) -> Option<usize> {
        if store.bar == Bar::Registers {
            let word = [store.value];
            let row = command::ROW.get(&word) as usize;
            let renews = store.offset == registers::COMMAND
                && command::OP.get(&word) == u64::from(command_op::COMMIT)
                && command::TABLE.get(&word) == u64::from(table::WORK_QUEUE);
            if renews && trace.vi == row / 2 {
                self.reached.done[row % 2].clear();
            }
            return None;
        }
        let page = (store.offset >> DOORBELL_SHIFT) as usize;
        let within = store.offset & ((1 << DOORBELL_SHIFT) - 1);
        let word = [store.value];
        match page.checked_sub(VIS) {
            None => {
                let receive = match within {
                    page::SEND_ARM => 0,
                    page::RECEIVE_ARM => 1,
                    _ => return None,
                };
                let position = arm::POSITION.get(&word) as usize;
                self.reached.done[receive].get(position).filter(|_| trace.vi == page).copied()
            }
            Some(queue) if within == cq_page::ARM => {
                if trace.places.owner(queue) != Some(trace.end) {
                    return None;
                }
                let receive = (queue - 1 - SHARED) % 2;
                let seen = cq_index::INDEX.get(&word) as usize;
                let written = self.reached.entries[receive];
                let entries = &trace.outputs.entries[receive];
                entries.get(seen).filter(|_| seen < written).map(|(at, _)| *at)
            }
            Some(_) => None,
        }
    }
}
